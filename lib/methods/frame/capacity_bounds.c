/* SPDX-License-Identifier: BSD-3-Clause */
/* Proofs that items do not fit: lower bounds of bin packing, for bins of different capacities. */
#include "methods/frame/capacity.h"

#include "base/internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* Most thresholds tried; they are sampled from the distinct sizes. */
#define THRESHOLDS 256

/* Superadditive functions of a size. */
typedef enum bound {
    BOUND_LARGE, /* the size if it is at least the threshold, else 0 */
    BOUND_TIMES, /* the number of times the threshold fits into the size */
    BOUND_LIFTED /* as LARGE; sizes above largest capacity - threshold count as the largest capacity (L2) */
} bound;

typedef struct question {
    const eqp__capping *in;
    int64_t largest; /* largest capacity */
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

    for (int64_t i = 0; i < q->in->n; i++) {
        const int64_t more = value(q, q->in->size[i]);
        need = more > EQP__SIZES_MAX - need ? EQP__SIZES_MAX : need + more;
    }
    return need;
}

/* Sum of the function over all capacities, capped at `need`. */
static int64_t room_of(const question *q, int64_t need)
{
    int64_t room = 0;

    for (int p = 0; p < q->in->nparts && room < need; p++) {
        const int64_t more = value(q, q->in->capacity[p]);
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
    EQP__CHECK(eqp_array_create(size, in->n, sizeof **size));
    for (int64_t i = 0; i < in->n; i++) {
        if (in->size[i] > 0) {
            (*size)[all++] = in->size[i];
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

    for (int p = 0; p < in->nparts; p++) {
        q.largest = in->capacity[p] > q.largest ? in->capacity[p] : q.largest;
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
