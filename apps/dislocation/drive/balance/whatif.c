/* SPDX-License-Identifier: BSD-3-Clause */
#include "whatif.h"

#include "baseline.h"
#include "census.h"
#include "rebalance.h"
#include "trace.h"

#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Walls move a little at a time: so often before it counts. As they do not come to rest, the best of the last few
 * places is taken. */
#define WALL_MOVES 30
#define WALL_CHOICE 5

struct dd_whatif {
    dd_simulation *sim;
    app_costs costs;
    dd_census census;
    app_whatif functions;
};

static int by_key(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static int keys(void *user, int64_t *nhome, uint64_t **key)
{
    const dd_whatif *w = user;
    const int64_t n = w->sim->domain.network.n;
    uint64_t *made = NULL;
    int code = eqp_agree(w->sim->comm, dd_keys(&w->sim->domain, &made), NULL);

    if (code != EQP_OK) {
        free(made);
        return code;
    }
    if (n > 1) {
        qsort(made, (size_t)n, sizeof *made, by_key);
    }
    *nhome = n;
    *key = made;
    return EQP_OK;
}

/* As for a new map: what was counted. */
static int survey(void *user, bool weights, app_survey *list)
{
    const dd_whatif *w = user;
    dd_evaluator counted = w->sim->evaluator;
    uint64_t *key = NULL;
    int code = dd_keys(&w->sim->domain, &key);

    if (!weights) {
        counted.of_nodes = counted.of_shares = 0;
    }
    code = eqp_agree(w->sim->comm, code, NULL);
    if (code == EQP_OK) {
        code = dd_survey(&w->sim->domain, &w->sim->stage, &counted, (uint64_t)w->sim->settings->run.seed, key, list);
    }
    free(key);
    return code;
}

static int trace(void *user, int nparts, const app_map *map, const app_verdict *verdict, bool loads_only,
                 eqp_evaluation *evaluation)
{
    dd_whatif *w = user;

    return dd_trace(&w->census, &w->costs, nparts, map, verdict, loads_only, evaluation);
}

static void base(void *user, int nparts, double *seconds)
{
    const dd_whatif *w = user;

    dd_evaluator_base(&w->sim->evaluator, &w->census.stage->grid, &w->costs, nparts, seconds);
}

/* What the boxes cost by the model at their speeds: [parts], and the most of it. */
static int weigh_boxes(const dd_whatif *w, const eqp_boxes *boxes, app_speeds speeds, const app_owners *owners,
                       double *loads, double *most)
{
    const int nparts = eqp_boxes_parts(boxes);
    int code;

    memset(loads, 0, (size_t)nparts * sizeof *loads);
    for (int64_t o = 0; o < owners->n; o++) {
        loads[eqp_boxes_find(boxes, owners->owner[o].centre)] += owners->seconds[o];
    }
    code = eqp_sum_double(w->sim->comm, nparts, loads);
    dd_evaluator_base(&w->sim->evaluator, &w->census.stage->grid, &w->costs, nparts, loads);
    *most = 0.0;
    for (int p = 0; p < nparts && code == EQP_OK; p++) {
        loads[p] /= app_speed_of(speeds, p);
        *most = fmax(*most, loads[p]);
    }
    return code;
}

/* The walls as they are after so many moves on a network that does not change. */
static int settle_boxes(const dd_whatif *w, app_speeds speeds, const app_owners *owners, double *loads,
                        eqp_boxes *boxes, eqp_boxes **best)
{
    double most = 0.0, least = INFINITY;
    int code;

    EQP_TRY(weigh_boxes(w, boxes, speeds, owners, loads, &most));
    for (int move = 1; move <= WALL_MOVES; move++) {
        EQP_TRY(eqp_agree(w->sim->comm, dd_baseline_move(&w->sim->domain, w->sim->cells, loads, boxes), NULL));
        EQP_TRY(weigh_boxes(w, boxes, speeds, owners, loads, &most));
        if (move > WALL_MOVES - WALL_CHOICE && most < least) {
            eqp_boxes_free(*best);
            *best = NULL;
            least = most;
            EQP_TRY(eqp_agree(w->sim->comm, eqp_boxes_copy(boxes, best), NULL));
        }
    }
done:
    return code;
}

static int assign(void *user, const eqp_method *method, int nparts, app_speeds speeds, const app_owners *owners,
                  int *part)
{
    const dd_whatif *w = user;
    eqp_boxes *boxes = NULL, *best = NULL;
    double *loads = NULL;
    int code = method == &dd_sectioning || method == &dd_bisection ? EQP_OK : EQP_ERR_UNKNOWN;

    if (code == EQP_OK) {
        code = dd_baseline_create(&w->sim->domain, nparts, &w->sim->input.control, method == &dd_bisection, &boxes);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&loads, nparts, sizeof *loads);
    }
    EQP_TRY(eqp_agree(w->sim->comm, code, NULL));
    EQP_TRY(settle_boxes(w, speeds, owners, loads, boxes, &best));
    for (int64_t o = 0; o < owners->n; o++) {
        part[o] = eqp_boxes_find(best, owners->owner[o].centre);
    }
done:
    free(loads);
    eqp_boxes_free(best);
    eqp_boxes_free(boxes);
    return code;
}

static int take_census(dd_whatif *w)
{
    dd_simulation *sim = w->sim;

    return dd_census_take(&sim->domain, &sim->halo, &sim->stage, &sim->evaluator, &w->census);
}

static int advance(void *user, eqp_message *message)
{
    dd_whatif *w = user;
    int code;

    dd_census_free(&w->census);
    code = dd_simulation_drift(w->sim, message);
    return code == EQP_OK ? take_census(w) : code;
}

int dd_whatif_create(dd_simulation *sim, dd_whatif **whatif)
{
    dd_whatif *made = NULL;
    int code;

    EQP_TRY(eqp_agree(sim->comm, eqp_array_create(&made, 1, sizeof *made), NULL));
    made->sim = sim;
    made->costs = sim->costs;
    made->functions = (app_whatif){.comm = sim->comm,
                                   .user = made,
                                   .model = &dd_work_model,
                                   .costs = &made->costs,
                                   .nphases = DD_PHASES,
                                   .back = dd_phase_back,
                                   .ghosts = dd_phase_ghosts,
                                   .base = base,
                                   .keys = keys,
                                   .survey = survey,
                                   .trace = trace,
                                   .assign = assign,
                                   .advance = advance};
    EQP_TRY(take_census(made));
done:
    if (code != EQP_OK) {
        dd_whatif_free(made);
        return code;
    }
    *whatif = made;
    return EQP_OK;
}

void dd_whatif_free(dd_whatif *whatif)
{
    if (whatif != NULL) {
        dd_census_free(&whatif->census);
        free(whatif);
    }
}

const app_whatif *dd_whatif_functions(const dd_whatif *whatif)
{
    return &whatif->functions;
}

int dd_whatif_settle(const dd_whatif *whatif, int n, app_method_choice *choice)
{
    double aspect = 0.0;
    const int code = dd_usual_aspect(&whatif->sim->domain, &whatif->sim->stage, &aspect);

    for (int i = 0; i < n && code == EQP_OK; i++) {
        choice[i].options.aspect = aspect;
    }
    return code;
}
