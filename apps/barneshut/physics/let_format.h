/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of cells and blocks that travel. A block is the number of the opened cell or of the leaf, then records of
 * children or particles: how many, and of which kind, is known from the cell. Numbers are in the machine's own format:
 * the ranks of one run are alike. */
#ifndef BH_LET_FORMAT_H
#define BH_LET_FORMAT_H

#include "internal.h"
#include "let.h"

/* A cell's record begins with one word: its particles, then how many children it has, then its level `tight` and one,
 * then what else there is to say: of a branch its home, of a child which eighth of its parent's keys it has. */
#define BH_COUNT_BITS 32
#define BH_NCHILD_BITS 4
#define BH_TIGHT_BITS 5
#define BH_REST_SHIFT (BH_COUNT_BITS + BH_NCHILD_BITS + BH_TIGHT_BITS)

/* Then, unless the tree is bare, the independent moments. */
typedef struct bh__packed_moments {
    double mass;
    double com[3];
    double quad[BH_QUAD_TRAVELS];
    double trace;
} bh__packed_moments;

typedef struct bh__block_particle {
    double x, y, z, m;
} bh__block_particle;

/* Bytes of a cell's record. */
size_t bh__packed_bytes(bool bare);

/* Writes the record of a cell; returns where it ends. */
unsigned char *bh__pack_cell(unsigned char *to, const bh_tree *tree, const bh_cell *cell, int rest);

/* Reads count, nchild, tight and the independent moments; sets the rest to 0. Returns the end of the record. */
const unsigned char *bh__unpack_cell(const unsigned char *from, const bh_tree *tree, bh_cell *cell, int *rest);

/* Bytes of the block of a cell, whose children or particles need not be here. */
int64_t bh__block_bytes(const bh_tree *tree, const bh_cell *cell);

/* Writes the block of a cell whose children or particles are here; returns where it ends. */
unsigned char *bh__block_pack(unsigned char *to, const bh_tree *tree, const bh_cell *cell);

/* The key and level of the cell with this block number; false if no cell has it. */
bool bh__address_of(int64_t id, uint64_t *key, int *level);

/* As bh_let_graft(), for the first block in these bytes, on whichever rank its cell lies. size: the block's bytes. */
int bh__block_graft(bh_tree *tree, const void *block, size_t bytes, size_t *size);

#endif
