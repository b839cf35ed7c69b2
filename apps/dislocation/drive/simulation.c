/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "advance.h"
#include "balance/baseline.h"
#include "balance/rebalance.h"
#include "balance/renew.h"
#include "handout.h"
#include "setup.h"

#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a step does on this rank. */
typedef struct step_ledger {
    dd_simulation *sim;
    dd_rank_row row;
    int64_t count[DD_KINDS];  /* of all evaluations */
    int64_t mapped[DD_KINDS]; /* likewise, as the map says */
    int64_t evaluations;
} step_ledger;

static void take_evaluation(void *user)
{
    step_ledger *ledger = user;
    const dd_evaluator *e = &ledger->sim->evaluator;

    ledger->evaluations++;
    ledger->row.common.load += e->seconds;
    ledger->row.common.exchange_seconds += e->exchange_seconds;
    ledger->row.common.bytes_sent += (double)e->bytes;
    ledger->row.common.helped += (double)e->helped;
    for (int k = 0; k < DD_KINDS; k++) {
        ledger->count[k] += e->total.of[k];
        ledger->mapped[k] += e->mapped.of[k];
    }
}

static dd_motion motion_of(dd_simulation *sim)
{
    return (dd_motion){.domain = &sim->domain,
                       .halo = &sim->halo,
                       .stage = &sim->stage,
                       .evaluator = &sim->evaluator,
                       .mobility = &sim->mobility,
                       .stepper = &sim->stepper};
}

/* Who sends what to whom, for the network as it is. */
static int plan(dd_simulation *sim)
{
    int code;

    dd_halo_free(&sim->halo);
    EQP_TRY(dd_halo_create(&sim->domain, &sim->halo));
    EQP_TRY(dd_halo_refresh(&sim->domain, &sim->halo));
    EQP_TRY(dd_stage_create(&sim->domain, &sim->halo, sim->cells, &sim->map, &sim->stage));
done:
    return code;
}

static int evaluate(dd_simulation *sim, step_ledger *ledger)
{
    const dd_motion motion = motion_of(sim);
    int code;

    memcpy(sim->evaluator.stress, sim->loading.stress, sizeof sim->evaluator.stress);
    EQP_TRY(dd_evaluate(&sim->evaluator, &sim->domain, &sim->halo, &sim->stage));
    take_evaluation(ledger);
    EQP_TRY(dd_advance_velocities(&motion));
done:
    return code;
}

static bool has_own_method(const dd_simulation *sim)
{
    return sim->boxes != NULL;
}

/* Nodes to where they should live before the step. */
static int renew_map(dd_simulation *sim, step_ledger *ledger, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    bool renewed = false;
    int code = dd_renew_if_due(sim, &ledger->row.common, &renewed, message);

    if (code == EQP_OK && renewed) {
        code = plan(sim);
    }
    if (renewed) {
        ledger->row.common.balance_seconds += eqp_cpu_seconds_since(begin);
    }
    return code;
}

/* Own segments: how many and how long. */
static void measure_segments(const dd_simulation *sim, dd_rank_row *row)
{
    row->segments = (double)sim->stage.nown;
    row->length = 0.0;
    for (int64_t own = 0; own < sim->stage.nown; own++) {
        const dd_segment segment = dd_stage_segment(&sim->stage, sim->stage.own_local[own]);
        row->length += dd_segments_length(1, &segment);
    }
}

/* Imbalance of the work of the last evaluation, and sums over the ranks. */
static void add_rows(dd_simulation *sim)
{
    dd_step *now = &sim->now;
    double most = 0.0, sum = 0.0;

    now->nodes = now->segments = 0;
    now->length = 0.0;
    memset(now->count, 0, sizeof now->count);
    for (int r = 0; r < sim->domain.nranks; r++) {
        const dd_rank_row *row = &sim->row[r];
        most = fmax(most, row->work / row->common.speed);
        sum += row->work;
        now->nodes += (int64_t)row->common.particles;
        now->segments += (int64_t)row->segments;
        now->length += row->length;
        for (int k = 0; k < DD_KINDS; k++) {
            now->count[k] += (int64_t)row->count[k];
        }
    }
    now->imbalance_work = sum > 0 ? most * sim->domain.nranks / sum - 1.0 : 0.0;
}

