/* SPDX-License-Identifier: BSD-3-Clause */
/* What a part does beside its items depends on the items: who shares an owner does some of its work again, who needs
 * more waits longer. So a map is made, traced, and made again with what each part turned out to have beside. */
#include "run_whatif_state.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times that a map is made again. */
#define LOAD_PASSES 6
#define STEP_PASSES 6

/* So many maps in a row that are no better end it, or one more: a pass may try two. */
#define MOST_IN_VAIN 2

/* What a part has beside its items follows them: halves of what is learnt do not swing. */
#define LATER_SHARE 0.5

/* What an item weighs at least and at most, in its own seconds. */
#define LEAST_FACTOR 0.2
#define MOST_FACTOR 10.0

/* One pass after another; the arrays are parts of `total`, [nparts] each. */
typedef struct settling {
    const app_whatif_state *state;
    app_newmap *newmap;
    eqp_message *message;
    int nparts;
    const double *base; /* [nparts] or NULL */
    app_speeds speeds;
    double *total;  /* seconds of each part with the last map: of its work at its speed, and beside */
    double *given;  /* of its items */
    double *factor; /* of the seconds that the items of each part are to weigh */
} settling;

static int open_settling(settling *s)
{
    int code;

    EQP_TRY(eqp_array_create(&s->total, 3 * (int64_t)s->nparts, sizeof *s->total));
    s->given = s->total + s->nparts;
    s->factor = s->given + s->nparts;
done:
    return eqp_agree(s->state->comm, code, NULL);
}

static double find_imbalance(const settling *s)
{
    double sum = 0.0, most = 0.0;

    for (int p = 0; p < s->nparts; p++) {
        sum += s->total[p] * app_speed_of(s->speeds, p);
        most = fmax(most, s->total[p]);
    }
    return sum > 0.0 ? most * s->nparts / sum - 1.0 : 0.0;
}

/* Seconds of work into seconds of the parts that do it. */
static void take_speeds(const settling *s)
{
    for (int p = 0; p < s->nparts; p++) {
        s->total[p] /= app_speed_of(s->speeds, p);
    }
}

/* What a part has beside its items, more or less than others, is theirs: it depends on where they lie, and parts move
 * when shares change. What all have alike stays out of it, as it does not go with the items. */
static void find_factors(settling *s)
{
    double mean = 0.0;

    for (int p = 0; p < s->nparts; p++) {
        const double known = s->given[p] + (s->base != NULL ? s->base[p] : 0.0);
        s->factor[p] = s->total[p] - known / app_speed_of(s->speeds, p);
        mean += s->factor[p] / s->nparts;
    }
    for (int p = 0; p < s->nparts; p++) {
        const double own = s->given[p] / app_speed_of(s->speeds, p);
        const double more = own > 0.0 ? (s->factor[p] - mean) / own : 0.0;
        s->factor[p] = fmin(fmax(1.0 + more, LEAST_FACTOR), MOST_FACTOR);
    }
}

/* The next map. pass: from 0 up. */
static int make_again(settling *s, int pass, app_trial *next, app_rebalanced *rebalanced)
{
    int code;

    EQP_TRY(app_newmap_given(s->newmap, s->given));
    find_factors(s);
    app_newmap_reweigh(s->newmap, s->factor, pass == 0 ? 1.0 : LATER_SHARE);
    EQP_TRY(app_newmap_assign(s->newmap, s->base, s->message));
    EQP_TRY(app_newmap_take(s->newmap, NULL, s->state->nhome, &next->map, &next->verdicts, rebalanced));
done:
    return code;
}

/* The better of two maps becomes the trial's. */
static void replace(app_trial *trial, app_trial *next, app_rebalanced *rebalanced, const app_rebalanced *made)
{
    app_trials_free(1, trial);
    trial->map = next->map;
    trial->verdicts = next->verdicts;
    app_map_init(&next->map);
    next->verdicts = NULL;
    *rebalanced = *made;
}

