/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes first, found by non-blocking consensus (T. Hoefler, C. Siebert, A. Lumsdaine: Scalable communication protocols
 * for dynamic sparse data exchange, PPoPP 2010): who has told everybody, as synchronous sends prove, enters an
 * allreduce that does not block; when all are through it nothing more can come. It carries codes besides. Then the
 * contents, to receivers that expect them: one that has no memory for them throws them away, so that nobody waits in
 * vain. */
#include "par/sparse.h"

#include "par/comm.h"

#include <equipoise/par.h>

#include <limits.h>
#include <stdlib.h>

/* Sizes in turn: who is through may tell sizes of the next call to who still listens in this one. */
#define TAG_SIZE 70
#define TAG_CONTENT 73

typedef struct size_told {
    int rank;
    int64_t bytes;
} size_told;

typedef struct sizes {
    int tag;
    int64_t n, capacity;
    size_told *list;
} sizes;

/* Takes one size in, if there is one. There is memory for all that can come. */
static int take_size(MPI_Comm comm, sizes *told)
{
    MPI_Status status;
    int flag = 0;
    size_told one;

    if (MPI_Iprobe(MPI_ANY_SOURCE, told->tag, comm, &flag, &status) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (!flag) {
        return EQP_OK;
    }
    one.rank = status.MPI_SOURCE;
    if (MPI_Recv(&one.bytes, 1, MPI_INT64_T, one.rank, told->tag, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (told->n < told->capacity) { /* else this rank has failed, and nothing will be sent */
        told->list[told->n++] = one;
    }
    return EQP_OK;
}

/* Tells sizes and hears of them until all ranks have told theirs, and agreed. */
static int tell_sizes(MPI_Comm comm, int code, int nleast, int64_t *least, int n, MPI_Request *request, sizes *told)
{
    eqp__agreement agreement;
    int through = 0, done = 0;

    while (!done) {
        if (take_size(comm, told)) {
            return EQP_ERR_MPI;
        }
        if (through) {
            if (MPI_Test(&agreement.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
                return EQP_ERR_MPI;
            }
        } else if (MPI_Testall(n, request, &through, MPI_STATUSES_IGNORE) != MPI_SUCCESS ||
                   (through && eqp__agree_begin(comm, code, nleast, least, &agreement))) {
            return EQP_ERR_MPI;
        }
    }
    return eqp__agree_end(&agreement, least);
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

/* Contents are cut into pieces that fit into the memory in which a rank without any takes them: 64 KiB. */
enum { PIECE = 1 << 16 };

static int64_t count_pieces(int64_t n, const int64_t *first)
{
    int64_t pieces = 0;

    for (int64_t i = 0; i < n; i++) {
        pieces += (first[i + 1] - first[i] + PIECE - 1) / PIECE;
    }
    return pieces;
}

static int piece_of(int64_t bytes)
{
    return bytes < PIECE ? (int)bytes : PIECE;
}

/* Posts the pieces of messages. rank: [n] partners; returns 0 or EQP_ERR_MPI. */
static int post_all(MPI_Comm comm, int64_t n, const int *rank, const int64_t *first, char *data, int sends,
                    MPI_Request *request)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t at = first[i]; at < first[i + 1]; at += PIECE, request++) {
            const int piece = piece_of(first[i + 1] - at);
            if ((sends ? MPI_Isend(data + at, piece, MPI_BYTE, rank[i], TAG_CONTENT, comm, request)
                       : MPI_Irecv(data + at, piece, MPI_BYTE, rank[i], TAG_CONTENT, comm, request)) != MPI_SUCCESS) {
                return EQP_ERR_MPI;
            }
        }
    }
    return EQP_OK;
}

/* Receives all contents one after the other and keeps none. */
static int throw_away(MPI_Comm comm, const sizes *told, char *sink)
{
    for (int64_t i = 0; i < told->n; i++) {
        for (int64_t left = told->list[i].bytes; left > 0; left -= PIECE) {
            if (MPI_Recv(sink, piece_of(left), MPI_BYTE, told->list[i].rank, TAG_CONTENT, comm, MPI_STATUS_IGNORE) !=
                MPI_SUCCESS) {
                return EQP_ERR_MPI;
            }
        }
    }
    return EQP_OK;
}

/* What a rank sends and may have to throw away. */
typedef struct sending {
    int64_t n, npieces;
    int64_t *size;
    char *sink;
    MPI_Request *size_request, *request; /* [n], [npieces] */
} sending;

static void sending_free(sending *s)
{
    free(s->size);
    free(s->sink);
    free(s->size_request);
    free(s->request);
}

static int sending_create(sending *s, int64_t n, const int64_t *first)
{
    int code;

    s->npieces = count_pieces(n, first);
    EQP_TRY(s->npieces > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
    EQP_TRY(eqp_array_create(&s->size, n, sizeof *s->size));
    EQP_TRY(eqp_array_create(&s->sink, PIECE, 1));
    EQP_TRY(eqp_array_create(&s->size_request, n, sizeof *s->size_request));
    EQP_TRY(eqp_array_create(&s->request, s->npieces, sizeof *s->request));
    s->n = n;
    for (int64_t i = 0; i < n; i++) {
        s->size[i] = first[i + 1] - first[i];
    }
done:
    return code;
}

static int send_contents(MPI_Comm comm, const sending *s, const int *to, const int64_t *first, const void *data,
                         sizes *told, eqp__sparse *came, int *alone)
{
    MPI_Request *request = NULL;
    int64_t npieces = 0;
    int code = EQP_OK;

    *alone = make_room(told, came);
    if (!*alone) {
        npieces = count_pieces(came->n, came->first);
        *alone = npieces > INT_MAX ? EQP_ERR_OVERFLOW : eqp_array_create(&request, npieces, sizeof *request);
    }
    if (!*alone) {
        code = post_all(comm, came->n, came->rank, came->first, came->data, 0, request);
    }
    code = code ? code : post_all(comm, s->n, to, first, (char *)data, 1, s->request);
    if (*alone && !code) {
        code = throw_away(comm, told, s->sink);
        eqp__sparse_free(came);
    } else if (!code) {
        code =
            EQP__WAITS(MPI_Waitall((int)npieces, request, MPI_STATUSES_IGNORE)) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
    }
    if (!code && EQP__WAITS(MPI_Waitall((int)s->npieces, s->request, MPI_STATUSES_IGNORE)) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    free(request);
    return code;
}

int eqp__sparse_send(MPI_Comm comm, int code, int nleast, int64_t *least, int64_t n, const int *to,
                     const int64_t *first, const void *data, eqp__sparse *came, int *alone)
{
    sending s = {0};
    sizes told = {0};
    int rank, nranks, turn, failed = eqp__comm_shape(comm, &rank, &nranks);

    *came = (eqp__sparse){0};
    *alone = EQP_OK;
    if (failed || (failed = eqp__comm_turn(comm, &turn))) {
        return failed;
    }
    told.tag = TAG_SIZE + turn;
    code = code ? code : sending_create(&s, n, first);
    if (!code && !(code = eqp_array_create(&told.list, nranks, sizeof *told.list))) {
        told.capacity = nranks;
    }
    for (int64_t i = 0; i < s.n && !code; i++) {
        if (MPI_Issend(&s.size[i], 1, MPI_INT64_T, to[i], told.tag, comm, &s.size_request[i]) != MPI_SUCCESS) {
            code = EQP_ERR_MPI;
            goto done;
        }
    }
    eqp_wait_begin();
    code = tell_sizes(comm, code, nleast, least, code ? 0 : (int)s.n, s.size_request, &told);
    eqp_wait_end();
    if (!code) {
        code = send_contents(comm, &s, to, first, data, &told, came, alone);
    }
done:
    sending_free(&s);
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
