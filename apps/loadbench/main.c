/* SPDX-License-Identifier: BSD-3-Clause */
/* loadbench: a graph whose vertices cost time, on MPI ranks, balanced by any method. */
#include "drive/simulation.h"

#include "../report/compare.h"
#include "../shell/shell.h"
#include "../shell/signals.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Fields of the record that only graphs have ---- */

static int create_record(const lb_simulation *sim, const char *command, app_record **record, eqp_message *message)
{
    static const char *const column[] = {"      cut", "        checksum"};
    const lb_settings *s = sim->settings;
    int64_t edges = sim->domain.nedges;
    int code = eqp_sum_int64(sim->comm, 1, &edges);
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

    return code == EQP_OK ? app_record_create(sim->comm, &head, record, message) : code;
}

/* Some vertices, by the rank that they live on. Collective. */
static int show(app_record *record, const lb_simulation *sim, int code, eqp_message *message)
{
    const lb_domain *domain = &sim->domain;
    app_sample *sample = NULL;
    int64_t n = 0;

    code = code == EQP_OK ? eqp_array_create(&sample, domain->n, sizeof *sample) : code;
    for (int64_t i = 0; i < domain->n && code == EQP_OK; i++) {
        const lb_vertex *vertex = &domain->vertex[i];
        if (app_record_wants(record, domain->total, (uint64_t)vertex->id)) {
            const double *at = vertex->centre;
            sample[n++] = (app_sample){.rank = domain->rank, .x = {{at[0], at[1], at[2]}}};
        }
    }
    code = app_record_show(record, sim->now.common.step, code, n, sample, message);
    free(sample);
    return code;
}

static int add_step(app_record *record, const lb_simulation *sim, eqp_message *message)
{
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

    const int code = app_record_step(record, &row, message);
    return app_record_shows(record, now->common.step) ? show(record, sim, code, message) : code;
}

