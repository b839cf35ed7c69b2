/* SPDX-License-Identifier: BSD-3-Clause */
/* --compare, from the settings to the printed text. It compares the state of a run before its first step; see
 * simulate.h. Rows are ordered as by eqp_balancer_compare(): by parts, then by method. */
#ifndef APP_COMPARE_H
#define APP_COMPARE_H

#include "output/report.h"
#include "run_record.h"

#include <stdio.h>

/* ---- Rows for programs and users: report.json and compare.csv, a table, a verdict. Local: one rank calls these ----
 */

/* Method of the row with the run's own map; given for one number of parts. */
#define APP_COMPARE_AS_RUN "as-run"

/* Display of rows. Zeros: as those of a run. */
typedef struct app_compare_look {
    const int *grain_size; /* [granularities] most particles of an owner in each; NULL: fixed */
    bool memory;           /* shows the memory of parts even without caps */
    bool exact;            /* maps cost nothing: the fastest is named even if sfc is nearly as fast */
    bool unitless;         /* loads and steps are in an unknown unit */
} app_compare_look;

/* The recommended row for the first row's number of parts: the fastest map that fits into memory, or sfc if within 1 %
 * of it. look: NULL: zeros. Returns NULL for n < 1, and if no map fits. */
const eqp_compared *app_compare_winner(int n, const eqp_compared *rows, const app_compare_look *look);

/* Sets fields of the whole run. Codes as of eqp_report_set(). */
int app_report_set_all(eqp_report *report, int n, const eqp_field *field);

/* Sets the host, the time and the programs of a run. Codes as of eqp_report_set(). */
int app_report_set_provenance(eqp_report *report);

/* Sets the network of a comparison. Codes as of eqp_report_set(). */
int app_report_set_network(eqp_report *report, const eqp_network *network);

/* Adds the rows to the key `compare`; eqp_report_finish() then also writes compare.csv. grain_size: [granularities]
 * most particles of an owner in each; NULL: fixed. EQP_OK or EQP_ERR_MEMORY. */
int app_compare_add(eqp_report *report, int n, const eqp_compared *rows, const int *grain_size);

/* One line per row, with a blank line between numbers of parts. An asterisk marks the smallest imbalance, number of
 * ghosts and step time of each number of parts; a step's gain over count and over sfc is blank if they were not
 * compared. Steps with several phases add a column for their efficiency, chosen granularities one for their sizes,
 * memory caps one for the part with the largest need. Explanations of the columns follow. look: NULL: zeros. EQP_OK or
 * EQP_ERR_MEMORY. */
int app_compare_table(FILE *stream, int n, const eqp_compared *rows, const app_compare_look *look);

/* Recommended method, and the largest useful number of parts: some sentences in one line. Never recommends a map that
 * does not fit into memory. n: at least 1. look: NULL: zeros. */
void app_compare_verdict(FILE *stream, int n, const eqp_compared *rows, const app_compare_look *look);

/* ---- A comparison ---- */

typedef struct app_comparison {
    const char *program;
    const app_run_settings *run; /* the user's methods, parts, network, report, quiet, progress */
    MPI_Comm comm;
    eqp_balancer *balancer; /* of a run that app_compare_first() is for */
    const int *grain_size;  /* [granularities] most particles of an owner in each; NULL: fixed */
    bool recorded;          /* loads are from a trace, and nothing else is known of a step */
    bool unitless;          /* the trace's loads have no known unit */
    /* set by app_compare() */
    eqp_network network;
    int n;
    eqp_compared *rows; /* [n] */
} app_comparison;

/* Settings of a comparison's initial state: no steps, and whole owners along the curve. */
void app_compare_first(app_run_settings *run);

/* Compares and adds the rows to the record. Collective. */
int app_compare(app_comparison *comparison, app_record *record, eqp_message *message);
void app_compare_free(app_comparison *comparison);

/* Prints the table, its explanation and the recommended method. EQP_OK or EQP_ERR_MEMORY. Local. */
int app_compare_print(const app_comparison *comparison);

app_compare_look app_comparison_look(const app_comparison *comparison);

#endif
