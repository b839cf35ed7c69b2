/* SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int dd_rebalance_apply(dd_domain *domain, const app_verdict *verdict, int64_t *migrated)
{
    int *dest = NULL;
    int code;

    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&dest, domain->network.n, sizeof *dest), NULL));
    for (int64_t i = 0; i < domain->network.n; i++) {
        dest[i] = verdict[i].home;
        domain->network.node[i].split = verdict[i].tag >= 0 ? -1 : -1 - verdict[i].tag;
    }
    EQP_TRY(dd_domain_migrate(domain, dest, migrated));
done:
    free(dest);
    return code;
}

static int compare_keys(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static int survey_all(const dd_domain *domain, const dd_stage *stage, const dd_evaluator *evaluator,
                      const app_rebalance_options *options, const eqp_units_totals *totals, const app_work_model *model,
                      uint64_t *keys, app_survey *survey)
{
    const app_survey_detail nothing = {.heavy = INFINITY, .pin_below = 0, .cost = model->nominal};
    app_survey_detail detail = nothing;
    eqp_units_totals last = *totals;
    int code = EQP_OK;

    if ((options->method->flags & EQP_NEEDS_UNITS) && last.owners == 0) { /* the first map: weigh the owners first */
        app_survey_clear(survey, &nothing);
        code = dd_survey(domain, stage, evaluator, options->seed, keys, survey);
        if (code == EQP_OK) {
            code = app_survey_totals(domain->comm, survey, model, &last);
        }
    }
    if (code == EQP_OK) {
        detail = app_rebalance_detail(options, domain->nranks, &last);
        detail.cost = model->nominal;
        app_survey_clear(survey, &detail);
        code = dd_survey(domain, stage, evaluator, options->seed, keys, survey);
    }
    return code;
}

int dd_rebalance(dd_domain *domain, dd_stage *stage, const dd_evaluator *evaluator, const app_costs *costs,
                 const app_rebalance_options *options, bool has_map, app_map *map, eqp_units_totals *totals,
                 app_rebalanced *rebalanced, int64_t *migrated, int64_t *bytes, eqp_message *message)
{
    const app_work_model model = app_work_model_measured(&dd_work_model, costs);
    app_survey survey = {.n = 0};
    app_owners owners = {.n = 0};
    app_verdict *verdict = NULL;
    app_rebalance_options with_base = *options;
    app_map made;
    uint64_t *keys = NULL;
    double *base = NULL;
    int code = dd_keys(domain, &keys);

    app_map_init(&made);
    if (code == EQP_OK) {
        code = eqp_array_create(&base, domain->nranks, sizeof *base);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        dd_evaluator_base(evaluator, &stage->grid, costs, domain->nranks, base);
        with_base.base = base;
    }
    *rebalanced = (app_rebalanced){.units = 0};
    if (code == EQP_OK && options->aspect <= 0) {
        code = dd_usual_aspect(domain, stage, &with_base.aspect);
    }
    if (code == EQP_OK) {
        code = survey_all(domain, stage, evaluator, options, totals, &model, keys, &survey);
    }
    dd_stage_free(stage);
    if (code == EQP_OK) {
        if (domain->network.n > 1) {
            qsort(keys, (size_t)domain->network.n, sizeof *keys, compare_keys);
        }
        code = app_owners_line_up(domain->comm, &survey, &model, costs, domain->network.n, keys, &owners, bytes);
    }
    app_survey_free(&survey);
    EQP_TRY(code);
    EQP_TRY(app_newmap_make(domain->comm, &with_base, &owners, has_map ? map : NULL, domain->network.n, &made, &verdict,
                            rebalanced, message));
    EQP_TRY(dd_rebalance_apply(domain, verdict, migrated));
done:
    if (code == EQP_OK) {
        app_map_free(map);
        *map = made;
        *totals = rebalanced->totals;
    } else {
        app_map_free(&made);
    }
    free(base);
    free(verdict);
    app_owners_free(&owners);
    free(keys);
    return code;
}
