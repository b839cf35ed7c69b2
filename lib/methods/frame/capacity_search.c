/* SPDX-License-Identifier: BSD-3-Clause */
/* Bin packing by depth-first search; its first descent is best fit decreasing. */
#include "methods/frame/capacity.h"

#include "base/internal.h"

#include <stdlib.h>
#include <string.h>

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
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(k->item, in->n), EQP__ARRAY(k->left, in->n + 1), EQP__ARRAY(k->room, in->nparts),
                           EQP__ARRAY(k->tried, in->n + 1), EQP__ARRAY(k->choice, in->n)));
    memcpy(k->room, in->capacity, (size_t)in->nparts * sizeof *k->room);
    for (int64_t i = 0; i < in->n; i++) {
        if (in->size[i] > 0) {
            k->item[k->n++] = (sized){in->size[i], i};
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

    for (int p = 0; p < k->in->nparts; p++) {
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
