/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of all ranks brought together on rank 0, and answers sent back. */
#ifndef EQUIPOISE_COMM_COLLECT_H
#define EQUIPOISE_COMM_COLLECT_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef struct eqp__collect {
    MPI_Comm comm;
    int rank, nranks;
    int64_t *to_root;  /* [nranks] elements that this rank sends each: all of them to rank 0 */
    int64_t *from_all; /* [nranks] elements that this rank gets: none but on rank 0 */
} eqp__collect;

/* All of these are collective, and return the same code on all ranks. */

int eqp__collect_open(MPI_Comm comm, eqp__collect *c);

/* Its local half, for a caller that agrees on the code. */
int eqp__collect_prepare(MPI_Comm comm, eqp__collect *c);

void eqp__collect_close(eqp__collect *c);

/* This rank has n elements in each array that follows; *total of all ranks arrive here. */
int eqp__collect_announce(eqp__collect *c, int64_t n, int64_t *total);

/* Brings one array together as announced. array: address of a pointer that gets at least `total` new elements in rank
 * order, to be freed by the caller even if the call fails. code: of this rank so far */
int eqp__collect_array(const eqp__collect *c, int code, int64_t total, size_t size, const void *mine, void *array);

/* Sends elements of rank 0 back to the ranks as announced. */
int eqp__collect_return(const eqp__collect *c, size_t size, const void *all, void *mine);

#endif
