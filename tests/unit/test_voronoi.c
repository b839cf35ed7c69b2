/* SPDX-License-Identifier: BSD-3-Clause */

#include <equipoise/more/random.h>

#include "failing_malloc.h"
#include "methods/frame/frame.h"
#include "methods/voronoi/voronoi.h"
#include "unit.h"

FREES(eqp_voronoi, eqp__voronoi_free)

enum { MOST = 2048, MOST_PARTS = 64 };

enum kind { SPREAD, CLUSTERS, LATTICE, LINE, TWO_PLACES, FAR_APART, CLOSE_TOGETHER, KINDS };

static double point[3 * MOST], weight[MOST], load[MOST_PARTS];
static int part[MOST];
static eqp_part_loads loads;

static double uniform(int64_t i, int k)
{
    return eqp_random_uniform(31, (uint64_t)i, (uint64_t)k);
}

static double square(double x)
{
    return x * x;
}

static double place(enum kind kind, int64_t i, int k)
{
    const double u = uniform(i, k);

    switch (kind) {
    case CLUSTERS:
        return uniform(MOST + i % 5, k) + 0.5 * square(uniform(i, 3)) * (u - 0.5);
    case LATTICE:
        return (double)(k == 0 ? i % 16 : k == 1 ? i / 16 % 16 : i / 256);
    case LINE:
        return k == 1 ? u : 3;
    case TWO_PLACES:
        return k == 2 ? (double)(i % 2) : 7;
    case FAR_APART:
        return i % 2 ? DBL_MAX * (1 - u) : -DBL_MAX * (1 - u);
    case CLOSE_TOGETHER:
        return u * 1e-300;
    default:
        return u;
    }
}

static void make_points(enum kind kind, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            point[3 * i + k] = place(kind, i, k);
        }
        weight[i] = kind == LATTICE ? 1 : 0.5 + uniform(i, 4);
    }
}

static eqp_voronoi *make_cells(int64_t n, int nparts, const eqp_voronoi_options *options)
{
    eqp_voronoi *v = NULL;

    assert_ok(eqp__voronoi_create(n, point, weight, nparts, options, &v));
    eqp__voronoi_parts(v, n, point, part);
    assert_ok(eqp__parts_load(n, weight, part, nparts, options->share, load, &loads));
    return v;
}

static void balance(int64_t n, int nparts, const eqp_voronoi_options *options)
{
    eqp__voronoi_free(make_cells(n, nparts, options));
}

static eqp_voronoi_options options_of(double tolerance, int64_t iterations, bool moving)
{
    eqp_voronoi_options options = eqp__voronoi_options_defaults();

    options.tolerance = tolerance;
    options.iterations = iterations;
    options.moving = moving;
    return options;
}

TEST(spread_points_are_divided_evenly)
{
    static const int nparts[] = {1, 2, 8, 13, 64};
    static const double most[] = {0.02, 0.02, 0.02, 0.02, 0.1};

    for (int kind = SPREAD; kind <= LINE; kind++) {
        for (int k = 0; k < 5; k++) {
            const eqp_voronoi_options options = options_of(most[k], 200, false);
            make_points((enum kind)kind, MOST);
            balance(MOST, nparts[k], &options);
            assert_int_equal(loads.empty, 0);
            assert_true(loads.imbalance <= most[k]);
        }
    }
}

/* Points on the walls between cells come in whole layers. */
TEST(lattices_are_divided_evenly)
{
    const eqp_voronoi_options options = eqp__voronoi_options_defaults();

    make_points(LATTICE, MOST);
    balance(MOST, 8, &options);
    assert_true(loads.imbalance == 0);
    for (int p = 0; p < 8; p++) {
        assert_true(load[p] == MOST / 8);
    }
}

