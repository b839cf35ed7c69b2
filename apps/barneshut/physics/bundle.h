/* SPDX-License-Identifier: BSD-3-Clause */
/* Bundles: groups handed to another rank to compute, with the parts of the tree that it lacks. The other rank has the
 * top of the tree and everything below its own branches; it gets the blocks (see let.h) of all other cells that the
 * groups' walks open, both this rank's and grafted ones. */
#ifndef BH_BUNDLE_H
#define BH_BUNDLE_H

#include "let.h"

/* A group in a bundle. Only count, bounds and accel of `group` are sent; the rest is undefined. */
typedef struct bh_bundle_group {
    bh_group group;
    int64_t tag;             /* sent unchanged; negative: only chosen tiles are computed */
    const double *x, *y, *z; /* [group.count] targets */
} bh_bundle_group;

/* Chooses the tiles of a group with a negative tag. The result is used before the next call. */
typedef const bh_choice *(*bh_bundle_choose_fn)(void *user, const bh_bundle_group *group);

/* Packs bundles of one tree. Each block goes to each receiver once. */
typedef struct bh_packer bh_packer;

int bh_packer_create(bh_packer **packer);
void bh_packer_free(bh_packer *packer);

/* Begins a tree (borrowed) that has its top and everything the groups need; forgets what was sent. Grafting may extend
 * it meanwhile. Call once for every built tree. O(cells x receivers so far). */
void bh_packer_begin(bh_packer *packer, const bh_tree *tree);

/* Packs n > 0 groups for rank `to`, which must open the bundles of this packer in the order of packing. choose: may be
 * NULL if no tag is negative. O(opened cells + bytes); neighbours share a walk, so groups should be in key order.
 * *data: from malloc(), a multiple of 8 bytes; owned by the caller; unchanged on error, as is *bytes. EQP_ERR_STATE
 * before bh_packer_begin(), EQP_ERR_ARGUMENT for n < 1, a negative rank or as bh_walk(), EQP_ERR_MEMORY; after an error
 * `to` counts as having nothing. */
int bh_packer_pack(bh_packer *packer, int to, int64_t n, const bh_bundle_group *group, const bh_mac *mac,
                   bh_bundle_choose_fn choose, void *user, void **data, size_t *bytes);

/* Opens a bundle of n groups (else EQP_ERR_FORMAT): grafts its blocks and fills group [n], with targets borrowed from
 * data, which is aligned to 8 bytes (else EQP_ERR_ARGUMENT). Blocks are checked as in bh_let_graft(), which gives
 * further codes; blocks before an invalid one stay. Missing blocks are detected only by a walk. O(bytes + blocks x
 * levels). */
int bh_bundle_open(bh_tree *tree, const void *data, size_t bytes, int64_t n, bh_bundle_group *group);

#endif
