/* SPDX-License-Identifier: BSD-3-Clause */
/* Locally essential trees of simulated ranks, packed and grafted. */
#ifndef BH_LET_BUNDLES_H
#define BH_LET_BUNDLES_H

#include "bh_sets.h"
#include "unit.h"

/* Packed blocks one after another. */
typedef struct bundle {
    int64_t n;
    int64_t *bytes, *id; /* [n] */
    unsigned char *data;
    int64_t size;
} bundle;

static inline void bundle_free(bundle *out)
{
    free(out->bytes);
    free(out->id);
    free(out->data);
}

static inline void bundle_take(bh_let *let, bundle *out)
{
    bh_let_blocks blocks;
    assert_ok(bh_let_blocks_get(let, &blocks));
    *out = (bundle){.n = blocks.n,
                    .bytes = calloc((size_t)blocks.n + 1, sizeof(int64_t)),
                    .id = calloc((size_t)blocks.n + 1, sizeof(int64_t)),
                    .data = malloc((size_t)blocks.size + 1),
                    .size = blocks.size};
    assert_true(out->bytes != NULL && out->id != NULL && out->data != NULL);
    bh_let_pack(let, out->data);
    for (int64_t b = 0; b < blocks.n; b++) {
        assert_true(blocks.bytes[b] % 8 == 0 && blocks.first[b + 1] == blocks.first[b] + 1);
        out->bytes[b] = blocks.bytes[b];
        out->id[b] = blocks.id[b];
    }
}

static inline void pack_for(const bh_part *parts, int from, int to, const bh_mac *mac, bundle *out)
{
    bh_let *let;
    assert_ok(bh_let_create(&parts[from].tree, &let));
    for (int64_t g = 0; g < parts[to].ngroups; g++) {
        assert_ok(bh_let_mark(let, to, &parts[to].group[g], mac, NULL));
    }
    bundle_take(let, out);
    bh_let_free(let);
}

static inline void graft_all(bh_tree *tree, int from, const bundle *in)
{
    const unsigned char *at = in->data;
    for (int64_t b = 0; b < in->n; b++) {
        assert_ok(bh_let_graft(tree, from, at, (size_t)in->bytes[b]));
        at += in->bytes[b];
    }
}

static inline void exchange(bh_part *parts, const bh_mac *mac)
{
    for (int to = 0, nranks = parts[0].nranks; to < nranks; to++) {
        for (int from = 0; from < nranks; from++) {
            bundle out;
            if (from == to) {
                continue;
            }
            pack_for(parts, from, to, mac, &out);
            graft_all(&parts[to].tree, from, &out);
            bundle_free(&out);
        }
        assert_ok(bh_tree_check(&parts[to].tree));
    }
}

static const bh_mac geometric = {.theta = 0.7};
/* A tenth of the root cube's side. */
static inline bh_mac cut(const bh_set *set)
{
    return (bh_mac){.theta = 0.7, .cutoff = 0.1 * set->box.side};
}

#endif
