/* SPDX-License-Identifier: BSD-3-Clause */
/* Items with places, in the order of a Hilbert curve: what the files behind <equipoise/points.h> share. */
#ifndef EQUIPOISE_METHODS_POINTS_POINTS_H
#define EQUIPOISE_METHODS_POINTS_POINTS_H

#include "methods/frame/rows.h"

#include <equipoise/more/move.h>
#include <equipoise/points.h>

/* An item, and its place along the curve. */
typedef struct eqp__curve_item {
    uint64_t key;
    int64_t id;      /* its number among the items of all ranks */
    int64_t arrived; /* its place among those that came to this rank */
    int64_t size;
    double x[3], weight;
    int part_now;
} eqp__curve_item;

struct eqp_point_order {
    MPI_Comm comm; /* owned if owns_comm */
    bool owns_comm;
    struct eqp__deal *deal; /* what making takes, NULL when it is made */
    eqp_move_plan *plan;    /* from where the items are */
    int64_t *recv_count;    /* [ranks] of the plan */
    int64_t n;              /* items here along the curve */
    eqp__curve_item *item;  /* [n] in curve order */
};

/* All ranks' items: how many there are, and a cube around them, any where there are none. */
typedef struct eqp__points_scope {
    int64_t n;
    bool weighed; /* they have weights */
    double low[3], side;
} eqp__points_scope;

/* Whether points can be, on each rank and on all alike; EQP_ERR_DATA for a coordinate that is not finite. Collective,
 * one meeting, with eqp_agree()'s codes and message.
 * same: [nsame], at most EQP__BALANCE_SAME */
int eqp__points_meet(MPI_Comm comm, int code, const eqp_points *points, int nsame, const eqp__same *same,
                     eqp__points_scope *scope, eqp_message *message);

/* Coordinates of item i. Local. */
void eqp__points_read(const eqp_points *points, int64_t i, double x[3]);

/* Puts items that are all here into their order. Local. */
void eqp__points_sort(int64_t n, eqp__curve_item *item);

/* eqp_point_order_create() in three steps. The first two are local: what the first allocates eqp_point_order_free()
 * frees, even if it fails; the second reads the items, which eqp__point_order_items() returns ([points->n], ids from
 * 0). The third is collective: four calls; code: of this rank so far. */
int eqp__point_order_open(MPI_Comm comm, const eqp_points *points, eqp_point_order **order);
int eqp__point_order_read(const eqp_points *points, const eqp__points_scope *scope, eqp_point_order *order);
int eqp__point_order_make(int code, int64_t n, const eqp__points_scope *scope, eqp_point_order *order);
eqp__curve_item *eqp__point_order_items(const eqp_point_order *order);

#endif
