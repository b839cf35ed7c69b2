/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include "compare.h"

#include <equipoise/more/base.h>
#include <equipoise/more/whatif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest and mean load of a phase. part: [n]; NULL: the recorded ranks. load: [nparts] zeros, before and after;
 * O(items), however many parts there are. */
static void load_of(const rf_trace *t, int64_t phase, int nparts, const int *part, double *load, double *most,
                    double *mean)
{
    const double *of = rf_trace_load(t, phase);
    double sum = 0.0;

    *most = 0.0;
    for (int pass = 0; pass < 3; pass++) {
        for (int64_t i = 0; i < t->n; i++) {
            const bool fixed = t->fixed != NULL && t->fixed[i];
            const int p = fixed          ? rf_problem_fixed_part(t, phase, i, nparts)
                          : part != NULL ? part[i]
                                         : rf_trace_rank(t, phase)[i];
            load[p] = pass == 0 ? load[p] + of[i] : pass == 1 ? load[p] : 0.0;
            *most = fmax(*most, load[p]);
            sum += pass == 0 ? of[i] : 0.0;
        }
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
        moved += part[i] != rf_trace_rank(t, at)[i];
    }
    return moved;
}

static int judge(const rf_problem *problem, int nparts, const int *part, rf_later *later)
{
    const rf_trace *t = problem->trace;
    APP_FREED double *load = NULL;
    double most = 0.0, mean = 0.0;

    *later = (rf_later){.moved = count_moved(t, problem->at, nparts, part)};
    EQP_CHECK(eqp_array_create(&load, nparts, sizeof *load));
    for (int64_t p = problem->at + problem->ncycle; p < t->nphases; p++) {
        if (p == problem->at + problem->ncycle || t->row[p] != t->row[p - 1]) { /* else as in the previous phase */
            load_of(t, p, nparts, part, load, &most, &mean);
        }
        const double imbalance = mean > 0 ? fmax(most / mean - 1.0, 0.0) : 0.0;
        later->mean += imbalance / (double)(t->nphases - problem->at - problem->ncycle);
        later->most = fmax(later->most, imbalance);
        later->seconds += most;
    }
    return EQP_OK;
}

int rf_judge_map(const rf_problem *problem, int nparts, rf_judged *judged)
{
    int64_t room = judged->room, part_room = judged->room;

    if (judged->n == judged->room) {
        EQP_CHECK(eqp_array_reserve(&judged->later, &room, judged->n + 1, sizeof *judged->later));
        EQP_CHECK(eqp_array_reserve(&judged->part, &part_room, judged->n + 1, sizeof *judged->part));
        judged->room = (int)(room < part_room ? room : part_room);
    }
    judged->part[judged->n] = NULL;
    EQP_CHECK(judge(problem, nparts, problem->part, &judged->later[judged->n]));
    if (judged->keep) {
        int **kept = &judged->part[judged->n];
        EQP_CHECK(eqp_array_create(kept, problem->trace->n, sizeof **kept));
        memcpy(*kept, problem->part, (size_t)problem->trace->n * sizeof **kept);
    }
    judged->n++;
    return EQP_OK;
}

/* Evaluates the map made for phase `at` in one turn of each phase of the cycle that judges maps. */
static int evaluate(rf_problem *p, const eqp_network *network, const eqp_exchange_plan *plan, eqp_compared *row)
{
    static const int out[1] = {0}, ghosts[1] = {1};
    eqp_evaluation *evaluation[EQP_CYCLE_PHASES] = {NULL};
    int code = EQP_OK;

    row->phases = rf_problem_cycle(p);
    for (int k = 0; k < p->ncycle; k++) {
        (void)rf_problem_turn(p, k);
        EQP_TRY(eqp_evaluation_create(p->trace->nranks, 1, out, ghosts, &evaluation[k]));
        EQP_TRY(rf_problem_cap(p, p->trace->nranks, evaluation[k]));
        EQP_TRY(rf_problem_tell(p, p->trace->nranks, 0, 1, false, evaluation[k]));
    }
    EQP_TRY(eqp_evaluation_cycle(p->ncycle, row->phases.times, evaluation, network, plan, row->phase, &row->evaluated));
    row->cycle = (eqp_cycle){.efficiency = 1.0 / (1.0 + row->evaluated.imbalance)};
    for (int k = 0; k < p->ncycle; k++) {
        row->cycle.imbalance[k] = row->phase[k].imbalance;
        row->cycle.worst_phase = row->phase[k].imbalance > row->cycle.worst ? k : row->cycle.worst_phase;
        row->cycle.worst = fmax(row->cycle.worst, row->phase[k].imbalance);
    }
done:
    for (int k = 0; k < p->ncycle; k++) {
        eqp_evaluation_free(evaluation[k]);
    }
    return code;
}

int rf_judge_run(rf_problem *problem, const eqp_network *network, const eqp_exchange_plan *plan, rf_judged *judged)
{
    const rf_trace *t = problem->trace;
    const eqp_problem functions = rf_problem_functions(problem);
    eqp_compared next = {.method = NULL};

    judged->run = (eqp_compared){.method = APP_COMPARE_AS_RUN,
                                 .parts = t->nranks,
                                 .units = problem->nmoving,
                                 .imbalance_next = NAN,
                                 .step_next = NAN};
    for (int64_t i = 0; i < t->n; i++) {
        problem->part[i] = rf_trace_rank(t, problem->at)[i];
    }
    problem->begin = problem->at;
    EQP_CHECK(evaluate(problem, network, plan, &judged->run));
    if (functions.advance != NULL) {
        EQP_CHECK(functions.advance(problem, NULL));
        EQP_CHECK(evaluate(problem, network, plan, &next));
        judged->run.imbalance_next = next.evaluated.imbalance;
        judged->run.step_next = next.evaluated.step_seconds;
    }
    rf_problem_unscale(problem, &judged->run);
    return judge(problem, t->nranks, NULL, &judged->run_later);
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
