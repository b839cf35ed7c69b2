/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>

int64_t bh_phases_bytes(const eqp_route_counts phase[BH_PHASES])
{
    int64_t bytes = 0;

    for (int p = 0; p < BH_PHASES; p++) {
        bytes += phase[p].bytes_sent;
    }
    return bytes;
}

int bh_trip(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, const void *data,
            eqp_route **route, const void **received, eqp_route_counts *counts)
{
    int code;

    EQP_TRY(eqp_route_create(comm, plan, blocks, route));
    if (eqp_route_idle(*route)) {
        *counts = (eqp_route_counts){0};
        return EQP_OK;
    }
    EQP_TRY(eqp_route_start(*route, data));
    EQP_TRY(eqp_route_finish(*route, received));
    *counts = eqp_route_last_counts(*route);
done:
    return code;
}

void bh_post_init(bh_post *post, MPI_Comm comm)
{
    *post = (bh_post){.comm = comm};
}

void bh_post_free(bh_post *post)
{
    eqp_messenger_free(post->tasks);
    eqp_messenger_free(post->forces);
    eqp_messenger_free(post->requests);
    eqp_messenger_free(post->ghosts);
    free(post->hired);
    free(post->asked);
    bh_post_init(post, post->comm);
}

static int make_lists(bh_post *post)
{
    int nranks, code;

    MPI_Comm_size(post->comm, &nranks);
    EQP_TRY(eqp_array_create(&post->hired, nranks, sizeof *post->hired));
    EQP_TRY(eqp_array_create(&post->asked, nranks, sizeof *post->asked));
done:
    return code;
}

int bh_post_open(bh_post *post, const eqp_exchange_plan *plan, bool *open)
{
    eqp_messenger **const all[] = {&post->tasks, &post->forces, &post->requests, &post->ghosts};
    int code = EQP_OK;

    *open = plan->stages == EQP_STAGES_DIRECT && plan->broadcast == 0 && plan->node == 1;
    if (*open && post->ghosts == NULL) {
        EQP_TRY(eqp_agree(post->comm, make_lists(post), NULL));
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            EQP_TRY(eqp_messenger_create(post->comm, all[i]));
        }
    }
done:
    if (code != EQP_OK) {
        bh_post_free(post);
    }
    return code;
}
