/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_record.h"

#include "compare.h"
#include "loads.h"
#include "output/report.h"
#include "page/page.h"

#include "../shell/shell.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A sample, and the step in which it was there. */
typedef struct app_shown {
    int64_t step;
    app_sample sample;
} app_shown;

struct app_record {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    const char *program;         /* borrowed */
    const app_run_settings *run; /* borrowed */
    const int *grain_size;       /* borrowed; or NULL */
    int ncolumns;                /* the app's own in the table */
    eqp_report *report;          /* rank 0, with --report */
    eqp_csv *loads;              /* rank 0, with --report */
    bool begun;                  /* loads.csv has its name, and an older run's report.json is removed */
    int64_t first_step;          /* first step of this run; a resumed run begins later */
    bool begun_steps;            /* first_step is known */
    bool shows;                  /* there is a report, on all ranks */
    app_samples *samples;        /* rank 0, with --report */
    app_shown *shown;            /* [nshown] samples of this rank until the end, by step; owned */
    int64_t nshown, shown_room;
    int64_t *frame; /* [nframes] steps that are shown; owned */
    int64_t nframes, frame_room;
    eqp_table *table; /* rank 0, without --quiet */
    double *error;    /* [nerrors] of each step's known prediction, on rank 0; owned */
    int64_t nerrors, error_room;
    int64_t late;        /* late maps that were taken */
    eqp_lazy_phase lazy; /* of the last offer */
};

static int set_head(const app_record *record, const app_record_head *head)
{
    const app_run_settings *run = head->run;
    const eqp_field fields[] = {
        eqp_field_text("command", head->command),    eqp_field_count("seed", run->seed),
        eqp_field_count("ranks", record->nranks),    eqp_field_count("particles", head->particles),
        eqp_field_text("input", head->input),        eqp_field_text("balance", run->method->name),
        eqp_field_text("rebalance", run->rebalance), eqp_field_real("imbalance_tol", run->imbalance_tol),
        eqp_field_text("share", run->share_text),    eqp_field_text("schedule", run->schedule_text),
    };

    EQP_CHECK(app_report_set_all(record->report, (int)(sizeof fields / sizeof fields[0]), fields));
    EQP_CHECK(app_report_set_provenance(record->report));
    return app_report_set_all(record->report, head->nfields, head->field);
}

static int create_table(app_record *record, const app_record_head *head)
{
    /* Blanks make room for values of later steps. */
    static const char *const common[] = {"  step",    "rebalanced", "predicted", "measured", "   ghosts",
                                         "    bytes", "    moved",  "force s",   "balance s"};
    const int ncommon = (int)(sizeof common / sizeof common[0]);
    APP_FREED const char **header = NULL;

    EQP_CHECK(eqp_array_create(&header, ncommon + head->ncolumns, sizeof *header));
    for (int i = 0; i < ncommon + head->ncolumns; i++) {
        header[i] = i < ncommon ? common[i] : head->column[i - ncommon];
    }
    return eqp_table_create(ncommon + head->ncolumns, header, &record->table);
}

static int create_on_first(app_record *record, const app_record_head *head, eqp_message *message)
{
    const app_run_settings *run = head->run;

    if (!run->quiet) {
        EQP_CHECK(create_table(record, head));
    }
    if (run->report != NULL) {
        EQP_CHECK(eqp_report_create(head->program, run->report, &record->report, message));
        EQP_CHECK(set_head(record, head));
        EQP_CHECK(app_loads_create(run->report, &record->loads, message));
        EQP_CHECK(app_samples_create(run->report, head->ends, record->nranks, &record->samples, message));
    }
    return EQP_OK;
}

