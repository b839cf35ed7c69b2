/* SPDX-License-Identifier: BSD-3-Clause */
#include "judge.h"

#include "run_compare_report.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest and mean load of a phase. part: [n], or NULL: whoever had the items. */
static void load_of(const rf_trace *t, int64_t phase, int nparts, const int *part, double *load, double *most,
                    double *mean)
{
    double sum = 0.0;

    memset(load, 0, (size_t)nparts * sizeof *load);
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t cell = phase * t->n + i;
        const bool fixed = t->fixed != NULL && t->fixed[i];
        const int p = fixed ? rf_problem_fixed_part(t, phase, i, nparts) : part != NULL ? part[i] : t->rank[cell];
        load[p] += t->load[cell];
    }
    *most = 0.0;
    for (int p = 0; p < nparts; p++) {
        *most = fmax(*most, load[p]);
        sum += load[p];
    }
    *mean = sum / nparts;
}

static int64_t count_moved(const rf_trace *t, int64_t at, int nparts, const int *part)
{
    int64_t moved = 0;

    if (part == NULL) {
        return 0;
    }
    if (t->rank == NULL || nparts != t->nranks) {
        return -1;
    }
    for (int64_t i = 0; i < t->n; i++) {
        moved += part[i] != t->rank[at * t->n + i];
    }
    return moved;
}

static int judge(const rf_problem *problem, int nparts, const int *part, rf_later *later)
{
    const rf_trace *t = problem->trace;
    double *load = NULL, most, mean;
    int code;

    *later = (rf_later){.moved = count_moved(t, problem->at, nparts, part)};
    EQP_TRY(eqp_array_create(&load, nparts, sizeof *load));
    for (int64_t p = problem->at + 1; p < t->nphases; p++) {
        load_of(t, p, nparts, part, load, &most, &mean);
        const double imbalance = mean > 0 ? fmax(most / mean - 1.0, 0.0) : 0.0;
        later->mean += imbalance / (double)(t->nphases - problem->at - 1);
        later->most = fmax(later->most, imbalance);
        later->seconds += most;
    }
done:
    free(load);
    return code;
}

static int keep_map(const rf_problem *problem, int **kept)
{
    int code;

    EQP_TRY(eqp_array_create(kept, problem->trace->n, sizeof **kept));
    memcpy(*kept, problem->part, (size_t)problem->trace->n * sizeof **kept);
done:
    return code;
}

int rf_judge_map(const rf_problem *problem, int nparts, rf_judged *judged)
{
    int64_t room = judged->room, part_room = judged->room;
    int code;

    if (judged->n == judged->room) {
        EQP_TRY(eqp_array_reserve(&judged->later, &room, judged->n + 1, sizeof *judged->later));
        EQP_TRY(eqp_array_reserve(&judged->part, &part_room, judged->n + 1, sizeof *judged->part));
        judged->room = (int)(room < part_room ? room : part_room);
    }
    judged->part[judged->n] = NULL;
    EQP_TRY(judge(problem, nparts, problem->part, &judged->later[judged->n]));
    EQP_TRY(judged->keep ? keep_map(problem, &judged->part[judged->n]) : EQP_OK);
    judged->n++;
done:
    return code;
}

/* The map of the phase `at`, in the phase `now`. */
static int evaluate(const rf_problem *p, const eqp_network *network, const eqp_exchange_plan *plan,
                    eqp_evaluated *result)
{
    static const int out[1] = {0}, ghosts[1] = {1};
    eqp_evaluation *evaluation = NULL;
    int code;

    EQP_TRY(eqp_evaluation_create(p->trace->nranks, 1, out, ghosts, &evaluation));
    EQP_TRY(rf_problem_tell(p, 0, 1, false, evaluation));
    EQP_TRY(plan == NULL ? eqp_evaluation_best(evaluation, network, result)
                         : eqp_evaluation_by_plan(evaluation, network, plan, NULL, result));
done:
    eqp_evaluation_free(evaluation);
    return code;
}

int rf_judge_run(rf_problem *problem, const eqp_network *network, const eqp_exchange_plan *plan, rf_judged *judged)
{
    const rf_trace *t = problem->trace;
    const eqp_problem functions = rf_problem_functions(problem);
    eqp_evaluated next;
    int code;

    judged->run = (eqp_compared){.method = APP_COMPARE_AS_RUN,
                                 .parts = t->nranks,
                                 .units = problem->nmoving,
                                 .imbalance_next = NAN,
                                 .step_next = NAN};
    for (int64_t i = 0; i < t->n; i++) {
        problem->part[i] = t->rank[problem->at * t->n + i];
    }
    problem->now = problem->at;
    EQP_TRY(evaluate(problem, network, plan, &judged->run.evaluated));
    if (functions.advance != NULL) {
        EQP_TRY(functions.advance(problem, NULL));
        EQP_TRY(evaluate(problem, network, plan, &next));
        judged->run.imbalance_next = next.imbalance;
        judged->run.step_next = next.step_seconds;
    }
    rf_problem_unscale(problem, &judged->run);
    EQP_TRY(judge(problem, t->nranks, NULL, &judged->run_later));
done:
    return code;
}

void rf_judged_free(rf_judged *judged)
{
    for (int i = 0; i < judged->n && judged->part != NULL; i++) {
        free(judged->part[i]);
    }
    free(judged->part);
    free(judged->later);
    *judged = (rf_judged){.n = 0};
}
