/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and gathers: the calls of comm.h for callers inside the library, which pass this rank's code so far. All
 * of them are collective; a failure anywhere is the result everywhere. */
#ifndef EQUIPOISE_COMM_SEND_H
#define EQUIPOISE_COMM_SEND_H

#include <equipoise/more/comm.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Largest message in bytes, well below the largest int. */
#define EQP__MESSAGE_BYTES ((size_t)1 << 30)

/* Sends elements ordered by receiving rank; receivers need not know the counts.
 * size: bytes of an element, the same on all ranks
 * count: [ranks] elements for each rank; send: [sum of count]; neither is read if code is set
 * from: [ranks] receives the number of elements from each rank; may be NULL
 * nrecv, recv: receive the number of elements and their array [nrecv], ordered by sending rank, owned by the caller;
 * unchanged on error */
int eqp__send(MPI_Comm comm, int code, size_t size, const int64_t *count, const void *send, int64_t *from,
              int64_t *nrecv, void *recv);

/* The same for receivers that know the counts: into recv, [sum of recv_count] elements.
 * \return also EQP_ERR_ARGUMENT if a rank expects a different number of elements than it is sent */
int eqp__exchange(MPI_Comm comm, int code, size_t size, const int64_t *send_count, const void *send,
                  const int64_t *recv_count, void *recv);

/* eqp_gather_all(). */
int eqp__gather_all(MPI_Comm comm, int code, size_t element_size, int64_t n, const void *send, const int64_t *count,
                    void *recv);

/* eqp_gather_records(). */
int eqp__gather_records(MPI_Comm comm, int code, size_t element_size, int64_t n, const void *send, int64_t *nrecv,
                        void *recv);

/* Sums counts; EQP_ERR_ARGUMENT for a negative count, EQP_ERR_OVERFLOW if the bytes exceed the address space. */
int eqp__sum_counts(int nranks, const int64_t *count, size_t size, int64_t *sum);

/* Items in the order of their destinations. */
struct eqp_move_plan {
    int64_t n;       /* items */
    int nranks;      /* destinations */
    int64_t *order;  /* [n] item at each place of the send buffer: by destination, else in the old order */
    int64_t *count;  /* [nranks] items for each destination */
    int64_t *offset; /* [nranks + 1] place of the first item for each destination */
};

/* The first array along a plan, by eqp__send(). recv_count: [ranks], as from eqp_move_counts() */
int eqp__move_new(MPI_Comm comm, int code, const eqp_move_plan *plan, size_t element_size, const void *send,
                  int64_t *recv_count, int64_t *nrecv, void *recv);

/* eqp_move_apply() and eqp_move_return(). */
int eqp__move_apply(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv);
int eqp__move_return(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                     const void *send, void *recv);

typedef struct eqp__collect {
    MPI_Comm comm;
    int rank, nranks;
    int64_t *to_root;  /* [nranks] elements that this rank sends to each rank: all to rank 0 */
    int64_t *from_all; /* [nranks] elements that this rank receives: none except on rank 0 */
} eqp__collect;

/* All of these are collective and return the same code on all ranks. */

int eqp__collect_open(MPI_Comm comm, eqp__collect *c);

/* Its local half, for a caller that agrees on the code. */
int eqp__collect_prepare(MPI_Comm comm, eqp__collect *c);

void eqp__collect_close(eqp__collect *c);

/* Announces n elements of this rank in each array that follows. *total: elements of all ranks that arrive here. */
int eqp__collect_announce(eqp__collect *c, int64_t n, int64_t *total);

/* Gathers one array as announced. array: address of a pointer that gets at least `total` new elements in rank order,
 * owned by the caller even on error. code: of this rank so far */
int eqp__collect_array(const eqp__collect *c, int code, int64_t total, size_t size, const void *mine, void *array);

/* Returns rank 0's elements to the ranks as announced. */
int eqp__collect_return(const eqp__collect *c, size_t size, const void *all, void *mine);

#endif
