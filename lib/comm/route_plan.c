/* SPDX-License-Identifier: BSD-3-Clause */
/* The inspector of a route: descriptions of blocks travel once, stage by stage, and the tables are made from them. */
#include "comm/route_tables.h"

#include "base/internal.h"
#include "comm/messenger.h"

_Static_assert(EQP__ROUTE_STAGES + EQP__STAGES_MAX <= EQP__PURPOSES, "each stage has a messenger");

/* A description of a block, followed by its users. Without users, the receiver is the only one. */
typedef struct description {
    int64_t id, bytes, seq;
    int32_t home, nusers;
} description;

/* A block on its way to one next stop. */
typedef struct leg {
    int64_t traveller, user, nusers;
} leg;

typedef struct legs {
    int64_t n, capacity, to_capacity;
    leg *list;
    int *to; /* ranks of the lane */
} legs;

void eqp__order_by(int64_t n, const int *key, int nkeys, int64_t *first, int64_t *order)
{
    memset(first, 0, (size_t)(nkeys + 1) * sizeof *first);
    for (int64_t i = 0; i < n; i++) {
        first[key[i] + 1]++;
    }
    for (int k = 0; k < nkeys; k++) {
        first[k + 1] += first[k];
    }
    for (int64_t i = 0; i < n; i++) {
        order[first[key[i]]++] = i;
    }
    memmove(first + 1, first, (size_t)nkeys * sizeof *first);
    first[0] = 0;
}

int eqp__add_bytes(int64_t *sum, int64_t bytes)
{
    EQP__FAIL_IF(bytes < 0 || *sum > INT64_MAX / 2 - bytes, EQP_ERR_OVERFLOW);
    *sum += bytes;
    return EQP_OK;
}

int eqp__span_add(eqp__spans *spans, int64_t from, int64_t to, int64_t bytes, int who)
{
    EQP__CHECK(eqp_array_reserve(&spans->list, &spans->capacity, spans->n + 1, sizeof *spans->list));
    spans->list[spans->n++] = (eqp__span){from, to, bytes, who};
    return EQP_OK;
}

/* Most divisors are 1, and divisions would dominate the cost. */
static int quotient(int number, int divisor)
{
    return divisor == 1 ? number : number / divisor;
}

static int node_of(const eqp__inspector *in, int rank)
{
    return quotient(rank, in->route->stages.node);
}

static int distance_to(const eqp__inspector *in, int rank)
{
    return eqp__distance(&in->route->stages, in->route->me, node_of(in, rank));
}

/* ---- own blocks ---- */

static int reserve(eqp__inspector *in, int64_t nusers)
{
    EQP__CHECK(eqp_array_reserve(&in->travellers, &in->capacity, in->n + 1, sizeof *in->travellers));
    return eqp_array_reserve(&in->user, &in->users_capacity, in->nusers + nusers, sizeof *in->user);
}

/* Adds a block that travels by messages. Its users are sorted by distance around the ring, so that the users behind one
 * next stop are consecutive at every stage. */
static int take_block(eqp__inspector *in, const eqp__traveller *t, int64_t n, const int *rank)
{
    eqp__traveller own = *t;
    int64_t start = 0;

    EQP__CHECK(reserve(in, n));
    while (start < n && node_of(in, rank[start]) < in->route->me) {
        start++;
    }
    own.user = in->nusers;
    for (int64_t k = 0, at = start; k < n; k++, at++) {
        at = at < n ? at : at - n;
        if (rank[at] != in->route->rank) {
            in->user[in->nusers++] = rank[at];
        }
    }
    own.nusers = in->nusers - own.user;
    in->travellers[in->n++] = own;
    return EQP_OK;
}

