/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes to each rank, for who wants to see who talks to whom. The sums hang on a communicator and go with it where it
 * is duplicated, so that they find the messengers that are made below. */
#include "comm/agree.h"

#include <equipoise/more/comm.h>

#include <pthread.h>

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key = MPI_KEYVAL_INVALID;

static void make_key(void)
{
    (void)eqp__key_create(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key);
}

static int64_t *watched(MPI_Comm comm)
{
    int64_t *bytes = NULL;
    int has = 0;

    if (pthread_once(&key_once, make_key) || key == MPI_KEYVAL_INVALID ||
        MPI_Comm_get_attr(comm, key, &bytes, &has) != MPI_SUCCESS || !has) {
        return NULL;
    }
    return bytes;
}

int eqp_traffic_watch(MPI_Comm comm, int64_t *bytes)
{
    EQP_REQUIRE(comm != MPI_COMM_NULL);
    (void)watched(comm); /* makes the key */
    return key != MPI_KEYVAL_INVALID && MPI_Comm_set_attr(comm, key, bytes) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
}

const int64_t *eqp_traffic_watched(MPI_Comm comm)
{
    return comm == MPI_COMM_NULL ? NULL : watched(comm);
}

void eqp__traffic_add(MPI_Comm comm, int to, int64_t bytes)
{
    int64_t *const sum = watched(comm);

    if (sum != NULL) {
        sum[to] += bytes;
    }
}
