/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals shared by the files of the tree. */
#ifndef BH_INTERNAL_H
#define BH_INTERNAL_H

#include "let.h"

/* A depth-first stack of cells never holds more: on each level an opened cell gives way to at most eight. */
#define BH_STACK (8 * (EQP_CURVE_BITS + 1))

/* bh_cell.place of the cell with this key and level. */
uint64_t bh__place(uint64_t key, int level);

/* The same for a child of this level, from its octant 4 x + 2 y + z. */
static inline uint64_t bh__place_of_child(uint64_t place, int level, unsigned octant)
{
    const uint64_t half = (uint64_t)1 << (EQP_CURVE_BITS - level);
    return place | (octant & 4 ? half : 0) | (octant & 2 ? half << EQP_CURVE_BITS : 0) |
           (octant & 1 ? half << (2 * EQP_CURVE_BITS) : 0);
}

static inline double bh__side(const bh_tree *tree, int level)
{
    return tree->box.side / (double)((uint32_t)1 << level);
}

static inline void bh__centre(const bh_box *box, uint64_t place, int level, double side, double centre[3])
{
    const int shift = EQP_CURVE_BITS - level;
    for (int k = 0; k < 3; k++) {
        const uint64_t grid = (place >> (k * EQP_CURVE_BITS)) & (((uint64_t)1 << EQP_CURVE_BITS) - 1);
        centre[k] = box->corner[k] + ((double)(int32_t)(grid >> shift) + 0.5) * side;
    }
}

/* At least the number of cells that a walk may open. */
static inline int64_t bh__cells_reached(const bh_tree *tree)
{
    return tree->shared.common != NULL ? tree->shared.common->cells : tree->ncells;
}

/* True if the count rule makes a cell a leaf. */
static inline bool bh__is_leaf(const bh_tree *tree, int64_t count, int level)
{
    return count <= tree->leaf_size || level >= EQP_CURVE_BITS;
}

/* First particles of a cell's eight children: the child at place w on the curve has [bound[w], bound[w + 1]), the cell
 * [first, end). O(log of their number). */
void bh__split(const uint64_t *key, int64_t first, int64_t end, int level, int64_t bound[9]);

/* Reserve room for n cells or sources in total, counted from number 0; the contents stay. */
int bh__cells_reserve(bh_tree *tree, int64_t ncells);
int bh__sources_reserve(bh_tree *tree, int64_t n);

/* Moments of a cell from its particles (array order) and from its children (child order), in one place, so that the
 * same cell has the same bits on every rank. */
void bh__moments_of_particles(const bh_tree *tree, const bh_cell *cell, int64_t first, bh_moments *moments);
void bh__moments_of_children(const bh_tree *tree, const bh_cell *cell, const bh_cell *child, bh_moments *moments);

/* bh_cell.tight of a leaf from its particles, of another cell from its children. */
int bh__tight_of_particles(const bh_tree *tree, const bh_cell *cell, int64_t first);
int bh__tight_of_children(const bh_cell *cell, const bh_cell *child);

/* True if particles have drifted so far out of the cell that it cannot act as one body. */
static inline bool bh__is_loose(const bh_cell *cell)
{
    return cell->level > cell->tight;
}

/* Independent components of bh_moments.quad. */
#define BH_QUAD_TRAVELS 5

/* Sets the moments that follow from the others and the cell's place: offset and the last of quad. Computed and received
 * moments both pass through here, so that all ranks have the same bits. */
void bh__moments_complete(const bh_tree *tree, const bh_cell *cell, bh_moments *moments);

/* True if these can be the children of that cell: checks nesting, order, counts, the leaf rule, moments bit for bit. */
bool bh__children_fit(const bh_tree *tree, const bh_cell *cell, const bh_cell *child);

/* Makes the walk's view of a cell's children. */
void bh__family_of(const bh_tree *tree, int64_t cell, bh_family *family);

/* The same if only moments have changed. */
void bh__family_drift(const bh_tree *tree, int64_t cell, bh_family *family);

/* Tells a cell's family that a formerly absent child is present. O(1). */
void bh__family_renew(bh_tree *tree, int64_t parent, int64_t child);

int bh__families_reserve(bh_tree *tree, int64_t nfamilies);

/* Shared arrays do not grow: EQP_OK if this rank may use numbers up to these, else EQP_ERR_MEMORY and `lacks`. */
int bh__shared_reserve(bh_tree *tree, bh_room end);

/* This rank fills its slot again. */
void bh__shared_reset(bh_tree *tree);

/* Removes all cells and particles. */
void bh__tree_clear(bh_tree *tree);

/* Bytes of cells and blocks as sent. A block is the number of the opened cell or of the leaf, then records of children
 * or particles; their number and kind follow from the cell. Numbers are in native format: all ranks of a run have the
 * same. */

/* A cell's record begins with one word: its number of particles, its number of children, its level `tight` plus one,
 * and either a branch's home or a child's eighth of its parent's keys. */
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

/* Writes the record of a cell; returns its end. */
unsigned char *bh__pack_cell(unsigned char *to, const bh_tree *tree, const bh_cell *cell, int rest);

/* Reads count, nchild, tight and the independent moments; sets the rest to 0. Returns the end of the record. */
const unsigned char *bh__unpack_cell(const unsigned char *from, const bh_tree *tree, bh_cell *cell, int *rest);

/* Bytes of the block of a cell, whose children or particles need not be here. */
int64_t bh__block_bytes(const bh_tree *tree, const bh_cell *cell);

/* Writes the block of a cell whose children or particles are here; returns its end. */
unsigned char *bh__block_pack(unsigned char *to, const bh_tree *tree, const bh_cell *cell);

/* The key and level of the cell with this block number; false if no cell has it. */
bool bh__address_of(int64_t id, uint64_t *key, int *level);

#endif
