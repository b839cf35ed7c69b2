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

/* Up to this many nearest points are kept sorted; more are kept in a heap. */
#define KD_SORTED_MAX 32

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
    kd_walk nearest;
    kd_walk sorted; /* the k nearest, few of them */
    kd_walk heap;   /* many of them */
    kd_walk visit;
} kd_walks;

struct eqp_kdtree {
    int32_t n;
    int dim;
    int32_t leaf_size;
    int64_t stride;
    const double *points; /* the caller's */
    double *blocks;       /* [n * dim + KD_LANES] coordinates in the order of make_blocks(), NULL if not copied */
    int32_t *index;       /* [n] the caller's number of the point at each place of the leaves */
    kd_node *nodes;       /* [nodes_used] */
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

KD_INLINE double coordinate(const eqp_kdtree *tree, const kd_node *leaf, int32_t i, const int dim, int d)
{
    const int32_t first = i / KD_LANES * KD_LANES;
    const int32_t size = -leaf->axis - first < KD_LANES ? -leaf->axis - first : KD_LANES;

    return tree->blocks != NULL ? tree->blocks[(ptrdiff_t)(leaf->link + first) * dim + size * d + i - first]
                                : tree->points[tree->index[leaf->link + i] * tree->stride + d];
}

#include "kdtree_build.h"

/* Points found by a query, and its limit: it accepts points nearer than that, or equally near with a lower index. */
struct kd_search {
    double limit;
    int32_t limit_index;
    int64_t wanted; /* k nearest: number of points to find; below it the points found, sorted or as a heap */
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

/* Inserts a point into a heap of n at or below the free place `at`. */
static void sink(int64_t *index, double *dist2, int64_t at, int64_t n, int64_t new_index, double new_dist2)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        const int64_t other = child + 1;
        if (other < n &&
            (dist2[other] > dist2[child] || (dist2[other] == dist2[child] && index[other] > index[child]))) {
            child = other;
        }
        if (dist2[child] < new_dist2 || (dist2[child] == new_dist2 && index[child] < new_index)) {
            break;
        }
        index[at] = index[child];
        dist2[at] = dist2[child];
    }
    index[at] = new_index;
    dist2[at] = new_dist2;
}

/* Once k points are found, only points better than the worst of them, at `worst`, are accepted. */
static inline void limit_to(kd_search *search, int64_t worst)
{
    if (search->found == search->wanted) {
        search->limit = search->dist2[worst];
        search->limit_index = (int32_t)search->index[worst];
    }
}

/* Keeps few points sorted, which is faster than a heap. */
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
    limit_to(search, search->wanted - 1);
    return EQP_OK;
}

static inline int take_heap(kd_search *search, double dist2, int32_t index)
{
    int64_t *heap = search->index;
    double *heap2 = search->dist2;

    if (search->found < search->wanted) {
        int64_t at = search->found++;
        for (int64_t up; at > 0; at = up) {
            up = (at - 1) / 2;
            if (heap2[up] > dist2 || (heap2[up] == dist2 && heap[up] > index)) {
                break;
            }
            heap[at] = heap[up];
            heap2[at] = heap2[up];
        }
        heap[at] = index;
        heap2[at] = dist2;
    } else {
        sink(heap, heap2, 0, search->found, index, dist2);
    }
    limit_to(search, 0);
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
    const int32_t *index = tree->index + leaf->link;
    double dist2 = 0;
    int code = EQP_OK;

    for (int d = 0; d < dim; d++) {
        const double away = coordinate(tree, leaf, 0, dim, d) - query[d];
        dist2 += away * away;
    }
    for (int32_t i = 0; i < -leaf->axis && code == EQP_OK && is_wanted(search, dist2, index[i]); i++) {
        code = take(search, dist2, index[i]);
    }
    return code;
}

