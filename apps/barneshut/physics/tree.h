/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank's view of the global octree. The cells follow from the keys of all particles alone: a cell with more than
 * leaf_size particles (anywhere) is divided, so every rank count sees the same cells, the same target groups and
 * therefore the same interactions. A rank builds the cells below its branches (the coarsest cells that lie wholly in
 * its own key intervals); the top, above the branches of all ranks, is rebuilt by everybody from the gathered branches;
 * cells of other ranks are grafted on when they arrive (see let.h). No MPI in here. */
#ifndef BH_TREE_H
#define BH_TREE_H

#include <equipoise/more/curve.h>

#include <stdbool.h>
#include <stdint.h>

#define BH_ABSENT (-1) /* children or particles that exist, but not on this rank */

/* A leaf with at most this many particles always acts particle by particle: exact, and cheaper than a cell, which costs
 * 2.2 to 2.5 times a pair. */
#define BH_DIRECT_MAX 2

/* Ranks are below this: they travel in 23 bits. */
#define BH_RANKS_MAX (1 << 23)

/* While the tree keeps its cells, particles may leave a cell's cube by this share of its side along any axis; beyond
 * that the cell no longer acts as one body. Criteria keep all targets farther away. */
#define BH_DRIFT_REACH 0.1

/* Number of keys in a cell of this level: its keys are [key, key + span). */
static inline uint64_t bh_span(int level)
{
    return (uint64_t)1 << (3 * (EQP_CURVE_BITS - level));
}

/* First key of the cell of this level that holds a key. */
static inline uint64_t bh_key_at_level(uint64_t key, int level)
{
    return key & ~(bh_span(level) - 1);
}

/* The root cube. Its side is a power of two and its corner a multiple of a quarter of it, so that it seldom changes
 * while particles drift. It is a function of the particles' bounds only. */
typedef struct bh_box {
    double corner[3];
    double side;
} bh_box;

/* The smallest such cube with lo[k] >= corner[k] and hi[k] < corner[k] + side, but no smaller than what leaves a double
 * room to tell grid cells apart (2^-31 of the largest coordinate; 1 where all are 0). Local, O(1).
 * EQP_ERR_DATA for values that are not finite or beyond 2^1020, EQP_ERR_ARGUMENT for lo > hi. */
int bh_box_enclosing(const double lo[3], const double hi[3], bh_box *box);

/* Mass moments of a cell: quad is the traceless quadrupole sum m (3 d d - d^2 1), order xx xy xz yy yz zz, about com.
 * A leaf's come from its particles in order, any other cell's from its children in order: the same bits on every rank.
 * Without mass com is the geometric centre. */
typedef struct bh_moments {
    double mass;
    double com[3];
    double offset;  /* distance from com to the cell's geometric centre: follows from com */
    double quad[6]; /* the last is minus the sum of xx and yy */
    double trace;   /* sum m d^2 about com: what softening adds to the quadrupole */
} bh_moments;

typedef struct bh_cell {
    uint64_t key;   /* its first Hilbert key */
    uint64_t place; /* its lowest corner on the grid of the deepest cells: x + 2^21 y + 2^42 z. Follows from the key */
    int32_t level;  /* its side is box.side / 2^level */
    int32_t home;   /* rank that has what is below it; -1 for a cell of the top */
    int16_t nchild; /* 0 for a leaf; children lie side by side in key order */
    int16_t tight;  /* the deepest level on which a cell around its particles bounds them as far as they have drifted,
                       see BH_DRIFT_REACH: a cell of a deeper level does not act as one body. EQP_CURVE_BITS if none has
                       drifted far, -1 if not even the root bounds them */
    int32_t family; /* number of its children as walks see them; -1 for a leaf or where they are absent */
    int64_t child;  /* first child, or BH_ABSENT */
    int64_t first;  /* first of its source particles, or BH_ABSENT (always so in cells of the top and in grafted cells
                       that are no leaves) */
    int64_t count;  /* its particles */
    bh_moments moments;
} bh_cell;

/* The children of one cell as a walk processes them: all at once. Made from the cells; lane k is child k, lanes without
 * a child are zero. */
#define BH_FAMILY 8
typedef struct bh_family {
    _Alignas(64) double x[BH_FAMILY];
    double y[BH_FAMILY], z[BH_FAMILY]; /* centre of mass */
    double offset[BH_FAMILY], mass[BH_FAMILY];
    int32_t first[BH_FAMILY], count[BH_FAMILY]; /* particles of leaves; 0 for other children */
    int32_t below[BH_FAMILY]; /* family of a child that is no leaf, or -1 - its number where that is absent */
    int64_t pin;              /* of the cell's tile, see bh_cell_pin() */
    uint64_t place;           /* of the cell */
    int32_t cell, child;      /* number of the cell and of its first child */
    uint8_t level;            /* of the children */
    uint8_t nchild;
    uint8_t bodies;   /* bit k: child k has enough particles to act as one body */
    uint8_t inner;    /* bit k: child k is no leaf */
    uint8_t absent;   /* bit k: child k is a leaf whose particles are absent */
    uint8_t upper[3]; /* bit k: child k is in the upper half, along each axis */
} bh_family;

