/* SPDX-License-Identifier: BSD-3-Clause */
#include "outbox.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

void dd_outbox_fail(dd_outbox *outbox, int code)
{
    if (outbox->code == EQP_OK) {
        outbox->code = code;
    }
}

static bool extend(dd_outbox *outbox, int rank, int64_t bytes)
{
    int code = outbox->code;

    if (code == EQP_OK) {
        code = eqp_array_reserve(&outbox->byte, &outbox->room, outbox->n + bytes, 1);
    }
    if (code == EQP_OK) {
        code = eqp_array_reserve(&outbox->rank, &outbox->rank_room, outbox->npieces + 1, sizeof *outbox->rank);
    }
    if (code == EQP_OK) {
        code = eqp_array_reserve(&outbox->size, &outbox->size_room, outbox->npieces + 1, sizeof *outbox->size);
    }
    outbox->code = code;
    if (code != EQP_OK) {
        return false;
    }
    if (outbox->npieces > 0 && outbox->rank[outbox->npieces - 1] == rank) {
        outbox->size[outbox->npieces - 1] += bytes;
    } else {
        outbox->rank[outbox->npieces] = rank;
        outbox->size[outbox->npieces++] = bytes;
    }
    return true;
}

void dd_outbox_add(dd_outbox *outbox, int rank, const void *bytes, size_t size)
{
    if (size > 0 && extend(outbox, rank, (int64_t)size)) {
        memcpy(outbox->byte + outbox->n, bytes, size);
        outbox->n += (int64_t)size;
    }
}

/* A node without its arms. */
typedef struct record {
    dd_tag tag;
    double x[3], v[3], last_v[3];
    int64_t order, split, label;
    int constraint, narms;
} record;

void dd_outbox_add_node(dd_outbox *outbox, int rank, const dd_node *node)
{
    const record head = {node->tag,
                         {node->x[0], node->x[1], node->x[2]},
                         {node->v[0], node->v[1], node->v[2]},
                         {node->last_v[0], node->last_v[1], node->last_v[2]},
                         node->order,
                         node->split,
                         node->label,
                         node->constraint,
                         node->narms};

    dd_outbox_add(outbox, rank, &head, sizeof head);
    dd_outbox_add(outbox, rank, node->arm, (size_t)node->narms * sizeof *node->arm);
}

void dd_outbox_free(dd_outbox *outbox)
{
    free(outbox->byte);
    free(outbox->rank);
    free(outbox->size);
    *outbox = (dd_outbox){0};
}

/* Header of a message between two ranks. Messages travel in words; the last one may be padded. */
typedef struct parcel {
    int64_t from, bytes;
} parcel;

static int64_t words_of(int64_t bytes)
{
    return bytes == 0 ? 0 : (int64_t)(sizeof(parcel) / sizeof(int64_t)) + (bytes + 7) / 8;
}

/* Sorts pieces by rank and keeps their order within a rank. to: [nwords] ranks, packed: [nwords]. */
static int pack(const dd_outbox *outbox, int rank, int nranks, int64_t *nwords, int **to, int64_t **packed)
{
    int64_t *bytes = NULL, *at = NULL, from = 0, n = 0;
    int code;

    EQP_TRY(eqp_array_create(&bytes, nranks, sizeof *bytes));
    EQP_TRY(eqp_array_create(&at, nranks, sizeof *at));
    for (int64_t i = 0; i < outbox->npieces; i++) {
        bytes[outbox->rank[i]] += outbox->size[i];
    }
    for (int r = 0; r < nranks; r++) {
        n += words_of(bytes[r]);
    }
    EQP_TRY(eqp_array_create(to, n, sizeof **to));
    EQP_TRY(eqp_array_create(packed, n, sizeof **packed));
    for (int r = 0; r < nranks; r++) {
        const int64_t end = *nwords + words_of(bytes[r]);
        const parcel head = {rank, bytes[r]};
        at[r] = 8 * *nwords + (int64_t)sizeof head;
        if (bytes[r] > 0) {
            memcpy(*packed + *nwords, &head, sizeof head);
        }
        for (; *nwords < end; ++*nwords) {
            (*to)[*nwords] = r;
        }
    }
    for (int64_t i = 0; i < outbox->npieces; i++) {
        memcpy((char *)*packed + at[outbox->rank[i]], outbox->byte + from, (size_t)outbox->size[i]);
        at[outbox->rank[i]] += outbox->size[i];
        from += outbox->size[i];
    }
done:
    free(bytes);
    free(at);
    return code;
}

