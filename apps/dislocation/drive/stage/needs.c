/* SPDX-License-Identifier: BSD-3-Clause */
#include "needs.h"

#include <equipoise/par.h>

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
    *needs = (dd_needs){0};
}

/* The source cells of a cell, or of some of its owners only those of them that are given: a bit each. */
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

static void mark(const dd_domain *domain, const dd_grid *grid, const dd_shares *shares, uint64_t *bits)
{
    int64_t before = -1;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        if (node->split < 0 && dd_node_owns_segments(node)) {
            const int64_t cell = dd_grid_cell(grid, node->x);
            if (cell != before) { /* neighbours on a line mostly share one */
                mark_sources(grid, cell, UINT32_MAX, bits);
            }
            before = cell;
        }
    }
    for (int64_t s = 0; s < shares->n; s++) {
        mark_sources(grid, shares->share[s].cell, shares->share[s].sources, bits);
    }
}

int dd_needs_gather(const dd_domain *domain, const dd_grid *grid, const dd_shares *shares, const int *home,
                    dd_needs *needs)
{
    const int64_t nwords = (grid->ncells + 63) / 64;
    uint64_t *mine = NULL;
    int code = nwords > INT_MAX ? EQP_ERR_OVERFLOW : eqp_array_create(&mine, nwords, sizeof *mine);

    needs->nwords = nwords;
    if (code == EQP_OK) {
        code = eqp_array_create(&needs->bits, nwords * domain->nranks, sizeof *needs->bits);
    }
    if (code == EQP_OK) {
        mark(domain, grid, shares, mine);
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    if (MPI_Allgather(mine, (int)nwords, MPI_UINT64_T, needs->bits, (int)nwords, MPI_UINT64_T, domain->comm) !=
        MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    for (int64_t s = 0; s < shares->nsent; s++) {
        set(needs->bits + shares->sent_to[s] * nwords, shares->sent[s].cell);
    }
    for (int64_t c = 0; c < grid->ncells && home != NULL; c++) {
        if (home[c] >= 0) {
            set(needs->bits + home[c] * nwords, c);
        }
    }
done:
    free(mine);
    return code;
}
