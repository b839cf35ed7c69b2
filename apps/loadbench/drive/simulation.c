/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "../../report/loads.h"
#include "../../report/run_record.h"
#include "../../shell/signals.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CPU seconds between two polls for a signal. */
#define LOOK_SECONDS 0.002

/* Every vertex is an owner, whole at its home, and its neighbours are its pins. */
static int survey(void *user, eqp_survey_kind kind, eqp_survey *owners)
{
    const lb_simulation *sim = user;
    const lb_domain *domain = &sim->domain;
    int64_t e = 0;

    EQP_CHECK(eqp_survey_reserve(owners, domain->n));
    for (int64_t v = 0; v < domain->n; v++) {
        const lb_vertex *vertex = &domain->vertex[v];
        eqp_owner owner = {.key = vertex->key,
                           .id = vertex->id,
                           .pin = vertex->id,
                           .particles = 1,
                           .home = domain->rank,
                           .at_home = v,
                           .bytes = lb_vertex_bytes(vertex),
                           .tag = domain->rank,
                           .label = domain->vertex[v].label,
                           .interactions = vertex->degree + 1};
        memcpy(owner.centre, vertex->centre, sizeof owner.centre);
        owner.count[0] = kind == EQP_SURVEY_WORK ? vertex->weight : 0;
        for (const int64_t end = e + vertex->degree; e < end; e++) {
            if (kind == EQP_SURVEY_WORK && eqp_survey_pin_below(owners) > 0) {
                EQP_CHECK(eqp_survey_add_pin(owners, domain->edge[e].to));
            }
        }
        EQP_CHECK(eqp_survey_add_owner(owners, &owner));
    }
    return EQP_OK;
}

static int label(void *user, int64_t first)
{
    lb_domain *domain = &((lb_simulation *)user)->domain;

    for (int64_t v = 0; v < domain->n; v++) {
        domain->vertex[v].label = first + v;
    }
    return EQP_OK;
}

eqp_problem lb_simulation_problem(lb_simulation *sim)
{
    return (eqp_problem){.user = sim, .nkinds = 1, .nominal = &sim->nominal, .survey = survey, .label = label};
}

/* Does the work of all vertices of this rank and records it in their histories. */
static int work_on_vertices(lb_simulation *sim, int64_t *weight)
{
    lb_domain *domain = &sim->domain;
    const double look = LB_THOUSAND * LOOK_SECONDS / sim->settings->unit;
    double unseen = 0.0, owed = 0.0;

    *weight = 0;
    for (int64_t v = 0; v < domain->n; v++) {
        lb_vertex *vertex = &domain->vertex[v];
        vertex->weight = lb_scenario_weight(sim->scenario, vertex->id, domain->total, vertex->centre, vertex->base);
        vertex->history = (vertex->history ^ (uint64_t)vertex->weight) * UINT64_C(0x9e3779b97f4a7c15) + 1;
        *weight += vertex->weight;
        /* In pieces, since one vertex may take seconds. */
        for (double left = (double)vertex->weight; left > 0;) {
            const double piece = fmin(left, fmax(1.0, look));
            owed += piece * sim->accesses;
            sim->sink = lb_work_do(&sim->work, (int64_t)owed, sim->sink);
            owed -= floor(owed);
            left -= piece;
            unseen += piece;
            if (unseen >= look) {
                unseen = 0.0;
                EQP_CHECK(app_signals_stop());
            }
        }
    }
    return EQP_OK;
}

/* Works while values travel. */
static int compute(lb_simulation *sim, eqp_rank_row *row)
{
    lb_domain *domain = &sim->domain;
    int64_t weight;
    double begin = eqp_cpu_seconds();
    int code, worked;

    (void)lb_domain_start(domain); /* finish returns its error on all ranks */
    row->exchange_seconds = eqp_cpu_seconds_since(begin);
    begin = eqp_cpu_seconds();
    worked = work_on_vertices(sim, &weight);
    row->load = eqp_cpu_seconds_since(begin);
    begin = eqp_cpu_seconds();
    code = lb_domain_finish(domain);
    row->exchange_seconds += eqp_cpu_seconds_since(begin);
    EQP_TRY(code);
    EQP_TRY(eqp_agree(sim->comm, worked, NULL));
    row->particles = row->targets = (double)domain->n;
    row->interactions = (double)weight;
    row->ghosts = (double)eqp_route_arrivals(domain->route).n;
    const eqp_route_counts counts = eqp_route_last_counts(domain->route);
    row->bytes_sent += (double)counts.bytes_sent;
    app_row_exchanged(row, 1, &counts);
done:
    return code;
}

