/* SPDX-License-Identifier: BSD-3-Clause */
/* Data of all ranks for the page of a run: samples, and bytes sent from rank to rank. */
#ifndef APP_TRAFFIC_H
#define APP_TRAFFIC_H

#include <equipoise/error.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Records of all ranks on rank 0, in their order, if code is EQP_OK on all of them: owned by the caller. all: address
 * of a pointer. Collective, on all ranks or on none. */
int app_bring_together(MPI_Comm comm, int code, size_t size, int64_t n, const void *mine, int64_t *nall, void *all,
                       eqp_message *message);

/* dir/traffic.csv: the sums of eqp_traffic_watch(). dir: NULL if there is no report, and on all ranks but 0.
 * Collective; rank 0 writes the file. */
int app_traffic_write(MPI_Comm comm, const char *dir, eqp_message *message);

#endif
