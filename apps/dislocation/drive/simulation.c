/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "../../report/run_record.h"
#include "advance.h"
#include "balance/baseline.h"
#include "balance/resume.h"
#include "setup.h"
#include "stealing.h"

#include <shell/signals.h>

#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the wanted imbalance a new map takes only this part: room for its ageing. */
#define FRESH_SHARE 0.25

/* Work units as fine as that can be assigned to this part of it, nearly for nothing. */
#define FINEST_SHARE 0.05

/* Work units for an imbalance below this one are too many for anybody. */
#define FINEST_UNITS 1e-4

/* Remeshing shifts work at once: so much more imbalance than promised is reason enough for a new map. */
#define JUMP 0.03

/* A node is not known to move whose way in a step is this share of rTol (ParaDiS' splitMultiNodeAlpha). */
#define NOISE 1e-3

/* What a step does on this rank. */
typedef struct step_ledger {
    dd_simulation *sim;
    dd_rank_row row;
    int64_t count[DD_KINDS];  /* of all evaluations */
    int64_t mapped[DD_KINDS]; /* likewise, as the map says */
    int64_t evaluations;
    dd_moved moved;
    double begin; /* eqp_busy_seconds() when the step began and its map was there; 0: not known */
    bool walls_moved;
    int own; /* code of this rank alone, of which conclude() tells all */
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
    code = dd_stage_open(&sim->domain, sim->cells, &sim->stage);
    EQP_TRY(dd_halo_create(&sim->domain, code, &sim->halo));
    EQP_TRY(dd_stage_create(&sim->domain, &sim->halo, eqp_balancer_map(sim->balancer), &sim->stage));
done:
    return code;
}

static int evaluate(dd_simulation *sim, step_ledger *ledger)
{
    const dd_motion motion = motion_of(sim);
    int code;

    memcpy(sim->evaluator.stress, sim->loading.stress, sizeof sim->evaluator.stress);
    EQP_TRY(dd_evaluate(&sim->evaluator, &sim->domain, &sim->halo, &sim->stage, EQP_OK));
    take_evaluation(ledger);
    ledger->own = dd_advance_velocities(&motion);
done:
    return code;
}

static bool has_own_method(const dd_simulation *sim)
{
    return sim->boxes != NULL;
}

/* Nodes to where the new map wants them, and data by its plan. */
static int follow(dd_simulation *sim, const eqp_advice *advice, dd_moved *moved)
{
    sim->domain.plan = *eqp_balancer_plan(sim->balancer);
    return advice->changed ? dd_domain_place(&sim->domain, advice->placement, moved) : EQP_OK;
}

static int64_t steps_left(const dd_simulation *sim)
{
    return sim->input.last_step - sim->now.common.step;
}

static int make_map(dd_simulation *sim, step_ledger *ledger, eqp_message *message)
{
    eqp_advice advice;
    int code;

    EQP_TRY(eqp_balancer_advise(sim->balancer, steps_left(sim), &advice, message));
    EQP_TRY(follow(sim, &advice, &ledger->moved));
    ledger->row.common.bytes_sent += (double)advice.bytes;
done:
    return code;
}

/* Walls move every so many steps, unless the command line says otherwise; which ones: see dd_baseline_turn(). A round
 * of sectioning takes three steps: nobody means to leave out a direction who asks for as many moves as there can be. */
static int walls_due(const dd_simulation *sim)
{
    const eqp_policy_options *policy = &sim->settings->run.policy;
    const bool bisection = sim->settings->run.method == &dd_bisection;
    int64_t every = sim->input.control.balance_every;

    if (policy->mode == EQP_POLICY_EVERY) {
        every = bisection || policy->every > 3 ? policy->every : 3;
    } else if (policy->mode == EQP_POLICY_NEVER) {
        every = 0;
    }
    return sim->now.common.step > sim->input.control.first_step
               ? dd_baseline_turn(bisection, every, sim->now.common.step)
               : -1;
}

