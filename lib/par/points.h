/* SPDX-License-Identifier: BSD-3-Clause */
/* Items with places, in the order of a Hilbert curve: what the files behind <equipoise/points.h> share. */
#ifndef EQUIPOISE_PAR_POINTS_H
#define EQUIPOISE_PAR_POINTS_H

#include <equipoise/par.h>
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
    MPI_Comm comm;         /* owned */
    eqp_move_plan *plan;   /* from where the items are */
    int64_t *recv_count;   /* [ranks] of the plan */
    int64_t n;             /* items here along the curve */
    eqp__curve_item *item; /* [n] in curve order */
};

/* The cube around all ranks' items: any where there are none. EQP_ERR_DATA on all ranks for a coordinate that is not
 * finite. Collective. */
int eqp__points_cube(MPI_Comm comm, const eqp_points *points, double low[3], double *side);

/* Coordinates of item i. Local. */
void eqp__points_read(const eqp_points *points, int64_t i, double x[3]);

/* Whether points can be, on each rank and on all alike. Collective; with eqp_agree()'s codes and message. */
int eqp__points_agree(MPI_Comm comm, int code, const eqp_points *points, eqp_message *message);

#endif
