/* SPDX-License-Identifier: BSD-3-Clause */
/* What one step of every mini-app is described by, of a rank and of all. An app puts these first into its own structs:
 *
 *     typedef struct dd_rank_row { app_rank_row common; double segments; ... } dd_rank_row;  all doubles
 *     typedef struct dd_step { app_step common; double plastic_strain; ... } dd_step;
 *
 * and after each step: fill its row, app_rows_gather(), app_step_take_rows(), eqp_policy_record(). */
#ifndef APP_RUN_STEP_H
#define APP_RUN_STEP_H

#include <equipoise/base.h>
#include <equipoise/units.h>

#include <mpi.h>
#include <stdbool.h>

/* One rank in one step. All doubles, so that the ranks' rows travel as they are. */
typedef struct app_rank_row {
    double load,
        predicted;       /* CPU seconds in forces, and what the cost model says of the same work at the rank's speed */
    double work;         /* seconds of that work by the cost model, wherever it is done */
    double speed;        /* relative speed by which the present map was made, see run_share.h */
    double particles;    /* that it holds; nodes of a network */
    double targets;      /* that it computed forces for */
    double interactions; /* that it computed */
    double helped;       /* pieces of others' loops that it computed: see --schedule */
    double ghosts;       /* remote particles and cells that it needed */
    double bytes_sent, migrated;
    double exchange_seconds; /* CPU seconds in sending what forces need, and forces */
    double balance_seconds;  /* weighing, assigning, moving homes */
} app_rank_row;

/* One step over all ranks; the same on all of them. */
typedef struct app_step {
    int64_t step;
    double time;
    bool rebalanced;
    double imbalance_predicted;               /* largest time by the cost model over that of an even division, - 1 */
    double imbalance_measured;                /* of CPU seconds in forces */
    double imbalance_promised;                /* by the balancer when it made the present map */
    double load_max, load_mean;               /* CPU seconds */
    double exchange_seconds, balance_seconds; /* of the largest rank */
    int64_t interactions, units, split_owners;
    int64_t migrated, ghosts_total, ghosts_max, bytes_sent;
    int64_t handed;       /* pieces of loops that were computed by others than the map says */
    double correlation;   /* rank correlation of predicted and measured seconds of the timed batches */
    eqp_sizes unit_sizes; /* of the last map by units */
    char chosen[80];      /* by `auto`: the method of the present map */
    char why[192];        /* and why, in the step in which it was asked; else empty */
} app_step;

/* Every rank gets every rank's row, so that all draw the same conclusions: rows [ranks][ndoubles]. Collective. */
int app_rows_gather(MPI_Comm comm, int ndoubles, const void *mine, void *rows);

/* Sets imbalance_predicted, imbalance_measured, load_max, load_mean, exchange_seconds, balance_seconds, interactions,
 * migrated, ghosts_total, ghosts_max, bytes_sent and handed from rows [nranks], each of row_bytes and beginning with an
 * app_rank_row. Local; EQP_OK, EQP_ERR_MEMORY, EQP_ERR_DATA for a load that is none. */
int app_step_take_rows(app_step *step, int nranks, const void *rows, size_t row_bytes);

/* Whether all ranks have the same relative speed, so that measured seconds say how much work each has. Local. */
bool app_rows_alike(int nranks, const void *rows, size_t row_bytes);

/* The measured loads of rows [nranks]: owned by the caller, free(). All 0 before the first step. Where ranks have
 * different speeds, their work instead: what a map divides. EQP_OK or EQP_ERR_MEMORY on all ranks. Collective. */
int app_rows_loads(MPI_Comm comm, int nranks, const void *rows, size_t row_bytes, double **loads);

/* Row r. */
static inline const app_rank_row *app_row_of(const void *rows, size_t row_bytes, int r)
{
    return (const app_rank_row *)(const void *)((const char *)rows + (size_t)r * row_bytes);
}

#endif
