/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a loads.csv, and the size of its run. */
#ifndef APP_LOADS_H
#define APP_LOADS_H

#include "output/report.h"

#include <equipoise/balancer.h>

#include <stdint.h>

typedef struct app_loads {
    int ranks;
    int64_t first; /* step */
} app_loads;

/* A row: a rank in a step. */
typedef struct app_load {
    int64_t step;
    int rank;
    double load, exchange, balance, busy; /* CPU seconds; 0 if the file lacks the column */
} app_load;

/* Called with each row as it is read, including rows of a last step that is left out. Returns EQP_OK, or a code that
 * ends the reading. */
typedef struct app_loads_visitor {
    void *user;
    int (*row)(void *user, const app_load *load);
} app_loads_visitor;

/* Reads a file of app_loads_create(), or one with the columns step, rank and load. Rows must be ordered by step, then
 * by rank. An incomplete last step is left out: its run continues or was killed. visitor: NULL allowed. O(size of the
 * file); memory for one row and a few numbers per rank. EQP_OK; EQP_ERR_IO, EQP_ERR_FORMAT (not such a file) or
 * EQP_ERR_DATA with path, line and mistake in the message; EQP_ERR_MEMORY. */
int app_loads_read(const char *path, const app_loads_visitor *visitor, app_loads *loads, eqp_message *message);

/* Starts dir/loads.csv and makes the folder if necessary. Codes as of eqp_csv_create(). */
int app_loads_create(const char *dir, eqp_csv **csv, eqp_message *message);

/* Appends a row; call by step, then by rank. Codes as of eqp_csv_add(). */
int app_loads_add(eqp_csv *csv, int64_t step, int rank, const char *method, const eqp_rank_row *row);

#endif
