/* SPDX-License-Identifier: BSD-3-Clause */
/* Relays distributed data through rank 0, a block of one rank at a time, so that rank 0 never holds all of it. */
#ifndef DD_RELAY_H
#define DD_RELAY_H

#include "../outbox.h"

#include <equipoise/error.h>

#include <mpi.h>
#include <stdint.h>

typedef struct dd_relay {
    void *user;
    int64_t nblocks; /* of this rank */
    /* Packs block number b for rank 0. */
    void (*pack)(void *user, int64_t block, dd_outbox *out);
    /* Rank 0: unpacks a block of any rank; reads the whole inbox. */
    int (*take)(void *user, dd_inbox *in, eqp_message *message);
} dd_relay;

/* Blocks arrive by rank, then by number. After an error on any rank the relay ends. Collective. */
int dd_relay_run(MPI_Comm comm, const dd_relay *relay, eqp_message *message);

#endif
