/* SPDX-License-Identifier: BSD-3-Clause */
/* The two steps of a walk, behind one table with a row per instruction set. All rows make the same lists, bit for bit.
 * The first step works breadth first, without dependences: it finds the opened cells and the contributions of each. The
 * second follows the links of the first and collects the contributions in the order of the list. */
#ifndef BH_WALKER_H
#define BH_WALKER_H

#include "internal.h"

/* The rule by which a child of an opened cell acts as one body, is opened itself or is left out. */
typedef enum bh__rule { BH_GEOMETRIC, BH_RELATIVE, BH_CUTOFF } bh__rule;

/* Constants of a group's walk. */
typedef struct bh__walker {
    const bh_tree *tree;
    const bh_group *group;
    bh__rule rule;
    double reciprocal; /* of theta */
    double G;
    double strength;         /* alpha |a| */
    double reach2;           /* cubes farther from the bounds than its root are left out; with BH_CUTOFF only */
    int32_t families;        /* families with smaller numbers are skipped, */
    int32_t end;             /* and so are families from this number on */
    const bh_region *region; /* of a shared group; else NULL */
    double side[EQP_CURVE_BITS + 1];
} bh__walker;

typedef struct bh__walk_row {
    const char *name;
    bool (*runs_here)(void);
    /* Opens cells, from the one in the frontier on, and adds to list->nvisits. Room is there. */
    void (*open)(const bh__walker *w, bh_list *list);
    /* The cells and runs of all the frontier, after it. Room is there, and for one family more. */
    int (*collect)(const bh__walker *w, bh_list *list);
    /* Of a shared group, in between: opened cells whose tiles are another rank's contribute nothing from now on. keep()
     * searches among all units: where there is a region, it is asked only if a few planes do not tell. */
    void (*drop)(const bh__walker *w, const bh_choice *choice, bh_list *list);
    /* Of these children of a cell those whose cubes reach into the region: nothing below any other is this rank's, as
     * the centres of all tiles below a cell lie in its cube. */
    unsigned (*reach)(const bh__walker *w, const bh_family *family, unsigned lanes);
} bh__walk_row;

/* Fastest row first; "plain", which runs everywhere, last. */
extern const bh__walk_row *const bh__walk_table[];
extern const int bh__walk_table_size;
const bh__walk_row *bh__walk_best(void);

extern const bh__walk_row bh__walk_plain;
#if defined(__x86_64__) && defined(__GNUC__)
#define BH_WALK_X86 1
extern const bh__walk_row bh__walk_avx2, bh__walk_avx512;
#endif

void bh__walker_init(bh__walker *w, const bh_tree *tree, const bh_group *group, const bh_mac *mac);

/* Then computes the region of a rank that shares the group, reusing its memory; no region if it is too ragged to help.
 * O(its units x all of the group). EQP_OK or EQP_ERR_MEMORY. */
int bh__walker_share(bh__walker *w, const bh_sharing *sharing, bh_region *region);

/* True if the root of a walk acts as one body, or lies beyond a cutoff and does not act at all. */
bool bh__acts_whole(const bh__walker *w, const bh_cell *cell);

/* The first half of a walk that opens these n families, none nested in another: list->frontier begins with them and
 * holds all opened cells and their contributions. */
int bh__walk_open(const bh__walker *w, int64_t n, const int32_t *family, bh_list *list);

/* A walk with that row, which must run here. */
int bh__walk(const bh__walk_row *row, const bh_tree *tree, const bh_group *group, const bh_mac *mac,
             const bh_choice *choice, bh_list *list);

/* Rounding error of coordinates: by the rounding of its key a particle may lie outside of its cell's cube. */
double bh__rounding(const bh_box *box);

/* Planes between a unit of this rank and units of other ranks, side by side. At a tile's centre, measured from the
 * group's, let `beyond` be its product with the normal, less `away`. Where that is positive, the other unit is
 * certainly nearer; where it is below -2 doubt, this one is. Unused planes cut off nothing. */
#define BH_PLANES 8
typedef struct bh__planes {
    double normal[3][BH_PLANES], away[BH_PLANES], doubt[BH_PLANES];
    double least[BH_FAMILY][BH_PLANES]; /* least `beyond` in a child's cube minus that at the cell's centre, in sides
                                           of the child; by octants x + 2 y + 4 z */
} bh__planes;

/* Springel's guard: no cell acts on targets within 0.6 sides of its centre on every axis. */
#define BH_GUARD 0.6
/* The guard's corner is 0.6 sqrt(3) sides from the centre: beyond this and the offset, the guard needs no test. */
#define BH_GUARD_REACH 1.04

