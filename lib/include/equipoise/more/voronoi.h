/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/voronoi.h
 * \brief Voronoi cells with a bias each, so that every cell holds its share of the work. Pure: no MPI.
 *
 * Part p has a centre c and a bias b, and a place x belongs to the part where |x - c|^2 - b is least (Pearce 2014,
 * equation 2.9; Koradi, Billeter and Guentert, Comput. Phys. Commun. 124 (2000) 139). Such cells, together a *power
 * diagram*, are convex, and two numbers more than its centre's coordinates say all about a part. A cell that has too
 * little work gets a larger bias.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_VORONOI_H
#define EQUIPOISE_MORE_VORONOI_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How cells are made. */
typedef struct eqp_voronoi_options {
    size_t size;         /**< of this struct as its caller knows it: set by eqp_voronoi_options_defaults() */
    const double *share; /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed for the call) */
    double tolerance;    /**< wanted imbalance (more/assign.h), >= 0: no further search below it */
    int64_t iterations;  /**< most times that the cell of every point is sought while centres stand, >= 1 */
    bool moving;         /**< centres move to the centres of gravity of their cells; false: they stay */
    int64_t sample;      /**< most points that are looked at, >= 1: of more, every k-th */
} eqp_voronoi_options;

/** Options to begin with. Local. */
static inline eqp_voronoi_options eqp_voronoi_options_defaults(void)
{
    eqp_voronoi_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.tolerance = 0.02;
    options.iterations = 200;
    options.sample = (int64_t)1 << 18;
    return options;
}

/** Centres and biases. Opaque; may be read by several threads. */
typedef struct eqp_voronoi eqp_voronoi;

/** Finds cells for weighted points. Centres begin at the centres of gravity of a bisection (more/tiles.h). Biases
 * follow by Newton's method: how much load changes hands with a bias is estimated from the points near to the walls,
 * and the linear equations for all biases are solved together (F. Aurenhammer, F. Hoffmann and B. Aronov, Algorithmica
 * 20 (1998) 61; J. Kitagawa, Q. Merigot and B. Thibert, J. Eur. Math. Soc. 21 (2019) 2603). Steps are damped so that
 * they lead towards even loads and leave every cell some points: this bounds the biases of neighbours. With moving
 * centres the centres then go to the centres of gravity of their cells and biases are found anew, up to eight times,
 * while that makes the mean square of the distances to the centres smaller. What is returned is the most even of all
 * that was looked at; if several are within the tolerance, the latest of these.
 *
 * Points at one place have one cell, so where they are heavy, or fewer than the parts, no biases are within the
 * tolerance. A part that no place can be given has nothing, and nothing is ever found to belong to it.
 *
 * Local, deterministic; a search of all points takes O(n log nparts).
 * \param[in]  n        >= 0
 * \param[in]  point    [n][3] finite (borrowed for the call)
 * \param[in]  weight   [n] finite, >= 0; NULL: 1. Weights that sum to zero count as 1 each (borrowed for the call)
 * \param[in]  nparts   >= 1
 * \param[in]  options  how
 * \param[out] voronoi  owned by the caller: eqp_voronoi_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an option or a value that is none */
int eqp_voronoi_create(int64_t n, const double *point, const double *weight, int nparts,
                       const eqp_voronoi_options *options, eqp_voronoi **voronoi);

/** Whose places are: of cells that are equally near in the sense of equation 2.9 the one of the lowest number. Without
 * points in eqp_voronoi_create() everything belongs to part 0. Local, O(n log nparts).
 * \param[in]  point  [n][3] finite; may lie outside the box of the points that made the cells (borrowed)
 * \param[out] part   [n] 0 to nparts - 1; unchanged on error
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_voronoi_parts(const eqp_voronoi *voronoi, int64_t n, const double *point, int *part);

/** Frees; NULL is legal. */
void eqp_voronoi_free(eqp_voronoi *voronoi);

#ifdef __cplusplus
}
#endif
#endif
