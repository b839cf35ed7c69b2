/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/tensor.h
 * \brief Rectilinear parts: boxes between planes that cross the whole domain, so that faces meet face to face.
 *
 * grid[0] x grid[1] x grid[2] parts; the part in slab ix, iy, iz of the three axes is ix + grid[0] * (iy + grid[1] *
 * iz). Its neighbours across faces are the at most six parts whose slabs differ by one along one axis. The row `tensor`
 * of the table of methods (balance.h) finds the walls and keeps these numbers. Everything here is local and
 * deterministic.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_TENSOR_H
#define EQUIPOISE_MORE_TENSOR_H

#include <equipoise/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Factors a number of parts into a grid for a box: of all grids the one whose parts, if slabs were equally wide, have
 * the least surface. Of equal ones the one with most slabs along x, then y. An edge shorter than a thousandth of the
 * longest counts as that. O(d^2) with d <= 1536 the number of divisors of nparts.
 * \param[in]     nparts  >= 1
 * \param[in]     edge    [3] edges of the box, finite, >= 0, of any unit (borrowed)
 * \param[in,out] grid    [3] numbers of slabs along x, y, z: those that are not 0 stay as they are, the others are
 *                        chosen; the product is nparts. Unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT for numbers of slabs that no grid of nparts parts has, or an edge that is none */
int eqp_tensor_grid(int nparts, const double edge[3], int grid[3]);

/** The part that holds a point. Slab i of an axis holds wall[i] <= x < wall[i + 1]; the outermost slabs go on beyond
 * the outermost walls. A slab between two equal walls holds nothing. O(log(nparts)).
 * \param[in] grid  [3] numbers of slabs, >= 1, their product at most INT32_MAX (borrowed)
 * \param[in] wall  [grid[0] + 1 + grid[1] + 1 + grid[2] + 1] walls along x, then y, then z, each ascending (borrowed)
 * \param[in] x     [3] the point (borrowed)
 * \return 0 to grid[0] * grid[1] * grid[2] - 1, or EQP_ERR_ARGUMENT for a NULL pointer or a grid that is none */
int eqp_tensor_find(const int grid[3], const double *wall, const double x[3]);

#ifdef __cplusplus
}
#endif
#endif