static int finish_record(app_record *record, const lb_simulation *sim, eqp_message *message, eqp_message *note)
{
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

/* State of the steps. */
typedef struct running {
    lb_simulation *sim;
    app_record *record;
} running;

static int take_step(void *user, eqp_message *message)
{
    return lb_simulation_step(((running *)user)->sim, message);
}

static int record_step(void *user, eqp_message *message)
{
    const running *r = user;
    int code;

    EQP_TRY(add_step(r->record, r->sim, message));
    app_record_print(r->record);
done:
    return code;
}

static bool speaks(const lb_simulation *sim)
{
    return !sim->settings->run.quiet && sim->domain.rank == 0;
}

static void print_title(const lb_simulation *sim)
{
    const lb_settings *s = sim->settings;

    if (speaks(sim)) {
        printf("loadbench %s: %lld vertices (%s), weights by %s, on %d rank%s, --balance %s\n\n", eqp_version(),
               (long long)sim->domain.total, s->run.generate,
               s->run.snapshot != NULL ? s->run.snapshot : s->scenario_text, sim->domain.nranks,
               app_plural(sim->domain.nranks), s->run.balance);
    }
}

/* Steps with the time that they would take where nothing but the work and its balance took any. */
static void print_summary(const lb_simulation *sim)
{
    const lb_sums *sums = &sim->sums;
    const double spent = sums->max + sums->balance;

    if (speaks(sim)) {
        printf("\nCPU seconds, sum of the steps: %.4f of the slowest ranks' work, %.4f if it were even, %.4f in "
               "balancing\n"
               "efficiency %.1f%%; checksum of the values %016" PRIx64 ", their sum %lld\n",
               sums->max, sums->mean, sums->balance, spent > 0 ? 100.0 * sums->mean / spent : 100.0, sim->now.checksum,
               (long long)sim->now.sum);
    }
}

/* Writes the files of a run, and a note to stderr. */
static int finish(const lb_simulation *sim, app_record *record, eqp_message *message)
{
    eqp_message note = {""};
    const int code = finish_record(record, sim, message, &note);

    if (code == EQP_OK && note.text[0] != '\0' && sim->domain.rank == 0) {
        fprintf(stderr, "%s\n", note.text);
    }
    return code;
}

static int simulate_steps(MPI_Comm comm, const lb_settings *settings, const char *command, int *stopped,
                          eqp_message *message)
{
    lb_simulation sim;
    running user = {&sim, NULL};
    int code = lb_simulation_create(comm, settings, &sim, message);

    if (code != EQP_OK) {
        return code;
    }
    const app_run steps = {.program = "loadbench",
                           .settings = &settings->run,
                           .naming = &app_no_output,
                           .comm = sim.comm,
                           .user = &user,
                           .now = &sim.now.common,
                           .step = take_step,
                           .record = record_step};
    EQP_TRY(create_record(&sim, command, &user.record, message));
    print_title(&sim);
    EQP_TRY(app_run_steps(&steps, stopped, message));
    EQP_TRY(finish(&sim, user.record, message));
    print_summary(&sim);
    app_record_print_error(user.record);
    EQP_TRY(app_check_printed("loadbench", message));
done:
    app_record_free(user.record);
    lb_simulation_free(&sim);
    return code;
}

static int print_comparison(const lb_simulation *sim, const app_comparison *comparison, eqp_message *message)
{
    char *text = NULL;
    int code = speaks(sim) ? app_compare_text(comparison, &text) : EQP_OK;

    if (text != NULL) {
        printf("loadbench %s: %lld vertices (%s), compared on %d rank%s\n\n%s", eqp_version(),
               (long long)sim->domain.total, sim->settings->run.generate, sim->domain.nranks,
               app_plural(sim->domain.nranks), text);
    }
    free(text);
    return code == EQP_OK ? app_check_printed("loadbench", message) : code;
}

/* --compare: no steps. */
static int simulate_compare(MPI_Comm comm, const lb_settings *settings, const char *command, eqp_message *message)
{
    lb_settings first = *settings;
    lb_simulation sim;
    app_record *record = NULL;
    app_comparison comparison = {.program = "loadbench", .run = &settings->run};
    int code;

    app_compare_first(&first.run);
    code = lb_simulation_create(comm, &first, &sim, message);
    if (code != EQP_OK) {
        return code;
    }
    EQP_TRY(create_record(&sim, command, &record, message));
    EQP_TRY(add_step(record, &sim, message));
    comparison.comm = sim.comm;
    comparison.balancer = sim.balancer;
    EQP_TRY(app_compare(&comparison, record, message));
    app_signals_keep(); /* a file that is begun is completed */
    EQP_TRY(finish(&sim, record, message));
    EQP_TRY(print_comparison(&sim, &comparison, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "loadbench: --compare: %s", eqp_error_text(code));
    }
    app_record_free(record);
    app_compare_free(&comparison);
    lb_simulation_free(&sim);
    return code;
}

static int simulate(MPI_Comm comm, const void *values, const char *command, int *stopped, eqp_message *message)
{
    const lb_settings *settings = values;
    app_places places;
    int code = app_places_take(comm, "loadbench", &settings->run, &app_no_output, NULL, &places, message);

    if (code != EQP_OK) {
        return code;
    }
    code = settings->run.ncompare > 0 ? simulate_compare(comm, settings, command, message)
                                      : simulate_steps(comm, settings, command, stopped, message);
    app_places_free(&places);
    return code;
}

/* The lists of names. */
static int answer(const void *values, char **text, eqp_message *message)
{
    const lb_settings *settings = values;

    (void)message;
    if (app_run_asks(settings->run.balance)) {
        return app_run_list_methods(NULL, text);
    }
    if (app_run_asks(settings->scenario_text)) {
        return app_run_list_recipes(&lb_scenarios, text);
    }
    return app_run_asks(settings->run.generate) ? app_run_list_recipes(&lb_generators, text) : EQP_OK;
}

static int complete(void *values, eqp_message *message)
{
    return lb_settings_complete(values, message);
}

int main(int argc, char **argv)
{
    lb_settings settings = {.run = {.snapshot = NULL}};
    const app_program program = {lb_settings_table(), &settings, answer, complete, simulate, NULL, {1e-5, 1.0, 1.0}};
    const int status = app_main(&program, MPI_COMM_WORLD, argc, argv);

    app_run_settings_free(&settings.run);
    return status;
}
