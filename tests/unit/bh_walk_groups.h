/* SPDX-License-Identifier: BSD-3-Clause */
/* All groups of all kinds of trees with all criteria, and records of their lists. */
#ifndef BH_WALK_GROUPS_H
#define BH_WALK_GROUPS_H

#include "bh_sets.h"
#include "unit.h"
#include "walker.h"

/* Cutoffs are in sides of the root cube. */
static const bh_mac macs[] = {
    {.theta = 0},
    {.theta = 0.4},
    {.theta = 0.8},
    {.theta = 1.15},
    {.theta = 1000},
    {.theta = 0.7, .relative = true, .alpha = 0.001, .G = 1},
    {.theta = 0.7, .relative = true, .alpha = 0.1, .G = 1},
    {.theta = 0.7, .relative = true, .alpha = 1e9, .G = 1},
    {.theta = 0.7, .cutoff = 1e-12},
    {.theta = 0.7, .cutoff = 0.03},
    {.theta = 0.7, .relative = true, .alpha = 0.1, .G = 1, .cutoff = 0.2},
    {.theta = 0.7, .cutoff = 10},
};
enum { NMACS = sizeof(macs) / sizeof(*macs) };

typedef void (*group_test)(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list);

/* Bare trees allow walks with a cutoff only, drifted ones walks without only. */
static inline void for_each_group_of(bool bare, double drift, int64_t n, int leaf_size, int group_size, group_test test)
{
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        bh_group *group;
        int64_t ngroups;
        BH_SET(set, kind, n, 77);
        set.bare = bare;
        set.drift = drift;
        BH_TREE(tree, &set, leaf_size);
        assert_ok(bh_groups_make(&tree, set.key, group_size, set.accel, &ngroups, &group));
        BH_LIST(list);
        for (int m = 0; m < NMACS; m++) {
            bh_mac mac = macs[m];
            mac.cutoff *= tree.box.side;
            for (int64_t g = 0; g < ngroups && (mac.cutoff > 0 ? drift == 0 : !bare); g++) {
                if (g % 4 == 3) {
                    group[g].accel = 0; /* unknown */
                }
                assert_ok(bh_walk(&tree, tree.root, &group[g], &mac, NULL, &list));
                test(&tree, &group[g], &mac, &list);
            }
        }
        free(group);
    }
}

static inline void for_each_group(int64_t n, int leaf_size, int group_size, group_test test)
{
    for_each_group_of(false, 0, n, leaf_size, group_size, test);
}

/* Cells are of all sizes up to the drift. */
static inline void for_each_drifted_group(int64_t n, int leaf_size, int group_size, group_test test)
{
    for_each_group_of(false, 0.5, n, leaf_size, group_size, test);
}

/* The content of a list, for comparison. */
typedef struct record {
    int64_t n;
    int64_t word[1 << 16];
} record;

static inline void note(record *r, int64_t word)
{
    assert_true(r->n < (int64_t)(sizeof(r->word) / sizeof(*r->word)));
    r->word[r->n++] = word;
}

static inline void note_tiles(record *r, const bh_tree *tree, const bh_list *list)
{
    for (int64_t i = bh_opened_count(list) > 0 ? 0 : -1; i >= 0; i = bh_opened_next(list, i)) {
        bh_opened tile;
        bh_opened_get(tree, list, i, &tile);
        if (tile.ncells + tile.nleaves == 0) {
            continue;
        }
        note(r, tile.cell);
        note(r, tile.pin);
        note(r, tile.nsources);
        note(r, tile.ncells);
        for (int l = 0; l < tile.nleaves; l++) {
            note(r, -tile.leaf[l]);
        }
    }
}

static inline void note_list(record *r, const bh_list *list)
{
    for (int64_t c = 0; c < list->ncells; c++) {
        note(r, list->cell[c]);
    }
    for (int64_t i = 0; i < list->nruns; i++) {
        note(r, list->run_first[i]);
        note(r, list->run_count[i]);
    }
    for (int64_t i = 0; i < list->nabsent; i++) {
        note(r, list->absent[i]);
    }
    note(r, list->nsources);
    note(r, list->ntiles);
    note(r, list->nvisits);
}

static inline void assert_same_record(const record *a, const record *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->word, b->word, (size_t)a->n * sizeof(a->word[0]));
}

/* Most tiles in a group's list. */
enum { MOST_TILES = 4096 };

#endif
