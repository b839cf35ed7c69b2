/* SPDX-License-Identifier: BSD-3-Clause */
#include "kdtree_check.h"
#include "memory.h"
#include <equipoise/more/kdtree.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The loops over axes are compiled for 2, 3 and any dimension; this needs inlining. */
#if defined(__GNUC__) && !defined(EQP_SANITIZED)
#define KD_INLINE static inline __attribute__((always_inline))
#else
#define KD_INLINE static inline
#endif

/* Above this depth a side of a cut may have a single point, which adapts best to clusters and outliers; below it, at
 * least a quarter of the points. */
#define KD_DEPTH_LOPSIDED 32
#define KD_BALANCED 4

/* Points examined at each end before misplaced ones are swapped. */
#define KD_SIDE 64

/* Points of a leaf examined together. */
#define KD_LANES 8

/* An index above those of all points. */
#define KD_NO_INDEX INT32_MAX

#if defined(__GNUC__) && defined(__x86_64__)
#define KD_HAVE_AVX2
#include <immintrin.h>
#define KD_TARGET_AVX2 __attribute__((target("avx2")))
#endif

/* One node, in depth-first order: the left child of an inner node follows it. */
typedef struct kd_node {
    double low;   /* inner: largest coordinate along the axis on the left side */
    double high;  /* inner: smallest coordinate along the axis on the right side */
    int32_t link; /* inner: the right child; leaf: the first point */
    int32_t axis; /* inner: the axis of the cut; leaf: minus the number of points */
} kd_node;

/* The walks of the queries with the machine's vectors; see kdtree_walk.h. */
typedef struct kd_search kd_search;
typedef int (*kd_walk)(const eqp_kdtree *tree, const double *query, kd_search *search);

typedef struct kd_walks {
    kd_walk nearest, sorted, visit; /* sorted: the k nearest */
} kd_walks;

struct eqp_kdtree {
    int32_t n;
    int dim;
    int32_t leaf_size;
    double *blocks; /* [n * dim + KD_LANES] coordinates in the order of make_blocks() */
    int32_t *index; /* [n] the caller's number of the point at each place of the leaves */
    kd_node *nodes; /* [nodes_used] */
    int32_t nodes_used;
    int64_t nodes_room;
    kd_walks walk;
    double low[EQP_KDTREE_DIM_MAX]; /* box of all points */
    double high[EQP_KDTREE_DIM_MAX];
};

/* A range of points that will become a node. */
typedef struct kd_task {
    int32_t first;
    int32_t count;
    int32_t parent; /* node above; -1: root */
    int16_t depth;
    bool is_right;
} kd_task;

static inline int lowest_bit(unsigned bits)
{
#if defined(__GNUC__)
    return __builtin_ctz(bits);
#else
    int bit = 0;

    while ((bits >> bit & 1) == 0) {
        bit++;
    }
    return bit;
#endif
}

#include "kdtree_build.h"

/* Points found by a query, and its limit: it accepts points nearer than that, or equally near with a lower index. */
struct kd_search {
    double limit;
    int32_t limit_index;
    int64_t wanted; /* k nearest: number of points to find; below it the points found, in order */
    int64_t found;
    int64_t *index;
    double *dist2;
    eqp_kdtree_visit_fn visit;
    void *user;
};

/* Receives an accepted point; any code but EQP_OK ends the query. */
typedef int (*kd_take)(kd_search *search, double dist2, int32_t index);

static inline bool is_wanted(const kd_search *search, double dist2, int32_t index)
{
    return dist2 <= search->limit && (dist2 < search->limit || index < search->limit_index);
}

static inline int take_nearest(kd_search *search, double dist2, int32_t index)
{
    search->limit = dist2;
    search->limit_index = index;
    return EQP_OK;
}

