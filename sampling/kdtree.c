/* SPDX-License-Identifier: BSD-3-Clause */
#include "kdtree_check.h"
#include "memory.h"
#include <equipoise/kdtree.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The loops over the axes are written once and compiled for 2, 3 and any dimension, which needs them inlined. */
#if defined(__GNUC__)
#define KD_INLINE static inline __attribute__((always_inline))
#else
#define KD_INLINE static inline
#endif

/* Above this depth a cut may leave any one point on one side, which follows clusters and outliers best; below it at
 * least 1 of 4. */
#define KD_DEPTH_LOPSIDED 32
#define KD_BALANCED 4

/* Index larger than that of any point. */
#define KD_NO_INDEX INT32_MAX

/* Up to so many nearest points are kept sorted, more in a heap. */
#define KD_SORTED_MAX 32

/* Number of no node. */
#define KD_LEAVE (-1)

/* Part of the points that waits to become a node. */
typedef struct kd_task {
    int32_t first;
    int32_t count;
    int32_t parent; /* the node above, -1 for the root */
    int16_t depth;
    bool is_right;
} kd_task;

static bool options_are_valid(const eqp_kdtree_options *options, int dim)
{
    return options->leaf_size >= 1 && (options->stride == 0 || options->stride >= dim);
}

/* Restores the heap (largest first) of which only place `at` may be too small. */
static void sift_index_down(int32_t *index, int32_t at, int32_t n)
{
    const int32_t value = index[at];

    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && index[child + 1] > index[child];
        if (index[child] <= value) {
            break;
        }
        index[at] = index[child];
    }
    index[at] = value;
}

static void sort_indices(int32_t *index, int32_t n)
{
    for (int32_t i = n / 2; i-- > 0;) {
        sift_index_down(index, i, n);
    }
    for (int32_t end = n; end-- > 1;) {
        const int32_t largest = index[0];
        index[0] = index[end];
        index[end] = largest;
        sift_index_down(index, 0, end);
    }
}

#define KD_NODE KD_STATIC(node)
#define KD_SEARCH KD_STATIC(search)
#define KD_FRAME KD_STATIC(frame)
#define KD_TAKE KD_STATIC(take)

#define KD_REAL double
#define KD_KEY uint64_t
#define KD_EPSILON DBL_EPSILON
#define KD_SMALLEST DBL_MIN
#define KD_TREE eqp_kdtree
#define KD_PUBLIC(name) eqp_kdtree_##name
#define KD_STATIC(name) name##_double
#define KD_CHECK eqp__kdtree_check
#include "kdtree_build.h"
#include "kdtree_query.h"

#undef KD_REAL
#undef KD_KEY
#undef KD_EPSILON
#undef KD_SMALLEST
#undef KD_TREE
#undef KD_PUBLIC
#undef KD_STATIC
#undef KD_CHECK
#define KD_REAL float
#define KD_KEY uint32_t
#define KD_EPSILON FLT_EPSILON
#define KD_SMALLEST FLT_MIN
#define KD_TREE eqp_kdtreef
#define KD_PUBLIC(name) eqp_kdtreef_##name
#define KD_STATIC(name) name##_float
#define KD_CHECK eqp__kdtreef_check
#include "kdtree_build.h"
#include "kdtree_query.h"
