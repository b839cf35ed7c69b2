/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of locally essential trees: what one simulated rank owes to another, packed and grafted. */
#ifndef BH_LET_PARCELS_H
#define BH_LET_PARCELS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <equipoise/error.h>
#include <equipoise/random.h>

#include "bh_sets.h"

typedef struct message {
    unsigned char *bytes;
    size_t size, capacity;
} message;

/* Deals tiles out to ranks, by their centre alone. */
typedef struct chooser {
    int nranks, rank;
} chooser;

static inline bool chosen(void *user, const double centre[3])
{
    const chooser *c = user;
    uint64_t bits[3];
    memcpy(bits, centre, sizeof(bits));
    return eqp_random_below(bits[0], bits[1], bits[2], (uint64_t)c->nranks) == (uint64_t)c->rank;
}

/* Blocks one after another, as they were packed. */
typedef struct parcel {
    int64_t n;
    int64_t *bytes, *id; /* [n] */
    int *nasking;        /* [n] */
    unsigned char *data;
    int64_t size;
} parcel;

static inline void parcel_free(parcel *out)
{
    free(out->bytes);
    free(out->id);
    free(out->nasking);
    free(out->data);
}

/* Ends the marking; keeps the blocks of one asker, or of all with -1. */
static inline void parcel_take(bh_let *let, int asker, parcel *out)
{
    bh_let_blocks blocks;
    unsigned char *all;
    int64_t offset = 0;
    assert_int_equal(bh_let_blocks_get(let, &blocks), EQP_OK);
    all = malloc((size_t)blocks.size + 1);
    *out = (parcel){.bytes = calloc((size_t)blocks.n + 1, sizeof(int64_t)),
                    .id = calloc((size_t)blocks.n + 1, sizeof(int64_t)),
                    .nasking = calloc((size_t)blocks.n + 1, sizeof(int)),
                    .data = malloc((size_t)blocks.size + 1)};
    assert_true(all != NULL && out->bytes != NULL && out->id != NULL && out->nasking != NULL && out->data != NULL);
    bh_let_pack(let, all);
    for (int64_t b = 0; b < blocks.n; b++) {
        bool wanted = asker < 0;
        assert_true(blocks.bytes[b] % 8 == 0 && blocks.first[b + 1] > blocks.first[b]);
        for (int64_t i = blocks.first[b]; i < blocks.first[b + 1]; i++) {
            assert_true(i == blocks.first[b] || blocks.asker[i] > blocks.asker[i - 1]);
            wanted = wanted || blocks.asker[i] == asker;
        }
        if (wanted) {
            memcpy(out->data + out->size, all + offset, (size_t)blocks.bytes[b]);
            out->bytes[out->n] = blocks.bytes[b];
            out->nasking[out->n] = (int)(blocks.first[b + 1] - blocks.first[b]);
            out->id[out->n++] = blocks.id[b];
            out->size += blocks.bytes[b];
        }
        offset += blocks.bytes[b];
    }
    assert_int_equal(offset, blocks.size);
    free(all);
}

/* Marks what `to` needs of a let: the chosen tiles of every group, or all tiles of its own if keep is NULL. */
static inline void mark_for(bh_let *let, const bh_part *parts, int nranks, int to, const bh_mac *mac, bh_tile_fn keep)
{
    chooser choice = {nranks, to};
    for (int owner = 0; owner < nranks; owner++) {
        for (int64_t g = 0; g < parts[owner].ngroups && (owner == to || keep != NULL); g++) {
            assert_int_equal(bh_let_mark(let, to, &parts[owner].group[g], mac, keep, &choice), EQP_OK);
        }
    }
}

/* What `from` owes to `to`. */
static inline void pack_for(const bh_part *parts, int nranks, int from, int to, const bh_mac *mac, bh_tile_fn keep,
                            parcel *out)
{
    bh_let *let;
    assert_int_equal(bh_let_create(&parts[from].tree, &let), EQP_OK);
    mark_for(let, parts, nranks, to, mac, keep);
    parcel_take(let, to, out);
    bh_let_free(let);
}

static inline void graft_all(bh_tree *tree, int from, const parcel *in)
{
    const unsigned char *at = in->data;
    for (int64_t b = 0; b < in->n; b++) {
        assert_int_equal(bh_let_graft(tree, from, at, (size_t)in->bytes[b]), EQP_OK);
        at += in->bytes[b];
    }
}

/* A list as bytes that do not depend on where a tree keeps its cells and particles. */
static inline void append(message *out, const void *bytes, size_t size)
{
    if (out->size + size > out->capacity) {
        out->capacity = 2 * (out->size + size);
        out->bytes = realloc(out->bytes, out->capacity);
        assert_non_null(out->bytes);
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static const bh_mac geometric = {.theta = 0.7};
static const bh_mac relative = {.theta = 0.7, .relative = true, .alpha = 0.02, .G = 1};

/* A tenth of the root cube's side. */
static inline bh_mac cut(const bh_set *set)
{
    return (bh_mac){.theta = 0.7, .cutoff = 0.1 * set->box.side};
}

#endif
