/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a length that the receiver does not know. */
#include "par/comm.h"
#include "par/exchange.h"

#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

static int check_records(size_t element_size, int64_t n, const void *send, const int64_t *nrecv, const void *recv)
{
    return element_size < 1 || n < 0 || (n > 0 && !send) || !nrecv || !recv ? EQP_ERR_ARGUMENT : EQP_OK;
}

int eqp_gather_records(MPI_Comm comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv, void *recv)
{
    int64_t *count = NULL, total = 0;
    char *array = NULL;
    int rank, nranks = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = check_records(element_size, n, send, nrecv, recv);
    code = code ? code : eqp_array_create(&count, nranks, sizeof *count);
    EQP_TRY(eqp__agree_alike(comm, code, (int64_t)element_size));
    if (MPI_Allgather(&n, 1, MPI_INT64_T, count, 1, MPI_INT64_T, comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
        goto done;
    }
    EQP_TRY(eqp__sum_counts(nranks, count, element_size, &total)); /* the same on all ranks */
    code = eqp_array_create(&array, total, element_size);
    EQP_TRY(eqp__gather_all(comm, code, element_size, n, send, count, array));
    *nrecv = total;
    memcpy(recv, &array, sizeof array);
    array = NULL;
done:
    free(count);
    free(array);
    return code;
}

int eqp_send_records(MPI_Comm comm, size_t element_size, int64_t n, const int *dest, const void *send, int64_t *nrecv,
                     void *recv)
{
    eqp_move_plan *plan = NULL;
    int64_t *from = NULL, total = 0;
    char *array = NULL;
    int rank, nranks = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = check_records(element_size, n, send, nrecv, recv);
    code = code ? code : eqp_move_plan_create(n, dest, nranks, &plan);
    code = code ? code : eqp_array_create(&from, nranks, sizeof *from);
    EQP_TRY(eqp__exchange_counts(comm, code, (int64_t)element_size, code ? NULL : eqp_move_plan_arrays(plan).count,
                                 from, &total));
    code = eqp_array_create(&array, total, element_size);
    EQP_TRY(eqp__move_apply(comm, code, plan, from, element_size, send, array));
    *nrecv = total;
    memcpy(recv, &array, sizeof array);
    array = NULL;
done:
    eqp_move_plan_free(plan);
    free(from);
    free(array);
    return code;
}

int eqp_deal_keys(MPI_Comm comm, int64_t n, const uint64_t *key, int *dest)
{
    uint64_t *cut = NULL;
    int rank, nranks = 0, r = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = n > 0 && !dest ? EQP_ERR_ARGUMENT : eqp_array_create(&cut, (int64_t)nranks + 1, sizeof *cut);
    if (!(code = eqp_agree(comm, code, NULL))) {
        code = eqp_key_cuts(comm, n, key, NULL, nranks, NULL, cut);
    }
    for (int64_t i = 0; i < n && !code; i++) {
        while (key[i] >= cut[r + 1]) {
            r++;
        }
        dest[i] = r;
    }
    free(cut);
    return code;
}
