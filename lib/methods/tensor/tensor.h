/* SPDX-License-Identifier: BSD-3-Clause */
/* Walls of rectilinear parts, for the items of one rank or of all ranks. Ranks exchange only sums of integers, so walls
 * depend neither on the order of items nor on their distribution.
 * Source: D. M. Nicol, Rectilinear partitioning of irregular data parallel computations, J. Parallel Distrib. Comput.
 * 23 (1994) 119: the walls of one axis at a time are optimized while the walls of the other axes are fixed. */
#ifndef EQUIPOISE_METHODS_TENSOR_TENSOR_H
#define EQUIPOISE_METHODS_TENSOR_TENSOR_H

#include "comm/agree.h"
#include "methods/tiles/tiles.h"

#include <equipoise/error.h>

#include <stdint.h>

/** Factors a number of parts into a grid for a box: the grid whose parts have the least surface, assuming equally wide
 * slabs. Ties go to the grid with most slabs along x, then y. An edge shorter than a thousandth of the longest counts
 * as a thousandth. O(d^2) with d <= 1536 the number of divisors of nparts.
 * \param[in]     edge    [3] edges of the box, finite, >= 0, in any unit (borrowed)
 * \param[in,out] grid    [3] numbers of slabs along x, y, z: nonzero numbers are kept, zeros are replaced; the product
 *                        becomes nparts. Unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT if no grid of nparts parts has the given numbers */
int eqp__tensor_grid(int nparts, const double edge[3], int grid[3]);

/** The part that holds a point. Slab i of an axis holds wall[i] <= x < wall[i + 1]; the outermost slabs extend beyond
 * the outermost walls. A slab between two equal walls is empty. O(log(nparts)).
 * \param[in] grid  [3] numbers of slabs, >= 1, their product at most INT32_MAX (borrowed)
 * \param[in] wall  [grid[0] + 1 + grid[1] + 1 + grid[2] + 1] walls along x, then y, then z, each ascending (borrowed)
 * \param[in] x     [3] the point (borrowed)
 * \return 0 to grid[0] * grid[1] * grid[2] - 1 */
int eqp__tensor_find(const int grid[3], const double *wall, const double x[3]);

typedef struct eqp__tensor {
    MPI_Comm comm; /* MPI_COMM_NULL: one rank */
    int grid[3], nbins[3];
    double high[3];
    double *share; /* [parts] shares times parts; NULL: equal */
    int64_t n;     /* items of this rank */
    double *load;  /* [n] integers; the sum over all ranks is below 2^53 */
    int *bin[3];   /* [n] bin of each item */
    double *edge[3];
    int *slab[3];  /* [nbins] slab of each bin */
    int *first[3]; /* [grid + 1] first bin of each slab */
    int *back;     /* [most slabs + 1] work */
    double *sum;   /* work: loads of the bins of one axis in every lane */
} eqp__tensor;

/* Allocates the arrays for a grid and sets the loads of this rank's items. scope: of the items of all ranks, at least
 * one item. share: [parts] or NULL. EQP_OK, EQP_ERR_MEMORY or EQP_ERR_OVERFLOW; the caller closes it even on error.
 * Local. */
int eqp__tensor_open(MPI_Comm comm, const eqp_balance_items *items, const eqp__tile_scope *scope, const int grid[3],
                     const double *share, eqp__tensor *t);
void eqp__tensor_close(eqp__tensor *t);

/* Narrows bins where loads are large; leaves the loads of the bins of x, y, z, one axis after another, in t->sum.
 * Collective. */
int eqp__tensor_resolve(eqp__tensor *t, const eqp_balance_items *items);

/* Finds the walls, as in eqp__tensor_find(). Starts from quantiles of the loads along each axis; the following rounds
 * never raise the largest relative load of a part. Collective. Allocates no memory. */
int eqp__tensor_cut(eqp__tensor *t, const eqp_balance_items *items, double *wall);

/* First step: walls at quantiles of the loads that eqp__tensor_resolve() left. */
void eqp__tensor_begin(eqp__tensor *t);

/* Second step: the best walls along axis k for fixed walls of the other axes, each moved no further than necessary.
 * t->sum: running sums of the loads [nbins + 1][lanes]. Returns the largest relative load of a part, in the unit of the
 * loads. */
double eqp__tensor_place(eqp__tensor *t, int k);

/* The other two axes of axis k: part numbers advance in smaller steps along the minor one. */
static inline int eqp__tensor_minor(int k)
{
    return k == 0 ? 1 : 0;
}

static inline int eqp__tensor_major(int k)
{
    return k == 2 ? 1 : 2;
}

/* Number of lanes, the boxes formed by the other axes of axis k: lane = minor slab + number of minor slabs * major
 * slab. */
static inline int64_t eqp__tensor_lanes(const eqp__tensor *t, int k)
{
    return (int64_t)t->grid[eqp__tensor_minor(k)] * t->grid[eqp__tensor_major(k)];
}

/* Sums values over the ranks. Collective. */
static inline int eqp__tensor_add(const eqp__tensor *t, int64_t n, double *value)
{
    return t->comm != MPI_COMM_NULL ? eqp__sum_exact(t->comm, n, value) : EQP_OK;
}

#endif
