/* SPDX-License-Identifier: BSD-3-Clause */
/* Items with positions, in the order of a Hilbert curve. Shared by the implementation of <equipoise/points.h>. */
#ifndef EQUIPOISE_METHODS_POINTS_POINTS_H
#define EQUIPOISE_METHODS_POINTS_POINTS_H

#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>
#include <equipoise/points.h>

typedef struct eqp__curve_item {
    uint64_t key;
    int64_t id;      /* global number */
    int64_t arrived; /* position in order of arrival on this rank */
    int64_t size;
    double x[3], weight;
    int part_now;
} eqp__curve_item;

/* Items sorted along the curve, about equally many on every rank; the order does not depend on their distribution.
 * Items in one cell of the curve are ordered by coordinates, weight, size and present part. */
typedef struct eqp__point_order {
    MPI_Comm comm;           /* borrowed */
    int rank, nranks, nkeys; /* nkeys: most sampled keys of a rank */
    eqp__curve_item *here;   /* [points->n] this rank's items; NULL once they are sorted */
    struct place *place;     /* [points->n] their places; NULL once they are sorted */
    int *dest;               /* [points->n] their destination ranks */
    uint64_t *told, *heard;  /* sampled keys of this rank and of all ranks */
    struct place *sample;    /* [nranks * nkeys] */
    eqp_move_plan *plan;     /* moves items from their original ranks into curve order */
    int64_t *recv_count;     /* [nranks] receive counts of the plan */
    int64_t n;               /* items on this rank in curve order */
    eqp__curve_item *item;   /* [n] in curve order */
} eqp__point_order;

/* The points of a caller as this version knows them: `here` filled, or NULL for points that cannot be read. Local. */
const eqp_points *eqp__points_known(const eqp_points *points, eqp_points *here);

/* Number of items on all ranks, and a cube around them (a unit cube if there are no items). */
typedef struct eqp__points_scope {
    int64_t n;
    bool weighed;                 /* items have weights */
    double low[3], high[3], side; /* high: of the items; 1 without items */
} eqp__points_scope;

/* Validates the points, and checks that their arrays and the values `same` agree on all ranks. *scope: global number of
 * items and cube. EQP_ERR_DATA for a coordinate that is not finite. Collective, one reduction, with eqp_agree()'s codes
 * and message.
 * same: [nsame], at most EQP__BALANCE_SAME */
int eqp__points_meet(MPI_Comm comm, int code, const eqp_points *points, int nsame, const eqp__same *same,
                     eqp__points_scope *scope, eqp_message *message);

void eqp__points_read(const eqp_points *points, int64_t i, double x[3]);

/* Sorts items of one rank into curve order. Local. */
void eqp__points_sort(int64_t n, eqp__curve_item *item);

/* _open() allocates; local; eqp__point_order_close() frees the arrays, also after an error. _read() fills order->here
 * with ids from 0; local. _make() moves and sorts the items; collective, with four MPI calls; code: this rank's code so
 * far. _bring() sorts an array of elements of this size into the order, and _return() sends one back to the original
 * ranks and places; collective. */
int eqp__point_order_open(MPI_Comm comm, const eqp_points *points, eqp__point_order *order);
int eqp__point_order_read(const eqp_points *points, const eqp__points_scope *scope, eqp__point_order *order);
int eqp__point_order_make(int code, int64_t n, const eqp__points_scope *scope, eqp__point_order *order);
int eqp__point_order_bring(const eqp__point_order *order, size_t size, const void *send, void *recv);
int eqp__point_order_return(const eqp__point_order *order, size_t size, const void *send, void *recv);
void eqp__point_order_close(eqp__point_order *order);

#endif
