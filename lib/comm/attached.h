/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's state on a communicator. It is freed with the communicator. */
#ifndef EQUIPOISE_COMM_ATTACHED_H
#define EQUIPOISE_COMM_ATTACHED_H

#include <equipoise/more/messenger.h>

/* Purposes of a messenger. Each purpose remembers partners of its own, as its messages repeat from call to call. */
enum { EQP__STEP_RECORDS, EQP__SINGLE_SENDS, EQP__ROUTE_STAGES, EQP__PURPOSES = 40 };

/* The communicator's messenger for a purpose, created by the first call, which costs one agreement. Collective.
 * code: this rank's so far; if a messenger has to be created, a failed rank makes the call fail on all ranks */
int eqp__attached_messenger(MPI_Comm comm, int purpose, int code, eqp_messenger **messenger);

/* Adds bytes sent to a rank to the sums of eqp_traffic_watch(). Local. */
void eqp__traffic_add(MPI_Comm comm, int to, int64_t bytes);

#endif
