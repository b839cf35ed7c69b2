/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/diffusion.h
 * \brief Work that flows between neighbouring parts, from the heavier to the lighter one: simulated, and moved.
 *
 * In a step of diffusion part i gives each neighbour j the load gamma (L_i - L_j), where that is positive (G. Cybenko,
 * J. Parallel Distrib. Comput. 7 (1989)). With gamma <= 1 / (d + 1), d the most neighbours of a part, each new load is
 * a mean of old ones: the largest never grows, nothing swings. A larger gamma may diverge (a chain of parts does beyond
 * 1/2), so it is refused here, unlike in the thesis, which allows all up to 1.
 *
 * Parts with unequal shares s diffuse L_i / s_i to equality, and i gives j gamma min(s_i, s_j) (L_i / s_i - L_j / s_j).
 *
 * Everything here is local and deterministic. Source: O. Pearce, Load Balancing Scientific Applications (2014), section
 * 3.3.2, Algorithm 5, with two errors of print corrected: line 6 adds what it has to take away, and line 7 multiplies a
 * load by a number of elements without dividing by the load of these elements.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_DIFFUSION_H
#define EQUIPOISE_MORE_DIFFUSION_H

#include <equipoise/error.h>
#include <equipoise/more/elements.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How load flows. */
typedef struct eqp_diffusion_options {
    size_t size;         /**< of this struct as its caller knows it: set by eqp_diffusion_options_defaults() */
    double gamma;        /**< part of a difference that flows in a step, > 0; 0: the most that is stable, 1 / (d + 1) */
    double threshold;    /**< imbalance that is good enough, a fraction >= 0 */
    int64_t steps;       /**< steps: those that are simulated, the most that are moved; >= 1 */
    const double *share; /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed) */
    bool as_printed;     /**< simulation: Algorithm 5 with its errors of print, any gamma up to 1, equal shares */
} eqp_diffusion_options;

/** Stable, 1000 steps, imbalance up to 2 %, equal shares. */
static inline eqp_diffusion_options eqp_diffusion_options_defaults(void)
{
    eqp_diffusion_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.threshold = 0.02;
    options.steps = 1000;
    return options;
}

/** Simulates diffusion on a graph of parts: what Pearce's eq. 3.6 takes. Loads are the measured ones where the graph
 * has them, else the expected ones; elements follow the load, each with the mean load of the part that it leaves.
 * Imbalance is the largest load / (nparts x share) over the mean load, - 1; with equal shares max / mean - 1. Without
 * options->as_printed it never grows from step to step, and loads and elements keep their sums.
 *
 * As printed: L_i grows by the sum of gamma (L_i - L_j), the elements by the elements times this sum, from the loads
 * before the step; so loads run away from each other. For comparison.
 *
 * Local, O(steps (nparts + pairs of neighbours)), deterministic.
 * \param[in]  graph              (borrowed)
 * \param[in]  options            NULL: eqp_diffusion_options_defaults() (borrowed)
 * \param[out] load_max           [steps] largest load / (nparts x share) after each step; NULL: not wanted
 * \param[out] moved_max          [steps] elements that come to the part to which most come in each step (as printed: of
 *                                line 7); NULL: not wanted
 * \param[out] convergence_steps  steps that began with an imbalance above options->threshold
 * \return EQP_OK; EQP_ERR_ARGUMENT for options that are none, among them a gamma above 1 / (d + 1); EQP_ERR_OVERFLOW
 *         where loads diverge beyond all numbers; EQP_ERR_MEMORY. Outputs are unchanged on error */
int eqp_diffusion_simulate(const eqp_part_graph *graph, const eqp_diffusion_options *options, double *load_max,
                           double *moved_max, int64_t *convergence_steps);

/** Moves elements at the borders of parts to neighbouring parts until the imbalance is at most options->threshold,
 * options->steps steps of diffusion are carried out, or a round has not helped. Rounds: up to 16 steps of diffusion are
 * simulated on the graph of the present parts, to half of the threshold; then elements go over each border until what
 * flowed there has moved, to the nearest element, but at least one where the part that gets it stays the lighter of the
 * two: else small flows would come to nothing. Those go first that touch more of the part where they go than of the
 * part that they leave, and those behind them follow. With steps = 1 that is one step of diffusion.
 *
 * A part takes elements while it has less than the heaviest part has after the simulated round, or than the part that
 * gives. The largest load / share never grows. No part loses its last element; one without elements, or without a
 * channel to a heavier one, gets none. Elements without weight stay. Gamma is cut to 1 / (d + 1) of the graph at hand,
 * since parts get and lose neighbours as elements move. Local, a few times O(edges) for each round and each layer of
 * elements that moves, deterministic.
 * \param[in]  elements  with the parts to begin with (borrowed)
 * \param[in]  nparts    >= 1
 * \param[in]  options   NULL: eqp_diffusion_options_defaults() (borrowed)
 * \param[out] part      [n] 0 to nparts - 1, may be elements->part; unchanged on error
 * \return EQP_OK, also where the threshold is out of reach; EQP_ERR_ARGUMENT for options that are none, as_printed among
 *         them; the codes of eqp_part_graph_create() */
int eqp_diffusion_move(const eqp_elements *elements, int nparts, const eqp_diffusion_options *options, int *part);

#ifdef __cplusplus
}
#endif
#endif
