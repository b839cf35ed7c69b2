/* SPDX-License-Identifier: BSD-3-Clause */
/** \file points.h
 * \brief Balances items with a position and a weight by any method of the table, wherever the items are.
 *
 * A starting point for new codes: items need no owners, no interactions and no order along a curve. */
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
    size_t struct_size;   /**< of this struct in the caller's version; 0: of version 0.2 */
    int64_t n;            /**< items of this rank, >= 0 */
    const void *x;        /**< first coordinate of the first item; an item's three coordinates are contiguous */
    size_t stride;        /**< bytes from one item to the next; 0: items are contiguous */
    bool single;          /**< true: coordinates are floats; false: doubles; the same on all ranks */
    const double *weight; /**< [n] measured or counted work, finite, >= 0; NULL on all ranks: 1 each */
    const int64_t *size;  /**< [n] bytes that move with an item; NULL on all ranks: 1 each */
    const int *part_now;  /**< [n] present part of each, for methods that start from it or renumber towards it; NULL:
                             this rank */
    const double *phase_load; /**< [n][options->nphases] cost in each phase of a cycle (survey.h), finite, >= 0, if
                                   there are several; then weight NULL is the sum of times x load. Otherwise ignored */
} eqp_points;

/** No items: `eqp_points points = eqp_points_defaults();` Local. */
static inline eqp_points eqp_points_defaults(void)
{
    eqp_points points;

    memset(&points, 0, sizeof points);
    points.struct_size = sizeof points;
    return points;
}

/** Gives every item a part. The part does not depend on the distribution of the items over the ranks, within the limits
 * given at eqp_balance(). For methods with EQP_ANY_ORDER (`tensor`) the items stay in place. For methods with
 * EQP_GATHERS (`rcb`, `rib`, `voronoi`), up to 2^20 items, rank 0 gathers 72 bytes and the phase loads of each item and
 * assigns them. In all other cases the items are sorted along a Hilbert curve and assigned by eqp_balance(), and their
 * parts return. `sfc`, `count` and `none` take at most 16 collective calls on any number of ranks, and at most 8 if
 * rank 0 assigns all items.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table that needs no pins; the same on all ranks
 * \param[in]  points   this rank's items
 * \param[in]  options  as for eqp_balance()
 * \param[out] part     [n] 0 to nparts - 1; may be points->part_now; unchanged on error
 * \param[out] result   may be NULL
 * \return as eqp_balance(); EQP_ERR_DATA also for a coordinate that is not finite. Collective */
int eqp_balance_points(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                       const eqp_balance_options *options, int *part, eqp_balance_result *result);

/** A column of data, one element per item. */
typedef struct eqp_point_column {
    size_t element_size; /**< bytes, >= 1, the same on all ranks */
    const void *send;    /**< [points->n] elements (borrowed) */
    void *recv;          /**< gets the received elements, owned by the caller: free() */
} eqp_point_column;

/** Calls eqp_balance_points() with one part per rank and sends each item to the rank of its part: arrays of records, or
 * several arrays of numbers, in one call. Received items are ordered by sending rank, then in the sender's order, in
 * all columns. Collective.
 * \param[in]     points    as in eqp_balance_points(); coordinates are sent only if they are in a column
 * \param[in]     options   as in eqp_balance_points(); nparts must be the number of ranks
 * \param[in]     ncolumns  >= 1, the same on all ranks
 * \param[in,out] column    [ncolumns] unchanged on error
 * \param[out]    nrecv     number of received items; unchanged on error
 * \param[out]    result    may be NULL
 * \return as eqp_balance_points() */
int eqp_balance_send(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                     const eqp_balance_options *options, int ncolumns, eqp_point_column *column, int64_t *nrecv,
                     eqp_balance_result *result);

/** Largest number of parts of eqp_regions. */
#define EQP_REGIONS_PARTS (1 << 24)

