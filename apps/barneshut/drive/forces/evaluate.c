/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* Neighbouring groups per sample of costs. */
#define SAMPLE_RUN 16

int bh_evaluator_create(const bh_mac *mac, double eps, const char *kernel, bh_precision precision,
                        bh_evaluator *evaluator)
{
    bh_kernel *made = NULL;

    EQP_CHECK(bh_kernel_create(kernel, precision, &made));
    *evaluator = (bh_evaluator){.mac = *mac, .eps = eps, .kernel = made, .plan = EQP_EXCHANGE_PLAN_DEFAULTS};
    return EQP_OK;
}

void bh_evaluator_free(bh_evaluator *evaluator)
{
    bh_kernel_free(evaluator->kernel);
    evaluator->kernel = NULL;
}

/* Lists and forces of all tasks; tasks that wait for nothing overlap with the exchange of essential trees. */
static int compute_all(bh_force_loop *p, bh_domain *domain, int code, bh_traffic *traffic)
{
    bh_fetch fetch;

    code = bh_essential_start(&fetch, &domain->tree, &domain->messengers, &p->evaluator->plan, p->tasks,
                              &p->evaluator->mac, p->map, code, traffic);
    if (code == EQP_OK) {
        p->fetch = &fetch;
        code = bh_force_loop_run(p, 0, p->tasks->n, BH_READY_TASKS);
        p->fetch = NULL;
        p->early = p->counts;
    }
    code = bh_essential_finish(&fetch, code, traffic);
    return code == EQP_OK ? bh_force_loop_run(p, 0, p->tasks->n, BH_WAITING_TASKS) : code;
}

/* The same, with tasks handed out to idle ranks once all essential trees have arrived. */
static int hand_out_all(bh_force_loop *p, bh_domain *domain, int code, bh_traffic *traffic, bh_evaluated *result)
{
    code = code == EQP_OK && p->survey != NULL ? EQP_ERR_ARGUMENT : code;
    EQP_TRY(bh_essential_fetch(&domain->tree, &domain->messengers, &p->evaluator->plan, p->tasks, &p->evaluator->mac,
                               p->map, code, traffic));
    EQP_TRY(bh_stealing_run(p->evaluator->stealing, domain->comm, p, &domain->tree, traffic, &result->handed));
done:
    return code;
}

static void take_results(const bh_force_loop *p, const bh_traffic *traffic, bh_evaluated *result)
{
    result->counts = p->counts;
    result->early = p->early;
    result->targets = p->targets;
    result->seconds = p->seconds;
    result->ghosts = traffic->cells + traffic->particles;
    memcpy(result->phase, traffic->phase, sizeof result->phase);
}

int bh_evaluate(bh_evaluator *evaluator, bh_domain *domain, const eqp_map *map, eqp_survey *survey, int phase, int code,
                bh_evaluated *result)
{
    bh_targets targets = {.particles.rungs = domain->particles.rungs};
    bh_tasks tasks = {0};
    bh_traffic traffic = {.cells = 0};
    bh_force_loop p = {.evaluator = evaluator,
                       .tree = &domain->tree,
                       .map = map,
                       .rank = domain->rank,
                       .tasks = &tasks,
                       .survey = survey,
                       .forces = true,
                       .timings = evaluator->timings};
    const double self = bh_potential_self(evaluator->mac.G, 1.0, evaluator->eps);
    double begin = eqp_cpu_seconds();

    memset(result, 0, sizeof *result);
    code = code == EQP_OK ? bh_targets_find(&targets, domain, phase) : code;
    code = bh_tasks_send(&tasks, &domain->messengers, &evaluator->plan, &targets.particles, targets.ngroups,
                         targets.group, targets.tag, domain->away, map, phase, code, &traffic.phase[BH_PHASE_TASKS]);
    code = bh_tasks_expect(&tasks, &evaluator->plan, code);
    code = evaluator->stealing != NULL ? hand_out_all(&p, domain, code, &traffic, result)
                                       : compute_all(&p, domain, code, &traffic);
    EQP_TRY(bh_tasks_return(&tasks, &targets.particles, code, &traffic.phase[BH_PHASE_FORCES]));
    bh_targets_bring_forces(&targets, self, &domain->particles);
    take_results(&p, &traffic, result);
done:
    bh_force_loop_free(&p);
    bh_tasks_free(&tasks);
    bh_targets_free(&targets);
    result->all_seconds = eqp_cpu_seconds_since(begin);
    return code;
}

int bh_evaluate_survey(bh_evaluator *evaluator, const bh_tree *tree, const eqp_map *map, int rank, bh_tasks *tasks,
                       eqp_survey *survey)
{
    bh_force_loop p = {
        .evaluator = evaluator, .tree = tree, .map = map, .rank = rank, .tasks = tasks, .survey = survey};
    int code = EQP_OK;

    for (int64_t w = 0; w < tasks->n && code == EQP_OK; w++) {
        code = bh_force_loop_task(&p, w);
    }
    bh_force_loop_free(&p);
    return code;
}

int bh_evaluate_sample(bh_evaluator *evaluator, const bh_tree *tree, const eqp_map *map, int rank, bh_tasks *tasks,
                       int64_t runs, eqp_timings *timings)
{
    bh_force_loop p = {.evaluator = evaluator,
                       .tree = tree,
                       .map = map,
                       .rank = rank,
                       .tasks = tasks,
                       .forces = true,
                       .timings = timings};
    int64_t distance = tasks->n / runs > SAMPLE_RUN ? tasks->n / runs : SAMPLE_RUN, largest = 0;
    int code;

    for (int64_t w = 0; w < tasks->n; w++) {
        largest = tasks->task[w].group.count > largest ? tasks->task[w].group.count : largest;
    }
    code = eqp_array_create(&p.scratch, 4 * largest, sizeof *p.scratch);
    for (int64_t first = 0; first < tasks->n && code == EQP_OK; first += distance) {
        int64_t last = first + SAMPLE_RUN < tasks->n ? first + SAMPLE_RUN : tasks->n;
        code = bh_force_loop_run(&p, first, last, BH_ALL_TASKS);
    }
    bh_force_loop_free(&p);
    free(p.scratch);
    return code;
}
