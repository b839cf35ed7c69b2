/* SPDX-License-Identifier: BSD-3-Clause */
#include "field.h"

#include "blocks.h"

#include "../../../shell/signals.h"

#include <equipoise/par.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MOMENT_BYTES (DD_FAR_MOMENTS * (int64_t)sizeof(double))
/* Cells between two looks for a signal: a quarter of a second where there are a million cells. */
#define CELLS_AT_ONCE 8

#define FIELD_BYTES (DD_FAR_FIELD * (int64_t)sizeof(double))

/* As MPI_MAXLOC has it: of equal counts the lowest rank. */
struct dd_claim {
    int segments, rank;
};

int dd_field_open(const dd_domain *domain, const dd_grid *grid, dd_field *field)
{
    int code = EQP_OK;

    dd_far_parts_init(&field->parts, grid, domain->nranks);
    (void)dd_far_parts_piece(&field->parts, domain->rank, &field->piece);
    if (field->parts.runs > 0) {
        EQP_TRY(grid->ncells > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
        EQP_TRY(eqp_array_create(&field->claim, grid->ncells, sizeof *field->claim));
        EQP_TRY(eqp_array_create(&field->segments, grid->ncells, sizeof *field->segments));
        EQP_TRY(eqp_array_create(&field->home, grid->ncells, sizeof *field->home));
    }
done:
    return code;
}

int dd_field_begin(const dd_domain *domain, const dd_grid *grid, dd_field *field)
{
    if (field->parts.runs == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        int owned = 0;
        for (int k = 0; k < node->narms; k++) {
            owned += node->tag < node->arm[k].tag;
        }
        if (owned > 0) {
            field->segments[dd_grid_cell(grid, node->x)] += owned;
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

    if (field->parts.runs > 0) {
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

static int create_numbers(dd_field *field)
{
    int code;

    EQP_TRY(eqp_array_create(&field->own, field->nmine * DD_FAR_MOMENTS, sizeof *field->own));
    EQP_TRY(eqp_array_create(&field->moments, field->piece.nsources * DD_FAR_MOMENTS, sizeof *field->moments));
    EQP_TRY(eqp_array_create(&field->made, field->piece.ncells * DD_FAR_FIELD, sizeof *field->made));
    EQP_TRY(eqp_array_create(&field->field, field->nlive * DD_FAR_FIELD, sizeof *field->field));
done:
    return code;
}

/* Every run wants a cell's moments, of the part that has its slab. code: this rank's so far. */
static int plan_moments(const dd_domain *domain, int code, dd_field *field)
{
    dd_blocks blocks = {.n = 0};

    dd_blocks_fail(&blocks, code);
    for (int64_t m = 0; m < field->nmine; m++) {
        const int slab = dd_far_parts_slab(&field->parts, field->mine[m]);
        dd_blocks_add(&blocks, field->mine[m], MOMENT_BYTES);
        for (int run = 0; run < field->parts.runs; run++) {
            dd_blocks_need(&blocks, run * field->parts.slabs + slab);
        }
    }
    return dd_blocks_route(domain->comm, &domain->plan, &blocks, &field->out);
}

/* A rank has segments in a cell. */
typedef struct wish {
    int64_t cell;
    int64_t rank;
} wish;

static int compare_wishes(const void *left, const void *right)
{
    const wish *a = left, *b = right;

    if (a->cell != b->cell) {
        return a->cell < b->cell ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* To all who compute for own cells; wishes: those that arrive here, sorted. */
static int tell_wishes(const dd_domain *domain, const dd_field *field, int64_t *nwishes, wish **wishes)
{
    const int slabs = field->parts.slabs;
    const int64_t nout = field->nlive * slabs;
    wish *out = NULL;
    int *dest = NULL, code = eqp_array_create(&out, nout, sizeof *out);

    if (code == EQP_OK) {
        code = eqp_array_create(&dest, nout, sizeof *dest);
    }
    for (int64_t i = 0; i < nout && code == EQP_OK; i++) {
        const int64_t cell = field->live[i / slabs];
        out[i] = (wish){cell, domain->rank};
        dest[i] = dd_far_parts_run(&field->parts, cell) * slabs + (int)(i % slabs);
    }
    code = eqp_send_sparse(domain->comm, code, sizeof *out, nout, dest, out, NULL, nwishes, wishes);
    free(dest);
    free(out);
    if (code == EQP_OK && *nwishes > 1) {
        qsort(*wishes, (size_t)*nwishes, sizeof **wishes, compare_wishes);
    }
    return code;
}

static int plan_fields(const dd_domain *domain, dd_field *field)
{
    dd_blocks blocks = {.n = 0};
    wish *wishes = NULL;
    int64_t nwishes = 0, w = 0;
    int code = tell_wishes(domain, field, &nwishes, &wishes);

    dd_blocks_fail(&blocks, code);
    for (int64_t c = field->piece.cell; c < field->piece.cell + field->piece.ncells && code == EQP_OK; c++) {
        dd_blocks_add(&blocks, c, FIELD_BYTES);
        for (; w < nwishes && wishes[w].cell == c; w++) {
            dd_blocks_need(&blocks, (int)wishes[w].rank);
        }
    }
    free(wishes);
    return dd_blocks_route(domain->comm, &domain->plan, &blocks, &field->back);
}

int dd_field_plan(const dd_domain *domain, dd_field *field)
{
    int code = EQP_OK;

    if (field->parts.runs == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    EQP_TRY(plan_moments(domain, create_numbers(field), field));
    EQP_TRY(plan_fields(domain, field));
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
    free(field->own);
    free(field->moments);
    free(field->made);
    free(field->field);
    *field = (dd_field){.home = NULL};
}

int dd_field_start(dd_field *field)
{
    return eqp_route_start(field->out, field->own);
}

int dd_field_take_moments(dd_field *field, dd_far *far)
{
    const dd_far_piece *piece = &field->piece;
    const eqp_route_view view = eqp_route_arrivals(field->out);
    const void *received = NULL;
    int code = eqp_route_finish(field->out, &received);

    memset(field->moments, 0, (size_t)(piece->nsources * MOMENT_BYTES)); /* empty cells have no home */
    for (int64_t m = 0; m < field->nmine && code == EQP_OK; m++) {
        const int64_t source = field->mine[m] - piece->source;
        if (source >= 0 && source < piece->nsources) {
            memcpy(field->moments + source * DD_FAR_MOMENTS, field->own + m * DD_FAR_MOMENTS, MOMENT_BYTES);
        }
    }
    for (int64_t b = 0; b < view.n && code == EQP_OK; b++) {
        memcpy(field->moments + (view.id[b] - piece->source) * DD_FAR_MOMENTS, (const char *)received + view.offset[b],
               MOMENT_BYTES);
    }
    if (code == EQP_OK) {
        dd_far_set_run(far, piece->source, piece->nsources, field->moments);
    }
    return code;
}

int dd_field_compute(dd_field *field, const dd_far *far)
{
    const dd_far_piece *piece = &field->piece;
    int code = EQP_OK;

    for (int64_t c = 0; c < piece->ncells && code == EQP_OK; c += CELLS_AT_ONCE) {
        const int64_t n = piece->ncells - c < CELLS_AT_ONCE ? piece->ncells - c : CELLS_AT_ONCE;
        dd_far_stress_rows(far, piece->row, piece->nrows, piece->cell + c, n, field->made + c * DD_FAR_FIELD);
        code = app_signals_stop();
    }
    return code;
}

/* The place of a cell among those with own segments. */
static int64_t find_live(const dd_field *field, int64_t cell)
{
    int64_t low = 0, high = field->nlive;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (field->live[middle] <= cell) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_field(dd_field *field, int64_t live, const double *part)
{
    for (int v = 0; v < DD_FAR_FIELD; v++) {
        field->field[live * DD_FAR_FIELD + v] += part[v];
    }
}

int dd_field_exchange(dd_field *field)
{
    const dd_far_piece *piece = &field->piece;
    const eqp_route_view view = eqp_route_arrivals(field->back);
    const void *received = NULL;
    int code;

    EQP_TRY(eqp_route_start(field->back, field->made));
    EQP_TRY(eqp_route_finish(field->back, &received));
done:
    memset(field->field, 0, (size_t)(field->nlive * FIELD_BYTES));
    for (int64_t l = 0; l < field->nlive && code == EQP_OK; l++) {
        const int64_t c = field->live[l] - piece->cell;
        if (c >= 0 && c < piece->ncells) {
            add_field(field, l, field->made + c * DD_FAR_FIELD);
        }
    }
    for (int64_t b = 0; b < view.n && code == EQP_OK; b++) { /* by rank, that is by slab */
        add_field(field, find_live(field, view.id[b]),
                  (const double *)(const void *)((const char *)received + view.offset[b]));
    }
    return code;
}