/* Nodes to the boxes that they are in. */
static int follow_walls(dd_simulation *sim, step_ledger *ledger)
{
    return dd_baseline_settle(&sim->domain, sim->boxes, &ledger->moved);
}

/* Walls to where the load says, and nodes to where their boxes are then. */
static int move_walls(dd_simulation *sim, int turn, step_ledger *ledger)
{
    int code;

    EQP_TRY(dd_baseline_rebalance(&sim->domain, sim->cells, sim->box_load, turn, sim->boxes));
    ledger->walls_moved = true;
    EQP_TRY(follow_walls(sim, ledger));
done:
    return code;
}

/* Nodes to where they should live before the step. own: this rank's code so far, of which all hear here or when they
 * move. */
static int renew_map(dd_simulation *sim, step_ledger *ledger, int own, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    const bool walls = has_own_method(sim);
    const int turn = walls ? walls_due(sim) : -1;
    eqp_advice keep;
    int code = EQP_OK;

    if (!walls && !eqp_balancer_due(sim->balancer)) { /* it hears how long the run is: a restart may have another end */
        return eqp_balancer_advise(sim->balancer, steps_left(sim), &keep, NULL);
    }
    if (!walls || turn >= 0) {
        EQP_TRY(eqp_agree(sim->comm, own, NULL));
        code = walls ? move_walls(sim, turn, ledger) : make_map(sim, ledger, message);
        code = code == EQP_OK ? plan(sim) : code;
        ledger->row.common.balance_seconds += eqp_cpu_seconds_since(begin);
    }
done:
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

/* Sums over the ranks. */
static void add_rows(dd_simulation *sim)
{
    dd_step *now = &sim->now;

    now->nodes = now->segments = 0;
    now->length = 0.0;
    memset(now->count, 0, sizeof now->count);
    for (int r = 0; r < sim->domain.nranks; r++) {
        const dd_rank_row *row = &sim->row[r];
        now->nodes += (int64_t)row->common.particles;
        now->segments += (int64_t)row->segments;
        now->length += row->length;
        for (int k = 0; k < DD_KINDS; k++) {
            now->count[k] += (int64_t)row->count[k];
        }
    }
}

/* Declared speeds are what the walls are to follow; else what was measured shows them, unless that was work of other
 * boxes, too. */
static double load_of_box(const dd_simulation *sim, const step_ledger *ledger)
{
    const eqp_cost_fit *costs = eqp_balancer_costs(sim->balancer);
    const bool declared = sim->settings->run.share.kind == EQP_SHARE_SPEEDS;
    const double speed = declared ? eqp_balancer_speeds(sim->balancer)[sim->domain.rank] : 1.0;

    if (sim->evaluator.loop != NULL) {
        return eqp_cost_fit_predict(costs, ledger->mapped) / speed;
    }
    return declared ? eqp_cost_fit_predict(costs, ledger->count) / speed : ledger->row.common.load;
}

/* Node of this rank, speed. */
static double fastest_here(const dd_simulation *sim)
{
    double fastest = 0.0;

    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        fastest = fmax(fastest, dd_step_largest(1, sim->domain.network.node[i].v));
    }
    return fastest;
}

