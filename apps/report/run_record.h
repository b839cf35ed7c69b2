/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a run: report.json, loads.csv, a page, the table on the terminal. Rank 0 writes each step as it comes:
 * a run that is killed leaves loads.csv up to its last step, and no report.json.
 *
 * Fields and columns of every mini-app come first, filled from the settings, the eqp_step and the rows of the ranks; an
 * app adds its own. */
#ifndef APP_RUN_RECORD_H
#define APP_RUN_RECORD_H

#include "../shell/run_settings.h"
#include "samples.h"

#include "output/report.h"
#include <equipoise/balancer.h>
#include <equipoise/more/comm.h>

typedef struct app_record app_record;

/* Facts known before the first step. */
typedef struct app_record_head {
    const char *program;
    const char *command;
    const app_run_settings *run; /* borrowed until the record is freed */
    int64_t particles;           /* over all ranks */
    const char *input;           /* format of the input, for the key `input` */
    int nfields;
    const eqp_field *field; /* [nfields] further keys of the report */
    const int *grain_size;  /* as in app_comparison, borrowed until the record is freed */
    int ncolumns;
    const char *const *column; /* [ncolumns] further columns of the table */
    int ends;                  /* per sample: 1 for particles, 2 for segments */
} app_record_head;

/* Starts the report in run->report (if any). Collective. */
int app_record_create(MPI_Comm comm, const app_record_head *head, app_record **record, eqp_message *message);
void app_record_free(app_record *record);

/* A step: totals with further fields, rows [ranks] of row_bytes each that begin with an eqp_rank_row, and texts for the
 * app's own columns of the table. Read on rank 0 only. */
typedef struct app_record_row {
    const eqp_step *step;
    const void *rows;
    size_t row_bytes;
    int nfields;
    const eqp_field *field;
    const char *const *cell; /* [ncolumns] */
} app_record_row;

/* Adds to the row the messages and bytes of n phases of a force evaluation. Local. */
void app_row_exchanged(eqp_rank_row *row, int n, const eqp_route_counts *phase);

/* Adds a step. Local: the code is this rank's. */
int app_record_step(app_record *record, const app_record_row *row, eqp_message *message);

/* True if samples of this step are recorded, the same on all ranks; true if this particle or segment is one of the
 * samples. Local. */
bool app_record_shows(const app_record *record, int64_t step);
bool app_record_wants(const app_record *record, int64_t total, uint64_t id);

/* Keeps this rank's samples [n] (copied) of a step, which app_record_finish() brings together. Local. */
int app_record_show(app_record *record, int64_t step, int64_t n, const app_sample *sample);

/* Adds a comparison: rows [n] (borrowed until the record is freed; only read on rank 0), and the network of their
 * model. Collective. */
int app_record_compare(app_record *record, const eqp_network *network, int n, const eqp_compared *rows,
                       eqp_message *message);

typedef struct app_record_totals {
    int64_t interactions; /* of the last step */
    int nkinds;
    const char *const *kind; /* [nkinds] kinds of interactions: a prefix of the kinds with costs */
    const int64_t *count;    /* [nkinds] of the last step */
    const eqp_cost_fit *costs;
    const char *const *cost_kind; /* [costs->nkinds] */
    double correlation;
    const eqp_balancer *balancer; /* has recorded the steps */
} app_record_totals;

/* Writes the files, if there is a report. note: a line for stderr that is no failure; may stay empty. Collective. */
int app_record_finish(app_record *record, const app_record_totals *totals, eqp_message *message, eqp_message *note);

/* Prints the error of predicted steps on rank 0, unless the run is quiet or the error unknown. Local. */
void app_record_print_error(app_record *record);

/* Prints the table of the steps since the last call, on rank 0, unless the run is quiet. Local. */
void app_record_print(app_record *record);

#endif
