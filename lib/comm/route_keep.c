/* SPDX-License-Identifier: BSD-3-Clause */
/* The last part of a route's inspector: the places of blocks that stay in a node, and the ranks that read them
 * there. */
#include "comm/route_tables.h"

#include "base/internal.h"
#include "comm/send.h"

/* Description of a block in a segment of the node, for a rank that reads it there. */
typedef struct kept {
    int64_t id, bytes, seq, at;
    int64_t home;
} kept;

typedef struct keeper {
    eqp_route *route;
    int64_t n, capacity, to_capacity;
    kept *list;
    int *to; /* [n] ranks of the node */
} keeper;

static int64_t align(int64_t at)
{
    return (at + 63) / 64 * 64;
}

static int add_keep(keeper *keep, int to, const kept *k)
{
    EQP__CHECK(eqp_array_reserve(&keep->list, &keep->capacity, keep->n + 1, sizeof *keep->list));
    EQP__CHECK(eqp_array_reserve(&keep->to, &keep->to_capacity, keep->n + 1, sizeof *keep->to));
    keep->list[keep->n] = *k;
    keep->to[keep->n++] = to;
    return EQP_OK;
}

/* Keeps blocks with users in this node. They lie in the pool or, own ones, in their part of the segment. */
static int keep_travellers(keeper *keep, const eqp__inspector *in)
{
    eqp_route *route = in->route;
    int64_t at;

    route->own_at = at = align(in->pool);
    for (int64_t i = 0; i < in->n; i++) {
        const eqp__traveller *t = &in->travellers[i];
        const kept k = {t->id, t->bytes, t->seq, t->own ? at : t->at, t->home};
        for (int64_t u = 0; u < t->nusers; u++) {
            EQP__CHECK(add_keep(keep, in->user[t->user + u] % route->stages.node, &k));
        }
        if (t->own && t->nusers > 0) {
            EQP__CHECK(eqp__span_add(&route->to_own, t->at, at, t->bytes, EQP__OWN));
            EQP__CHECK(eqp__add_bytes(&at, t->bytes));
        }
    }
    route->hot_at = route->segment_bytes = align(at);
    return EQP_OK;
}

/* Keeps one broadcast block, which will lie at *at. */
static int keep_hot(keeper *keep, const uint64_t *words, int64_t *at)
{
    const eqp_route *route = keep->route;
    const int node = route->stages.node, base = route->me * node;
    eqp__hot record;

    memcpy(&record, words, sizeof record);
    const kept k = {record.id, record.bytes, record.seq, *at, record.home};
    words += sizeof record / sizeof *words;
    for (int rank = base; rank < base + node; rank++) {
        EQP__CHECK(words[rank / 64] >> rank % 64 & 1 ? add_keep(keep, rank - base, &k) : EQP_OK);
    }
    return eqp__add_bytes(at, record.bytes);
}

/* Keeps all hot blocks of the lane, by home, as all its ranks will hold them. */
static int keep_hots(keeper *keep, const eqp__inspector *in, int64_t n, const uint64_t *words)
{
    eqp_route *route = in->route;
    const int nlane = route->stages.nnodes;
    int64_t at = route->hot_at, own = 0;
    eqp__hot record;

    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(route->hot_first, nlane + 1), EQP__ARRAY(route->hot_count, nlane),
                           EQP__ARRAY(route->hot_start, nlane)));
    for (int64_t i = 0; i < n; i++) {
        memcpy(&record, words + i * in->hot_words, sizeof record);
        if (record.home == route->rank) {
            route->to_hot.list[own++].to = at;
        }
        EQP__CHECK(keep_hot(keep, words + i * in->hot_words, &at));
        route->hot_first[record.home / route->stages.node + 1] = at - route->hot_at;
    }
    for (int r = 0; r < nlane; r++) {
        if (route->hot_first[r + 1] < route->hot_first[r]) { /* no hot blocks */
            route->hot_first[r + 1] = route->hot_first[r];
        }
    }
    route->has_hot = n > 0;
    route->segment_bytes = at;
    return EQP_OK;
}

/* Collective over the lane. */
static int share_hots(keeper *keep, const eqp__inspector *in)
{
    uint64_t *all = NULL;
    int64_t n = 0;
    int code;

    EQP_TRY(eqp_gather_records(in->route->lane, (size_t)in->hot_words * sizeof *all, in->nhot, in->hot, &n, &all));
    EQP_TRY(keep_hots(keep, in, n, all));
done:
    free(all);
    return code;
}

/* ---- what arrives ---- */

/* Blocks that this rank reads in the segments of its node, by the rank that described each. */
typedef struct finds {
    int64_t n;
    kept *list;
    int64_t *out_count, *in_count; /* [node] descriptions to and from each rank */
    int64_t *first, *order;        /* of the descriptions */
} finds;

