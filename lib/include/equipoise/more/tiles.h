/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/tiles.h
 * \brief The interaction matrix cut in both directions: weighted items with a target and a source position, bisected
 * again and again where fewest particles are shared. Pure: no MPI.
 *
 * An item is one interaction, a sample of some, or a work unit. A part of a curve holds whole targets and needs all of
 * their sources; a *tile* holds some sources of some targets, and so needs fewer particles where parts are small. A
 * tree of cuts divides all possible pairs of positions, so it also places interactions that were never sampled.
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

/** What is divided. All arrays are borrowed for the call. */
typedef struct eqp_tiles_items {
    int64_t n;            /**< below 2^31 */
    const double *target; /**< [n][3] positions that feel the interactions, finite */
    const double *source; /**< [n][3] positions that they come from, finite; NULL: the targets */
    const double *weight; /**< [n] cost, finite, >= 0; NULL: 1. Weights that sum to zero count as 1 each */
} eqp_tiles_items;

/** The shape of the parts. */
enum eqp_tiles_shape {
    EQP_TILES_FREE = 0,   /**< every cut along targets, sources or midpoints, whichever shares least */
    EQP_TILES_JAGGED = 1, /**< strips of targets first, then each strip along its sources */
};

/** How it is divided. */
typedef struct eqp_tiles_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp_tiles_options_defaults() */
    int nparts;           /**< >= 1 */
    const double *share;  /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed for the call) */
    double imbalance_tol; /**< wanted imbalance of `part`, >= 0; INFINITY: no repair */
    double aspect; /**< cost of a source that two parts share, in units of a shared target, whose force returns; > 0 */
    enum eqp_tiles_shape shape; /**< of the parts */
    int columns; /**< of EQP_TILES_JAGGED: parts per strip, 1 to nparts; 0: those that share least by an estimate */
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

/** What came out. Imbalance as in more/assign.h. */
typedef struct eqp_tiles_result {
    double imbalance;            /**< of the parts */
    double imbalance_unrepaired; /**< of what the cuts alone give */
    int64_t repaired;            /**< items that the repair moved: for these eqp_tiles_find() says another part */
    int columns;                 /**< parts per strip, or 0 with EQP_TILES_FREE */
    int moved_cuts;              /**< cuts that eqp_tiles_recut() made anew; all of them from eqp_tiles_create() */
} eqp_tiles_result;

/** A tree of cuts: at every inner node a direction and a place. Opaque; may be read by several threads. */
typedef struct eqp_tiles eqp_tiles;

/** Cuts items into parts. Each node is cut along one of nine directions: x, y, z of the target, the source or the
 * midpoint. From the spread of the node's items in targets and sources, and how the two go together, follows how many
 * targets and sources the halves would touch; the direction with the least targets + aspect x sources is taken. The cut
 * falls where the weights are nearest to the shares; what lies at the same place along it is divided by the other
 * position, so that one target's sources can be divided, and identical items by their order. If the parts are then not
 * within imbalance_tol, eqp_repair() moves items.
 *
 * Local, deterministic, O(n log nparts). Positions are resolved to 2^-30 of their common box.
 * \param[in]  items    what is divided
 * \param[in]  options  how
 * \param[out] part     [n] 0 to nparts - 1; NULL: only the tree is wanted, and nothing is repaired
 * \param[out] tree     owned by the caller; eqp_tiles_free(). NULL: not wanted
 * \param[out] result   NULL: not wanted
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an option or a value that is none */
int eqp_tiles_create(const eqp_tiles_items *items, const eqp_tiles_options *options, int *part, eqp_tiles **tree,
                     eqp_tiles_result *result);

/** Moves the cuts of a tree so that other (drifted, reweighted) items are balanced. Directions, shares and the number
 * of parts stay; cuts that are still near enough to their place for imbalance_tol stay too. Items that have not changed
 * since the tree was made or last cut keep their parts. The further along the tree cuts stay, the cheaper: one search
 * per item if all do.
 * \param[in,out] tree           unchanged on error
 * \param[in]     items          what is divided
 * \param[in]     imbalance_tol  as in eqp_tiles_options
 * \param[out]    part           [n]; NULL: only the tree is wanted, and nothing is repaired
 * \param[out]    result         NULL: not wanted
 * \return as eqp_tiles_create() */
int eqp_tiles_recut(eqp_tiles *tree, const eqp_tiles_items *items, double imbalance_tol, int *part,
                    eqp_tiles_result *result);

/** The part of an interaction between two positions. Local, O(log nparts). Of items that lie exactly on a cut, several
 * at one place, some may have been given to the other side for balance.
 * \param[in] target,source  [3], finite; may lie outside the box of the items */
int eqp_tiles_find(const eqp_tiles *tree, const double target[3], const double source[3]);

/** How many cuts of a tree are along each direction: x, y, z of targets, of sources, of midpoints. Local, O(nparts). */
void eqp_tiles_directions(const eqp_tiles *tree, int count[9]);

/** Frees; NULL is legal. */
void eqp_tiles_free(eqp_tiles *tree);

#ifdef __cplusplus
}
#endif
#endif