static int take_hot(eqp__inspector *in, const eqp__traveller *t, int64_t n, const int *rank)
{
    const int64_t head = (int64_t)(sizeof(eqp__hot) / sizeof(uint64_t));
    const eqp__hot record = {t->id, t->bytes, t->seq, in->route->rank};

    EQP__CHECK(eqp_array_reserve(&in->hot, &in->hot_capacity, (in->nhot + 1) * in->hot_words, sizeof *in->hot));
    uint64_t *words = in->hot + in->nhot * in->hot_words;
    memset(words, 0, (size_t)in->hot_words * sizeof *words);
    memcpy(words, &record, sizeof record);
    for (int64_t k = 0; k < n; k++) {
        if (rank[k] != in->route->rank) {
            words[head + rank[k] / 64] |= UINT64_C(1) << rank[k] % 64;
        }
    }
    in->nhot++;
    return eqp__span_add(&in->route->to_hot, t->at, 0, t->bytes, EQP__OWN);
}

static int check_blocks(const eqp_route_blocks *b, int nranks)
{
    EQP__FAIL_IF(!b || b->n < 0 || (b->n > 0 && (!b->id || !b->bytes || !b->first || b->first[0] != 0)),
                 EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < b->n; i++) {
        EQP__FAIL_IF(b->bytes[i] < 0 || b->first[i + 1] < b->first[i] || (b->first[i + 1] > b->first[i] && !b->rank),
                     EQP_ERR_ARGUMENT);
        for (int64_t k = b->first[i]; k < b->first[i + 1]; k++) {
            EQP__FAIL_IF(b->rank[k] < 0 || b->rank[k] >= nranks || (k > b->first[i] && b->rank[k] <= b->rank[k - 1]),
                         EQP_ERR_ARGUMENT);
        }
    }
    return EQP_OK;
}

static int take_blocks(eqp__inspector *in, const eqp_route_blocks *b)
{
    eqp_route *route = in->route;

    in->hot_words = (int64_t)(sizeof(eqp__hot) / sizeof(uint64_t)) + (route->nranks + 63) / 64;
    route->all[EQP__WHOLE] = route->all[EQP__IDLE] = 1;
    EQP__CHECK(b && b->code ? (b->code < 0 ? b->code : EQP_ERR_ARGUMENT) : check_blocks(b, route->nranks));
    for (int64_t i = 0; i < b->n; i++) {
        const int64_t n = b->first[i + 1] - b->first[i];
        const int *rank = b->rank ? b->rank + b->first[i] : NULL;
        const eqp__traveller t = {
            .id = b->id[i], .bytes = b->bytes[i], .seq = i, .at = route->own_bytes, .home = route->rank, .own = 1};
        int64_t others = n;

        for (int64_t k = 0; k < n; k++) {
            others -= rank[k] == route->rank;
        }
        route->all[EQP__WHOLE] = route->all[EQP__WHOLE] && b->bytes[i] % (int64_t)sizeof(double) == 0;
        route->all[EQP__IDLE] = route->all[EQP__IDLE] && others == 0;
        EQP__CHECK(eqp__add_bytes(&route->own_bytes, b->bytes[i]));
        if (others > 0) {
            EQP__CHECK(eqp__is_hot(&route->plan, route->nranks, others) ? take_hot(in, &t, n, rank)
                                                                        : take_block(in, &t, n, rank));
        }
    }
    return EQP_OK;
}

/* ---- one stage ---- */

static int add_leg(legs *all, int to, const leg *l)
{
    EQP__CHECK(eqp_array_reserve(&all->list, &all->capacity, all->n + 1, sizeof *all->list));
    EQP__CHECK(eqp_array_reserve(&all->to, &all->to_capacity, all->n + 1, sizeof *all->to));
    all->list[all->n] = *l;
    all->to[all->n++] = to;
    return EQP_OK;
}

/* Lists the legs of this stage by next stop; users without a leg stay with their block. */
static int part_ways(eqp__inspector *in, int stride, legs *all)
{
    for (int64_t i = 0; i < in->n; i++) {
        eqp__traveller *t = &in->travellers[i];
        int64_t stay = 0;
        int last = 0;

        for (int64_t k = 0; k < t->nusers; k++) {
            const int digit = quotient(distance_to(in, in->user[t->user + k]), stride);
            if (digit == 0) {
                stay++;
            } else if (digit == last) {
                all->list[all->n - 1].nusers++;
            } else {
                const leg l = {i, t->user + k, 1};
                EQP__CHECK(add_leg(all, eqp__further(&in->route->stages, in->route->me, digit * stride), &l));
                last = digit;
            }
        }
        t->nusers = stay;
    }
    return EQP_OK;
}

