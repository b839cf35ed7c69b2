/* SPDX-License-Identifier: BSD-3-Clause */
/* What all ranks hold goes through rank 0, a block of one rank at a time: nobody holds the whole. */
#ifndef DD_RELAY_H
#define DD_RELAY_H

#include "../outbox.h"

#include <equipoise/error.h>

#include <mpi.h>
#include <stdint.h>

typedef struct dd_relay {
    void *user;
    int64_t nblocks; /* of this rank */
    /* Writes block number b into messages to rank 0. */
    void (*pack)(void *user, int64_t block, dd_outbox *out);
    /* Rank 0: takes a block in, which another rank or this one has packed; reads the whole inbox. */
    int (*take)(void *user, dd_inbox *in, eqp_message *message);
} dd_relay;

/* Blocks arrive by rank, then by number. After an error of anybody nothing more is packed or taken. Collective. */
int dd_relay_run(MPI_Comm comm, const dd_relay *relay, eqp_message *message);

#endif
