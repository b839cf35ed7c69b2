/* SPDX-License-Identifier: BSD-3-Clause */
#include "automatic.h"

#include "../../../common/run_auto.h"
#include "../../../common/run_network.h"
#include "../settings.h"
#include "rebalance.h"
#include "whatif.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/route.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The present map as a trial; only the verdicts are owned. */
static int present_trial(const dd_simulation *sim, app_trial *present)
{
    const dd_domain *domain = &sim->domain;
    app_verdict *verdict = NULL;
    int code = eqp_agree(sim->comm, eqp_array_create(&verdict, domain->network.n, sizeof *verdict), NULL);

    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        const int64_t split = domain->network.node[i].split;
        verdict[i] = (app_verdict){split < 0 ? domain->rank : -1 - split, domain->rank};
    }
    *present = (app_trial){.nparts = domain->nranks, .map = sim->map, .verdicts = verdict};
    return code;
}

static int choose(dd_simulation *sim, const app_auto_question *question, const app_trial *present,
                  app_auto_answer *answer, eqp_message *message)
{
    dd_whatif *whatif = NULL;
    app_whatif_state *state = NULL;
    app_whatif what;
    int code;

    EQP_TRY(dd_whatif_create(sim, &whatif));
    what = *dd_whatif_functions(whatif);
    what.old = sim->has_map ? &sim->map : NULL;
    what.speeds = app_shares_speeds(sim->shares);
    what.plan = sim->settings->run.exchange_auto ? NULL : &sim->domain.plan;
    EQP_TRY(app_whatif_open(&what, &state));
    EQP_TRY(app_auto_choose(state, question, present, answer, message));
done:
    app_whatif_close(state);
    dd_whatif_free(whatif);
    return code;
}

int dd_rebalance_auto(dd_simulation *sim, const app_rebalance_options *options, double life, int64_t *migrated,
                      dd_automatic *automatic, eqp_message *message)
{
    app_auto_question question = {.own = &dd_methods,
                                  .options = *options,
                                  .nparts = sim->domain.nranks,
                                  .life = life,
                                  .network = sim->settings->run.network};
    app_auto_answer answer = {.keep = false};
    app_trial present = {.choice = NULL};
    int code;

    EQP_TRY(sim->has_map ? present_trial(sim, &present) : EQP_OK);
    if (options->aspect <= 0) {
        EQP_TRY(dd_usual_aspect(&sim->domain, &sim->stage, &question.options.aspect));
    }
    if (sim->settings->run.network_measure) {
        EQP_TRY(app_network_measure(sim->comm, &question.network));
    }
    EQP_TRY(choose(sim, &question, sim->has_map ? &present : NULL, &answer, message));
    dd_stage_free(&sim->stage);
    if (!answer.keep) {
        EQP_TRY(dd_rebalance_apply(&sim->domain, answer.trial.verdicts, migrated));
    }
    if (!answer.keep) {
        app_map_free(&sim->map);
        sim->map = answer.trial.map;
        app_map_init(&answer.trial.map);
        automatic->made = answer.trial.made;
        if (options->method == &app_method_auto) {
            snprintf(automatic->chosen, sizeof automatic->chosen, "%s", answer.choice->name);
        }
    }
    if (sim->settings->run.exchange_auto) {
        sim->domain.plan = answer.row.evaluated.plan;
        EQP_TRY(eqp_route_fit(sim->comm, &sim->domain.plan));
    }
    automatic->kept = answer.keep;
    automatic->row = answer.row;
    memcpy(automatic->why, answer.why, sizeof automatic->why);
done:
    app_trials_free(1, &answer.trial);
    free(answer.choice);
    free(present.verdicts);
    return code;
}
