/* SPDX-License-Identifier: BSD-3-Clause */
#include "waves.h"

#include <limits.h>

/* MPI_MAXLOC takes the lowest rank among equal counts. */
struct dd_claim {
    int segments, rank;
};

int dd_field_open(const dd_domain *domain, const dd_grid *grid, dd_field *field)
{
    dd_far_parts_init(&field->parts, grid, domain->nranks);
    if (field->parts.nparts > 0) {
        EQP_CHECK(grid->ncells > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
        EQP_CHECK(eqp_array_create(&field->claim, grid->ncells, sizeof *field->claim));
        EQP_CHECK(eqp_array_create(&field->segments, grid->ncells, sizeof *field->segments));
        EQP_CHECK(eqp_array_create(&field->home, grid->ncells, sizeof *field->home));
    }
    return EQP_OK;
}

int dd_field_begin(const dd_domain *domain, int64_t n, const int64_t *cell, const dd_grid *grid, dd_field *field)
{
    if (field->parts.nparts == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t s = 0; s < n; s++) {
        field->segments[cell[s]]++;
    }
    for (int64_t c = 0; c < grid->ncells; c++) {
        field->claim[c] = (dd_claim){field->segments[c], domain->rank};
    }
    return MPI_Iallreduce(MPI_IN_PLACE, field->claim, (int)grid->ncells, MPI_2INT, MPI_MAXLOC, domain->comm,
                          &field->request) == MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

static int create_lists(const dd_domain *domain, int64_t ncells, dd_field *field)
{
    int64_t live_room = 0, mine_room = 0;

    for (int64_t c = 0; c < ncells; c++) {
        field->home[c] = field->claim[c].segments > 0 ? field->claim[c].rank : -1;
        if (field->segments[c] > 0) {
            EQP_CHECK(eqp_array_reserve(&field->live, &live_room, field->nlive + 1, sizeof *field->live));
            field->live[field->nlive++] = c;
        }
        if (field->home[c] == domain->rank) {
            EQP_CHECK(eqp_array_reserve(&field->mine, &mine_room, field->nmine + 1, sizeof *field->mine));
            field->mine[field->nmine++] = c;
        }
    }
    return EQP_OK;
}

/* Makes the lists and frees what they are made of. */
static int settle(const dd_domain *domain, const dd_grid *grid, int code, dd_field *field)
{
    code = code == EQP_OK ? create_lists(domain, grid->ncells, field) : code;
    free(field->claim);
    free(field->segments);
    field->claim = NULL;
    field->segments = NULL;
    return code;
}

int dd_field_end(const dd_domain *domain, const dd_grid *grid, dd_field *field)
{
    if (field->parts.nparts == 0) {
        return EQP_OK;
    }
    eqp_wait_begin();
    const int code = MPI_Wait(&field->request, MPI_STATUS_IGNORE) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
    eqp_wait_end();
    return settle(domain, grid, code, field);
}

int dd_field_count(const dd_domain *domain, const dd_grid *grid, const int *count, dd_field *field)
{
    if (field->parts.nparts == 0) {
        return EQP_OK;
    }
    for (int64_t c = 0; c < grid->ncells; c++) {
        field->segments[c] = count[domain->rank * grid->ncells + c];
        field->claim[c] = (dd_claim){0, 0};
        for (int r = 0; r < domain->nranks; r++) {
            const int segments = count[r * grid->ncells + c];
            field->claim[c] = segments > field->claim[c].segments ? (dd_claim){segments, r} : field->claim[c];
        }
    }
    return settle(domain, grid, EQP_OK, field);
}

static int64_t item_of(const dd_field *field, int64_t cell, int64_t chunk)
{
    return cell / field->parts.sizes.ncells * field->parts.nchunks + chunk;
}

static dd_far_slice chunk_of(const dd_field *field, bool local, int64_t chunk)
{
    return dd_far_parts_chunk(&field->parts, local ? field->parts.sizes.nlocal : field->parts.sizes.nmoments, chunk);
}

int dd_field_create_numbers(dd_field *field)
{
    const dd_far_sizes *s = &field->parts.sizes;

    EQP_CHECK(eqp_array_create(&field->moments, field->nmine * s->nmoments, sizeof *field->moments));
    return eqp_array_create(&field->local, field->nlive * s->nlocal, sizeof *field->local);
}

/* A block is a chunk of a cell's components. */
static int plan_moments(const dd_domain *domain, dd_field *field)
{
    dd_blocks blocks = {.code = dd_field_create_numbers(field)};

    for (int64_t m = 0; m < field->nmine; m++) {
        for (int64_t c = 0; c < field->parts.nchunks; c++) {
            dd_blocks_add(&blocks, field->mine[m] * field->parts.nchunks + c,
                          chunk_of(field, false, c).n * (int64_t)sizeof(double));
            dd_blocks_need(&blocks, dd_far_parts_owner(&field->parts, item_of(field, field->mine[m], c)));
        }
    }
    return dd_blocks_route(domain->comm, &domain->plan, &blocks, &field->out);
}

/* A rank that needs a block of a local expansion, in the order of the blocks. */
typedef struct wish {
    int64_t block; /* item x cells of a plane + place in the plane */
    int64_t rank;
} wish;

/* Tells the ranks that compute them the cells with own segments. wishes: received here, sorted. */
static int tell_wishes(const dd_domain *domain, const dd_field *field, int64_t *nwishes, wish **wishes)
{
    const int64_t nchunks = field->parts.nchunks, nout = field->nlive * nchunks, ncells = field->parts.sizes.ncells;
    DD_FREED wish *out = NULL;
    DD_FREED int *dest = NULL;
    int code = eqp_array_create(&out, nout, sizeof *out);

    code = code == EQP_OK ? eqp_array_create(&dest, nout, sizeof *dest) : code;
    for (int64_t i = 0; i < nout && code == EQP_OK; i++) {
        const int64_t cell = field->live[i / nchunks], item = item_of(field, cell, i % nchunks);
        out[i] = (wish){item * ncells + cell % ncells, domain->rank};
        dest[i] = dd_far_parts_owner(&field->parts, item);
    }
    EQP_CHECK(eqp_send_sparse(domain->comm, code, sizeof *out, nout, dest, out, NULL, nwishes, wishes));
    dd_sort(*wishes, *nwishes, sizeof **wishes, dd_by_2_words);
    return EQP_OK;
}

/* Blocks of all cells of this rank's items, item by item; cells without segments have no receiver. */
static int plan_local(const dd_domain *domain, dd_field *field)
{
    const int64_t ncells = field->parts.sizes.ncells, nchunks = field->parts.nchunks;
    const dd_far_slice items = dd_far_parts_items(&field->parts, domain->rank);
    DD_FREED wish *wishes = NULL;
    int64_t nwishes = 0, w = 0;
    dd_blocks blocks = {.code = tell_wishes(domain, field, &nwishes, &wishes)};

    for (int64_t i = items.first * ncells; i < (items.first + items.n) * ncells && blocks.code == EQP_OK; i++) {
        const int64_t chunk = i / ncells % nchunks, cell = i / ncells / nchunks * ncells + i % ncells;
        dd_blocks_add(&blocks, cell * nchunks + chunk, chunk_of(field, true, chunk).n * (int64_t)sizeof(double));
        for (; w < nwishes && wishes[w].block == i; w++) {
            dd_blocks_need(&blocks, (int)wishes[w].rank);
        }
    }
    return dd_blocks_route(domain->comm, &domain->plan, &blocks, &field->back);
}

int dd_field_plan(const dd_domain *domain, dd_field *field)
{
    if (field->parts.nparts == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    EQP_CHECK(plan_moments(domain, field));
    return plan_local(domain, field);
}

void dd_field_free(dd_field *field)
{
    void *owned[] = {field->claim, field->segments, field->home, field->live,
                     field->mine,  field->moments,  field->local};

    eqp_route_free(field->out);
    eqp_route_free(field->back);
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    *field = (dd_field){.home = NULL};
}

/* A chunk of a cell among the moments or local expansions in the memory of this rank; NULL: it is another rank's. */
static double *in_waves(const dd_field *field, const dd_waves *waves, bool local, int64_t cell, int64_t chunk)
{
    const int64_t item = item_of(field, cell, chunk);
    const bool own = item >= waves->items.first && item < waves->items.first + waves->items.n;

    return own || waves->node != NULL
               ? dd_waves_item(waves, local, item) + cell % field->parts.sizes.ncells * chunk_of(field, local, chunk).n
               : NULL;
}

/* Puts the moments that are summed here where they are transformed, as far as that is in the memory of this rank. */
static void place_moments(const dd_field *field, const dd_waves *waves)
{
    const int64_t nchunks = field->parts.nchunks, nmoments = field->parts.sizes.nmoments;

    for (int64_t i = 0; i < field->nmine * nchunks; i++) {
        const dd_far_slice of = chunk_of(field, false, i % nchunks);
        double *to = in_waves(field, waves, false, field->mine[i / nchunks], i % nchunks);
        if (to != NULL) {
            memcpy(to, field->moments + i / nchunks * nmoments + of.first, (size_t)of.n * sizeof *to);
        }
    }
}

/* Moments of empty cells, which have no home, in this rank's items. */
static void clear_empty(const dd_field *field, const dd_waves *waves)
{
    const int64_t nchunks = field->parts.nchunks, ncells = field->parts.sizes.ncells;

    for (int64_t i = waves->items.first; i < waves->items.first + waves->items.n; i++) {
        const int64_t first = i / nchunks * ncells, n = chunk_of(field, false, i % nchunks).n;
        for (int64_t c = first; c < first + ncells; c++) {
            if (field->home[c] < 0) {
                memset(in_waves(field, waves, false, c, i % nchunks), 0, (size_t)n * sizeof(double));
            }
        }
    }
}

int dd_field_give_moments(dd_field *field, dd_waves *waves)
{
    if (waves->node == NULL) {
        return eqp_route_start(field->out, field->moments);
    }
    clear_empty(field, waves);
    place_moments(field, waves);
    return EQP_OK;
}

int dd_field_take_moments(dd_field *field, dd_waves *waves)
{
    const eqp_route_view view = eqp_route_arrivals(field->out);
    const int64_t nchunks = field->parts.nchunks;
    const void *received = NULL;

    if (waves->node != NULL) {
        return eqp_node_meet(waves->node, EQP_OK);
    }
    EQP_CHECK(eqp_route_finish(field->out, &received));
    clear_empty(field, waves);
    place_moments(field, waves);
    for (int64_t b = 0; b < view.n; b++) {
        memcpy(in_waves(field, waves, false, view.id[b] / nchunks, view.id[b] % nchunks),
               (const char *)received + view.offset[b], (size_t)view.bytes[b]);
    }
    return EQP_OK;
}

int dd_field_exchange(dd_field *field, const dd_waves *waves)
{
    const eqp_route_view view = eqp_route_arrivals(field->back);
    const int64_t nchunks = field->parts.nchunks, nlocal = field->parts.sizes.nlocal;
    const void *received = NULL;

    EQP_CHECK(waves->node != NULL ? eqp_node_meet(waves->node, EQP_OK)
                                  : dd_route_send(field->back, EQP_OK, waves->local, &received));
    for (int64_t i = 0; i < field->nlive * nchunks; i++) {
        const dd_far_slice of = chunk_of(field, true, i % nchunks);
        const double *from = in_waves(field, waves, true, field->live[i / nchunks], i % nchunks);
        if (from != NULL) {
            memcpy(field->local + i / nchunks * nlocal + of.first, from, (size_t)of.n * sizeof *from);
        }
    }
    for (int64_t b = 0; b < view.n; b++) {
        const int64_t live = dd_find_last(field->live, field->nlive, view.id[b] / nchunks);
        memcpy(field->local + live * nlocal + chunk_of(field, true, view.id[b] % nchunks).first,
               (const char *)received + view.offset[b], (size_t)view.bytes[b]);
    }
    return EQP_OK;
}