static int exchange_keeps(const keeper *keep, finds *f)
{
    const eqp_route *route = keep->route;
    const int node = route->stages.node;
    kept *sorted = NULL;
    int code = EQP__ARRAYS(EQP__ARRAY(f->out_count, node), EQP__ARRAY(f->in_count, node),
                           EQP__ARRAY(f->first, node + 1), EQP__ARRAY(f->order, keep->n), EQP__ARRAY(sorted, keep->n));

    if (!code) {
        eqp__order_by(keep->n, keep->to, node, f->first, f->order);
        for (int64_t i = 0; i < keep->n; i++) {
            sorted[i] = keep->list[f->order[i]];
        }
        for (int x = 0; x < node; x++) {
            f->out_count[x] = f->first[x + 1] - f->first[x];
        }
    }
    if (route->node == MPI_COMM_NULL) {
        f->list = sorted;
        if (!code) {
            f->n = f->in_count[0] = keep->n;
        }
        return code;
    }
    code = eqp__send(route->node, code, sizeof *sorted, f->out_count, sorted, f->in_count, &f->n, &f->list);
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

/* Fills the view. place[i]: offset of find i among the arrivals */
static int list_arrivals(eqp_route *route, const finds *f, int64_t *place)
{
    arrival *list = NULL;
    int64_t n = 0;
    bool ordered = true;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(list, f->n), EQP__ARRAY(route->arrival_id, f->n),
                        EQP__ARRAY(route->arrival_bytes, f->n), EQP__ARRAY(route->arrival_offset, f->n),
                        EQP__ARRAY(route->arrival_home, f->n)));
    for (int x = 0; x < route->stages.node; x++) {
        for (int64_t end = n + f->in_count[x]; n < end; n++) {
            list[n] = (arrival){f->list[n], n, x};
            ordered = ordered && (n == 0 || by_home(&list[n - 1], &list[n]) < 0);
        }
    }
    if (!ordered) { /* several stages, or broadcast */
        qsort(list, (size_t)n, sizeof *list, by_home);
    }
    for (int64_t i = 0; i < n; i++) {
        const kept *k = &list[i].k;
        route->arrival_id[i] = k->id;
        route->arrival_home[i] = (int)k->home;
        route->arrival_bytes[i] = k->bytes;
        route->arrival_offset[i] = place[list[i].number] = route->arrived_bytes;
        EQP_TRY(eqp__span_add(&route->arrivals, k->at, route->arrived_bytes, k->bytes, list[i].who));
        EQP_TRY(eqp__add_bytes(&route->arrived_bytes, k->bytes));
    }
    route->narrivals = n;
done:
    free(list);
    return code;
}

/* Tells the holder of each block where the ranks of the node will put their contributions to it. */
static int list_contributions(const keeper *keep, const finds *f, int64_t *place)
{
    eqp_route *route = keep->route;
    int64_t *from = place;
    int code = EQP_OK;

    if (route->node != MPI_COMM_NULL) {
        from = NULL;
        code = eqp_array_create(&from, keep->n, sizeof *from);
        EQP_TRY(eqp__exchange(route->node, code, sizeof *from, f->in_count, place, f->out_count, from));
    }
    for (int x = 0; x < route->stages.node; x++) {
        for (int64_t i = f->first[x]; i < f->first[x + 1]; i++) {
            const kept *k = &keep->list[f->order[i]];
            EQP_TRY(eqp__span_add(&route->contributions, from[i], k->at, k->bytes, x));
        }
    }
done:
    if (from != place) {
        free(from);
    }
    return code;
}

/* Collective over the node. */
static int share_keeps(const keeper *keep)
{
    finds f = {0};
    int64_t *place = NULL;
    int code = exchange_keeps(keep, &f);

    code = code ? code : eqp_array_create(&place, f.n, sizeof *place);
    code = code ? code : list_arrivals(keep->route, &f, place);
    if (keep->route->node != MPI_COMM_NULL) {
        code = eqp_agree(keep->route->node, code, NULL);
    }
    code = code ? code : list_contributions(keep, &f, place);
    EQP__FREE(place, f.list, f.out_count, f.in_count, f.first, f.order);
    return code;
}

int eqp__route_keep(eqp__inspector *in, int *alone)
{
    keeper keep = {.route = in->route};
    const int meets = in->route->node != MPI_COMM_NULL || in->route->plan.broadcast > 0;
    int code = *alone ? *alone : keep_travellers(&keep, in);

    /* Lanes and nodes do not learn of each other's failures, so all ranks agree before they continue separately. */
    code = meets ? eqp_agree(in->route->comm, code, NULL) : code;
    if (in->route->plan.broadcast > 0) {
        code = code ? code : eqp_agree(in->route->comm, share_hots(&keep, in), NULL);
    }
    code = code ? code : share_keeps(&keep);
    code = meets ? eqp_agree(in->route->comm, code, NULL) : code;
    EQP__FREE(keep.list, keep.to);
    *alone = code;
    return meets ? code : EQP_OK;
}