/* Declared speeds are what the walls are to follow; else what was measured shows them, unless that was work of other
 * boxes, too. */
static double load_of_box(const dd_simulation *sim, const step_ledger *ledger)
{
    const app_rank_row *row = &ledger->row.common;
    const bool declared = sim->settings->run.share.kind == APP_SHARE_SPEEDS;

    if (sim->evaluator.loop != NULL) {
        return app_costs_predict(&sim->costs, ledger->mapped) / (declared ? row->speed : 1.0);
    }
    return declared ? row->predicted : row->load;
}

/* Learns what work costs, tells the policy, gathers the ranks' rows. */
static int conclude(dd_simulation *sim, step_ledger *ledger)
{
    dd_rank_row *row = &ledger->row;
    int code = app_costs_correlation(&sim->costs, sim->comm, &sim->evaluator.timings, &sim->now.common.correlation);

    app_shares_fill_row(sim->shares, sim->domain.rank, app_costs_predict(&sim->costs, ledger->count), &row->common);
    row->common.particles = (double)sim->domain.network.n;
    row->common.targets = (double)sim->stage.ntargets;
    row->common.ghosts = (double)(sim->stage.nghosts + sim->halo.nghosts);
    row->common.interactions =
        (double)(sim->evaluator.total.of[DD_KIND_PAIR] + sim->evaluator.total.of[DD_KIND_PARALLEL]);
    for (int k = 0; k < DD_KINDS; k++) {
        row->count[k] = (double)sim->evaluator.total.of[k];
    }
    measure_segments(sim, row);
    sim->box_load += load_of_box(sim, ledger);
    if (code == EQP_OK) {
        code = app_costs_fit(&sim->costs, sim->comm, &sim->evaluator.timings);
    }
    sim->evaluator.timings.n = 0;
    row->work = app_costs_predict(&sim->costs, sim->evaluator.total.of);
    EQP_TRY(code);
    EQP_TRY(app_rows_gather(sim->comm, DD_RANK_ROW_DOUBLES, row, sim->row));
    EQP_TRY(app_step_take_rows(&sim->now.common, sim->domain.nranks, sim->row, sizeof *sim->row));
    const app_renewal renewal = dd_renewal_of(sim);
    eqp_policy_sample sample;
    add_rows(sim);
    sample = app_renewal_sample(&renewal, &sim->now.common, sim->now.imbalance_work, sim->kept_map);
    app_shares_learn(sim->shares, ledger->evaluations, sim->row, sizeof *sim->row);
    sim->now.evaluations = ledger->evaluations;
    sim->now.stress = dd_loading_along(&sim->loading, sim->loading.stress);
    sim->now.strain = dd_loading_along(&sim->loading, sim->loading.strain);
    EQP_TRY(eqp_policy_record(&sim->policy, &sample));
    EQP_TRY(app_feedback_record(sim->feedback, sim->row, sizeof *sim->row, sim->now.common.rebalanced));
done:
    return eqp_agree(sim->comm, code, NULL);
}

/* Before anything is known: equally many nodes along the curve, or equal boxes. */
static int first_homes(dd_simulation *sim, eqp_message *message)
{
    app_rebalance_options options = app_rebalance_of(&sim->settings->run);
    eqp_units_totals totals = EQP_UNITS_TOTALS_ZERO;
    app_rebalanced made;
    int64_t migrated = 0, bytes = 0;

    if (has_own_method(sim)) {
        return dd_baseline_settle(&sim->domain, sim->boxes, &migrated);
    }
    options.method = eqp_method_find("count");
    options.how.split = false;
    options.how.even = 0;
    return dd_rebalance(&sim->domain, &sim->stage, &sim->evaluator, &sim->costs, &options, false, &sim->map, &totals,
                        &made, &migrated, &bytes, message);
}

