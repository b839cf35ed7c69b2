/* SPDX-License-Identifier: BSD-3-Clause */
/* The inspector of a route: blocks travel once as descriptions, stage by stage, and leave tables behind. */
#include "par/route_tables.h"

#include "par/sparse.h"

#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

/* A block that is at this rank and that others, or this one, still need. */
typedef struct traveller {
    int64_t id, bytes, seq; /* seq: its place among its home's blocks */
    int64_t at;             /* in own blocks or the pool */
    int64_t user, nusers;   /* into inspector.user: ranks whose blocks have not gone on, nearest node first */
    int home, own;
} traveller;

/* A description as it is sent, followed by its users; none: whom it is sent to needs it, nobody else. */
typedef struct description {
    int64_t id, bytes, seq;
    int32_t home, nusers;
} description;

/* A block that goes on to one next stop. */
typedef struct leg {
    int64_t traveller, user, nusers;
} leg;

/* A broadcast block; followed by a bit for each rank that needs it. */
typedef struct hot {
    int64_t id, bytes, seq;
    int64_t home;
} hot;

/* What a rank is told of a block that it will find in a segment of its node. */
typedef struct kept {
    int64_t id, bytes, seq, at;
    int64_t home;
} kept;

typedef struct inspector {
    eqp_route *route;
    traveller *travellers;
    int64_t n, capacity;
    int *user;
    int64_t nusers, users_capacity;
    uint64_t *hot; /* records */
    int64_t nhot, hot_capacity, hot_words;
    leg *leg;
    int *leg_to; /* ranks of the lane */
    int64_t nlegs, leg_capacity, leg_to_capacity;
    kept *keep;
    int *keep_for; /* ranks of the node */
    int64_t nkeep, keep_capacity, keep_for_capacity;
    int64_t pool; /* bytes so far */
} inspector;

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
    if (bytes < 0 || *sum > INT64_MAX / 2 - bytes) {
        return EQP_ERR_OVERFLOW;
    }
    *sum += bytes;
    return EQP_OK;
}

int eqp__span_add(eqp__spans *spans, int64_t from, int64_t to, int64_t bytes, int who)
{
    int code = eqp_array_reserve(&spans->list, &spans->capacity, spans->n + 1, sizeof *spans->list);

    if (!code) {
        spans->list[spans->n++] = (eqp__span){from, to, bytes, who};
    }
    return code;
}

static int node_of(const inspector *in, int rank)
{
    return rank / in->route->stages.node;
}

static int distance_to(const inspector *in, int rank)
{
    return eqp__distance(&in->route->stages, in->route->me, node_of(in, rank));
}

/* ---- what lives here ---- */

static int add_traveller(inspector *in, const traveller *t)
{
    int code = eqp_array_reserve(&in->travellers, &in->capacity, in->n + 1, sizeof *in->travellers);

    if (!code) {
        in->travellers[in->n++] = *t;
    }
    return code;
}

static int add_user(inspector *in, int rank)
{
    int code = eqp_array_reserve(&in->user, &in->users_capacity, in->nusers + 1, sizeof *in->user);

    if (!code) {
        in->user[in->nusers++] = rank;
    }
    return code;
}

/* A block that goes by messages. Its users by distance around the ring, so that those behind one next stop stand
 * together at every stage. */
static int take_block(inspector *in, const traveller *t, int64_t n, const int *rank)
{
    traveller own = *t;
    int64_t start = 0;
    int code = EQP_OK;

    while (start < n && node_of(in, rank[start]) < in->route->me) {
        start++;
    }
    own.user = in->nusers;
    for (int64_t k = 0; k < n && !code; k++) {
        const int user = rank[(start + k) % n];
        code = user == in->route->rank ? EQP_OK : add_user(in, user);
    }
    own.nusers = in->nusers - own.user;
    return code ? code : add_traveller(in, &own);
}