/* True if the targets are that near along one axis. */
static inline bool bh__beside_axis(const bh__walker *w, int axis, int32_t grid, double side)
{
    const double centre = w->tree->box.corner[axis] + ((double)grid + 0.5) * side, reach = BH_GUARD * side;
    return !(w->group->lo[axis] >= centre + reach || w->group->hi[axis] <= centre - reach);
}

static inline int32_t bh__grid(uint64_t place, int axis, int level)
{
    const uint64_t grid = place >> (axis * EQP_CURVE_BITS) & (((uint64_t)1 << EQP_CURVE_BITS) - 1);
    return (int32_t)(grid >> (EQP_CURVE_BITS - level));
}

static inline bool bh__beside(const bh__walker *w, const bh_cell *cell)
{
    bool beside = true;
    for (int axis = 0; axis < 3 && beside; axis++) {
        beside = bh__beside_axis(w, axis, bh__grid(cell->place, axis, cell->level), w->side[cell->level]);
    }
    return beside;
}

/* The lanes of children that near; unused lanes may be set. Along each axis all children lie at one of two places. */
static inline unsigned bh__beside_lanes(const bh__walker *w, const bh_family *family)
{
    const double side = w->side[family->level];
    unsigned beside = (1u << BH_FAMILY) - 1;
    for (int axis = 0; axis < 3; axis++) {
        const int32_t grid = bh__grid(family->place, axis, family->level);
        const unsigned upper = family->upper[axis];
        beside &= (bh__beside_axis(w, axis, grid, side) ? ~upper : 0) |
                  (bh__beside_axis(w, axis, grid + 1, side) ? upper : 0);
    }
    return beside;
}

/* The criterion, for a cell whose centre of mass is at a squared distance d2 from the group's bounds. */
static inline bool bh__far_geometric(const bh__walker *w, double d2, double offset, double side)
{
    const double reach = side * w->reciprocal + offset;
    return d2 > reach * reach;
}

static inline bool bh__far_relative(const bh__walker *w, double d2, double offset, double mass, const bh_cell *cell)
{
    const double side = w->side[cell->level], reach = BH_GUARD_REACH * side + offset;
    return w->G * mass * side * side < w->strength * d2 * d2 && (d2 > reach * reach || !bh__beside(w, cell));
}

/* The square of how far the group's bounds are from cells at this place along one axis. */
static inline double bh__gap2(const bh__walker *w, int axis, int32_t grid, double side)
{
    const double low = w->tree->box.corner[axis] + (double)grid * side;
    const double below = low - w->group->hi[axis], above = w->group->lo[axis] - (low + side);
    const double gap = below > above ? below : above;
    return gap > 0 ? gap * gap : 0;
}

/* True if a cell's cube comes within reach of the group's bounds. */
static inline bool bh__near(const bh__walker *w, const bh_cell *cell)
{
    double d2 = 0;
    for (int axis = 0; axis < 3; axis++) {
        d2 += bh__gap2(w, axis, bh__grid(cell->place, axis, cell->level), w->side[cell->level]);
    }
    return !(d2 > w->reach2);
}

/* The lanes of children whose cubes do; unused lanes may be set. Along each axis all children lie at one of two
 * places. */
static inline unsigned bh__near_lanes(const bh__walker *w, const bh_family *family)
{
    const double side = w->side[family->level];
    double gap2[3][2];
    unsigned near = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int32_t grid = bh__grid(family->place, axis, family->level);
        gap2[axis][0] = bh__gap2(w, axis, grid, side);
        gap2[axis][1] = bh__gap2(w, axis, grid + 1, side);
    }
    for (int k = 0; k < family->nchild; k++) {
        const double d2 = gap2[0][family->upper[0] >> k & 1] + gap2[1][family->upper[1] >> k & 1] +
                          gap2[2][family->upper[2] >> k & 1];
        near |= (unsigned)!(d2 > w->reach2) << k;
    }
    return near;
}

static inline double bh__distance2(const bh_group *group, double x, double y, double z)
{
    const double com[3] = {x, y, z};
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const double below = group->lo[k] - com[k], above = com[k] - group->hi[k];
        double d = below > above ? below : above;
        d = d > 0 ? d : 0;
        sum += d * d;
    }
    return sum;
}

#define BH_TAKEN_CELLS 0xffu /* of bh_frontier.taken */

int bh__put_absent(bh_list *list, int64_t cell);

#endif