/* eqp_regions (balance.h) extend an assignment of items to all of space: they give the part of a new item or of any
 * position. The same on all ranks. eqp_balance_options.regions returns them together with the parts, and is the only
 * way to get the regions of `voronoi`. */

/** Finds the regions of parts: boxes separated by a tree of walls (`rcb`, `tensor`), else intervals of a Hilbert curve
 * (`sfc`, `count`). The regions follow from the items alone, so any program may have made the assignment; the convex
 * cells of `voronoi` cannot be found from the items. Collective, O(n + nparts log^2 nparts) if walls halve the parts; 8
 * numbers per part are sent.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  points   this rank's items
 * \param[in]  part     [n] part of each item, 0 to nparts - 1, as from eqp_balance_points() (borrowed)
 * \param[in]  nparts   1 to EQP_REGIONS_PARTS, the same on all ranks
 * \param[out] regions  owned by the caller: eqp_regions_free(); unchanged on error
 * \param[out] message  the error in one line, the same on all ranks; NULL: no message
 * \return EQP_OK; EQP_ERR_STATE for an assignment without such regions, such as a repaired one, one based on pins, or
 * one that gives items at the same position to several parts; EQP_ERR_DATA for a coordinate that is not finite;
 * EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI */
int eqp_regions_create(MPI_Comm comm, const eqp_points *points, const int *part, int nparts, eqp_regions **regions,
                       eqp_message *message);

/** Frees regions; NULL is legal. Local. */
void eqp_regions_free(eqp_regions *regions);

/** The part at a position. At an item's position this is the item's part, unless the item lies on a wall or shares a
 * cell of the curve (2^-21 of the cube around all) with another part. A wall stands in the middle between two boxes;
 * positions outside the items have a part, too. Local, O(log nparts).
 * \param[in] regions  the regions
 * \param[in] place    [3]
 * \return 0 to nparts - 1; -1 if there are no items, for a position that is not finite, and for NULL */
int eqp_regions_find(const eqp_regions *regions, const double place[3]);

/** The bounding box of a part's items. Local.
 * \param[in]  regions  the regions
 * \param[in]  part     0 to nparts - 1
 * \param[out] low      [3] unchanged on error
 * \param[out] high     [3] unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_UNKNOWN for a part without items */
int eqp_regions_box(const eqp_regions *regions, int part, double low[3], double high[3]);

/** The box of a part between walls. The boxes of all parts meet face to face and do not overlap. They fill all space,
 * so the outermost boxes are infinite, or they fill the domain of eqp_walls(). Local.
 * \param[in]  regions  the regions
 * \param[in]  part     0 to nparts - 1
 * \param[out] low      [3] unchanged on error
 * \param[out] high     [3] unchanged on error
 * \return EQP_OK; EQP_ERR_STATE if parts are intervals of a curve or convex cells, which are not boxes;
 *         EQP_ERR_UNKNOWN for a part without items; EQP_ERR_ARGUMENT */
int eqp_regions_walls(const eqp_regions *regions, int part, double low[3], double high[3]);

/** Finds the parts whose regions have a point within `reach` of a box. With reach 0 the search volume is the box; with
 * low equal to high it is a ball; with a part's box and a cut-off the result are the parts from which this part needs
 * ghosts. For boxes the result is exact, walls included. Intervals of a curve are widened by about 1e-15 of the cube
 * around all items, so that no part is missed. No convex cell of `voronoi` is missed either: a cell is excluded only by
 * a proof, a weighted mean of differences of squared distances that is positive in the whole ball. The search for a
 * proof ends after 64 steps, so a cell close to the volume may be included. Local, O(log nparts) per part found,
 * O(nparts) bytes of memory.
 * \param[in]  regions  the regions
 * \param[in]  low      [3] finite
 * \param[in]  high     [3] finite, nowhere below low
 * \param[in]  reach    >= 0
 * \param[in]  domain   [6] lowest and highest corner of a periodic domain that contains all items: the search volume
 *                      wraps around at its faces. An axis with equal ends is not periodic. NULL: not periodic
 * \param[out] part     [nparts] gets the parts, ascending; unchanged on error
 * \param[out] n        number of parts found; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_regions_touch(const eqp_regions *regions, const double low[3], const double high[3], double reach,
                      const double *domain, int *part, int *n);

/** Options of walls. */
typedef struct eqp_walls_options {
    size_t size;     /**< size of this struct in the caller's version: set by eqp_walls_options_defaults() */
    double low[3];   /**< lowest corner of the domain; zeros in low and high: the bounding box of all items */
    double high[3];  /**< highest corner */
    double least[3]; /**< smallest width of a part along each axis, such as a cut-off; 0: any width, even 0 */
} eqp_walls_options;