int app_whatif_settle_loads(const app_whatif_state *state, app_newmap *newmap, const double *base, double imbalance_tol,
                            app_trial *trial, app_rebalanced *rebalanced, eqp_message *message)
{
    settling s = {.state = state, .newmap = newmap, .base = base, .message = message, .nparts = trial->nparts};
    double least = 0.0;
    int in_vain = 0, code;

    s.speeds = state->what->speeds;
    if (rebalanced->split_owners == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    code = open_settling(&s);
    if (code == EQP_OK) {
        code = app_whatif_loads(state, trial, s.total);
        take_speeds(&s);
        least = find_imbalance(&s);
    }
    for (int pass = 0; pass < LOAD_PASSES && in_vain < MOST_IN_VAIN && code == EQP_OK && least > imbalance_tol;
         pass++) {
        app_trial next = {.nparts = trial->nparts};
        app_rebalanced made;
        code = make_again(&s, pass, &next, &made);
        if (code == EQP_OK) {
            code = app_whatif_loads(state, &next, s.total);
            take_speeds(&s);
        }
        in_vain++;
        if (code == EQP_OK && find_imbalance(&s) < least) {
            in_vain = 0;
            least = find_imbalance(&s);
            replace(trial, &next, rebalanced, &made);
        }
        app_trials_free(1, &next);
    }
    rebalanced->result.imbalance = least;
    free(s.total);
    return code;
}

/* Rank 0 alone: what the map comes to by the plan, and every part's seconds of the step. */
static int read_evaluation(const settling *s, eqp_evaluation *evaluation, const eqp_network *network,
                           eqp_evaluated *result, bool any_plan)
{
    const eqp_traffic exchange = {.seconds = s->total};
    int code;

    memset(s->total, 0, (size_t)s->nparts * sizeof *s->total);
    EQP_TRY(any_plan ? app_whatif_evaluate(s->state, evaluation, network, result) : EQP_OK);
    const eqp_exchange_plan plan = result->plan;
    EQP_TRY(eqp_evaluation_by_plan(evaluation, network, &plan, &exchange, result));
    for (int p = 0; p < s->nparts; p++) {
        s->total[p] += eqp_evaluation_loads(evaluation)[p] / app_speed_of(s->speeds, p);
    }
done:
    return code;
}

/* Traces a map and tells all ranks; the evaluation stays on rank 0. result->plan: by which, unless any_plan. */
static int measure(const settling *s, const app_trial *trial, const eqp_network *network, bool any_plan,
                   eqp_evaluation **evaluation, eqp_evaluated *result)
{
    const MPI_Comm comm = s->state->comm;
    int code = app_whatif_trace(s->state, trial, 0, evaluation);

    if (code != EQP_OK) {
        return code;
    }
    if (s->state->rank == 0) {
        code = read_evaluation(s, *evaluation, network, result, any_plan);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK && (MPI_Bcast(result, (int)sizeof *result, MPI_BYTE, 0, comm) != MPI_SUCCESS ||
                           MPI_Bcast(s->total, s->nparts, MPI_DOUBLE, 0, comm) != MPI_SUCCESS)) {
        code = EQP_ERR_MPI;
    }
    return code;
}

/* With the plan that is the cheapest for the map that has won. */
static int conclude(const settling *s, eqp_evaluation *evaluation, const eqp_network *network, eqp_evaluated *result)
{
    int code = s->state->rank == 0 ? app_whatif_evaluate(s->state, evaluation, network, result) : EQP_OK;

    code = eqp_agree(s->state->comm, code, NULL);
    if (code == EQP_OK && MPI_Bcast(result, (int)sizeof *result, MPI_BYTE, 0, s->state->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return code;
}

/* The best map so far, of which rank 0 has the evaluation. */
typedef struct favourite {
    app_trial *trial;
    app_rebalanced *rebalanced;
    eqp_evaluation *evaluation;
    bool changed; /* since it was first evaluated */
    int in_vain;  /* maps in a row that were no better */
} favourite;

/* Measures a map, and keeps it if its step is shorter. */
static int compete(const settling *s, const eqp_network *network, app_trial *next, const app_rebalanced *made,
                   favourite *best)
{
    eqp_evaluated *shortest = &best->trial->row.evaluated;
    eqp_evaluation *evaluation = NULL;
    int code;

    next->row.evaluated = *shortest;
    best->in_vain++;
    code = measure(s, next, network, false, &evaluation, &next->row.evaluated);
    if (code == EQP_OK && next->row.evaluated.step_seconds < shortest->step_seconds) {
        eqp_evaluation *longer = best->evaluation;
        *shortest = next->row.evaluated;
        best->evaluation = evaluation;
        evaluation = longer;
        best->changed = true;
        best->in_vain = 0;
        replace(best->trial, next, best->rebalanced, made);
    }
    eqp_evaluation_free(evaluation);
    return code;
}

/* Another map of items weighed anew; then the same parts with shared owners where there is least to do. */
static int compete_twice(settling *s, const eqp_network *network, int pass, favourite *best)
{
    app_trial next = {.nparts = s->nparts}, moved = {.nparts = s->nparts};
    app_rebalanced made;
    int code;

    EQP_TRY(make_again(s, pass, &next, &made));
    EQP_TRY(compete(s, network, &next, &made, best));
    if (made.split_owners > 0) {
        EQP_TRY(app_newmap_take(s->newmap, s->total, s->state->nhome, &moved.map, &moved.verdicts, &made));
        EQP_TRY(compete(s, network, &moved, &made, best));
    }
done:
    app_trials_free(1, &next);
    app_trials_free(1, &moved);
    return code;
}

int app_whatif_settle_step(const app_whatif_state *state, app_newmap *newmap, const double *base,
                           const eqp_network *network, app_trial *trial, app_rebalanced *rebalanced,
                           eqp_message *message)
{
    settling s = {.state = state, .newmap = newmap, .base = base, .message = message, .nparts = trial->nparts};
    favourite best = {.trial = trial, .rebalanced = rebalanced};
    int code;

    s.speeds = state->what->speeds;
    EQP_TRY(open_settling(&s));
    EQP_TRY(measure(&s, trial, network, true, &best.evaluation, &trial->row.evaluated));
    for (int pass = 0; pass < STEP_PASSES && best.in_vain <= MOST_IN_VAIN; pass++) {
        EQP_TRY(compete_twice(&s, network, pass, &best));
    }
    if (best.changed) {
        EQP_TRY(conclude(&s, best.evaluation, network, &trial->row.evaluated));
    }
done:
    rebalanced->result.imbalance = trial->row.evaluated.imbalance;
    eqp_evaluation_free(best.evaluation);
    free(s.total);
    return code;
}
