/* SPDX-License-Identifier: BSD-3-Clause */
/* Diffusion on a graph of parts, used by the simulation and by the mover of elements. */
#ifndef EQUIPOISE_METHODS_DIFFUSION_DIFFUSION_H
#define EQUIPOISE_METHODS_DIFFUSION_DIFFUSION_H

#include "cost/elements.h"

#include <stdint.h>

typedef struct eqp_diffusion_options {
    double gamma;     /**< fraction of a difference that flows in a step, > 0; 0: the largest stable one, 1 / (d + 1) */
    double threshold; /**< imbalance at which to stop, a fraction >= 0 */
    int64_t steps;    /**< steps to simulate, or the most to carry out; >= 1 */
    const double *share; /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed) */
} eqp_diffusion_options;

/** Stable, 1000 steps, imbalance up to 2 %, equal shares. */
static inline eqp_diffusion_options eqp__diffusion_options_defaults(void)
{
    return (eqp_diffusion_options){.threshold = 0.02, .steps = 1000};
}

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
 * \param[out] part      [n] 0 to nparts - 1, may be elements->part; unchanged on error
 * \return EQP_OK, even if the threshold is out of reach; the codes of eqp__part_graph_create() */
int eqp__diffusion_move(const eqp_elements *elements, int nparts, const eqp_diffusion_options *options, int *part);

typedef struct eqp__diffusion {
    eqp_part_graph graph;
    double mean;      /* of the loads */
    double *scale;    /* [nparts] share times nparts */
    double *load;     /* [nparts] present load */
    double *relative; /* [nparts] load / scale at the beginning of the step */
    double *rate;     /* [links of the graph] flow per unit difference of `relative` */
} eqp__diffusion;

/* Largest gamma for which every new load is a mean of old loads. */
double eqp__diffusion_stable(const eqp_part_graph *graph);

/* Starts from loads [nparts] (copied). The caller closes it even on error. */
int eqp__diffusion_open(const eqp_part_graph *graph, const double *load, double gamma, const double *share,
                        eqp__diffusion *d);

void eqp__diffusion_close(eqp__diffusion *d);

double eqp__diffusion_largest(const eqp__diffusion *d);

double eqp__diffusion_imbalance(const eqp__diffusion *d);

/* One step. flow: [links] the load received over each link is added; < 0: load given. */
void eqp__diffusion_step(eqp__diffusion *d, double *flow);

#endif
