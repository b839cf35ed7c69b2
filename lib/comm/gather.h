/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_COMM_GATHER_H
#define EQUIPOISE_COMM_GATHER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* eqp_gather_all() for a caller that passes this rank's code so far. Collective. */
int eqp__gather_all(MPI_Comm comm, int code, size_t element_size, int64_t n, const void *send, const int64_t *count,
                    void *recv);

#endif
