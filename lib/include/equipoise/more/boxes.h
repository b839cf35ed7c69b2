/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/boxes.h
 * \brief Space cut into boxes, one per part, with walls that follow the measured load: the two balancers of ParaDiS.
 *
 * A box [low, high) is cut into n[0] x n[1] x n[2] parts. *Sections*: slabs along x, in each slab columns along y, in
 * each column boxes along z. *Bisection*: halves along x, then along y, then along z, and so on until every piece is
 * one part. Part (ix * n[1] + iy) * n[2] + iz has the indices ix, iy, iz in the logical grid of parts. Rebalancing only
 * moves walls; it needs no particles, only the cost of each part.
 *
 * Everything here is local and deterministic: ranks that pass the same loads hold the same boxes.
 * Source: the decompositions are described in O. Pearce, Load Balancing Scientific Applications (2014), section 2.6.4.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_BOXES_H
#define EQUIPOISE_MORE_BOXES_H

#include <equipoise/error.h>

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Kind of decomposition. The values are the same as dataDecompType in ParaDiS files. */
typedef enum eqp_boxes_kind {
    EQP_BOXES_SECTIONS = 1, /**< slabs, columns in slabs, boxes in columns */
    EQP_BOXES_BISECTION = 2 /**< halves of halves */
} eqp_boxes_kind;

/** A box cut into parts. Opaque. */
typedef struct eqp_boxes eqp_boxes;

/** Limits on the motion of walls in one call. */
typedef struct eqp_boxes_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp_boxes_options_defaults() */
    double cell[3];       /**< sections: edges of the interaction cells; 0: no limit from cells */
    double cell_fraction; /**< sections: largest motion of a wall as a fraction of a cell's edge, > 0 */
    double slab_fraction; /**< sections: largest motion as a fraction of the slab that the wall moves into, 0 to 0.5 */
    double tolerance;     /**< bisection: cutting starts at the coarsest level with an imbalance above this, >= 0 */
    double damping;       /**< bisection: fraction of the full motion for the walls of that level, 0 to 1 */
    int direction;        /**< sections: direction in which walls move, 0 to 2; -1: x, y and z in turn */
} eqp_boxes_options;

/** The defaults of ParaDiS, without a limit from cells. */
static inline eqp_boxes_options eqp_boxes_options_defaults(void)
{
    eqp_boxes_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.cell_fraction = 0.49;
    options.slab_fraction = 0.05;
    options.tolerance = 0.05;
    options.damping = 0.3;
    options.direction = -1;
    return options;
}

/** Changes made by eqp_boxes_rebalance(). */
typedef struct eqp_boxes_change {
    int moved;      /**< walls that moved */
    int dimension;  /**< sections: direction, 0 to 2; -1: none, or bisection */
    int level;      /**< bisection: coarsest level that was recut, 0 is the first; -1: none, or sections */
    double largest; /**< largest distance that a wall moved, a length */
    double total;   /**< sum of the distances of all walls, a length */
} eqp_boxes_change;

/** Factors a number of parts into the most cubic grid: the smallest sum of its three counts, in falling order. Local,
 * O(nparts^(2/3)).
 * \param[in]  nparts  >= 1
 * \param[out] n       n[0] >= n[1] >= n[2], their product is nparts; unchanged on error
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_boxes_geometry(int nparts, int n[3]);

/** Boxes of equal size. Local, O(parts).
 * \param[in]  kind       kind of decomposition
 * \param[in]  low, high  corners, finite, low < high in each direction (copied)
 * \param[in]  n          parts per direction, >= 1 each (copied)
 * \param[out] boxes      owned by the caller; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, also for a box too thin for doubles, EQP_ERR_OVERFLOW if the number of parts
 *         exceeds an int, EQP_ERR_MEMORY */
int eqp_boxes_create(eqp_boxes_kind kind, const double low[3], const double high[3], const int n[3], eqp_boxes **boxes);

/** A deep copy. EQP_OK or EQP_ERR_MEMORY; *copy is unchanged on error, else owned by the caller. */
int eqp_boxes_copy(const eqp_boxes *boxes, eqp_boxes **copy);

/** Frees; NULL is legal. */
void eqp_boxes_free(eqp_boxes *boxes);

/** Number of parts. */
int eqp_boxes_parts(const eqp_boxes *boxes);

/** The part whose box holds a position. Boxes are half open: a wall belongs to the part above it. A position outside
 * the whole box is first moved to the nearest place inside; a NaN counts as the lowest coordinate.
 * O(log parts). */
int eqp_boxes_find(const eqp_boxes *boxes, const double x[3]);

/** Corners of a part's box. O(log parts).
 * \return EQP_OK, or EQP_ERR_ARGUMENT for a part out of range; low and high are unchanged then */
int eqp_boxes_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3]);

/** Moves walls towards equal loads. Local, O(parts), deterministic.
 *
 * Sections: one direction per call, options->direction, or x, y and z in turn, skipping directions with one part. The
 * load is assumed uniform inside each slab (column, box). In ascending order, each wall aims at the place that gives
 * the slab below it the remaining load divided by the number of remaining slabs. It moves there, but at most
 * options->cell_fraction of a cell and options->slab_fraction of the slab that it moves into.
 *
 * Bisection: a level is one round of cuts along x, y and z, which divides each piece into two, four or eight. Cutting
 * starts at the coarsest level where the load of a new piece exceeds the mean of its siblings, itself included, by more
 * than options->tolerance. Walls of that level move by options->damping of the full motion, finer walls by all of it. A
 * wall aims at the place that divides the load of its piece in proportion to the numbers of parts, assuming uniform
 * load inside each old half; if a coarser wall has moved, the piece and its contents are stretched first. If the
 * numbers of parts differ between siblings, as with 3 = 1 + 2, their loads always differ, and cutting starts there at
 * every call.
 *
 * All boxes keep a positive size, at least about 1e-6 of an equal share in each direction.
 * \param[in,out] boxes    unchanged on error
 * \param[in]     load     [parts] cost of each part, >= 0, for instance CPU seconds; if all are 0 no wall moves
 * \param[in]     options  NULL: eqp_boxes_options_defaults() (borrowed)
 * \param[out]    change   NULL: not wanted; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for options out of range, EQP_ERR_DATA for loads that are negative, not finite or
 *         whose sum is not finite, EQP_ERR_MEMORY */
int eqp_boxes_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                        eqp_boxes_change *change);

#ifdef __cplusplus
}
#endif
#endif
