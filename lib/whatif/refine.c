/* SPDX-License-Identifier: BSD-3-Clause */
/* What a part does beside its items depends on the items: who shares an owner does some of its work again, who needs
 * more waits longer. So a map is made, traced, and made again with what each part turned out to have beside. */
#include "whatif/whatif.h"

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
typedef struct refining {
    eqp_whatif_state *state;
    eqp_draft *draft;
    eqp_message *message;
    int nparts;
    const double *base; /* [nparts] or NULL */
    eqp_part_speeds speeds;
    double *total;  /* seconds of each part with the last map: of its work at its speed, and beside */
    double *given;  /* of its items */
    double *factor; /* of the seconds that the items of each part are to weigh */
} refining;

static int open_refining(refining *s)
{
    int code;

    EQP_TRY(eqp_array_create(&s->total, 3 * (int64_t)s->nparts, sizeof *s->total));
    s->given = s->total + s->nparts;
    s->factor = s->given + s->nparts;
done:
    return eqp_agree(s->state->comm, code, NULL);
}

static double find_imbalance(const refining *s)
{
    double sum = 0.0, most = 0.0;

    for (int p = 0; p < s->nparts; p++) {
        sum += s->total[p] * eqp_part_speed(s->speeds, p);
        most = fmax(most, s->total[p]);
    }
    return sum > 0.0 ? most * s->nparts / sum - 1.0 : 0.0;
}

/* Seconds of work into seconds of the parts that do it. */
static void take_speeds(const refining *s)
{
    for (int p = 0; p < s->nparts; p++) {
        s->total[p] /= eqp_part_speed(s->speeds, p);
    }
}

/* A part has more or less to do beside its items than others. Its items are weighed heavier or lighter for that, as it
 * follows from where they lie and changes when the shares do. What all parts have alike does not count. */
static void find_factors(refining *s)
{
    double mean = 0.0;

    for (int p = 0; p < s->nparts; p++) {
        const double known = s->given[p] + (s->base != NULL ? s->base[p] : 0.0);
        s->factor[p] = s->total[p] - known / eqp_part_speed(s->speeds, p);
        mean += s->factor[p] / s->nparts;
    }
    for (int p = 0; p < s->nparts; p++) {
        const double own = s->given[p] / eqp_part_speed(s->speeds, p);
        const double more = own > 0.0 ? (s->factor[p] - mean) / own : 0.0;
        s->factor[p] = fmin(fmax(1.0 + more, LEAST_FACTOR), MOST_FACTOR);
    }
}

/* The next map. pass: from 0 up. */
static int make_again(refining *s, int pass, eqp_trial *next, eqp_map_made *summary)
{
    int code;

    EQP_TRY(eqp__draft_given(s->draft, s->given));
    find_factors(s);
    EQP_TRY(eqp__draft_reweigh(s->draft, s->factor, pass == 0 ? 1.0 : LATER_SHARE));
    EQP_TRY(eqp__draft_assign(s->draft, s->base, s->message));
    EQP_TRY(eqp__draft_take(s->draft, NULL, s->state->what->nhome, &next->map, &next->placements, summary));
done:
    return code;
}

/* The better of two maps becomes the trial's. */
static void replace(eqp_trial *trial, eqp_trial *next, eqp_map_made *summary, const eqp_map_made *made)
{
    eqp__trials_free(1, trial);
    trial->map = next->map;
    trial->placements = next->placements;
    next->map = NULL;
    next->placements = NULL;
    *summary = *made;
}

