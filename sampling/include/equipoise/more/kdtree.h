/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/kdtree.h
 * \brief k-d tree over points.
 *
 * A static tree with buckets (J. L. Bentley, CACM 18 (1975) 509; J. H. Friedman, J. L. Bentley, R. A. Finkel, ACM TOMS
 * 3 (1977) 209) of 1 to #EQP_KDTREE_DIM_MAX dimensions. A node is halved at the middle of its points' bounding box
 * along the longest edge (after S. Maneewongvatana, D. M. Mount, "It's okay to be skinny, if your friends are fat",
 * 1999); more than 32 cuts down neither side may have less than a quarter of the points, so the depth is logarithmic
 * for every input. Queries prune by the distance to the node's box, carried down axis by axis (S. Arya, D. M. Mount,
 * DCC 1993).
 *
 * Distances are squared and Euclidean, summed from the first axis to the last; distances that overflow are infinite,
 * and so equal. Results depend on the points only, not on the vector instructions of the machine: equal distances
 * are ordered by index. A tree never changes after its creation, so any number of threads may query it at the same
 * time; queries allocate nothing.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_KDTREE_H
#define EQUIPOISE_MORE_KDTREE_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of dimensions. */
#define EQP_KDTREE_DIM_MAX 8

/** Largest number of points of one tree. */
#define EQP_KDTREE_POINTS_MAX ((int64_t)1 << 30)

/** Options of a tree. */
typedef struct eqp_kdtree_options {
    size_t size; /**< of this struct as its caller knows it: set by eqp_kdtree_options_defaults() */
    /** Largest number of points in a leaf, >= 1. Equal points are never split. */
    int leaf_size;
    /** Numbers from one point's first coordinate to the next point's, >= dim; 0: dim. */
    int64_t stride;
} eqp_kdtree_options;

/** The defaults: `eqp_kdtree_options options = eqp_kdtree_options_defaults();` */
static inline eqp_kdtree_options eqp_kdtree_options_defaults(void)
{
    eqp_kdtree_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.leaf_size = 20;
    return options;
}

/** A tree over double coordinates. */
typedef struct eqp_kdtree eqp_kdtree;

/** Takes one point of a radius query: its index and its squared distance. Returning anything but 0 ends the query. */
typedef int (*eqp_kdtree_visit_fn)(void *user, int64_t index, double dist2);

/** Builds a tree. Local, O(n log n) for every input, deterministic. The coordinates are
 * copied in the order of the leaves: a tree needs dim numbers and about 4 + 72 / leaf_size bytes per point.
 *
 * \param[in]  n        number of points, 0 to #EQP_KDTREE_POINTS_MAX
 * \param[in]  dim      dimensions, 1 to #EQP_KDTREE_DIM_MAX
 * \param[in]  points   [n][stride] coordinates, of each row the first dim are used (borrowed); NULL is legal for n = 0
 * \param[in]  options  copied; NULL: #eqp_kdtree_options_defaults()
 * \param[out] tree     owned by the caller, who gives it to eqp_kdtree_free(); unchanged on error
 *
 * \return EQP_OK; EQP_ERR_ARGUMENT for n, dim, an option or a pointer out of range, EQP_ERR_OVERFLOW for too many
 *         points, EQP_ERR_DATA for a coordinate that is infinite or not a number, EQP_ERR_MEMORY */
int eqp_kdtree_create(int64_t n, int dim, const double *points, const eqp_kdtree_options *options, eqp_kdtree **tree);

/** Frees a tree; NULL is legal. Local, O(1). */
void eqp_kdtree_free(eqp_kdtree *tree);

/** Finds the point nearest to a place; at equal distance the lowest index wins. Local, O(log n) expected.
 * \param[in]  tree   borrowed
 * \param[in]  query  [dim] the place (borrowed)
 * \param[out] index  its index, 0 to n - 1
 * \param[out] dist2  its squared distance; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT for a NULL, EQP_ERR_STATE for a tree without points, EQP_ERR_DATA for a place that
 *         is infinite or not a number */
int eqp_kdtree_nearest(const eqp_kdtree *tree, const double *query, int64_t *index, double *dist2);

/** Finds the k points nearest to a place, in order of distance, equal distances by index. Local, O(k log n) expected
 * for small k: every point is inserted in order.
 * \param[in]  tree   borrowed
 * \param[in]  query  [dim] the place (borrowed)
 * \param[in]  k      points wanted, >= 0
 * \param[out] found  min(k, n)
 * \param[out] index  [k] their indices; the first found are set
 * \param[out] dist2  [k] their squared distances; the first found are set
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative k or a NULL, EQP_ERR_DATA for a place that is infinite or not a
 *         number */
int eqp_kdtree_nearest_k(const eqp_kdtree *tree, const double *query, int64_t k, int64_t *found, int64_t *index,
                         double *dist2);

/** All points within a distance, the border included, in an order that only the points, the options and the place
 * decide. Local, O(found + log n) expected.
 *
 * \param[in]  tree     borrowed
 * \param[in]  query    [dim] the place (borrowed)
 * \param[in]  radius2  the squared radius, >= 0; may be infinite
 * \param[in]  visit    called once for each point; if it does not return 0, the query ends
 * \param[in]  user     handed to visit
 *
 * \return EQP_OK, or what visit returned to end the query; EQP_ERR_ARGUMENT for a NULL or for a radius that is negative
 *         or not a number, EQP_ERR_DATA for a place that is infinite or not a number */
int eqp_kdtree_radius(const eqp_kdtree *tree, const double *query, double radius2, eqp_kdtree_visit_fn visit,
                      void *user);

#ifdef __cplusplus
}
#endif
#endif