/* Keeps the points found in order. Once there are k, only points better than the last are accepted. */
static inline int take_sorted(kd_search *search, double dist2, int32_t index)
{
    int64_t at = search->found < search->wanted ? search->found++ : search->wanted - 1;

    for (; at > 0; at--) {
        const double before = search->dist2[at - 1];
        if (before < dist2 || (before == dist2 && search->index[at - 1] < index)) {
            break;
        }
        search->dist2[at] = before;
        search->index[at] = search->index[at - 1];
    }
    search->dist2[at] = dist2;
    search->index[at] = index;
    if (search->found == search->wanted) {
        search->limit = search->dist2[search->wanted - 1];
        search->limit_index = (int32_t)search->index[search->wanted - 1];
    }
    return EQP_OK;
}

static inline int take_visit(kd_search *search, double dist2, int32_t index)
{
    return search->visit(search->user, index, dist2);
}

/* A node to visit, and the squared distance of its box along each axis and in total. Rounding is monotonic and the
 * terms are added in the same order as for points, so the distance never exceeds that of a point inside. */
typedef struct kd_frame {
    double away2[EQP_KDTREE_DIM_MAX];
    double dist2;
    const kd_node *node;
} kd_frame;

/* Scans a leaf of equal points in the order of their numbers; the first rejected point ends it. */
KD_INLINE int scan_equal(const eqp_kdtree *tree, const kd_node *leaf, const double *query, const int dim, kd_take take,
                         kd_search *search)
{
    const int32_t *index = tree->index + leaf->link, size = -leaf->axis < KD_LANES ? -leaf->axis : KD_LANES;
    const double *first = tree->blocks + (ptrdiff_t)leaf->link * dim;
    double dist2 = 0;
    int code = EQP_OK;

    for (int d = 0; d < dim; d++) {
        const double away = first[size * d] - query[d];
        dist2 += away * away;
    }
    for (int32_t i = 0; i < -leaf->axis && code == EQP_OK && is_wanted(search, dist2, index[i]); i++) {
        code = take(search, dist2, index[i]);
    }
    return code;
}

/* Descends from a node to the leaf on the place's side of every cut; the opposite sides go onto the stack. */
KD_INLINE const kd_node *descend(const eqp_kdtree *tree, const kd_node *node, const double *query, const int dim,
                                 const double *away2, kd_frame **stack_top)
{
    kd_frame *top = *stack_top;

    for (int axis; (axis = node->axis) >= 0;) {
        const kd_node *left = node + 1;
        const kd_node *right = tree->nodes + node->link;
        const double over_low = query[axis] - node->low;
        const double under_high = node->high - query[axis];
        double cut;
        if (over_low < under_high) {
            cut = under_high;
            top->node = right;
            node = left;
        } else {
            cut = over_low;
            top->node = left;
            node = right;
        }
        double sum = 0;
        for (int d = 0; d < dim; d++) {
            const double x = d == axis ? cut * cut : away2[d];
            top->away2[d] = x;
            sum = d == 0 ? x : sum + x;
        }
        (top++)->dist2 = sum;
    }
    *stack_top = top;
    return node;
}

#include "kdtree_lanes.h"

#define KD_ISA(name) name##_plain
#define KD_TARGET
#include "kdtree_walk.h"
#undef KD_ISA
#undef KD_TARGET

#if defined(KD_HAVE_AVX2)
#define KD_ISA(name) name##_avx2
#define KD_TARGET KD_TARGET_AVX2
#include "kdtree_walk.h"
#undef KD_ISA
#undef KD_TARGET
#endif

void eqp__kdtree_use(eqp_kdtree *tree, int vectors)
{
    tree->walk = walks_plain;
#if defined(KD_HAVE_AVX2)
    if (vectors != EQP__KDTREE_PLAIN && __builtin_cpu_supports("avx2")) {
        tree->walk = walks_avx2;
    }
#endif
    (void)vectors;
}