int eqp__refine_loads(eqp_whatif_state *state, eqp_draft *draft, const double *base, double imbalance_tol,
                      eqp_trial *trial, eqp_map_made *summary, eqp_message *message)
{
    refining s = {.state = state, .draft = draft, .base = base, .message = message, .nparts = trial->nparts};
    double least = 0.0;
    int in_vain = 0, code;

    s.speeds = state->what->speeds;
    if (summary->split_owners == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    code = open_refining(&s);
    if (code == EQP_OK) {
        code = eqp__whatif_loads(state, trial, s.total);
        take_speeds(&s);
        least = find_imbalance(&s);
    }
    for (int pass = 0; pass < LOAD_PASSES && in_vain < MOST_IN_VAIN && code == EQP_OK && least > imbalance_tol;
         pass++) {
        eqp_trial next = {.nparts = trial->nparts};
        eqp_map_made made;
        code = make_again(&s, pass, &next, &made);
        if (code == EQP_OK) {
            code = eqp__whatif_loads(state, &next, s.total);
            take_speeds(&s);
        }
        in_vain++;
        if (code == EQP_OK && find_imbalance(&s) < least) {
            in_vain = 0;
            least = find_imbalance(&s);
            replace(trial, &next, summary, &made);
        }
        eqp__trials_free(1, &next);
    }
    summary->result.imbalance = least;
    free(s.total);
    return code;
}

/* Rank 0 alone: what the map comes to by the plan, and every part's seconds of the step. */
static int read_evaluation(const refining *s, eqp_evaluation *evaluation, const eqp_network *network,
                           eqp_evaluated *result, bool any_plan)
{
    const eqp_traffic exchange = {.seconds = s->total};
    int code;

    memset(s->total, 0, (size_t)s->nparts * sizeof *s->total);
    EQP_TRY(any_plan ? eqp__whatif_evaluate(s->state, evaluation, network, result) : EQP_OK);
    const eqp_exchange_plan plan = result->plan;
    EQP_TRY(eqp_evaluation_by_plan(evaluation, network, &plan, &exchange, result));
    for (int p = 0; p < s->nparts; p++) {
        s->total[p] += eqp_evaluation_loads(evaluation)[p] / eqp_part_speed(s->speeds, p);
    }
done:
    return code;
}

/* Traces a map and tells all ranks; the evaluation stays on rank 0. result->plan: by which, unless any_plan. */
static int measure(const refining *s, const eqp_trial *trial, const eqp_network *network, bool any_plan,
                   eqp_evaluation **evaluation, eqp_evaluated *result)
{
    const MPI_Comm comm = s->state->comm;
    int code = eqp__whatif_trace(s->state, trial, 0, evaluation);

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
static int conclude(const refining *s, eqp_evaluation *evaluation, const eqp_network *network, eqp_evaluated *result)
{
    int code = s->state->rank == 0 ? eqp__whatif_evaluate(s->state, evaluation, network, result) : EQP_OK;

    code = eqp_agree(s->state->comm, code, NULL);
    if (code == EQP_OK && MPI_Bcast(result, (int)sizeof *result, MPI_BYTE, 0, s->state->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return code;
}

/* The best map so far, of which rank 0 has the evaluation. */
typedef struct favourite {
    eqp_trial *trial;
    eqp_map_made *summary;
    eqp_evaluation *evaluation;
    bool changed; /* since it was first evaluated */
    int in_vain;  /* maps in a row that were no better */
} favourite;

/* Measures a map, and keeps it if its step is shorter. */
static int compete(const refining *s, const eqp_network *network, eqp_trial *next, const eqp_map_made *made,
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
        replace(best->trial, next, best->summary, made);
    }
    eqp_evaluation_free(evaluation);
    return code;
}

/* Another map of items weighed anew; then the same parts with shared owners where there is least to do. */
static int compete_twice(refining *s, const eqp_network *network, int pass, favourite *best)
{
    eqp_trial next = {.nparts = s->nparts}, moved = {.nparts = s->nparts};
    eqp_map_made made;
    int code;

    EQP_TRY(make_again(s, pass, &next, &made));
    EQP_TRY(compete(s, network, &next, &made, best));
    if (made.split_owners > 0) {
        EQP_TRY(eqp__draft_take(s->draft, s->total, s->state->what->nhome, &moved.map, &moved.placements, &made));
        EQP_TRY(compete(s, network, &moved, &made, best));
    }
done:
    eqp__trials_free(1, &next);
    eqp__trials_free(1, &moved);
    return code;
}

int eqp__refine_step(eqp_whatif_state *state, eqp_draft *draft, const double *base, const eqp_network *network,
                     eqp_trial *trial, eqp_map_made *summary, eqp_message *message)
{
    refining s = {.state = state, .draft = draft, .base = base, .message = message, .nparts = trial->nparts};
    favourite best = {.trial = trial, .summary = summary};
    int code;

    s.speeds = state->what->speeds;
    EQP_TRY(open_refining(&s));
    EQP_TRY(measure(&s, trial, network, true, &best.evaluation, &trial->row.evaluated));
    for (int pass = 0; pass < STEP_PASSES && best.in_vain <= MOST_IN_VAIN; pass++) {
        EQP_TRY(compete_twice(&s, network, pass, &best));
    }
    if (best.changed) {
        EQP_TRY(conclude(&s, best.evaluation, network, &trial->row.evaluated));
    }
done:
    summary->result.imbalance = trial->row.evaluated.imbalance;
    eqp_evaluation_free(best.evaluation);
    free(s.total);
    return code;
}
