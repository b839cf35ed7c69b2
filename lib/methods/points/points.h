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

struct eqp_point_order {
    MPI_Comm comm; /* owned if owns_comm */
    bool owns_comm;
    struct eqp__deal *deal; /* work arrays of the creation; NULL afterwards */
    eqp_move_plan *plan;    /* moves items from their original ranks into curve order */
    int64_t *recv_count;    /* [ranks] receive counts of the plan */
    int64_t n;              /* items on this rank in curve order */
    eqp__curve_item *item;  /* [n] in curve order */
};

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

/* eqp_point_order_create() in three steps. _open() allocates; local; eqp_point_order_free() frees the order, also after
 * an error. _read() reads the items, which eqp__point_order_items() returns ([points->n], ids from 0); local. _make()
 * moves and sorts them; collective, with four MPI calls; code: this rank's code so far. */
int eqp__point_order_open(MPI_Comm comm, const eqp_points *points, eqp_point_order **order);
int eqp__point_order_read(const eqp_points *points, const eqp__points_scope *scope, eqp_point_order *order);
int eqp__point_order_make(int code, int64_t n, const eqp__points_scope *scope, eqp_point_order *order);
eqp__curve_item *eqp__point_order_items(const eqp_point_order *order);

#endif
