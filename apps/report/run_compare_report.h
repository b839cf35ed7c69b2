/* SPDX-License-Identifier: BSD-3-Clause */
/* A comparison for programs and people: rows of report.json and compare.csv, a table, a verdict. Rows are ordered as
 * by eqp_balancer_compare(): by parts, then by method. Local: one rank calls these. */
#ifndef APP_RUN_COMPARE_REPORT_H
#define APP_RUN_COMPARE_REPORT_H

#include "output/report.h"
#include <equipoise/balancer.h>

#include <stdbool.h>

/* The method of a row that is the map of the run itself. It stands at one number of parts. */
#define APP_COMPARE_AS_RUN "as-run"

/* How rows are shown. Zeros: as those of a run. */
typedef struct app_compare_look {
    const int *grain_size; /* [granularities] most particles of an owner in each; NULL: they are not chosen */
    bool memory;           /* what parts need is shown where there are no caps, too */
    bool exact;            /* maps cost nothing: the fastest is named, not sfc where that is nearly as fast */
    bool unitless;         /* loads and steps are in an unknown unit */
} app_compare_look;

/* The recommended row for the first row's number of parts: the fastest map that fits into memory, or sfc if that is
 * within 1 % of it. look: NULL: zeros. Returns NULL for n < 1, and if no map fits. */
const eqp_compared *app_compare_winner(int n, const eqp_compared *rows, const app_compare_look *look);

/* Adds the rows to the key `compare`; eqp_report_finish() then also writes compare.csv. grain_size: [granularities]
 * most particles of an owner in each; NULL: they are not chosen. EQP_OK or EQP_ERR_MEMORY. */
int app_compare_add(eqp_report *report, int n, const eqp_compared *rows, const int *grain_size);

/* One line for each row, a blank one between numbers of parts. An asterisk marks the smallest imbalance, number of
 * ghosts and step time of each number of parts; what a step gains over count and over sfc is blank where these were
 * not compared. Where a step is a cycle of several phases there is
 * a column for its efficiency, where granularities are chosen one for their sizes, where memory is capped one for the
 * part that needs most. What the columns mean stands below. look: NULL: zeros. text: owned by the caller, free().
 * EQP_OK or EQP_ERR_MEMORY. */
int app_compare_table(int n, const eqp_compared *rows, const app_compare_look *look, char **text);

/* Which method to use, and up to how many parts: some sentences, one line; a map that does not fit into memory is never
 * the one. look: NULL: zeros. text: owned by the caller, free(). EQP_OK,
 * EQP_ERR_MEMORY, EQP_ERR_ARGUMENT for n < 1. */
int app_compare_verdict(int n, const eqp_compared *rows, const app_compare_look *look, char **text);

#endif
