/* SPDX-License-Identifier: BSD-3-Clause */
/* Diffusion on a graph of parts, used by the simulation and by the mover of elements. */
#ifndef EQUIPOISE_METHODS_DIFFUSION_DIFFUSION_H
#define EQUIPOISE_METHODS_DIFFUSION_DIFFUSION_H

#include <equipoise/more/diffusion.h>

typedef struct eqp__diffusion {
    eqp_part_graph_view graph; /* borrowed */
    double mean;               /* of the loads */
    double *scale;             /* [nparts] share times nparts */
    double *load;              /* [nparts] present load */
    double *relative;          /* [nparts] load / scale at the beginning of the step */
    double *rate;              /* [links of the graph] flow per unit difference of `relative` */
} eqp__diffusion;

/* Checks the options as far as that needs no graph. EQP_OK or EQP_ERR_ARGUMENT. */
int eqp__diffusion_check(const eqp_diffusion_options *options, int nparts);

/* Largest gamma with which every new load is a mean of old loads. */
double eqp__diffusion_stable(const eqp_part_graph_view *graph);

/* Starts from loads [nparts] (copied). The caller closes it even on error. */
int eqp__diffusion_open(const eqp_part_graph_view *graph, const double *load, double gamma, const double *share,
                        eqp__diffusion *d);

void eqp__diffusion_close(eqp__diffusion *d);

double eqp__diffusion_largest(const eqp__diffusion *d);

double eqp__diffusion_imbalance(const eqp__diffusion *d);

/* One step. flow: [links] the load received over each link is added; < 0: load given. */
void eqp__diffusion_step(eqp__diffusion *d, double *flow);

#endif