typedef struct bh_interval {
    uint64_t begin, end; /* [begin, end) */
} bh_interval;

/* Source particles: those of this rank in (key, id) order first, then those that came from other ranks. */
typedef struct bh_sources {
    int64_t n, nlocal, capacity; /* the first is number bh_shared.begin.particles */
    double *x, *y, *z, *m;
} bh_sources;

/* Numbers of cells, families and particles. */
typedef struct bh_room {
    int64_t cells, families, particles;
} bh_room;

/* Ends of what the ranks of a node have put behind their slots. */
typedef struct bh_common {
    _Alignas(64) _Atomic int64_t cells;
    _Atomic int64_t families, particles;
} bh_common;

/* A tree in arrays that all ranks of a node read. All zeros if the arrays are its own. */
typedef struct bh_shared {
    bh_common *common; /* NULL: none */
    bh_room begin;     /* first numbers of this rank's slot */
    bh_room slot;      /* numbers in each slot */
    bh_room elsewhere; /* end of all slots: what follows is of the top or grafted */
    bh_room end;       /* of the arrays */
    bool behind;       /* this rank fills what it has taken behind the slots, else its slot, */
    bh_room limit;     /* up to here */
    bh_room lacks; /* numbers that a slot, or all behind the slots, must have for the call that failed; else zeros */
} bh_shared;

typedef struct bh_tree {
    bh_box box;
    int leaf_size;
    bool bare; /* all moments are zeros: for walks with a cutoff, in which no cell acts. To be set before building, the
                  same on all ranks */
    bool drifted; /* bh_tree_drift() has moved the particles */
    int rank;     /* of the last bh_tree_build() */
    int64_t ncells, capacity;
    int64_t nlocal_cells; /* cells below this rank's branches come first */
    bh_cell *cell;
    int64_t nfamilies, family_capacity;
    int64_t nlocal_families; /* families below this rank's branches come first, */
    int64_t ntop_families;   /* then those of the top, then grafted ones. Numbers at which each kind ends */
    bh_family *family;
    int64_t root;      /* -1: none yet */
    int64_t nbranches; /* this rank's branches are this many cells from shared.begin.cells on, in key order */
    bh_sources sources;
    bh_shared shared;
} bh_tree;

/* A target group: a cell with at most group_size particles whose parent has more (or a run of group_size of them where
 * a cell of the deepest level has too many). Its particles share one interaction list. */
#define BH_GROUP_MOST 1024 /* largest group_size */
typedef struct bh_group {
    uint64_t key;        /* key of its first particle; with `part` the owner's global identity */
    int32_t part;        /* 0, or the number of the run inside a deepest cell */
    int32_t count;       /* targets */
    int64_t first;       /* first target among the arrays that the targets were taken from */
    double lo[3], hi[3]; /* exact bounds of the targets */
    double accel;        /* smallest |acceleration| of the targets at the previous step; 0: none known */
} bh_group;

void bh_tree_init(bh_tree *tree, int leaf_size);
void bh_tree_free(bh_tree *tree);

/* ---- shared.c: trees of the ranks of a node in one memory, so that each walks the cells of all in place ----
 * In each array every rank has a slot, and behind the slots is room for the top and for what any rank grafts. Numbers
 * are those of the whole arrays. A call that needs more room fails with EQP_ERR_MEMORY and sets `lacks`. */

/* Bytes for nranks slots and the room behind them. */
int64_t bh_shared_bytes(const bh_room *slot, const bh_room *behind, int nranks);

/* Gives a tree the slot of the `rank`-th of nranks ranks; it is empty afterwards. memory: aligned to 64 bytes,
 * bh_shared_bytes(), borrowed until the next call of this function or bh_tree_free(). */
void bh_tree_share(bh_tree *tree, void *memory, const bh_room *slot, const bh_room *behind, int nranks, int rank);

/* Moves all of a node's trees to another memory with more room behind the slots, by one rank while no other uses them.
 * Then each rank calls bh_tree_moved(). The numbers stay. */
void bh_shared_move(const bh_tree *tree, void *memory, const bh_room *behind, int nranks);
void bh_tree_moved(bh_tree *tree, void *memory, const bh_room *behind, int nranks);

