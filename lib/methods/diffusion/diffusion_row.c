/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `diffusion`: items at the borders of the present parts move to neighbouring parts with less work. Few
 * items move, so rank 0 computes the moves for all ranks.
 *
 * Items that share pins are neighbours; without pins, items that are near each other are. A part without items has no
 * neighbours that could give it any, so each such part gets an item first. */
#include "base/internal.h"
#include "cost/elements.h"
#include "methods/diffusion/diffusion.h"
#include "methods/frame/gather.h"
#include "methods/frame/links.h"
#include "methods/frame/parts.h"
#include "methods/frame/repair_all.h"
#include "methods/frame/rows.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

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

/* Links neighbouring items and moves them. */
static int diffuse(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                   eqp_balance_result *result)
{
    const eqp_diffusion_options diffusion = diffusion_of(options);
    eqp_hypergraph *graph = NULL;
    eqp__links links = {.first = NULL};
    int code;

    (void)result;
    EQP_TRY(eqp__items_graph(items, &graph));
    EQP_TRY(graph != NULL ? eqp__links_of_pins(graph, &links)
                          : eqp__links_of_points(items->n, items->point, NEAREST, &links));
    const eqp_elements elements = {items->n, items->weight, part, links.first, links.edge, links.weight};
    EQP_TRY(eqp__diffusion_move(&elements, options->nparts, &diffusion, part));
done:
    eqp__links_free(&links);
    eqp__hypergraph_free(graph);
    return code;
}

static int assign_diffusion(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                            int *part, eqp_balance_result *result)
{
    eqp_balance_result filled;
    eqp_part_loads loads;

    EQP__CHECK(eqp__present_parts(comm, items, options, part));
    EQP__CHECK(eqp__repair_all(comm, items, options, DBL_MAX, part, &filled));
    EQP__CHECK(eqp__parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, NULL, &loads));
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
