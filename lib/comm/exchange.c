/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all exchange with 64-bit counts. */
#include "comm/exchange.h"

#include "comm/agree.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TAG_EXCHANGE 71

/* One rank's view of an exchange. */
typedef struct exchange {
    MPI_Comm comm;
    int rank, nranks;
    size_t size, piece;
    const int64_t *send_count, *recv_count;
    const char *send;
    char *recv;
} exchange;

int eqp__sum_counts(int nranks, const int64_t *count, size_t size, int64_t *sum)
{
    size_t bytes;
    int64_t total = 0;

    for (int r = 0; r < nranks; r++) {
        if (count[r] < 0) {
            return EQP_ERR_ARGUMENT;
        }
        if (total > INT64_MAX - count[r]) {
            return EQP_ERR_OVERFLOW;
        }
        total += count[r];
    }
    *sum = total;
    return eqp_array_bytes(total, size, &bytes);
}

int eqp__exchange_counts(MPI_Comm comm, int code, int64_t same, const int64_t *send_count, int64_t *recv_count,
                         int64_t *total)
{
    int rank, nranks;
    int64_t sum = 0;
    int failed = eqp__comm_shape(comm, &rank, &nranks);

    if (failed) {
        return failed;
    }
    if (!code) {
        code = !send_count || !recv_count ? EQP_ERR_ARGUMENT : eqp__sum_counts(nranks, send_count, 1, &sum);
    }
    /* So that no rank can get more than it can count. */
    for (int r = 0; r < nranks && !code; r++) {
        code = send_count[r] > INT64_MAX / nranks ? EQP_ERR_OVERFLOW : EQP_OK;
    }
    if ((code = eqp__agree_alike(comm, code, same))) {
        return code;
    }
    if (EQP__WAITS(MPI_Alltoall(send_count, 1, MPI_INT64_T, recv_count, 1, MPI_INT64_T, comm)) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    (void)eqp__sum_counts(nranks, recv_count, 1, &sum);
    if (total) {
        *total = sum;
    }
    return EQP_OK;
}

int eqp_exchange_counts(MPI_Comm comm, const int64_t *send_count, int64_t *recv_count, int64_t *total)
{
    return eqp__exchange_counts(comm, EQP_OK, 0, send_count, recv_count, total);
}

static int64_t count_pieces(const exchange *x, int64_t count)
{
    size_t bytes = (size_t)count * x->size;

    return (int64_t)(bytes / x->piece + (bytes % x->piece != 0));
}

typedef struct requests {
    int n;
    MPI_Request *list;
} requests;

/* Posts the pieces of one message; both sides cut it alike, and MPI keeps their order. */
static int post_pieces(const exchange *x, int partner, int64_t count, char *data, int sends, requests *posted)
{
    size_t left = (size_t)count * x->size;

    while (left > 0) {
        int bytes = (int)(left < x->piece ? left : x->piece);
        MPI_Request *request = &posted->list[posted->n++];
        int status = sends ? MPI_Isend(data, bytes, MPI_BYTE, partner, TAG_EXCHANGE, x->comm, request)
                           : MPI_Irecv(data, bytes, MPI_BYTE, partner, TAG_EXCHANGE, x->comm, request);
        if (status != MPI_SUCCESS) {
            return EQP_ERR_MPI;
        }
        data += bytes;
        left -= (size_t)bytes;
    }
    return EQP_OK;
}

/* Messages between the pairs that have something to say. Receives first, so that nothing has to wait in buffers. */
static int exchange_messages(const exchange *x, requests *posted)
{
    size_t send_at = 0, recv_at = 0;

    for (int r = 0; r < x->nranks; r++) {
        size_t bytes = (size_t)x->recv_count[r] * x->size;
        if (r != x->rank && x->recv_count[r] > 0 && post_pieces(x, r, x->recv_count[r], x->recv + recv_at, 0, posted)) {
            return EQP_ERR_MPI;
        }
        recv_at += bytes;
    }
    for (int r = 0; r < x->nranks; r++) {
        size_t bytes = (size_t)x->send_count[r] * x->size;
        if (r != x->rank && x->send_count[r] > 0 &&
            post_pieces(x, r, x->send_count[r], (char *)x->send + send_at, 1, posted)) {
            return EQP_ERR_MPI;
        }
        send_at += bytes;
    }
    return EQP__WAITS(MPI_Waitall(posted->n, posted->list, MPI_STATUSES_IGNORE)) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
}

static void copy_own(const exchange *x)
{
    size_t send_at = 0, recv_at = 0;

    for (int r = 0; r < x->rank; r++) {
        send_at += (size_t)x->send_count[r] * x->size;
        recv_at += (size_t)x->recv_count[r] * x->size;
    }
    if (x->send_count[x->rank] > 0) {
        memcpy(x->recv + recv_at, x->send + send_at, (size_t)x->send_count[x->rank] * x->size);
    }
}

/* MPI_Alltoallv; counts: [4 ranks] work. */
static int exchange_dense(const exchange *x, int *counts)
{
    int *send_bytes = counts, *send_at = counts + x->nranks;
    int *recv_bytes = send_at + x->nranks, *recv_at = recv_bytes + x->nranks;

    for (int r = 0; r < x->nranks; r++) {
        send_bytes[r] = (int)((size_t)x->send_count[r] * x->size);
        recv_bytes[r] = (int)((size_t)x->recv_count[r] * x->size);
        send_at[r] = r ? send_at[r - 1] + send_bytes[r - 1] : 0;
        recv_at[r] = r ? recv_at[r - 1] + recv_bytes[r - 1] : 0;
    }
    return EQP__WAITS(MPI_Alltoallv(x->send, send_bytes, send_at, MPI_BYTE, x->recv, recv_bytes, recv_at, MPI_BYTE,
                                    x->comm)) == MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

/* What all ranks have to know before they start. */
typedef struct tally {
    uint64_t failed;     /* ranks whose arguments are wrong, or that lack memory */
    uint64_t difference; /* marks of what is sent less marks of what is expected: 0 if that is the same */
    uint64_t large;      /* ranks with more bytes than an int counts */
    uint64_t pairs;      /* pairs of ranks with something to say */
} tally;

/* Of a number of elements between two ranks, as random as it must be for sums of others not to be equal. */
static uint64_t mark(int from, int to, int64_t count)
{
    return count == 0 ? 0 : eqp_random_bits((uint64_t)count, (uint64_t)from, (uint64_t)to);
}

/* Marks of the element size that a rank passes on in a ring less those that it expects: 0 in sum if it is the same. */
static uint64_t mark_size(const exchange *x)
{
    const int former = (x->rank + x->nranks - 1) % x->nranks;

    return eqp_random_bits(x->size, (uint64_t)x->rank, UINT64_MAX) -
           eqp_random_bits(x->size, (uint64_t)former, UINT64_MAX);
}

/* What both ways take: requests for messages, and four counts per rank. */
typedef struct work {
    requests posted;
    int *counts;
} work;

static int allocate_work(const exchange *x, work *w)
{
    int64_t pieces = 0;
    int code;

    for (int r = 0; r < x->nranks; r++) {
        pieces += r == x->rank ? 0 : count_pieces(x, x->send_count[r]) + count_pieces(x, x->recv_count[r]);
    }
    EQP_TRY(pieces > INT_MAX ? EQP_ERR_OVERFLOW : eqp_array_create(&w->posted.list, pieces, sizeof(MPI_Request)));
    EQP_TRY(eqp_array_create(&w->counts, 4 * (int64_t)x->nranks, sizeof *w->counts));
done:
    return code;
}

static int take_tally(const exchange *x, int code, work *w, tally *all)
{
    int64_t sent = 0, received = 0;
    uint64_t mine[4] = {0}, sum[4];

    if (!code) {
        code = x->size < 1 || !x->send_count || !x->recv_count ? EQP_ERR_ARGUMENT : EQP_OK;
    }
    if (!code) {
        code = eqp__sum_counts(x->nranks, x->send_count, x->size, &sent);
    }
    if (!code) {
        code = eqp__sum_counts(x->nranks, x->recv_count, x->size, &received);
    }
    if (!code && ((sent > 0 && !x->send) || (received > 0 && !x->recv))) {
        code = EQP_ERR_ARGUMENT;
    }
    code = code ? code : allocate_work(x, w);
    if (code) {
        mine[0] = 1;
    } else {
        mine[1] = mark_size(x);
        mine[2] = (size_t)sent * x->size > x->piece || (size_t)received * x->size > x->piece;
        for (int r = 0; r < x->nranks; r++) {
            mine[1] += mark(x->rank, r, x->send_count[r]) - mark(r, x->rank, x->recv_count[r]);
            mine[3] += r != x->rank && x->send_count[r] > 0;
        }
    }
    if (EQP__WAITS(MPI_Allreduce(mine, sum, 4, MPI_UINT64_T, MPI_SUM, x->comm)) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *all = (tally){sum[0], sum[1], sum[2], sum[3]};
    return code;
}

int eqp__exchange(MPI_Comm comm, int code, size_t piece, size_t element_size, const int64_t *send_count,
                  const void *send, const int64_t *recv_count, void *recv)
{
    exchange x = {.comm = comm,
                  .size = element_size,
                  .piece = piece,
                  .send_count = send_count,
                  .recv_count = recv_count,
                  .send = send,
                  .recv = recv};
    work w = {.counts = NULL};
    tally all = {0};

    int failed = eqp__comm_shape(comm, &x.rank, &x.nranks);

    if (failed) {
        return failed;
    }
    code = take_tally(&x, code, &w, &all);
    EQP_TRY(all.failed ? eqp_agree(comm, code, NULL) : code);
    EQP_TRY(all.difference ? EQP_ERR_ARGUMENT : EQP_OK);
    /* Where most ranks talk to most, the library's own algorithms beat a message per pair. */
    if (!all.large && all.pairs > (uint64_t)x.nranks * (uint64_t)x.nranks / 4) {
        code = exchange_dense(&x, w.counts);
    } else {
        copy_own(&x);
        code = exchange_messages(&x, &w.posted);
    }
done:
    free(w.counts);
    free(w.posted.list);
    return code;
}

int eqp_exchange(MPI_Comm comm, size_t element_size, const int64_t *send_count, const void *send,
                 const int64_t *recv_count, void *recv)
{
    return eqp__exchange(comm, EQP_OK, EQP__MESSAGE_BYTES, element_size, send_count, send, recv_count, recv);
}

/* MPI_Allgatherv; counts: [2 ranks] work. */
static int gather_small(MPI_Comm comm, int nranks, int rank, size_t size, const void *send, const int64_t *count,
                        int *counts, void *recv)
{
    int *bytes = counts, *at = counts + nranks;

    for (int r = 0; r < nranks; r++) {
        bytes[r] = (int)((size_t)count[r] * size);
        at[r] = r ? at[r - 1] + bytes[r - 1] : 0;
    }
    return EQP__WAITS(MPI_Allgatherv(send, bytes[rank], MPI_BYTE, recv, bytes, at, MPI_BYTE, comm)) == MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

/* Each rank tells all others, a piece at a time. */
static int gather_large(MPI_Comm comm, int nranks, int rank, size_t size, const void *send, const int64_t *count,
                        void *recv)
{
    char *at = recv;

    for (int r = 0; r < nranks; r++) {
        size_t left = (size_t)count[r] * size;
        if (r == rank && left > 0) {
            memcpy(at, send, left);
        }
        while (left > 0) {
            int bytes = (int)(left < EQP__MESSAGE_BYTES ? left : EQP__MESSAGE_BYTES);
            if (EQP__WAITS(MPI_Bcast(at, bytes, MPI_BYTE, r, comm)) != MPI_SUCCESS) {
                return EQP_ERR_MPI;
            }
            at += bytes;
            left -= (size_t)bytes;
        }
    }
    return EQP_OK;
}

int eqp__gather_all(MPI_Comm comm, int code, size_t element_size, int64_t n, const void *send, const int64_t *count,
                    void *recv)
{
    int rank, nranks, failed = eqp__comm_shape(comm, &rank, &nranks), *counts = NULL;
    int64_t sum = 0;

    if (failed) {
        return failed;
    }
    if (!code) {
        code = element_size < 1 || n < 0 || (n > 0 && !send) || !count ? EQP_ERR_ARGUMENT : EQP_OK;
    }
    code = code ? code : eqp__sum_counts(nranks, count, element_size, &sum);
    if (!code && (count[rank] != n || (sum > 0 && !recv))) {
        code = EQP_ERR_ARGUMENT;
    }
    code = code ? code : eqp_array_create(&counts, 2 * (int64_t)nranks, sizeof *counts);
    if (!(code = eqp__agree_alike(comm, code, eqp_fingerprint((int64_t)element_size, nranks, code ? NULL : count)))) {
        code = (size_t)sum * element_size <= EQP__MESSAGE_BYTES
                   ? gather_small(comm, nranks, rank, element_size, send, count, counts, recv)
                   : gather_large(comm, nranks, rank, element_size, send, count, recv);
    }
    free(counts);
    return code;
}

int eqp_gather_all(MPI_Comm comm, size_t element_size, int64_t n, const void *send, const int64_t *count, void *recv)
{
    return eqp__gather_all(comm, EQP_OK, element_size, n, send, count, recv);
}
