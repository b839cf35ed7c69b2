/* SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>

/* Costs are sampled on so many runs of groups of a rank before the first forces are known. */
#define COST_SAMPLE_RUNS 32

int bh_rebalance_learn(bh_domain *domain, bh_evaluator *evaluator, const app_map *map, bh_works *works,
                       app_costs *costs)
{
    app_timings timings = {0};
    int code;

    if (costs->known) {
        return EQP_OK;
    }
    code = bh_evaluate_sample(evaluator, &domain->tree, map, domain->rank, works, COST_SAMPLE_RUNS, &timings);
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = app_costs_fit(costs, domain->comm, &timings);
    }
    app_timings_free(&timings);
    return code;
}

static int survey_groups(const bh_domain *domain, bh_survey *survey)
{
    int code = EQP_OK;

    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        code = bh_survey_add_group(survey, &domain->group[g], domain->tag[g], domain->rank, g);
    }
    return eqp_agree(domain->comm, code, NULL);
}

/* Weights are known only when all lists have been walked; which groups keep their tiles depends on the weights. So the
 * lists are walked twice where units are wanted. */
static int survey_twice(bh_domain *domain, bh_evaluator *evaluator, const app_rebalance_options *options,
                        const app_map *map, const app_costs *costs, bh_works *works, bh_survey *survey)
{
    const app_survey_detail rough = {.heavy = INFINITY, .pin_below = 0};
    const app_work_model model = app_work_model_measured(&bh_work_model, costs);
    eqp_units_totals totals;
    int code;

    app_survey_clear(&survey->owners, &rough);
    code = bh_evaluate_survey(evaluator, &domain->tree, map, domain->rank, works, survey);
    code = eqp_agree(domain->comm, code, NULL);
    if (code != EQP_OK || !(options->method->flags & EQP_NEEDS_UNITS)) {
        return code;
    }
    code = app_survey_totals(domain->comm, &survey->owners, &model, &totals);
    if (code == EQP_OK) {
        app_survey_detail detail = app_rebalance_detail(options, domain->nranks, &totals);
        detail.cost = model.nominal;
        app_survey_clear(&survey->owners, &detail);
        code = bh_evaluate_survey(evaluator, &domain->tree, map, domain->rank, works, survey);
        code = eqp_agree(domain->comm, code, NULL);
    }
    return code;
}

int bh_rebalance_survey(bh_domain *domain, bh_evaluator *evaluator, const app_rebalance_options *options,
                        const app_map *map, app_costs *costs, bh_survey *survey, int64_t *bytes)
{
    bh_traffic traffic = {.cells = 0};
    bh_works works;
    int code;

    if (!app_method_weighs(options->method)) {
        const app_survey_detail nothing = {.heavy = INFINITY, .pin_below = 0};
        app_survey_clear(&survey->owners, &nothing);
        return survey_groups(domain, survey);
    }
    bh_works_init(&works);
    EQP_TRY(bh_works_send(&works, domain->comm, &evaluator->plan, &domain->particles, domain->ngroups, domain->group,
                          domain->tag, map, &traffic.phase[BH_PHASE_WORKS]));
    EQP_TRY(bh_essential_fetch(&domain->tree, domain->comm, &evaluator->plan, &works, &evaluator->mac, map, &traffic));
    EQP_TRY(bh_rebalance_learn(domain, evaluator, map, &works, costs));
    EQP_TRY(survey_twice(domain, evaluator, options, map, costs, &works, survey));
done:
    *bytes += bh_phases_bytes(traffic.phase);
    bh_works_free(&works);
    return code;
}

int bh_rebalance_apply(bh_domain *domain, const app_verdict *verdict)
{
    int *rank_of_group = NULL;
    int code;

    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&rank_of_group, domain->ngroups, sizeof *rank_of_group), NULL));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        rank_of_group[g] = verdict[g].home;
    }
    EQP_TRY(bh_domain_rehome(domain, rank_of_group));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            domain->particles.tag[i] = verdict[g].tag;
        }
    }
done:
    free(rank_of_group);
    return code;
}

int bh_rebalance(bh_domain *domain, const bh_survey *survey, const app_rebalance_options *options, bool has_map,
                 app_map *map, const app_costs *costs, app_rebalanced *rebalanced, int64_t *bytes, eqp_message *message)
{
    const app_work_model model = app_work_model_measured(&bh_work_model, costs);
    app_owners owners = {.n = 0};
    app_verdict *verdict = NULL;
    app_map made;
    uint64_t *key = NULL;
    int code;

    app_map_init(&made);
    *rebalanced = (app_rebalanced){.units = 0};
    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&key, domain->ngroups, sizeof *key), NULL));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        key[g] = domain->group[g].key;
    }
    EQP_TRY(app_owners_line_up(domain->comm, &survey->owners, &model, costs, domain->ngroups, key, &owners, bytes));
    EQP_TRY(app_newmap_make(domain->comm, options, &owners, has_map ? map : NULL, domain->ngroups, &made, &verdict,
                            rebalanced, message));
    EQP_TRY(bh_rebalance_apply(domain, verdict));
done:
    if (code == EQP_OK) {
        app_map_free(map);
        *map = made;
    } else {
        app_map_free(&made);
    }
    free(verdict);
    app_owners_free(&owners);
    free(key);
    return code;
}
