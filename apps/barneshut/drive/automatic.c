/* SPDX-License-Identifier: BSD-3-Clause */
#include "automatic.h"

#include "whatif.h"

#include "../../common/run_auto.h"
#include "../../common/run_network.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/route.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The present map as a trial: map and verdicts are borrowed and owned, in that order. */
static int present_trial(const bh_domain *domain, const app_map *map, app_trial *present)
{
    app_verdict *verdict = NULL;
    int code = eqp_agree(domain->comm, eqp_array_create(&verdict, domain->ngroups, sizeof *verdict), NULL);

    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        verdict[g] = (app_verdict){domain->tag[g], domain->rank};
    }
    *present = (app_trial){.nparts = domain->nranks, .map = *map, .verdicts = verdict};
    return code;
}

/* The chosen map takes the place of the present one. */
static int take(bh_domain *domain, app_auto_answer *answer, app_map *map, app_rebalanced *rebalanced)
{
    int code;

    EQP_TRY(bh_rebalance_apply(domain, answer->trial.verdicts));
    app_map_free(map);
    *map = answer->trial.map;
    app_map_init(&answer->trial.map);
    *rebalanced = answer->trial.made;
    rebalanced->result.imbalance = answer->trial.row.evaluated.imbalance;
done:
    return code;
}

int bh_rebalance_auto(bh_domain *domain, bh_evaluator *evaluator, const app_run_settings *run, app_speeds speeds,
                      bool has_map, double life, double dt, app_map *map, app_costs *costs, app_rebalanced *rebalanced,
                      bh_automatic *automatic, eqp_message *message)
{
    app_auto_question question = {.own = &bh_methods,
                                  .options = app_rebalance_of(run),
                                  .nparts = domain->nranks,
                                  .life = life,
                                  .network = run->network};
    app_auto_answer answer = {.keep = false};
    app_trial present = {.choice = NULL};
    app_whatif_state *state = NULL;
    app_map at_home;
    bh_whatif what;
    int code = has_map ? present_trial(domain, map, &present) : EQP_OK;

    if (code == EQP_OK && run->network_measure) {
        code = app_network_measure(domain->comm, &question.network);
    }
    if (code == EQP_OK) {
        code = bh_whatif_open(domain, evaluator, costs, dt, &what);
        if (code == EQP_OK) {
            code = bh_rebalance_learn(domain, evaluator, map, &what.works, costs);
        }
        app_map_init(&at_home); /* by which a what-if has its groups computed */
        what.what.old = has_map ? &at_home : NULL;
        what.what.speeds = speeds;
        what.what.plan = run->exchange_auto ? NULL : &evaluator->plan;
        if (code == EQP_OK) {
            code = app_whatif_open(&what.what, &state);
        }
        if (code == EQP_OK) {
            code = app_auto_choose(state, &question, has_map ? &present : NULL, &answer, message);
        }
        app_whatif_close(state);
        bh_whatif_close(&what);
    }
    EQP_TRY(code);
    if (!answer.keep) {
        EQP_TRY(take(domain, &answer, map, rebalanced));
    }
    if (run->exchange_auto) {
        evaluator->plan = answer.row.evaluated.plan;
        EQP_TRY(eqp_route_fit(domain->comm, &evaluator->plan));
    }
    automatic->kept = answer.keep;
    if (!answer.keep && run->method == &app_method_auto) {
        snprintf(automatic->chosen, sizeof automatic->chosen, "%s", answer.choice->name);
    }
    memcpy(automatic->why, answer.why, sizeof automatic->why);
done:
    app_trials_free(1, &answer.trial);
    free(answer.choice);
    free(present.verdicts);
    return code;
}
