/* SPDX-License-Identifier: BSD-3-Clause */
/** \file points.h
 * \brief Items that have a place and work, wherever they lie: a part for each by any method of the table.
 *
 * The first step of entry: no owners, no interactions, no order along a curve. The items are brought into the order of
 * a Hilbert curve, assigned by eqp_balance(), and what came out is brought back to where they are. */
#ifndef EQUIPOISE_POINTS_H
#define EQUIPOISE_POINTS_H

#include <equipoise/balance.h>

#ifdef __cplusplus
extern "C" {
#endif

/** This rank's items, in any order. All arrays are borrowed. */
typedef struct eqp_points {
    int64_t n;            /**< items of this rank, >= 0 */
    const void *x;        /**< first coordinate of the first item; the three of an item lie one after another */
    size_t stride;        /**< bytes from an item to the next; 0: they lie one after another */
    bool single;          /**< coordinates are floats, else doubles; the same on all ranks */
    const double *weight; /**< [n] measured or counted work, finite, >= 0; NULL on all ranks: 1 each */
    const int64_t *size;  /**< [n] bytes that move with an item; NULL on all ranks: 1 each */
    const int *part_now;  /**< [n] present part of each, for methods that start from it or renumber towards it; NULL:
                             this rank */
} eqp_points;

/** Gives every item a part.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table that needs no pins; the same on all ranks
 * \param[in]  points   this rank's items
 * \param[in]  options  as for eqp_balance()
 * \param[out] part     [n] 0 to nparts - 1; unchanged on error
 * \param[out] result   may be NULL
 * \return as eqp_balance(); EQP_ERR_DATA also for a coordinate that is not finite. Collective */
int eqp_balance_points(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                       const eqp_balance_options *options, int *part, eqp_balance_result *result);

#ifdef __cplusplus
}
#endif
#endif