/* Follows the balancer's advice. Before step 1 there is no map, so one is made whatever the policy. */
static int rebalance(lb_simulation *sim, eqp_rank_row *row, eqp_message *message)
{
    const int64_t left = sim->settings->run.steps - sim->now.common.step;
    const double begin = eqp_cpu_seconds();
    int64_t migrated = 0, bytes = 0;
    eqp_advice advice;
    int code;

    EQP_TRY(sim->now.common.step == 0 ? eqp_balancer_renew(sim->balancer, left, &advice, message)
                                      : eqp_balancer_advise(sim->balancer, left, &advice, message));
    if (advice.changed) {
        EQP_TRY(lb_domain_migrate(&sim->domain, advice.placement, &migrated, &bytes));
        EQP_TRY(lb_domain_connect(&sim->domain, eqp_balancer_plan(sim->balancer)));
    }
    row->migrated = (double)migrated;
    row->bytes_moved = (double)bytes;
    row->bytes_sent = (double)(bytes + advice.bytes);
done:
    row->balance_seconds = eqp_cpu_seconds_since(begin);
    return code;
}

static int conclude(lb_simulation *sim, eqp_rank_row *row)
{
    const int64_t count = (int64_t)row->interactions;
    const eqp_work work = {.row = row, .row_bytes = sizeof *row, .rows = sim->row, .count = &count};
    lb_step *now = &sim->now;

    now->cut = sim->domain.cut;
    EQP_CHECK(eqp_sum_int64(sim->comm, 1, &now->cut));
    now->cut /= 2; /* both ends counted it */
    EQP_CHECK(lb_domain_check(&sim->domain, &now->checksum, &now->sum));
    EQP_CHECK(eqp_balancer_record(sim->balancer, &work, &now->common));
    sim->sums.max += now->common.load_max;
    sim->sums.mean += now->common.load_mean;
    sim->sums.balance += now->common.balance_seconds;
    return EQP_OK;
}

static bool is_due(const lb_simulation *sim, int64_t step)
{
    const bool first = step == 1 && !(sim->settings->run.method->flags & EQP_KEEPS);

    return first || (step > 1 && eqp_balancer_due(sim->balancer));
}

int lb_simulation_step(lb_simulation *sim, eqp_message *message)
{
    eqp_step *now = &sim->now.common;
    eqp_rank_row row = {0};
    const int64_t step = sim->begun ? now->step + 1 : 0;
    int code;

    EQP_TRY(is_due(sim, step) ? rebalance(sim, &row, message) : EQP_OK);
    lb_scenario_go(sim->scenario, step);
    EQP_TRY(compute(sim, &row));
    now->step = step;
    now->time = (double)step;
    sim->begun = true;
    EQP_TRY(conclude(sim, &row));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "loadbench: step %lld: %s", (long long)step, eqp_error_text(code));
    }
    return code;
}

/* Least CPU seconds of a measurement, and the number of measurements, of which the best counts. */
#define MEASURED_SECONDS 0.001
#define MEASUREMENTS 8
#define MOST_ACCESSES (INT64_C(1) << 26)

/* Most loads of a record: a gigabyte. */
#define MOST_LOADS (INT64_C(1) << 27)

typedef struct record {
    int64_t n, room;
    double *load;
} record;