/* True if the leg ends at its only user, which then need not be named. */
static int is_last(const eqp__inspector *in, const leg *l, int to)
{
    const int lane = in->route->rank % in->route->stages.node;

    return l->nusers == 1 && in->user[l->user] == to * in->route->stages.node + lane;
}

static int64_t describe(const eqp__inspector *in, const leg *l, int to, char *text)
{
    const eqp__traveller *t = &in->travellers[l->traveller];
    const int nusers = is_last(in, l, to) ? 0 : (int)l->nusers;
    const description d = {t->id, t->bytes, t->seq, t->home, nusers};

    memcpy(text, &d, sizeof d);
    memcpy(text + sizeof d, in->user + l->user, (size_t)nusers * sizeof *in->user);
    return (int64_t)(sizeof d + (size_t)nusers * sizeof *in->user);
}

/* Bytes of a leg's description, without users if the leg is the last. */
static int64_t described_bytes(const eqp__inspector *in, const leg *l, int to)
{
    return (int64_t)sizeof(description) + (is_last(in, l, to) ? 0 : l->nusers * (int64_t)sizeof(int));
}

/* Lists one message and writes its description. number: [n] legs to the same stop */
static int write_message(eqp__inspector *in, const legs *all, int64_t n, const int64_t *number,
                         eqp_messenger *messenger)
{
    eqp_route *route = in->route;
    eqp__messages *sent = &route->sent;
    const int to = all->to[number[0]];
    eqp__message m = {.partner = to, .at = sent->bytes, .piece = route->pieces.n, .npieces = n};
    int64_t bytes = 0;
    char *text;

    for (int64_t k = 0; k < n; k++) {
        bytes += described_bytes(in, &all->list[number[k]], to);
    }
    EQP__CHECK(eqp_messenger_put(messenger, to, bytes, &text));
    EQP__CHECK(eqp_array_reserve(&sent->list, &sent->capacity, sent->n + 1, sizeof *sent->list));
    for (int64_t k = 0; k < n; k++) {
        const eqp__traveller *t = &in->travellers[all->list[number[k]].traveller];
        EQP__CHECK(eqp__span_add(&route->pieces, t->at, 0, t->bytes, t->own ? EQP__OWN : route->node_rank));
        EQP__CHECK(eqp__add_bytes(&m.bytes, t->bytes));
        text += describe(in, &all->list[number[k]], to, text);
    }
    EQP__CHECK(eqp__add_bytes(&sent->bytes, m.bytes));
    sent->list[sent->n++] = m;
    return EQP_OK;
}

static int write_messages(eqp__inspector *in, const legs *all, eqp_messenger *messenger)
{
    const int nlane = in->route->stages.nnodes;
    int64_t *first = NULL, *order = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(first, nlane + 1), EQP__ARRAY(order, all->n)));
    eqp__order_by(all->n, all->to, nlane, first, order);
    for (int to = 0; to < nlane; to++) {
        if (first[to + 1] > first[to]) {
            EQP_TRY(write_message(in, all, first[to + 1] - first[to], order + first[to], messenger));
        }
    }
done:
    EQP__FREE(first, order);
    return code;
}

/* Reads one block from a message and moves *text past its description. */
static int read_block(eqp__inspector *in, const char **text, eqp__message *m)
{
    description d;

    memcpy(&d, *text, sizeof d);
    const eqp__traveller t = {.id = d.id,
                              .bytes = d.bytes,
                              .seq = d.seq,
                              .at = in->pool,
                              .home = d.home,
                              .user = in->nusers,
                              .nusers = d.nusers ? d.nusers : 1};
    EQP__CHECK(reserve(in, t.nusers));
    memcpy(in->user + in->nusers, d.nusers ? (const void *)(*text + sizeof d) : &in->route->rank,
           (size_t)t.nusers * sizeof *in->user);
    in->nusers += t.nusers;
    in->travellers[in->n++] = t;
    *text += sizeof d + (size_t)d.nusers * sizeof *in->user;
    EQP__CHECK(eqp__add_bytes(&in->pool, d.bytes));
    return eqp__add_bytes(&m->bytes, d.bytes);
}

