/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree against brute force. */
#include "failing_malloc.h"
#include "kdtree_check.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/kdtree.h>
#include <equipoise/more/random.h>

#include <float.h>

#define MAX_POINTS 600

enum kind { UNIFORM, LATTICE, EQUAL, LINE, AXIS, CLUSTERS, HALVES, HUGE_RANGE, TINY, PLANE, FAR, KINDS };

typedef struct pair {
    double dist2;
    int64_t index;
} pair;

typedef struct found_list {
    int64_t n;
    int64_t stop; /* the visitor ends the query after this many points */
    pair pair[MAX_POINTS];
} found_list;

static int by_distance(const void *a, const void *b)
{
    const pair *p = a;
    const pair *q = b;

    if (p->dist2 != q->dist2) {
        return p->dist2 < q->dist2 ? -1 : 1;
    }
    return (p->index > q->index) - (p->index < q->index);
}

static void brute_force(int64_t n, int dim, int64_t stride, const double *points, const double *query, pair *all)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int d = 0; d < dim; d++) {
            const double x = points[i * stride + d] - query[d];
            sum += x * x;
        }
        all[i] = (pair){sum, i};
    }
    qsort(all, (size_t)n, sizeof *all, by_distance);
}

static double coordinate(enum kind kind, int64_t i, int64_t n, int d, uint64_t seed)
{
    const double u = eqp_random_uniform(seed, (uint64_t)i, (uint64_t)d);
    const uint64_t draw = eqp_random_below(seed, (uint64_t)i, 100 + (uint64_t)d, 5);

    switch (kind) {
    case UNIFORM:
        return u;
    case LATTICE: /* many equal distances, and equal points */
        return (double)draw;
    case EQUAL:
        return 0.375;
    case LINE: /* on the diagonal */
        return eqp_random_uniform(seed, (uint64_t)i, 0);
    case AXIS: /* on the last axis */
        return d == 7 ? u : 2.0;
    case CLUSTERS: /* every cluster 1000 times smaller than the one before, every fourth point a copy */
        return eqp_random_uniform(seed, (uint64_t)(i / 4 * 4), (uint64_t)d) * pow(1e-3, (double)(i * 6 / n));
    case HALVES: /* worst case of midpoint cuts: each point is half as far out as the one before */
        return ldexp(1.0, (int)-(i % 120));
    case HUGE_RANGE: /* squares overflow and underflow */
        return ((draw & 1) != 0 ? 1.0 : -1.0) * pow(10.0, (2.0 * u - 1.0) * 300.0);
    case TINY: /* denormal numbers */
        return (double)draw * DBL_TRUE_MIN;
    case PLANE: /* only two axes vary */
        return d % 3 == 1 ? -7.0 : u;
    case FAR: /* squares just fit a float */
        return (u - 0.5) * 1e18;
    default:
        fail();
        return 0;
    }
}

static int append(void *user, int64_t index, double dist2)
{
    found_list *list = user;

    assert_true(list->n < MAX_POINTS);
    list->pair[list->n++] = (pair){dist2, index};
    return list->n == list->stop ? 77 : 0;
}

static void check_radius(const eqp_kdtree *tree, const double *query, double radius2, int64_t n, const pair *all)
{
    static found_list list;
    int64_t expected = 0;

    while (expected < n && all[expected].dist2 <= radius2) {
        expected++;
    }
    list.n = 0;
    list.stop = -1;
    assert_ok(eqp_kdtree_radius(tree, query, radius2, append, &list));
    assert_int_equal(list.n, expected);
    qsort(list.pair, (size_t)list.n, sizeof list.pair[0], by_distance);
    for (int64_t i = 0; i < expected; i++) {
        assert_int_equal(list.pair[i].index, all[i].index);
        assert_true(list.pair[i].dist2 == all[i].dist2);
    }
    if (expected > 1) {
        list.n = 0;
        list.stop = expected / 2;
        assert_int_equal(eqp_kdtree_radius(tree, query, radius2, append, &list), 77);
        assert_int_equal(list.n, expected / 2);
    }
}

