/* SPDX-License-Identifier: BSD-3-Clause */
/* Bundles: groups that this rank hands to another one to compute, with the parts of the tree that are not there yet.
 * The other rank has the top of the tree and everything below its own branches; it gets the blocks (see let.h) of all
 * other cells that the walks of the groups open, both this rank's and grafted ones. */
#ifndef BH_BUNDLE_H
#define BH_BUNDLE_H

#include "let.h"

/* A group in a bundle. Of `group` only count, bounds and accel travel; `first` and the rest mean nothing. */
typedef struct bh_bundle_group {
    bh_group group;
    int64_t tag;             /* travels as it is; negative: only chosen tiles are computed */
    const double *x, *y, *z; /* [group.count] targets */
} bh_bundle_group;

/* Which tiles of a group with a negative tag are computed. What it returns is used before it is called again. */
typedef const bh_choice *(*bh_bundle_choose_fn)(void *user, const bh_bundle_group *group);

/* Packs bundles of one tree. Remembers what each receiver has got: a block goes to each but once. */
typedef struct bh_packer bh_packer;

int bh_packer_create(bh_packer **packer);
void bh_packer_free(bh_packer *packer);

/* From now on for this tree (borrowed), with its top and everything that the groups need; as if nothing had been sent.
 * It may grow meanwhile by what is grafted onto it. Once for every tree that is built. O(cells x receivers so far). */
void bh_packer_begin(bh_packer *packer, const bh_tree *tree);

/* Packs n > 0 groups for rank `to`, which opens the bundles of this packer in the order in which they were packed.
 * choose may be NULL where no tag is negative. O(what the walks open + bytes); neighbours share a walk, so groups
 * should come in key order. *data: from malloc(), a multiple of 8 bytes; owned by the caller; unchanged on error, as is
 * *bytes. EQP_ERR_STATE before bh_packer_begin(), EQP_ERR_ARGUMENT for n < 1, a negative rank or as bh_walk(),
 * EQP_ERR_MEMORY; after an error `to` counts as having got nothing. */
int bh_packer_pack(bh_packer *packer, int to, int64_t n, const bh_bundle_group *group, const bh_mac *mac,
                   bh_bundle_choose_fn choose, void *user, void **data, size_t *bytes);

/* Opens a bundle of n groups (else EQP_ERR_FORMAT): grafts its blocks and fills group [n], whose targets are borrowed
 * from data, which is aligned to 8 bytes (else EQP_ERR_ARGUMENT). Blocks are checked as in bh_let_graft(), which gives
 * further codes; blocks before an invalid one stay. A missing block shows only when the groups are walked. O(bytes +
 * blocks x levels). */
int bh_bundle_open(bh_tree *tree, const void *data, size_t bytes, int64_t n, bh_bundle_group *group);

#endif