/* Removes headers and padding; fills the inbox by sending rank. */
static void unpack(int64_t nwords, int64_t *words, dd_inbox *inbox)
{
    for (int64_t at = 0; at < nwords;) {
        parcel head;
        memcpy(&head, words + at, sizeof head);
        memmove((char *)words + inbox->n, (char *)(words + at) + sizeof head, (size_t)head.bytes);
        inbox->count[head.from] = head.bytes;
        inbox->n += head.bytes;
        at += words_of(head.bytes);
    }
    inbox->byte = (char *)words;
}

int dd_outbox_deliver_own(MPI_Comm comm, dd_outbox *outbox, dd_inbox *inbox)
{
    dd_inbox made = {0};
    int64_t *packed = NULL, *words = NULL, nwords = 0, nin = 0;
    int *to = NULL, rank, nranks, code = outbox->code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    code = code == EQP_OK ? pack(outbox, rank, nranks, &nwords, &to, &packed) : code;
    code = code == EQP_OK ? eqp_array_create(&made.count, nranks, sizeof *made.count) : code;
    dd_outbox_free(outbox);
    code = eqp_send_sparse(comm, code, sizeof *packed, nwords, to, packed, NULL, &nin, &words);
    free(packed);
    free(to);
    if (code != EQP_OK) {
        dd_inbox_free(&made);
        return code;
    }
    unpack(nin, words, &made);
    *inbox = made;
    return EQP_OK;
}

int dd_outbox_deliver(MPI_Comm comm, dd_outbox *outbox, dd_inbox *inbox)
{
    dd_inbox made = {0};
    const int code = eqp_agree(comm, dd_outbox_deliver_own(comm, outbox, &made), NULL);

    if (code != EQP_OK) {
        dd_inbox_free(&made);
        return code;
    }
    *inbox = made;
    return EQP_OK;
}

bool dd_inbox_empty(const dd_inbox *inbox)
{
    return inbox->at >= inbox->n;
}

int dd_inbox_sender(const dd_inbox *inbox)
{
    int64_t end = inbox->count[0];
    int rank = 0;

    while (inbox->at >= end) {
        end += inbox->count[++rank];
    }
    return rank;
}

int dd_inbox_read(dd_inbox *inbox, void *bytes, size_t size)
{
    if ((int64_t)size > inbox->n - inbox->at) {
        return EQP_ERR_INTERNAL;
    }
    if (size > 0) {
        memcpy(bytes, inbox->byte + inbox->at, size);
    }
    inbox->at += (int64_t)size;
    return EQP_OK;
}

int dd_inbox_read_node(dd_inbox *inbox, dd_node *node)
{
    record head;
    dd_arm *arm = NULL;
    int code;

    EQP_TRY(dd_inbox_read(inbox, &head, sizeof head));
    EQP_TRY(eqp_array_create(&arm, head.narms, sizeof *arm));
    EQP_TRY(dd_inbox_read(inbox, arm, (size_t)head.narms * sizeof *arm));
done:
    if (code != EQP_OK) {
        free(arm);
        return code;
    }
    *node = (dd_node){.tag = head.tag,
                      .order = head.order,
                      .split = head.split,
                      .label = head.label,
                      .constraint = head.constraint,
                      .narms = head.narms,
                      .room = head.narms,
                      .arm = arm};
    memcpy(node->x, head.x, sizeof node->x);
    memcpy(node->v, head.v, sizeof node->v);
    memcpy(node->last_v, head.last_v, sizeof node->last_v);
    return EQP_OK;
}

void dd_inbox_free(dd_inbox *inbox)
{
    free(inbox->byte);
    free(inbox->count);
    *inbox = (dd_inbox){0};
}

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
