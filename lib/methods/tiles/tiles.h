/* SPDX-License-Identifier: BSD-3-Clause */
/* What the bisection of one rank's items and that of all ranks' items share: whole numbers everywhere, so that sums and
 * therefore cuts do not depend on the order of items or on who holds them. */
#ifndef EQUIPOISE_METHODS_TILES_TILES_H
#define EQUIPOISE_METHODS_TILES_TILES_H

#include <equipoise/more/tiles.h>

#include <stdbool.h>
#include <stdint.h>

enum {
    EQP__TILE_AXES = 6,                /* x, y, z of the target, then of the source */
    EQP__TILE_DIRECTIONS = 9,          /* these, then x, y, z of the midpoint */
    EQP__TILE_COLUMN_SAMPLE = 1 << 15, /* at most so many items decide on columns */
    EQP__TILE_SAMPLE = 256,            /* so many items of a node (up to twice as many) choose its direction */
};

#define EQP__TILE_RANGE ((double)((1 << 30) - 1))          /* places along an axis */
#define EQP__TILE_WEIGHT_MAX ((double)((uint32_t)1 << 31)) /* the largest weight */

/* An item on the grid. */
typedef struct eqp__tile_item {
    uint32_t at[EQP__TILE_AXES];
    uint32_t weight;
    uint32_t order; /* its number among all items: what divides identical ones */
} eqp__tile_item;

/* The grid: cubes, as extents along different axes are compared. */
typedef struct eqp__tile_grid {
    double low[3]; /* halves of coordinates, which cannot overflow when they are subtracted */
    double scale;
} eqp__tile_grid;

/* A cut: items with a smaller key go left; of those with the same key the ones before `order`. */
typedef struct eqp__tile_cut {
    uint64_t key;
    int64_t order;
    int32_t left; /* parts to the left */
    int32_t direction;
} eqp__tile_cut;

/* How parts are divided in two: which is known before any item is looked at. */
typedef struct eqp__tile_plan {
    int nparts;
    int strips;           /* of jagged parts; 0: free ones */
    double aspect;        /* of options */
    const double *before; /* [nparts + 1] sum of shares; NULL: equal */
} eqp__tile_plan;

struct eqp_tiles {
    eqp__tile_plan plan;
    eqp__tile_grid grid;
    double *before;     /* [nparts + 1] of the plan, or NULL */
    double *share;      /* [nparts], or NULL */
    eqp__tile_cut *cut; /* [nparts - 1], in preorder: the cut of the left parts follows, that of the right ones comes
                           `left` later */
    int columns;
};

/* Where the items of a sample lie. */
typedef struct eqp__tile_box {
    uint32_t low[EQP__TILE_AXES], high[EQP__TILE_AXES];
} eqp__tile_box;

enum { EQP__TILE_MOMENTS = 1 + 2 * EQP__TILE_AXES + 3 };

/* Sums over a sample of a node's items. */
typedef struct eqp__tile_moments {
    int64_t sum[EQP__TILE_MOMENTS]; /* weights, first moments, second ones, target x source along each axis */
} eqp__tile_moments;

/* How to read a key: the sum of one or two coordinates, then another one for items at the same place. */
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

/* Coordinate x of axis 0 to 2 on the grid; positions outside the box go to its border. */
static inline uint32_t eqp__tile_coordinate(const eqp__tile_grid *grid, int axis, double x)
{
    double q = (0.5 * x - grid->low[axis]) * grid->scale;

    return !(q > 0) ? 0 : q >= EQP__TILE_RANGE ? (uint32_t)EQP__TILE_RANGE : (uint32_t)q;
}

/* What every rank must know of all items before they are put on the grid. */
typedef struct eqp__tile_scope {
    int64_t n;     /* items of all ranks */
    double low[3]; /* of targets and sources */
    double high[3];
    double heaviest; /* weight */
} eqp__tile_scope;

/* EQP_ERR_ARGUMENT for options that are none; columns too. */
int eqp__tiles_check(const eqp_tiles_options *options);

/* Extends a scope by items: start from eqp__tile_scope_nothing(). EQP_ERR_ARGUMENT for a value that is none. */
eqp__tile_scope eqp__tile_scope_nothing(void);
int eqp__tile_scope_add(const eqp_tiles_items *items, eqp__tile_scope *scope);

eqp__tile_grid eqp__tile_grid_of(const eqp__tile_scope *scope);

/* Items on the grid: out [items->n]. */
void eqp__tiles_pack(const eqp_tiles_items *items, const eqp__tile_scope *scope, const eqp__tile_grid *grid,
                     eqp__tile_item *out);

