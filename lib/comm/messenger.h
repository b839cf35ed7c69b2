/* SPDX-License-Identifier: BSD-3-Clause */
/* Messengers as the library uses them. These functions do not check their arguments. */
#ifndef EQUIPOISE_COMM_MESSENGER_H
#define EQUIPOISE_COMM_MESSENGER_H

#include <equipoise/more/comm.h>
#include <stdbool.h>

/* Tags of one messenger. */
enum { EQP__MESSENGER_TAGS = 4 };

/* Longer messages are freed after a call that used an attached messenger. */
#define EQP__KEPT_BYTES ((int64_t)1 << 18)

/* A messenger on a borrowed communicator, which uses its tags from `tag` on. Local, but either all ranks create one or
 * none does.
 * watched: its messages count for eqp_traffic_watch() */
int eqp__messenger_open(MPI_Comm comm, int tag, bool watched, eqp_messenger **messenger);

/* Frees messages of more than `most` bytes, received ones included. */
void eqp__messenger_trim(eqp_messenger *messenger, int64_t most);

/* Sends and finishes. Collective; returns the code of all ranks.
 * least: [nleast] of this rank; then the minima over all ranks; unchanged on error
 * *alone: EQP_ERR_MEMORY if this rank cannot store the received messages, which other ranks do not know; else EQP_OK */
int eqp__messenger_exchange(eqp_messenger *messenger, int code, int nleast, int64_t *least, int *alone);

/* ---- attached.c: messengers and sums of traffic on communicators, freed with them ---- */

/* Purposes of a messenger. Each purpose has its own partners, since its messages repeat from call to call. */
enum { EQP__STEP_RECORDS, EQP__SINGLE_SENDS, EQP__ROUTE_STAGES, EQP__PURPOSES = 40 };

/* The communicator's messenger for a purpose, created by the first call, which costs one agreement. Collective.
 * code: this rank's so far; if a messenger has to be created, a failed rank makes the call fail on all ranks */
int eqp__attached_messenger(MPI_Comm comm, int purpose, int code, eqp_messenger **messenger);

/* Adds bytes sent to a rank to the sums of eqp_traffic_watch(). Local. */
void eqp__traffic_add(MPI_Comm comm, int to, int64_t bytes);

#endif
