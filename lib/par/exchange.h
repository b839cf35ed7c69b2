/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_PAR_EXCHANGE_H
#define EQUIPOISE_PAR_EXCHANGE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the largest single message: well below what an int can count. */
#define EQP__MESSAGE_BYTES ((size_t)1 << 30)

/* eqp_exchange() for a caller that may have failed already (`code`), with messages of at most `piece` bytes.
 * Collective; a failure anywhere is the result everywhere, and then nothing is sent. */
int eqp__exchange(MPI_Comm comm, int code, size_t piece, size_t element_size, const int64_t *send_count,
                  const void *send, const int64_t *recv_count, void *recv);

#endif
