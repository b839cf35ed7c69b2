/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds duplicate ids, on one rank or on different ranks. */
#include "methods/rcb/session.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <inttypes.h>
#include <stdlib.h>

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

static int find_twins(int64_t n, int64_t *id, eqp_message *message)
{
    qsort(id, (size_t)n, sizeof *id, compare_ids);
    for (int64_t i = 1; i < n; i++) {
        if (id[i] == id[i - 1]) {
            eqp_message_set(message, "balance: two items have the id %" PRId64, id[i]);
            return EQP_ERR_DATA;
        }
    }
    return EQP_OK;
}

/* The multiplier is 2^64 divided by the golden ratio, which spreads consecutive ids evenly. */
static int checking_rank(int64_t id, int nranks)
{
    return (int)(((uint64_t)id * 0x9e3779b97f4a7c15u >> 33) % (uint64_t)nranks);
}

int eqp__zoltan_check_ids(MPI_Comm comm, int64_t n, const int64_t *id, eqp_message *message)
{
    int *rank = NULL, nranks = 1, code = eqp_array_create(&rank, n, sizeof *rank);
    int64_t *arrived = NULL, narrived = 0;

    MPI_Comm_size(comm, &nranks);
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        rank[i] = checking_rank(id[i], nranks);
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp_send_records(comm, sizeof *id, n, rank, id, &narrived, &arrived));
    EQP_TRY(eqp_agree(comm, find_twins(narrived, arrived, message), message));
done:
    free(rank);
    free(arrived);
    return code;
}