static int take_hot(inspector *in, const traveller *t, int64_t n, const int *rank)
{
    const int64_t head = (int64_t)(sizeof(hot) / sizeof(uint64_t));
    const hot record = {t->id, t->bytes, t->seq, in->route->rank};
    int code = eqp_array_reserve(&in->hot, &in->hot_capacity, (in->nhot + 1) * in->hot_words, sizeof *in->hot);

    if (code) {
        return code;
    }
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
    if (!b || b->n < 0 || (b->n > 0 && (!b->id || !b->bytes || !b->first || b->first[0] != 0))) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t i = 0; i < b->n; i++) {
        if (b->bytes[i] < 0 || b->first[i + 1] < b->first[i] || (b->first[i + 1] > b->first[i] && !b->rank)) {
            return EQP_ERR_ARGUMENT;
        }
        for (int64_t k = b->first[i]; k < b->first[i + 1]; k++) {
            if (b->rank[k] < 0 || b->rank[k] >= nranks || (k > b->first[i] && b->rank[k] <= b->rank[k - 1])) {
                return EQP_ERR_ARGUMENT;
            }
        }
    }
    return EQP_OK;
}

static int take_blocks(inspector *in, const eqp_route_blocks *b)
{
    eqp_route *route = in->route;
    int code = check_blocks(b, route->nranks);

    in->hot_words = (int64_t)(sizeof(hot) / sizeof(uint64_t)) + (route->nranks + 63) / 64;
    route->whole_doubles = 1;
    for (int64_t i = 0; !code && i < b->n; i++) {
        const int64_t n = b->first[i + 1] - b->first[i];
        const int *rank = b->rank ? b->rank + b->first[i] : NULL;
        const traveller t = {
            .id = b->id[i], .bytes = b->bytes[i], .seq = i, .at = route->own_bytes, .home = route->rank, .own = 1};
        int64_t others = n;

        for (int64_t k = 0; k < n; k++) {
            others -= rank[k] == route->rank;
        }
        route->whole_doubles = route->whole_doubles && b->bytes[i] % (int64_t)sizeof(double) == 0;
        code = eqp__add_bytes(&route->own_bytes, b->bytes[i]);
        if (!code && others > 0) {
            code = eqp__is_hot(&route->plan, route->nranks, others) ? take_hot(in, &t, n, rank)
                                                                    : take_block(in, &t, n, rank);
        }
    }
    return code;
}

/* ---- one stage ---- */

static int add_leg(inspector *in, int to, const leg *l)
{
    int code = eqp_array_reserve(&in->leg, &in->leg_capacity, in->nlegs + 1, sizeof *in->leg);

    code = code ? code : eqp_array_reserve(&in->leg_to, &in->leg_to_capacity, in->nlegs + 1, sizeof *in->leg_to);
    if (!code) {
        in->leg[in->nlegs] = *l;
        in->leg_to[in->nlegs++] = to;
    }
    return code;
}

/* Who goes on from here at this stage, by next stop; the others stay with their block. */
static int part_ways(inspector *in, int stride)
{
    int code = EQP_OK;

    in->nlegs = 0;
    for (int64_t i = 0; i < in->n; i++) {
        traveller *t = &in->travellers[i];
        int64_t k = 0;

        while (k < t->nusers && distance_to(in, in->user[t->user + k]) < stride) {
            k++;
        }
        const int64_t stay = k;
        while (k < t->nusers && !code) {
            const int digit = distance_to(in, in->user[t->user + k]) / stride;
            leg l = {i, t->user + k, 0};
            while (k < t->nusers && distance_to(in, in->user[t->user + k]) / stride == digit) {
                l.nusers++;
                k++;
            }
            code = add_leg(in, eqp__further(&in->route->stages, in->route->me, digit * stride), &l);
        }
        t->nusers = stay;
    }
    return code;
}

/* Whether a leg ends at the one user of its block, so that there is nothing more to say. */
static int is_last(const inspector *in, const leg *l, int to)
{
    const int lane = in->route->rank % in->route->stages.node;

    return l->nusers == 1 && in->user[l->user] == to * in->route->stages.node + lane;
}

