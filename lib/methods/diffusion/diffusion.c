/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithm 5 of Pearce 2014, with its sign corrected. */
#include "methods/diffusion/diffusion.h"

#include "base/internal.h"
#include "cost/elements.h"
#include "methods/frame/frame.h"
#include "methods/frame/links.h"

#include <float.h>
#include <math.h>
#include <string.h>

double eqp__diffusion_stable(const eqp_part_graph *graph)
{
    int64_t most = 0;

    for (int p = 0; p < graph->nparts; p++) {
        const int64_t degree = graph->neighbour_first[p + 1] - graph->neighbour_first[p];
        most = degree > most ? degree : most;
    }
    return 1.0 / (double)(most + 1);
}

int eqp__diffusion_open(const eqp_part_graph *graph, const double *load, double gamma, const double *share,
                        eqp__diffusion *d)
{
    const int nparts = graph->nparts;

    d->graph = *graph;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(d->scale, nparts), EQP__ARRAY(d->load, nparts), EQP__ARRAY(d->relative, nparts),
                           EQP__ARRAY(d->rate, graph->neighbour_first[nparts])));
    d->mean = 0.0;
    for (int p = 0; p < nparts; p++) {
        d->scale[p] = eqp__share_scale(share, nparts, p);
        d->load[p] = load[p];
        d->mean += load[p] / nparts;
    }
    for (int p = 0; p < nparts; p++) {
        for (int64_t k = graph->neighbour_first[p]; k < graph->neighbour_first[p + 1]; k++) {
            d->rate[k] = gamma * fmin(d->scale[p], d->scale[graph->neighbour[k]]);
        }
    }
    return EQP_OK;
}

void eqp__diffusion_close(eqp__diffusion *d)
{
    EQP__FREE(d->scale, d->load, d->relative, d->rate);
}

double eqp__diffusion_largest(const eqp__diffusion *d)
{
    double most = d->load[0] / d->scale[0];

    for (int p = 1; p < d->graph.nparts; p++) {
        most = fmax(most, d->load[p] / d->scale[p]);
    }
    return most;
}

double eqp__diffusion_imbalance(const eqp__diffusion *d)
{
    return d->mean > 0.0 ? eqp__diffusion_largest(d) / d->mean - 1.0 : 0.0;
}

void eqp__diffusion_step(eqp__diffusion *d, double *flow)
{
    const eqp_part_graph *g = &d->graph;

    for (int p = 0; p < g->nparts; p++) {
        d->relative[p] = d->load[p] / d->scale[p];
    }
    for (int p = 0; p < g->nparts; p++) {
        for (int64_t k = g->neighbour_first[p]; k < g->neighbour_first[p + 1]; k++) {
            const double comes = d->rate[k] * (d->relative[g->neighbour[k]] - d->relative[p]);
            d->load[p] += comes;
            flow[k] += comes;
        }
    }
}

/* The method `diffusion`: items at the borders of the present parts move to neighbouring parts with less work. Few
 * items move, so rank 0 computes the moves for all ranks.
 * Items that share pins are neighbours; without pins, items near each other are. A part without items has no
 * neighbours to receive from, so each such part gets an item first. */

/* Nearest items linked to each item, about the number of face neighbours of a cell. */
#define NEAREST 8

/* Settings of the method; 0: the default of eqp_diffusion_options, for threshold the wanted imbalance. */
typedef struct own_settings {
    double gamma, threshold;
    int64_t steps;
} own_settings;

#define MOST_STEPS 1000000

static eqp_diffusion_options diffusion_of(const eqp_balance_options *options)
{
    eqp_diffusion_options d = eqp__diffusion_options_defaults();
    own_settings own;

    memcpy(&own, &options->settings, sizeof own);
    d.gamma = own.gamma;
    d.threshold = own.threshold > 0 ? own.threshold : options->imbalance_tol;
    d.steps = own.steps > 0 ? own.steps : d.steps;
    d.share = options->share;
    return d;
}

static int diffuse(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                   eqp_balance_result *result)
{
    const eqp_diffusion_options diffusion = diffusion_of(options);
    eqp_hypergraph graph = {0};
    eqp__links links = {.first = NULL};
    int code;

    (void)result;
    EQP_TRY(eqp__items_graph(items, &graph));
    EQP_TRY(graph.nvertices > 0 ? eqp__links_of_pins(&graph, &links)
                                : eqp__links_of_points(items->n, items->point, NEAREST, &links));
    const eqp_elements elements = {items->n, items->weight, part, links.first, links.edge, links.weight};
    EQP_TRY(eqp__diffusion_move(&elements, options->nparts, &diffusion, part));
done:
    eqp__links_free(&links);
    eqp__hypergraph_free(&graph);
    return code;
}

static int assign_diffusion(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                            int *part, eqp_balance_result *result)
{
    eqp_balance_result filled;
    eqp_part_loads loads;

    EQP__CHECK(eqp__present_parts(comm, items, options, part));
    EQP__CHECK(eqp__repair_all(comm, items, options, DBL_MAX, part, &filled));
    EQP__CHECK(eqp__parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, &loads));
    result->repaired = filled.repaired;
    if (loads.imbalance > diffusion_of(options).threshold) {
        EQP__CHECK(
            eqp__gather_and_assign(comm, items, options, EQP__PINS | EQP__POINTS_WITHOUT_PINS, diffuse, part, result));
    }
    return EQP_OK;
}

static const eqp_option own_options[] = {
    {"gamma", EQP_OPTION_REAL, offsetof(own_settings, gamma), 0, true, 1, NULL,
     "part of a difference of loads that flows in a step; at most, and without it, 1 / (most neighbours + 1)"},
    {"threshold", EQP_OPTION_REAL, offsetof(own_settings, threshold), 0, true, INFINITY, NULL,
     "imbalance that is good enough; without it the wanted one"},
    {"steps", EQP_OPTION_INT, offsetof(own_settings, steps), 1, false, MOST_STEPS, NULL,
     "most steps of diffusion in a map, 1000 without it"}};

const eqp_method eqp__method_diffusion = {.name = "diffusion",
                                          .summary = "the present parts, work flowing to lighter neighbours",
                                          .flags = EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_REFINES,
                                          .assign = assign_diffusion,
                                          .noptions = 3,
                                          .option = own_options};