/* Where nobody gives the first time step: in it no node goes farther than rTol. */
static int choose_dt(dd_simulation *sim)
{
    const eqp_paradis_control *c = &sim->input.control;
    double fastest = 0.0;

    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        fastest = fmax(fastest, dd_step_largest(1, sim->domain.network.node[i].v));
    }
    if (MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, sim->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (!sim->input.dt_given && fastest * sim->stepper.dt > c->tolerance) {
        sim->stepper.dt = c->tolerance / fastest;
    }
    return EQP_OK;
}

/* First forces; what they cost decides the first map. Forces stay with the nodes when these move. */
static int start(dd_simulation *sim, eqp_message *message)
{
    step_ledger ledger = {.sim = sim};
    const double begin = eqp_cpu_seconds();
    int code = first_homes(sim, message);

    ledger.row.common.balance_seconds = eqp_cpu_seconds_since(begin);
    if (code == EQP_OK) {
        code = plan(sim);
    }
    if (code == EQP_OK) {
        code = evaluate(sim, &ledger);
    }
    if (code == EQP_OK && !has_own_method(sim) && app_method_weighs(sim->settings->run.method)) {
        code = app_costs_fit(&sim->costs, sim->comm, &sim->evaluator.timings);
        if (code == EQP_OK) {
            const double start_of_map = eqp_cpu_seconds();
            code = dd_renew_make(sim, &ledger.row.common, message);
            if (code == EQP_OK) {
                code = plan(sim);
            }
            ledger.row.common.balance_seconds += eqp_cpu_seconds_since(start_of_map);
        }
        /* Once more: what is reported is what the map gives. */
        sim->evaluator.timings.n = 0;
        ledger.row.common.load = ledger.row.common.exchange_seconds = ledger.row.common.helped = 0.0;
        memset(ledger.count, 0, sizeof ledger.count);
        memset(ledger.mapped, 0, sizeof ledger.mapped);
        if (code == EQP_OK) {
            code = evaluate(sim, &ledger);
        }
    }
    sim->now.common.rebalanced = true;
    sim->has_map = true;
    if (code == EQP_OK) {
        code = choose_dt(sim);
    }
    return code == EQP_OK ? conclude(sim, &ledger) : code;
}

int dd_simulation_create(MPI_Comm comm, const dd_settings *settings, dd_simulation *sim, eqp_message *message)
{
    dd_simulation made = {
        .settings = settings,
    };
    int code = eqp_comm_create(comm, &made.comm);

    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: %s", eqp_error_text(code));
        return code;
    }
    *sim = made;
    dd_domain_init(&sim->domain, sim->comm);
    app_map_init(&sim->map);
    sim->domain.plan = settings->run.exchange;
    code = eqp_agree(sim->comm, eqp_array_create(&sim->row, sim->domain.nranks, sizeof *sim->row), message);
    if (code == EQP_OK) {
        code = app_shares_create("dislocation", &settings->run.share, settings->run.policy.mode == EQP_POLICY_AUTO,
                                 sim->domain.nranks, &sim->shares, message);
    }
    if (code == EQP_OK) {
        code = app_feedback_create(&settings->run, sim->domain.nranks, &sim->feedback);
    }
    EQP_TRY(eqp_agree(sim->comm, code, message));
    EQP_TRY(eqp_route_fit(sim->comm, &sim->domain.plan));
    EQP_TRY(dd_input_read(settings, &sim->domain, &sim->input, message));
    EQP_TRY(eqp_agree(sim->comm, dd_setup(sim, message), message));
    if (settings->run.schedule != NULL) {
        const eqp_schedule_options rules = app_shares_rules(sim->shares, &settings->run.schedule_rules);
        EQP_TRY(dd_loop_create(sim->comm, settings->run.schedule, &rules, &sim->evaluator.loop));
    }
    EQP_TRY(start(sim, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "dislocation: first forces: %s", eqp_error_text(code));
    }
    if (code != EQP_OK) {
        dd_simulation_free(sim);
    }
    return code;
}

