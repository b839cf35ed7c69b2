/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables, the report and the map. Local: rank 0 calls these. */
#ifndef RF_OUTPUT_H
#define RF_OUTPUT_H

#include "problem.h"

#include "compare.h"

/* The most even map into a number of parts, and the lower bound. */
typedef struct rf_nearest {
    int parts;
    rf_bound bound;
    const eqp_compared *row; /* the row with the lowest largest load that fits into memory; NULL: none fits */
    bool reached;            /* that row reaches the bound */
    eqp_message proof;       /* the bound that keeps every map from fitting; empty: none */
} rf_nearest;

/* A comparison, with the run's own row if it has one. */
typedef struct rf_result {
    const rf_settings *settings;
    const rf_problem *problem;
    app_comparison comparison; /* rows: owned */
    rf_later *later;           /* [comparison.n] of each row; owned */
    int **part;                /* [comparison.n] borrowed; NULL inside: not kept, or the run's */
    int nnearest;
    rf_nearest *nearest; /* [nnearest] of each number of parts; owned */
} rf_result;

/* Combines the rows of the library's comparison (ownership passes) with the judgements; sets result->problem. */
int rf_result_make(const rf_judged *judged, int n, eqp_compared *rows, rf_result *result);
void rf_result_free(rf_result *result);

/* EQP_OK or EQP_ERR_MEMORY. */
int rf_result_print(const rf_result *result);

/* Writes report.json, compare.csv and phases.csv. */
int rf_result_report(const rf_result *result, const char *command, eqp_message *message);

/* Writes the map of --map. */
int rf_result_map(const rf_result *result, eqp_message *message);

#endif
