/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_PAR_COMM_H
#define EQUIPOISE_PAR_COMM_H

#include <mpi.h>

/* Rank and number of ranks; EQP_OK or EQP_ERR_MPI. Local. */
int eqp__comm_shape(MPI_Comm comm, int *rank, int *nranks);

#endif
