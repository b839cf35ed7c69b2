/* SPDX-License-Identifier: BSD-3-Clause */
/* loadbench: a graph whose vertices cost CPU time, on MPI ranks, balanced by any method. */
#include "drive/simulation.h"

#include "../report/simulate.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Fields of the record that only graphs have ---- */

static int create_record(void *user, const char *command, app_record **record, eqp_message *message)
{
    const lb_simulation *sim = user;
    static const char *const column[] = {"      cut", "        checksum"};
    const lb_settings *s = sim->settings;
    int64_t edges = sim->domain.nedges;
    EQP_CHECK(eqp_sum_int64(sim->comm, 1, &edges));
    const eqp_field field[] = {
        eqp_field_text("generate", s->run.generate),
        eqp_field_text("scenario", s->run.snapshot != NULL ? s->run.snapshot : s->scenario_text),
        eqp_field_text("start", lb_settings_start(s)),
        eqp_field_count("edges", edges / 2),
        eqp_field_real("unit", s->unit),
        eqp_field_real("access_seconds", s->unit / LB_THOUSAND / sim->accesses),
    };
    const app_record_head head = {.program = "loadbench",
                                  .command = command,
                                  .run = &s->run,
                                  .particles = sim->domain.total,
                                  .input = s->generator.kind->name,
                                  .nfields = (int)(sizeof field / sizeof field[0]),
                                  .field = field,
                                  .ncolumns = 2,
                                  .column = column,
                                  .ends = 1};

    return app_record_create(sim->comm, &head, record, message);
}

/* A sample of vertices, by rank. */
static int show(app_record *record, const lb_simulation *sim)
{
    const lb_domain *domain = &sim->domain;
    APP_FREED app_sample *sample = NULL;
    int64_t n = 0;

    EQP_CHECK(eqp_array_create(&sample, domain->n, sizeof *sample));
    for (int64_t i = 0; i < domain->n; i++) {
        const lb_vertex *vertex = &domain->vertex[i];
        if (app_record_wants(record, domain->total, (uint64_t)vertex->id)) {
            const double *at = vertex->centre;
            sample[n++] = (app_sample){.rank = domain->rank, .x = {{at[0], at[1], at[2]}}};
        }
    }
    return app_record_show(record, sim->now.common.step, n, sample);
}

static int add_step(void *user, app_record *record, eqp_message *message)
{
    const lb_simulation *sim = user;
    const lb_step *now = &sim->now;
    char cut[24], checksum[24];
    const char *const cell[] = {cut, checksum};

    snprintf(cut, sizeof cut, "%" PRId64, now->cut);
    snprintf(checksum, sizeof checksum, "%016" PRIx64, now->checksum);
    const eqp_field field[] = {
        eqp_field_count("cut", now->cut),
        eqp_field_count("sum", now->sum),
        eqp_field_text("checksum", checksum),
    };
    const app_record_row row = {.step = &now->common,
                                .rows = sim->row,
                                .row_bytes = sizeof *sim->row,
                                .nfields = (int)(sizeof field / sizeof field[0]),
                                .field = field,
                                .cell = cell};

    EQP_CHECK(app_record_step(record, &row, message));
    return app_record_shows(record, now->common.step) ? show(record, sim) : EQP_OK;
}

static int finish_record(void *user, app_record *record, eqp_message *message, eqp_message *note)
{
    const lb_simulation *sim = user;
    static const char *const kind[] = {"thousandth"};
    const app_record_totals totals = {.interactions = sim->now.common.interactions,
                                      .nkinds = 1,
                                      .kind = kind,
                                      .count = &sim->now.common.interactions,
                                      .costs = eqp_balancer_costs(sim->balancer),
                                      .cost_kind = kind,
                                      .correlation = sim->now.common.correlation,
                                      .balancer = sim->balancer};

    return app_record_finish(record, &totals, message, note);
}

/* ---- Steps ---- */

typedef struct running {
    lb_simulation sim;
    lb_settings settings;
} running;

static int take_step(void *user, eqp_message *message)
{
    return lb_simulation_step(user, message);
}

static int create(void *user, MPI_Comm comm, bool compares, app_run *steps, app_comparison *comparison,
                  eqp_message *message)
{
    running *r = user;

    if (compares) {
        app_compare_first(&r->settings.run);
    }
    EQP_CHECK(lb_simulation_create(comm, &r->settings, &r->sim, message));
    *steps = (app_run){.comm = r->sim.comm, .now = &r->sim.now.common, .step = take_step};
    comparison->balancer = r->sim.balancer;
    return EQP_OK;
}

static void destroy(void *user)
{
    lb_simulation_free(user);
}

/* After the table: total time of the steps if only the work and its balancing took any. */
static void print_summary(const lb_simulation *sim)
{
    const lb_sums *sums = &sim->sums;
    const double spent = sums->max + sums->balance;

    printf("\nCPU seconds, sum of the steps: %.4f of the slowest ranks' work, %.4f if it were even, %.4f in balancing\n"
           "efficiency %.1f%%; checksum of the values %016" PRIx64 ", their sum %lld\n",
           sums->max, sums->mean, sums->balance, spent > 0 ? 100.0 * sums->mean / spent : 100.0, sim->now.checksum,
           (long long)sim->now.sum);
}

static void print(const void *user, app_print_part part)
{
    const lb_simulation *sim = user;
    const lb_settings *s = sim->settings;
    const int nranks = sim->domain.nranks;

    if (part == APP_TITLE || part == APP_COMPARED) {
        printf("loadbench %s: %lld vertices (%s), ", eqp_version(), (long long)sim->domain.total, s->run.generate);
    }
    if (part == APP_TITLE) {
        printf("weights by %s, on %d rank%s, --balance %s\n\n",
               s->run.snapshot != NULL ? s->run.snapshot : s->scenario_text, nranks, app_plural(nranks),
               s->run.balance);
    } else if (part == APP_COMPARED) {
        printf("compared on %d rank%s", nranks, app_plural(nranks));
    } else if (part == APP_SUMMARY) {
        print_summary(sim);
    }
}

static int simulate(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    const lb_settings *settings = values;
    running r = {.settings = *settings};
    const app_simulation simulation = {.program = "loadbench",
                                       .run = &settings->run,
                                       .naming = &app_no_output,
                                       .user = &r,
                                       .create = create,
                                       .free = destroy,
                                       .print = print,
                                       .record_create = create_record,
                                       .record_step = add_step,
                                       .record_finish = finish_record};

    return app_simulate(&simulation, comm, command, stopped, message);
}

static int answer(const void *values, char **text, eqp_message *message)
{
    (void)message;
    return app_run_asks(((const lb_settings *)values)->scenario_text) ? app_run_list_recipes(&lb_scenarios, text)
                                                                      : EQP_OK;
}

int main(int argc, char **argv)
{
    lb_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {lb_settings_table(), &settings,     answer, lb_settings_complete, simulate, NULL,
                                 {1e-5, 1.0, 1.0},    &lb_generators};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
