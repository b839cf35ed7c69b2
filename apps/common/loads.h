/* SPDX-License-Identifier: BSD-3-Clause */
/* What a loads.csv says about its run: enough to choose axes, and a check that there is something to draw. */
#ifndef APP_LOADS_H
#define APP_LOADS_H

#include <equipoise/base.h>

#include <stdbool.h>

typedef struct app_loads {
    int ranks;
    int64_t first, last;                  /* steps */
    int64_t particles;                    /* of all ranks in the first step; -1: the file does not say */
    double mean;                          /* load of a rank, sum of the steps, mean of the ranks: CPU seconds */
    double largest;                       /* the same of the rank with the largest */
    bool predicted;                       /* a load is predicted somewhere */
    double imbalance_low, imbalance_high; /* of a step, measured and predicted: max / mean - 1 */
} app_loads;

/* Reads a file of eqp_csv_create_loads, or one with the columns step, rank, load and predicted (which may be empty).
 * Rows must come step by step, and rank by rank in a step. O(size of the file); memory for one row and one number per
 * rank. EQP_OK; EQP_ERR_IO, EQP_ERR_FORMAT (not such a file at all) or EQP_ERR_DATA with path, line and mistake in the
 * message; EQP_ERR_MEMORY. */
int app_loads_read(const char *path, app_loads *loads, eqp_message *message);

#endif
