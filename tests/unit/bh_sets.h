/* SPDX-License-Identifier: BSD-3-Clause */
/* Key-sorted particle sets for tests of the octree, and their division over simulated ranks. */
#ifndef BH_SETS_H
#define BH_SETS_H

#include "let.h"

#include <equipoise/more/curve.h>

enum bh_set_kind { BH_UNIFORM, BH_CLUSTERED, BH_PLANAR, BH_LINEAR, BH_FAR, BH_REPEATED, BH_COINCIDENT, BH_SET_KINDS };

enum { BH_SET_COLUMNS = 6 };

typedef struct bh_set {
    int64_t n;
    union {
        struct {
            double *x, *y, *z, *m, *accel;
            uint64_t *key;
        };
        double *column[BH_SET_COLUMNS]; /* all words of 8 bytes */
    };
    bh_box box;
    bool bare;    /* trees of the set have no moments; false after bh_set_make() */
    double drift; /* sides of the root cube by which particles of its trees have drifted at most, most of them by much
                     less; bh_set_make() says 0: not at all */
} bh_set;

/* Drifts the particles of a tree of the set or of a part. Returns how many left their leaves. */
int64_t bh_set_drift(const bh_set *set, double drift, bh_tree *tree);

void bh_set_make(enum bh_set_kind kind, int64_t n, uint64_t seed, bh_set *set);
void bh_set_free(bh_set *set);

void bh_set_centre(const bh_box *box, uint64_t key, int level, double centre[3]);

/* The tree of the whole set on one rank, with its top. */
void bh_set_tree(const bh_set *set, int leaf_size, bh_tree *tree);

typedef struct bh_part {
    int nranks;
    bh_set set;
    int nintervals;
    bh_interval *interval;
    bh_tree tree;
    int64_t ngroups;
    bh_group *group;
} bh_part;

/* Cuts the set into nranks * pieces intervals at groups, deals them to ranks in turn, and builds each rank's cells,
 * top and groups. */
void bh_parts_make(const bh_set *set, int leaf_size, int group_size, int nranks, int pieces, bh_part **parts);
void bh_parts_free(bh_part *parts);

static inline void bh_parts_end(bh_part **parts)
{
    bh_parts_free(*parts);
}

#define BH_SET(name, kind, n, seed)                                                                                    \
    __attribute__((cleanup(bh_set_free))) bh_set name;                                                                 \
    bh_set_make((enum bh_set_kind)(kind), n, seed, &name)
#define BH_TREE(name, set, leaf_size)                                                                                  \
    __attribute__((cleanup(bh_tree_free))) bh_tree name;                                                               \
    bh_set_tree(set, leaf_size, &name)
#define BH_PARTS(name, set, leaf_size, group_size, nranks, pieces)                                                     \
    __attribute__((cleanup(bh_parts_end))) bh_part *name;                                                              \
    bh_parts_make(set, leaf_size, group_size, nranks, pieces, &name)
#define BH_LIST(name)                                                                                                  \
    __attribute__((cleanup(bh_list_free))) bh_list name;                                                               \
    bh_list_init(&name)

#endif
