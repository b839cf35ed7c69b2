/* SPDX-License-Identifier: BSD-3-Clause */
/* Messengers as the library uses them. These functions do not check their arguments. */
#ifndef EQUIPOISE_COMM_MESSENGER_H
#define EQUIPOISE_COMM_MESSENGER_H

#include <equipoise/more/messenger.h>
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
 * least: [nleast] of this rank; then the least of all ranks; unchanged on error
 * *alone: EQP_ERR_MEMORY if this rank cannot hold what came, which the other ranks do not know; else EQP_OK */
int eqp__messenger_exchange(eqp_messenger *messenger, int code, int nleast, int64_t *least, int *alone);

#endif