static int take_load(void *user, const app_load *row)
{
    record *r = user;

    EQP_CHECK(r->n < MOST_LOADS ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_CHECK(eqp_array_reserve(&r->load, &r->room, r->n + 1, sizeof *r->load));
    r->load[r->n++] = row->load;
    return EQP_OK;
}

/* Every rank reads the file, so that all have the same loads. */
static int replay(const char *path, lb_scenario **scenario, eqp_message *message)
{
    record r = {.n = 0};
    const app_loads_visitor visitor = {.user = &r, .row = take_load};
    eqp_message inner = {""};
    app_loads loads;
    int code = app_loads_read(path, &visitor, &loads, &inner);

    if (code == EQP_OK) {
        code = lb_scenario_replay(loads.ranks, r.n / loads.ranks, r.load, scenario);
        if (code == EQP_ERR_ARGUMENT) {
            eqp_message_set(&inner, "%.250s: all loads are 0", path);
            code = EQP_ERR_DATA;
        }
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "loadbench: %s", inner.text[0] != '\0' ? inner.text : eqp_error_text(code));
    }
    free(r.load);
    return code;
}

/* CPU seconds of one access on this rank: the least of several measurements. */
static double measure_access(lb_simulation *sim)
{
    int64_t accesses = 4096;
    double best = INFINITY, seconds;

    for (int i = 0; i < MEASUREMENTS; i++) {
        do {
            const double begin = eqp_cpu_seconds();
            sim->sink = lb_work_do(&sim->work, accesses, sim->sink);
            seconds = eqp_cpu_seconds_since(begin);
            accesses *= seconds < MEASURED_SECONDS && accesses < MOST_ACCESSES ? 2 : 1;
        } while (seconds < MEASURED_SECONDS && accesses < MOST_ACCESSES);
        best = fmin(best, seconds / (double)accesses);
    }
    return best > 0 ? best : 1e-9; /* the clock may not advance */
}

/* Makes one weight the same work on all ranks, by the speed of the fastest. */
static int calibrate(lb_simulation *sim)
{
    double seconds = measure_access(sim);

    if (MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MIN, sim->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    sim->accesses = sim->nominal / seconds;
    return EQP_OK;
}

static int create_parts(lb_simulation *sim, eqp_message *message)
{
    const lb_settings *s = sim->settings;
    int code;

    EQP_TRY(app_run_check_ranks("loadbench", &s->run, sim->domain.nranks, message));
    EQP_TRY(eqp_array_create(&sim->row, sim->domain.nranks, sizeof *sim->row));
    EQP_TRY(lb_work_create(s->array, &sim->work));
    if (s->run.snapshot != NULL) {
        EQP_TRY(replay(s->run.snapshot, &sim->scenario, message));
    } else {
        EQP_TRY(lb_scenario_create(&s->scenario, &sim->scenario));
    }
done:
    return eqp_agree(sim->comm, code, message);
}

int lb_simulation_create(MPI_Comm comm, const lb_settings *settings, lb_simulation *sim, eqp_message *message)
{
    const eqp_balancer_options options = app_run_balancing(&settings->run);
    lb_simulation made = {.settings = settings, .nominal = settings->unit / LB_THOUSAND};
    int code = eqp_comm_create(comm, &made.comm);

    if (code != EQP_OK) {
        eqp_message_set(message, "loadbench: %s", eqp_error_text(code));
        return code;
    }
    *sim = made;
    lb_domain_init(&sim->domain, sim->comm);
    const eqp_problem problem = lb_simulation_problem(sim);
    EQP_TRY(create_parts(sim, message));
    EQP_TRY(app_run_balancer_create("loadbench", sim->comm, &problem, &options, &sim->balancer, message));
    EQP_TRY(
        lb_domain_fill(&sim->domain, &settings->generator, (lb_start)settings->start, (uint64_t)settings->run.seed));
    EQP_TRY(lb_domain_connect(&sim->domain, eqp_balancer_plan(sim->balancer)));
    EQP_TRY(calibrate(sim));
    EQP_TRY(lb_simulation_step(sim, message));
done:
    if (code != EQP_OK) {
        if (message->text[0] == '\0') {
            eqp_message_set(message, "loadbench: %s", eqp_error_text(code));
        }
        lb_simulation_free(sim);
    }
    return code;
}

void lb_simulation_free(lb_simulation *sim)
{
    free(sim->row);
    sim->row = NULL;
    lb_work_free(&sim->work);
    lb_scenario_free(sim->scenario);
    sim->scenario = NULL;
    eqp_balancer_free(sim->balancer);
    sim->balancer = NULL;
    lb_domain_free(&sim->domain);
    eqp_comm_free(&sim->comm);
}
