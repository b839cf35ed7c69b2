/* SPDX-License-Identifier: BSD-3-Clause */
/* The essential tree: cells and particles of this rank that remote groups need, as blocks of bytes, and back. A block
 * is a *family*, the children of one opened cell, or the particles of one *leaf*. It is packed once for all receivers,
 * and each of them grafts it by itself, parents before children. */
#ifndef BH_LET_H
#define BH_LET_H

#include "walk.h"

#include <stddef.h>

/* Bytes of the block with a cell's nchild children, and of the block with a leaf's count particles: multiples of 8.
 * bare: bh_tree.bare. */
int64_t bh_let_family_bytes(bool bare, int nchild);
int64_t bh_let_leaf_bytes(int64_t count);

/* The number of a cell's block, the same on all ranks and different for all cells: negative on the deepest level,
 * positive on all other levels. A cell is either opened or a leaf, so that it has one block. */
int64_t bh_block_id(uint64_t key, int level);

/* Collects the ranks that ask for each block. Create once per built tree with its top, which is borrowed; grafting onto
 * it meanwhile is allowed, as only blocks below this rank's own branches are sent. */
typedef struct bh_let bh_let;

int bh_let_create(const bh_tree *tree, bh_let **let);
void bh_let_free(bh_let *let);

/* Marks what `asker` needs of this rank for a group, of which only bounds and accel count: every cell that its walk
 * opens, and the leaves that act one by one in tiles that are chosen (choice NULL: all). Askers must come in ascending
 * order. O(what the walk visits below this rank's branches, and above them what leads there). EQP_OK or
 * EQP_ERR_MEMORY. */
int bh_let_mark(bh_let *let, int asker, const bh_group *group, const bh_mac *mac, const bh_choice *choice);

/* The marked blocks: families depth first in key order, so that parents come before children, then leaves in key
 * order. All borrowed from the let. */
typedef struct bh_let_blocks {
    int64_t n;
    const int64_t *id, *bytes; /* [n] */
    const int64_t *first;      /* [n + 1] into asker */
    const int *asker;          /* receivers of each, ascending */
    int64_t size;              /* bytes of all */
} bh_let_blocks;

/* Ends the marking, once. O(marked). EQP_OK or EQP_ERR_MEMORY. */
int bh_let_blocks_get(bh_let *let, bh_let_blocks *blocks);

/* Writes a block: bytes [blocks.bytes[block]]. After bh_let_blocks_get(). O(bytes). */
void bh_let_pack_block(const bh_let *let, int64_t block, void *bytes);

/* Grafts a block from rank `home` onto the tree, which must have the block's cell. Everything is checked before it is
 * linked, moments bit for bit; in a bare tree, that particles lie in their leaf. EQP_ERR_FORMAT and an unchanged tree
 * if anything does not fit. A block that is already present must be identical and changes nothing. O(bytes + levels).
 * EQP_ERR_MEMORY, EQP_ERR_OVERFLOW as bh_tree_build(). */
int bh_let_graft(bh_tree *tree, int home, const void *block, size_t size);

/* The same for consecutive blocks without gaps; size: bytes of all. home: negative: any. Blocks before an invalid one
 * stay. */
int bh_let_graft_all(bh_tree *tree, int home, const void *blocks, size_t size);

/* ---- Bundles: groups handed to another rank to compute, with the parts of the tree that it lacks ----
 * The other rank has the top of the tree and everything below its own branches; it gets the blocks of all other cells
 * that the groups' walks open, both this rank's and grafted ones. */

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
 * *data: from malloc(), a multiple of 8 bytes; owned by the caller; unchanged on error, as is *bytes. EQP_OK or
 * EQP_ERR_MEMORY; after an error `to` counts as having nothing. */
int bh_packer_pack(bh_packer *packer, int to, int64_t n, const bh_bundle_group *group, const bh_mac *mac,
                   bh_bundle_choose_fn choose, void *user, void **data, size_t *bytes);

/* Opens a bundle of n groups (else EQP_ERR_FORMAT): grafts its blocks and fills group [n], with targets borrowed from
 * data, which is aligned to 8 bytes (else EQP_ERR_ARGUMENT). Blocks are checked as in bh_let_graft(), which gives
 * further codes; blocks before an invalid one stay. Missing blocks are detected only by a walk. O(bytes + blocks x
 * levels). */
int bh_bundle_open(bh_tree *tree, const void *data, size_t bytes, int64_t n, bh_bundle_group *group);

#endif
