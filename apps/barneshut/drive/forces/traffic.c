/* SPDX-License-Identifier: BSD-3-Clause */
#include "traffic.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

int64_t bh_phases_bytes(const eqp_route_counts phase[BH_PHASES])
{
    int64_t bytes = 0;

    for (int p = 0; p < BH_PHASES; p++) {
        bytes += phase[p].bytes_sent;
    }
    return bytes;
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
    free(messengers->partner);
    bh_messengers_init(messengers, messengers->comm);
}

static int make_lists(bh_messengers *messengers)
{
    int nranks;

    MPI_Comm_size(messengers->comm, &nranks);
    EQP_CHECK(eqp_array_create(&messengers->helper, nranks, sizeof *messengers->helper));
    EQP_CHECK(eqp_array_create(&messengers->asked, nranks, sizeof *messengers->asked));
    return eqp_array_create(&messengers->partner, 3 * (int64_t)nranks, sizeof *messengers->partner);
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

int bh_list_ranks(int64_t n, const int *rank, int nranks, int *list)
{
    int count = 0;

    memset(list, 0, (size_t)nranks * sizeof *list);
    for (int64_t i = 0; i < n; i++) {
        list[rank[i]] = 1;
    }
    for (int r = 0; r < nranks; r++) {
        if (list[r] != 0) {
            list[count++] = r;
        }
    }
    return count;
}

/* Packs each block once and copies it into the messages to all of its receivers. */
static int put_blocks(eqp_messenger *messages, const eqp_route_blocks *blocks, bh_pack_fn *pack, const void *user)
{
    for (int64_t b = 0; b < blocks->n; b++) {
        unsigned char *first = NULL, *room;
        for (int64_t k = blocks->first[b]; k < blocks->first[b + 1]; k++) {
            EQP_CHECK(eqp_messenger_put(messages, blocks->rank[k], blocks->bytes[b], &room));
            if (first == NULL) {
                first = room;
                pack(user, b, room);
            } else {
                memcpy(room, first, (size_t)blocks->bytes[b]);
            }
        }
    }
    return EQP_OK;
}

static int start_messages(bh_parcels *parcels, eqp_messenger *messages, const eqp_route_blocks *blocks,
                          bh_pack_fn *pack, const void *user, const bh_partners *partners)
{
    const int code = blocks->code == EQP_OK ? put_blocks(messages, blocks, pack, user) : blocks->code;
    const int sent = partners == NULL ? eqp_messenger_send(messages, code)
                                      : eqp_messenger_answer(messages, code, partners->nto, partners->to,
                                                             partners->nfrom, partners->from);

    parcels->messages = sent == EQP_OK ? messages : NULL;
    return code == EQP_OK ? sent : code;
}

static int pack_all(bh_parcels *parcels, const eqp_route_blocks *blocks, bh_pack_fn *pack, const void *user)
{
    int64_t size = 0;
    unsigned char *to;

    for (int64_t b = 0; b < blocks->n; b++) {
        size += blocks->bytes[b];
    }
    EQP_CHECK(eqp_array_create(&parcels->data, size, 1));
    to = parcels->data;
    for (int64_t b = 0; b < blocks->n; b++) {
        pack(user, b, to);
        to += blocks->bytes[b];
    }
    return EQP_OK;
}

/* Fails on all ranks or on none. */
static int start_route(bh_parcels *parcels, MPI_Comm comm, const eqp_exchange_plan *plan, eqp_route_blocks blocks,
                       bh_pack_fn *pack, const void *user)
{
    int code;

    blocks.code = blocks.code == EQP_OK ? pack_all(parcels, &blocks, pack, user) : blocks.code;
    EQP_TRY(eqp_route_create(comm, plan, &blocks, &parcels->route));
    parcels->idle = eqp_route_idle(parcels->route);
    EQP_TRY(parcels->idle ? EQP_OK : eqp_route_start(parcels->route, parcels->data));
done:
    if (code != EQP_OK) {
        bh_parcels_free(parcels);
    }
    return code;
}

int bh_parcels_start(bh_parcels *parcels, MPI_Comm comm, const eqp_exchange_plan *plan, eqp_messenger *messages,
                     const eqp_route_blocks *blocks, bh_pack_fn *pack, const void *user, const bh_partners *partners)
{
    *parcels = (bh_parcels){.messages = NULL};
    return messages != NULL ? start_messages(parcels, messages, blocks, pack, user, partners)
                            : start_route(parcels, comm, plan, *blocks, pack, user);
}

int bh_parcels_progress(bh_parcels *parcels)
{
    if (parcels->messages != NULL) {
        return eqp_messenger_progress(parcels->messages);
    }
    return parcels->route != NULL ? eqp_route_progress(parcels->route) : EQP_OK;
}

int bh_parcels_finish(bh_parcels *parcels, int mine, eqp_route_counts *counts)
{
    int code = EQP_OK;

    if (parcels->messages != NULL) {
        code = eqp_messenger_finish(parcels->messages);
        parcels->delivered = eqp_messenger_came(parcels->messages).rank != NULL;
        *counts = eqp_messenger_last_counts(parcels->messages);
    } else if (parcels->route != NULL) {
        code = parcels->idle ? EQP_OK : eqp_route_finish(parcels->route, &parcels->received);
        parcels->delivered = code == EQP_OK;
        *counts = parcels->idle ? (eqp_route_counts){0} : eqp_route_last_counts(parcels->route);
    }
    return mine != EQP_OK ? mine : code;
}

int64_t bh_parcels_pieces(const bh_parcels *parcels)
{
    return parcels->messages != NULL ? eqp_messenger_came(parcels->messages).n
           : parcels->route != NULL  ? eqp_route_arrivals(parcels->route).n
                                     : 0;
}

bh_piece bh_parcels_piece(const bh_parcels *parcels, int64_t i)
{
    if (parcels->messages != NULL) {
        const eqp_messages_view came = eqp_messenger_came(parcels->messages);
        return (bh_piece){came.rank[i], came.data[i], came.bytes[i]};
    }
    const eqp_route_view came = eqp_route_arrivals(parcels->route);
    return (bh_piece){came.home[i], (const unsigned char *)parcels->received + came.offset[i], came.bytes[i]};
}

void bh_parcels_free(bh_parcels *parcels)
{
    eqp_route_free(parcels->route);
    free(parcels->data);
    *parcels = (bh_parcels){.messages = NULL};
}
