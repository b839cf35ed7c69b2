/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from ranks that know whom they tell to ranks that do not know who tells them. */
#ifndef EQUIPOISE_COMM_SPARSE_H
#define EQUIPOISE_COMM_SPARSE_H

#include <mpi.h>
#include <stdint.h>

/* What came, by sending rank. */
typedef struct eqp__sparse {
    int64_t n;      /* messages */
    int *rank;      /* [n] who sent each, ascending */
    int64_t *first; /* [n + 1] bytes into data */
    char *data;     /* [first[n]] */
} eqp__sparse;

/* What is sent: records, or the first stage of routes, the second, and so on. Each remembers partners of its own. */
enum { EQP__SPARSE_RECORDS, EQP__SPARSE_STAGE, EQP__SPARSE_USES = 40 };

/* Sends a message to each of some ranks, which need not expect it. The cost is that of messenger.h: the messages and an
 * allreduce that blocks nobody, no all-to-all; the first time on a communicator one allreduce more. Collective.
 *
 * code: of this rank so far. Where a rank comes with a failure, or lacks memory for what it sends, nothing is sent and
 *       all ranks return that code.
 * nleast, least: [nleast] numbers of this rank; then the least of all ranks; unchanged where nothing is sent
 * to: [n] different ranks, in any order, not this one; first: [n + 1] bytes into data, ascending: no message is empty
 * came: eqp__sparse_free(), whatever the result
 * *alone: EQP_ERR_MEMORY or EQP_ERR_OVERFLOW where this rank cannot hold what came, which nobody else hears of: it is
 *         the code of this rank's next collective call. Else EQP_OK. */
int eqp__sparse_send(MPI_Comm comm, int use, int code, int nleast, int64_t *least, int64_t n, const int *to,
                     const int64_t *first, const void *data, eqp__sparse *came, int *alone);

void eqp__sparse_free(eqp__sparse *came);

#endif
