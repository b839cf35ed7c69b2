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

void bh_messengers_init(bh_messengers *messengers, MPI_Comm comm)
{
    *messengers = (bh_messengers){.comm = comm};
}

void bh_messengers_free(bh_messengers *messengers)
{
    eqp_messenger_free(messengers->tasks);
    eqp_messenger_free(messengers->forces);
    eqp_messenger_free(messengers->requests);
    eqp_messenger_free(messengers->ghosts);
    free(messengers->helper);
    free(messengers->asked);
    bh_messengers_init(messengers, messengers->comm);
}

static int make_lists(bh_messengers *messengers)
{
    int nranks, code;

    MPI_Comm_size(messengers->comm, &nranks);
    EQP_TRY(eqp_array_create(&messengers->helper, nranks, sizeof *messengers->helper));
    EQP_TRY(eqp_array_create(&messengers->asked, nranks, sizeof *messengers->asked));
done:
    return code;
}

int bh_messengers_open(bh_messengers *messengers, const eqp_exchange_plan *plan, bool *open)
{
    eqp_messenger **const all[] = {&messengers->tasks, &messengers->forces, &messengers->requests, &messengers->ghosts};
    int code = EQP_OK;

    *open = plan->stages == EQP_STAGES_DIRECT && plan->broadcast == 0 && plan->node == 1;
    if (*open && messengers->ghosts == NULL) {
        EQP_TRY(eqp_agree(messengers->comm, make_lists(messengers), NULL));
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            EQP_TRY(eqp_messenger_create(messengers->comm, all[i]));
        }
    }
done:
    if (code != EQP_OK) {
        bh_messengers_free(messengers);
    }
    return code;
}