TEST(loads_follow_the_shares)
{
    enum { PARTS = 7 };
    eqp_voronoi_options options = eqp__voronoi_options_defaults();
    double share[PARTS];

    for (int p = 0; p < PARTS; p++) {
        share[p] = (1 + p) / 28.0;
    }
    options.share = share;
    for (int kind = SPREAD; kind <= CLUSTERS; kind++) {
        make_points((enum kind)kind, MOST);
        balance(MOST, PARTS, &options);
        assert_true(loads.imbalance <= 0.02);
    }
}

/* Equation 2.9, in the numbers of the cells. */
static double power_at(const eqp_voronoi *v, int p, const double x[3])
{
    const double *c = v->centre + 3 * (ptrdiff_t)p;

    return square(c[0] - x[0]) + square(c[1] - x[1]) + square(c[2] - x[2]) - v->bias[p];
}

static void check_places(const eqp_voronoi *v, int64_t n, int nparts)
{
    for (int64_t i = 0; i < n; i++) {
        double x[3], power[2];
        int best = 0, next = -1, cell[2] = {(int)(i % nparts), -1};

        eqp__voronoi_scaled(v, point + 3 * i, x);
        eqp__voronoi_search(v, x, cell, power);
        for (int p = 1; p < nparts; p++) {
            best = power_at(v, p, x) < power_at(v, best, x) ? p : best;
        }
        for (int p = 0; p < nparts; p++) {
            if (p != best && (next < 0 || power_at(v, p, x) < power_at(v, next, x))) {
                next = p;
            }
        }
        assert_int_equal(part[i], best);
        assert_int_equal(cell[0], best);
        assert_true(power[0] == power_at(v, best, x));
        assert_true(nparts == 1 || power[1] == power_at(v, next, x));
    }
}

TEST(places_belong_to_the_cell_of_least_power)
{
    static const int nparts[] = {1, 2, 7, 40, MOST_PARTS};
    const eqp_voronoi_options options = options_of(0.02, 5, false);

    for (int kind = 0; kind < KINDS; kind++) {
        for (int k = 0; k < 5; k++) {
            make_points((enum kind)kind, 300);
            FREED(eqp_voronoi) *v = make_cells(300, nparts[k], &options);
            check_places(v, 300, nparts[k]);
        }
    }
}

TEST(no_cell_is_left_empty)
{
    static const int nparts[] = {2, 9, 33, MOST_PARTS};

    for (int kind = 0; kind <= LINE; kind++) {
        for (int k = 0; k < 8; k++) {
            const eqp_voronoi_options options = options_of(0.02, 20, k % 2);
            make_points((enum kind)kind, 400);
            balance(400, nparts[k / 2], &options);
            assert_int_equal(loads.empty, 0);
        }
    }
}

TEST(more_searches_never_make_it_worse)
{
    for (int kind = SPREAD; kind <= CLUSTERS; kind++) {
        double former = INFINITY, first = 0;
        make_points((enum kind)kind, 1000);
        for (int64_t iterations = 1; iterations < 40; iterations += iterations) {
            const eqp_voronoi_options options = options_of(0, iterations, false);
            balance(1000, 20, &options);
            assert_true(loads.imbalance <= former);
            former = loads.imbalance;
            first = iterations == 1 ? former : first;
        }
        assert_true(former < 0.5 * first);
    }
}

/* Sum of weight x square of the distance to the centre of gravity of the part. */
static double spread_of(int64_t n, int nparts)
{
    double sum[MOST_PARTS][4] = {{0}}, squares = 0;

    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            sum[part[i]][k] += weight[i] * point[3 * i + k];
            squares += weight[i] * square(point[3 * i + k]);
        }
        sum[part[i]][3] += weight[i];
    }
    for (int p = 0; p < nparts; p++) {
        squares -= (square(sum[p][0]) + square(sum[p][1]) + square(sum[p][2])) / sum[p][3];
    }
    return squares;
}

