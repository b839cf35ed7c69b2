/* SPDX-License-Identifier: BSD-3-Clause */
#include "gather.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

int bh_gather(MPI_Comm comm, size_t size, int64_t n, const void *mine, int64_t *ntotal, void *all)
{
    int64_t *send = NULL, *count = NULL, total = 0;
    char *array = NULL;
    int nranks, code;

    MPI_Comm_size(comm, &nranks);
    code = eqp_array_create(&count, nranks, sizeof *count);
    if (code == EQP_OK) {
        code = eqp_array_create(&send, nranks, sizeof *send);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        for (int r = 0; r < nranks; r++) {
            send[r] = n;
        }
        code = eqp_exchange_counts(comm, send, count, &total);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_array_create(&array, total, size), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_gather_all(comm, size, n, mine, count, array);
    }
    free(send);
    free(count);
    if (code != EQP_OK) {
        free(array);
        return code;
    }
    *ntotal = total;
    memcpy(all, &array, sizeof array);
    return EQP_OK;
}

int bh_send_records(MPI_Comm comm, size_t size, int64_t n, const int *rank, const void *records, int64_t *nin, void *in)
{
    eqp_move_plan *plan = NULL;
    int64_t *from = NULL, total = 0;
    char *array = NULL;
    int nranks, code;

    MPI_Comm_size(comm, &nranks);
    code = eqp_move_plan_create(n, rank, nranks, &plan);
    if (code == EQP_OK) {
        code = eqp_array_create(&from, nranks, sizeof *from);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_move_counts(comm, plan, from, &total);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_array_create(&array, total, size), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_move_apply(comm, plan, from, size, records, array);
    }
    eqp_move_plan_free(plan);
    free(from);
    if (code != EQP_OK) {
        free(array);
        return code;
    }
    *nin = total;
    memcpy(in, &array, sizeof array);
    return EQP_OK;
}

int bh_deal(MPI_Comm comm, int64_t n, const uint64_t *key, int *rank)
{
    uint64_t *cut = NULL;
    int nranks, r = 0, code;

    MPI_Comm_size(comm, &nranks);
    code = eqp_agree(comm, eqp_array_create(&cut, nranks + 1, sizeof *cut), NULL);
    if (code == EQP_OK) {
        code = eqp_key_cuts(comm, n, key, NULL, nranks, NULL, cut);
    }
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        while (key[i] >= cut[r + 1]) {
            r++;
        }
        rank[i] = r;
    }
    free(cut);
    return code;
}
