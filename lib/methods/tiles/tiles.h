/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of cuts through pairs of targets (`point` of the items) and sources (NULL: the targets). Each node is cut along
 * one of nine directions: x, y, z of the target, the source or the midpoint. The variances and the covariance of
 * targets and sources in the node give an estimate of how many targets and sources each half would touch; the direction
 * with the smallest targets + aspect x sources is used. The cut falls where the weights are nearest to the shares;
 * weights that sum to zero count as 1 each. Items at the same place along the direction are divided by their other
 * position, so that one target's sources can be divided, and identical items by their order. Jagged parts are strips of
 * targets, each cut along its sources.
 *
 * Positions are resolved to 2^-30 of their common box. All numbers are integers, so that sums and therefore cuts do not
 * depend on the order of items or on their distribution over ranks. */
#ifndef EQUIPOISE_METHODS_TILES_TILES_H
#define EQUIPOISE_METHODS_TILES_TILES_H

#include <equipoise/balance.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    EQP__TILE_AXES = 6,                /* x, y, z of the target, then of the source */
    EQP__TILE_DIRECTIONS = 9,          /* the axes, then x, y, z of the midpoint */
    EQP__TILE_COLUMN_SAMPLE = 1 << 15, /* most items that determine the columns */
    EQP__TILE_SAMPLE = 256,            /* items of a node that determine its direction (up to twice this) */
};

#define EQP__TILE_RANGE ((double)((1 << 30) - 1))          /* places along an axis */
#define EQP__TILE_WEIGHT_MAX ((double)((uint32_t)1 << 31)) /* the largest weight */

/* An item on the grid. */
typedef struct eqp__tile_item {
    uint32_t at[EQP__TILE_AXES];
    uint32_t weight;
    uint32_t order; /* its number among all items; divides identical items */
} eqp__tile_item;

/* A cut. Items with a smaller key go left, and so do items with the same key and an order below `order`. */
typedef struct eqp__tile_cut {
    uint64_t key;
    int64_t order;
    int32_t left; /* parts to the left */
    int32_t direction;
} eqp__tile_cut;

/* How parts are divided in two. It does not depend on the items. */
typedef struct eqp__tile_plan {
    int nparts;
    int strips;           /* of jagged parts; 0: free parts */
    double aspect;        /* cost of a shared source in units of a shared target, whose force is sent back; > 0 */
    const double *before; /* [nparts + 1] sum of shares; NULL: equal */
} eqp__tile_plan;

/* Bounding box of the items of a sample. */
typedef struct eqp__tile_box {
    uint32_t low[EQP__TILE_AXES], high[EQP__TILE_AXES];
} eqp__tile_box;

enum { EQP__TILE_MOMENTS = 1 + 2 * EQP__TILE_AXES + 3 };

/* Sums over a sample of a node's items. */
typedef struct eqp__tile_moments {
    int64_t sum[EQP__TILE_MOMENTS]; /* weights, first moments, second ones, target x source along each axis */
} eqp__tile_moments;

/* The coordinates of a key: the sum of one or two, then another one for items at the same place. */
typedef struct eqp__tile_reader {
    int first, second, other;
    uint32_t mask;
} eqp__tile_reader;

static inline eqp__tile_reader eqp__tile_reader_of(int direction)
{
    if (direction >= EQP__TILE_AXES) {
        int axis = direction - EQP__TILE_AXES;
        return (eqp__tile_reader){axis, axis + 3, axis, ~(uint32_t)0};
    }
    int other = direction < 3 ? direction + 3 : direction - 3;
    return (eqp__tile_reader){direction, direction, other, 0};
}

static inline uint32_t eqp__tile_place(const eqp__tile_item *t, eqp__tile_reader r)
{
    return t->at[r.first] + (t->at[r.second] & r.mask);
}

static inline uint64_t eqp__tile_key(const eqp__tile_item *t, eqp__tile_reader r)
{
    return (uint64_t)eqp__tile_place(t, r) << 32 | t->at[r.other];
}

/* Global properties of the items, which set the grid. */
typedef struct eqp__tile_scope {
    int64_t n;     /* items of all ranks */
    double low[3]; /* of targets and sources */
    double high[3];
    double heaviest; /* weight */
} eqp__tile_scope;

/* Extends a scope by items. Start from eqp__tile_scope_nothing(). EQP_ERR_ARGUMENT for an invalid value. */
eqp__tile_scope eqp__tile_scope_nothing(void);
int eqp__tile_scope_add(const eqp_balance_items *items, eqp__tile_scope *scope);

/* Puts items on the grid: out [items->n]. first_order: of the first item. */
void eqp__tiles_pack(const eqp_balance_items *items, const eqp__tile_scope *scope, int64_t first_order,
                     eqp__tile_item *out);

