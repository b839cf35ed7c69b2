/* SPDX-License-Identifier: BSD-3-Clause */
#include "blocks.h"

#include <equipoise/more/base.h>

#include <stdlib.h>

void dd_blocks_free(dd_blocks *blocks)
{
    free(blocks->id);
    free(blocks->bytes);
    free(blocks->first);
    free(blocks->rank);
    *blocks = (dd_blocks){.n = 0};
}

void dd_blocks_fail(dd_blocks *blocks, int code)
{
    if (blocks->code == EQP_OK) {
        blocks->code = code;
    }
}

void dd_blocks_add(dd_blocks *blocks, int64_t id, int64_t bytes)
{
    const int64_t b = blocks->n;
    int code = blocks->code;

    if (code == EQP_OK) {
        code = eqp_array_reserve(&blocks->id, &blocks->id_room, b + 1, sizeof *blocks->id);
    }
    if (code == EQP_OK) {
        code = eqp_array_reserve(&blocks->bytes, &blocks->bytes_room, b + 1, sizeof *blocks->bytes);
    }
    if (code == EQP_OK) {
        code = eqp_array_reserve(&blocks->first, &blocks->first_room, b + 2, sizeof *blocks->first);
    }
    blocks->code = code;
    if (code == EQP_OK) {
        blocks->id[b] = id;
        blocks->bytes[b] = bytes;
        blocks->first[b] = b == 0 ? 0 : blocks->first[b];
        blocks->first[b + 1] = blocks->first[b];
        blocks->n++;
    }
}

void dd_blocks_need(dd_blocks *blocks, int rank)
{
    if (blocks->code == EQP_OK) {
        const int64_t at = blocks->first[blocks->n];
        blocks->code = eqp_array_reserve(&blocks->rank, &blocks->rank_room, at + 1, sizeof *blocks->rank);
        if (blocks->code == EQP_OK) {
            blocks->rank[at] = rank;
            blocks->first[blocks->n]++;
        }
    }
}

int dd_blocks_route(MPI_Comm comm, const eqp_exchange_plan *plan, dd_blocks *blocks, eqp_route **route)
{
    static const int64_t none[1] = {0};
    const eqp_route_blocks listed = {.n = blocks->n,
                                     .id = blocks->id,
                                     .bytes = blocks->bytes,
                                     .first = blocks->n > 0 ? blocks->first : none,
                                     .rank = blocks->rank,
                                     .back = blocks->back,
                                     .code = blocks->code};
    eqp_route *made = NULL;
    int code = eqp_route_create(comm, plan, &listed, &made);

    code = code == EQP_OK ? eqp_route_ready(made) : code;
    if (code == EQP_OK) {
        *route = made;
    } else {
        eqp_route_free(made);
    }
    dd_blocks_free(blocks);
    return code;
}

int dd_route_send(eqp_route *route, int code, const void *data, const void **received)
{
    if (code != EQP_OK) {
        eqp_route_give_up(route, code);
    }
    const int started = eqp_route_start(route, data);
    code = eqp_route_finish(route, received);
    return code == EQP_ERR_STATE ? started : code; /* no trip: all ranks know why */
}
