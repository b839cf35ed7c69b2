/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of eqp_boxes: what its two ways of cutting share. */
#ifndef EQUIPOISE_METHODS_BOXES_BOXES_H
#define EQUIPOISE_METHODS_BOXES_BOXES_H

#include <equipoise/more/boxes.h>

#include <stdint.h>

#include <stdbool.h>

/* A piece of the box in the tree of bisection: the parts [first, first + count) of the grid. Parents come before their
 * children. */
typedef struct eqp_boxes_piece {
    int first[3], count[3];
    int axis;    /* of its cut; -1: one part */
    int level;   /* round of x, y, z cuts that its cut belongs to; of one part: that of its parent's cut + 1 */
    bool begins; /* its cut is the first of its level there */
    int child;   /* place of the lower half; the upper one is next to it */
    double wall; /* where it is cut */
} eqp_boxes_piece;

struct eqp_boxes {
    eqp_boxes_kind kind;
    int n[3], parts, next;
    double low[3], high[3];
    double least[3]; /* least width of a part */
    int64_t nwall;
    double *wall; /* sections: see eqp__sections_wall() */
    int npiece;
    eqp_boxes_piece *piece; /* bisection */
};

/* Place of part first[0], first[1], first[2] of the grid. */
int eqp__boxes_part(const eqp_boxes *boxes, const int at[3]);

/* Each: arrays of a new object, its walls unset (sections) or uniform (bisection). EQP_OK or EQP_ERR_MEMORY. */
int eqp__sections_create(eqp_boxes *boxes);
int eqp__bisection_create(eqp_boxes *boxes);
void eqp__sections_uniform(eqp_boxes *boxes);
void eqp__bisection_uniform(eqp_boxes *boxes);

/* Walls out of the bounds [parts][6]; the caller checks that they give these bounds back. */

int eqp__sections_find(const eqp_boxes *boxes, const double x[3]);
int eqp__bisection_find(const eqp_boxes *boxes, const double x[3]);
void eqp__sections_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3]);
void eqp__bisection_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3]);

/* Loads and options are checked, the sum of the loads is positive. EQP_OK or EQP_ERR_MEMORY, boxes unchanged then. */
int eqp__sections_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                            eqp_boxes_change *change);
int eqp__bisection_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                             eqp_boxes_change *change);

/* The slab of a row of n that holds x: the last with a lower wall <= x, the first if there is none.
 * wall: [n + 1] ascending. O(log n). */
int eqp__row_find(const double *wall, int n, double x);

/* Counts a wall that went from one place to another. */
void eqp__boxes_moved(eqp_boxes_change *change, double from, double to);

#endif
