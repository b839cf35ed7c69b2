/* SPDX-License-Identifier: BSD-3-Clause */
#include "balance.h"

#include "../../../report/run_record.h"
#include "../../../shell/signals.h"
#include "../files/input.h"

#include "problem.h"

#include <math.h>

/* A new map aims at this share of the imbalance tolerance, so that it can age. */
#define FRESH_SHARE 0.25

/* Assigning work units as fine as this share of the tolerance costs hardly anything. */
#define FINEST_SHARE 0.05

/* Smallest imbalance used to size work units; below it there would be too many for any method. */
#define FINEST_UNITS 1e-4

/* A new map is made if remeshing raises the imbalance this far above the prediction. */
#define JUMP 0.03

int dd_balance_create(dd_simulation *sim, eqp_message *message)
{
    const app_run_settings *run = &sim->settings->run;
    eqp_balancer_options options = app_run_balancing(run);

    EQP_CHECK(eqp_agree(sim->comm, app_run_check_ranks("dislocation", run, sim->domain.nranks, message), message));
    options.policy.jump = JUMP;
    options.assign_tol = FINEST_SHARE * options.imbalance_tol;
    options.fresh_tol = fmax(FRESH_SHARE * options.imbalance_tol, FINEST_UNITS);
    sim->problem = (dd_problem){.sim = sim};
    const eqp_problem functions = dd_problem_functions(&sim->problem);
    EQP_CHECK(app_run_balancer_create("dislocation", sim->comm, &functions, &options, &sim->balancer, message));
    sim->domain.plan = *eqp_balancer_plan(sim->balancer);
    return EQP_OK;
}

/* Moves nodes to their new homes; a shared node goes to one of its sharers. Collective. */
static int follow(dd_simulation *sim, const eqp_advice *advice, dd_moved *moved)
{
    const dd_network *network = &sim->domain.network;
    DD_FREED int *dest = NULL;

    sim->domain.plan = *eqp_balancer_plan(sim->balancer);
    if (!advice->changed) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_agree(sim->comm, eqp_array_create(&dest, network->n, sizeof *dest), NULL));
    for (int64_t i = 0; i < network->n; i++) {
        const eqp_placement *placement = &advice->placement[i];
        dest[i] = placement->home;
        network->node[i].split = placement->tag >= 0 ? -1 : -1 - placement->tag;
    }
    return eqp_agree(sim->comm, dd_domain_migrate(&sim->domain, EQP_OK, dest, moved), NULL);
}

static int64_t steps_left(const dd_simulation *sim)
{
    return sim->input.last_step - sim->now.common.step;
}

static int make_map(dd_simulation *sim, eqp_message *message)
{
    eqp_advice advice;

    EQP_CHECK(eqp_balancer_advise(sim->balancer, steps_left(sim), &advice, message));
    EQP_CHECK(follow(sim, &advice, &sim->work.moved));
    sim->work.row.common.bytes_sent += (double)advice.bytes;
    return EQP_OK;
}

/* Moves nodes to the ranks whose boxes they are in. Collective, as dd_domain_migrate(). */
static int settle(dd_domain *domain, int code, const eqp_boxes *boxes, dd_moved *moved)
{
    DD_FREED int *dest = NULL;

    code = code == EQP_OK ? eqp_array_create(&dest, domain->network.n, sizeof *dest) : code;
    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        dest[i] = eqp_boxes_find(boxes, domain->network.node[i].x);
    }
    return dd_domain_migrate(domain, code, dest, moved);
}

static int homes_of_state(dd_simulation *sim, int **dest)
{
    dd_network *network = &sim->domain.network;

    EQP_CHECK(eqp_array_create(dest, network->n, sizeof **dest));
    for (int64_t i = 0; i < network->n; i++) {
        uint64_t key;
        EQP_CHECK(dd_key(&sim->domain, network->node[i].x, &key));
        const app_run_of_keys *run = app_state_find(&sim->state, key);
        network->node[i].split = (int)run->value[0];
        (*dest)[i] = (int)run->value[1];
    }
    return EQP_OK;
}

