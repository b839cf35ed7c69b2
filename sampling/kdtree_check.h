/* SPDX-License-Identifier: BSD-3-Clause */
/** \file kdtree_check.h
 * \brief Internal: the k-d tree looks at itself, for tests. */
#ifndef EQP_KDTREE_CHECK_H
#define EQP_KDTREE_CHECK_H

#include <equipoise/more/kdtree.h>

/** No tree is deeper than this, whatever its points are (see split() in kdtree_build.h). */
#define EQP__KDTREE_DEPTH_MAX 112

/** Kinds of vectors for eqp__kdtree_use(). */
enum { EQP__KDTREE_PLAIN, EQP__KDTREE_BEST };

/** Every point is in exactly one leaf, on its side of every cut above; leaves are full of equal points or no larger
 * than asked for. Local, O(n log n). \param[out] depth  cuts above the deepest leaf \return EQP_OK, EQP_ERR_MEMORY, or
 * EQP_ERR_INTERNAL for a tree that is wrong */
int eqp__kdtree_check(const eqp_kdtree *tree, int *depth);

/** Makes the queries of a tree use plain C, or the best vectors of this machine, as they do from the start. */
void eqp__kdtree_use(eqp_kdtree *tree, int vectors);

#endif
