/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes first, found by non-blocking consensus (T. Hoefler, C. Siebert, A. Lumsdaine: Scalable communication protocols
 * for dynamic sparse data exchange, PPoPP 2010): who has told everybody, as synchronous sends prove, enters a barrier
 * that does not block; when all are through it nothing more can come. Sizes are numbers, so that a rank without memory
 * can still receive them and say so; then the contents, to receivers that expect them. */
#include "par/sparse.h"

#include "par/exchange.h"

#include <equipoise/par.h>

#include <limits.h>
#include <stdlib.h>

#define TAG_SIZE 72
#define TAG_CONTENT 73

typedef struct size_told {
    int rank;
    int64_t bytes;
} size_told;

typedef struct sizes {
    int64_t n, capacity;
    size_told *list;
} sizes;

/* Takes one size in, if there is one. *code: lack of memory, which must not keep the sender waiting. */
static int take_size(MPI_Comm comm, sizes *told, int *code)
{
    MPI_Status status;
    int flag = 0;
    size_told one;

    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_SIZE, comm, &flag, &status) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (!flag) {
        return EQP_OK;
    }
    one.rank = status.MPI_SOURCE;
    if (MPI_Recv(&one.bytes, 1, MPI_INT64_T, one.rank, TAG_SIZE, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *code = *code ? *code : eqp_array_reserve(&told->list, &told->capacity, told->n + 1, sizeof *told->list);
    if (!*code) {
        told->list[told->n++] = one;
    }
    return EQP_OK;
}

/* Tells sizes and hears of them until all ranks have told theirs. */
static int tell_sizes(MPI_Comm comm, int n, MPI_Request *request, sizes *told, int *code)
{
    MPI_Request barrier = MPI_REQUEST_NULL;
    int through = 0, done = 0;

    while (!done) {
        if (take_size(comm, told, code)) {
            return EQP_ERR_MPI;
        }
        if (through) {
            if (MPI_Test(&barrier, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
                return EQP_ERR_MPI;
            }
        } else if (MPI_Testall(n, request, &through, MPI_STATUSES_IGNORE) != MPI_SUCCESS ||
                   (through && MPI_Ibarrier(comm, &barrier) != MPI_SUCCESS)) {
            return EQP_ERR_MPI;
        }
    }
    return EQP_OK;
}

static int by_rank(const void *a, const void *b)
{
    const size_told *left = a, *right = b;

    return (left->rank > right->rank) - (left->rank < right->rank);
}

/* Memory for what comes, in order of the ranks. */
static int make_room(sizes *told, eqp__sparse *came)
{
    int code = eqp_array_create(&came->rank, told->n, sizeof *came->rank);

    code = code ? code : eqp_array_create(&came->first, told->n + 1, sizeof *came->first);
    if (code) {
        return code;
    }
    if (told->n > 0) {
        qsort(told->list, (size_t)told->n, sizeof *told->list, by_rank);
    }
    for (int64_t i = 0; i < told->n; i++) {
        if (came->first[i] > INT64_MAX - told->list[i].bytes) {
            return EQP_ERR_OVERFLOW;
        }
        came->rank[i] = told->list[i].rank;
        came->first[i + 1] = came->first[i] + told->list[i].bytes;
    }
    came->n = told->n;
    return eqp_array_create(&came->data, came->first[told->n], 1);
}

static int64_t count_pieces(int64_t n, const int64_t *first)
{
    int64_t pieces = 0;

    for (int64_t i = 0; i < n; i++) {
        pieces += (first[i + 1] - first[i]) / (int64_t)EQP__MESSAGE_BYTES + 1;
    }
    return pieces;
}

/* Posts the pieces of one message; both sides cut it alike. */
static int post(MPI_Comm comm, int partner, char *data, int64_t bytes, int sends, MPI_Request *request, int *nrequests)
{
    while (bytes > 0) {
        const int piece = (int)(bytes < (int64_t)EQP__MESSAGE_BYTES ? bytes : (int64_t)EQP__MESSAGE_BYTES);
        MPI_Request *next = &request[(*nrequests)++];

        if ((sends ? MPI_Isend(data, piece, MPI_BYTE, partner, TAG_CONTENT, comm, next)
                   : MPI_Irecv(data, piece, MPI_BYTE, partner, TAG_CONTENT, comm, next)) != MPI_SUCCESS) {
            return EQP_ERR_MPI;
        }
        data += piece;
        bytes -= piece;
    }
    return EQP_OK;
}

static int send_contents(MPI_Comm comm, int64_t n, const int *to, const int64_t *first, const char *data,
                         eqp__sparse *came, MPI_Request *request)
{
    int nrequests = 0;

    for (int64_t i = 0; i < came->n; i++) {
        if (post(comm, came->rank[i], came->data + came->first[i], came->first[i + 1] - came->first[i], 0, request,
                 &nrequests)) {
            return EQP_ERR_MPI;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (post(comm, to[i], (char *)data + first[i], first[i + 1] - first[i], 1, request, &nrequests)) {
            return EQP_ERR_MPI;
        }
    }
    return MPI_Waitall(nrequests, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
}

int eqp__sparse_send(MPI_Comm comm, int code, int64_t n, const int *to, const int64_t *first, const void *data,
                     eqp__sparse *came)
{
    MPI_Request *request = NULL;
    int64_t *size = NULL, pieces;
    sizes told = {0};

    *came = (eqp__sparse){0};
    code = code ? code : eqp_array_create(&request, n, sizeof *request);
    code = code ? code : eqp_array_create(&size, n, sizeof *size);
    if (code) {
        n = 0; /* tells nobody, but listens: the others will hear of the failure together */
    }
    for (int64_t i = 0; i < n; i++) {
        size[i] = first[i + 1] - first[i];
        if (MPI_Issend(&size[i], 1, MPI_INT64_T, to[i], TAG_SIZE, comm, &request[i]) != MPI_SUCCESS) {
            code = EQP_ERR_MPI;
            goto done;
        }
    }
    if (tell_sizes(comm, (int)n, request, &told, &code)) {
        code = EQP_ERR_MPI;
        goto done;
    }
    code = code ? code : make_room(&told, came);
    free(request);
    request = NULL;
    if (!code) {
        pieces = count_pieces(n, first) + count_pieces(came->n, came->first);
        code = pieces > INT_MAX ? EQP_ERR_OVERFLOW : eqp_array_create(&request, pieces, sizeof *request);
    }
    /* Also keeps the sizes of the next call away from ranks that are still in this one. */
    if (!(code = eqp_agree(comm, code, NULL))) {
        code = send_contents(comm, n, to, first, data, came, request);
    }
done:
    free(request);
    free(size);
    free(told.list);
    return code;
}

void eqp__sparse_free(eqp__sparse *came)
{
    free(came->rank);
    free(came->first);
    free(came->data);
    *came = (eqp__sparse){0};
}
