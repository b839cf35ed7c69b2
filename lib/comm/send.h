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

/* Elements that lie by receiving rank. The receiver need not know how many come.
 * size: bytes of an element, the same on all ranks
 * count: [ranks] elements for each rank; send: [sum of count]; neither is read if code is set
 * from: [ranks] receives the number of elements of each rank; may be NULL
 * nrecv, recv: receive the number of elements and the address of [nrecv] of them by sending rank, owned by the caller;
 *              unchanged on error */
int eqp__send(MPI_Comm comm, int code, size_t size, const int64_t *count, const void *send, int64_t *from,
              int64_t *nrecv, void *recv);

/* The same for receivers that know how much comes: into recv, [sum of recv_count] elements.
 * \return also EQP_ERR_ARGUMENT if a rank expects another number of elements than it is sent */
int eqp__exchange(MPI_Comm comm, int code, size_t size, const int64_t *send_count, const void *send,
                  const int64_t *recv_count, void *recv);

/* eqp_gather_all(). */
int eqp__gather_all(MPI_Comm comm, int code, size_t element_size, int64_t n, const void *send, const int64_t *count,
                    void *recv);

/* Adds up counts; EQP_ERR_ARGUMENT for a negative one, EQP_ERR_OVERFLOW for more bytes than there are addresses. */
int eqp__sum_counts(int nranks, const int64_t *count, size_t size, int64_t *sum);

/* The first array along a plan, by eqp__send(). recv_count: [ranks], as eqp_move_counts() gives it */
int eqp__move_new(MPI_Comm comm, int code, const eqp_move_plan *plan, size_t element_size, const void *send,
                  int64_t *recv_count, int64_t *nrecv, void *recv);

/* eqp_move_apply() and eqp_move_return(). */
int eqp__move_apply(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv);
int eqp__move_return(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                     const void *send, void *recv);

#endif
