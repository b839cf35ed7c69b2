/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends elements to ranks that need not expect them. One messenger carries all calls of a communicator. */
#include "comm/send.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/messenger.h"

/* One rank's part of a transfer. Elements are ordered by rank; the k-th is element order[k] of the array. */
typedef struct transfer {
    MPI_Comm comm;
    int rank, nranks;
    size_t size;
    const int64_t *send_count, *send_order; /* order: NULL for an array already ordered by rank */
    const int64_t *recv_count, *recv_order; /* recv_count: NULL if unknown */
    const char *send;
    eqp_messenger *messenger;
} transfer;

int eqp__sum_counts(int nranks, const int64_t *count, size_t size, int64_t *sum)
{
    size_t bytes;
    int64_t total = 0;

    for (int r = 0; r < nranks; r++) {
        EQP__FAIL_IF(count[r] < 0, EQP_ERR_ARGUMENT);
        EQP__FAIL_IF(total > INT64_MAX - count[r], EQP_ERR_OVERFLOW);
        total += count[r];
    }
    *sum = total;
    return eqp_array_bytes(total, size, &bytes);
}

/* Copies n elements from or to the places order[0] to order[n - 1]. */
static void collect(char *to, const char *from, const int64_t *order, int64_t n, size_t size)
{
    for (int64_t k = 0; k < n; k++) {
        memcpy(to + (size_t)k * size, from + (size_t)order[k] * size, size);
    }
}

static void spread(char *to, const char *from, const int64_t *order, int64_t n, size_t size)
{
    for (int64_t k = 0; k < n; k++) {
        memcpy(to + (size_t)order[k] * size, from + (size_t)k * size, size);
    }
}

/* Copies elements `first` to `first + n - 1` in sending order. */
static void pack(const transfer *t, int64_t first, int64_t n, char *to)
{
    if (t->send_order) {
        collect(to, t->send, t->send_order + first, n, t->size);
    } else {
        memcpy(to, t->send + (size_t)first * t->size, (size_t)n * t->size);
    }
}

static int check_send(const transfer *t)
{
    int64_t n = 0;

    EQP__CHECK(t->size < 1 || !t->send_count ? EQP_ERR_ARGUMENT : EQP_OK);
    EQP__CHECK(eqp__sum_counts(t->nranks, t->send_count, t->size, &n));
    return n > 0 && !t->send ? EQP_ERR_ARGUMENT : EQP_OK;
}

static int put_all(const transfer *t)
{
    int64_t first = 0;
    char *room;

    for (int r = 0; r < t->nranks; first += t->send_count[r], r++) {
        const int64_t n = t->send_count[r];
        if (r != t->rank && n > 0) {
            EQP__CHECK(eqp_messenger_put(t->messenger, r, n * (int64_t)t->size, &room));
            pack(t, first, n, room);
        }
    }
    return EQP_OK;
}

/* Sends and waits. Collective; returns the code of all ranks.
 * most: as eqp_send_sparse(); *alone: this rank's failure to store received elements, unknown to the other ranks */
static int carry(transfer *t, int purpose, int code, int64_t *most, int *alone)
{
    int64_t least[3] = {0};

    EQP__CHECK(eqp__attached_messenger(t->comm, purpose, code, &t->messenger));
    code = code ? code : check_send(t);
    code = code ? code : put_all(t);
    eqp__put_value(least, (int64_t)t->size);
    least[2] = -*most;
    EQP_TRY(eqp__messenger_exchange(t->messenger, code, 3, least, alone));
    EQP_TRY(eqp__pair_differs(least) ? EQP_ERR_ARGUMENT : EQP_OK);
    *most = -least[2];
done:
    return code;
}

static void count_arrivals(const transfer *t, int64_t *from)
{
    const eqp_messages_view came = eqp_messenger_came(t->messenger);

    memset(from, 0, (size_t)t->nranks * sizeof *from);
    for (int i = 0; i < came.n; i++) {
        from[came.rank[i]] = came.bytes[i] / (int64_t)t->size;
    }
    from[t->rank] = t->send_count[t->rank];
}

/* Copies received elements, and those that this rank sent to itself, into recv. */
static void unpack(const transfer *t, const int64_t *from, char *recv)
{
    const eqp_messages_view came = eqp_messenger_came(t->messenger);
    int64_t own = 0, at = 0;

    for (int r = 0; r < t->rank; r++) {
        own += t->send_count[r];
    }
    for (int r = 0, i = 0; r < t->nranks; at += from[r], r++) {
        const char *data = r == t->rank || from[r] == 0 ? NULL : came.data[i++];
        if (from[r] == 0) {
            continue;
        }
        if (t->recv_order) {
            spread(recv, data ? data : t->send + (size_t)own * t->size, t->recv_order + at, from[r], t->size);
        } else if (data) {
            memcpy(recv + (size_t)at * t->size, data, (size_t)from[r] * t->size);
        } else {
            pack(t, own, from[r], recv + (size_t)at * t->size);
        }
    }
}

