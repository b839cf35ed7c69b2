/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the bisections of one rank's items and of all ranks' items. All numbers are integers, so that sums
 * and therefore cuts do not depend on the order of items or on their distribution over ranks. */
#ifndef EQUIPOISE_METHODS_TILES_TILES_H
#define EQUIPOISE_METHODS_TILES_TILES_H

#include <equipoise/balance.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Items to divide. All arrays are borrowed for the call. */
typedef struct eqp_tiles_items {
    int64_t n;            /**< below 2^31 */
    const double *target; /**< [n][3] positions that receive the interactions, finite */
    const double *source; /**< [n][3] positions that exert them, finite; NULL: the targets */
    const double *weight; /**< [n] cost, finite, >= 0; NULL: 1. Weights that sum to zero count as 1 each */
} eqp_tiles_items;

enum eqp_tiles_shape {
    EQP_TILES_FREE = 0,   /**< each cut along targets, sources or midpoints, whichever shares fewest particles */
    EQP_TILES_JAGGED = 1, /**< strips of targets first, then each strip along its sources */
};

typedef struct eqp_tiles_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp__tiles_options_defaults() */
    int nparts;           /**< >= 1 */
    const double *share;  /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed for the call) */
    double imbalance_tol; /**< wanted imbalance of `part`, >= 0; INFINITY: no repair */
    double aspect;        /**< cost of a shared source in units of a shared target, whose force is sent back; > 0 */
    enum eqp_tiles_shape shape; /**< of the parts */
    int columns; /**< of EQP_TILES_JAGGED: parts per strip, 1 to nparts; 0: estimated to share fewest particles */
} eqp_tiles_options;

static inline eqp_tiles_options eqp__tiles_options_defaults(void)
{
    eqp_tiles_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.nparts = 1;
    options.imbalance_tol = 0.02;
    options.aspect = 0.5;
    options.shape = EQP_TILES_FREE;
    return options;
}

/** Imbalance is defined in more/methods.h. */
typedef struct eqp_tiles_result {
    double imbalance;            /**< of the parts */
    double imbalance_unrepaired; /**< of the cuts alone */
    int64_t repaired;            /**< items that the repair moved: eqp__tiles_find() returns another part for them */
    int columns;                 /**< parts per strip, or 0 with EQP_TILES_FREE */
} eqp_tiles_result;

/** A tree of cuts: each inner node has a direction and a position. Opaque; several threads may read it. */
typedef struct eqp_tiles eqp_tiles;

/** Cuts items into parts. Each node is cut along one of nine directions: x, y, z of the target, the source or the
 * midpoint. The variances and the covariance of targets and sources in the node give an estimate of how many targets
 * and sources each half would touch; the direction with the smallest targets + aspect x sources is used. The cut falls
 * where the weights are nearest to the shares. Items at the same place along the direction are divided by their other
 * position, so that one target's sources can be divided, and identical items by their order. If the parts then exceed
 * imbalance_tol, eqp__parts_repair() moves items.
 *
 * Local, deterministic, O(n log nparts). Positions are resolved to 2^-30 of their common box.
 * \param[in]  items    items to divide
 * \param[in]  options  options of the division
 * \param[out] part     [n] 0 to nparts - 1; NULL: only the tree, without repair
 * \param[out] tree     owned by the caller; eqp__tiles_free(). NULL: not wanted
 * \param[out] result   NULL: not wanted
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an invalid option or value */
int eqp__tiles_create(const eqp_tiles_items *items, const eqp_tiles_options *options, int *part, eqp_tiles **tree,
                      eqp_tiles_result *result);

/** The part of an interaction between two positions. Local, O(log nparts). If several items lie at one place on a cut,
 * the division may have put some on the other side for balance.
 * \param[in] target,source  [3], finite; may lie outside the box of the items */
int eqp__tiles_find(const eqp_tiles *tree, const double target[3], const double source[3]);

/** Counts the cuts of a tree in each direction: x, y, z of targets, sources, midpoints. Local, O(nparts). */
void eqp__tiles_directions(const eqp_tiles *tree, int count[9]);

void eqp__tiles_free(eqp_tiles *tree);

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

