/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages from ranks that know whom they tell to ranks that do not know who tells them. */
#ifndef EQUIPOISE_PAR_SPARSE_H
#define EQUIPOISE_PAR_SPARSE_H

#include <mpi.h>
#include <stdint.h>

/* What came, by sending rank. */
typedef struct eqp__sparse {
    int64_t n;      /* messages */
    int *rank;      /* [n] who sent each, ascending */
    int64_t *first; /* [n + 1] bytes into data */
    char *data;     /* [first[n]] */
} eqp__sparse;

/* Sends a message to each of some ranks, which need not expect it. The cost is that of the messages and of a barrier,
 * not of an all-to-all. Collective; a caller that has failed already passes its `code`, and a failure anywhere is the
 * result everywhere.
 * to: [n] different ranks, in any order, not this one; first: [n + 1] bytes into data, ascending.
 * came: eqp__sparse_free(), whatever the result. */
int eqp__sparse_send(MPI_Comm comm, int code, int64_t n, const int *to, const int64_t *first, const void *data,
                     eqp__sparse *came);

void eqp__sparse_free(eqp__sparse *came);

#endif