/* The legs of a stage as messages: tables of what will be sent, and descriptions to be sent now. */
typedef struct outbox {
    int64_t n;
    int *to;
    int64_t *first; /* [n + 1] bytes into text */
    char *text;
} outbox;

static int64_t describe(const inspector *in, const leg *l, int to, char *text)
{
    const traveller *t = &in->travellers[l->traveller];
    const int nusers = is_last(in, l, to) ? 0 : (int)l->nusers;
    const description d = {t->id, t->bytes, t->seq, t->home, nusers};

    memcpy(text, &d, sizeof d);
    memcpy(text + sizeof d, in->user + l->user, (size_t)nusers * sizeof *in->user);
    return (int64_t)(sizeof d + (size_t)nusers * sizeof *in->user);
}

/* One message and its description. legs: [n] numbers of legs that go to the same stop. */
static int write_message(inspector *in, int64_t n, const int64_t *legs, outbox *out)
{
    eqp_route *route = in->route;
    eqp__messages *sent = &route->sent;
    const int to = in->leg_to[legs[0]];
    eqp__message m = {.partner = to, .at = sent->bytes, .piece = route->pieces.n, .npieces = n};
    int64_t at = out->first[out->n];
    int code = eqp_array_reserve(&sent->list, &sent->capacity, sent->n + 1, sizeof *sent->list);

    for (int64_t k = 0; k < n && !code; k++) {
        const traveller *t = &in->travellers[in->leg[legs[k]].traveller];
        code = eqp__span_add(&route->pieces, t->at, 0, t->bytes, t->own ? EQP__OWN : route->node_rank);
        code = code ? code : eqp__add_bytes(&m.bytes, t->bytes);
        at += describe(in, &in->leg[legs[k]], to, out->text + at);
    }
    code = code ? code : eqp__add_bytes(&sent->bytes, m.bytes);
    if (!code) {
        sent->list[sent->n++] = m;
        out->to[out->n++] = to;
        out->first[out->n] = at;
    }
    return code;
}

static int fill_outbox(inspector *in, outbox *out)
{
    const int nlane = in->route->stages.nnodes;
    int64_t *first = NULL, *order = NULL, users = 0;
    int code = eqp_array_create(&first, nlane + 1, sizeof *first);

    code = code ? code : eqp_array_create(&order, in->nlegs, sizeof *order);
    for (int64_t i = 0; i < in->nlegs; i++) {
        users += in->leg[i].nusers;
    }
    code =
        code ? code
             : eqp_array_create(&out->text, in->nlegs * (int64_t)sizeof(description) + users * (int64_t)sizeof(int), 1);
    const int64_t most = in->nlegs < nlane ? in->nlegs : nlane;
    code = code ? code : eqp_array_create(&out->to, most, sizeof *out->to);
    code = code ? code : eqp_array_create(&out->first, most + 1, sizeof *out->first);
    if (!code) {
        eqp__order_by(in->nlegs, in->leg_to, nlane, first, order);
        for (int to = 0; to < nlane && !code; to++) {
            if (first[to + 1] > first[to]) {
                code = write_message(in, first[to + 1] - first[to], order + first[to], out);
            }
        }
    }
    free(first);
    free(order);
    return code;
}

/* One block out of a message; returns the bytes of its description. */
static int64_t read_block(inspector *in, const char *text, eqp__message *m, int *code)
{
    description d;
    int user;

    memcpy(&d, text, sizeof d);
    traveller t = {.id = d.id,
                   .bytes = d.bytes,
                   .seq = d.seq,
                   .at = in->pool,
                   .home = d.home,
                   .user = in->nusers,
                   .nusers = d.nusers ? d.nusers : 1};
    if (d.nusers == 0) {
        *code = *code ? *code : add_user(in, in->route->rank);
    }
    for (int k = 0; k < d.nusers && !*code; k++) {
        memcpy(&user, text + sizeof d + (size_t)k * sizeof user, sizeof user);
        *code = add_user(in, user);
    }
    *code = *code ? *code : add_traveller(in, &t);
    *code = *code ? *code : eqp__add_bytes(&in->pool, d.bytes);
    *code = *code ? *code : eqp__add_bytes(&m->bytes, d.bytes);
    return (int64_t)(sizeof d + (size_t)d.nusers * sizeof user);
}

