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
typedef struct claim {
    int segments, rank;
} claim;

static int claim_homes(const dd_domain *domain, int64_t ncells, const int64_t *segments, claim *claims)
{
    int code = EQP_OK;

    for (int64_t c = 0; c < ncells; c++) {
        const int64_t most = segments[c] < INT_MAX ? segments[c] : INT_MAX;
        claims[c] = (claim){(int)most, domain->rank};
    }
    for (int64_t c = 0; c < ncells && code == EQP_OK; c += INT_MAX) {
        const int n = (int)(ncells - c < INT_MAX ? ncells - c : INT_MAX);
        if (MPI_Allreduce(MPI_IN_PLACE, claims + c, n, MPI_2INT, MPI_MAXLOC, domain->comm) != MPI_SUCCESS) {
            code = EQP_ERR_MPI;
        }
    }
    return code;
}

static int create_lists(const dd_domain *domain, int64_t ncells, const int64_t *segments, const claim *claims,
                        dd_field *field)
{
    int code;

    EQP_TRY(eqp_array_create(&field->home, ncells, sizeof *field->home));
    for (int64_t c = 0; c < ncells; c++) {
        field->home[c] = claims[c].segments > 0 ? claims[c].rank : -1;
        field->nlive += segments[c] > 0;
        field->nmine += field->home[c] == domain->rank;
    }
    EQP_TRY(eqp_array_create(&field->live, field->nlive, sizeof *field->live));
    EQP_TRY(eqp_array_create(&field->mine, field->nmine, sizeof *field->mine));
    for (int64_t c = 0, live = 0, mine = 0; c < ncells; c++) {
        if (segments[c] > 0) {
            field->live[live++] = c;
        }
        if (field->home[c] == domain->rank) {
            field->mine[mine++] = c;
        }
    }
done:
    return code;
}

int dd_field_find_homes(const dd_domain *domain, const dd_grid *grid, const int64_t *segments, dd_field *field)
{
    claim *claims = NULL;
    int code;

    dd_far_parts_init(&field->parts, grid, domain->nranks);
    (void)dd_far_parts_piece(&field->parts, domain->rank, &field->piece);
    if (field->parts.runs == 0) {
        return EQP_OK;
    }
    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&claims, grid->ncells, sizeof *claims), NULL));
    EQP_TRY(claim_homes(domain, grid->ncells, segments, claims));
    EQP_TRY(eqp_agree(domain->comm, create_lists(domain, grid->ncells, segments, claims, field), NULL));
done:
    free(claims);
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

/* Every run wants a cell's moments, of the part that has its slab. */
static int plan_moments(const dd_domain *domain, dd_field *field)
{
    dd_blocks blocks = {.n = 0};

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
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    for (int64_t i = 0; i < nout; i++) {
        const int64_t cell = field->live[i / slabs];
        out[i] = (wish){cell, domain->rank};
        dest[i] = dd_far_parts_run(&field->parts, cell) * slabs + (int)(i % slabs);
    }
    EQP_TRY(eqp_send_records(domain->comm, sizeof *out, nout, dest, out, nwishes, wishes));
done:
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

    for (int64_t c = field->piece.cell; c < field->piece.cell + field->piece.ncells && code == EQP_OK; c++) {
        dd_blocks_add(&blocks, c, FIELD_BYTES);
        for (; w < nwishes && wishes[w].cell == c; w++) {
            dd_blocks_need(&blocks, (int)wishes[w].rank);
        }
    }
    free(wishes);
    if (code == EQP_OK) {
        code = dd_blocks_route(domain->comm, &domain->plan, &blocks, &field->back);
    }
    dd_blocks_free(&blocks);
    return code;
}

int dd_field_plan(const dd_domain *domain, dd_field *field)
{
    int code = EQP_OK;

    if (field->parts.runs == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    EQP_TRY(eqp_agree(domain->comm, create_numbers(field), NULL));
    EQP_TRY(plan_moments(domain, field));
    EQP_TRY(plan_fields(domain, field));
done:
    return code;
}

void dd_field_free(dd_field *field)
{
    eqp_route_free(field->out);
    eqp_route_free(field->back);
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
