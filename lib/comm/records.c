/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a length that the receiver does not know. */
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/sparse.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

static int check_records(size_t element_size, int64_t n, const void *send, const int64_t *nrecv, const void *recv)
{
    return element_size < 1 || n < 0 || (n > 0 && !send) || !nrecv || !recv ? EQP_ERR_ARGUMENT : EQP_OK;
}

int eqp_gather_records(MPI_Comm comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv, void *recv)
{
    int64_t *count = NULL, total = 0;
    char *array = NULL;
    int rank, nranks = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = check_records(element_size, n, send, nrecv, recv);
    code = code ? code : eqp_array_create(&count, nranks, sizeof *count);
    EQP_TRY(eqp__agree_alike(comm, code, (int64_t)element_size));
    if (EQP__WAITS(MPI_Allgather(&n, 1, MPI_INT64_T, count, 1, MPI_INT64_T, comm)) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
        goto done;
    }
    EQP_TRY(eqp__sum_counts(nranks, count, element_size, &total)); /* the same on all ranks */
    code = eqp_array_create(&array, total, element_size);
    EQP_TRY(eqp__gather_all(comm, code, element_size, n, send, count, array));
    *nrecv = total;
    memcpy(recv, &array, sizeof array);
    array = NULL;
done:
    free(count);
    free(array);
    return code;
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
    code = check_records(element_size, n, send, nrecv, recv);
    code = code ? code : eqp_move_plan_create(n, dest, nranks, &plan);
    code = code ? code : eqp_array_create(&from, nranks, sizeof *from);
    EQP_TRY(eqp__exchange_counts(comm, code, (int64_t)element_size, code ? NULL : eqp_move_plan_arrays(plan).count,
                                 from, &total));
    code = eqp_array_create(&array, total, element_size);
    EQP_TRY(eqp__move_apply(comm, code, plan, from, element_size, send, array));
    *nrecv = total;
    memcpy(recv, &array, sizeof array);
    array = NULL;
done:
    eqp_move_plan_free(plan);
    free(from);
    free(array);
    return code;
}

/* Elements in the order of a plan, as the messages of a sparse exchange; those for this rank stay out of it. */
typedef struct parcels {
    int64_t n, own, own_at; /* messages; bytes that stay here, and where they begin in data */
    int *to;
    int64_t *first;
    char *data;
} parcels;

static void parcels_free(parcels *p)
{
    free(p->to);
    free(p->first);
    free(p->data);
}

static int pack_parcels(parcels *p, int rank, int nranks, size_t size, int64_t n, const int *dest, const void *send)
{
    int64_t *at = NULL, bytes = 0;
    int code = eqp_array_create(&at, nranks, sizeof *at);

    code = code ? code : eqp_array_create(&p->to, nranks, sizeof *p->to);
    code = code ? code : eqp_array_create(&p->first, (int64_t)nranks + 1, sizeof *p->first);
    code = code ? code : eqp_array_create(&p->data, n, size);
    for (int64_t i = 0; i < n && !code; i++) {
        code = dest[i] < 0 || dest[i] >= nranks ? EQP_ERR_ARGUMENT : EQP_OK;
        at[code ? 0 : dest[i]] += (int64_t)size;
    }
    /* This rank's own come last, behind all messages. */
    for (int k = 1; k <= nranks && !code; k++) {
        const int r = (rank + k) % nranks;
        const int64_t begin = bytes;
        bytes += at[r];
        if (r == rank) {
            p->own = at[r];
            p->own_at = begin;
        } else if (at[r] > 0) {
            p->to[p->n++] = r;
            p->first[p->n] = bytes;
        }
        at[r] = begin;
    }
    for (int64_t i = 0; i < n && !code; i++) {
        memcpy(p->data + at[dest[i]], (const char *)send + (size_t)i * size, size);
        at[dest[i]] += (int64_t)size;
    }
    free(at);
    return code;
}

static void copy_bytes(char *to, const char *from, int64_t bytes)
{
    if (bytes > 0) {
        memcpy(to, from, (size_t)bytes);
    }
}

/* What came from lower ranks, what stayed, what came from higher ones. */
static int join_parcels(const parcels *p, const eqp__sparse *came, int rank, size_t size, int64_t *nrecv, void *recv)
{
    const int64_t bytes = came->n > 0 ? came->first[came->n] : 0;
    int64_t lower = 0;
    char *array = NULL;
    int code = eqp_array_create(&array, (bytes + p->own) / (int64_t)size, size);

    if (code) {
        return code;
    }
    for (int64_t i = 0; i < came->n && came->rank[i] < rank; i++) {
        lower = came->first[i + 1];
    }
    copy_bytes(array, came->data, lower);
    copy_bytes(array + lower, p->data + p->own_at, p->own);
    copy_bytes(array + lower + p->own, came->data + lower, bytes - lower);
    *nrecv = (bytes + p->own) / (int64_t)size;
    memcpy(recv, &array, sizeof array);
    return EQP_OK;
}

int eqp_send_sparse(MPI_Comm comm, int code, size_t element_size, int64_t n, const int *dest, const void *send,
                    int64_t *most, int64_t *nrecv, void *recv)
{
    int64_t least[3] = {0};
    int rank, nranks = 0, alone = EQP_OK, failed = eqp__comm_shape(comm, &rank, &nranks);
    parcels p = {0};
    eqp__sparse came;

    if (failed) {
        return failed;
    }
    code = code > 0 ? EQP_ERR_ARGUMENT : code;
    code = code ? code : check_records(element_size, n, send, nrecv, recv);
    code = code ? code : n > 0 && !dest ? EQP_ERR_ARGUMENT : EQP_OK;
    code = code ? code : pack_parcels(&p, rank, nranks, element_size, n, dest, send);
    eqp__put_value(least, (int64_t)element_size);
    least[2] = most ? -*most : 0;
    code = eqp__sparse_send(comm, EQP__SPARSE_RECORDS, code, 3, least, p.n, p.to, p.first, p.data, &came, &alone);
    code = !code && eqp__pair_differs(least) ? EQP_ERR_ARGUMENT : code;
    if (!code && most) {
        *most = -least[2];
    }
    code = code ? code : alone;
    code = code ? code : join_parcels(&p, &came, rank, element_size, nrecv, recv);
    eqp__sparse_free(&came);
    parcels_free(&p);
    return code;
}
