/* SPDX-License-Identifier: BSD-3-Clause */
/* Proofs that items do not fit: lower bounds of bin packing, for bins of different capacities. */
#include "base/internal.h"
#include "methods/frame/capacity.h"

#include <inttypes.h>
#include <string.h>

/* Most thresholds tried; they are sampled from the distinct sizes. */
#define THRESHOLDS 256

typedef enum bound {
    BOUND_LARGE, /* the size if it is at least the threshold, else 0 */
    BOUND_TIMES, /* the number of times the threshold fits into the size */
    BOUND_LIFTED /* as LARGE; sizes above largest capacity - threshold count as the largest capacity (L2) */
} bound;

typedef struct question {
    const eqp__capping *in;
    int64_t largest;
    bound kind;
    int64_t threshold;
} question;

static int64_t value(const question *q, int64_t size)
{
    if (q->kind == BOUND_TIMES) {
        return size / q->threshold;
    }
    if (size < q->threshold) {
        return 0;
    }
    return q->kind == BOUND_LIFTED && size > q->largest - q->threshold ? q->largest : size;
}

/* Sum of the function over all items, capped at EQP__SIZES_MAX. */
static int64_t need_of(const question *q)
{
    int64_t need = 0;

    for (int64_t i = 0; i < q->in->items->n; i++) {
        const int64_t more = value(q, q->in->items->size[i]);
        need = more > EQP__SIZES_MAX - need ? EQP__SIZES_MAX : need + more;
    }
    return need;
}

/* Sum of the function over all capacities, capped at `need`. */
static int64_t room_of(const question *q, int64_t need)
{
    int64_t room = 0;

    for (int p = 0; p < q->in->options->nparts && room < need; p++) {
        const int64_t more = value(q, q->in->options->capacity[p]);
        room = more > need - room ? need : room + more;
    }
    return room;
}

static void explain(const question *q, int64_t need, int64_t room, eqp_message *why)
{
    const int64_t at = q->threshold;

    if (q->kind == BOUND_TIMES) {
        eqp_message_set(why,
                        "proven: items hold %" PRId64 " times a size of %" PRId64 ", the parts have room for %" PRId64,
                        need, at, room);
    } else if (q->kind == BOUND_LIFTED) {
        eqp_message_set(why,
                        "proven: items of at least %" PRId64 " take %" PRId64
                        ", as nothing fits beside those above %" PRId64 ", and the parts have %" PRId64,
                        at, need, q->largest - at, room);
    } else if (at == 0) {
        eqp_message_set(why, "proven: the items sum to %" PRId64 ", the capacities to %" PRId64, need, room);
    } else if (room == 0) {
        eqp_message_set(why, "proven: an item of %" PRId64 " is larger than each capacity, %" PRId64 " at most", at,
                        q->largest);
    } else {
        eqp_message_set(
            why, "proven: items of at least %" PRId64 " sum to %" PRId64 ", the capacities that hold one to %" PRId64,
            at, need, room);
    }
}

static bool is_broken(const question *q, eqp_message *why)
{
    const int64_t need = need_of(q), room = room_of(q, need);

    if (room < need) {
        explain(q, need, room, why);
    }
    return room < need;
}

static bool is_broken_at(question q, int64_t threshold, eqp_message *why)
{
    q.threshold = threshold;
    q.kind = BOUND_LARGE;
    if (is_broken(&q, why)) {
        return true;
    }
    q.kind = BOUND_TIMES;
    if (is_broken(&q, why)) {
        return true;
    }
    q.kind = BOUND_LIFTED;
    return threshold <= q.largest / 2 && is_broken(&q, why);
}

