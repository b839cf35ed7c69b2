/* SPDX-License-Identifier: BSD-3-Clause */
/* From a target group to its interaction list. */
#ifndef BH_WALK_H
#define BH_WALK_H

#include "tree.h"

/* A theta above 1.15 acts as 1.15: closer than half a diagonal and the offset, targets could lie inside the cell. */
#define BH_THETA_RECIPROCAL_LEAST 0.87

/* When a cell may act as one body. Geometric (Barnes 1994): distance from its centre of mass to the group's bounds
 * > side / theta + offset. Relative (Springel 2005, eq. 18): G mass side^2 < alpha |a| distance^4 with the group's
 * smallest |a|, and never within 0.6 sides of the cell's centre on every axis; groups without
 * a known |a| use the geometric one. theta, alpha >= 0; 0 opens everything.
 * With a cutoff no cell acts and neither criterion counts: particles farther apart than the cutoff do not act on each
 * other, and leaves whose cubes are all of it away from the group's bounds are left out. */
typedef struct bh_mac {
    double theta;
    bool relative;
    double alpha;
    double G;
    double cutoff; /* 0: none */
} bh_mac;

/* A tile is everything that one opened cell contributes: its accepted children and its leaf children. Asked once per
 * opened cell that contributes anything, with its centre; false leaves the tile to another rank (cells below are other
 * tiles, and still walked). A root that acts alone is in the tile of its own cube. */
typedef bool (*bh_tile_fn)(void *user, const double centre[3]);

/* How ranks share a group: the tile of a cell is computed by the rank of the work unit whose centroid is nearest to the
 * midpoint between the group and the tile. All is borrowed. */
typedef struct bh_sharing {
    int64_t n;              /* units */
    const double *centroid; /* [n][3], measured from `centre` */
    const int *rank;        /* [n] */
    double centre[3];       /* of the group */
    int me;                 /* whose walk it is */
} bh_sharing;

/* Selects the tiles of a list: those that keep() accepts (NULL: all). sharing (or NULL) describes keep(): the walk
 * then opens, except for the root, only cells that may contain tiles of this rank. The list is the same as without,
 * with fewer visits. The opened cells follow from the group, the criterion and the sharing, not from the rest of the
 * tree. */
typedef struct bh_choice {
    bh_tile_fn keep;
    void *user;
    const bh_sharing *sharing;
} bh_choice;

/* The pin of an opened cell's tile, in [0, 2^63): a function of the cell's key and level alone, all values equally
 * likely. So `pin < limit` picks the same random sample of tiles for every group and on every rank.
 * eqp_random_bits(0, level, key) >> 1. O(1). */
int64_t bh_cell_pin(uint64_t key, int level);

/* Scratch of a walk of a shared group: the region of the rank's tiles. Around each of its units lie the positions
 * nearer to it than to any unit of another rank. */
typedef struct bh_region {
    int64_t n;        /* of these pieces */
    int64_t nplanes;  /* blocks of planes that bound each */
    bool complete;    /* nothing else does */
    double centre[3]; /* of the group */
    int64_t capacity;
    struct bh__planes *planes; /* [n][nplanes] */
} bh_region;

/* Scratch of a walk: the opened cells in order of visit, linked in the order of the list. */
typedef struct bh_frontier {
    int64_t n, capacity;
    int32_t *family; /* [n] of the opened cell, or -1 - its number where its children are absent */
    int32_t *next;   /* [n] the next one; -1 for the last */
    uint16_t *taken; /* [n] bit k: child k acts as one body; bit 8 + k: it is a leaf that acts particle by particle */
} bh_frontier;

/* One group's list. Cells and runs of source particles (one run per leaf) in the order of the walk: depth first in key
 * order of the opened cells, each with its whole tile. The order of cells and particles is the same on every rank. */
typedef struct bh_list {
    int64_t root;     /* of the tree; -1: none */
    int64_t capacity; /* of cell, run_first and run_count */
    int64_t ncells;
    int64_t *cell; /* numbers in the tree */
    int64_t nruns;
    int64_t *run_first, *run_count; /* source particles */
    int64_t nsources;               /* sum of run_count */
    int64_t ntiles;                 /* kept */
    int64_t nvisits;                /* cells looked at: the walk's own work */
    int64_t nabsent, absent_capacity;
    int64_t *absent; /* cells that should be opened (or leaves whose particles are wanted), but are on another rank */
    double cutoff;   /* sources from this distance on do not act, though they may be listed; 0: all act */
    bh_frontier frontier;
    bh_region region;
} bh_list;

void bh_list_init(bh_list *list);
void bh_list_free(bh_list *list);

/* Walks from the tree's root; without one the list is empty. choice: NULL for all
 * tiles. The list keeps its memory between walks; on error its content is undefined but fit for the next walk. O(list).
 * EQP_OK or EQP_ERR_MEMORY. */
int bh_walk(const bh_tree *tree, const bh_group *group, const bh_mac *mac, const bh_choice *choice, bh_list *list);

/* The pins below pin_below of the tiles of a list, which a walk from the tree's root without keep() has just made; each
 * once. pin: room for list->ntiles. Returns their number. O(opened
 * cells). */
int64_t bh_list_pins(const bh_tree *tree, const bh_list *list, uint64_t pin_below, int64_t *pin);

/* An opened cell and its tile. */
typedef struct bh_opened {
    int64_t cell; /* its number; -1: nothing was opened, and the root alone acts */
    int64_t pin;
    double centre[3];        /* of the tile, as keep() would get it */
    int32_t nchild;          /* of the cell */
    int32_t ncells, nleaves; /* in the list: that act as one body, and leaves that act one by one; 0 and 0: no tile */
    int64_t nsources;        /* particles in these leaves */
    int64_t leaf[BH_FAMILY]; /* [nleaves] numbers of these leaves */
} bh_opened;

/* Number of opened cells of the list that a walk has just made: at least 1, unless there is no root. O(1). */
int64_t bh_opened_count(const bh_list *list);

/* The i-th opened cell, parents before children. All must be present: the list has nothing absent. O(1). */
void bh_opened_get(const bh_tree *tree, const bh_list *list, int64_t i, bh_opened *opened);

/* The opened cell after the i-th in the order of the list's cells and runs, of which 0 is the first; -1: none. */
static inline int64_t bh_opened_next(const bh_list *list, int64_t i)
{
    return list->frontier.n > 0 ? list->frontier.next[i] : -1;
}

/* Fills only list->absent of the walk from the tree's root: the cells of the group that this rank does not have. The
 * other members of the list are undefined. O(top and grafted cells that the walk meets): nothing is missing below this
 * rank's branches. */
int bh_walk_absent(const bh_tree *tree, const bh_group *group, const bh_mac *mac, const bh_choice *choice,
                   bh_list *list);

/* Only list->absent of the walk from the tree's root: the branches of other ranks that it opens, and those that are
 * leaves and act particle by particle, whether what is below them has been grafted or not. O(cells of the top that the
 * walk meets). */
int bh_walk_branches(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list);

#endif
