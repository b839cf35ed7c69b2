/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/tensor.h
 * \brief Rectilinear parts: boxes between planes that cross the whole domain, so that each face has one neighbour.
 *
 * grid[0] x grid[1] x grid[2] parts; the part in slab ix, iy, iz of the three axes is ix + grid[0] * (iy + grid[1] *
 * iz). It has at most six neighbours across faces, whose slabs differ by one along one axis. The method `tensor`
 * (balance.h) finds the walls and keeps this numbering. Everything here is local and deterministic.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_TENSOR_H
#define EQUIPOISE_MORE_TENSOR_H

#include <equipoise/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Factors a number of parts into a grid for a box: the grid whose parts have the least surface, assuming equally wide
 * slabs. Ties go to the grid with most slabs along x, then y. An edge shorter than a thousandth of the longest counts
 * as a thousandth. O(d^2) with d <= 1536 the number of divisors of nparts.
 * \param[in]     nparts  >= 1
 * \param[in]     edge    [3] edges of the box, finite, >= 0, in any unit (borrowed)
 * \param[in,out] grid    [3] numbers of slabs along x, y, z: nonzero numbers are kept, zeros are replaced; the product
 *                        becomes nparts. Unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT if no grid of nparts parts has the given numbers, or for an invalid edge */
int eqp_tensor_grid(int nparts, const double edge[3], int grid[3]);

/** The part that holds a point. Slab i of an axis holds wall[i] <= x < wall[i + 1]; the outermost slabs extend beyond
 * the outermost walls. A slab between two equal walls is empty. O(log(nparts)).
 * \param[in] grid  [3] numbers of slabs, >= 1, their product at most INT32_MAX (borrowed)
 * \param[in] wall  [grid[0] + 1 + grid[1] + 1 + grid[2] + 1] walls along x, then y, then z, each ascending (borrowed)
 * \param[in] x     [3] the point (borrowed)
 * \return 0 to grid[0] * grid[1] * grid[2] - 1, or EQP_ERR_ARGUMENT for a NULL pointer or an invalid grid */
int eqp_tensor_find(const int grid[3], const double *wall, const double x[3]);

#ifdef __cplusplus
}
#endif
#endif