/* What the step has shown, to the balancer and into the record. */
static int conclude(dd_simulation *sim, step_ledger *ledger)
{
    dd_rank_row *row = &ledger->row;
    double low[2] = {-app_signals_pending(), -fastest_here(sim)};
    const eqp_work work = {.row = &row->common,
                           .row_bytes = sizeof *row,
                           .rows = sim->row,
                           .count = ledger->count,
                           .last = sim->evaluator.total.of,
                           .evaluations = ledger->evaluations,
                           .timings = sim->evaluator.timings,
                           .moved = ledger->walls_moved,
                           .code = ledger->own,
                           .nlows = 2,
                           .low = low};
    int code;

    row->common.particles = (double)sim->domain.network.n;
    row->common.targets = (double)sim->stage.ntargets;
    row->common.ghosts = (double)sim->stage.nghosts; /* segments, as in a what-if: neighbours' ends are among theirs */
    row->common.interactions =
        (double)(sim->evaluator.total.of[DD_KIND_PAIR] + sim->evaluator.total.of[DD_KIND_PARALLEL]);
    row->common.migrated = (double)ledger->moved.nodes;
    row->common.bytes_moved = (double)ledger->moved.bytes;
    row->common.bytes_sent += row->common.bytes_moved;
    app_row_exchanged(&row->common, DD_PHASES, sim->evaluator.traffic);
    for (int k = 0; k < DD_KINDS; k++) {
        row->count[k] = (double)sim->evaluator.total.of[k];
    }
    measure_segments(sim, row);
    sim->box_load = load_of_box(sim, ledger);
    row->common.busy_seconds = ledger->begin > 0 ? eqp_busy_seconds() - ledger->begin : 0.0;
    EQP_TRY(eqp_balancer_record(sim->balancer, &work, &sim->now.common));
    sim->signal = (int)-low[0];
    sim->fastest = -low[1];
    add_rows(sim);
    sim->now.evaluations = ledger->evaluations;
    sim->now.stress = dd_loading_along(&sim->loading, sim->loading.stress);
    sim->now.strain = dd_loading_along(&sim->loading, sim->loading.strain);
done:
    return code;
}

/* Before anything is known: equally many nodes along the curve, or equal boxes; or as a restart file says. */
static int first_homes(dd_simulation *sim, step_ledger *ledger, eqp_message *message)
{
    eqp_advice advice;
    dd_moved moved = {0, 0};
    int code;

    if (has_own_method(sim)) {
        ledger->walls_moved = true;
        return dd_baseline_settle(&sim->domain, sim->boxes, &moved);
    }
    if (sim->resumes) {
        return dd_resume_homes(sim, &moved);
    }
    EQP_TRY(eqp_balancer_begin(sim->balancer, &advice, message));
    EQP_TRY(follow(sim, &advice, &moved));
done:
    return code;
}

/* Where nobody gives the first time step: in it no node goes farther than rTol. */
static int choose_dt(dd_simulation *sim)
{
    const eqp_paradis_control *c = &sim->input.control;
    double fastest = fastest_here(sim);

    if (MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, sim->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (!sim->input.dt_given && fastest * sim->stepper.dt > c->tolerance) {
        sim->stepper.dt = c->tolerance / fastest;
    }
    return EQP_OK;
}

/* The first map, of what the first forces have cost; and these forces once more, since what is reported is what the map
 * gives. They stay with the nodes when these move. */
static int make_first_map(dd_simulation *sim, step_ledger *ledger, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    int code;

    EQP_TRY(make_map(sim, ledger, message));
    EQP_TRY(plan(sim));
    ledger->row.common.balance_seconds += eqp_cpu_seconds_since(begin);
    eqp_timings_clear(sim->evaluator.timings);
    ledger->row.common.load = ledger->row.common.exchange_seconds = ledger->row.common.helped = 0.0;
    memset(ledger->count, 0, sizeof ledger->count);
    memset(ledger->mapped, 0, sizeof ledger->mapped);
    EQP_TRY(evaluate(sim, ledger));
    EQP_TRY(eqp_agree(sim->comm, ledger->own, NULL));
done:
    return code;
}

static int start(dd_simulation *sim, eqp_message *message)
{
    const unsigned weighs = sim->settings->run.method->flags & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS);
    step_ledger ledger = {.sim = sim};
    const double begin = eqp_cpu_seconds();
    int code;

    (void)eqp_busy_seconds(); /* waiting is told apart from here on, in a run that begins as in one that goes on */
    code = first_homes(sim, &ledger, message);

    ledger.row.common.balance_seconds = eqp_cpu_seconds_since(begin);
    EQP_TRY(code);
    EQP_TRY(plan(sim));
    EQP_TRY(evaluate(sim, &ledger));
    EQP_TRY(eqp_agree(sim->comm, ledger.own, NULL));
    if (!has_own_method(sim) && weighs != 0 && !sim->resumes) {
        EQP_TRY(eqp_balancer_learn(sim->balancer, sim->evaluator.timings));
        EQP_TRY(make_first_map(sim, &ledger, message));
    }
    EQP_TRY(choose_dt(sim));
    EQP_TRY(conclude(sim, &ledger));
    EQP_TRY(eqp_agree(sim->comm, dd_resume_again(sim), NULL));
done:
    return code;
}

