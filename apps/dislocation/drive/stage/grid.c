/* SPDX-License-Identifier: BSD-3-Clause */
#include "grid.h"

#include <limits.h>
#include <math.h>

void dd_grid_init(dd_grid *grid, const dd_domain *domain, const int64_t n[3])
{
    grid->ncells = 1;
    grid->far_order = domain->far_order;
    for (int d = 0; d < 3; d++) {
        grid->n[d] = n[d];
        grid->ncells *= n[d];
        grid->low[d] = domain->low[d];
        grid->width[d] = domain->edge[d] / (double)n[d];
        grid->periodic[d] = domain->box[d] > 0;
    }
}

bool dd_grid_has_far(const dd_grid *grid)
{
    bool far = false;

    for (int d = 0; d < 3; d++) {
        far = far || grid->periodic[d] || grid->n[d] > 2;
    }
    return far;
}

int64_t dd_find_last(const int64_t *first, int64_t n, int64_t value)
{
    int64_t low = 0, high = n;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (first[middle] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t number(const dd_grid *grid, const int64_t at[3])
{
    return (at[0] * grid->n[1] + at[1]) * grid->n[2] + at[2];
}

int64_t dd_grid_cell(const dd_grid *grid, const double x[3])
{
    int64_t at[3];

    for (int d = 0; d < 3; d++) {
        const double c = floor((x[d] - grid->low[d]) / grid->width[d]);
        at[d] = (int64_t)fmin(fmax(c, 0.0), (double)(grid->n[d] - 1));
    }
    return number(grid, at);
}

int64_t dd_grid_cell_of_node(const dd_grid *grid, const dd_domain *domain, const dd_halo *halo, int64_t node)
{
    const dd_node *of = &domain->network.node[node];
    double low[3] = {0.0}, high[3] = {0.0}, middle[3];

    for (int k = 0; k < of->narms; k++) {
        if (of->tag < of->arm[k].tag) {
            double along[3];
            dd_halo_way(domain, halo, of->x, halo->place[halo->first[node] + k], along);
            for (int d = 0; d < 3; d++) {
                low[d] = fmin(low[d], along[d]);
                high[d] = fmax(high[d], along[d]);
            }
        }
    }
    for (int d = 0; d < 3; d++) {
        middle[d] = of->x[d] + 0.5 * (low[d] + high[d]);
    }
    dd_domain_fold(domain, middle);
    return dd_grid_cell(grid, middle);
}

/* A neighbour's coordinate; false: outside the grid. */
static bool step_to(const dd_grid *grid, int d, int64_t from, int by, int64_t *to)
{
    *to = from + by;
    if (*to < 0 || *to >= grid->n[d]) {
        *to = *to < 0 ? *to + grid->n[d] : *to - grid->n[d];
        return grid->periodic[d];
    }
    return true;
}

/* Cells of one column from z + low to z + 1, joined where they are consecutive. */
static int add_column(const dd_grid *grid, int64_t x, int64_t y, int64_t z, int low, dd_cells *runs)
{
    int n = 0;

    for (int dz = low; dz <= 1; dz++) {
        int64_t at[3] = {x, y, 0};
        if (step_to(grid, 2, z, dz, &at[2])) {
            const int64_t cell = number(grid, at);
            if (n > 0 && runs[n - 1].last + 1 == cell) {
                runs[n - 1].last = cell;
            } else {
                runs[n++] = (dd_cells){cell, cell};
            }
        }
    }
    return n;
}

int dd_grid_forward(const dd_grid *grid, int64_t cell, dd_cells runs[DD_GRID_RUNS])
{
    const int64_t x = cell / (grid->n[1] * grid->n[2]), y = cell / grid->n[2] % grid->n[1], z = cell % grid->n[2];
    int64_t there, aside;
    int n = add_column(grid, x, y, z, 1, runs);

    if (step_to(grid, 1, y, 1, &there)) {
        n += add_column(grid, x, there, z, -1, runs + n);
    }
    if (step_to(grid, 0, x, 1, &there)) {
        for (int dy = -1; dy <= 1; dy++) {
            if (step_to(grid, 1, y, dy, &aside)) {
                n += add_column(grid, there, aside, z, -1, runs + n);
            }
        }
    }
    return n;
}

int dd_grid_sources(const dd_grid *grid, int64_t cell, int64_t sources[DD_GRID_SOURCES])
{
    dd_cells runs[DD_GRID_RUNS];
    const int nruns = dd_grid_forward(grid, cell, runs);
    int n = 0;

    sources[n++] = cell;
    for (int r = 0; r < nruns; r++) {
        for (int64_t c = runs[r].first; c <= runs[r].last; c++) {
            sources[n++] = c;
        }
    }
    return n;
}

/* Cells from one to another in each direction, by the nearest image. */
static void steps_between(const dd_grid *grid, int64_t from, int64_t to, int64_t steps[3])
{
    for (int d = 2; d >= 0; d--) {
        steps[d] = to % grid->n[d] - from % grid->n[d];
        if (grid->periodic[d] && 2 * llabs(steps[d]) > grid->n[d]) {
            steps[d] += steps[d] < 0 ? grid->n[d] : -grid->n[d];
        }
        from /= grid->n[d];
        to /= grid->n[d];
    }
}

void dd_share_centroid(const dd_grid *grid, int64_t own, int64_t cell, double centroid[3])
{
    static const double skew[3] = {0.05, 0.08, 0.13};
    int64_t steps[3];

    steps_between(grid, own, cell, steps);
    for (int d = 0; d < 3; d++) {
        const double s = (double)steps[d];
        centroid[d] = 0.5 * grid->width[d] * (1.0 + skew[d]) * (s + skew[d] * s * s);
    }
}

int dd_share_ranks(const dd_grid *grid, const eqp_map *map, int64_t split, int64_t cell, int ranks[DD_GRID_SOURCES])
{
    int64_t sources[DD_GRID_SOURCES];
    const int n = dd_grid_sources(grid, cell, sources);

    for (int i = 0; i < n; i++) {
        double centroid[3];
        dd_share_centroid(grid, cell, sources[i], centroid);
        ranks[i] = eqp_map_rank(map, -1 - split, centroid);
    }
    return n;
}

/* A share for every rank that computes interactions of an own node. */
static int list_shares(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const eqp_map *map,
                       int64_t place, int64_t *room, int64_t *rank_room, dd_shares *shares)
{
    const dd_node *node = &domain->network.node[place];
    const int64_t before = shares->nsent, cell = dd_grid_cell_of_node(grid, domain, halo, place);
    int ranks[DD_GRID_SOURCES];
    const int n = dd_share_ranks(grid, map, node->split, cell, ranks);

    EQP_CHECK(eqp_array_reserve(&shares->sent, room, before + n, sizeof *shares->sent));
    EQP_CHECK(eqp_array_reserve(&shares->sent_to, rank_room, before + n, sizeof *shares->sent_to));
    for (int i = 0; i < n; i++) {
        int64_t s = before;
        while (s < shares->nsent && shares->sent_to[s] != ranks[i]) {
            s++;
        }
        if (s == shares->nsent) {
            shares->sent_to[s] = ranks[i];
            shares->sent[s] = (dd_share){.owner = node->tag,
                                         .cell = cell,
                                         .at_home = place,
                                         .split = node->split,
                                         .bytes = dd_node_bytes(node),
                                         .home = domain->rank};
            shares->nsent++;
        }
        shares->sent[s].sources |= (uint32_t)1 << i;
    }
    return EQP_OK;
}

int dd_shares_find(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const eqp_map *map, int code,
                   dd_shares *shares)
{
    int64_t room = 0, rank_room = 0;

    if (eqp_map_shared(map) == 0) { /* true on all ranks */
        return code;
    }
    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        const dd_node *node = &domain->network.node[i];
        if (node->split >= 0 && dd_node_owned(node) > 0) {
            code = list_shares(domain, halo, grid, map, i, &room, &rank_room, shares);
        }
    }
    EQP_CHECK(eqp_send_sparse(domain->comm, code, sizeof *shares->sent, shares->nsent, shares->sent_to, shares->sent,
                              NULL, &shares->n, &shares->share));
    dd_sort(shares->share, shares->n, sizeof *shares->share, dd_by_2_words);
    return EQP_OK;
}

void dd_shares_free(dd_shares *shares)
{
    free(shares->share);
    free(shares->sent);
    free(shares->sent_to);
    *shares = (dd_shares){.n = 0};
}

static void set(uint64_t *bits, int64_t cell)
{
    bits[cell / 64] |= (uint64_t)1 << cell % 64;
}

bool dd_needs_has(const dd_needs *needs, int rank, int64_t cell)
{
    return (needs->bits[rank * needs->nwords + cell / 64] >> cell % 64 & 1) != 0;
}

void dd_needs_free(dd_needs *needs)
{
    free(needs->bits);
    free(needs->mine);
    *needs = (dd_needs){0};
}

/* Marks the source cells of a cell whose bits are given. */
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

int dd_needs_open(const dd_domain *domain, const dd_grid *grid, dd_needs *needs)
{
    needs->nwords = (grid->ncells + 63) / 64;
    EQP_CHECK(needs->nwords > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
    EQP_CHECK(eqp_array_create(&needs->mine, needs->nwords, sizeof *needs->mine));
    return eqp_array_create(&needs->bits, needs->nwords * domain->nranks, sizeof *needs->bits);
}

void dd_needs_mark(const dd_domain *domain, int64_t n, const dd_own *own, const int64_t *cell, const dd_grid *grid,
                   const dd_shares *shares, bool all, dd_needs *needs)
{
    int64_t before = -1;

    for (int64_t s = 0; s < n; s++) {
        if (domain->network.node[own[s].node].split < 0 && cell[s] != before) { /* neighbours mostly share a cell */
            mark_sources(grid, cell[s], UINT32_MAX, needs->mine);
            before = cell[s];
        } else if (all) {
            set(needs->mine, cell[s]);
        }
    }
    for (int64_t s = 0; s < shares->n; s++) {
        mark_sources(grid, shares->share[s].cell, shares->share[s].sources | all, needs->mine);
    }
}

int dd_needs_begin(const dd_domain *domain, int64_t n, const dd_own *own, const int64_t *cell, const dd_grid *grid,
                   const dd_shares *shares, dd_needs *needs)
{
    const int nwords = (int)needs->nwords;

    dd_needs_mark(domain, n, own, cell, grid, shares, false, needs);
    return MPI_Iallgather(needs->mine, nwords, MPI_UINT64_T, needs->bits, nwords, MPI_UINT64_T, domain->comm,
                          &needs->request) == MPI_SUCCESS
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
