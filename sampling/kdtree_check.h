/* SPDX-License-Identifier: BSD-3-Clause */
/** \file kdtree_check.h
 * \brief Internals of the k-d tree for its tests. */
#ifndef EQP_KDTREE_CHECK_H
#define EQP_KDTREE_CHECK_H

#include <equipoise/more/kdtree.h>

/** Upper bound of the depth of any tree (see split() in kdtree_build.h). */
#define EQP__KDTREE_DEPTH_MAX 112

/** Kinds of vectors for eqp__kdtree_use(). */
enum { EQP__KDTREE_PLAIN, EQP__KDTREE_BEST };

/** Cuts between a node and its deepest leaf. node: 0, the root. Local, O(nodes). */
int eqp__kdtree_depth(const eqp_kdtree *tree, int32_t node);

/** Makes the queries of a tree use plain C, or the best vectors of this machine (the default). */
void eqp__kdtree_use(eqp_kdtree *tree, int vectors);

#endif