int eqp_kdtree_create(int64_t n, int dim, const double *points, const eqp_kdtree_options *options, eqp_kdtree **tree)
{
    const eqp_kdtree_options defaults = eqp_kdtree_options_defaults();
    int code = EQP_OK;

    if (options == NULL) {
        options = &defaults;
    }
    EQP__FAIL_IF(n < 0 || dim < 1 || dim > EQP_KDTREE_DIM_MAX || (n > 0 && points == NULL) || tree == NULL ||
                     options->size != sizeof *options || options->leaf_size < 1 ||
                     (options->stride != 0 && options->stride < dim),
                 EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(n > EQP_KDTREE_POINTS_MAX, EQP_ERR_OVERFLOW);
    eqp_kdtree *made = eqp__calloc(1, sizeof *made);
    EQP__FAIL_IF(made == NULL, EQP_ERR_MEMORY);
    made->n = (int32_t)n;
    made->dim = dim;
    made->leaf_size = options->leaf_size;
    eqp__kdtree_use(made, EQP__KDTREE_BEST);
    if (n > 0) {
        code = build(made, points, options->stride != 0 ? options->stride : dim);
    }
    if (code != EQP_OK) {
        eqp_kdtree_free(made);
        return code;
    }
    *tree = made;
    return EQP_OK;
}

void eqp_kdtree_free(eqp_kdtree *tree)
{
    if (tree != NULL) {
        EQP__FREE(tree->blocks, tree->index, tree->nodes, tree);
    }
}

/* True for finite coordinates: x - x is 0 unless x is infinite or NaN. */
KD_INLINE bool is_finite(const double *query, const int dim)
{
    double sum = 0;

    for (int d = 0; d < dim; d++) {
        sum += query[d] - query[d];
    }
    return sum == 0;
}

KD_INLINE int check_query(const eqp_kdtree *tree, const double *query)
{
    EQP__FAIL_IF(tree == NULL || query == NULL, EQP_ERR_ARGUMENT);
    const bool good = tree->dim == 3 ? is_finite(query, 3) : is_finite(query, tree->dim);
    return good ? EQP_OK : EQP_ERR_DATA;
}

int eqp_kdtree_nearest(const eqp_kdtree *tree, const double *query, int64_t *index, double *dist2)
{
    kd_search search = {.limit = INFINITY, .limit_index = KD_NO_INDEX};
    const int code = check_query(tree, query);

    if (code != EQP_OK || index == NULL) {
        return code != EQP_OK ? code : EQP_ERR_ARGUMENT;
    }
    EQP__FAIL_IF(tree->n == 0, EQP_ERR_STATE);
    (void)tree->walk.nearest(tree, query, &search);
    *index = search.limit_index;
    if (dist2 != NULL) {
        *dist2 = search.limit;
    }
    return EQP_OK;
}

int eqp_kdtree_nearest_k(const eqp_kdtree *tree, const double *query, int64_t k, int64_t *found, int64_t *index,
                         double *dist2)
{
    kd_search search = {.limit = INFINITY, .limit_index = KD_NO_INDEX, .wanted = k};
    const int code = check_query(tree, query);

    EQP__CHECK(code);
    EQP__FAIL_IF(k < 0 || found == NULL || (k > 0 && (index == NULL || dist2 == NULL)), EQP_ERR_ARGUMENT);
    search.index = index;
    search.dist2 = dist2;
    if (k > 0 && tree->n > 0) {
        (void)tree->walk.sorted(tree, query, &search);
    }
    *found = search.found;
    return EQP_OK;
}

int eqp_kdtree_radius(const eqp_kdtree *tree, const double *query, double radius2, eqp_kdtree_visit_fn visit,
                      void *user)
{
    kd_search search = {.limit = radius2, .limit_index = KD_NO_INDEX, .visit = visit, .user = user};
    const int code = check_query(tree, query);

    EQP__CHECK(code);
    EQP__FAIL_IF(!(radius2 >= 0) || visit == NULL, EQP_ERR_ARGUMENT);
    return tree->n > 0 ? tree->walk.visit(tree, query, &search) : EQP_OK;
}

int eqp__kdtree_depth(const eqp_kdtree *tree, int32_t node)
{
    if (tree->n == 0 || tree->nodes[node].axis < 0) {
        return 0;
    }
    const int left = eqp__kdtree_depth(tree, node + 1), right = eqp__kdtree_depth(tree, tree->nodes[node].link);
    return 1 + (left > right ? left : right);
}
