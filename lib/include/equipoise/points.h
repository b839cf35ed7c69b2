/* SPDX-License-Identifier: BSD-3-Clause */
/** \file points.h
 * \brief Items that have a place and work, wherever they lie: a part for each by any method of the table.
 *
 * For codes that begin: items need no owners, no interactions and no order along a curve. */
#ifndef EQUIPOISE_POINTS_H
#define EQUIPOISE_POINTS_H

#include <equipoise/balance.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
    const double *phase_load; /**< [n][options->nphases] cost in each phase of a cycle (survey.h), finite, >= 0, where
                                   there are several; then weight NULL is the sum of times x load. Else not looked at */
} eqp_points;

/** Gives every item a part: the same one wherever the items are, as far as eqp_balance() promises that. Methods with
 * EQP_ANY_ORDER (`tensor`) see the items where they are. Up to 2^20 items, rank 0 gathers 72 bytes of each and its
 * loads of phases for methods with EQP_GATHERS (`rcb`, `rib`, `voronoi`), and assigns them. All other items travel into
 * the order of a Hilbert curve, are assigned by eqp_balance(), and their parts travel back. `sfc`, `count` and `none`
 * take at most 16 collective calls on any number of ranks; where rank 0 assigns all items they are at most 8.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table that needs no pins; the same on all ranks
 * \param[in]  points   this rank's items
 * \param[in]  options  as for eqp_balance()
 * \param[out] part     [n] 0 to nparts - 1; may be points->part_now; unchanged on error
 * \param[out] result   may be NULL
 * \return as eqp_balance(); EQP_ERR_DATA also for a coordinate that is not finite. Collective */
int eqp_balance_points(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                       const eqp_balance_options *options, int *part, eqp_balance_result *result);

/** An array of what items have, one element for each. */
typedef struct eqp_point_column {
    size_t element_size; /**< bytes, >= 1, the same on all ranks */
    const void *send;    /**< [points->n] elements (borrowed) */
    void *recv;          /**< gets the elements that arrived, owned by the caller: free() */
} eqp_point_column;

/** eqp_balance_points() for as many parts as ranks, and each item to the rank of its part: arrays of records, or
 * several arrays of numbers, in one call. What arrives comes by sending rank, else in the sender's order, alike in all
 * columns. Collective.
 * \param[in]     points    as there; the coordinates do not travel unless they are in a column
 * \param[in]     options   as there; nparts is the number of ranks
 * \param[in]     ncolumns  >= 1, the same on all ranks
 * \param[in,out] column    [ncolumns] unchanged on error
 * \param[out]    nrecv     items that arrived; unchanged on error
 * \param[out]    result    may be NULL
 * \return as eqp_balance_points() */
int eqp_balance_send(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                     const eqp_balance_options *options, int ncolumns, eqp_point_column *column, int64_t *nrecv,
                     eqp_balance_result *result);

/** Items in the order of a Hilbert curve, about equally many on every rank, and the way there and back: for codes that
 * work in that order, and for methods that want it. */
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

/* eqp_regions (balance.h): which part each place of space belongs to, as an assignment of items says: where new items
 * go, which part to ask about a place. The same on all ranks. eqp_balance_options.regions gets them together with the
 * parts, and is the only way to those of `voronoi`. */

/** Finds regions of parts: boxes that a tree of walls tells apart (`rcb`, `tensor`), else intervals of a Hilbert curve
 * (`sfc`, `count`). Only the items are looked at, so any program may have made the assignment; the convex cells of
 * `voronoi` do not follow from the items. Collective, O(n + nparts log^2 nparts) where walls halve the parts; 8 numbers
 * of each part are sent.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  points   this rank's items
 * \param[in]  part     [n] part of each, 0 to nparts - 1, as of eqp_balance_points() (borrowed)
 * \param[in]  nparts   1 to EQP_REGIONS_PARTS, the same on all ranks
 * \param[out] regions  owned by the caller: eqp_regions_free(); unchanged on error
 * \param[out] message  why there are none, one line, the same on all ranks; NULL: not wanted
 * \return EQP_OK; EQP_ERR_STATE for an assignment of neither kind, such as a repaired one, one by pins, or one that
 * gives items of one place to several parts; EQP_ERR_DATA for a coordinate that is not finite; EQP_ERR_ARGUMENT,
 * EQP_ERR_MEMORY, EQP_ERR_MPI */
int eqp_regions_create(MPI_Comm comm, const eqp_points *points, const int *part, int nparts, eqp_regions **regions,
                       eqp_message *message);

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

/** The box of a part between walls: boxes of all parts meet face to face and overlap nowhere. They fill all space, so
 * that the outermost are infinite, or the domain of eqp_walls(). Local.
 * \param[in]  regions  the regions
 * \param[in]  part     0 to nparts - 1
 * \param[out] low      [3] unchanged on error
 * \param[out] high     [3] unchanged on error
 * \return EQP_OK; EQP_ERR_STATE where parts are intervals of a curve or convex cells, which are no boxes;
 *         EQP_ERR_UNKNOWN for a part without items; EQP_ERR_ARGUMENT */
