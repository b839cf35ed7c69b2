/* SPDX-License-Identifier: BSD-3-Clause */
#include "field.h"

#include "../outbox.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* MPI_MAXLOC takes the lowest rank among equal counts. */
struct dd_claim {
    int segments, rank;
};

int dd_field_open(const dd_domain *domain, const dd_grid *grid, dd_field *field)
{
    int code = EQP_OK;

    dd_far_parts_init(&field->parts, grid, domain->nranks);
    if (field->parts.nparts > 0) {
        EQP_TRY(grid->ncells > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
        EQP_TRY(eqp_array_create(&field->claim, grid->ncells, sizeof *field->claim));
        EQP_TRY(eqp_array_create(&field->segments, grid->ncells, sizeof *field->segments));
        EQP_TRY(eqp_array_create(&field->home, grid->ncells, sizeof *field->home));
    }
done:
    return code;
}

int dd_field_begin(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, dd_field *field)
{
    if (field->parts.nparts == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        int owned = 0;
        for (int k = 0; k < node->narms; k++) {
            owned += node->tag < node->arm[k].tag;
        }
        if (owned > 0) {
            field->segments[dd_grid_cell_of_node(grid, domain, halo, i)] += owned;
        }
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
    int code;

    for (int64_t c = 0; c < ncells; c++) {
        field->home[c] = field->claim[c].segments > 0 ? field->claim[c].rank : -1;
        field->nlive += field->segments[c] > 0;
        field->nmine += field->home[c] == domain->rank;
    }
    EQP_TRY(eqp_array_create(&field->live, field->nlive, sizeof *field->live));
    EQP_TRY(eqp_array_create(&field->mine, field->nmine, sizeof *field->mine));
    for (int64_t c = 0, live = 0, mine = 0; c < ncells; c++) {
        if (field->segments[c] > 0) {
            field->live[live++] = c;
        }
        if (field->home[c] == domain->rank) {
            field->mine[mine++] = c;
        }
    }
done:
    return code;
}

int dd_field_end(const dd_domain *domain, const dd_grid *grid, dd_field *field)
{
    int code = EQP_OK;

    if (field->parts.nparts > 0) {
        eqp_wait_begin();
        code = MPI_Wait(&field->request, MPI_STATUS_IGNORE) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
        eqp_wait_end();
        code = code == EQP_OK ? create_lists(domain, grid->ncells, field) : code;
    }
    free(field->claim);
    free(field->segments);
    field->claim = NULL;
    field->segments = NULL;
    return code;
}

static int64_t item_of(const dd_field *field, int64_t cell, int64_t chunk)
{
    return cell / field->parts.sizes.ncells * field->parts.nchunks + chunk;
}

static dd_far_slice chunk_of(const dd_field *field, bool local, int64_t chunk)
{
    return dd_far_parts_chunk(&field->parts, local ? field->parts.sizes.nlocal : field->parts.sizes.nmoments, chunk);
}

static int create_numbers(dd_field *field)
{
    const dd_far_sizes *s = &field->parts.sizes;
    int code;

    EQP_TRY(eqp_array_create(&field->moments, field->nmine * s->nmoments, sizeof *field->moments));
    EQP_TRY(eqp_array_create(&field->local, field->nlive * s->nlocal, sizeof *field->local));
done:
    return code;
}

/* A block is a chunk of a cell's components. code: this rank's so far. */
static int plan_moments(const dd_domain *domain, int code, dd_field *field)
{
    dd_blocks blocks = {.n = 0};

    dd_blocks_fail(&blocks, code);
    for (int64_t m = 0; m < field->nmine; m++) {
        for (int64_t c = 0; c < field->parts.nchunks; c++) {
            dd_blocks_add(&blocks, field->mine[m] * field->parts.nchunks + c,
                          chunk_of(field, false, c).n * (int64_t)sizeof(double));
            dd_blocks_need(&blocks, dd_far_parts_owner(&field->parts, item_of(field, field->mine[m], c)));
        }
    }
    return dd_blocks_route(domain->comm, &domain->plan, &blocks, &field->out);
}

typedef struct wish {
    int64_t block; /* cell x chunks + chunk */
    int64_t rank;
} wish;

/* By block, for find_wish(), then by rank, for the route. */
static int compare_wishes(const void *left, const void *right)
{
    const wish *a = left, *b = right;

    if (a->block != b->block) {
        return a->block < b->block ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Tells the ranks that compute them the cells with own segments. wishes: received here, sorted. */
static int tell_wishes(const dd_domain *domain, const dd_field *field, int64_t *nwishes, wish **wishes)
{
    const int nchunks = field->parts.nchunks;
    const int64_t nout = field->nlive * nchunks;
    wish *out = NULL;
    int *dest = NULL, code;

    EQP_TRY(eqp_array_create(&out, nout, sizeof *out));
    EQP_TRY(eqp_array_create(&dest, nout, sizeof *dest));
    for (int64_t i = 0; i < nout; i++) {
        const int64_t cell = field->live[i / nchunks], chunk = i % nchunks;
        out[i] = (wish){cell * nchunks + chunk, domain->rank};
        dest[i] = dd_far_parts_owner(&field->parts, item_of(field, cell, chunk));
    }
done:
    code = eqp_send_sparse(domain->comm, code, sizeof *out, nout, dest, out, NULL, nwishes, wishes);
    free(dest);
    free(out);
    if (code == EQP_OK && *nwishes > 1) {
        qsort(*wishes, (size_t)*nwishes, sizeof **wishes, compare_wishes);
    }
    return code;
}

static int64_t find_wish(int64_t n, const wish *wishes, int64_t block)
{
    int64_t low = 0, high = n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (wishes[middle].block < block) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Blocks of all cells of this rank's items, item by item; cells without segments have no receiver. */
static int plan_local(const dd_domain *domain, dd_field *field)
{
    const int64_t ncells = field->parts.sizes.ncells, nchunks = field->parts.nchunks;
    const dd_far_slice items = dd_far_parts_items(&field->parts, domain->rank);
    dd_blocks blocks = {.n = 0};
    wish *wishes = NULL;
    int64_t nwishes = 0;
    int code = tell_wishes(domain, field, &nwishes, &wishes);

    dd_blocks_fail(&blocks, code);
    for (int64_t i = items.first * ncells; i < (items.first + items.n) * ncells && code == EQP_OK; i++) {
        const int64_t chunk = i / ncells % nchunks, cell = i / ncells / nchunks * ncells + i % ncells;
        const int64_t block = cell * nchunks + chunk;
        dd_blocks_add(&blocks, block, chunk_of(field, true, chunk).n * (int64_t)sizeof(double));
        for (int64_t w = find_wish(nwishes, wishes, block); w < nwishes && wishes[w].block == block; w++) {
            dd_blocks_need(&blocks, (int)wishes[w].rank);
        }
    }
    free(wishes);
    return dd_blocks_route(domain->comm, &domain->plan, &blocks, &field->back);
}

int dd_field_plan(const dd_domain *domain, dd_field *field)
{
    int code = EQP_OK;

    if (field->parts.nparts == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    EQP_TRY(plan_moments(domain, create_numbers(field), field));
    EQP_TRY(plan_local(domain, field));
done:
    return code;
}

void dd_field_free(dd_field *field)
{
    eqp_route_free(field->out);
    eqp_route_free(field->back);
    free(field->claim);
    free(field->segments);
    free(field->home);
    free(field->live);
    free(field->mine);
    free(field->moments);
    free(field->local);
    *field = (dd_field){.home = NULL};
}

int dd_field_start(dd_field *field)
{
    return eqp_route_start(field->out, field->moments);
}

static bool has_item(const dd_waves *waves, int64_t item)
{
    return item >= waves->items.first && item < waves->items.first + waves->items.n;
}

static void take(const dd_field *field, const dd_waves *waves, int64_t block, const void *from)
{
    const int64_t cell = block / field->parts.nchunks, chunk = block % field->parts.nchunks;
    const int64_t n = chunk_of(field, false, chunk).n;

    memcpy(dd_waves_moments(waves, item_of(field, cell, chunk)) + cell % field->parts.sizes.ncells * n, from,
           (size_t)n * sizeof(double));
}

int dd_field_take_moments(dd_field *field, dd_waves *waves)
{
    const eqp_route_view view = eqp_route_arrivals(field->out);
    const int64_t nchunks = field->parts.nchunks, nmoments = field->parts.sizes.nmoments;
    const void *received = NULL;
    const int code = eqp_route_finish(field->out, &received);

    dd_waves_clear(waves); /* empty cells have no home */
    for (int64_t i = 0; i < field->nmine * nchunks && code == EQP_OK; i++) {
        const int64_t cell = field->mine[i / nchunks], chunk = i % nchunks;
        if (has_item(waves, item_of(field, cell, chunk))) {
            take(field, waves, cell * nchunks + chunk,
                 field->moments + i / nchunks * nmoments + chunk_of(field, false, chunk).first);
        }
    }
    for (int64_t b = 0; b < view.n && code == EQP_OK; b++) {
        take(field, waves, view.id[b], (const char *)received + view.offset[b]);
    }
    return code;
}

static void give(dd_field *field, int64_t live, int64_t chunk, const void *from)
{
    const dd_far_slice of = chunk_of(field, true, chunk);

    memcpy(field->local + live * field->parts.sizes.nlocal + of.first, from, (size_t)of.n * sizeof(double));
}

int dd_field_exchange(dd_field *field, const dd_waves *waves)
{
    const eqp_route_view view = eqp_route_arrivals(field->back);
    const int64_t nchunks = field->parts.nchunks;
    const void *received = NULL;
    const int code = dd_route_send(field->back, EQP_OK, waves->local, &received);

    for (int64_t i = 0; i < field->nlive * nchunks && code == EQP_OK; i++) {
        const int64_t cell = field->live[i / nchunks], chunk = i % nchunks, item = item_of(field, cell, chunk);
        if (has_item(waves, item)) {
            give(field, i / nchunks, chunk,
                 dd_waves_local(waves, item) + cell % field->parts.sizes.ncells * chunk_of(field, true, chunk).n);
        }
    }
    for (int64_t b = 0; b < view.n && code == EQP_OK; b++) {
        give(field, dd_find_last(field->live, field->nlive, view.id[b] / nchunks), view.id[b] % nchunks,
             (const char *)received + view.offset[b]);
    }
    return code;
}