static int read_messages(inspector *in, const eqp__sparse *came)
{
    eqp__messages *received = &in->route->received;
    int code = eqp_array_reserve(&received->list, &received->capacity, received->n + came->n, sizeof *received->list);

    for (int64_t i = 0; i < came->n && !code; i++) {
        eqp__message m = {.partner = came->rank[i], .at = in->pool};
        int64_t at = came->first[i];
        while (at < came->first[i + 1] && !code) {
            at += read_block(in, came->data + at, &m, &code);
        }
        received->list[received->n++] = m;
    }
    return code;
}

/* Collective over the lane; code: of what came before on this rank. */
static int inspect_stage(inspector *in, int stage, int code)
{
    eqp_route *route = in->route;
    outbox out = {0};
    eqp__sparse came = {0};

    route->sent.first[stage] = route->sent.n;
    route->received.first[stage] = route->received.n;
    code = code ? code : part_ways(in, route->stages.stride[stage]);
    code = code ? code : fill_outbox(in, &out);
    code = eqp__sparse_send(route->lane, code, out.n, out.to, out.first, out.text, &came);
    code = code ? code : read_messages(in, &came);
    route->sent.first[stage + 1] = route->sent.n;
    route->received.first[stage + 1] = route->received.n;
    eqp__sparse_free(&came);
    free(out.to);
    free(out.first);
    free(out.text);
    return code;
}

/* ---- what stays ---- */

static int64_t align(int64_t at)
{
    return (at + 63) / 64 * 64;
}

static int add_keep(inspector *in, int for_rank, const kept *k)
{
    int code = eqp_array_reserve(&in->keep, &in->keep_capacity, in->nkeep + 1, sizeof *in->keep);

    code = code ? code : eqp_array_reserve(&in->keep_for, &in->keep_for_capacity, in->nkeep + 1, sizeof *in->keep_for);
    if (!code) {
        in->keep[in->nkeep] = *k;
        in->keep_for[in->nkeep++] = for_rank;
    }
    return code;
}

/* Blocks whose users are in this node: they lie in the pool, or come into the part of the segment for own ones. */
static int keep_travellers(inspector *in)
{
    eqp_route *route = in->route;
    int64_t at;
    int code = EQP_OK;

    route->own_at = at = align(in->pool);
    for (int64_t i = 0; i < in->n && !code; i++) {
        const traveller *t = &in->travellers[i];
        const kept k = {t->id, t->bytes, t->seq, t->own ? at : t->at, t->home};
        for (int64_t u = 0; u < t->nusers && !code; u++) {
            code = add_keep(in, in->user[t->user + u] % route->stages.node, &k);
        }
        if (t->own && t->nusers > 0 && !code) {
            code = eqp__span_add(&route->to_own, t->at, at, t->bytes, EQP__OWN);
            code = code ? code : eqp__add_bytes(&at, t->bytes);
        }
    }
    route->hot_at = route->segment_bytes = align(at);
    return code;
}

/* One broadcast block, which will lie at *at. */
static int keep_hot(inspector *in, const uint64_t *words, int64_t *at)
{
    const eqp_route *route = in->route;
    const int node = route->stages.node, base = route->me * node;
    hot record;
    int code = EQP_OK;

    memcpy(&record, words, sizeof record);
    const kept k = {record.id, record.bytes, record.seq, *at, record.home};
    words += sizeof record / sizeof *words;
    for (int x = 0; x < node && !code; x++) {
        const int rank = base + x;
        if (words[rank / 64] >> rank % 64 & 1) {
            code = add_keep(in, x, &k);
        }
    }
    return code ? code : eqp__add_bytes(at, record.bytes);
}

