/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/curve.h
 * \brief Space-filling curves: the order in which everything else in Equipoise walks through space.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_CURVE_H
#define EQUIPOISE_MORE_CURVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bits per axis of a three-dimensional key; a key has 63 bits. */
#define EQP_CURVE_BITS 21

/** One past the last key. */
#define EQP_CURVE_END ((uint64_t)1 << (3 * EQP_CURVE_BITS))

/** The grid cell of a Hilbert key: the inverse of eqp_hilbert_keys(). Local, O(EQP_CURVE_BITS). */
void eqp_hilbert_cell(uint64_t key, uint32_t *x, uint32_t *y, uint32_t *z);

/** Finds the order in which the curve visits the eight children of an octree cell: child[w] = 4 x + 2 y + z for the
 * child visited as number w, where x, y and z are 1 in the upper halves. Local, O(level).
 * \param[in]  key    any key in the cell
 * \param[in]  level  of the cell, 0 to EQP_CURVE_BITS - 1: its keys share their first 3 level bits
 * \param[out] child  [8] */
void eqp_hilbert_children(uint64_t key, int level, unsigned char child[8]);

/** Hilbert keys of points in a cube. A point on or outside the cube's surface takes the nearest grid cell; a
 * coordinate that is not a number counts as the lowest. Local, O(n), deterministic.
 * \param[in]  n       number of points, >= 0
 * \param[in]  x,y,z   [n] coordinates (borrowed)
 * \param[in]  corner  [3] the cube's lowest corner (borrowed)
 * \param[in]  side    the cube's edge, > 0
 * \param[out] key     [n]; unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT for a negative n, a NULL, or a side that is not a positive finite number */
int eqp_hilbert_keys(int64_t n, const double *x, const double *y, const double *z, const double corner[3], double side,
                     uint64_t *key);

#ifdef __cplusplus
}
#endif
#endif
