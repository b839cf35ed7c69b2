/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/tiles.h
 * \brief The interaction matrix cut in both directions: weighted items with a target and a source position, bisected
 * recursively where the halves share fewest particles. Pure: no MPI.
 *
 * An item is an interaction, an interaction sampled from many, or a work unit. A part of a curve holds whole targets
 * and needs all their sources; a *tile* holds some sources of some targets, and so needs fewer particles where parts
 * are small. The tree of cuts divides all possible pairs of positions, so it also places interactions that were never
 * sampled.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_TILES_H
#define EQUIPOISE_MORE_TILES_H

#include <equipoise/error.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Items to divide. All arrays are borrowed for the call. */
typedef struct eqp_tiles_items {
    int64_t n;            /**< below 2^31 */
    const double *target; /**< [n][3] positions that receive the interactions, finite */
    const double *source; /**< [n][3] positions that exert them, finite; NULL: the targets */
    const double *weight; /**< [n] cost, finite, >= 0; NULL: 1. Weights that sum to zero count as 1 each */
} eqp_tiles_items;

/** The shape of the parts. */
enum eqp_tiles_shape {
    EQP_TILES_FREE = 0,   /**< each cut along targets, sources or midpoints, whichever shares fewest particles */
    EQP_TILES_JAGGED = 1, /**< strips of targets first, then each strip along its sources */
};

/** Options of the division. */
typedef struct eqp_tiles_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp_tiles_options_defaults() */
    int nparts;           /**< >= 1 */
    const double *share;  /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed for the call) */
    double imbalance_tol; /**< wanted imbalance of `part`, >= 0; INFINITY: no repair */
    double aspect;        /**< cost of a shared source in units of a shared target, whose force is sent back; > 0 */
    enum eqp_tiles_shape shape; /**< of the parts */
    int columns; /**< of EQP_TILES_JAGGED: parts per strip, 1 to nparts; 0: estimated to share fewest particles */
} eqp_tiles_options;

/** Options to begin with; set at least nparts. Local. */
static inline eqp_tiles_options eqp_tiles_options_defaults(void)
{
    eqp_tiles_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.nparts = 1;
    options.imbalance_tol = 0.02;
    options.aspect = 0.5;
    options.shape = EQP_TILES_FREE;
    return options;
}

/** Results. Imbalance is defined in more/assign.h. */
typedef struct eqp_tiles_result {
    double imbalance;            /**< of the parts */
    double imbalance_unrepaired; /**< of the cuts alone */
    int64_t repaired;            /**< items that the repair moved: eqp_tiles_find() returns another part for them */
    int columns;                 /**< parts per strip, or 0 with EQP_TILES_FREE */
    int moved_cuts;              /**< cuts that eqp_tiles_recut() remade; all cuts after eqp_tiles_create() */
} eqp_tiles_result;

/** A tree of cuts: each inner node has a direction and a position. Opaque; several threads may read it. */
typedef struct eqp_tiles eqp_tiles;

/** Cuts items into parts. Each node is cut along one of nine directions: x, y, z of the target, the source or the
 * midpoint. The variances and the covariance of targets and sources in the node give an estimate of how many targets
 * and sources each half would touch; the direction with the smallest targets + aspect x sources is used. The cut falls
 * where the weights are nearest to the shares. Items at the same place along the direction are divided by their other
 * position, so that one target's sources can be divided, and identical items by their order. If the parts then exceed
 * imbalance_tol, eqp_repair() moves items.
 *
 * Local, deterministic, O(n log nparts). Positions are resolved to 2^-30 of their common box.
 * \param[in]  items    items to divide
 * \param[in]  options  options of the division
 * \param[out] part     [n] 0 to nparts - 1; NULL: only the tree, without repair
 * \param[out] tree     owned by the caller; eqp_tiles_free(). NULL: not wanted
 * \param[out] result   NULL: not wanted
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an invalid option or value */
int eqp_tiles_create(const eqp_tiles_items *items, const eqp_tiles_options *options, int *part, eqp_tiles **tree,
                     eqp_tiles_result *result);

/** Moves the cuts of a tree so that other (drifted, reweighted) items are balanced. Directions, shares and the number
 * of parts stay; cuts that still meet imbalance_tol stay too. Items that have not changed since the tree was created or
 * last recut keep their parts. The more branches stay, the lower the cost: one tree search per item if all stay.
 * \param[in,out] tree           unchanged on error
 * \param[in]     items          items to divide
 * \param[in]     imbalance_tol  as in eqp_tiles_options
 * \param[out]    part            [n]; NULL: only the tree, without repair
 * \param[out]    result         NULL: not wanted
 * \return as eqp_tiles_create() */
int eqp_tiles_recut(eqp_tiles *tree, const eqp_tiles_items *items, double imbalance_tol, int *part,
                    eqp_tiles_result *result);

/** The part of an interaction between two positions. Local, O(log nparts). If several items lie at one place on a cut,
 * the division may have put some on the other side for balance.
 * \param[in] target,source  [3], finite; may lie outside the box of the items */
int eqp_tiles_find(const eqp_tiles *tree, const double target[3], const double source[3]);

/** Counts the cuts of a tree in each direction: x, y, z of targets, sources, midpoints. Local, O(nparts). */
void eqp_tiles_directions(const eqp_tiles *tree, int count[9]);

/** Frees; NULL is legal. */
void eqp_tiles_free(eqp_tiles *tree);

#ifdef __cplusplus
}
#endif
#endif