/* All hot blocks of the lane by home, as all its ranks will hold them. */
static int keep_hots(inspector *in, int64_t n, const uint64_t *words)
{
    eqp_route *route = in->route;
    const int nlane = route->stages.nnodes;
    int64_t at = route->hot_at, own = 0;
    hot record;
    int code = eqp_array_create(&route->hot_first, nlane + 1, sizeof *route->hot_first);

    code = code ? code : eqp_array_create(&route->hot_count, nlane, sizeof *route->hot_count);
    code = code ? code : eqp_array_create(&route->hot_start, nlane, sizeof *route->hot_start);
    for (int64_t i = 0; i < n && !code; i++) {
        memcpy(&record, words + i * in->hot_words, sizeof record);
        if (record.home == route->rank) {
            route->to_hot.list[own++].to = at;
        }
        code = keep_hot(in, words + i * in->hot_words, &at);
        if (!code) {
            route->hot_first[record.home / route->stages.node + 1] = at - route->hot_at;
        }
    }
    for (int r = 0; r < nlane && !code; r++) {
        if (route->hot_first[r + 1] < route->hot_first[r]) { /* has none */
            route->hot_first[r + 1] = route->hot_first[r];
        }
    }
    route->has_hot = n > 0;
    route->segment_bytes = at;
    return code;
}

/* Collective over the lane. */
static int inspect_hot(inspector *in)
{
    uint64_t *all = NULL;
    int64_t n = 0;
    int code;

    if (in->route->plan.broadcast == 0) {
        return EQP_OK;
    }
    code = eqp_gather_records(in->route->lane, (size_t)in->hot_words * sizeof *all, in->nhot, in->hot, &n, &all);
    code = code ? code : keep_hots(in, n, all);
    free(all);
    return code;
}

/* ---- what arrives ---- */

/* Blocks that this rank finds in the segments of its node, by the rank that told of each. */
typedef struct finds {
    int64_t n;
    kept *list;
    int64_t *out_count, *in_count; /* [node] told to each, by each */
    int64_t *first, *order;        /* of what is told */
} finds;

static int exchange_keeps(inspector *in, finds *f)
{
    const eqp_route *route = in->route;
    const int node = route->stages.node;
    kept *sorted = NULL;
    int code = eqp_array_create(&f->out_count, node, sizeof *f->out_count);

    code = code ? code : eqp_array_create(&f->in_count, node, sizeof *f->in_count);
    code = code ? code : eqp_array_create(&f->first, node + 1, sizeof *f->first);
    code = code ? code : eqp_array_create(&f->order, in->nkeep, sizeof *f->order);
    code = code ? code : eqp_array_create(&sorted, in->nkeep, sizeof *sorted);
    if (!code) {
        eqp__order_by(in->nkeep, in->keep_for, node, f->first, f->order);
        for (int64_t i = 0; i < in->nkeep; i++) {
            sorted[i] = in->keep[f->order[i]];
        }
        for (int x = 0; x < node; x++) {
            f->out_count[x] = f->first[x + 1] - f->first[x];
        }
    }
    if (route->node == MPI_COMM_NULL) {
        f->list = sorted;
        if (!code) {
            f->n = f->in_count[0] = in->nkeep;
        }
        return code;
    }
    code = eqp_agree(route->node, code, NULL);
    code = code ? code : eqp_exchange_counts(route->node, f->out_count, f->in_count, &f->n);
    if (!code) {
        code = eqp_agree(route->node, eqp_array_create(&f->list, f->n, sizeof *f->list), NULL);
    }
    code = code ? code : eqp_exchange(route->node, sizeof *sorted, f->out_count, sorted, f->in_count, f->list);
    free(sorted);
    return code;
}

typedef struct arrival {
    kept k;
    int64_t number; /* in finds */
    int who;
} arrival;

static int by_home(const void *a, const void *b)
{
    const kept *left = &((const arrival *)a)->k, *right = &((const arrival *)b)->k;

    if (left->home != right->home) {
        return left->home < right->home ? -1 : 1;
    }
    return (left->seq > right->seq) - (left->seq < right->seq);
}