TEST(moving_centres_make_it_no_worse)
{
    const eqp_voronoi_options fixed = options_of(0, 8, false), moving = options_of(0, 8, true);

    for (int kind = SPREAD; kind <= LINE; kind++) {
        for (int nparts = 3; nparts < 50; nparts *= 4) {
            make_points((enum kind)kind, 500);
            balance(500, nparts, &fixed);
            const double imbalance = loads.imbalance;
            balance(500, nparts, &moving);
            assert_true(loads.imbalance <= imbalance);
        }
    }
}

TEST(moving_centres_make_cells_rounder)
{
    const eqp_voronoi_options fixed = options_of(0.05, 50, false), moving = options_of(0.05, 50, true);

    make_points(CLUSTERS, 2000);
    balance(2000, 8, &fixed);
    const double former = spread_of(2000, 8);
    balance(2000, 8, &moving);
    assert_true(loads.imbalance <= 0.05);
    assert_true(spread_of(2000, 8) < 0.99 * former);
}

TEST(with_too_few_points_some_parts_have_none)
{
    const eqp_voronoi_options options = eqp__voronoi_options_defaults();

    for (int64_t n = 0; n <= 5; n++) {
        make_points(SPREAD, n);
        balance(n, 9, &options);
        assert_int_equal(loads.empty, 9 - n);
    }
    /* Without points there are no cells, but every location has a part. */
    make_points(SPREAD, 1);
    FREED(eqp_voronoi) *v = NULL;
    assert_ok(eqp__voronoi_create(0, NULL, NULL, 4, &options, &v));
    part[0] = 3;
    eqp__voronoi_parts(v, 1, point, part);
    assert_int_equal(part[0], 0);
}

TEST(points_at_one_place_have_one_part)
{
    for (int moving = 0; moving < 2; moving++) {
        const eqp_voronoi_options options = options_of(0.02, 30, moving);
        make_points(TWO_PLACES, 100);
        balance(100, 6, &options);
        assert_int_equal(loads.empty, 4);
        for (int64_t i = 2; i < 100; i++) {
            assert_int_equal(part[i], part[i - 2]);
        }
        assert_int_not_equal(part[0], part[1]);
    }
}

TEST(units_change_nothing)
{
    const eqp_voronoi_options options = eqp__voronoi_options_defaults();
    static int former[MOST];

    make_points(CLUSTERS, 1000);
    balance(1000, 10, &options);
    memcpy(former, part, sizeof former);
    for (int64_t i = 0; i < 1000; i++) {
        for (int k = 0; k < 3; k++) {
            point[3 * i + k] = ldexp(point[3 * i + k], 1000);
        }
        weight[i] = ldexp(weight[i], -900);
    }
    balance(1000, 10, &options);
    assert_memory_equal(part, former, 1000 * sizeof *part);
}

TEST(weights_may_be_anything)
{
    const eqp_voronoi_options options = eqp__voronoi_options_defaults();

    make_points(SPREAD, 1000);
    for (int64_t i = 0; i < 1000; i++) {
        weight[i] = 0;
    }
    balance(1000, 10, &options);
    for (int p = 0; p < 10; p++) {
        int count = 0;
        for (int64_t i = 0; i < 1000; i++) {
            count += part[i] == p;
        }
        assert_true(count <= 102 && count > 0);
    }
    for (int64_t i = 0; i < 1000; i++) {
        weight[i] = i == 500 ? DBL_MAX : i % 2 ? 1 : 0;
    }
    eqp__voronoi_free(make_cells(1000, 10, &options));
    assert_int_equal(loads.empty, 0);
    assert_true(load[part[500]] == DBL_MAX);
}

static int make_sixty(void *user)
{
    const eqp_voronoi_options options = options_of(0, 3, true);
    FREED(eqp_voronoi) *v = NULL;

    (void)user;
    return eqp__voronoi_create(60, point, weight, 5, &options, &v);
}

TEST(failing_allocations_leave_nothing_behind)
{
    make_points(SPREAD, 60);
    assert_true(failing_malloc_sweep(make_sixty, NULL, EQP_ERR_MEMORY) > 20);
}