static int create_balancer(dd_simulation *sim, eqp_message *message)
{
    const app_run_settings *run = &sim->settings->run;
    eqp_balancer_options options = app_run_balancing(run);
    int code;

    EQP_TRY(eqp_agree(sim->comm, app_run_check_ranks("dislocation", run, sim->domain.nranks, message), message));
    options.policy.jump = JUMP;
    options.assign_tol = FINEST_SHARE * options.imbalance_tol;
    options.fresh_tol = fmax(FRESH_SHARE * options.imbalance_tol, FINEST_UNITS);
    sim->problem = (dd_problem){.sim = sim};
    const eqp_problem functions = dd_problem_functions(&sim->problem);
    EQP_TRY(app_run_balancer_create("dislocation", sim->comm, &functions, &options, &sim->balancer, message));
    sim->domain.plan = *eqp_balancer_plan(sim->balancer);
done:
    return code;
}

static int create_loop(dd_simulation *sim)
{
    const app_run_settings *run = &sim->settings->run;
    eqp_schedule_options rules = run->schedule_rules;

    rules.weight = run->share.kind == EQP_SHARE_SPEEDS ? eqp_balancer_speeds(sim->balancer) : NULL;
    return run->schedule == NULL ? EQP_OK : dd_loop_create(sim->comm, run->schedule, &rules, &sim->evaluator.loop);
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
    sim->domain.far_order = (int)settings->far_order;
    EQP_TRY(eqp_agree(sim->comm, eqp_array_create(&sim->row, sim->domain.nranks, sizeof *sim->row), message));
    EQP_TRY(create_balancer(sim, message));
    EQP_TRY(dd_input_read(settings, &sim->domain, &sim->input, message));
    EQP_TRY(eqp_agree(sim->comm, dd_setup(sim, message), message));
    EQP_TRY(create_loop(sim));
    EQP_TRY(eqp_agree(sim->comm, dd_resume_take(sim, message), message));
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
    app_words_free(&sim->words);
    free(sim->row);
    sim->row = NULL;
    eqp_balancer_free(sim->balancer);
    sim->balancer = NULL;
    eqp_paradis_control_free(&sim->input.control);
    eqp_boxes_free(sim->boxes);
    dd_stage_free(&sim->stage);
    dd_halo_free(&sim->halo);
    eqp_loop_free(sim->evaluator.loop);
    dd_evaluator_free(&sim->evaluator);
    dd_domain_free(&sim->domain);
    eqp_comm_free(&sim->comm);
}

