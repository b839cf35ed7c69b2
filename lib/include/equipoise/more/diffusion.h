/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/diffusion.h
 * \brief Diffusion of work between neighbouring parts, from the heavier to the lighter one: simulated, or carried out.
 *
 * In a step of diffusion part i gives each neighbour j the load gamma (L_i - L_j), if positive (G. Cybenko, J. Parallel
 * Distrib. Comput. 7 (1989)). With gamma <= 1 / (d + 1), d the most neighbours of a part, each new load is a mean of
 * old ones: the largest load never grows, and loads do not oscillate. A larger gamma may diverge (beyond 1/2 on a chain
 * of parts) and is rejected here; the thesis allows all values up to 1.
 *
 * With unequal shares s, diffusion equalizes L_i / s_i, and i gives j gamma min(s_i, s_j) (L_i / s_i - L_j / s_j).
 *
 * Everything here is local and deterministic. Source: O. Pearce, Load Balancing Scientific Applications (2014), section
 * 3.3.2, Algorithm 5, with two misprints corrected: line 6 adds where it must subtract, and line 7 multiplies a load by
 * a number of elements without dividing by the load of these elements.
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

/** Options of diffusion. */
typedef struct eqp_diffusion_options {
    size_t size;      /**< of this struct as its caller knows it: set by eqp_diffusion_options_defaults() */
    double gamma;     /**< fraction of a difference that flows in a step, > 0; 0: the largest stable one, 1 / (d + 1) */
    double threshold; /**< imbalance at which to stop, a fraction >= 0 */
    int64_t steps;    /**< steps to simulate, or the most to carry out; >= 1 */
    const double *share; /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed) */
    bool as_printed;     /**< simulation: Algorithm 5 with its misprints, any gamma up to 1, equal shares */
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

/** Simulates diffusion on a graph of parts, for Pearce's eq. 3.6. Loads are the measured ones if the graph has them,
 * else the expected ones; elements follow the load, each with the mean load of the part that it leaves.
 * Imbalance is the largest load / (nparts x share) over the mean load, - 1; with equal shares max / mean - 1. Without
 * options->as_printed it never grows from step to step, and the sums of loads and of elements are conserved.
 *
 * With options->as_printed, for comparison: L_i grows by the sum of gamma (L_i - L_j) and the elements by the elements
 * times this sum, all from the loads before the step; so loads diverge.
 *
 * Local, O(steps (nparts + pairs of neighbours)), deterministic.
 * \param[in]  graph              (borrowed)
 * \param[in]  options            NULL: eqp_diffusion_options_defaults() (borrowed)
 * \param[out] load_max           [steps] largest load / (nparts x share) after each step; NULL: not wanted
 * \param[out] moved_max          [steps] most elements that a part receives in each step (as printed: largest value of
 *                                line 7); NULL: not wanted
 * \param[out] convergence_steps  steps that began with an imbalance above options->threshold
 * \return EQP_OK; EQP_ERR_ARGUMENT for invalid options, including a gamma above 1 / (d + 1); EQP_ERR_OVERFLOW if loads
 *         diverge beyond the range of double; EQP_ERR_MEMORY. Outputs are unchanged on error */
int eqp_diffusion_simulate(const eqp_part_graph *graph, const eqp_diffusion_options *options, double *load_max,
                           double *moved_max, int64_t *convergence_steps);

/** Moves elements at the borders of parts to neighbouring parts until the imbalance is at most options->threshold,
 * options->steps steps of diffusion are carried out, or a round does not lower it. A round simulates up to 16 steps of
 * diffusion on the graph of the present parts, down to half the threshold. Then elements cross each border until the
 * simulated flow has moved, to the nearest element. If the receiver stays lighter than the giver, an element moves even
 * for a smaller flow, since otherwise small flows would never move anything. Elements with the largest edge weight to
 * the new part, minus that to the old part, go first, and their neighbours follow. With steps = 1 a round is one step
 * of diffusion.
 *
 * A part receives elements while its load / share is below the largest one of the simulation, or below that of the
 * giver. The largest load / share never grows. No part loses its last element; a part without elements, or without a
 * channel to a heavier part, gets none. Elements without weight stay. Gamma is limited to 1 / (d + 1) of the present
 * graph, since parts get and lose neighbours as elements move. Local, a few times O(edges) for each round and each
 * layer of elements that moves, deterministic.
 * \param[in]  elements  elements with their present parts (borrowed)
 * \param[in]  nparts    >= 1
 * \param[in]  options   NULL: eqp_diffusion_options_defaults() (borrowed)
 * \param[out] part      [n] 0 to nparts - 1, may be elements->part; unchanged on error
 * \return EQP_OK, even if the threshold is out of reach; EQP_ERR_ARGUMENT for invalid options, including as_printed;
 *         the codes of eqp_part_graph_create() */
int eqp_diffusion_move(const eqp_elements *elements, int nparts, const eqp_diffusion_options *options, int *part);

#ifdef __cplusplus
}
#endif
#endif