int app_record_create(MPI_Comm comm, const app_record_head *head, app_record **record, eqp_message *message)
{
    app_record *made = NULL;
    int code = eqp_array_create(&made, 1, sizeof *made);

    if (code == EQP_OK) {
        made->comm = comm;
        MPI_Comm_rank(comm, &made->rank);
        MPI_Comm_size(comm, &made->nranks);
        made->program = head->program;
        made->run = head->run;
        made->grain_size = head->grain_size;
        made->ncolumns = head->ncolumns;
        if (made->rank == 0) {
            code = create_on_first(made, head, message);
        }
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: report: %s", head->program, eqp_error_text(code));
    }
    EQP_TRY(eqp_agree(comm, code, message));
    made->shows = made->report != NULL;
    EQP_TRY(MPI_Bcast(&made->shows, sizeof made->shows, MPI_BYTE, 0, comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
    *record = made;
    made = NULL;
done:
    app_record_free(made);
    return code;
}

void app_record_free(app_record *record)
{
    if (record != NULL) {
        eqp_table_free(record->table);
        eqp_csv_free(record->loads);
        free(record->error);
        free(record->shown);
        free(record->frame);
        app_samples_discard(record->samples);
        eqp_report_free(record->report);
        free(record);
    }
}

/* Predicted over measured seconds of a step, minus 1; NaN if either is unknown. */
static double error_of(const eqp_step *now)
{
    return now->step_measured > 0 && now->step_predicted > 0 ? now->step_predicted / now->step_measured - 1 : NAN;
}

static int add_step(app_record *record, const app_record_row *row)
{
    static const char *const actions[] = {[EQP_KEEP] = "keep", [EQP_REPAIR] = "repair", [EQP_RENEW] = "renew"};
    const eqp_step *now = row->step;
    double shape = NAN, scale = NAN;

    if (now->unit_sizes.n > 1) {
        /* NaN, null in the report, if no distribution fits. */
        (void)eqp_sizes_fit_gamma(&now->unit_sizes, &shape, &scale);
    }
    const eqp_field common[] = {
        eqp_field_count("step", now->step),
        eqp_field_real("time", now->time),
        eqp_field_text("method", record->run->method->name),
        eqp_field_bool("rebalanced", now->rebalanced),
        eqp_field_real("imbalance_predicted", now->imbalance_predicted),
        eqp_field_real("imbalance_measured", now->imbalance_measured),
        eqp_field_real("imbalance_promised", now->imbalance_promised),
        eqp_field_real("cycle_efficiency", now->cycle_efficiency),
        eqp_field_real("force_seconds_max", now->load_max),
        eqp_field_real("force_seconds_mean", now->load_mean),
        eqp_field_real("exchange_seconds_max", now->exchange_seconds),
        eqp_field_real("balance_seconds", now->balance_seconds),
        eqp_field_real("step_seconds_predicted", now->step_predicted),
        eqp_field_real("step_seconds_measured", now->step_measured),
        eqp_field_real("step_error", error_of(now)),
        eqp_field_count("interactions", now->interactions),
        eqp_field_count("migrated", now->migrated),
        eqp_field_count("ghosts_total", now->ghosts_total),
        eqp_field_count("ghosts_max", now->ghosts_max),
        eqp_field_count("bytes_sent", now->bytes_sent),
        eqp_field_count("bytes_moved", now->bytes_moved),
        eqp_field_count("bytes_total", now->bytes_total),
        eqp_field_count("bytes_max", now->bytes_max),
        eqp_field_count("messages_max", now->messages_max),
        eqp_field_count("handed", now->handed),
        eqp_field_count("units", now->units),
        eqp_field_count("split_owners", now->split_owners),
        eqp_field_real("unit_weight_max", now->unit_sizes.max),
        eqp_field_real("unit_weight_shape", shape),
        eqp_field_real("unit_weight_scale", scale),
        eqp_field_text("action", actions[now->action]),
        eqp_field_text("why", now->why),
        eqp_field_count("map_age", now->map_age),
        eqp_field_real("memory_max", now->memory_max),
        eqp_field_real("memory_use", now->memory_use),
        eqp_field_text("chosen", now->chosen),
    };
    /* The last field belongs to `auto`. */
    const int ncommon = (int)(sizeof common / sizeof common[0]) - (now->chosen[0] != '\0' ? 0 : 1);
    APP_FREED eqp_field *all = NULL;

    record->late += now->action == EQP_RENEW && now->map_age > 0;
    record->lazy = now->lazy;
    EQP_CHECK(eqp_array_create(&all, ncommon + row->nfields, sizeof *all));
    for (int i = 0; i < ncommon + row->nfields; i++) {
        all[i] = i < ncommon ? common[i] : row->field[i - ncommon];
    }
    return eqp_report_add_step(record->report, ncommon + row->nfields, all);
}

static int add_error(app_record *record, const eqp_step *now)
{
    const double error = fabs(error_of(now));

    if (!isnan(error)) {
        EQP_CHECK(eqp_array_reserve(&record->error, &record->error_room, record->nerrors + 1, sizeof *record->error));
        record->error[record->nerrors++] = error;
    }
    return EQP_OK;
}

static int compare_errors(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* NaN without errors. */
static double median_error(app_record *record)
{
    const int64_t n = record->nerrors;

    if (n == 0) {
        return NAN;
    }
    qsort(record->error, (size_t)n, sizeof *record->error, compare_errors);
    return 0.5 * (record->error[(n - 1) / 2] + record->error[n / 2]);
}

void app_row_exchanged(eqp_rank_row *row, int n, const eqp_route_counts *phase)
{
    for (int p = 0; p < n; p++) {
        row->last_messages_sent += (double)phase[p].messages_sent;
        row->last_messages_received += (double)phase[p].messages_received;
        row->last_bytes_sent += (double)phase[p].bytes_sent;
        row->last_bytes_received += (double)phase[p].bytes_received;
    }
}

/* Makes the file complete up to this step even if the run is killed. A write error does not end the run; it is reported
 * at the end. */
static int add_loads(app_record *record, const app_record_row *row)
{
    const char *of = (const char *)row->rows;

    for (int r = 0; r < record->nranks; r++, of += row->row_bytes) {
        EQP_CHECK(app_loads_add(record->loads, row->step->step, r, record->run->method->name, (const void *)of));
    }
    if (eqp_csv_publish(record->loads, NULL) == EQP_OK && !record->begun) {
        char *older = eqp__report_file_join(record->run->report, "report.json"); /* does not match the new file */
        record->begun = true;
        (void)(older != NULL && remove(older));
        free(older);
    }
    return EQP_OK;
}

static int add_line(app_record *record, const app_record_row *row)
{
    const eqp_step *now = row->step;

    EQP_CHECK(eqp_table_add(record->table, "%lld\t%s\t%.2f%%\t%.2f%%\t%lld\t%lld\t%lld\t%.4f\t%.4f",
                            (long long)now->step, now->rebalanced ? "yes" : "", 100.0 * now->imbalance_predicted,
                            100.0 * now->imbalance_measured, (long long)now->ghosts_total, (long long)now->bytes_total,
                            (long long)now->bytes_moved, now->load_max, now->balance_seconds));
    for (int i = 0; i < record->ncolumns; i++) {
        EQP_CHECK(eqp_table_add(record->table, "%s", row->cell[i]));
    }
    return EQP_OK;
}

int app_record_step(app_record *record, const app_record_row *row, eqp_message *message)
{
    int code = record->rank == 0 ? add_error(record, row->step) : EQP_OK;

    if (!record->begun_steps) {
        record->first_step = row->step->step;
        record->begun_steps = true;
    }
    if (record->report != NULL) {
        code = code == EQP_OK ? add_step(record, row) : code;
        code = code == EQP_OK ? add_loads(record, row) : code;
    }
    code = record->table != NULL && code == EQP_OK ? add_line(record, row) : code;
    APP_REFUSE_IF(code != EQP_OK, message, code, "%s: report: %s", record->program, eqp_error_text(code));
    return EQP_OK;
}

bool app_record_shows(const app_record *record, int64_t step)
{
    return record->shows && app_samples_due(record->run->steps, step);
}

bool app_record_wants(const app_record *record, int64_t total, uint64_t id)
{
    return app_samples_want(record->run->steps, total, id);
}

int app_record_show(app_record *record, int64_t step, int64_t n, const app_sample *sample)
{
    EQP_CHECK(eqp_array_reserve(&record->shown, &record->shown_room, record->nshown + n, sizeof *record->shown));
    EQP_CHECK(eqp_array_reserve(&record->frame, &record->frame_room, record->nframes + 1, sizeof *record->frame));
    record->frame[record->nframes++] = step;
    for (int64_t i = 0; i < n; i++) {
        record->shown[record->nshown++] = (app_shown){step, sample[i]};
    }
    return EQP_OK;
}

int app_record_compare(app_record *record, const eqp_network *network, int n, const eqp_compared *rows,
                       eqp_message *message)
{
    int code = EQP_OK;

    if (record->report != NULL) {
        EQP_TRY(app_report_set_network(record->report, network));
        EQP_TRY(app_compare_add(record->report, n, rows, record->grain_size));
    }
done:
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: report: %s", record->program, eqp_error_text(code));
    }
    return eqp_agree(record->comm, code, message);
}

/* The makers of late maps; LOST if they did not answer. */
static int set_lazy(app_record *record)
{
    const app_run_settings *run = record->run;
    const char *state = record->lazy == EQP_LAZY_LOST ? "LOST" : eqp_lazy_phase_text(record->lazy);
    const eqp_field field[] = {
        eqp_field_text("mode", run->lazy_text),
        eqp_field_bool("thread", run->makers != NULL && run->lazy.mode == EQP_LAZY_BY_THREAD),
        eqp_field_count("balancers", eqp_lazy_balancers(run->makers)),
        eqp_field_count("maps", record->late),
        eqp_field_text("state", state),
        eqp_field_text("why", run->lazy_why.text),
    };
    const bool asked = run->lazy_text != NULL && strcmp(run->lazy_text, "none") != 0;

    return asked ? eqp_report_set_group(record->report, "lazy", (int)(sizeof field / sizeof field[0]), field) : EQP_OK;
}

/* Seconds that the best schedule of maps would have saved; null without steps. */
static int set_regret(app_record *record, const eqp_balancer *balancer)
{
    eqp_regret regret;
    int code;

    EQP_TRY(eqp_balancer_regret(balancer, &regret, NULL, NULL));
    const bool known = regret.steps > 0;
    const eqp_field fields[] = {
        eqp_field_real("regret", known ? regret.regret : NAN),
        eqp_field_real("regret_run_seconds", known ? regret.seconds : NAN),
        eqp_field_real("regret_best_seconds", known ? regret.best : NAN),
        eqp_field_count("regret_run_maps", regret.maps),
        eqp_field_count("regret_best_maps", regret.should),
    };
    code = app_report_set_all(record->report, (int)(sizeof fields / sizeof fields[0]), fields);
done:
    return code;
}

/* hindsight.csv: the best schedule of maps, step by step. Steps are counted by the run. */
static int write_schedule(const app_record *record, const eqp_balancer *balancer, eqp_message *message)
{
    APP_FREED eqp_hindsight_stretch *stretch = NULL;
    EQP_CSV_FREED eqp_csv *csv = NULL;
    int64_t n = 0;

    EQP_CHECK(eqp_balancer_regret(balancer, NULL, &n, &stretch));
    EQP_CHECK(eqp_csv_create(record->run->report, "hindsight.csv", "step,steps,seconds,best_seconds,map,best_map", &csv,
                             message));
    for (int64_t i = 0; i < n; i++) {
        const eqp_hindsight_stretch *s = &stretch[i];
        const eqp_field field[] = {eqp_field_count("step", record->first_step + s->first),
                                   eqp_field_count("steps", s->steps),
                                   eqp_field_real("seconds", s->seconds),
                                   eqp_field_real("best_seconds", s->best),
                                   eqp_field_count("map", s->map),
                                   eqp_field_count("best_map", s->best_map)};
        EQP_CHECK(eqp_csv_add(csv, 6, field));
    }
    return eqp_csv_finish(csv, message);
}

static int set_totals(app_record *record, const app_record_totals *totals)
{
    EQP_CHECK(eqp_report_set(record->report, eqp_field_count("interactions", totals->interactions)));
    for (int k = 0; k < totals->nkinds; k++) {
        EQP_CHECK(eqp_report_set_interactions(record->report, totals->kind[k], totals->count[k]));
    }
    for (int k = 0; k < totals->costs->nkinds; k++) {
        EQP_CHECK(eqp_report_set_cost(record->report, totals->cost_kind[k], totals->costs->cost[k]));
    }
    EQP_CHECK(eqp_report_set_model(record->report, totals->costs->rmse, totals->correlation));
    EQP_CHECK(set_lazy(record));
    EQP_CHECK(set_regret(record, totals->balancer));
    return eqp_report_set(record->report, eqp_field_real("step_error_median", median_error(record)));
}

/* Peak memory of each rank's process, on rank 0. Linux counts in KiB. Collective. */
static int add_peaks(app_record *record)
{
    struct rusage usage;
    int64_t here = getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0, *peak = NULL;
    int code = eqp_agree(record->comm, eqp_array_create(&peak, record->nranks, sizeof *peak), NULL);

    if (code == EQP_OK && MPI_Gather(&here, 1, MPI_INT64_T, peak, 1, MPI_INT64_T, 0, record->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    if (code == EQP_OK && record->report != NULL) {
        code = eqp_report_set(record->report, eqp_field_counts("peak_bytes", record->nranks, peak));
    }
    free(peak);
    return code;
}

/* Brings the samples of all ranks together and writes them frame by frame. Collective, as app_traffic_write(). */
static int add_samples(app_record *record, int code, eqp_message *message)
{
    APP_FREED app_shown *all = NULL;
    APP_FREED app_sample *frame = NULL;
    int64_t n = 0;

    EQP_CHECK(app_bring_together(record->comm, code, sizeof *all, record->nshown, record->shown, &n, &all, message));
    EQP_CHECK(record->samples != NULL ? eqp_array_create(&frame, n, sizeof *frame) : EQP_OK);
    for (int64_t f = 0; f < record->nframes && record->samples != NULL; f++) {
        int64_t nframe = 0;
        for (int64_t i = 0; i < n; i++) {
            if (all[i].step == record->frame[f]) {
                frame[nframe++] = all[i].sample;
            }
        }
        EQP_CHECK(app_samples_add(record->samples, record->frame[f], nframe, frame));
    }
    return EQP_OK;
}

/* Writes run.html, a display of the other files; its errors do not fail the run. */
static int write_page(const app_record *record, eqp_message *message, eqp_message *note)
{
    const app_page_run run = {NULL, record->run->report};
    char *path = eqp__report_file_join(run.dir, "run.html");
    eqp_message why = {""};
    int code = path != NULL ? app_page_write(path, 1, &run, &why) : EQP_ERR_MEMORY;

    free(path);
    APP_REFUSE_IF(code == EQP_ERR_FORMAT || code == EQP_ERR_DATA || code == EQP_ERR_OVERFLOW, note, EQP_OK,
                  "%s: note: no run.html: %s", record->program, why.text[0] != '\0' ? why.text : eqp_error_text(code));
    if (code != EQP_OK && why.text[0] != '\0') {
        *message = why;
    }
    return code;
}

static int write_files(app_record *record, const app_record_totals *totals, eqp_message *message, eqp_message *note)
{
    app_samples *samples = record->samples;

    EQP_CHECK(set_totals(record, totals));
    EQP_CHECK(write_schedule(record, totals->balancer, message));
    EQP_CHECK(eqp_csv_finish(record->loads, message));
    record->samples = NULL;
    EQP_CHECK(app_samples_finish(samples, message));
    EQP_CHECK(eqp_report_finish(record->report, message));
    return write_page(record, message, note);
}

int app_record_finish(app_record *record, const app_record_totals *totals, eqp_message *message, eqp_message *note)
{
    int code = add_peaks(record);

    code = app_traffic_write(record->comm, code, record->report != NULL ? record->run->report : NULL, message);
    code = record->shows ? add_samples(record, code, message) : code;
    if (code == EQP_OK && record->report != NULL) {
        code = write_files(record, totals, message, note);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: report: %s", record->program, eqp_error_text(code));
    }
    return eqp_agree(record->comm, code, message);
}

void app_record_print(app_record *record)
{
    char *text = NULL;

    if (record->table == NULL || eqp_table_take(record->table, &text) != EQP_OK) {
        return;
    }
    if (record->run->progress) {
        (void)fputs("\r\033[K", stderr);
    }
    (void)fputs(text, stdout);
    (void)fflush(stdout);
    free(text);
}

void app_record_print_error(app_record *record)
{
    if (record->rank == 0 && !record->run->quiet && record->nerrors > 0) {
        printf("step: the predicted CPU seconds of the busiest rank were off by %.1f%% (median of %lld "
               "steps)\n",
               100.0 * median_error(record), (long long)record->nerrors);
    }
}
