/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a length that the receiver does not know. */
#include "par/comm.h"

#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

int eqp_gather_records(MPI_Comm comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv, void *recv)
{
    int64_t *send_count = NULL, *count = NULL, total = 0;
    char *array = NULL;
    int rank, nranks = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = eqp_array_create(&count, nranks, sizeof *count);
    if (!code) {
        code = eqp_array_create(&send_count, nranks, sizeof *send_count);
    }
    code = eqp_agree(comm, code, NULL);
    if (!code) {
        for (int r = 0; r < nranks; r++) {
            send_count[r] = n;
        }
        code = eqp_exchange_counts(comm, send_count, count, &total);
    }
    if (!code) {
        code = eqp_agree(comm, eqp_array_create(&array, total, element_size), NULL);
    }
    if (!code) {
        code = eqp_gather_all(comm, element_size, n, send, count, array);
    }
    free(send_count);
    free(count);
    if (code) {
        free(array);
        return code;
    }
    *nrecv = total;
    memcpy(recv, &array, sizeof array);
    return EQP_OK;
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
    code = eqp_move_plan_create(n, dest, nranks, &plan);
    if (!code) {
        code = eqp_array_create(&from, nranks, sizeof *from);
    }
    code = eqp_agree(comm, code, NULL);
    if (!code) {
        code = eqp_move_counts(comm, plan, from, &total);
    }
    if (!code) {
        code = eqp_agree(comm, eqp_array_create(&array, total, element_size), NULL);
    }
    if (!code) {
        code = eqp_move_apply(comm, plan, from, element_size, send, array);
    }
    eqp_move_plan_free(plan);
    free(from);
    if (code) {
        free(array);
        return code;
    }
    *nrecv = total;
    memcpy(recv, &array, sizeof array);
    return EQP_OK;
}

int eqp_deal_keys(MPI_Comm comm, int64_t n, const uint64_t *key, int *dest)
{
    uint64_t *cut = NULL;
    int rank, nranks = 0, r = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = eqp_agree(comm, eqp_array_create(&cut, (int64_t)nranks + 1, sizeof *cut), NULL);
    if (!code) {
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
