/* SPDX-License-Identifier: BSD-3-Clause */
/* Walls of rectilinear parts, for items of one rank or of all: ranks share nothing but sums of whole numbers, so that
 * walls depend neither on the order of items nor on who holds them.
 * Source: D. M. Nicol, Rectilinear partitioning of irregular data parallel computations, J. Parallel Distrib. Comput.
 * 23 (1994) 119: walls of one axis at a time are placed at their best while those of the other axes stand. */
#ifndef EQUIPOISE_METHODS_TENSOR_TENSOR_H
#define EQUIPOISE_METHODS_TENSOR_TENSOR_H

#include "methods/tiles/tiles.h"

#include <stdint.h>

/* Adds numbers over the ranks. */
typedef struct eqp__tensor_sum {
    int (*add)(void *user, int64_t n, double *value); /* NULL: there is one rank */
    void *user;
} eqp__tensor_sum;

typedef struct eqp__tensor {
    int grid[3], nbins[3];
    double high[3];
    double *share; /* [parts] shares times parts; NULL: equal */
    int64_t n;     /* items of this rank */
    double *load;  /* [n] whole numbers; those of all ranks sum to less than 2^53 */
    int *bin[3];   /* [n] */
    double *edge[3];
    int *slab[3];  /* [nbins] of each bin */
    int *first[3]; /* [grid + 1] first bin of each slab */
    int *back;     /* [most slabs + 1] work */
    double *sum;   /* work: loads of all bins by the boxes of the other axes */
} eqp__tensor;

/* Memory for the walls of a grid, and the loads of this rank's items. scope: of all items of all ranks, at least one.
 * share: [parts] or NULL. EQP_OK, EQP_ERR_MEMORY or EQP_ERR_OVERFLOW; to be closed in any case. Local. */
int eqp__tensor_open(const eqp_tiles_items *items, const eqp__tile_scope *scope, const int grid[3], const double *share,
                     eqp__tensor *t);
void eqp__tensor_close(eqp__tensor *t);

/* Bins narrow where loads are large, and their loads, those of x, y, z one after another, in t->sum. Collective if
 * `sum` is. */
int eqp__tensor_resolve(eqp__tensor *t, const eqp_tiles_items *items, const eqp__tensor_sum *sum);

/* Walls, as in eqp_tensor_find(). Begins with quantiles of the loads along each axis; none of the rounds that follow
 * makes the largest relative load of a part larger. Collective if `sum` is; allocates nothing, fails as `sum` does. */
int eqp__tensor_cut(eqp__tensor *t, const eqp_tiles_items *items, const eqp__tensor_sum *sum, double *wall);

/* Its two steps. Walls at quantiles of the loads that eqp__tensor_resolve() left; and the best walls along axis k while
 * those of the other axes stand, each moved no further than it has to, for loads in t->sum as running sums [nbins + 1]
 * [lanes]: returns the largest relative load of a part, in the unit of the loads. */
void eqp__tensor_begin(eqp__tensor *t);
double eqp__tensor_place(eqp__tensor *t, int k);

/* The other axes of an axis, the one first along which the numbers of parts go in smaller steps. */
static inline int eqp__tensor_minor(int k)
{
    return k == 0 ? 1 : 0;
}

static inline int eqp__tensor_major(int k)
{
    return k == 2 ? 1 : 2;
}

/* Boxes of the other axes: lane = slab of the minor one + its slabs * slab of the major one. */
static inline int64_t eqp__tensor_lanes(const eqp__tensor *t, int k)
{
    return (int64_t)t->grid[eqp__tensor_minor(k)] * t->grid[eqp__tensor_major(k)];
}

static inline int eqp__tensor_add(const eqp__tensor_sum *sum, int64_t n, double *value)
{
    return sum->add ? sum->add(sum->user, n, value) : EQP_OK;
}

#endif
