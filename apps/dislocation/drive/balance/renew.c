/* SPDX-License-Identifier: BSD-3-Clause */
#include "renew.h"

#include "automatic.h"
#include "baseline.h"
#include "rebalance.h"

#include "../../../common/run_auto.h"

#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A new map is to leave room for its ageing: of the wanted imbalance it takes only this part. */
#define FRESH_SHARE 0.25

/* Units as fine as that can be assigned to this part of it, nearly for nothing. */
#define FINEST_SHARE 0.05

/* Units for an imbalance below this one are too many for anybody. */
#define FINEST_UNITS 1e-4

app_renewal dd_renewal_of(const dd_simulation *sim)
{
    return (app_renewal){&sim->settings->run, &sim->policy, sim->feedback, sim->shares};
}

/* `auto`, and methods whose maps are traced before they are used. `auto` says what it has chosen, if not to keep what
 * there is. */
static int make_by_trial(dd_simulation *sim, const app_rebalance_options *options, app_rebalanced *made, bool *kept,
                         int64_t *migrated, eqp_message *message)
{
    const app_renewal renewal = dd_renewal_of(sim);
    dd_automatic automatic = {.kept = false};
    const int code =
        dd_rebalance_auto(sim, options, app_renewal_life(&renewal, sim->input.last_step - sim->now.common.step),
                          migrated, &automatic, message);

    if (code == EQP_OK) {
        *made = automatic.made;
        made->result.imbalance = automatic.row.evaluated.imbalance;
        *kept = automatic.kept;
        memcpy(sim->now.common.why, automatic.why, sizeof automatic.why);
        if (!automatic.kept) {
            memcpy(sim->now.common.chosen, automatic.chosen, sizeof automatic.chosen);
        }
    }
    return code;
}

int dd_renew_make(dd_simulation *sim, app_rank_row *row, eqp_message *message)
{
    app_rebalance_options options = app_rebalance_of(&sim->settings->run);
    app_rebalanced made;
    int64_t migrated = 0, bytes = 0;
    double *measured = NULL;
    bool kept = false;
    int code = app_rows_loads(sim->comm, sim->domain.nranks, sim->row, sizeof *sim->row, &measured);

    if (code == EQP_OK) {
        code = eqp_agree(sim->comm, app_shares_renew(sim->shares), NULL);
    }
    options.speeds = app_shares_speeds(sim->shares);
    app_feedback_prepare(sim->feedback, &options);
    /* What was handed out was measured elsewhere. */
    options.part_load = sim->evaluator.loop == NULL ? measured : NULL;
    options.assign_tol = FINEST_SHARE * options.imbalance_tol;
    options.imbalance_tol = fmax(FRESH_SHARE * options.imbalance_tol, FINEST_UNITS);
    if (code == EQP_OK) {
        code = options.method == &app_method_auto || app_wants_trial(&options)
                   ? make_by_trial(sim, &options, &made, &kept, &migrated, message)
                   : dd_rebalance(&sim->domain, &sim->stage, &sim->evaluator, &sim->costs, &options, sim->has_map,
                                  &sim->map, &sim->totals, &made, &migrated, &bytes, message);
    }
    free(measured);
    if (code == EQP_OK) {
        sim->has_map = true;
        sim->now.common.rebalanced = true;
        if (!kept) { /* else what was said of the present map when it was made still holds */
            sim->now.common.imbalance_promised = made.result.imbalance;
            sim->now.common.units = made.units;
            sim->now.common.split_owners = made.split_owners;
            sim->now.common.unit_sizes = made.sizes;
        }
        row->migrated += (double)migrated;
        row->bytes_sent += (double)bytes;
        sim->kept_map = kept;
    }
    return code;
}

/* Walls move every so many steps, unless the command line says otherwise. */
static bool boxes_are_due(const dd_simulation *sim)
{
    const eqp_policy_options *policy = &sim->settings->run.policy;
    int64_t every = sim->input.control.balance_every;

    if (policy->mode == EQP_POLICY_EVERY) {
        every = policy->every;
    } else if (policy->mode == EQP_POLICY_NEVER) {
        every = 0;
    }
    return every > 0 && (sim->now.common.step + 1 - sim->input.control.first_step) % every == 0;
}

/* Walls to where the load says, and nodes to where their boxes are then. */
static int move_walls(dd_simulation *sim, app_rank_row *row)
{
    int64_t migrated = 0;
    int code = dd_baseline_rebalance(&sim->domain, sim->cells, sim->box_load, sim->boxes);

    sim->box_load = 0.0;
    sim->now.common.rebalanced = true;
    if (code == EQP_OK) {
        code = dd_baseline_settle(&sim->domain, sim->boxes, &migrated);
        row->migrated += (double)migrated;
    }
    return code;
}

int dd_renew_if_due(dd_simulation *sim, app_rank_row *row, bool *renewed, eqp_message *message)
{
    const app_renewal renewal = dd_renewal_of(sim);

    sim->now.common.rebalanced = false;
    sim->now.common.why[0] = '\0';
    *renewed = sim->boxes != NULL ? boxes_are_due(sim) : app_renewal_wants(&renewal);
    if (!*renewed) {
        return EQP_OK;
    }
    return sim->boxes != NULL ? move_walls(sim, row) : dd_renew_make(sim, row, message);
}
