/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of eqp_boxes, shared by sections and bisection. */
#ifndef EQUIPOISE_METHODS_BOXES_BOXES_H
#define EQUIPOISE_METHODS_BOXES_BOXES_H

#include <equipoise/more/methods.h>

#include <stdint.h>

#include <stdbool.h>

/* A node of the bisection tree: the parts [first, first + count) of the grid. Parents precede their children. */
typedef struct eqp_boxes_piece {
    int first[3], count[3];
    int axis;    /* axis of the cut; -1: one part */
    int level;   /* level of the cut, one round of x, y and z; in a leaf: the parent's level + 1 */
    bool begins; /* the cut is the first of its level in this subtree */
    int child;   /* index of the lower half; the upper half follows it */
    double wall; /* position of the cut */
} eqp_boxes_piece;

struct eqp_boxes {
    eqp_boxes_kind kind;
    int n[3], parts, next;
    double low[3], high[3];
    double least[3]; /* least width of a part */
    int64_t nwall;
    double *wall; /* sections: [nwall] walls in rows, see row() in sections.c */
    int npiece;
    eqp_boxes_piece *piece; /* bisection */
};

/* Number of the part at grid coordinates at[3]. */
int eqp__boxes_part(const eqp_boxes *boxes, const int at[3]);

/* _create() allocates the arrays of a new object; _uniform() sets uniform walls. EQP_OK or EQP_ERR_MEMORY. */
int eqp__sections_create(eqp_boxes *boxes);
int eqp__bisection_create(eqp_boxes *boxes);
void eqp__sections_uniform(eqp_boxes *boxes);
void eqp__bisection_uniform(eqp_boxes *boxes);

int eqp__sections_find(const eqp_boxes *boxes, const double x[3]);
int eqp__bisection_find(const eqp_boxes *boxes, const double x[3]);
void eqp__sections_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3]);
void eqp__bisection_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3]);

/* Loads and options are valid, and the total load is positive. EQP_OK, or EQP_ERR_MEMORY with unchanged boxes. */
int eqp__sections_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                            eqp_boxes_change *change);
int eqp__bisection_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                             eqp_boxes_change *change);

/* The slab of a row that contains x: the last of n slabs with a lower wall <= x, or the first slab.
 * wall: [n + 1] ascending. O(log n). */
int eqp__row_find(const double *wall, int n, double x);

/* Adds the move of a wall to the statistics. */
void eqp__boxes_moved(eqp_boxes_change *change, double from, double to);

#endif
