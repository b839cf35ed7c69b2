/* SPDX-License-Identifier: BSD-3-Clause */
#include "relay.h"

#include <equipoise/more/comm.h>

#include <stdlib.h>

static int pass_block(MPI_Comm comm, const dd_relay *relay, int64_t block, bool mine, int me, eqp_message *message)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    int code;

    if (mine) {
        relay->pack(relay->user, block, &out);
    }
    code = dd_outbox_deliver(comm, &out, &in);
    if (code != EQP_OK) {
        return code;
    }
    code = me == 0 ? relay->take(relay->user, &in, message) : EQP_OK;
    dd_inbox_free(&in);
    return eqp_agree(comm, code, message);
}

int dd_relay_run(MPI_Comm comm, const dd_relay *relay, eqp_message *message)
{
    int64_t *nblocks = NULL, n = 0;
    int me, code;

    MPI_Comm_rank(comm, &me);
    code = eqp_gather_records(comm, sizeof relay->nblocks, 1, &relay->nblocks, &n, &nblocks);
    for (int64_t r = 0; r < n && code == EQP_OK; r++) {
        for (int64_t b = 0; b < nblocks[r] && code == EQP_OK; b++) {
            code = pass_block(comm, relay, b, r == me, me, message);
        }
    }
    free(nblocks);
    return code;
}
