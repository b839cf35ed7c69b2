/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of all ranks on every rank. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"

#include <limits.h>

/* MPI_Allgatherv; counts: [2 ranks] work. */
static int gather_small(MPI_Comm comm, int nranks, int rank, size_t size, const void *send, const int64_t *count,
                        int *counts, void *recv)
{
    int *bytes = counts, *at = counts + nranks;

    for (int r = 0; r < nranks; r++) {
        bytes[r] = (int)((size_t)count[r] * size);
        at[r] = r ? at[r - 1] + bytes[r - 1] : 0;
    }
    return EQP__MPI(EQP__WAITS(MPI_Allgatherv(send, bytes[rank], MPI_BYTE, recv, bytes, at, MPI_BYTE, comm)));
}

/* Every rank broadcasts its array in pieces. */
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
            EQP__CHECK(EQP__MPI(EQP__WAITS(MPI_Bcast(at, bytes, MPI_BYTE, r, comm))));
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
    code = code ? code : element_size < 1 || n < 0 || (n > 0 && !send) || !count ? EQP_ERR_ARGUMENT : EQP_OK;
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

int eqp_gather_records(MPI_Comm comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv, void *recv)
{
    return eqp__gather_records(comm, EQP_OK, element_size, n, send, nrecv, recv);
}

int eqp__gather_records(MPI_Comm comm, int code, size_t element_size, int64_t n, const void *send, int64_t *nrecv,
                        void *recv)
{
    int64_t *count = NULL, total = 0;
    char *array = NULL;
    int rank, nranks = 0;

    EQP__CHECK(eqp__comm_shape(comm, &rank, &nranks));
    code = code ? code : element_size < 1 || n < 0 || (n > 0 && !send) || !nrecv || !recv ? EQP_ERR_ARGUMENT : EQP_OK;
    code = code ? code : eqp_array_create(&count, nranks, sizeof *count);
    EQP_TRY(eqp__agree_alike(comm, code, (int64_t)element_size));
    EQP_TRY(EQP__MPI(EQP__WAITS(MPI_Allgather(&n, 1, MPI_INT64_T, count, 1, MPI_INT64_T, comm))));
    EQP_TRY(eqp__sum_counts(nranks, count, element_size, &total)); /* the same on all ranks */
    code = eqp_array_create(&array, total, element_size);
    EQP_TRY(eqp__gather_all(comm, code, element_size, n, send, count, array));
    *nrecv = total;
    memcpy(recv, &array, sizeof array);
    array = NULL;
done:
    EQP__FREE(count, array);
    return code;
}

/* ---- the same array again and again ---- */

typedef struct slot_head {
    int64_t n, code, most;
} slot_head;

struct eqp_gatherer {
    MPI_Comm comm;
    int rank, nranks;
    size_t size;
    int64_t room; /* elements of a slot */
    char *mine, *all;
};

static size_t slot_bytes(const eqp_gatherer *g, int64_t room)
{
    return sizeof(slot_head) + (size_t)room * g->size;
}

/* Enlarges the slots to `room` elements. Collective; unchanged on error. */
static int grow(eqp_gatherer *g, int64_t room)
{
    char *mine = NULL, *all = NULL;
    int code = room > (INT_MAX - (int64_t)sizeof(slot_head)) / (int64_t)g->size ? EQP_ERR_OVERFLOW : EQP_OK;

    code = code ? code : EQP__ARRAYS({&mine, 1, slot_bytes(g, room)}, {&all, g->nranks, slot_bytes(g, room)});
    if ((code = eqp__agree_alike(g->comm, code, (int64_t)g->size))) {
        EQP__FREE(mine, all);
        return code;
    }
    EQP__FREE(g->mine, g->all);
    g->mine = mine;
    g->all = all;
    g->room = room;
    return EQP_OK;
}

int eqp_gatherer_create(MPI_Comm comm, size_t element_size, eqp_gatherer **gatherer)
{
    eqp_gatherer *made = NULL;
    int rank, nranks = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = element_size < 1 || element_size > INT_MAX / 2 || !gatherer ? EQP_ERR_ARGUMENT
                                                                       : eqp_array_create(&made, 1, sizeof *made);
    EQP_TRY(eqp_agree(comm, code, NULL));
    *made = (eqp_gatherer){.comm = comm, .rank = rank, .nranks = nranks, .size = element_size};
    EQP_TRY(grow(made, 1));
    *gatherer = made;
    made = NULL;
done:
    eqp_gatherer_free(made);
    return code;
}

void eqp_gatherer_free(eqp_gatherer *gatherer)
{
    if (gatherer) {
        EQP__FREE(gatherer->mine, gatherer->all, gatherer);
    }
}