/** Default options: the bounding box of all items, any widths. Local. */
static inline eqp_walls_options eqp_walls_options_defaults(void)
{
    eqp_walls_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/** Divides a domain into one box per part, each with its share of the work: for codes whose ranks own boxes. The boxes
 * come from a method whose parts are separated by walls, such as `tensor` and `rcb`; they meet face to face and fill
 * the domain: eqp_regions_walls(). A wall stands in the middle between the items on its two sides, or is moved as far
 * as the smallest widths require. An item may then lie on the other side of a wall: eqp_regions_find() gives the part
 * of each.
 *
 * If the walls are planes across the whole domain, as those of `tensor` are, parts are numbered as MPI_Cart_rank()
 * numbers their positions in the grid: z varies fastest. `share` and the other arrays of options use these numbers,
 * too. Collective.
 * \param[in]  comm     any intracommunicator; duplicated for the call
 * \param[in]  method   a row of the table that needs no pins; the same on all ranks
 * \param[in]  points   this rank's items
 * \param[in]  options  as for eqp_balance(), with nparts up to EQP_REGIONS_PARTS; its message explains a failure
 * \param[in]  how      the same on all ranks; NULL: eqp_walls_options_defaults() (borrowed)
 * \param[out] grid     [3] slabs along x, y, z, for MPI_Cart_create(); zeros if walls do not cross the domain;
 *                      unchanged on error
 * \param[out] regions  owned by the caller: eqp_regions_free(); unchanged on error
 * \return EQP_OK; EQP_ERR_STATE if no walls separate the parts, or if a part is empty and the walls are not a grid;
 *         EQP_ERR_CAPACITY for a domain too small for parts of the smallest width; EQP_ERR_DATA for items outside
 *         the domain; else as eqp_balance_points() */
int eqp_walls(MPI_Comm comm, const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
              const eqp_walls_options *how, int grid[3], eqp_regions **regions);

/** Assigns items to ranks by the code's own keys, such as Morton keys: each rank gets an interval of keys, ascending
 * with the ranks; equal keys stay together. The cut minimizes the largest work of a rank; above 2^22 distinct keys it
 * cuts between equal runs of them. The result depends on keys, work and the number of ranks, not on the order of items
 * or their distribution over the ranks. Collective, O(n log n + distinct keys): each rank gathers 8 bytes per distinct
 * key, at most 32 MiB.
 * \param[in]  n     items of this rank
 * \param[in]  key   [n] below UINT64_MAX, in any order (borrowed)
 * \param[in]  work  [n] finite, >= 0; NULL, or a sum of 0 over all ranks: 1 each (borrowed); on all ranks with items or
 *                   on none
 * \param[out] part  [n] rank of each item, as eqp_send_records() takes it; unchanged on error
 * \param[out] message  the error in one line, the same on all ranks; NULL: no message
 * \return EQP_OK; EQP_ERR_DATA for an invalid key or work; EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW,
 *         EQP_ERR_MPI */
int eqp_cut_keys(MPI_Comm comm, int64_t n, const uint64_t *key, const double *work, int *part, eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