/* The rank that calls bh_tree_top() does so between these, while no other rank grafts. There is room for most trees. */
int bh_shared_open(bh_tree *tree, int64_t nbranches);
void bh_shared_close(bh_tree *tree);

/* Takes room for blocks of so many bytes, behind what other ranks have taken meanwhile. */
int bh_shared_take(bh_tree *tree, int64_t bytes);

/* Walks go from the root of the rank of the node that has built the top; ntop_families: as there. */
void bh_tree_follow(bh_tree *tree, int64_t root, int64_t ntop_families);

/* Builds the cells below this rank's branches. Replaces the tree's contents, even on error, but reuses its memory. key
 * [n] ascending; x, y, z, m [n] in the same order (copied into sources). Intervals: disjoint, ascending; every key
 * lies in one. rank: 0 to BH_RANKS_MAX - 1. Local, O(n + cells). EQP_ERR_OVERFLOW for more than 2^31 - 1 cells or
 * particles. */
int bh_tree_build(bh_tree *tree, const bh_box *box, int64_t n, const uint64_t *key, const double *x, const double *y,
                  const double *z, const double *m, int nintervals, const bh_interval *interval, int rank);

/* Updates a tree after its particles moved: x, y, z [sources.nlocal] in the order in which it was built. Cells stay,
 * with moments of their particles at the new positions; walks open cells that some particle has left too far. Grafted
 * cells are removed, and the top must be built again. loose: number of particles in such leaves. The result depends
 * only on positions, not on the path. Local, O(n + cells). Not for a
 * bare tree, whose walks use the cubes of cells. EQP_OK. */
int bh_tree_drift(bh_tree *tree, const double *x, const double *y, const double *z, int64_t *loose);

/* Puts the top onto the branches of all ranks: branch [nbranches] in key order, as taken from cell[0 .. nbranches - 1]
 * of every rank (their child and first count only where home == rank; elsewhere they become BH_ABSENT). A cell above
 * the branches always has more than leaf_size particles; the caller sees to that, else EQP_ERR_ARGUMENT. The children
 * of the top are copies of the branches; those of this rank point to the same children and particles as the cells 0 ..
 * tree->nbranches - 1, which stay. In a shared tree branches of all ranks of the node point to what is below them. Once
 * after each bh_tree_build() or bh_tree_drift(); unchanged on error. Local, O(nbranches). */
int bh_tree_top(bh_tree *tree, int64_t nbranches, const bh_cell *branch, int rank);

/* Branches as sent to all ranks, from which each builds the same top: records of bh_branch_bytes(), a multiple of 8,
 * without anything derivable. Local, O(branches). */
int64_t bh_branch_bytes(const bh_tree *tree);

/* Packs n branches: bytes [n][bh_branch_bytes()]. After bh_tree_build(). */
void bh_branches_pack(const bh_tree *tree, int64_t n, const bh_cell *branch, void *bytes);

/* Reads n records for bh_tree_top(), but in packed order: branch [n]. The tree gives the box. EQP_ERR_FORMAT for
 * impossible branches. */
int bh_branches_unpack(const bh_tree *tree, int64_t n, const void *bytes, bh_cell *branch);

/* The target groups of this rank's particles in key order. The caller frees *group with free() (NULL if there are
 * none). key [n] as given to bh_tree_build(), accel [n] or NULL. They follow from the keys, not from the tree's leaves.
 * Local, O(n). */
int bh_groups_make(const bh_tree *tree, const uint64_t *key, int group_size, const double *accel, int64_t *ngroups,
                   bh_group **group);

/* Bounds of count > 0 targets, as in bh_groups_make(). O(count). */
void bh_group_bounds(int64_t count, const double *x, const double *y, const double *z, double lo[3], double hi[3]);

void bh_cell_centre(const bh_tree *tree, const bh_cell *cell, double centre[3]);

/* Checks all invariants (children partition parents, counts, masses, order). EQP_ERR_INTERNAL on a violation. */
int bh_tree_check(const bh_tree *tree);

/* The global order of particles: by key, and by id where keys are equal. Every rank count sees the same order. */

/* order [n] becomes the permutation that sorts (key, id) ascending: order[i] is the old place of the i-th. id NULL: equal
 * keys by place. Stable radix sort; O(n), and one pass where the keys ascend already. EQP_ERR_OVERFLOW for more than
 * 2^31 - 1, or EQP_ERR_MEMORY; order is then unchanged. */
int bh_order(int64_t n, const uint64_t *key, const int64_t *id, int32_t *order);

/* Number of keys below `key` in an ascending array [n]. O(log n). */
int64_t bh_order_lower(int64_t n, const uint64_t *keys, uint64_t key);

#endif