/* own: this rank's code so far. Returns that of all ranks. strain: see dd_advance(). */
static int move(dd_simulation *sim, step_ledger *ledger, int own, double strain[9])
{
    const dd_motion motion = motion_of(sim);
    int code;

    EQP_TRY(dd_advance(&motion, own, sim->fastest, take_evaluation, ledger, strain));
    sim->now.dt = sim->stepper.done;
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

/* Contacts are looked for where the motion has led. strain: of this rank's motion, then that of all with what their
 * changes of topology add. */
static int change_topology(dd_simulation *sim, double strain[9], eqp_message *message)
{
    const dd_mover mover =
        dd_topology_mover(&sim->mobility, &sim->evaluator.medium, NOISE * sim->rules.r_tol / sim->now.dt);
    const int every = sim->input.control.split_every;
    const bool split = (sim->now.common.step + 1) % every == 0;
    const double *edge = sim->domain.edge;
    double area[9];
    dd_closes closes = {0};
    int code = dd_close_find(&sim->domain, &sim->stage, sim->rules.rann, &closes);

    /* Void from here on; what comes next needs the memory. */
    dd_stage_free(&sim->stage);
    dd_halo_free(&sim->halo);
    fold_nodes(sim);
    code = dd_topology_step(&sim->domain, code, &sim->rules, &mover, split, sim->now.common.step, &closes, 9, strain,
                            &sim->now.topology, area, message);
    dd_closes_free(&closes);
    if (code == EQP_OK) {
        dd_strain_slip(area, edge[0] * edge[1] * edge[2], strain, strain + 6);
    }
    return code;
}

/* Forces on what there is now, after the nodes of boxes have gone where they are. */
static int compute_forces(dd_simulation *sim, step_ledger *ledger)
{
    int code;

    EQP_TRY(has_own_method(sim) ? follow_walls(sim, ledger) : EQP_OK);
    EQP_TRY(plan(sim));
    EQP_TRY(evaluate(sim, ledger));
done:
    return code;
}

int dd_simulation_step(dd_simulation *sim, eqp_message *message)
{
    const int own = sim->failed;
    step_ledger ledger = {.sim = sim};
    double strain[9];
    int code = renew_map(sim, &ledger, own, message);

    sim->failed = EQP_OK;
    ledger.begin = eqp_busy_seconds();
    if (code == EQP_OK) {
        code = move(sim, &ledger, own, strain);
    }
    if (code == EQP_OK) {
        code = change_topology(sim, strain, message);
    }
    if (code == EQP_OK) {
        dd_loading_advance(&sim->loading, sim->now.dt, strain, strain + 6);
        code = compute_forces(sim, &ledger);
        if (code == EQP_OK || code == EQP_ERR_STOPPED) { /* a restart computes the forces, and needs no more */
            sim->now.common.step++;
            sim->now.common.time += sim->now.dt;
        }
    }
    if (code == EQP_OK) {
        code = conclude(sim, &ledger);
    }
    sim->owed = code == EQP_ERR_STOPPED;
    if (code != EQP_OK) { /* on all ranks: the one that failed before the step tells how */
        const int told = eqp_agree(sim->comm, own != EQP_OK ? own : EQP_ERR_REMOTE, message);
        code = told == EQP_ERR_REMOTE ? code : told;
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
    double strain[9], low;
    int code;

    EQP_TRY(move(sim, &ledger, EQP_OK, strain));
    EQP_TRY(eqp_sum_double(sim->comm, 9, strain));
    dd_loading_advance(&sim->loading, sim->now.dt, strain, strain + 6);
    fold_nodes(sim);
    EQP_TRY(plan(sim));
    EQP_TRY(evaluate(sim, &ledger));
    low = -fastest_here(sim);
    EQP_TRY(eqp_meet(sim->comm, ledger.own, 1, &low, 0, NULL));
    sim->fastest = -low;
done:
    eqp_timings_clear(sim->evaluator.timings);
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: moving on: %s", eqp_error_text(code));
    }
    return code;
}

dd_moment dd_simulation_moment(const dd_simulation *sim)
{
    dd_moment now = {.step = sim->now.common.step,
                     .time = sim->now.common.time,
                     .next_dt = sim->stepper.dt,
                     .rate = sim->loading.rate};

    memcpy(now.stress, sim->loading.stress, sizeof now.stress);
    memcpy(now.plastic_strain, sim->loading.strain, sizeof now.plastic_strain);
    return now;
}
