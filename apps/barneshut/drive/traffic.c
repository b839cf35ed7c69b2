/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic.h"

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
