/* SPDX-License-Identifier: BSD-3-Clause */
/** \file kdtree_check.h
 * \brief Internal: self-checks of the k-d tree, for tests. */
#ifndef EQP_KDTREE_CHECK_H
#define EQP_KDTREE_CHECK_H

#include <equipoise/more/kdtree.h>

/** Upper bound of the depth of any tree (see split() in kdtree_build.h). */
#define EQP__KDTREE_DEPTH_MAX 112

/** Kinds of vectors for eqp__kdtree_use(). */
enum { EQP__KDTREE_PLAIN, EQP__KDTREE_BEST };

/** Checks that every point is in exactly one leaf, on its side of every cut above, and that leaves hold equal points
 * or are no larger than requested. Local, O(n log n).
 * \param[out] depth  cuts above the deepest leaf
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_INTERNAL for an invalid tree */
int eqp__kdtree_check(const eqp_kdtree *tree, int *depth);

/** Makes the queries of a tree use plain C, or the best vectors of this machine (the default). */
void eqp__kdtree_use(eqp_kdtree *tree, int vectors);

#endif
