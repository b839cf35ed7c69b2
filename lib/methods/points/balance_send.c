/* SPDX-License-Identifier: BSD-3-Clause */
/* eqp_balance_send(): assigns parts and sends the items to the ranks of their parts. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/points/points.h"

#include <equipoise/more/comm.h>
#include <equipoise/points.h>

#include <stdlib.h>

/* EQP_ERR_ARGUMENT unless columns are valid, their sizes agree on all ranks, and nparts == nranks. Collective. */
static int agree_on_columns(MPI_Comm comm, int nranks, const eqp_points *points, const eqp_balance_options *options,
                            int ncolumns, const eqp_point_column *column, const int64_t *nrecv)
{
    int64_t print = eqp_fingerprint(0, 1, &(int64_t){ncolumns});
    int code = ncolumns >= 1 && column != NULL && nrecv != NULL && points != NULL && options != NULL ? EQP_OK
                                                                                                     : EQP_ERR_ARGUMENT;

    for (int c = 0; c < ncolumns && code == EQP_OK; c++) {
        const int64_t size = (int64_t)column[c].element_size;
        code = size >= 1 && (points->n <= 0 || column[c].send != NULL) ? EQP_OK : EQP_ERR_ARGUMENT;
        print = eqp_fingerprint(print, 1, &size);
    }
    if (code == EQP_OK && options->nparts != nranks) {
        code = EQP_ERR_ARGUMENT;
    }
    return eqp__agree_alike(comm, code, print);
}

/* Sends all columns. recv: [ncolumns] arrays received, owned by the caller also after an error. Collective. */
static int send(MPI_Comm comm, int nranks, int64_t n, const int *dest, int ncolumns, const eqp_point_column *column,
                void **recv, int64_t *nrecv)
{
    eqp_move_plan *plan = NULL;
    int64_t *count = NULL;
    int code = eqp_move_plan_create(n, dest, nranks, &plan);

    code = code == EQP_OK ? eqp_array_create(&count, nranks, sizeof *count) : code;
    EQP_TRY(eqp__move_new(comm, code, plan, column[0].element_size, column[0].send, count, nrecv, &recv[0]));
    for (int c = 1; c < ncolumns; c++) {
        char *array = NULL;
        code = eqp_array_create(&array, *nrecv, column[c].element_size);
        recv[c] = array;
        EQP_TRY(eqp__move_apply(comm, code, plan, count, column[c].element_size, column[c].send, array));
    }
done:
    eqp_move_plan_free(plan);
    free(count);
    return code;
}

int eqp_balance_send(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                     const eqp_balance_options *options, int ncolumns, eqp_point_column *column, int64_t *nrecv,
                     eqp_balance_result *result)
{
    eqp_balance_result found;
    eqp_balance_options here, asked;
    eqp_points mine;
    eqp_regions *regions = NULL;
    void **recv = NULL;
    int64_t n = 0;
    int *part = NULL, rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    points = eqp__points_known(points, &mine);
    options = eqp__balance_options_known(options, &asked);
    code = agree_on_columns(comm, nranks, points, options, ncolumns, column, nrecv);
    if (code == EQP_ERR_ARGUMENT && options != NULL) {
        eqp_message_set(options->message, "balance: other columns on some ranks, or not as many parts as ranks");
    }
    EQP_TRY(code);
    code = EQP__ARRAYS(EQP__ARRAY(recv, ncolumns), EQP__ARRAY(part, points->n > 0 ? points->n : 0));
    EQP_TRY(eqp_agree(comm, code, NULL));
    here = *options;
    here.regions = options->regions != NULL ? &regions : NULL;
    EQP_TRY(eqp_balance_points(comm, method, points, &here, part, &found));
    EQP_TRY(send(comm, nranks, points->n, part, ncolumns, column, recv, &n));
    for (int c = 0; c < ncolumns; c++) {
        column[c].recv = recv[c];
        recv[c] = NULL;
    }
    *nrecv = n;
    if (options->regions != NULL) {
        *options->regions = regions;
        regions = NULL;
    }
    if (result != NULL) {
        *result = found;
    }
done:
    for (int c = 0; recv != NULL && c < ncolumns; c++) {
        free(recv[c]);
    }
    eqp_regions_free(regions);
    EQP__FREE(recv, part);
    return code;
}