/* Sums of shares, owned by the caller; NULL where shares are equal. */
int eqp__tiles_shares(int nparts, const double *share, double **before);

/* Columns of jagged parts that share least, from a sample of all items [n]: every eqp__tiles_column_stride()-th. EQP_OK
 * or EQP_ERR_MEMORY. */
int eqp__tiles_columns(const eqp__tile_item *sample, int64_t n, int nparts, double aspect, int *columns);

static inline int64_t eqp__tiles_column_stride(int64_t n)
{
    return n <= EQP__TILE_COLUMN_SAMPLE ? 1 : (n + EQP__TILE_COLUMN_SAMPLE - 1) / EQP__TILE_COLUMN_SAMPLE;
}

/* Number of strips of so many columns. */
int eqp__tiles_strips(int nparts, int columns);

/* Parts [first, first + n) fall into two: how many are left, and the directions that are allowed (bits). n >= 2. */
int eqp__tiles_split(const eqp__tile_plan *plan, int first, int n, unsigned *allowed);

/* The load wanted left of the cut of parts [first, first + n). */
double eqp__tiles_target(const eqp__tile_plan *plan, int first, int n, int left, int64_t total);

/* Items between those of the sample of n: items 0, stride, 2 stride, ... in the order of the node. */
static inline int64_t eqp__tiles_stride(int64_t n)
{
    return n <= 2 * EQP__TILE_SAMPLE ? 1 : n / EQP__TILE_SAMPLE;
}

/* The box of items from, from + stride, ... below n; extends what is there: start from eqp__tile_box_nothing(). */
eqp__tile_box eqp__tile_box_nothing(void);
void eqp__tile_box_add(const eqp__tile_item *item, int64_t n, int64_t from, int64_t stride, eqp__tile_box *box);

/* Adds their moments, measured in that box. */
void eqp__tile_moments_add(const eqp__tile_item *item, int64_t n, int64_t from, int64_t stride,
                           const eqp__tile_box *box, eqp__tile_moments *moments);

/* The direction that shares least. */
int eqp__tiles_choose(const eqp__tile_moments *moments, double aspect, unsigned allowed);

/* Whether a cut behind an item, from `before` to `after` as the load left of it, is nearer to the target than one
 * before it. */
static inline bool eqp__tiles_take(double target, int64_t before, int64_t after)
{
    return !(target - (double)before < (double)after - target);
}

/* An item near a cut. */
typedef struct eqp__tile_near {
    uint64_t key;
    uint32_t weight, order;
} eqp__tile_near;

/* Sets a cut's place from the few items that lie there, which it sorts; unit: added to every weight; load: left
 * of them, and then left of the cut; tied: all of them, and maybe others, have one key. Returns how many of them are on
 * the left. An order is given only where a cut divides items of one key. */
int64_t eqp__tiles_cut_few(eqp__tile_near *list, int64_t n, int64_t unit, int64_t *load, double target, bool tied,
                           eqp__tile_cut *cut);

/* By how many bits a number up to `range` must be shifted to have no more than so many. */
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

/* Divides items in two without changing their order: to [n] gets the nleft that are on the left, then the others. */
void eqp__tiles_divide(const eqp__tile_item *item, int64_t n, const eqp__tile_cut *cut, int64_t nleft,
                       eqp__tile_item *to);

/* Bisection of one rank's items. item: [n], in order; spare: [n] work; both are overwritten. cut: [nparts - 1] as in
 * eqp_tiles; keep_directions: take what it holds. part: by order, or NULL. EQP_OK or EQP_ERR_MEMORY. */
int eqp__tiles_bisect(const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item, eqp__tile_item *spare,
                      bool keep_directions, int first, int nparts, eqp__tile_cut *cut, int *part);

/* Repairs parts and says what they are like. */
int eqp__tiles_finish(const eqp_tiles *tree, const eqp_tiles_items *items, double imbalance_tol, int *part,
                      eqp_tiles_result *result);

/* The part of an item that has this order, by cuts [nparts - 1]. */
static inline int eqp__tiles_descend(const eqp__tile_cut *cut, int nparts, const eqp__tile_item *t, int64_t order)
{
    int first = 0;

    while (nparts > 1) {
        uint64_t key = eqp__tile_key(t, eqp__tile_reader_of(cut->direction));
        int left = cut->left;
        if (key < cut->key || (key == cut->key && order < cut->order)) {
            nparts = left;
            cut++;
        } else {
            first += left;
            nparts -= left;
            cut += left;
        }
    }
    return first;
}

#endif
