/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of locally essential trees: what one simulated rank owes to another, packed and grafted. */
#ifndef BH_LET_BUNDLES_H
#define BH_LET_BUNDLES_H

#include <equipoise/more/random.h>

#include "bh_nearest_unit.h"
#include "bh_sets.h"
#include "unit.h"

typedef struct message {
    unsigned char *bytes;
    size_t size, capacity;
} message;

enum { MOST_SHARERS = 7, SHARER_UNITS = 3 };

/* Deals tiles out to ranks, by their centre alone: each has some units anywhere in the box. */
typedef struct chooser {
    bh_choice choice;
    bh_sharing sharing;
    double centroid[3 * SHARER_UNITS * MOST_SHARERS];
    int rank[SHARER_UNITS * MOST_SHARERS];
} chooser;

static inline bool is_chosen(void *user, const double centre[3])
{
    const bh_sharing *sharing = &((const chooser *)user)->sharing;

    return bh_nearest_rank(sharing, centre) == sharing->me;
}

/* The choice for walks of this rank if ranks share all groups. The chooser must not move. */
static inline const bh_choice *choose(chooser *c, const bh_box *box, int nranks, int rank)
{
    *c = (chooser){.sharing = {.n = (int64_t)nranks * SHARER_UNITS, .me = rank}};
    for (int64_t u = 0; u < c->sharing.n; u++) {
        for (int k = 0; k < 3; k++) {
            const double at = (double)eqp_random_below(41, (uint64_t)u, (uint64_t)k, 1000) / 1000;
            c->centroid[3 * u + k] = 0.5 * (box->corner[k] + at * box->side);
        }
        c->rank[u] = (int)(u % nranks);
    }
    c->sharing.centroid = c->centroid;
    c->sharing.rank = c->rank;
    c->choice = (bh_choice){is_chosen, c, &c->sharing};
    return &c->choice;
}

/* Blocks one after another, as they were packed. */
typedef struct bundle {
    int64_t n;
    int64_t *bytes, *id; /* [n] */
    int *nasking;        /* [n] */
    unsigned char *data;
    int64_t size;
} bundle;

static inline void bundle_free(bundle *out)
{
    free(out->bytes);
    free(out->id);
    free(out->nasking);
    free(out->data);
}

/* Ends the marking; keeps the blocks of one asker, or of all with -1. */
static inline void bundle_take(bh_let *let, int asker, bundle *out)
{
    bh_let_blocks blocks;
    unsigned char *all;
    int64_t offset = 0;
    assert_ok(bh_let_blocks_get(let, &blocks));
    all = malloc((size_t)blocks.size + 1);
    *out = (bundle){.bytes = calloc((size_t)blocks.n + 1, sizeof(int64_t)),
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

/* Marks what `to` needs of a let: the chosen tiles of every group if they are shared, else all tiles of its own. */
static inline void mark_for(bh_let *let, const bh_part *parts, int nranks, int to, const bh_mac *mac, bool shared)
{
    chooser c;
    const bh_choice *choice = shared ? choose(&c, &parts[0].tree.box, nranks, to) : NULL;
    for (int owner = 0; owner < nranks; owner++) {
        for (int64_t g = 0; g < parts[owner].ngroups && (owner == to || shared); g++) {
            assert_ok(bh_let_mark(let, to, &parts[owner].group[g], mac, choice));
        }
    }
}

/* The blocks that `to` needs from `from`. */
static inline void pack_for(const bh_part *parts, int nranks, int from, int to, const bh_mac *mac, bool shared,
                            bundle *out)
{
    bh_let *let;
    assert_ok(bh_let_create(&parts[from].tree, &let));
    mark_for(let, parts, nranks, to, mac, shared);
    bundle_take(let, to, out);
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

/* More bytes of a message. */
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

/* Everybody gets what it needs. */
static inline void exchange(bh_part *parts, int nranks, const bh_mac *mac, bool shared)
{
    for (int to = 0; to < nranks; to++) {
        for (int from = 0; from < nranks; from++) {
            bundle out;
            if (from == to) {
                continue;
            }
            pack_for(parts, nranks, from, to, mac, shared, &out);
            graft_all(&parts[to].tree, from, &out);
            bundle_free(&out);
        }
        assert_ok(bh_tree_check(&parts[to].tree));
    }
}

/* A list as bytes that do not depend on where a tree keeps its cells and particles. */
static inline void describe(const bh_tree *tree, const bh_list *list, message *cells, message *particles)
{
    assert_int_equal(list->nabsent, 0);
    for (int64_t c = 0; c < list->ncells; c++) {
        const bh_cell *cell = &tree->cell[list->cell[c]];
        const uint64_t name[3] = {cell->key, (uint64_t)cell->level, (uint64_t)cell->count};
        append(cells, name, sizeof(name));
        append(cells, &cell->moments, sizeof(cell->moments));
    }
    for (int64_t r = 0; r < list->nruns; r++) {
        for (int64_t i = list->run_first[r]; i < list->run_first[r] + list->run_count[r]; i++) {
            const double body[4] = {tree->sources.x[i], tree->sources.y[i], tree->sources.z[i], tree->sources.m[i]};
            append(particles, body, sizeof(body));
        }
    }
}

static inline void assert_same(const message *a, const message *b)
{
    assert_int_equal(a->size, b->size);
    if (a->size > 0) {
        assert_memory_equal(a->bytes, b->bytes, a->size);
    }
}

static const bh_mac geometric = {.theta = 0.7};
static const bh_mac relative = {.theta = 0.7, .relative = true, .alpha = 0.02, .G = 1};

/* A tenth of the root cube's side. */
static inline bh_mac cut(const bh_set *set)
{
    return (bh_mac){.theta = 0.7, .cutoff = 0.1 * set->box.side};
}

#endif