/* Moves nodes to the homes they had. Collective. */
static int resume_homes(dd_simulation *sim, dd_moved *moved)
{
    DD_FREED int *dest = NULL;

    const int code = homes_of_state(sim, &dest);
    return eqp_agree(sim->comm, dd_domain_migrate(&sim->domain, code, dest, moved), NULL);
}

int dd_balance_begin(dd_simulation *sim, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    eqp_advice advice;
    dd_moved moved = {0, 0};

    (void)eqp_busy_seconds(); /* from here on waiting does not count as work */
    sim->work = (dd_work){.walls_moved = sim->boxes != NULL};
    if (sim->boxes != NULL) {
        EQP_CHECK(eqp_agree(sim->comm, settle(&sim->domain, EQP_OK, sim->boxes, &moved), NULL));
    } else if (sim->resumes) {
        EQP_CHECK(resume_homes(sim, &moved));
    } else {
        EQP_CHECK(eqp_balancer_begin(sim->balancer, &advice, message));
        EQP_CHECK(follow(sim, &advice, &moved));
    }
    sim->work.row.common.balance_seconds = eqp_cpu_seconds_since(begin);
    return EQP_OK;
}

int dd_balance_weigh(dd_simulation *sim, bool *made, eqp_message *message)
{
    const unsigned weighs = sim->settings->run.method->flags & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS);
    eqp_rank_row *row = &sim->work.row.common;

    *made = sim->boxes == NULL && weighs != 0 && !sim->resumes;
    if (*made) {
        EQP_CHECK(eqp_balancer_learn(sim->balancer, sim->evaluator.timings));
        const double begin = eqp_cpu_seconds();
        EQP_CHECK(make_map(sim, message));
        EQP_CHECK(dd_plan(sim));
        row->balance_seconds += eqp_cpu_seconds_since(begin);
        /* The recorded forces are those of the new map. */
        eqp_timings_clear(sim->evaluator.timings);
        row->load = row->exchange_seconds = row->helped = 0.0;
        memset(sim->work.count, 0, sizeof sim->work.count);
        memset(sim->work.mapped, 0, sizeof sim->work.mapped);
    }
    return EQP_OK;
}

/* Direction in which walls move, see dd_walls_turn(), at the interval of the control file or the command line. A round
 * of sectioning takes three steps and moves all directions whatever interval the command line sets. */
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
    return sim->now.common.step > sim->input.control.first_step ? dd_walls_turn(bisection, every, sim->now.common.step)
                                                                : -1;
}

void dd_balance_follow(dd_simulation *sim)
{
    if (sim->boxes != NULL) {
        sim->failed = settle(&sim->domain, sim->failed, sim->boxes, &sim->work.moved);
    }
}

