/* SPDX-License-Identifier: BSD-3-Clause */
#include "record.h"

#include "../../common/plot.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/report.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct bh_record {
    MPI_Comm comm; /* borrowed */
    int rank;
    const bh_settings *settings; /* borrowed */
    eqp_report *report;          /* rank 0 */
    eqp_csv *loads;              /* rank 0, with --report */
    eqp_table *table;            /* rank 0 */
    bh_sums first;
};

static int set_fields(eqp_report *report, const bh_simulation *sim, const char *command)
{
    const bh_settings *s = sim->settings;
    const eqp_field fields[] = {
        eqp_field_text("command", command),
        eqp_field_count("seed", s->run.seed),
        eqp_field_count("ranks", sim->domain.nranks),
        eqp_field_count("particles", sim->input.total),
        eqp_field_text("input", sim->input.format),
        eqp_field_text("balance", s->run.method->name),
        eqp_field_text("rebalance", s->run.rebalance),
        eqp_field_real("imbalance_tol", s->run.imbalance_tol),
        eqp_field_text("opening", s->opening == 0 ? "geometric" : "relative"),
        eqp_field_real("theta", s->theta),
        eqp_field_real("alpha", s->alpha),
        eqp_field_text("precision", bh_kernel_precision(sim->evaluator.kernel) == BH_MIXED ? "mixed" : "double"),
        eqp_field_text("kernel", bh_kernel_name(sim->evaluator.kernel)),
        eqp_field_real("softening", s->softening),
        eqp_field_real("G", s->G),
        eqp_field_real("dt", sim->dt),
        eqp_field_count("leaf_size", s->leaf_size),
        eqp_field_count("group_size", s->group_size),
    };
    int code = EQP_OK;

    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && code == EQP_OK; i++) {
        code = eqp_report_set(report, fields[i]);
    }
    return code;
}

static int create_on_first(bh_record *record, const bh_simulation *sim, const char *command, eqp_message *message)
{
    static const char *const header[] = {"step",    "rebalanced", "predicted", "measured", "ghosts",
                                         "force s", "balance s",  "energy",    "dE/E"};
    int code = eqp_report_create("barneshut", &record->report);

    if (code == EQP_OK) {
        code = set_fields(record->report, sim, command);
    }
    if (code == EQP_OK) {
        code = eqp_table_create((int)(sizeof header / sizeof header[0]), header, &record->table);
    }
    if (code == EQP_OK && sim->settings->run.report != NULL) {
        code = eqp_csv_create_loads(sim->settings->run.report, &record->loads, message);
    }
    return code;
}

int bh_record_create(bh_simulation *sim, const char *command, bh_record **record, eqp_message *message)
{
    bh_record *made = NULL;
    int code = eqp_array_create(&made, 1, sizeof *made);

    if (code == EQP_OK) {
        made->comm = sim->comm;
        made->rank = sim->domain.rank;
        made->settings = sim->settings;
        made->first = sim->now.sums;
        if (made->rank == 0) {
            code = create_on_first(made, sim, command, message);
        }
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: report: %s", eqp_error_text(code));
    }
    code = eqp_agree(sim->comm, code, message);
    if (code != EQP_OK) {
        bh_record_free(made);
        return code;
    }
    *record = made;
    return EQP_OK;
}

void bh_record_free(bh_record *record)
{
    if (record != NULL) {
        eqp_table_free(record->table);
        eqp_csv_free(record->loads);
        eqp_report_free(record->report);
        free(record);
    }
}

static double energy_of(const bh_sums *sums)
{
    return sums->kinetic + sums->potential;
}

static double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static int add_step(bh_record *record, const bh_simulation *sim)
{
    const bh_step *now = &sim->now;
    double shape = NAN, scale = NAN;

    if (now->unit_sizes.n > 1) {
        (void)eqp_sizes_fit_gamma(&now->unit_sizes, &shape,
                                  &scale); /* stays NaN, null in the report, where none fits */
    }
    const eqp_field fields[] = {
        eqp_field_count("step", now->step),
        eqp_field_real("time", now->time),
        eqp_field_text("method", sim->settings->run.method->name),
        eqp_field_bool("rebalanced", now->rebalanced),
        eqp_field_real("imbalance_predicted", now->imbalance_predicted),
        eqp_field_real("imbalance_measured", now->imbalance_measured),
        eqp_field_real("imbalance_promised", now->imbalance_promised),
        eqp_field_real("force_seconds_max", now->load_max),
        eqp_field_real("force_seconds_mean", now->load_mean),
        eqp_field_real("exchange_seconds_max", now->exchange_seconds),
        eqp_field_real("balance_seconds", now->balance_seconds),
        eqp_field_count("interactions", now->pairs + now->cells),
        eqp_field_count("migrated", now->migrated),
        eqp_field_count("ghosts_total", now->ghosts_total),
        eqp_field_count("ghosts_max", now->ghosts_max),
        eqp_field_count("bytes_sent", now->bytes_sent),
        eqp_field_count("units", now->units),
        eqp_field_count("split_owners", now->split_owners),
        eqp_field_real("unit_weight_max", now->unit_sizes.max),
        eqp_field_real("unit_weight_shape", shape),
        eqp_field_real("unit_weight_scale", scale),
        eqp_field_real("energy", energy_of(&now->sums)),
        eqp_field_real("kinetic", now->sums.kinetic),
        eqp_field_real("potential", now->sums.potential),
        eqp_field_real("virial", now->sums.virial),
        eqp_field_real("momentum", norm(now->sums.momentum)),
        eqp_field_real("angular_momentum", norm(now->sums.angular)),
    };
    return eqp_report_add_step(record->report, (int)(sizeof fields / sizeof fields[0]), fields);
}

