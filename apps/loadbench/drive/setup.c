/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "../../report/loads.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>

/* Least CPU seconds of a measurement, and the number of measurements of which the best counts. */
#define MEASURED_SECONDS 0.001
#define MEASUREMENTS 8
#define MOST_ACCESSES (INT64_C(1) << 26)

/* Loads of a record at most: a gigabyte. */
#define MOST_LOADS (INT64_C(1) << 27)

/* The rows of a loads.csv. */
typedef struct record {
    int64_t n, room;
    double *load;
} record;

static int take_load(void *user, const app_load *row)
{
    record *r = user;
    int code;

    EQP_TRY(r->n < MOST_LOADS ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(eqp_array_reserve(&r->load, &r->room, r->n + 1, sizeof *r->load));
    r->load[r->n++] = row->load;
done:
    return code;
}

/* Every rank reads the file: all are to see the same. */
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

/* CPU seconds of one access, on this rank: the least of several measurements. */
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
    return best > 0 ? best : 1e-9; /* a clock that stands still */
}

/* One weight means the same work on all ranks: as the fastest of them has measured. */
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
