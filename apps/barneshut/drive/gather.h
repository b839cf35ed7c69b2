/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of different length from all ranks, on all ranks. */
#ifndef BH_GATHER_H
#define BH_GATHER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* mine [n] elements of `size` bytes; *all (address of a pointer, owned by the caller) [*ntotal] in rank order.
 * Unchanged on error. Collective. */
int bh_gather(MPI_Comm comm, size_t size, int64_t n, const void *mine, int64_t *ntotal, void *all);

#endif
