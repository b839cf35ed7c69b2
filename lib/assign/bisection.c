/* SPDX-License-Identifier: BSD-3-Clause */
/* Halves along x, these along y, these along z, and so on. */
#include "assign/boxes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The direction of a piece's cut: the next one, after its parent's, in which it still has parts to divide. */
static void choose_axis(eqp_boxes_piece *piece, int after, int level)
{
    piece->axis = -1;
    piece->level = level + 1;
    for (int i = 1; i <= 3 && piece->axis < 0; i++) {
        int d = (after + i) % 3;
        if (piece->count[d] > 1) {
            piece->axis = d;
            /* A new round begins where the direction does not rise. */
            piece->level = d > after ? level : level + 1;
        }
    }
}

static void divide(eqp_boxes *boxes, int at)
{
    eqp_boxes_piece *piece = &boxes->piece[at];
    int half;

    if (piece->axis < 0) {
        return;
    }
    half = piece->count[piece->axis] / 2;
    piece->child = boxes->npiece;
    for (int side = 0; side < 2; side++) {
        eqp_boxes_piece *child = &boxes->piece[boxes->npiece++];
        *child = *piece;
        child->first[piece->axis] += side ? half : 0;
        child->count[piece->axis] = side ? piece->count[piece->axis] - half : half;
        choose_axis(child, piece->axis, piece->level);
    }
}

int eqp__bisection_create(eqp_boxes *boxes)
{
    int code = eqp_array_create(&boxes->piece, 2 * (int64_t)boxes->parts - 1, sizeof *boxes->piece);

    if (code) {
        return code;
    }
    boxes->npiece = 1;
    for (int d = 0; d < 3; d++) {
        boxes->piece[0].count[d] = boxes->n[d];
    }
    choose_axis(&boxes->piece[0], -1, 0);
    for (int i = 0; i < boxes->npiece; i++) {
        divide(boxes, i);
    }
    return EQP_OK;
}

void eqp__bisection_uniform(eqp_boxes *boxes)
{
    for (int i = 0; i < boxes->npiece; i++) {
        eqp_boxes_piece *piece = &boxes->piece[i];
        int d = piece->axis;
        if (d >= 0) {
            int place = boxes->piece[piece->child + 1].first[d];
            piece->wall = boxes->low[d] + (boxes->high[d] - boxes->low[d]) * place / boxes->n[d];
        }
    }
}

int eqp__bisection_find(const eqp_boxes *boxes, const double x[3])
{
    const eqp_boxes_piece *piece = &boxes->piece[0];

    while (piece->axis >= 0) {
        piece = &boxes->piece[piece->child + (x[piece->axis] >= piece->wall)];
    }
    return eqp__boxes_part(boxes, piece->first);
}

void eqp__bisection_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3])
{
    const eqp_boxes_piece *piece = &boxes->piece[0];
    const int n1 = boxes->n[1], n2 = boxes->n[2];
    int at[3] = {part / n2 / n1, part / n2 % n1, part % n2};

    for (int d = 0; d < 3; d++) {
        low[d] = boxes->low[d];
        high[d] = boxes->high[d];
    }
    while (piece->axis >= 0) {
        int d = piece->axis;
        bool upper = at[d] >= boxes->piece[piece->child + 1].first[d];
        if (upper) {
            low[d] = piece->wall;
        } else {
            high[d] = piece->wall;
        }
        piece = &boxes->piece[piece->child + upper];
    }
}

/* Extent of a piece. */
typedef struct extent {
    double low[3], high[3];
} extent;

static double parts_of(const eqp_boxes_piece *piece)
{
    return (double)piece->count[0] * piece->count[1] * piece->count[2];
}

/* Loads of all pieces, from the parts upwards. */
static void sum_up(const eqp_boxes *boxes, const double *load, double *sum)
{
    for (int i = boxes->npiece - 1; i >= 0; i--) {
        const eqp_boxes_piece *piece = &boxes->piece[i];
        sum[i] =
            piece->axis < 0 ? load[eqp__boxes_part(boxes, piece->first)] : sum[piece->child] + sum[piece->child + 1];
    }
}

