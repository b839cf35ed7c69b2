/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

static int compare_words(const void *left, const void *right, int n)
{
    uint64_t a[3], b[3];

    memcpy(a, left, (size_t)n * sizeof *a);
    memcpy(b, right, (size_t)n * sizeof *b);
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

int dd_by_word(const void *left, const void *right)
{
    return compare_words(left, right, 1);
}

int dd_by_2_words(const void *left, const void *right)
{
    return compare_words(left, right, 2);
}

int dd_by_3_words(const void *left, const void *right)
{
    return compare_words(left, right, 3);
}

void dd_sort(void *array, int64_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1) {
        qsort(array, (size_t)n, size, compare);
    }
}

void dd_outbox_fail(dd_outbox *outbox, int code)
{
    if (outbox->code == EQP_OK) {
        outbox->code = code;
    }
}

static int64_t words_of(size_t bytes)
{
    return (int64_t)((bytes + sizeof(int64_t) - 1) / sizeof(int64_t));
}

static int reserve(dd_outbox *outbox, int64_t n)
{
    EQP_CHECK(outbox->code);
    EQP_CHECK(eqp_array_reserve(&outbox->word, &outbox->room, n, sizeof *outbox->word));
    return eqp_array_reserve(&outbox->to, &outbox->to_room, n, sizeof *outbox->to);
}

void dd_outbox_add(dd_outbox *outbox, int rank, const void *bytes, size_t size)
{
    const int64_t n = outbox->n + words_of(size);

    outbox->code = reserve(outbox, n);
    if (size == 0 || outbox->code != EQP_OK) {
        return;
    }
    outbox->word[n - 1] = 0;
    memcpy(outbox->word + outbox->n, bytes, size);
    while (outbox->n < n) {
        outbox->to[outbox->n++] = rank;
    }
}

void dd_outbox_add_node(dd_outbox *outbox, int rank, const dd_node *node)
{
    dd_node head = *node;

    head.arm = NULL;
    dd_outbox_add(outbox, rank, &head, sizeof head);
    dd_outbox_add(outbox, rank, node->arm, (size_t)node->narms * sizeof *node->arm);
}

int dd_outbox_deliver_own(MPI_Comm comm, dd_outbox *outbox, int64_t *most, dd_inbox *inbox)
{
    dd_inbox made = {0};
    const int code = eqp_send_sparse(comm, outbox->code, sizeof *outbox->word, outbox->n, outbox->to, outbox->word,
                                     most, &made.n, &made.word);

    free(outbox->word);
    free(outbox->to);
    *outbox = (dd_outbox){0};
    *inbox = code == EQP_OK ? made : *inbox;
    return code;
}

int dd_outbox_deliver(MPI_Comm comm, dd_outbox *outbox, dd_inbox *inbox)
{
    return eqp_agree(comm, dd_outbox_deliver_own(comm, outbox, NULL, inbox), NULL);
}

int dd_outbox_pass(MPI_Comm comm, dd_outbox *outbox, int (*take)(void *user, dd_inbox *in), void *user)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};

    EQP_CHECK(dd_outbox_deliver(comm, outbox, &in));
    return eqp_agree(comm, take(user, &in), NULL);
}

bool dd_inbox_empty(const dd_inbox *inbox)
{
    return inbox->at >= inbox->n;
}

void *dd_inbox_next(dd_inbox *inbox, size_t size)
{
    int64_t *piece = inbox->word + inbox->at;

    if (words_of(size) > inbox->n - inbox->at) {
        return NULL;
    }
    inbox->at += words_of(size);
    return piece;
}

const dd_node *dd_inbox_node(dd_inbox *inbox)
{
    dd_node *node = dd_inbox_next(inbox, sizeof *node);

    if (node != NULL) {
        node->arm = dd_inbox_next(inbox, (size_t)node->narms * sizeof *node->arm);
    }
    return node == NULL || node->arm == NULL ? NULL : node;
}

int dd_inbox_read_node(dd_inbox *inbox, dd_node *node)
{
    const dd_node *next = dd_inbox_node(inbox);

    return next == NULL ? EQP_ERR_INTERNAL : dd_node_copy(node, next);
}

void dd_inbox_free(dd_inbox *inbox)
{
    free(inbox->word);
    *inbox = (dd_inbox){0};
}

static int pass_block(MPI_Comm comm, const dd_relay *relay, int64_t block, bool mine, int me, eqp_message *message)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    dd_outbox out = {0};

    if (mine) {
        relay->pack(relay->user, block, &out);
    }
    EQP_CHECK(dd_outbox_deliver(comm, &out, &in));
    return eqp_agree(comm, me == 0 ? relay->take(relay->user, &in, message) : EQP_OK, message);
}

int dd_relay_run(MPI_Comm comm, const dd_relay *relay, eqp_message *message)
{
    DD_FREED int64_t *nblocks = NULL;
    int64_t n = 0;
    int me;

    MPI_Comm_rank(comm, &me);
    EQP_CHECK(eqp_gather_records(comm, sizeof relay->nblocks, 1, &relay->nblocks, &n, &nblocks));
    for (int64_t r = 0; r < n; r++) {
        for (int64_t b = 0; b < nblocks[r]; b++) {
            EQP_CHECK(pass_block(comm, relay, b, r == me, me, message));
        }
    }
    return EQP_OK;
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

static int reserve_block(dd_blocks *blocks, int64_t n)
{
    EQP_CHECK(blocks->code);
    EQP_CHECK(eqp_array_reserve(&blocks->id, &blocks->id_room, n, sizeof *blocks->id));
    EQP_CHECK(eqp_array_reserve(&blocks->bytes, &blocks->bytes_room, n, sizeof *blocks->bytes));
    return eqp_array_reserve(&blocks->first, &blocks->first_room, n + 1, sizeof *blocks->first);
}

void dd_blocks_add(dd_blocks *blocks, int64_t id, int64_t bytes)
{
    const int64_t b = blocks->n;

    blocks->code = reserve_block(blocks, b + 1);
    if (blocks->code == EQP_OK) {
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
        blocks->code =
            eqp_array_reserve(&blocks->rank, &blocks->rank_room, blocks->first[blocks->n] + 1, sizeof *blocks->rank);
    }
    if (blocks->code == EQP_OK) {
        blocks->rank[blocks->first[blocks->n]++] = rank;
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
    return code == EQP_ERR_STATE ? started : code; /* nothing was sent: all ranks know why */
}