static void check_nearest_k(const eqp_kdtree *tree, const double *query, int64_t k, int64_t n, const pair *all)
{
    static int64_t index[MAX_POINTS + 9];
    static double dist2[MAX_POINTS + 9];
    int64_t found = -1;

    index[k] = -5;
    assert_ok(eqp_kdtree_nearest_k(tree, query, k, &found, index, dist2));
    assert_int_equal(found, k < n ? k : n);
    assert_int_equal(index[k], -5);
    for (int64_t i = 0; i < found; i++) {
        assert_int_equal(index[i], all[i].index);
        assert_true(dist2[i] == all[i].dist2);
    }
}

static void check_queries(const eqp_kdtree *tree, int64_t n, int dim, int64_t stride, const double *points,
                          enum kind kind)
{
    static pair all[MAX_POINTS];

    for (int q = slow_here() ? 1 : 0; q < 8; q += slow_here() ? 3 : 1) {
        double query[EQP_KDTREE_DIM_MAX];
        for (int d = 0; d < dim; d++) {
            /* Odd queries are points of the tree, even ones lie anywhere, also outside the box. */
            query[d] =
                q % 2 == 1 && n > 0 ? points[q * 7 % n * stride + d] : coordinate(kind, q, 8, d, 99) * (q == 4 ? 3 : 1);
        }
        brute_force(n, dim, stride, points, query, all);
        int64_t index = -9;
        double dist2 = -9;
        if (n == 0) {
            assert_int_equal(eqp_kdtree_nearest(tree, query, &index, &dist2), EQP_ERR_STATE);
            assert_true(index == -9 && dist2 == -9);
        } else {
            assert_ok(eqp_kdtree_nearest(tree, query, &index, &dist2));
            assert_int_equal(index, all[0].index);
            assert_true(dist2 == all[0].dist2);
            index = -9;
            assert_ok(eqp_kdtree_nearest(tree, query, &index, NULL));
            assert_int_equal(index, all[0].index);
        }
        check_nearest_k(tree, query, 0, n, all);
        check_nearest_k(tree, query, 1, n, all);
        check_nearest_k(tree, query, n / 3, n, all);
        check_nearest_k(tree, query, n + 8, n, all);
        check_radius(tree, query, 0, n, all);
        check_radius(tree, query, n > 0 ? all[n / 8].dist2 : 1, n, all); /* a point on the border is inside */
        check_radius(tree, query, n > 0 ? all[n - 1].dist2 : 1, n, all);
        check_radius(tree, query, INFINITY, n, all);
    }
}

static void check_set(enum kind kind, int64_t n, int dim, int leaf_size, int64_t gap)
{
    const int64_t stride = dim + gap;
    const eqp_kdtree_options options = {
        .size = sizeof options, .leaf_size = leaf_size, .stride = gap != 0 ? stride : 0};
    const size_t size = (size_t)(n * stride) * sizeof(double);
    double *points = test_malloc(size + 1);
    double *lent = test_malloc(size + 1);
    eqp_kdtree *tree = NULL;

    for (int64_t i = 0; i < n * stride; i++) {
        const int d = (int)(i % stride);
        /* Gaps between rows are ignored. */
        points[i] = d < dim ? coordinate(kind, i / stride, n, kind == AXIS && d == dim - 1 ? 7 : d % 7, 5) : NAN;
    }
    memcpy(lent, points, size);
    assert_ok(eqp_kdtree_create(n, dim, lent, &options, &tree));
    assert_in_range(eqp__kdtree_depth(tree, 0), 0, n <= leaf_size ? 0 : EQP__KDTREE_DEPTH_MAX - 1);
    assert_memory_equal(lent, points, size);
    test_free(lent);
    check_queries(tree, n, dim, stride, points, kind);
    eqp__kdtree_use(tree, EQP__KDTREE_PLAIN); /* bitwise equal without vectors */
    check_queries(tree, n, dim, stride, points, kind);
    eqp_kdtree_free(tree);
    test_free(points);
}