static int read_messages(eqp__inspector *in, const eqp_messages_view *came)
{
    eqp__messages *received = &in->route->received;

    EQP__CHECK(eqp_array_reserve(&received->list, &received->capacity, received->n + came->n, sizeof *received->list));
    for (int i = 0; i < came->n; i++) {
        eqp__message m = {.partner = came->rank[i], .at = in->pool};
        const char *text = came->data[i], *const end = text + came->bytes[i];

        while (text < end) {
            EQP__CHECK(read_block(in, &text, &m));
        }
        received->list[received->n++] = m;
    }
    return EQP_OK;
}

/* Collective over the lane; returns the code of all its ranks.
 * code: this rank's so far; *alone: this rank's afterwards, unknown to the other ranks
 * least: [nleast] as in eqp__messenger_exchange() */
static int inspect_stage(eqp__inspector *in, int stage, int code, int nleast, int64_t *least, int *alone)
{
    eqp_route *route = in->route;
    eqp_messenger *messenger = NULL;
    legs all = {0};
    const int found = eqp__attached_messenger(route->lane, EQP__ROUTE_STAGES + stage, code, &messenger);

    *alone = EQP_OK;
    route->sent.first[stage] = route->sent.n;
    route->received.first[stage] = route->received.n;
    if (found) {
        return found;
    }
    code = code ? code : part_ways(in, route->stages.stride[stage], &all);
    code = code ? code : write_messages(in, &all, messenger);
    EQP_TRY(eqp__messenger_exchange(messenger, code, nleast, least, alone));
    if (!*alone) {
        const eqp_messages_view came = eqp_messenger_came(messenger);
        *alone = read_messages(in, &came);
    }
    eqp__messenger_trim(messenger, EQP__KEPT_BYTES);
done:
    route->sent.first[stage + 1] = route->sent.n;
    route->received.first[stage + 1] = route->received.n;
    EQP__FREE(all.list, all.to);
    return code;
}

int eqp__route_meet_first(MPI_Comm comm, int code, int64_t plan[2])
{
    eqp_messenger *messenger = NULL;
    int alone;

    EQP__CHECK(eqp__attached_messenger(comm, EQP__ROUTE_STAGES, code, &messenger));
    code = eqp__messenger_exchange(messenger, code, 2, plan, &alone);
    return !code && eqp__pair_differs(plan) ? EQP_ERR_ARGUMENT : code;
}

int eqp__route_inspect(eqp_route *route, const eqp_route_blocks *blocks, int64_t plan[2], int *alone)
{
    eqp__inspector in = {.route = route};
    const int lanes = route->stages.node > 1;
    int over = 0, code = take_blocks(&in, blocks);

    if (lanes) {
        EQP_TRY(eqp__route_meet_first(route->comm, code, plan));
        EQP_TRY(eqp__route_split(route));
    }
    /* A failure of one rank is reported at the next stage. Lanes do not learn of each other's failures, so all ranks go
     * through all stages and then agree. */
    *alone = code;
    for (int stage = 0; stage < route->stages.n && !over; stage++) {
        const int first = !lanes && stage == 0;
        code = inspect_stage(&in, stage, *alone, first ? 2 : 0, plan, alone);
        code = !code && first && eqp__pair_differs(plan) ? EQP_ERR_ARGUMENT : code;
        *alone = code ? code : *alone;
        over = code && !lanes;
    }
    EQP_TRY(lanes ? EQP_OK : code);
    code = eqp__route_keep(&in, alone);
done:
    EQP__FREE(in.travellers, in.user, in.hot);
    return code;
}
