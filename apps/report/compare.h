/* SPDX-License-Identifier: BSD-3-Clause */
/* --compare, from the settings to the printed text. It compares the state of a run before its first step; see
 * simulate.h. */
#ifndef APP_COMPARE_H
#define APP_COMPARE_H

#include "run_compare_report.h"
#include "run_record.h"

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

/* The table, its explanation and the recommended method as text. Owned by the caller. EQP_OK or EQP_ERR_MEMORY.
 * Local. */
int app_compare_text(const app_comparison *comparison, char **text);

app_compare_look app_comparison_look(const app_comparison *comparison);

#endif