TEST(agrees_with_brute_force)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 9, 33, 150};
    static const int leaves[] = {1, 2, 10, 1000};

    for (int kind = 0; kind < KINDS; kind++) {
        for (int dim = slow_here() ? 1 + kind % 4 : 1; dim <= EQP_KDTREE_DIM_MAX; dim += slow_here() ? 4 : 1) {
            for (int s = 0; s < 7; s++) {
                for (int leaf = slow_here() ? s % 2 : 0; leaf < 4; leaf += slow_here() ? 2 : 1) {
                    check_set((enum kind)kind, sizes[s], dim, leaves[leaf], (kind + dim + s + leaf) % 3);
                }
            }
            check_set((enum kind)kind, slow_here() ? MAX_POINTS / 3 : MAX_POINTS, dim, 10, 0);
        }
    }
}

/* Enough points for every sorting algorithm: depth is logarithmic, and the nearest points are those of a linear search.
 */
TEST(many_points_make_a_flat_tree)
{
    enum { N = 100000, QUERIES = 12 };
    static double points[N * 3];
    const int64_t n = slow_here() ? N / 100 : N;

    for (int kind = 0; kind < KINDS; kind++) {
        const eqp_kdtree_options options = {.size = sizeof options, .leaf_size = 1};
        eqp_kdtree *tree = NULL;
        for (int64_t i = 0; i < 3 * n; i++) {
            points[i] = coordinate((enum kind)kind, i / 3, n, kind == AXIS && i % 3 == 2 ? 7 : (int)(i % 3), 17);
        }
        assert_ok(eqp_kdtree_create(n, 3, points, &options, &tree));
        /* log2(N) = 16.6; each of the first 32 cuts may leave a single point on one side. */
        assert_in_range(eqp__kdtree_depth(tree, 0), kind == EQUAL ? 0 : 6, 60);
        for (int q = 0; q < 2 * QUERIES; q++) {
            double query[3], best2 = INFINITY, dist2 = -1;
            int64_t best = 0, index = -1;
            for (int d = 0; d < 3; d++) {
                query[d] = coordinate((enum kind)kind, q % QUERIES, QUERIES, d, 31);
            }
            for (int64_t i = 0; i < n; i++) {
                double sum = 0;
                for (int d = 0; d < 3; d++) {
                    sum += (points[3 * i + d] - query[d]) * (points[3 * i + d] - query[d]);
                }
                best = sum < best2 ? i : best;
                best2 = sum < best2 ? sum : best2;
            }
            eqp__kdtree_use(tree, q < QUERIES ? EQP__KDTREE_BEST : EQP__KDTREE_PLAIN);
            assert_ok(eqp_kdtree_nearest(tree, query, &index, &dist2));
            assert_int_equal(index, best);
            assert_true(dist2 == best2);
        }
        eqp_kdtree_free(tree);
    }
}

/* Infinite distances are equal, and equal distances are ordered by index. */
TEST(overflow_is_infinitely_far)
{
    enum { N = 40 };
    const eqp_kdtree_options options = {.size = sizeof options, .leaf_size = 3};
    double points[3 * N];
    int64_t index[N + 1] = {-1};
    double dist2[N + 1] = {-1};
    int64_t found = -1;
    eqp_kdtree *tree = NULL;

    for (int64_t i = 0; i < 3 * N; i++) {
        const double u = eqp_random_uniform(3, (uint64_t)i, 0);
        points[i] = (u < 0.5 ? -1.0 : 1.0) * (0.5 + 0.5 * u) * DBL_MAX;
    }
    assert_ok(eqp_kdtree_create(N, 3, points, &options, &tree));
    for (int vectors = EQP__KDTREE_PLAIN; vectors <= EQP__KDTREE_BEST; vectors++) {
        const double far_away[3] = {0, -DBL_MAX, DBL_MAX};
        eqp__kdtree_use(tree, vectors);
        assert_ok(eqp_kdtree_nearest(tree, far_away, index, dist2));
        assert_true(index[0] == 0 && isinf(dist2[0]));
        assert_ok(eqp_kdtree_nearest(tree, &points[3 * 29], index, dist2));
        assert_true(index[0] == 29 && dist2[0] == 0);
        assert_ok(eqp_kdtree_nearest_k(tree, &points[3 * 29], N + 1, &found, index, dist2));
        assert_true(found == N && index[0] == 29 && index[1] == 0 && index[2] == 1 && index[N - 1] == N - 1);
        assert_true(dist2[0] == 0 && isinf(dist2[1]) && isinf(dist2[N - 1]));
    }
    eqp_kdtree_free(tree);
}

