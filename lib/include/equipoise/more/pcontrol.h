/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/pcontrol.h
 * \brief Maps for a program that does not link Equipoise, through MPI_Pcontrol().
 *
 * Under `equipoise-lazy -n M -- ./app` dedicated ranks make maps while the program runs. The program offers its items
 * and continues; the map arrives some steps later. Without `equipoise-lazy` MPI_Pcontrol() has no effect, `state` stays
 * EQP_PCONTROL_NOBODY, and the program runs as before.
 *
 *     eqp_pcontrol asked = {sizeof asked};
 *     asked.step = step, asked.n = n, asked.weight = weight, asked.point = point, asked.part = part;
 *     MPI_Pcontrol(EQP_PCONTROL_TAKE, &asked);
 *     if (asked.state == EQP_PCONTROL_READY) { ... move the items to the ranks part[0], ..., part[n - 1] ... }
 *     if (asked.state == EQP_PCONTROL_IDLE) { MPI_Pcontrol(EQP_PCONTROL_OFFER, &asked); }
 *
 * This header needs no MPI and no library. C and C++ only: MPI_Pcontrol() has no further arguments in Fortran. */
#ifndef EQUIPOISE_MORE_PCONTROL_H
#define EQUIPOISE_MORE_PCONTROL_H

#include <stddef.h>
#include <stdint.h>

/** Level of MPI_Pcontrol(): offers the items of a step. Never waits; copies the data. Called on all ranks of
 * MPI_COMM_WORLD in the same step or on none. Sets `state` to EQP_PCONTROL_WAITING, or to the reason of a refusal. */
#define EQP_PCONTROL_OFFER 1162944513
/** Level of MPI_Pcontrol(): takes the map if it is ready. Once a step, on all ranks of MPI_COMM_WORLD; the same result
 * on all ranks. */
#define EQP_PCONTROL_TAKE 1162944514

#define EQP_PCONTROL_NOBODY 0  /**< the program runs without equipoise-lazy */
#define EQP_PCONTROL_IDLE 1    /**< no offer is pending: a new one is accepted */
#define EQP_PCONTROL_WAITING 2 /**< the map is being made */
#define EQP_PCONTROL_READY 3   /**< `part` was filled; only from EQP_PCONTROL_TAKE */
#define EQP_PCONTROL_LOST 4    /**< the balancers do not answer: there will be no more maps */
#define EQP_PCONTROL_FAILED 5  /**< no map could be made from the offer; a new one is accepted */
#define EQP_PCONTROL_WRONG 6   /**< invalid arguments: an array is missing or a number is invalid */

/** An offer or a request for the map. All arrays are borrowed for the call. */
typedef struct eqp_pcontrol {
    size_t size;       /**< sizeof(eqp_pcontrol) */
    int64_t step;      /**< number of completed steps, >= 0, the same on all ranks */
    int64_t n;         /**< items of this rank, >= 0 */
    const int64_t *id; /**< [n] ids that identify the items later, unique on each rank; NULL: the items of the offer, in
                            that order */
    const double *weight; /**< [n] measured or counted work, finite, >= 0; NULL on all ranks: 1 each */
    const double *point;  /**< [n][3] positions of the items, finite */
    const int *part_now;  /**< [n] present rank of each item; NULL: this rank */
    int *part; /**< [n] out, EQP_PCONTROL_TAKE: new rank of each item, in the world that the program sees; -1 for an
                  item that this rank did not offer */
    int state; /**< out: one of EQP_PCONTROL_...; set it to EQP_PCONTROL_NOBODY before the first call */
} eqp_pcontrol;

#endif
