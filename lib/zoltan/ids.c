/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether ids occur twice, on one rank or on two. */
#include "zoltan/session.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <inttypes.h>
#include <stdlib.h>

/* Ids on their way to the ranks that look at them. */
typedef struct travel {
    int nranks;
    int64_t *send_count, *recv_count; /* [nranks] */
    int64_t *place;                   /* [nranks] where the next id to each rank goes in `send` */
    int64_t *send, *recv;
} travel;

static void travel_close(travel *t)
{
    free(t->send_count);
    free(t->recv_count);
    free(t->place);
    free(t->send);
    free(t->recv);
}

static int travel_open(MPI_Comm comm, int64_t n, travel *t)
{
    int code = MPI_Comm_size(comm, &t->nranks) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;

    code = code ? code : eqp_array_create(&t->send_count, t->nranks, sizeof *t->send_count);
    code = code ? code : eqp_array_create(&t->recv_count, t->nranks, sizeof *t->recv_count);
    code = code ? code : eqp_array_create(&t->place, t->nranks, sizeof *t->place);
    code = code ? code : eqp_array_create(&t->send, n, sizeof *t->send);
    return eqp_agree(comm, code, NULL);
}

/* The multiplier is 2^64 divided by the golden ratio: ids that follow each other spread evenly. */
static int looked_at_by(const travel *t, int64_t id)
{
    return (int)(((uint64_t)id * 0x9e3779b97f4a7c15u >> 33) % (uint64_t)t->nranks);
}

static void sort_by_rank(travel *t, int64_t n, const int64_t *id)
{
    for (int64_t i = 0; i < n; i++) {
        t->send_count[looked_at_by(t, id[i])]++;
    }
    for (int r = 1; r < t->nranks; r++) {
        t->place[r] = t->place[r - 1] + t->send_count[r - 1];
    }
    for (int64_t i = 0; i < n; i++) {
        t->send[t->place[looked_at_by(t, id[i])]++] = id[i];
    }
}

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

int eqp__zoltan_check_ids(MPI_Comm comm, int64_t n, const int64_t *id, eqp_message *message)
{
    travel t = {0};
    int64_t arrived = 0;
    int code = travel_open(comm, n, &t);

    if (code) {
        goto done;
    }
    sort_by_rank(&t, n, id);
    if ((code = eqp_exchange_counts(comm, t.send_count, t.recv_count, &arrived)) ||
        (code = eqp_agree(comm, eqp_array_create(&t.recv, arrived, sizeof *t.recv), NULL)) ||
        (code = eqp_exchange(comm, sizeof *t.send, t.send_count, t.send, t.recv_count, t.recv))) {
        goto done;
    }
    code = eqp_agree(comm, find_twins(arrived, t.recv, message), message);
done:
    travel_close(&t);
    return code;
}