/* Sends into new memory. Collective. from: [ranks] or NULL */
static int send_new(transfer *t, int purpose, int code, int64_t *most, int64_t *from, int64_t *nrecv, void *recv)
{
    int64_t *count = NULL, n = 0, largest = most ? *most : 0;
    char *array = NULL;
    int alone = EQP_OK;

    code = code ? code : !nrecv || !recv ? EQP_ERR_ARGUMENT : eqp_array_create(&count, t->nranks, sizeof *count);
    if (most) {
        *most = INT64_MIN;
    }
    EQP_TRY(carry(t, purpose, code, &largest, &alone));
    if (most) {
        *most = largest;
    }
    if (!alone) {
        count_arrivals(t, count);
        alone = eqp__sum_counts(t->nranks, count, t->size, &n);
        alone = alone ? alone : eqp_array_create(&array, n, t->size);
    }
    EQP_TRY(purpose == EQP__SINGLE_SENDS ? eqp_agree(t->comm, alone, NULL) : alone);
    unpack(t, count, array);
    if (from) {
        memcpy(from, count, (size_t)t->nranks * sizeof *from);
    }
    *nrecv = n;
    memcpy(recv, &array, sizeof array);
    array = NULL;
done:
    if (t->messenger) {
        eqp__messenger_trim(t->messenger, EQP__KEPT_BYTES);
    }
    EQP__FREE(array, count);
    return code;
}

/* Sends into the caller's memory. Collective. */
static int send_known(transfer *t, int code, void *recv)
{
    int64_t *count = NULL, n = 0, most = 0;
    int alone = EQP_OK;

    code = code ? code : !t->recv_count ? EQP_ERR_ARGUMENT : eqp__sum_counts(t->nranks, t->recv_count, t->size, &n);
    code = code ? code : n > 0 && !recv ? EQP_ERR_ARGUMENT : eqp_array_create(&count, t->nranks, sizeof *count);
    EQP_TRY(carry(t, EQP__SINGLE_SENDS, code, &most, &alone));
    if (!alone) {
        count_arrivals(t, count);
        alone = memcmp(count, t->recv_count, (size_t)t->nranks * sizeof *count) ? EQP_ERR_ARGUMENT : EQP_OK;
    }
    EQP_TRY(eqp_agree(t->comm, alone, NULL));
    unpack(t, count, recv);
done:
    if (t->messenger) {
        eqp__messenger_trim(t->messenger, EQP__KEPT_BYTES);
    }
    free(count);
    return code;
}

int eqp__send(MPI_Comm comm, int code, size_t size, const int64_t *count, const void *send, int64_t *from,
              int64_t *nrecv, void *recv)
{
    transfer t = {.comm = comm, .size = size, .send_count = count, .send = send};

    EQP__CHECK(eqp__comm_shape(comm, &t.rank, &t.nranks));
    return send_new(&t, EQP__SINGLE_SENDS, code, NULL, from, nrecv, recv);
}

int eqp__exchange(MPI_Comm comm, int code, size_t size, const int64_t *send_count, const void *send,
                  const int64_t *recv_count, void *recv)
{
    transfer t = {.comm = comm, .size = size, .send_count = send_count, .recv_count = recv_count, .send = send};

    EQP__CHECK(eqp__comm_shape(comm, &t.rank, &t.nranks));
    return send_known(&t, code, recv);
}

static int send_by_rank(MPI_Comm comm, int purpose, int code, size_t size, int64_t n, const int *dest, const void *send,
                        int64_t *most, int64_t *nrecv, void *recv)
{
    eqp_move_plan *plan = NULL;
    transfer t = {.comm = comm, .size = size, .send = send};

    EQP__CHECK(eqp__comm_shape(comm, &t.rank, &t.nranks));
    code = code > 0 ? EQP_ERR_ARGUMENT : code;
    code = code ? code : eqp_move_plan_create(n, dest, t.nranks, &plan);
    t.send_count = plan ? plan->count : NULL;
    t.send_order = plan ? plan->order : NULL;
    code = send_new(&t, purpose, code, most, NULL, nrecv, recv);
    eqp_move_plan_free(plan);
    return code;
}

int eqp_send_records(MPI_Comm comm, size_t element_size, int64_t n, const int *dest, const void *send, int64_t *nrecv,
                     void *recv)
{
    return send_by_rank(comm, EQP__SINGLE_SENDS, EQP_OK, element_size, n, dest, send, NULL, nrecv, recv);
}