/* The grid. Its cells are cubes, since extents along different axes are compared. */
typedef struct eqp__tile_grid {
    double low[3]; /* halved coordinates, whose differences cannot overflow */
    double scale;
} eqp__tile_grid;

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
    double aspect;        /* of options */
    const double *before; /* [nparts + 1] sum of shares; NULL: equal */
} eqp__tile_plan;

struct eqp_tiles {
    eqp__tile_plan plan;
    eqp__tile_grid grid;
    double *before;     /* [nparts + 1] of the plan, or NULL */
    double *share;      /* [nparts], or NULL */
    eqp__tile_cut *cut; /* [nparts - 1], in preorder: the cut of the left parts is the next one, the cut of the right
                           parts is `left` further on */
    int columns;
};

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

/* Coordinate x of axis 0 to 2 on the grid; positions outside the box are moved to its border. */
static inline uint32_t eqp__tile_coordinate(const eqp__tile_grid *grid, int axis, double x)
{
    double q = (0.5 * x - grid->low[axis]) * grid->scale;

    return !(q > 0) ? 0 : q >= EQP__TILE_RANGE ? (uint32_t)EQP__TILE_RANGE : (uint32_t)q;
}

/* Global properties of the items, which set the grid. */
typedef struct eqp__tile_scope {
    int64_t n;     /* items of all ranks */
    double low[3]; /* of targets and sources */
    double high[3];
    double heaviest; /* weight */
} eqp__tile_scope;

/* EQP_ERR_ARGUMENT for an option out of range, columns included. */
int eqp__tiles_check(const eqp_tiles_options *options);

/* Extends a scope by items. Start from eqp__tile_scope_nothing(). EQP_ERR_ARGUMENT for an invalid value. */
eqp__tile_scope eqp__tile_scope_nothing(void);
int eqp__tile_scope_add(const eqp_tiles_items *items, eqp__tile_scope *scope);

eqp__tile_grid eqp__tile_grid_of(const eqp__tile_scope *scope);

/* Puts items on the grid: out [items->n]. */
void eqp__tiles_pack(const eqp_tiles_items *items, const eqp__tile_scope *scope, const eqp__tile_grid *grid,
                     eqp__tile_item *out);

/* Prefix sums of shares [nparts + 1], owned by the caller; *before is unchanged if shares are equal. */
int eqp__tiles_shares(int nparts, const double *share, double **before);

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

/* True if a cut after an item is at least as near to the target as a cut before it. before, after: load left of the two
 * cuts. */
static inline bool eqp__tiles_take(double target, int64_t before, int64_t after)
{
    return !(target - (double)before < (double)after - target);
}

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

/* Bisects one rank's items. item: [n], in order; spare: [n] work; both are overwritten. cut: [nparts - 1] as in
 * eqp_tiles. part: by order, or NULL. EQP_OK or EQP_ERR_MEMORY. */
int eqp__tiles_bisect(const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item, eqp__tile_item *spare, int first,
                      int nparts, eqp__tile_cut *cut, int *part);

/* Repairs parts if imbalance_tol is finite, and fills the imbalances of `result`. */
int eqp__tiles_finish(const eqp_tiles *tree, const eqp_tiles_items *items, double imbalance_tol, int *part,
                      eqp_tiles_result *result);

/* The part of an item of this order. cut: [nparts - 1]. */
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

/* Finds the scope of all ranks' items. before: number of items on lower ranks. Collective. */
int eqp__tile_scope_all(MPI_Comm comm, const eqp_tiles_items *items, int64_t *before, eqp__tile_scope *scope);

/* eqp__tiles_bisect() for the items of all ranks; all nodes of a level are cut together. item: [n] of this rank, with
 * ascending orders above the orders of lower ranks; overwritten. part: [n], by order - first_order. Cuts and parts are
 * the same as from one rank with all items. Collective. EQP_ERR_OVERFLOW for more than 2^24 parts. */
int eqp__tiles_bisect_all(MPI_Comm comm, const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item,
                          int64_t first_order, int *part);

/* Assigns parts as the methods `tiles` and `jagged` do. Up to most_gathered items, every rank gathers and bisects all
 * items. Collective. */
int eqp__tiles_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                      enum eqp_tiles_shape shape, int64_t most_gathered, int *part, eqp_balance_result *result);

#endif
