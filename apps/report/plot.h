/* SPDX-License-Identifier: BSD-3-Clause */
/* Plots of loads.csv and compare.csv files, drawn by gnuplot where it is installed. */
#ifndef APP_PLOT_H
#define APP_PLOT_H

#include <equipoise/error.h>

#include <stdint.h>

/* One run. */
typedef struct app_plot_series {
    const char *label; /* in the legend: the method */
    const char *loads; /* path of its loads.csv */
} app_plot_series;

/* Draws dir/loads.png and dir/loads.svg (load of each rank, sum of all steps: a bar per run, and each run's mean) and
 * dir/imbalance.png and dir/imbalance.svg (imbalance over the steps, measured and predicted, on a logarithmic axis that
 * begins at 0.1 %). Leaves dir/plots.gp, which draws them again when gnuplot loads it inside dir. Makes dir where
 * needed; writes nothing unless all runs can be read. One rank calls this; it waits for gnuplot.
 * EQP_OK; EQP_ERR_UNKNOWN where there is no gnuplot (the script is there); EQP_ERR_IO where a file cannot be read or
 * written or gnuplot fails; EQP_ERR_FORMAT or EQP_ERR_DATA for a file that is no loads.csv, see app_loads_read;
 * EQP_ERR_MEMORY; EQP_ERR_ARGUMENT for n < 1. The message is one line for stderr. */
int app_plot_loads(const char *dir, int n, const app_plot_series *series, eqp_message *message);

/* What is drawn of one method at one number of parts. */
typedef struct app_plot_point {
    double imbalance, ghosts, step_seconds, step_seconds_ideal;
} app_plot_point;

/* A comparison of methods at several numbers of parts. */
typedef struct app_plot_comparison {
    const char *dir;
    int nmethods;
    const char *const *method; /* [nmethods] */
    int nparts;
    const int64_t *parts;        /* [nparts] ascending */
    const app_plot_point *point; /* [nparts * nmethods] by parts, then by method */
} app_plot_comparison;

/* Draws compare_imbalance, compare_ghosts, compare_time and compare_efficiency, each .png and .svg: against the number
 * of parts, a line per method. Leaves dir/compare.gp. Otherwise as app_plot_loads(). */
int app_plot_compare(const app_plot_comparison *comparison, eqp_message *message);

#endif