/* The coarsest level after whose cuts some piece has too much; -1: none. */
static int coarsest(const eqp_boxes *boxes, const double *sum, double tolerance)
{
    double mean = sum[0] / boxes->parts;
    int found = -1;

    for (int i = 0; i < boxes->npiece; i++) {
        const eqp_boxes_piece *piece = &boxes->piece[i];
        if (piece->axis < 0 || (found >= 0 && piece->level >= found)) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const eqp_boxes_piece *child = &boxes->piece[piece->child + side];
            /* Between the cuts of one round nothing is finished. */
            bool finished = child->level > piece->level;
            if (finished && sum[piece->child + side] / parts_of(child) > mean * (1 + tolerance)) {
                found = piece->level;
            }
        }
    }
    return found;
}

/* The place in [low, high] below which a share of the load lies, with one density below `middle` and another above. */
static double divide_load(double low, double high, double middle, const double density[2], double share)
{
    double below = density[0] * (middle - low), above = density[1] * (high - middle);
    double target = share * (below + above);

    return target <= below && below > 0 ? low + (middle - low) * (target / below)
                                        : middle + (high - middle) * ((target - below) / above);
}

/* New wall of a piece: aimed at, damped, and far enough from both ends for the parts on either side. The old halves,
 * with loads sum[2], met at the old wall; the piece itself may have moved since. */
static double new_wall(const eqp_boxes *boxes, const eqp_boxes_piece *piece, const extent *old, const extent *now,
                       const double sum[2], double damping)
{
    int d = piece->axis, nlow = boxes->piece[piece->child].count[d], n = piece->count[d];
    double low = now->low[d], high = now->high[d], wall = piece->wall, wanted = wall;
    double density[2] = {sum[0] / (wall - old->low[d]), sum[1] / (old->high[d] - wall)};
    /* Rounding may have left a little less than the least width. */
    double least = fmin(boxes->least[d], 0.999 * (high - low) / n);
    double middle = fmin(fmax(wall, low), high);

    if (density[0] * (middle - low) + density[1] * (high - middle) > 0) {
        wanted = divide_load(low, high, middle, density, (double)nlow / n);
    } else if (low != old->low[d] || high != old->high[d]) {
        wanted = low + (high - low) * ((wall - old->low[d]) / (old->high[d] - old->low[d]));
    }
    wanted = wall + damping * (wanted - wall);
    return fmin(fmax(wanted, low + nlow * least), high - (n - nlow) * least);
}

static void child_extent(extent *child, const extent *piece, int d, double wall, int side)
{
    *child = *piece;
    if (side) {
        child->low[d] = wall;
    } else {
        child->high[d] = wall;
    }
}

static void cut_anew(eqp_boxes *boxes, const double *sum, int level, const eqp_boxes_options *options, extent *old,
                     extent *now, eqp_boxes_change *change)
{
    for (int d = 0; d < 3; d++) {
        old[0].low[d] = now[0].low[d] = boxes->low[d];
        old[0].high[d] = now[0].high[d] = boxes->high[d];
    }
    for (int i = 0; i < boxes->npiece; i++) {
        eqp_boxes_piece *piece = &boxes->piece[i];
        double wall = piece->wall;
        if (piece->axis < 0) {
            continue;
        }
        if (piece->level >= level) {
            wall = new_wall(boxes, piece, &old[i], &now[i], &sum[piece->child],
                            piece->level == level ? options->damping : 1);
        }
        for (int side = 0; side < 2; side++) {
            child_extent(&old[piece->child + side], &old[i], piece->axis, piece->wall, side);
            child_extent(&now[piece->child + side], &now[i], piece->axis, wall, side);
        }
        eqp__boxes_moved(change, piece->wall, wall);
        piece->wall = wall;
    }
}

int eqp__bisection_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                             eqp_boxes_change *change)
{
    double *sum = NULL;
    extent *old = NULL, *now = NULL;
    int code;

    EQP_TRY(eqp_array_create(&sum, boxes->npiece, sizeof *sum));
    EQP_TRY(eqp_array_create(&old, boxes->npiece, sizeof *old));
    EQP_TRY(eqp_array_create(&now, boxes->npiece, sizeof *now));
    sum_up(boxes, load, sum);
    change->level = coarsest(boxes, sum, options->tolerance);
    if (change->level >= 0) {
        cut_anew(boxes, sum, change->level, options, old, now, change);
    }
done:
    free(sum);
    free(old);
    free(now);
    return code;
}
