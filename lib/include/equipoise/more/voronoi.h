/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/voronoi.h
 * \brief Voronoi cells with a bias each, chosen so that every cell holds its share of the work. Pure: no MPI.
 *
 * Part p has a centre c and a bias b, and a point x belongs to the part with the least |x - c|^2 - b (Pearce 2014,
 * equation 2.9; Koradi, Billeter and Guentert, Comput. Phys. Commun. 124 (2000) 139). Such cells, together a *power
 * diagram*, are convex, and centre and bias define a cell completely. A cell with too little work gets a larger bias.
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

/** Options of the search for cells. */
typedef struct eqp_voronoi_options {
    size_t size;         /**< of this struct as its caller knows it: set by eqp_voronoi_options_defaults() */
    const double *share; /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed for the call) */
    double tolerance;    /**< wanted imbalance (more/assign.h), >= 0: the search ends once it is reached */
    int64_t iterations;  /**< most searches of all points for fixed centres, >= 1 */
    bool moving;         /**< centres move to the centres of gravity of their cells; false: they stay */
    int64_t sample;      /**< most points used, >= 1; beyond that, every k-th */
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

/** Centres and biases. Opaque; several threads may read it. */
typedef struct eqp_voronoi eqp_voronoi;

/** Finds cells for weighted points. Centres begin at the centres of gravity of a bisection (more/tiles.h). Biases
 * are found by Newton's method: points near the walls give the derivative of the loads with respect to the biases, and
 * each step solves the linear equations for all biases (F. Aurenhammer, F. Hoffmann and B. Aronov, Algorithmica 20
 * (1998) 61; J. Kitagawa, Q. Merigot and B. Thibert, J. Eur. Math. Soc. 21 (2019) 2603). Steps are damped so that they
 * lead towards even loads and empty no cell; this bounds the biases of neighbours. Moving centres then go to the
 * centres of gravity of their cells and the biases are found again, up to eight times, while the mean square distance
 * to the centres falls. The result is the most even of all sets of cells that were tried; if several are within the
 * tolerance, the latest.
 *
 * Points at one place share a cell, so if such a place is heavy, or if there are fewer places than parts, no biases
 * reach the tolerance. A part without a place of its own gets no points, and eqp_voronoi_parts() never returns it.
 *
 * Local, deterministic; a search of all points takes O(n log nparts).
 * \param[in]  n        >= 0
 * \param[in]  point    [n][3] finite (borrowed for the call)
 * \param[in]  weight   [n] finite, >= 0; NULL: 1. Weights that sum to zero count as 1 each (borrowed for the call)
 * \param[in]  nparts   >= 1
 * \param[in]  options  options of the search
 * \param[out] voronoi  owned by the caller: eqp_voronoi_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an invalid option or value */
int eqp_voronoi_create(int64_t n, const double *point, const double *weight, int nparts,
                       const eqp_voronoi_options *options, eqp_voronoi **voronoi);

/** Finds the parts of points. Of cells that tie in equation 2.9 the lowest number wins. If eqp_voronoi_create() got no
 * points, everything belongs to part 0. Local, O(n log nparts).
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
