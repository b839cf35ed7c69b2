/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/pcontrol.h
 * \brief Maps for a program that links nothing of Equipoise: it asks by MPI_Pcontrol().
 *
 * Below `equipoise-lazy -n M -- ./app` ranks that were given away make maps beside the run. The program offers its
 * items and goes on; the map comes some steps later. Without `equipoise-lazy` MPI_Pcontrol() does nothing, `state`
 * stays EQP_PCONTROL_NOBODY, and the program goes on as it is.
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

/** Level of MPI_Pcontrol(): here are the items of a step. Never waits; copies. On all ranks of MPI_COMM_WORLD in the
 * same step or on none. `state` is then EQP_PCONTROL_WAITING, or says why not. */
#define EQP_PCONTROL_OFFER 1162944513
/** Level of MPI_Pcontrol(): is the map there? Once a step, on all ranks of MPI_COMM_WORLD; all are told the same. */
#define EQP_PCONTROL_TAKE 1162944514

#define EQP_PCONTROL_NOBODY 0  /**< nobody listens: the program runs without equipoise-lazy */
#define EQP_PCONTROL_IDLE 1    /**< nothing is under way: an offer would be taken */
#define EQP_PCONTROL_WAITING 2 /**< the map is being made */
#define EQP_PCONTROL_READY 3   /**< here it is: `part` was filled. Only EQP_PCONTROL_TAKE says so */
#define EQP_PCONTROL_LOST 4    /**< the balancers do not answer: there will be no more maps */
#define EQP_PCONTROL_FAILED 5  /**< no map could be made of what was offered; another offer would be taken */
#define EQP_PCONTROL_WRONG 6   /**< these records cannot be read: an array is missing, a number is none */

/** What is offered and what is taken. All arrays are borrowed for the call. */
typedef struct eqp_pcontrol {
    size_t size;       /**< sizeof(eqp_pcontrol) */
    int64_t step;      /**< steps that the program has done, >= 0, the same on all ranks */
    int64_t n;         /**< items of this rank, >= 0 */
    const int64_t *id; /**< [n] numbers by which items are known again, no two alike on a rank; NULL: what is taken is
                            what was offered, in that order */
    const double *weight; /**< [n] measured or counted work, finite, >= 0; NULL on all ranks: 1 each */
    const double *point;  /**< [n][3] where the items are, finite */
    const int *part_now;  /**< [n] the rank that has each now; NULL: this one */
    int *part; /**< [n] out, EQP_PCONTROL_TAKE: the rank, of the world that the program sees, that is to have each item;
                  -1 for one that was not offered on this rank */
    int state; /**< out: one of EQP_PCONTROL_...; set it to EQP_PCONTROL_NOBODY before the first call */
} eqp_pcontrol;

#endif
