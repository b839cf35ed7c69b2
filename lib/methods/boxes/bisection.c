/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive bisection: cuts along x, y and z in turn. */
#include "methods/boxes/boxes.h"

#include "base/internal.h"

#include <math.h>

/* Sets the axis of a piece's cut: the first axis after its parent's along which the piece has several parts. */
static void choose_axis(eqp_boxes_piece *piece, int after, int level)
{
    piece->axis = -1;
    piece->level = level + 1;
    for (int i = 1; i <= 3 && piece->axis < 0; i++) {
        int d = (after + i) % 3;
        if (piece->count[d] > 1) {
            piece->axis = d;
            /* A new level begins if the axis is not above the parent's. */
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
        child->begins = child->level > piece->level;
    }
}

int eqp__bisection_create(eqp_boxes *boxes)
{
    EQP__CHECK(eqp_array_create(&boxes->piece, 2 * (int64_t)boxes->parts - 1, sizeof *boxes->piece));
    boxes->npiece = 1;
    for (int d = 0; d < 3; d++) {
        boxes->piece[0].count[d] = boxes->n[d];
    }
    choose_axis(&boxes->piece[0], -1, 0);
    boxes->piece[0].begins = true;
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

typedef struct extent {
    double low[3], high[3];
} extent;

/* Loads of all pieces, from the leaves up. */
static void sum_up(const eqp_boxes *boxes, const double *load, double *sum)
{
    for (int i = boxes->npiece - 1; i >= 0; i--) {
        const eqp_boxes_piece *piece = &boxes->piece[i];
        sum[i] =
            piece->axis < 0 ? load[eqp__boxes_part(boxes, piece->first)] : sum[piece->child] + sum[piece->child + 1];
    }
}

/* Collects the pieces into which the cuts of a level divide piece `at`. *n: their number; *most: largest load. */
static void gather(const eqp_boxes *boxes, const double *sum, int at, int level, int *n, double *most)
{
    for (int side = 0; side < 2; side++) {
        const int child = boxes->piece[at].child + side;
        if (boxes->piece[child].level > level) {
            *most = fmax(*most, sum[child]);
            ++*n;
        } else {
            gather(boxes, sum, child, level, n, most);
        }
    }
}

/* The coarsest level at which the loads of pieces differ by more than the tolerance; -1: none. */
static int coarsest(const eqp_boxes *boxes, const double *sum, double tolerance)
{
    int found = -1;

    for (int i = 0; i < boxes->npiece; i++) {
        const eqp_boxes_piece *piece = &boxes->piece[i];
        double most = 0;
        int n = 0;
        if (piece->axis < 0 || !piece->begins || (found >= 0 && piece->level >= found)) {
            continue;
        }
        gather(boxes, sum, i, piece->level, &n, &most);
        if (most * n > sum[i] * (1 + tolerance)) {
            found = piece->level;
        }
    }
    return found;
}

/* New wall of a piece, such that the load (sum[2] in the old halves) divides in proportion to the numbers of parts.
 * It is rescaled if the piece has moved, then damped, and leaves room on both sides for the least widths. */
static double new_wall(const eqp_boxes *boxes, const eqp_boxes_piece *piece, const extent *old, const extent *now,
                       const double sum[2], double damping)
{
    int d = piece->axis, nlow = boxes->piece[piece->child].count[d], n = piece->count[d];
    double low = now->low[d], high = now->high[d], wall = piece->wall, wanted = wall;
    double target = (sum[0] + sum[1]) * nlow / n;
    /* Rounding may have left slightly less than the least width. */
    double least = fmin(boxes->least[d], 0.999 * (high - low) / n);

    if (target > 0 && target < sum[0]) {
        wanted = old->low[d] + (wall - old->low[d]) * (target / sum[0]);
    } else if (target > 0) {
        wanted = wall + (old->high[d] - wall) * ((target - sum[0]) / sum[1]);
    }
    wanted = low + (high - low) * ((wanted - old->low[d]) / (old->high[d] - old->low[d]));
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

    EQP_TRY(
        EQP__ARRAYS(EQP__ARRAY(sum, boxes->npiece), EQP__ARRAY(old, boxes->npiece), EQP__ARRAY(now, boxes->npiece)));
    sum_up(boxes, load, sum);
    change->level = coarsest(boxes, sum, options->tolerance);
    if (change->level >= 0) {
        cut_anew(boxes, sum, change->level, options, old, now, change);
    }
done:
    EQP__FREE(sum, old, now);
    return code;
}
