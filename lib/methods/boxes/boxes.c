/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/boxes/boxes.h"

#include "base/internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Least width of a part as a fraction of an equal share. */
#define LEAST_SHARE 1e-6

int eqp_boxes_geometry(int nparts, int n[3])
{
    int64_t best = INT64_MAX;

    EQP__FAIL_IF(nparts < 1 || !n, EQP_ERR_ARGUMENT);
    for (int64_t c = 1; c * c * c <= nparts; c++) {
        for (int64_t b = c; nparts % c == 0 && c * b * b <= nparts; b++) {
            int64_t a = nparts / c / b;
            if (a * b * c == nparts && a + b + c < best) {
                best = a + b + c;
                n[0] = (int)a;
                n[1] = (int)b;
                n[2] = (int)c;
            }
        }
    }
    return EQP_OK;
}

int eqp__boxes_part(const eqp_boxes *boxes, const int at[3])
{
    return (at[0] * boxes->n[1] + at[1]) * boxes->n[2] + at[2];
}

static int check_counts(eqp_boxes_kind kind, const int n[3])
{
    int64_t parts = 1;

    EQP__FAIL_IF(kind != EQP_BOXES_SECTIONS && kind != EQP_BOXES_BISECTION, EQP_ERR_ARGUMENT);
    for (int d = 0; d < 3; d++) {
        EQP__FAIL_IF(n[d] < 1, EQP_ERR_ARGUMENT);
    }
    for (int d = 0; d < 3; d++) {
        parts *= n[d];
        /* Half of the int range, since the bisection tree has 2 parts - 1 pieces. */
        EQP__FAIL_IF(parts > INT32_MAX / 2, EQP_ERR_OVERFLOW);
    }
    return EQP_OK;
}

/* True if the bounds are valid and the least width of a part is well above the spacing of doubles at the corners. */
static bool is_wide(double low, double high, double least)
{
    return isfinite(low) && isfinite(high) && isfinite(high - low) && high > low &&
           least > 64 * DBL_EPSILON * fmax(fabs(low), fabs(high));
}

/* Allocates the object and its arrays; walls are unset. */
static int create_empty(eqp_boxes_kind kind, const double low[3], const double high[3], const int n[3],
                        eqp_boxes **result)
{
    int code = check_counts(kind, n);
    eqp_boxes *boxes = NULL;

    code = code ? code : eqp_array_create(&boxes, 1, sizeof *boxes);
    if (code == EQP_OK) {
        boxes->kind = kind;
        boxes->parts = n[0] * n[1] * n[2];
        for (int d = 0; d < 3; d++) {
            boxes->n[d] = n[d];
            boxes->low[d] = low[d];
            boxes->high[d] = high[d];
            boxes->least[d] = LEAST_SHARE * (high[d] - low[d]) / n[d];
            code = is_wide(low[d], high[d], boxes->least[d]) ? code : EQP_ERR_ARGUMENT;
        }
    }
    EQP_TRY(code);
    EQP_TRY(kind == EQP_BOXES_SECTIONS ? eqp__sections_create(boxes) : eqp__bisection_create(boxes));
    *result = boxes;
    return EQP_OK;
done:
    eqp_boxes_free(boxes);
    return code;
}

int eqp_boxes_create(eqp_boxes_kind kind, const double low[3], const double high[3], const int n[3], eqp_boxes **boxes)
{
    EQP_REQUIRE(low && high && n && boxes);
    eqp_boxes *result;

    EQP__CHECK(create_empty(kind, low, high, n, &result));
    if (kind == EQP_BOXES_SECTIONS) {
        eqp__sections_uniform(result);
    } else {
        eqp__bisection_uniform(result);
    }
    *boxes = result;
    return EQP_OK;
}

int eqp_boxes_copy(const eqp_boxes *boxes, eqp_boxes **copy)
{
    EQP_REQUIRE(boxes && copy);
    eqp_boxes *result;

    EQP__CHECK(create_empty(boxes->kind, boxes->low, boxes->high, boxes->n, &result));
    result->next = boxes->next;
    if (boxes->kind == EQP_BOXES_SECTIONS) {
        memcpy(result->wall, boxes->wall, (size_t)boxes->nwall * sizeof *boxes->wall);
    } else {
        memcpy(result->piece, boxes->piece, (size_t)boxes->npiece * sizeof *boxes->piece);
    }
    *copy = result;
    return EQP_OK;
}

void eqp_boxes_free(eqp_boxes *boxes)
{
    if (boxes) {
        EQP__FREE(boxes->wall, boxes->piece, boxes);
    }
}

int eqp_boxes_parts(const eqp_boxes *boxes)
{
    EQP_REQUIRE(boxes);
    return boxes->parts;
}

int eqp_boxes_find(const eqp_boxes *boxes, const double x[3])
{
    EQP_REQUIRE(boxes && x);
    return boxes->kind == EQP_BOXES_SECTIONS ? eqp__sections_find(boxes, x) : eqp__bisection_find(boxes, x);
}

int eqp_boxes_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3])
{
    EQP_REQUIRE(boxes && low && high);
    EQP__FAIL_IF(part < 0 || part >= boxes->parts, EQP_ERR_ARGUMENT);
    if (boxes->kind == EQP_BOXES_SECTIONS) {
        eqp__sections_bounds(boxes, part, low, high);
    } else {
        eqp__bisection_bounds(boxes, part, low, high);
    }
    return EQP_OK;
}

void eqp__boxes_moved(eqp_boxes_change *change, double from, double to)
{
    double way = fabs(to - from);

    if (way > 0) {
        change->moved++;
        change->total += way;
        change->largest = fmax(change->largest, way);
    }
}

/* comparisons that also refuse NaN */
static int check_options(const eqp_boxes_options *options)
{
    for (int d = 0; d < 3; d++) {
        EQP__FAIL_IF(!(options->cell[d] >= 0 && options->cell[d] <= DBL_MAX), EQP_ERR_ARGUMENT);
    }
    return options->size == sizeof *options && options->cell_fraction > 0 && options->slab_fraction >= 0 &&
                   options->slab_fraction <= 0.5 && options->tolerance >= 0 && options->damping >= 0 &&
                   options->damping <= 1 && options->direction >= -1 && options->direction <= 2
               ? EQP_OK
               : EQP_ERR_ARGUMENT;
}

int eqp_boxes_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                        eqp_boxes_change *change)
{
    EQP_REQUIRE(boxes && load);
    const eqp_boxes_options defaults = eqp_boxes_options_defaults();
    const eqp_boxes_options *with = options ? options : &defaults;
    eqp_boxes_change made = {0, -1, -1, 0, 0};
    double sum = 0;
    int code = check_options(with);

    for (int p = 0; code == EQP_OK && p < boxes->parts; p++) {
        sum += load[p];
        code = load[p] >= 0 && isfinite(sum) ? EQP_OK : EQP_ERR_DATA;
    }
    /* A total too small to be divided into shares counts as zero. */
    if (code == EQP_OK && sum > DBL_MIN / DBL_EPSILON) {
        code = boxes->kind == EQP_BOXES_SECTIONS ? eqp__sections_rebalance(boxes, load, with, &made)
                                                 : eqp__bisection_rebalance(boxes, load, with, &made);
    }
    if (code == EQP_OK && change) {
        *change = made;
    }
    return code;
}
