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
    const double *phase_load; /**< [n][options->nphases] cost in each phase of a cycle (cycle.h), finite, >= 0, where
                                   there are several; then weight NULL is the sum of times x load. Else not looked at */
} eqp_points;

/** Gives every item a part.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table that needs no pins; the same on all ranks
 * \param[in]  points   this rank's items
 * \param[in]  options  as for eqp_balance()
 * \param[out] part     [n] 0 to nparts - 1; may be points->part_now; unchanged on error
 * \param[out] result   may be NULL
 * \return as eqp_balance(); EQP_ERR_DATA also for a coordinate that is not finite. Collective */
int eqp_balance_points(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                       const eqp_balance_options *options, int *part, eqp_balance_result *result);

/** Items in the order of a Hilbert curve, equally many on every rank, and the way there and back: for codes that work
 * in that order, and for methods that want it. */
typedef struct eqp_point_order eqp_point_order;

/** Finds the order of items, wherever they are. It is a property of the items: ranks that hold others of them make the
 * same. Items in one cell of the curve (2^-21 of the cube around all) come by their coordinates, weight, size and
 * present part.
 * \param[in]  comm    any intracommunicator; duplicated
 * \param[in]  points  this rank's items
 * \param[out] order   owned by the caller: eqp_point_order_free(); unchanged on error
 * \return EQP_OK; EQP_ERR_DATA for a coordinate that is not finite; EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI.
 * Collective */
int eqp_point_order_create(MPI_Comm comm, const eqp_points *points, eqp_point_order **order);

/** Frees an order. Collective; NULL on all ranks is legal. */
void eqp_point_order_free(eqp_point_order *order);

/** Items that this rank has in that order: behind those of lower ranks. Local. NULL: 0. */
int64_t eqp_point_order_count(const eqp_point_order *order);

/** Brings a column into the order; call it for every array of the items. Collective.
 * \param[in]  order         the order
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  send          [points.n] elements (borrowed)
 * \param[out] recv          [eqp_point_order_count()] elements
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI */
int eqp_point_order_bring(const eqp_point_order *order, size_t element_size, const void *send, void *recv);

/** Returns a column to where the items are: the inverse of eqp_point_order_bring(). Collective, arguments as there.
 * \param[in]  send  [eqp_point_order_count()] elements (borrowed)
 * \param[out] recv  [points.n] elements */
int eqp_point_order_return(const eqp_point_order *order, size_t element_size, const void *send, void *recv);

/** Most parts of eqp_regions. */
#define EQP_REGIONS_PARTS (1 << 24)

/** Which part each place of space belongs to, as an assignment of items says: where new items are to go, who is to be
 * asked about a place. The same on all ranks. */
typedef struct eqp_regions eqp_regions;

/** Finds regions of parts: boxes that a tree of walls tells apart (`rcb`, `tensor`), else intervals of a Hilbert curve
 * (`sfc`, `count`). Whoever made the assignment: only the items are looked at. Collective, O(n + nparts log nparts)
 * with nparts numbers sent.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  points   this rank's items
 * \param[in]  part     [n] part of each, 0 to nparts - 1, as of eqp_balance_points() (borrowed)
 * \param[in]  nparts   1 to EQP_REGIONS_PARTS, the same on all ranks
 * \param[out] regions  owned by the caller: eqp_regions_free(); unchanged on error
 * \return EQP_OK; EQP_ERR_STATE for an assignment of neither kind, such as a repaired one or one by pins;
 * EQP_ERR_DATA for a coordinate that is not finite; EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI */
int eqp_regions_create(MPI_Comm comm, const eqp_points *points, const int *part, int nparts, eqp_regions **regions);

/** Frees regions; NULL is legal. Local. */
void eqp_regions_free(eqp_regions *regions);

/** The part of a place: for a place of an item that item's part, but for items that share a wall or a cell of the curve
 * (2^-21 of the cube around all) with another part. Walls between two boxes stand in the middle; places outside all
 * items belong to somebody, too. Local, O(log nparts).
 * \param[in] regions  the regions
 * \param[in] place    [3]
 * \return 0 to nparts - 1; -1 where there are no items, for a place that is not finite, and for NULL */
int eqp_regions_find(const eqp_regions *regions, const double place[3]);

/** The box around the items of a part. Local.
 * \param[in]  regions  the regions
 * \param[in]  part     0 to nparts - 1
 * \param[out] low      [3] unchanged on error
 * \param[out] high     [3] unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_UNKNOWN for a part without items */
int eqp_regions_box(const eqp_regions *regions, int part, double low[3], double high[3]);

#ifdef __cplusplus
}
#endif
#endif