static int add_loads(bh_record *record, const bh_simulation *sim)
{
    int code = EQP_OK;

    for (int r = 0; r < sim->domain.nranks && record->loads != NULL && code == EQP_OK; r++) {
        const bh_rank_row *row = &sim->row[r];
        const eqp_load_row load = {.step = sim->now.step,
                                   .rank = r,
                                   .load = row->load,
                                   .method = sim->settings->run.method->name,
                                   .predicted = row->predicted,
                                   .particles = (int64_t)row->particles,
                                   .targets = (int64_t)row->targets,
                                   .interactions = (int64_t)(row->pairs + row->cells),
                                   .ghosts = (int64_t)(row->ghost_cells + row->ghost_particles),
                                   .bytes_sent = (int64_t)row->bytes_sent,
                                   .force_seconds = row->load,
                                   .balance_seconds = row->balance_seconds};
        code = eqp_csv_add_load(record->loads, &load);
    }
    return code;
}

static int add_line(bh_record *record, const bh_simulation *sim)
{
    const bh_step *now = &sim->now;
    double before = energy_of(&record->first), drift = energy_of(&now->sums) - before;
    int code = eqp_table_cell(record->table, "%lld", (long long)now->step);

    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%s", now->rebalanced ? "yes" : "");
    }
    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%.2f%%", 100.0 * now->imbalance_predicted);
    }
    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%.2f%%", 100.0 * now->imbalance_measured);
    }
    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%lld", (long long)now->ghosts_total);
    }
    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%.4f", now->load_max);
    }
    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%.4f", now->balance_seconds);
    }
    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%.8g", before + drift);
    }
    if (code == EQP_OK) {
        code = eqp_table_cell(record->table, "%.1e", before != 0.0 ? drift / fabs(before) : 0.0);
    }
    return code;
}

int bh_record_step(bh_record *record, const bh_simulation *sim, eqp_message *message)
{
    int code = EQP_OK;

    if (record->rank == 0) {
        code = add_step(record, sim);
        if (code == EQP_OK) {
            code = add_loads(record, sim);
        }
        if (code == EQP_OK) {
            code = add_line(record, sim);
        }
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "barneshut: report: %s", eqp_error_text(code));
    }
    return eqp_agree(record->comm, code, message);
}

static int set_totals(bh_record *record, const bh_simulation *sim)
{
    int code = eqp_report_set(record->report, eqp_field_count("interactions", sim->now.pairs + sim->now.cells));

    if (code == EQP_OK) {
        code = eqp_report_set_interactions(record->report, bh_kind_names[BH_KIND_PAIR], sim->now.pairs);
    }
    if (code == EQP_OK) {
        code = eqp_report_set_interactions(record->report, bh_kind_names[BH_KIND_CELL], sim->now.cells);
    }
    for (int k = 0; k < BH_KINDS && code == EQP_OK; k++) {
        code = eqp_report_set_cost(record->report, bh_kind_names[k], sim->costs.seconds[k]);
    }
    if (code == EQP_OK) {
        code = eqp_report_set_model(record->report, sim->costs.rmse, sim->now.correlation);
    }
    return code;
}

/* The most memory that each rank's process has held, on rank 0. Linux counts it in KiB. Collective. */
static int add_peaks(bh_record *record, const bh_simulation *sim)
{
    struct rusage usage;
    int64_t here = getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0, *peak = NULL;
    int code = eqp_agree(record->comm, eqp_array_create(&peak, sim->domain.nranks, sizeof *peak), NULL);

    if (code == EQP_OK && MPI_Gather(&here, 1, MPI_INT64_T, peak, 1, MPI_INT64_T, 0, record->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    if (code == EQP_OK && record->rank == 0) {
        code = eqp_report_set_counts(record->report, "peak_bytes", sim->domain.nranks, peak);
    }
    free(peak);
    return code;
}

static int write_files(bh_record *record, const bh_simulation *sim, eqp_message *message, eqp_message *note)
{
    const char *dir = sim->settings->run.report;
    size_t room = strlen(dir) + 16;
    char *path = malloc(room);
    int code = path == NULL ? EQP_ERR_MEMORY : set_totals(record, sim);

    if (code == EQP_OK) {
        code = eqp_csv_finish(record->loads, message);
    }
    if (code == EQP_OK) {
        code = eqp_report_write(record->report, dir, message);
    }
    if (code == EQP_OK) {
        snprintf(path, room, "%s/loads.csv", dir);
        const app_plot_series series = {sim->settings->run.method->name, path};
        int drawn = app_plot_loads(dir, 1, &series, note);
        /* Plots are a help, not a result: a machine without gnuplot still has its numbers. */
        code = drawn == EQP_ERR_MEMORY ? drawn : EQP_OK;
    }
    free(path);
    return code;
}

int bh_record_finish(bh_record *record, const bh_simulation *sim, eqp_message *message, eqp_message *note)
{
    int code = add_peaks(record, sim);

    if (code == EQP_OK && record->rank == 0 && sim->settings->run.report != NULL) {
        code = write_files(record, sim, message, note);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: report: %s", eqp_error_text(code));
    }
    return eqp_agree(record->comm, code, message);
}

int bh_record_table(const bh_record *record, char **text)
{
    *text = NULL;
    return record->table == NULL ? EQP_OK : eqp_table_text(record->table, text);
}
