/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_COMM_EXCHANGE_H
#define EQUIPOISE_COMM_EXCHANGE_H

#include <equipoise/more/move.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the largest single message: well below what an int can count. */
#define EQP__MESSAGE_BYTES ((size_t)1 << 30)

/* eqp_exchange() for a caller that may have failed already (`code`), with messages of at most `piece` bytes.
 * Collective; a failure anywhere is the result everywhere, and then nothing is sent. */
int eqp__exchange(MPI_Comm comm, int code, size_t piece, size_t element_size, const int64_t *send_count,
                  const void *send, const int64_t *recv_count, void *recv);

/* Adds up counts; EQP_ERR_ARGUMENT for a negative one, EQP_ERR_OVERFLOW for more bytes than there are addresses. */
int eqp__sum_counts(int nranks, const int64_t *count, size_t size, int64_t *sum);

/* eqp_exchange_counts() and eqp_gather_all() for a caller that may have failed already (`code`). `same` must be equal
 * on all ranks, else EQP_ERR_ARGUMENT. Collective. */
int eqp__exchange_counts(MPI_Comm comm, int code, int64_t same, const int64_t *send_count, int64_t *recv_count,
                         int64_t *total);
int eqp__gather_all(MPI_Comm comm, int code, size_t element_size, int64_t n, const void *send, const int64_t *count,
                    void *recv);

/* eqp_move_apply() and eqp_move_return(), likewise. */
int eqp__move_apply(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv);
int eqp__move_return(MPI_Comm comm, int code, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                     const void *send, void *recv);

#endif
