/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a length that the receiver does not know. */
#ifndef BH_GATHER_H
#define BH_GATHER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* mine [n] elements of `size` bytes; *all (address of a pointer, owned by the caller) [*ntotal] in rank order.
 * Unchanged on error. Collective. */
int bh_gather(MPI_Comm comm, size_t size, int64_t n, const void *mine, int64_t *ntotal, void *all);

/* Deals sorted items out over the ranks, equally many to each along the ascending keys [n]; equal keys stay together.
 * rank [n] becomes ascending. Collective. */
int bh_deal(MPI_Comm comm, int64_t n, const uint64_t *key, int *rank);

/* Each of n records of `size` bytes to its rank [n]; *in (address of a pointer, owned by the caller) [*nin] by sending
 * rank. Unchanged on error. Collective. */
int bh_send_records(MPI_Comm comm, size_t size, int64_t n, const int *rank, const void *records, int64_t *nin,
                    void *in);

#endif
