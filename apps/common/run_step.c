/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_step.h"

#include <equipoise/load.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>

int app_rows_gather(MPI_Comm comm, int ndoubles, const void *mine, void *rows)
{
    return MPI_Allgather(mine, ndoubles, MPI_DOUBLE, rows, ndoubles, MPI_DOUBLE, comm) == MPI_SUCCESS ? EQP_OK
                                                                                                      : EQP_ERR_MPI;
}

static int take_imbalances(app_step *step, int nranks, const void *rows, size_t row_bytes)
{
    double *load = NULL, *predicted = NULL;
    eqp_load_statistics measured = {0}, model = {0};
    double work = 0.0;
    int code;

    EQP_TRY(eqp_array_create(&load, nranks, sizeof *load));
    EQP_TRY(eqp_array_create(&predicted, nranks, sizeof *predicted));
    for (int r = 0; r < nranks; r++) {
        load[r] = app_row_of(rows, row_bytes, r)->load;
        predicted[r] = app_row_of(rows, row_bytes, r)->predicted;
        work += app_row_of(rows, row_bytes, r)->work / nranks;
    }
    EQP_TRY(eqp_load_statistics_compute(nranks, load, &measured));
    EQP_TRY(eqp_load_statistics_compute(nranks, predicted, &model));
    step->imbalance_measured = measured.imbalance;
    step->imbalance_predicted = work > 0 ? fmax(model.max / work - 1.0, 0.0) : 0.0;
    step->load_max = measured.max;
    step->load_mean = measured.mean;
done:
    free(predicted);
    free(load);
    return code;
}

bool app_rows_alike(int nranks, const void *rows, size_t row_bytes)
{
    bool alike = true;

    for (int r = 1; r < nranks; r++) {
        alike = alike && app_row_of(rows, row_bytes, r)->speed == app_row_of(rows, row_bytes, 0)->speed;
    }
    return alike;
}

int app_rows_loads(MPI_Comm comm, int nranks, const void *rows, size_t row_bytes, double **loads)
{
    double *made = NULL;
    const bool alike = app_rows_alike(nranks, rows, row_bytes);
    const int code = eqp_agree(comm, eqp_array_create(&made, nranks, sizeof *made), NULL);

    if (code != EQP_OK) {
        free(made);
        return code;
    }
    for (int r = 0; r < nranks; r++) {
        const app_rank_row *row = app_row_of(rows, row_bytes, r);
        made[r] = alike ? row->load : row->work;
    }
    *loads = made;
    return EQP_OK;
}

int app_step_take_rows(app_step *step, int nranks, const void *rows, size_t row_bytes)
{
    double interactions = 0, migrated = 0, ghosts = 0, ghosts_max = 0, bytes = 0, handed = 0;
    int code = take_imbalances(step, nranks, rows, row_bytes);

    if (code != EQP_OK) {
        return code;
    }
    step->balance_seconds = step->exchange_seconds = 0;
    for (int r = 0; r < nranks; r++) {
        const app_rank_row *row = app_row_of(rows, row_bytes, r);
        interactions += row->interactions;
        migrated += row->migrated;
        ghosts += row->ghosts;
        ghosts_max = fmax(ghosts_max, row->ghosts);
        bytes += row->bytes_sent;
        handed += row->helped;
        step->exchange_seconds = fmax(step->exchange_seconds, row->exchange_seconds);
        step->balance_seconds = fmax(step->balance_seconds, row->balance_seconds);
    }
    step->interactions = (int64_t)interactions;
    step->migrated = (int64_t)migrated;
    step->ghosts_total = (int64_t)ghosts;
    step->ghosts_max = (int64_t)ghosts_max;
    step->bytes_sent = (int64_t)bytes;
    step->handed = (int64_t)handed;
    return EQP_OK;
}