static int move_walls(dd_simulation *sim, int turn)
{
    DD_FREED double *loads = NULL;

    EQP_CHECK(eqp_agree(sim->comm, eqp_array_create(&loads, sim->domain.nranks, sizeof *loads), NULL));
    if (MPI_Allgather(&sim->box_load, 1, MPI_DOUBLE, loads, 1, MPI_DOUBLE, sim->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    EQP_CHECK(eqp_agree(sim->comm, dd_walls_move(&sim->domain, sim->cells, loads, turn, sim->boxes), NULL));
    sim->work.walls_moved = true;
    dd_balance_follow(sim);
    return EQP_OK;
}

int dd_balance(dd_simulation *sim, eqp_message *message)
{
    const double begin = eqp_cpu_seconds();
    const int turn = sim->boxes != NULL ? walls_due(sim) : -1;
    eqp_advice keep;

    sim->work = (dd_work){.begin = 0};
    if (sim->boxes == NULL && !eqp_balancer_due(sim->balancer)) {
        /* a restart may end at another step */
        EQP_CHECK(eqp_balancer_advise(sim->balancer, steps_left(sim), &keep, NULL));
    } else if (sim->boxes == NULL || turn >= 0) {
        EQP_CHECK(eqp_agree(sim->comm, sim->failed, NULL));
        EQP_CHECK(sim->boxes != NULL ? move_walls(sim, turn) : make_map(sim, message));
        EQP_CHECK(dd_plan(sim));
        sim->work.row.common.balance_seconds += eqp_cpu_seconds_since(begin);
    }
    sim->work.begin = eqp_busy_seconds();
    return EQP_OK;
}

void dd_work_add(dd_work *work, const dd_evaluator *evaluator)
{
    eqp_rank_row *row = &work->row.common;

    work->evaluations++;
    row->load += evaluator->seconds;
    row->exchange_seconds += evaluator->exchange_seconds;
    row->bytes_sent += (double)evaluator->bytes;
    row->helped += (double)evaluator->helped;
    for (int k = 0; k < DD_KINDS; k++) {
        work->count[k] += evaluator->total.of[k];
        work->mapped[k] += evaluator->mapped.of[k];
    }
}

static void fill_row(dd_simulation *sim, dd_rank_row *row)
{
    const dd_counts *total = &sim->evaluator.total;

    row->common.particles = (double)sim->domain.network.n;
    row->common.targets = (double)sim->stage.ntargets;
    row->common.ghosts =
        (double)sim->stage.nghosts; /* segments, as in a what-if; they contain their neighbours' ends */
    row->common.interactions = (double)(total->of[DD_KIND_PAIR] + total->of[DD_KIND_PARALLEL]);
    row->common.migrated = (double)sim->work.moved.nodes;
    row->common.bytes_moved = (double)sim->work.moved.bytes;
    row->common.bytes_sent += row->common.bytes_moved;
    app_row_exchanged(&row->common, DD_PHASES, sim->evaluator.traffic);
    for (int k = 0; k < DD_KINDS; k++) {
        row->count[k] = (double)total->of[k];
    }
    row->segments = (double)sim->stage.nown;
    row->length = 0.0;
    for (int64_t own = 0; own < sim->stage.nown; own++) {
        const dd_segment segment = dd_stage_segment(&sim->stage, sim->stage.own_local[own]);
        row->length += dd_segment_length(&segment);
    }
    row->common.busy_seconds = sim->work.begin > 0 ? eqp_busy_seconds() - sim->work.begin : 0.0;
}

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

/* Load that walls follow: measured CPU seconds; predicted ones if speeds are declared or this rank has computed work of
 * other boxes. */
static double load_of_box(const dd_simulation *sim)
{
    const eqp_cost_fit *costs = eqp_balancer_costs(sim->balancer);
    const bool declared = sim->settings->run.share.kind == EQP_SHARE_SPEEDS;
    const double speed = declared ? eqp_balancer_speeds(sim->balancer)[sim->domain.rank] : 1.0;

    if (sim->evaluator.loop != NULL) {
        return eqp_cost_fit_predict(costs, sim->work.mapped) / speed;
    }
    return declared ? eqp_cost_fit_predict(costs, sim->work.count) / speed : sim->work.row.common.load;
}

int dd_balance_record(dd_simulation *sim)
{
    double low[2] = {-app_signals_pending(), -dd_fastest(sim)};
    const eqp_work work = {.row = &sim->work.row.common,
                           .row_bytes = sizeof sim->work.row,
                           .rows = sim->row,
                           .count = sim->work.count,
                           .last = sim->evaluator.total.of,
                           .evaluations = sim->work.evaluations,
                           .timings = sim->evaluator.timings,
                           .moved = sim->work.walls_moved,
                           .code = sim->failed,
                           .nlows = 2,
                           .low = low};

    fill_row(sim, &sim->work.row);
    sim->box_load = load_of_box(sim);
    EQP_CHECK(eqp_balancer_record(sim->balancer, &work, &sim->now.common));
    sim->signal = (int)-low[0];
    sim->fastest = -low[1];
    add_rows(sim);
    sim->now.evaluations = sim->work.evaluations;
    sim->now.stress = dd_loading_along(&sim->loading, sim->loading.stress);
    sim->now.strain = dd_loading_along(&sim->loading, sim->loading.strain);
    return EQP_OK;
}

int dd_walls_create(const dd_domain *domain, int nparts, const eqp_paradis_control *control, bool bisection,
                    eqp_boxes **boxes)
{
    int n[3] = {control->domains[0], control->domains[1], control->domains[2]};
    double high[3];
    int code = EQP_OK;

    for (int d = 0; d < 3; d++) {
        high[d] = domain->low[d] + domain->edge[d];
    }
    if ((int64_t)n[0] * n[1] * n[2] != nparts) {
        code = eqp_boxes_geometry(nparts, n);
    }
    return code == EQP_OK
               ? eqp_boxes_create(bisection ? EQP_BOXES_BISECTION : EQP_BOXES_SECTIONS, domain->low, high, n, boxes)
               : code;
}

int dd_walls_turn(bool bisection, int64_t every, int64_t step)
{
    const int64_t phase = every > 0 ? step % every : 3;

    return phase < (bisection ? 1 : 3) ? (int)phase : -1;
}

int dd_walls_move(const dd_domain *domain, const int64_t cells[3], const double *loads, int turn, eqp_boxes *boxes)
{
    eqp_boxes_options options = eqp_boxes_options_defaults();

    options.direction = turn;
    for (int d = 0; d < 3; d++) {
        options.cell[d] = domain->edge[d] / (double)cells[d];
    }
    return eqp_boxes_rebalance(boxes, loads, &options, NULL);
}

/* A node's curve key, its index in the map's table of owners (-1: none) and its home. */
static int node_runs(const dd_simulation *sim, app_run_of_keys **runs)
{
    const dd_network *network = &sim->domain.network;

    EQP_CHECK(eqp_array_create(runs, network->n, sizeof **runs));
    for (int64_t i = 0; i < network->n; i++) {
        (*runs)[i] = (app_run_of_keys){0, {network->node[i].split, sim->domain.rank}};
        EQP_CHECK(dd_key(&sim->domain, network->node[i].x, &(*runs)[i].key));
    }
    return EQP_OK;
}

int dd_resume_write(const dd_simulation *sim, char **lines)
{
    const uint64_t own[] = {sim->owed};
    DD_FREED app_run_of_keys *runs = NULL;
    DD_FREED_BY(app_words_free) app_words words = {.n = 0};

    if (sim->boxes != NULL) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_agree(sim->comm, node_runs(sim, &runs), NULL));
    EQP_CHECK(app_state_make(sim->comm, sim->balancer, sim->settings->run.choice.word, 1, own, sim->domain.network.n,
                             runs, &words));
    return eqp_agree(sim->comm, app_words_print(&words, lines), NULL);
}

static bool can_be_state(const dd_simulation *sim)
{
    const app_state *state = &sim->state;
    const int64_t nshared = eqp_map_shared(eqp_balancer_map(sim->balancer));
    bool can_be = state->nown == 1 && state->nruns >= 1;

    for (int64_t i = 0; i < state->nruns && can_be; i++) {
        const int64_t *value = state->run[i].value;
        can_be = value[0] >= -1 && value[0] < nshared && value[1] >= 0 && value[1] < sim->domain.nranks;
    }
    return can_be;
}

int dd_resume_take(dd_simulation *sim, eqp_message *message)
{
    const app_run_settings *run = &sim->settings->run;
    DD_FREED char *data = NULL;
    DD_FREED char *ctrl = NULL;
    bool taken = false;

    if (run->restart == NULL || run->ncompare > 0 || sim->boxes != NULL) {
        return EQP_OK;
    }
    EQP_CHECK(dd_files_pair(run->restart, &data, &ctrl));
    EQP_CHECK(app_words_find(ctrl, &sim->words, message));
    if (sim->words.n > 0) {
        EQP_CHECK(app_state_read(&sim->words, ctrl, sim->domain.nranks, run->choice.word, &sim->state, message));
        EQP_CHECK(app_state_take(&sim->state, sim->balancer, &taken));
        sim->resumes = taken && sim->state.fits && can_be_state(sim);
        sim->domain.plan = *eqp_balancer_plan(sim->balancer);
    }
    return EQP_OK;
}

int dd_resume_again(dd_simulation *sim)
{
    bool taken;
    const int code =
        sim->resumes && sim->state.own[0] == 0 ? app_state_take(&sim->state, sim->balancer, &taken) : EQP_OK;

    app_words_free(&sim->words);
    return code;
}
