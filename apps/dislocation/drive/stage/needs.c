/* SPDX-License-Identifier: BSD-3-Clause */
#include "needs.h"

#include <equipoise/more/base.h>

#include <limits.h>
#include <stdlib.h>

static void set(uint64_t *bits, int64_t cell)
{
    bits[cell / 64] |= (uint64_t)1 << cell % 64;
}

static bool has(const uint64_t *bits, int64_t cell)
{
    return (bits[cell / 64] >> cell % 64 & 1) != 0;
}

bool dd_needs_has(const dd_needs *needs, int rank, int64_t cell)
{
    return has(needs->bits + rank * needs->nwords, cell);
}

void dd_needs_free(dd_needs *needs)
{
    free(needs->bits);
    free(needs->mine);
    *needs = (dd_needs){0};
}

/* Marks the source cells of a cell, or those of them whose bits are given. */
static void mark_sources(const dd_grid *grid, int64_t cell, uint32_t given, uint64_t *bits)
{
    int64_t sources[DD_GRID_SOURCES];
    const int n = dd_grid_sources(grid, cell, sources);

    for (int i = 0; i < n; i++) {
        if ((given >> i & 1) != 0) {
            set(bits, sources[i]);
        }
    }
}

static void mark(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const dd_shares *shares,
                 uint64_t *bits)
{
    int64_t before = -1;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        if (node->split < 0 && dd_node_owns_segments(node)) {
            const int64_t cell = dd_grid_cell_of_node(grid, domain, halo, i);
            if (cell != before) { /* neighbours on a line mostly share a cell */
                mark_sources(grid, cell, UINT32_MAX, bits);
            }
            before = cell;
        }
    }
    for (int64_t s = 0; s < shares->n; s++) {
        mark_sources(grid, shares->share[s].cell, shares->share[s].sources, bits);
    }
}

int dd_needs_open(const dd_domain *domain, const dd_grid *grid, dd_needs *needs)
{
    const int64_t nwords = (grid->ncells + 63) / 64;
    int code = nwords > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK;

    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&needs->mine, nwords, sizeof *needs->mine));
    EQP_TRY(eqp_array_create(&needs->bits, nwords * domain->nranks, sizeof *needs->bits));
    needs->nwords = nwords;
done:
    return code;
}

int dd_needs_begin(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const dd_shares *shares,
                   dd_needs *needs)
{
    const int n = (int)needs->nwords;

    mark(domain, halo, grid, shares, needs->mine);
    return MPI_Iallgather(needs->mine, n, MPI_UINT64_T, needs->bits, n, MPI_UINT64_T, domain->comm, &needs->request) ==
                   MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

int dd_needs_end(const dd_grid *grid, const dd_shares *shares, const int *home, dd_needs *needs)
{
    eqp_wait_begin();
    const int mpi = MPI_Wait(&needs->request, MPI_STATUS_IGNORE);
    eqp_wait_end();
    if (mpi != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    for (int64_t s = 0; s < shares->nsent; s++) {
        set(needs->bits + shares->sent_to[s] * needs->nwords, shares->sent[s].cell);
    }
    for (int64_t c = 0; c < grid->ncells && home != NULL; c++) {
        if (home[c] >= 0) {
            set(needs->bits + home[c] * needs->nwords, c);
        }
    }
    return EQP_OK;
}