void dd_simulation_free(dd_simulation *sim)
{
    free(sim->row);
    sim->row = NULL;
    app_shares_free(sim->shares);
    app_feedback_free(sim->feedback);
    sim->feedback = NULL;
    sim->shares = NULL;
    eqp_paradis_control_free(&sim->input.control);
    eqp_boxes_free(sim->boxes);
    app_map_free(&sim->map);
    dd_stage_free(&sim->stage);
    dd_halo_free(&sim->halo);
    eqp_loop_free(sim->evaluator.loop);
    dd_evaluator_free(&sim->evaluator);
    dd_domain_free(&sim->domain);
    eqp_comm_free(&sim->comm);
}

static int move(dd_simulation *sim, step_ledger *ledger)
{
    const dd_motion motion = motion_of(sim);
    double strain[6], spin[3];
    int code;

    EQP_TRY(dd_advance(&motion, take_evaluation, ledger, strain, spin));
    sim->now.dt = sim->stepper.done;
    dd_loading_advance(&sim->loading, sim->now.dt, strain, spin);
done:
    return code;
}

/* Back into the box. */
static void fold_nodes(dd_simulation *sim)
{
    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        dd_domain_fold(&sim->domain, sim->domain.network.node[i].x);
    }
}

/* Contacts are looked for where the motion has led. */
static int change_topology(dd_simulation *sim, eqp_message *message)
{
    const dd_mover mover = dd_topology_mover(&sim->mobility, &sim->evaluator.medium);
    const int every = sim->input.control.split_every;
    const bool split = every > 0 && (sim->now.common.step + 1) % every == 0;
    dd_closes closes = {0};
    int code = dd_close_find(&sim->domain, &sim->stage, sim->rules.rann, &closes);

    /* Void from here on; what comes next needs the memory. */
    dd_stage_free(&sim->stage);
    dd_halo_free(&sim->halo);
    fold_nodes(sim);
    if (code == EQP_OK) {
        code = dd_topology_step(&sim->domain, &sim->rules, split ? &mover : NULL, sim->now.common.step, &closes,
                                &sim->now.topology, message);
    }
    dd_closes_free(&closes);
    return code;
}

/* Forces on what there is now, after the nodes of boxes have gone where they are. */
static int settle(dd_simulation *sim, step_ledger *ledger)
{
    int64_t migrated = 0;
    int code = EQP_OK;

    if (has_own_method(sim)) {
        code = dd_baseline_settle(&sim->domain, sim->boxes, &migrated);
        ledger->row.common.migrated += (double)migrated;
    }
    if (code == EQP_OK) {
        code = plan(sim);
    }
    return code == EQP_OK ? evaluate(sim, ledger) : code;
}

int dd_simulation_step(dd_simulation *sim, eqp_message *message)
{
    step_ledger ledger = {.sim = sim};
    int code = renew_map(sim, &ledger, message);

    if (code == EQP_OK) {
        code = move(sim, &ledger);
    }
    if (code == EQP_OK) {
        code = change_topology(sim, message);
    }
    if (code == EQP_OK) {
        code = settle(sim, &ledger);
        if (code == EQP_OK || code == EQP_ERR_STOPPED) { /* a restart computes the forces, and needs no more */
            sim->now.common.step++;
            sim->now.common.time += sim->now.dt;
        }
    }
    if (code == EQP_OK) {
        code = conclude(sim, &ledger);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "dislocation: step %lld: %s", (long long)sim->now.common.step + 1,
                        eqp_error_text(code));
    }
    return code;
}

int dd_simulation_drift(dd_simulation *sim, eqp_message *message)
{
    step_ledger ledger = {.sim = sim};
    int code;

    EQP_TRY(move(sim, &ledger));
    fold_nodes(sim);
    EQP_TRY(plan(sim));
    EQP_TRY(evaluate(sim, &ledger));
done:
    sim->evaluator.timings.n = 0;
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: moving on: %s", eqp_error_text(code));
    }
    return code;
}

dd_moment dd_simulation_moment(const dd_simulation *sim)
{
    dd_moment now = {.step = sim->now.common.step, .time = sim->now.common.time, .next_dt = sim->stepper.dt};

    memcpy(now.stress, sim->loading.stress, sizeof now.stress);
    memcpy(now.plastic_strain, sim->loading.strain, sizeof now.plastic_strain);
    return now;
}