static int falling(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

/* Distinct sizes > 0 in falling order; *n: their number. The caller frees *size, also after an error. */
static int find_sizes(const eqp__capping *in, int64_t **size, int64_t *n)
{
    int64_t all = 0;

    *n = 0;
    EQP__CHECK(eqp_array_create(size, in->items->n, sizeof **size));
    for (int64_t i = 0; i < in->items->n; i++) {
        if (in->items->size[i] > 0) {
            (*size)[all++] = in->items->size[i];
        }
    }
    qsort(*size, (size_t)all, sizeof **size, falling);
    for (int64_t i = 0; i < all; i++) {
        if (*n == 0 || (*size)[*n - 1] != (*size)[i]) {
            (*size)[(*n)++] = (*size)[i];
        }
    }
    return EQP_OK;
}

int eqp__capacity_bounds(const eqp__capping *in, bool *broken, eqp_message *why)
{
    question q = {.in = in};
    int64_t *size = NULL, n;
    int code;

    for (int p = 0; p < in->options->nparts; p++) {
        q.largest = in->options->capacity[p] > q.largest ? in->options->capacity[p] : q.largest;
    }
    EQP_TRY(find_sizes(in, &size, &n));
    *broken = is_broken(&q, why); /* threshold 0: the sum of sizes */
    const int64_t looks = n < THRESHOLDS ? n : THRESHOLDS;
    for (int64_t k = 0; k < looks && !*broken; k++) {
        *broken = is_broken_at(q, size[k * n / looks], why);
    }
done:
    free(size);
    return code;
}

/* Bin packing by depth-first search; its first descent is best fit decreasing. */

/* Most steps of the search beyond the n of the first descent. */
#define STEPS 200000

typedef struct sized {
    int64_t size, item;
} sized;

typedef struct packing {
    const eqp__capping *in;
    sized *item;    /* [n] of falling size */
    int64_t n;      /* items with size > 0 */
    int64_t *left;  /* [n + 1] sum of sizes from this item on */
    int64_t *room;  /* [nparts] */
    int64_t *tried; /* [n + 1] room of the last part tried; -1: none */
    int *choice;    /* [n] part */
} packing;

static int by_falling_size(const void *a, const void *b)
{
    const sized *x = a, *y = b;

    return x->size != y->size ? (x->size < y->size) - (x->size > y->size) : (x->item > y->item) - (x->item < y->item);
}

static int packing_open(const eqp__capping *in, packing *k)
{
    *k = (packing){.in = in};
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(k->item, in->items->n), EQP__ARRAY(k->left, in->items->n + 1),
                           EQP__ARRAY(k->room, in->options->nparts), EQP__ARRAY(k->tried, in->items->n + 1),
                           EQP__ARRAY(k->choice, in->items->n)));
    memcpy(k->room, in->options->capacity, (size_t)in->options->nparts * sizeof *k->room);
    for (int64_t i = 0; i < in->items->n; i++) {
        if (in->items->size[i] > 0) {
            k->item[k->n++] = (sized){in->items->size[i], i};
        }
    }
    qsort(k->item, (size_t)k->n, sizeof *k->item, by_falling_size);
    for (int64_t d = k->n - 1; d >= 0; d--) {
        k->left[d] = k->left[d + 1] + k->item[d].size;
    }
    return EQP_OK;
}

/* The next part to try for an item: the one with the least sufficient room above tried[depth], since parts with equal
 * room are equivalent. -1: none, or the parts that can hold the smallest item have too little room for all items
 * left. */
static int next_part(const packing *k, int64_t depth)
{
    const int64_t size = k->item[depth].size, least = k->item[k->n - 1].size;
    int64_t missing = k->left[depth];
    int best = -1;

    for (int p = 0; p < k->in->options->nparts; p++) {
        const int64_t room = k->room[p];
        if (room >= least && missing > 0) {
            missing = room > missing ? 0 : missing - room;
        }
        if (room >= size && room > k->tried[depth] && (best < 0 || room < k->room[best])) {
            best = p;
        }
    }
    return missing > 0 ? -1 : best;
}

/* Returns the depth reached: n if all items are packed, -1 if the search is exhausted. */
static int64_t search(packing *k)
{
    int64_t depth = 0;

    k->tried[0] = -1;
    for (int64_t step = 0; depth >= 0 && depth < k->n && step < k->n + STEPS; step++) {
        const int p = next_part(k, depth);
        if (p >= 0) {
            k->choice[depth] = p;
            k->tried[depth] = k->room[p];
            k->room[p] -= k->item[depth].size;
            k->tried[++depth] = -1;
        } else if (--depth >= 0) {
            k->room[k->choice[depth]] += k->item[depth].size;
        }
    }
    return depth;
}

int eqp__capacity_pack(const eqp__capping *in, int *part, bool *found, bool *exhausted)
{
    packing k;
    int code;

    EQP_TRY(packing_open(in, &k));
    const int64_t depth = search(&k);
    *found = depth == k.n;
    *exhausted = depth < 0;
    for (int64_t d = 0; d < k.n && *found; d++) {
        part[k.item[d].item] = k.choice[d];
    }
done:
    EQP__FREE(k.item, k.left, k.room, k.tried, k.choice);
    return code;
}
