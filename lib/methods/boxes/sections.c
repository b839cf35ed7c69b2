/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections: slabs along x, columns along y in each slab, boxes along z in each column. */
#include "methods/boxes/boxes.h"

#include "base/internal.h"

#include <math.h>

/* Row `line` of the walls across a direction: n + 1 walls, the outermost ones fixed. The slabs form one row, the
 * columns of each slab a row, and the boxes of each column a row. */
static double *row(const eqp_boxes *boxes, int direction, int line)
{
    int64_t n0 = boxes->n[0], n1 = boxes->n[1];
    int64_t first[3] = {0, n0 + 1, n0 + 1 + n0 * (n1 + 1)};

    return boxes->wall + first[direction] + (int64_t)line * (boxes->n[direction] + 1);
}

static int rows(const eqp_boxes *boxes, int direction)
{
    return direction == 0 ? 1 : direction == 1 ? boxes->n[0] : boxes->n[0] * boxes->n[1];
}

int eqp__sections_create(eqp_boxes *boxes)
{
    boxes->nwall = 0;
    for (int d = 0; d < 3; d++) {
        boxes->nwall += (int64_t)rows(boxes, d) * (boxes->n[d] + 1);
    }
    return eqp_array_create(&boxes->wall, boxes->nwall, sizeof *boxes->wall);
}

void eqp__sections_uniform(eqp_boxes *boxes)
{
    for (int d = 0; d < 3; d++) {
        for (int line = 0; line < rows(boxes, d); line++) {
            double *wall = row(boxes, d, line);
            for (int i = 0; i < boxes->n[d]; i++) {
                wall[i] = boxes->low[d] + (boxes->high[d] - boxes->low[d]) * i / boxes->n[d];
            }
            wall[boxes->n[d]] = boxes->high[d];
        }
    }
}

/* The first part of slab i of a row; the parts of a slab are consecutive. */
static int first_part(const eqp_boxes *boxes, int direction, int line, int i)
{
    int place = line * boxes->n[direction] + i;

    return direction == 0 ? place * boxes->n[1] * boxes->n[2] : direction == 1 ? place * boxes->n[2] : place;
}

int eqp__row_find(const double *wall, int n, double x)
{
    int low = 0, high = n;

    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (x >= wall[middle]) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int eqp__sections_find(const eqp_boxes *boxes, const double x[3])
{
    int place = 0;

    for (int d = 0; d < 3; d++) {
        place = place * boxes->n[d] + eqp__row_find(row(boxes, d, place), boxes->n[d], x[d]);
    }
    return place;
}

void eqp__sections_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3])
{
    int line = part;

    for (int d = 2; d >= 0; d--) {
        int i = line % boxes->n[d];
        line /= boxes->n[d];
        low[d] = row(boxes, d, line)[i];
        high[d] = row(boxes, d, line)[i + 1];
    }
}

/* The place above `from` up to which the load is `target`, with uniform load in each slab; the topmost wall if the load
 * is less. slab: the slab that contains `from`. */
static double climb(const double *wall, const double *load, int n, int slab, double from, double target)
{
    for (int i = slab; i < n; i++) {
        double rest = load[i] * ((wall[i + 1] - from) / (wall[i + 1] - wall[i]));
        if (rest >= target && rest > 0) {
            return from + (wall[i + 1] - from) * (target / rest);
        }
        target -= rest;
        from = wall[i + 1];
    }
    return wall[n];
}

static double between(const double *wall, const double *load, int n, double from, double to)
{
    double sum = 0;

    for (int i = eqp__row_find(wall, n, from); i < n && wall[i] < to; i++) {
        sum += load[i] * ((fmin(to, wall[i + 1]) - fmax(from, wall[i])) / (wall[i + 1] - wall[i]));
    }
    return sum;
}

typedef struct limits {
    double cell, fraction, least;
} limits;

/* Largest distance that a wall may move into a slab of this width. The opposite wall may move equally far. */
static double most(const limits *limit, double width)
{
    return fmin(fmin(limit->cell, limit->fraction * width), fmax(0, (width - limit->least) / 2));
}

/* Moves the inner walls of a row. load: [n] of the slabs; before: [n + 1] out, old walls. */
static void sweep(double *wall, double *before, const double *load, int n, const limits *limit,
                  eqp_boxes_change *change)
{
    double left = 0;

    for (int i = 0; i < n; i++) {
        before[i] = wall[i];
        left += load[i];
    }
    before[n] = wall[n];
    for (int i = 1; i < n && left > 0; i++) {
        double from = wall[i - 1];
        double wanted = climb(before, load, n, eqp__row_find(before, n, from), from, left / (n - i + 1));
        double down = before[i] - most(limit, before[i] - before[i - 1]);
        double up = before[i] + most(limit, before[i + 1] - before[i]);

        wall[i] = fmin(fmax(wanted, down), up);
        eqp__boxes_moved(change, before[i], wall[i]);
        left = fmax(0, left - between(before, load, n, from, wall[i]));
    }
}

int eqp__sections_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                            eqp_boxes_change *change)
{
    double *sum = NULL, *before = NULL;
    const bool in_turn = options->direction < 0;
    int d = in_turn ? boxes->next : options->direction, code;
    limits limit;

    for (int i = 0; in_turn && i < 3 && boxes->n[d] == 1; i++) {
        d = (d + 1) % 3;
    }
    if (boxes->n[d] == 1) {
        return EQP_OK;
    }
    code = eqp_array_create(&sum, boxes->n[d], sizeof *sum);
    code = code ? code : eqp_array_create(&before, boxes->n[d] + 1, sizeof *before);
    EQP_TRY(code);
    limit.cell = options->cell[d] > 0 ? options->cell_fraction * options->cell[d] : HUGE_VAL;
    limit.fraction = options->slab_fraction;
    limit.least = boxes->least[d];
    for (int line = 0; line < rows(boxes, d); line++) {
        for (int i = 0; i < boxes->n[d]; i++) {
            int begin = first_part(boxes, d, line, i), end = first_part(boxes, d, line, i + 1);
            sum[i] = 0;
            for (int p = begin; p < end; p++) {
                sum[i] += load[p];
            }
        }
        sweep(row(boxes, d, line), before, sum, boxes->n[d], &limit, change);
    }
    change->dimension = d;
    boxes->next = (d + 1) % 3;
done:
    EQP__FREE(sum, before);
    return code;
}