/* Finds the number of columns of jagged parts that share fewest particles. sample: [n], every
 * eqp__tiles_column_stride()-th of all items. EQP_OK or EQP_ERR_MEMORY. */
int eqp__tiles_columns(const eqp__tile_item *sample, int64_t n, int nparts, double aspect, int *columns);

static inline int64_t eqp__tiles_column_stride(int64_t n)
{
    return n <= EQP__TILE_COLUMN_SAMPLE ? 1 : (n + EQP__TILE_COLUMN_SAMPLE - 1) / EQP__TILE_COLUMN_SAMPLE;
}

int eqp__tiles_strips(int nparts, int columns);

/* Divides parts [first, first + n) in two: returns how many are left. allowed: bits of the directions that the cut may
 * have. n >= 2. */
int eqp__tiles_split(const eqp__tile_plan *plan, int first, int n, unsigned *allowed);

/* Target load left of the cut of parts [first, first + n). */
double eqp__tiles_target(const eqp__tile_plan *plan, int first, int n, int left, int64_t total);

/* Stride of the sample of n items: it holds items 0, stride, 2 stride, ... in the order of the node. */
static inline int64_t eqp__tiles_stride(int64_t n)
{
    return n <= 2 * EQP__TILE_SAMPLE ? 1 : n / EQP__TILE_SAMPLE;
}

/* Extends a box by items from, from + stride, ... below n. Start from eqp__tile_box_nothing(). */
eqp__tile_box eqp__tile_box_nothing(void);
void eqp__tile_box_add(const eqp__tile_item *item, int64_t n, int64_t from, int64_t stride, eqp__tile_box *box);

/* Adds the moments of the same items, relative to that box. */
void eqp__tile_moments_add(const eqp__tile_item *item, int64_t n, int64_t from, int64_t stride,
                           const eqp__tile_box *box, eqp__tile_moments *moments);

/* The direction whose halves share fewest particles by the estimate. */
int eqp__tiles_choose(const eqp__tile_moments *moments, double aspect, unsigned allowed);

typedef struct eqp__tile_near {
    uint64_t key;
    uint32_t weight, order;
} eqp__tile_near;

/* Sets a cut from the few items near it, which it sorts. unit: added to every weight. load: in, load left of these
 * items; out, load left of the cut. tied: these items, and possibly more, have the same key. Returns how many of these
 * items are on the left. The cut's order is nonzero only if it may divide items of the same key. */
int64_t eqp__tiles_cut_few(eqp__tile_near *list, int64_t n, int64_t unit, int64_t *load, double target, bool tied,
                           eqp__tile_cut *cut);

/* Smallest right shift after which a number up to `range` has at most `bits` bits. */
static inline int eqp__tile_shift(uint64_t range, int bits)
{
    int shift = 0;

    while (range >> shift >> bits) {
        shift++;
    }
    return shift;
}

static inline bool eqp__tile_is_right(const eqp__tile_item *t, eqp__tile_reader r, const eqp__tile_cut *cut)
{
    uint64_t key = eqp__tile_key(t, r);

    return key > cut->key || (key == cut->key && t->order >= cut->order);
}

/* Divides items in two and keeps their order: to [n] gets the nleft items on the left, then the items on the right. */
void eqp__tiles_divide(const eqp__tile_item *item, int64_t n, const eqp__tile_cut *cut, int64_t nleft,
                       eqp__tile_item *to);

/* Bisects one rank's items. item: [n], in order; spare: [n] work; both are overwritten. cut: [nparts - 1], in preorder:
 * the cut of the left parts is the next one, the cut of the right parts is `left` further on. part: by order. EQP_OK or
 * EQP_ERR_MEMORY. */
int eqp__tiles_bisect(const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item, eqp__tile_item *spare, int first,
                      int nparts, eqp__tile_cut *cut, int *part);

/* Finds the scope of all ranks' items. before: number of items on lower ranks. Collective. */
int eqp__tile_scope_all(MPI_Comm comm, const eqp_balance_items *items, int64_t *before, eqp__tile_scope *scope);

/* eqp__tiles_bisect() for the items of all ranks; all nodes of a level are cut together. item: [n] of this rank, with
 * ascending orders above the orders of lower ranks; overwritten. part: [n], by order - first_order. Cuts and parts are
 * the same as from one rank with all items. Collective. EQP_ERR_OVERFLOW for more than 2^24 parts. */
int eqp__tiles_bisect_all(MPI_Comm comm, const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item,
                          int64_t first_order, int *part);

/* Parts of the methods `tiles` and `jagged`, without repair. _cut(): of one rank's items; local. _cut_all():
 * collective; up to most_gathered items, every rank gathers and bisects all items. */
int eqp__tiles_cut(const eqp_balance_items *items, const eqp_balance_options *options, bool jagged, int *part);
int eqp__tiles_cut_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool jagged,
                       int64_t most_gathered, int *part);

#endif