int eqp_regions_walls(const eqp_regions *regions, int part, double low[3], double high[3]);

/** The parts whose regions a box or a ball touches, or anything between: all that is within reach of a box. With reach
 * 0 it is the box; with low equal to high it is a ball; with the box of a part and a cut-off it is those that this part
 * gets copies from. A part is named exactly if its region, walls included, has a place there; where parts are intervals
 * of a curve regions count as wider by some 1e-15 of the cube around all items, so that none is missed. Of the convex
 * cells of `voronoi`, too, none is missed: a cell is left out only with a proof, a weighted mean of differences of
 * squared distances that is positive in the whole ball. The search for it ends after 64 steps, so a cell that comes
 * near without touching may be named. Local, O(log nparts) for each part that is named, O(nparts) bytes of work.
 * \param[in]  regions  the regions
 * \param[in]  low      [3] finite
 * \param[in]  high     [3] finite, nowhere below low
 * \param[in]  reach    >= 0
 * \param[in]  domain   [6] lowest and highest corner of a periodic domain in which all items are: what reaches out of
 *                      it comes in from the other side. Along an axis whose two ends are equal nothing is periodic.
 *                      NULL: nowhere
 * \param[out] part     [nparts] gets the parts, ascending; unchanged on error
 * \param[out] n        how many; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_regions_touch(const eqp_regions *regions, const double low[3], const double high[3], double reach,
                      const double *domain, int *part, int *n);

/** How walls are to stand. */
typedef struct eqp_walls_options {
    size_t size;     /**< of this struct as its caller knows it: set by eqp_walls_options_defaults() */
    double low[3];   /**< lowest corner of the domain; with zeros in low and high the box around all items is meant */
    double high[3];  /**< highest corner */
    double least[3]; /**< least width of a part along each axis, such as a cut-off; 0: any, even none */
} eqp_walls_options;

/** The box around all items, any widths. Local. */
static inline eqp_walls_options eqp_walls_options_defaults(void)
{
    eqp_walls_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/** Divides a domain into a box for each part, so that each has its share of the work: for codes whose ranks own boxes.
 * The boxes are those of a method whose parts walls tell apart, such as `tensor` and `rcb`; they meet face to face and
 * fill the domain: eqp_regions_walls(). A wall stands in the middle between the items at its two sides, or is moved
 * as far as the least widths need it. Then items change sides: eqp_regions_find() tells the part of each.
 *
 * Where the walls are planes across the whole domain, as those of `tensor` are, the parts have the numbers that
 * MPI_Cart_rank() gives to their places in the grid: z counts first. `share` and the other arrays of options go by
 * these numbers, too. Collective.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table that needs no pins; the same on all ranks
 * \param[in]  points   this rank's items
 * \param[in]  options  as for eqp_balance(), with nparts up to EQP_REGIONS_PARTS; its message says why there are no walls
 * \param[in]  how      the same on all ranks; NULL: eqp_walls_options_defaults() (borrowed)
 * \param[out] grid     [3] slabs along x, y, z, for MPI_Cart_create(); zeros where walls do not cross the domain;
 *                      unchanged on error
 * \param[out] regions  owned by the caller: eqp_regions_free(); unchanged on error
 * \return EQP_OK; EQP_ERR_STATE where no walls tell the parts apart, and where a part is empty, unless walls are a grid;
 *         EQP_ERR_CAPACITY for a domain in which parts of the least width have no room; EQP_ERR_DATA for items outside
 *         the domain; else as eqp_balance_points() */
int eqp_walls(MPI_Comm comm, const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
              const eqp_walls_options *how, int grid[3], eqp_regions **regions);

/** A rank for each item of a code that has keys of its own, such as those along a Morton curve: the items of a rank are
 * an interval of keys, ascending with the ranks; equal keys stay together. The most work of a rank is the least that
 * any such cut has; beyond 2^22 different keys the cut stands between equal runs of them. The result is a property of
 * keys, work and the number of ranks: it depends neither on the order of items nor on who holds them. Collective, O(n
 * log n + different keys): each rank gathers 8 bytes for each different key, at most 32 MiB.
 * \param[in]  n     items of this rank
 * \param[in]  key   [n] below UINT64_MAX, in any order (borrowed)
 * \param[in]  work  [n] finite, >= 0; NULL: 1 each, as where the sum over all ranks is 0 (borrowed); on all ranks with
 *                   items or on none
 * \param[out] part  [n] rank of each: what eqp_send_records() takes; unchanged on error
 * \param[out] message  what is wrong, one line, the same on all ranks; NULL: not wanted
 * \return EQP_OK; EQP_ERR_DATA for a key or work that cannot be; EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW,
 *         EQP_ERR_MPI */
int eqp_cut_keys(MPI_Comm comm, int64_t n, const uint64_t *key, const double *work, int *part, eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
