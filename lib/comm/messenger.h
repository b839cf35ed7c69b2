/* SPDX-License-Identifier: BSD-3-Clause */
/* What the library itself does with messengers. None of these look at what they are given. */
#ifndef EQUIPOISE_COMM_MESSENGER_H
#define EQUIPOISE_COMM_MESSENGER_H

#include <equipoise/more/messenger.h>

#include <mpi.h>
#include <stdint.h>

/* Tags that a messenger needs for itself. */
enum { EQP__MESSENGER_TAGS = 4 };

/* A messenger on a communicator that is borrowed, with tags of it from `tag` on. Local, but all ranks have one, or
 * none. */
int eqp__messenger_open(MPI_Comm comm, int tag, eqp_messenger **messenger);

/* Frees messages of more than so many bytes, what has come among them. */
void eqp__messenger_trim(eqp_messenger *messenger, int64_t most);

/* eqp_messenger_send() with numbers whose least over all ranks the finish tells: [nleast]. */
int eqp__messenger_send(eqp_messenger *messenger, int code, int nleast, const int64_t *least);

/* Ends that exchange. *alone: EQP_ERR_MEMORY where this rank cannot hold what came, else EQP_OK; the result is that of
 * all ranks. */
int eqp__messenger_finish(eqp_messenger *messenger, int64_t *least, int *alone);

#endif