static slot_head head_of(const eqp_gatherer *g, int rank)
{
    slot_head head;

    memcpy(&head, g->all + (size_t)rank * slot_bytes(g, g->room), sizeof head);
    return head;
}

/* *room: elements of the fullest slot; *total: of all slots; *most: the largest of the ranks' numbers. Returns the code
 * of the first rank that failed. */
static int look(const eqp_gatherer *g, int64_t *room, int64_t *total, int64_t *most)
{
    int code = EQP_OK;

    *room = *total = 0;
    *most = INT64_MIN;
    for (int r = 0; r < g->nranks; r++) {
        const slot_head head = head_of(g, r);
        *room = head.n > *room ? head.n : *room;
        *most = head.most > *most ? head.most : *most;
        *total += head.n; /* a slot has room for few enough */
        code = code ? code : (int)head.code;
    }
    return code;
}

static int gather(eqp_gatherer *g, int code, int64_t n, const void *send, int64_t most)
{
    const slot_head head = {code ? 0 : n, code, most};
    const int bytes = (int)slot_bytes(g, g->room);

    memcpy(g->mine, &head, sizeof head);
    if (!code && n > 0 && n <= g->room) {
        memcpy(g->mine + sizeof head, send, (size_t)n * g->size);
    }
    return EQP__MPI(EQP__WAITS(MPI_Allgather(g->mine, bytes, MPI_BYTE, g->all, bytes, MPI_BYTE, g->comm)));
}

/* Moves the elements of all slots to the front, in order. */
static char *close_up(eqp_gatherer *g)
{
    const size_t slot = slot_bytes(g, g->room);
    char *to = g->all;

    for (int r = 0; r < g->nranks; r++) {
        const size_t bytes = (size_t)head_of(g, r).n * g->size;
        memmove(to, g->all + (size_t)r * slot + sizeof(slot_head), bytes);
        to += bytes;
    }
    return g->all;
}

int eqp_gatherer_run(eqp_gatherer *gatherer, int code, int64_t n, const void *send, int64_t *most, int64_t *nrecv,
                     void *recv)
{
    const int64_t far = INT64_MAX / 4, number = most ? *most : 0;
    int64_t room, total, found;
    char *first;

    EQP__FAIL_IF(!gatherer, EQP_ERR_ARGUMENT);
    code = code > 0 ? EQP_ERR_ARGUMENT : code;
    code = code ? code : n < 0 || (n > 0 && !send) || !nrecv || !recv ? EQP_ERR_ARGUMENT : EQP_OK;
    code = code ? code : n > far / gatherer->nranks ? EQP_ERR_OVERFLOW : EQP_OK;
    EQP_TRY(gather(gatherer, code, n, send, number));
    EQP_TRY(look(gatherer, &room, &total, &found));
    if (room > gatherer->room) { /* known to all ranks */
        EQP_TRY(grow(gatherer, room + room / 8 + 8));
        EQP_TRY(gather(gatherer, EQP_OK, n, send, number));
    }
    first = close_up(gatherer);
    *nrecv = total;
    if (most) {
        *most = found;
    }
    memcpy(recv, &first, sizeof first);
done:
    return code;
}

int eqp__collect_prepare(MPI_Comm comm, eqp__collect *c)
{
    EQP__CHECK(eqp__comm_shape(comm, &c->rank, &c->nranks));
    c->comm = comm;
    return EQP__ARRAYS(EQP__ARRAY(c->to_root, c->nranks), EQP__ARRAY(c->from_all, c->nranks));
}

int eqp__collect_open(MPI_Comm comm, eqp__collect *c)
{
    return eqp_agree(comm, eqp__collect_prepare(comm, c), NULL);
}

void eqp__collect_close(eqp__collect *c)
{
    EQP__FREE(c->to_root, c->from_all);
}

int eqp__collect_announce(eqp__collect *c, int64_t n, int64_t *total)
{
    c->to_root[0] = n;
    EQP__CHECK(EQP__MPI(EQP__WAITS(MPI_Gather(&n, 1, MPI_INT64_T, c->from_all, 1, MPI_INT64_T, 0, c->comm))));
    *total = 0;
    for (int r = 0; c->rank == 0 && r < c->nranks; r++) {
        *total += c->from_all[r];
    }
    return EQP_OK;
}

int eqp__collect_array(const eqp__collect *c, int code, int64_t total, size_t size, const void *mine, void *array)
{
    void *elements = NULL;

    code = code ? code : eqp_array_create(&elements, total, size);

    code = eqp__exchange(c->comm, code, size, c->to_root, mine, c->from_all, elements);
    memcpy(array, &elements, sizeof elements);
    return code;
}

int eqp__collect_return(const eqp__collect *c, size_t size, const void *all, void *mine)
{
    return eqp__exchange(c->comm, EQP_OK, size, c->from_all, all, c->to_root, mine);
}