/* Fills the view; place[i]: offset of find i in what arrives. */
static int list_arrivals(eqp_route *route, const finds *f, int64_t *place)
{
    arrival *list = NULL;
    int64_t n = 0;
    int code = eqp_array_create(&list, f->n, sizeof *list);

    code = code ? code : eqp_array_create(&route->arrival_id, f->n, sizeof *route->arrival_id);
    code = code ? code : eqp_array_create(&route->arrival_bytes, f->n, sizeof *route->arrival_bytes);
    code = code ? code : eqp_array_create(&route->arrival_offset, f->n, sizeof *route->arrival_offset);
    code = code ? code : eqp_array_create(&route->arrival_home, f->n, sizeof *route->arrival_home);
    for (int x = 0; x < route->stages.node && !code; x++) {
        for (int64_t end = n + f->in_count[x]; n < end; n++) {
            list[n] = (arrival){f->list[n], n, x};
        }
    }
    if (!code && n > 0) {
        qsort(list, (size_t)n, sizeof *list, by_home);
    }
    for (int64_t i = 0; i < n && !code; i++) {
        const kept *k = &list[i].k;
        route->arrival_id[i] = k->id;
        route->arrival_home[i] = (int)k->home;
        route->arrival_bytes[i] = k->bytes;
        route->arrival_offset[i] = place[list[i].number] = route->arrived_bytes;
        code = eqp__span_add(&route->arrivals, k->at, route->arrived_bytes, k->bytes, list[i].who);
        code = code ? code : eqp__add_bytes(&route->arrived_bytes, k->bytes);
    }
    route->narrivals = n;
    free(list);
    return code;
}

/* Tells whoever holds a block where each rank of the node will put its contribution to it. */
static int list_contributions(inspector *in, const finds *f, int64_t *place)
{
    eqp_route *route = in->route;
    int64_t *from = place;
    int code = EQP_OK;

    if (route->node != MPI_COMM_NULL) {
        from = NULL;
        code = eqp_agree(route->node, eqp_array_create(&from, in->nkeep, sizeof *from), NULL);
        code = code ? code : eqp_exchange(route->node, sizeof *from, f->in_count, place, f->out_count, from);
    }
    for (int x = 0; x < route->stages.node && !code; x++) {
        for (int64_t i = f->first[x]; i < f->first[x + 1] && !code; i++) {
            const kept *k = &in->keep[f->order[i]];
            code = eqp__span_add(&route->contributions, from[i], k->at, k->bytes, x);
        }
    }
    if (from != place) {
        free(from);
    }
    return code;
}

/* Collective over the node. */
static int inspect_node(inspector *in)
{
    finds f = {0};
    int64_t *place = NULL;
    int code = exchange_keeps(in, &f);

    code = code ? code : eqp_array_create(&place, f.n, sizeof *place);
    code = code ? code : list_arrivals(in->route, &f, place);
    if (in->route->node != MPI_COMM_NULL) {
        code = eqp_agree(in->route->node, code, NULL);
    }
    code = code ? code : list_contributions(in, &f, place);
    free(place);
    free(f.list);
    free(f.out_count);
    free(f.in_count);
    free(f.first);
    free(f.order);
    return code;
}

int eqp__route_inspect(eqp_route *route, const eqp_route_blocks *blocks)
{
    inspector in = {.route = route};
    int code = take_blocks(&in, blocks);

    for (int stage = 0; stage < route->stages.n; stage++) {
        code = inspect_stage(&in, stage, code);
    }
    code = code ? code : keep_travellers(&in);
    if ((code = eqp_agree(route->comm, code, NULL))) {
        goto done;
    }
    if ((code = eqp_agree(route->comm, inspect_hot(&in), NULL))) {
        goto done;
    }
    code = eqp_agree(route->comm, inspect_node(&in), NULL);
done:
    free(in.travellers);
    free(in.user);
    free(in.hot);
    free(in.leg);
    free(in.leg_to);
    free(in.keep);
    free(in.keep_for);
    return code;
}