int eqp_send_sparse(MPI_Comm comm, int code, size_t element_size, int64_t n, const int *dest, const void *send,
                    int64_t *most, int64_t *nrecv, void *recv)
{
    return send_by_rank(comm, EQP__STEP_RECORDS, code, element_size, n, dest, send, most, nrecv, recv);
}

/* ---- along a plan ---- */

int eqp_move_plan_create(int64_t n, const int *dest, int nranks, eqp_move_plan **plan)
{
    eqp_move_plan *p = NULL;
    int code;

    EQP__FAIL_IF(n < 0 || nranks < 1 || (n > 0 && !dest) || !plan, EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&p, 1, sizeof *p));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(p->order, n), EQP__ARRAY(p->count, nranks), EQP__ARRAY(p->offset, nranks + 1)));
    p->n = n;
    p->nranks = nranks;
    for (int64_t i = 0; i < n; i++) {
        EQP_TRY(dest[i] < 0 || dest[i] >= nranks ? EQP_ERR_ARGUMENT : EQP_OK);
        p->count[dest[i]]++;
    }
    for (int r = 0; r < nranks; r++) {
        p->offset[r + 1] = p->offset[r] + p->count[r];
    }
    /* The offsets serve as fill marks and are then moved back by one. */
    for (int64_t i = 0; i < n; i++) {
        p->order[p->offset[dest[i]]++] = i;
    }
    memmove(p->offset + 1, p->offset, (size_t)nranks * sizeof *p->offset);
    p->offset[0] = 0;
    *plan = p;
    p = NULL;
done:
    eqp_move_plan_free(p);
    return code;
}

void eqp_move_plan_free(eqp_move_plan *plan)
{
    if (plan) {
        EQP__FREE(plan->order, plan->count, plan->offset, plan);
    }
}

static int check_plan(const eqp_move_plan *plan, int nranks)
{
    return plan && plan->nranks == nranks ? EQP_OK : EQP_ERR_ARGUMENT;
}

int eqp_move_counts(MPI_Comm comm, const eqp_move_plan *plan, int64_t *recv_count, int64_t *nrecv)
{
    int64_t sum = 0;
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = recv_count ? check_plan(plan, nranks) : EQP_ERR_ARGUMENT;
    for (int r = 0; r < nranks && !code; r++) { /* limits the sum over the senders */
        code = plan->count[r] > INT64_MAX / nranks ? EQP_ERR_OVERFLOW : EQP_OK;
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(EQP__MPI(EQP__WAITS(MPI_Alltoall(plan->count, 1, MPI_INT64_T, recv_count, 1, MPI_INT64_T, comm))));
    (void)eqp__sum_counts(nranks, recv_count, 1, &sum);
    if (nrecv) {
        *nrecv = sum;
    }
done:
    return code;
}

/* A transfer from the items of a plan; *code: EQP_ERR_ARGUMENT unless the plan is one for these ranks. */
static int open_move(MPI_Comm comm, const eqp_move_plan *plan, size_t size, const void *send, transfer *t, int *code)
{
    *t = (transfer){.comm = comm, .size = size, .send = send};
    EQP__CHECK(eqp__comm_shape(comm, &t->rank, &t->nranks));
    *code = *code ? *code : check_plan(plan, t->nranks);
    t->send_count = plan ? plan->count : NULL;
    t->send_order = plan ? plan->order : NULL;
    return EQP_OK;
}

int eqp__move_new(MPI_Comm comm, int code, const eqp_move_plan *plan, size_t element_size, const void *send,
                  int64_t *recv_count, int64_t *nrecv, void *recv)
{
    transfer t;

    EQP__CHECK(open_move(comm, plan, element_size, send, &t, &code));
    return send_new(&t, EQP__SINGLE_SENDS, code, NULL, recv_count, nrecv, recv);
}

int eqp__move_apply(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv)
{
    transfer t;

    EQP__CHECK(open_move(comm, plan, element_size, send, &t, &code));
    t.recv_count = recv_count;
    return send_known(&t, code, recv);
}

int eqp_move_apply(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                   const void *send, void *recv)
{
    return eqp__move_apply(comm, EQP_OK, plan, recv_count, element_size, send, recv);
}

int eqp__move_return(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                     const void *send, void *recv)
{
    transfer t;

    EQP__CHECK(open_move(comm, plan, element_size, send, &t, &code));
    t.recv_count = t.send_count;
    t.recv_order = t.send_order;
    t.send_count = recv_count;
    t.send_order = NULL;
    return send_known(&t, code, recv);
}

int eqp_move_return(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv)
{
    return eqp__move_return(comm, EQP_OK, plan, recv_count, element_size, send, recv);
}