/* Scans a leaf with the caller's coordinates, point by point. */
KD_INLINE int scan_points(const eqp_kdtree *tree, const kd_node *leaf, const double *query, const int dim, kd_take take,
                          kd_search *search)
{
    const int32_t *index = tree->index + leaf->link;

    for (int32_t i = 0; i < -leaf->axis; i++) {
        const double *point = tree->points + index[i] * tree->stride;
        double dist2 = 0;
        for (int d = 0; d < dim; d++) {
            const double away = point[d] - query[d];
            dist2 += away * away;
        }
        if (is_wanted(search, dist2, index[i])) {
            const int code = take(search, dist2, index[i]);
            EQP__CHECK(code);
        }
    }
    return EQP_OK;
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
    made->stride = options->stride != 0 ? options->stride : dim;
    made->points = points;
    eqp__kdtree_use(made, EQP__KDTREE_BEST);
    if (n > 0) {
        code = build(made, options->copy_points);
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
        free(tree->blocks);
        free(tree->index);
        free(tree->nodes);
        free(tree);
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
        (void)(k <= KD_SORTED_MAX ? tree->walk.sorted : tree->walk.heap)(tree, query, &search);
    }
    for (int64_t end = k > KD_SORTED_MAX ? search.found : 0; end-- > 1;) {
        const int64_t worst = index[0];
        const double worst2 = dist2[0];
        sink(index, dist2, 0, end, index[end], dist2[end]);
        index[end] = worst;
        dist2[end] = worst2;
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

/* Checks the subtree at node *id, whose points begin at *place, and computes its box; updates both. */
static bool check_node(const eqp_kdtree *tree, int32_t *id, int32_t *place, int depth, int *deepest, double *low,
                       double *high)
{
    const int32_t here = *id, first = *place;
    const kd_node *node = &tree->nodes[here];
    double least[EQP_KDTREE_DIM_MAX], most[EQP_KDTREE_DIM_MAX];

    *id += 1;
    if (here >= tree->nodes_used || depth > EQP__KDTREE_DEPTH_MAX) {
        return false;
    }
    if (node->axis >= 0) {
        const int axis = node->axis;
        bool good = check_node(tree, id, place, depth + 1, deepest, low, high) && node->link == *id &&
                    check_node(tree, id, place, depth + 1, deepest, least, most) && high[axis] == node->low &&
                    least[axis] == node->high && node->low <= node->high;
        for (int d = 0; d < tree->dim && good; d++) {
            low[d] = fmin(low[d], least[d]);
            high[d] = fmax(high[d], most[d]);
        }
        return good;
    }
    const int32_t count = -node->axis;
    bool good = node->link == first && count >= 1 && count <= tree->n - first;
    *place += count;
    *deepest = depth > *deepest ? depth : *deepest;
    for (int d = 0; d < tree->dim && good; d++) {
        low[d] = high[d] = coordinate(tree, node, 0, tree->dim, d);
        for (int32_t i = 1; i < count; i++) {
            low[d] = fmin(low[d], coordinate(tree, node, i, tree->dim, d));
            high[d] = fmax(high[d], coordinate(tree, node, i, tree->dim, d));
        }
        good = count <= tree->leaf_size || low[d] == high[d];
    }
    for (int32_t i = first + 1; count > tree->leaf_size && good && i < first + count; i++) {
        good = tree->index[i] > tree->index[i - 1];
    }
    return good;
}

int eqp__kdtree_check(const eqp_kdtree *tree, int *depth)
{
    double low[EQP_KDTREE_DIM_MAX], high[EQP_KDTREE_DIM_MAX];
    int32_t id = 0, place = 0;
    bool good = true;

    *depth = 0;
    if (tree->n == 0) {
        return tree->nodes_used == 0 ? EQP_OK : EQP_ERR_INTERNAL;
    }
    bool *seen = eqp__calloc((size_t)tree->n, sizeof *seen);
    EQP__FAIL_IF(seen == NULL, EQP_ERR_MEMORY);
    for (int32_t i = 0; i < tree->n && good; i++) {
        const int32_t index = tree->index[i];
        good = index >= 0 && index < tree->n && !seen[index];
        seen[good ? index : 0] = true;
    }
    free(seen);
    good = good && check_node(tree, &id, &place, 0, depth, low, high) && id == tree->nodes_used && place == tree->n &&
           memcmp(low, tree->low, sizeof *low * (size_t)tree->dim) == 0 &&
           memcmp(high, tree->high, sizeof *high * (size_t)tree->dim) == 0;
    return good ? EQP_OK : EQP_ERR_INTERNAL;
}
