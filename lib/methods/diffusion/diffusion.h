/* SPDX-License-Identifier: BSD-3-Clause */
/* Diffusion over a graph of parts, for its simulation and for the mover of elements. */
#ifndef EQUIPOISE_METHODS_DIFFUSION_DIFFUSION_H
#define EQUIPOISE_METHODS_DIFFUSION_DIFFUSION_H

#include <equipoise/more/diffusion.h>

typedef struct eqp__diffusion {
    eqp_part_graph_view graph; /* borrowed */
    double mean;               /* of the loads */
    double *scale;             /* [nparts] share times nparts */
    double *load;              /* [nparts] now */
    double *relative;          /* [nparts] load / scale at the beginning of the step */
    double *rate;              /* [links of the graph] what flows for a difference of 1 in `relative` */
} eqp__diffusion;

/* EQP_ERR_ARGUMENT for options that no graph could have. */
int eqp__diffusion_check(const eqp_diffusion_options *options, int nparts);

/* Largest gamma for which every new load is a mean of old ones. */
double eqp__diffusion_stable(const eqp_part_graph_view *graph);

/* Starts from loads [nparts] (copied). Closed by the caller, also after an error. */
int eqp__diffusion_open(const eqp_part_graph_view *graph, const double *load, double gamma, const double *share,
                        eqp__diffusion *d);

void eqp__diffusion_close(eqp__diffusion *d);

double eqp__diffusion_largest(const eqp__diffusion *d);

double eqp__diffusion_imbalance(const eqp__diffusion *d);

/* One step. flow: [links] gets what has come over each link added, < 0: what has gone. */
void eqp__diffusion_step(eqp__diffusion *d, double *flow);

#endif