TEST(refuses_bad_input)
{
    double points[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    eqp_kdtree_options options = eqp_kdtree_options_defaults();
    eqp_kdtree *tree = NULL;

    assert_refused(eqp_kdtree_create(-1, 3, points, NULL, &tree));
    assert_refused(eqp_kdtree_create(4, 0, points, NULL, &tree));
    assert_refused(eqp_kdtree_create(1, EQP_KDTREE_DIM_MAX + 1, points, NULL, &tree));
    assert_int_equal(eqp_kdtree_create(EQP_KDTREE_POINTS_MAX + 1, 3, points, NULL, &tree), EQP_ERR_OVERFLOW);
    options.leaf_size = 0;
    assert_refused(eqp_kdtree_create(4, 3, points, &options, &tree));
    options.leaf_size = 1;
    options.stride = 2;
    assert_refused(eqp_kdtree_create(4, 3, points, &options, &tree));
    for (int b = 0; b < 3; b++) {
        for (int i = 0; i < 12; i++) {
            const double kept = points[i];
            points[i] = bad[b];
            assert_int_equal(eqp_kdtree_create(4, 3, points, NULL, &tree), EQP_ERR_DATA);
            points[i] = kept;
        }
    }
    assert_null(tree);

    int64_t index[2] = {-3, -3};
    int64_t found = -3;
    double dist2[2] = {-3, -3};
    assert_ok(eqp_kdtree_create(4, 3, points, NULL, &tree));
    for (int b = 0; b < 3; b++) {
        for (int d = 0; d < 3; d++) {
            double query[3] = {1, 1, 1};
            query[d] = bad[b];
            assert_int_equal(eqp_kdtree_nearest(tree, query, index, dist2), EQP_ERR_DATA);
            assert_int_equal(eqp_kdtree_nearest_k(tree, query, 2, &found, index, dist2), EQP_ERR_DATA);
            assert_int_equal(eqp_kdtree_radius(tree, query, 1, append, NULL), EQP_ERR_DATA);
        }
    }
    assert_refused(eqp_kdtree_nearest_k(tree, points, -1, &found, index, dist2));
    assert_refused(eqp_kdtree_radius(tree, points, -1, append, NULL));
    assert_refused(eqp_kdtree_radius(tree, points, NAN, append, NULL));
    assert_true(index[0] == -3 && index[1] == -3 && found == -3 && dist2[0] == -3 && dist2[1] == -3);
    eqp_kdtree_free(tree);
}

/* Every allocation of the creation fails once: an error code, no tree, no leak; then creation succeeds. */
TEST(survives_failing_allocations)
{
    enum { N = 3000 };
    static double points[N];
    int64_t failures = 0, nth = 0;
    int code = EQP_ERR_MEMORY;

    SKIP_IF(!failing_malloc_works);
    for (int64_t i = 0; i < N; i++) {
        points[i] = coordinate(HALVES, i, N, 0, 1) + coordinate(UNIFORM, i, N, 0, 1);
    }
    for (bool all_done = false; !all_done;) {
        const eqp_kdtree_options options = {.size = sizeof options, .leaf_size = 16};
        eqp_kdtree *tree = NULL;
        failing_malloc_start_single(nth++);
        code = eqp_kdtree_create(N, 1, points, &options, &tree);
        all_done = failing_malloc_stop() == 0;
        assert_true(code == EQP_OK ? tree != NULL : code == EQP_ERR_MEMORY && tree == NULL);
        failures += code != EQP_OK; /* returning unused nodes may fail without effect */
        eqp_kdtree_free(tree);
    }
    assert_ok(code);
    assert_true(failures >= 4);
}
