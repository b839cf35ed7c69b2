/* SPDX-License-Identifier: BSD-3-Clause */
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/methods.h>
#include <equipoise/more/random.h>

#include <float.h>

FREES(eqp_boxes, eqp_boxes_free)

#define MAX_PARTS 64
#define POINTS 20000

static const eqp_boxes_kind kinds[2] = {EQP_BOXES_SECTIONS, EQP_BOXES_BISECTION};
static const int part_counts[] = {1, 2, 3, 7, 8, 12, 30, 64};
enum { NCOUNTS = sizeof part_counts / sizeof *part_counts };
static const double low0[3] = {-10, 0, 100}, high0[3] = {30, 20, 110};
static double point[POINTS][3];

static double uniform(uint64_t i)
{
    return eqp_random_uniform(11, 1, i);
}

static eqp_boxes *boxes_of(eqp_boxes_kind kind, int parts)
{
    eqp_boxes *boxes = NULL;
    int n[3];

    assert_ok(eqp_boxes_geometry(parts, n));
    assert_ok(eqp_boxes_create(kind, low0, high0, n, &boxes));
    return boxes;
}

/* Half of the points uniform, half in a clump, as in a network with a tangle. */
static int make_points(void **state)
{
    (void)state;
    for (int i = 0; i < POINTS; i++) {
        for (int d = 0; d < 3; d++) {
            double u = uniform(3 * (uint64_t)i + (uint64_t)d), place = i % 2 ? u : 0.3 + 0.2 * u * u;
            point[i][d] = low0[d] + (high0[d] - low0[d]) * place;
        }
    }
    return 0;
}

static CMFixtureFunction unit_setup = make_points;

static void loads_from_points(const eqp_boxes *boxes, double *load)
{
    memset(load, 0, MAX_PARTS * sizeof *load);
    for (int i = 0; i < (slow_here() ? POINTS / 20 : POINTS); i++) {
        load[eqp_boxes_find(boxes, point[i])] += 1;
    }
}

/* Bounds of all parts: [parts][6]. */
static void store(const eqp_boxes *boxes, double *bounds)
{
    for (int p = 0; p < eqp_boxes_parts(boxes); p++) {
        assert_ok(eqp_boxes_bounds(boxes, p, bounds + 6 * p, bounds + 6 * p + 3));
    }
}

static double imbalance(const eqp_boxes *boxes, const double *load)
{
    double sum = 0, most = 0;

    for (int p = 0; p < eqp_boxes_parts(boxes); p++) {
        sum += load[p];
        most = fmax(most, load[p]);
    }
    return most * eqp_boxes_parts(boxes) / sum - 1;
}

/* Every box has positive size, the volumes add up, and each point lies in the box that find() names. */
static void check_cover(const eqp_boxes *boxes)
{
    double bounds[MAX_PARTS][6], volume = 0, whole = 1;
    int parts = eqp_boxes_parts(boxes);

    store(boxes, bounds[0]);
    for (int d = 0; d < 3; d++) {
        whole *= high0[d] - low0[d];
    }
    for (int p = 0; p < parts; p++) {
        double v = 1;
        for (int d = 0; d < 3; d++) {
            assert_true(bounds[p][3 + d] > bounds[p][d]);
            assert_true(bounds[p][d] >= low0[d] && bounds[p][3 + d] <= high0[d]);
            v *= bounds[p][3 + d] - bounds[p][d];
        }
        volume += v;
        /* Low bounds are inclusive, high bounds exclusive. */
        assert_int_equal(eqp_boxes_find(boxes, bounds[p]), p);
        assert_true(parts == 1 || bounds[p][3] == high0[0] || eqp_boxes_find(boxes, bounds[p] + 3) != p);
    }
    assert_true(fabs(volume - whole) < 1e-9 * whole);
    for (int i = 0; i < 300; i++) {
        int inside = 0;
        for (int p = 0; p < parts; p++) {
            int in = 1;
            for (int d = 0; d < 3; d++) {
                in &= point[i][d] >= bounds[p][d] && point[i][d] < bounds[p][3 + d];
            }
            inside += in;
            assert_int_equal(in, eqp_boxes_find(boxes, point[i]) == p);
        }
        assert_int_equal(inside, 1);
    }
}

TEST(geometry_is_as_cubic_as_possible)
{
    static const int expected[][4] = {{1, 1, 1, 1},  {2, 2, 1, 1},  {3, 3, 1, 1},  {7, 7, 1, 1}, {8, 2, 2, 2},
                                      {12, 3, 2, 2}, {30, 5, 3, 2}, {64, 4, 4, 4}, {96, 6, 4, 4}};
    int n[3] = {-1, -1, -1};

    for (int i = 0; i < COUNT_OF(expected); i++) {
        assert_ok(eqp_boxes_geometry(expected[i][0], n));
        assert_memory_equal(n, expected[i] + 1, sizeof n);
    }
    assert_refused(eqp_boxes_geometry(0, n));
    assert_int_equal(n[0], 6);
}

TEST(uniform_boxes_are_equal_and_cover)
{
    for (int k = 0; k < 2; k++) {
        for (int c = 0; c < NCOUNTS; c++) {
            FREED(eqp_boxes) *boxes = boxes_of(kinds[k], part_counts[c]);
            int n[3];
            assert_ok(eqp_boxes_geometry(part_counts[c], n));
            check_cover(boxes);
            for (int p = 0; p < part_counts[c]; p++) {
                int at[3] = {p / n[2] / n[1], p / n[2] % n[1], p % n[2]};
                double low[3], high[3];
                assert_ok(eqp_boxes_bounds(boxes, p, low, high));
                for (int d = 0; d < 3; d++) {
                    double width = (high0[d] - low0[d]) / n[d];
                    assert_true(fabs(low[d] - low0[d] - at[d] * width) < 1e-12 * 100);
                    assert_true(fabs(high[d] - low[d] - width) < 1e-12 * 100);
                }
            }
        }
    }
}

TEST(positions_outside_are_clamped)
{
    for (int k = 0; k < 2; k++) {
        FREED(eqp_boxes) *boxes = boxes_of(kinds[k], 12);
        const double below[3] = {-1e30, -INFINITY, 99}, above[3] = {30, 20, 110}, far[3] = {INFINITY, 1e9, 1e9};
        const double nan[3] = {NAN, NAN, NAN};
        double low[3] = {1, 2, 3}, high[3] = {4, 5, 6};
        assert_int_equal(eqp_boxes_find(boxes, below), 0);
        assert_int_equal(eqp_boxes_find(boxes, nan), 0);
        assert_int_equal(eqp_boxes_find(boxes, above), 11);
        assert_int_equal(eqp_boxes_find(boxes, far), 11);
        assert_refused(eqp_boxes_bounds(boxes, 12, low, high));
        assert_refused(eqp_boxes_bounds(boxes, -1, low, high));
        assert_true(low[0] == 1 && high[2] == 6);
    }
}

TEST(equal_and_zero_loads_move_nothing)
{
    for (int i = 0; i < 4 * NCOUNTS; i++) {
        FREED(eqp_boxes) *boxes = boxes_of(kinds[i % 2], part_counts[i / 4]);
        double load[MAX_PARTS];
        for (int p = 0; p < MAX_PARTS; p++) {
            load[p] = i / 2 % 2 ? 0 : 0.125;
        }
        for (int call = 0; call < 6; call++) {
            eqp_boxes_change change;
            assert_ok(eqp_boxes_rebalance(boxes, load, NULL, &change));
            assert_true(change.largest <= 1e-13);
        }
        check_cover(boxes);
    }
}

/* With loads from particles, as in use, imbalance falls with each call. */
TEST(loads_of_points_become_balanced)
{
    double load[MAX_PARTS];

    for (int k = 0; k < 2; k++) {
        for (int c = 1; c < NCOUNTS; c++) {
            FREED(eqp_boxes) *boxes = boxes_of(kinds[k], part_counts[c]);
            double first, last;
            loads_from_points(boxes, load);
            first = imbalance(boxes, load);
            for (int call = 0; call < 90; call++) {
                assert_ok(eqp_boxes_rebalance(boxes, load, NULL, NULL));
                loads_from_points(boxes, load);
                if (call == 29) {
                    assert_true(imbalance(boxes, load) < 0.7 * first);
                }
            }
            last = imbalance(boxes, load);
            print_message("%s, %d parts: imbalance %.3f -> %.3f\n", k ? "bisection" : "sections", part_counts[c], first,
                          last);
            assert_true(last < 0.35 * first);
            check_cover(boxes);
        }
    }
}

/* One load density below x = 0 and another above, in slabs along x. */
static void step_loads(const eqp_boxes *boxes, double *load)
{
    for (int p = 0; p < eqp_boxes_parts(boxes); p++) {
        double low[3], high[3];
        (void)eqp_boxes_bounds(boxes, p, low, high);
        load[p] = 6 * fmax(0, fmin(high[0], 0) - low[0]) + fmax(0, high[0] - fmax(low[0], 0));
    }
}

TEST(a_step_converges_to_equal_loads)
{
    const int n[3] = {4, 1, 1};
    double load[4];

    for (int k = 0; k < 2; k++) {
        eqp_boxes *boxes;
        assert_ok(eqp_boxes_create(kinds[k], low0, high0, n, &boxes));
        for (int call = 0; call < 200; call++) {
            step_loads(boxes, load);
            assert_ok(eqp_boxes_rebalance(boxes, load, NULL, NULL));
        }
        step_loads(boxes, load);
        /* Bisection stops at its tolerance. */
        assert_true(imbalance(boxes, load) < (k ? 0.051 : 1e-6));
        eqp_boxes_free(boxes);
    }
}

/* One wall between two slabs, calculated by hand. */
TEST(sections_keep_their_limits)
{
    const int n[3] = {2, 1, 1};
    const double low[3] = {0, 0, 0}, high[3] = {2, 1, 1}, load[2] = {1, 3}, little[2] = {1, 1.06};
    /* Target: 1 + (2 - 1) / 3; allowed: 5 % of the upper slab, or 0.49 of a cell. */
    const struct {
        double cell, fraction, wall;
    } want[] = {{0, 0.05, 1.05}, {0.05, 0.05, 1.0245}, {9, 0.5, 1 + 1 / 3.0}, {0, 0, 1}};

    for (int i = 0; i < COUNT_OF(want); i++) {
        eqp_boxes_options options = eqp_boxes_options_defaults();
        eqp_boxes_change change;
        eqp_boxes *boxes;
        double a[3], b[3];
        options.cell[0] = want[i].cell;
        options.slab_fraction = want[i].fraction;
        assert_ok(eqp_boxes_create(EQP_BOXES_SECTIONS, low, high, n, &boxes));
        assert_ok(eqp_boxes_rebalance(boxes, load, &options, &change));
        (void)eqp_boxes_bounds(boxes, 0, a, b);
        assert_true(fabs(b[0] - want[i].wall) < 1e-14);
        assert_int_equal(change.moved, want[i].wall > 1);
        assert_int_equal(change.dimension, 0);
        assert_int_equal(change.level, -1);
        assert_true(fabs(change.largest - (b[0] - 1)) < 1e-15 && change.total == change.largest);
        /* Small differences are balanced in one call. */
        eqp_boxes_free(boxes);
        assert_ok(eqp_boxes_create(EQP_BOXES_SECTIONS, low, high, n, &boxes));
        assert_ok(eqp_boxes_rebalance(boxes, little, NULL, NULL));
        (void)eqp_boxes_bounds(boxes, 0, a, b);
        assert_true(fabs(b[0] - (1 + 0.03 / 1.06)) < 1e-14);
        eqp_boxes_free(boxes);
    }
}

/* A given direction is used, even if it has no walls. */
TEST(sections_move_the_direction_that_is_told)
{
    const int n[3] = {2, 2, 1};
    const double load[4] = {1, 2, 3, 4};
    eqp_boxes_options options = eqp_boxes_options_defaults();
    eqp_boxes *boxes;

    assert_ok(eqp_boxes_create(EQP_BOXES_SECTIONS, low0, high0, n, &boxes));
    for (int d = 2; d >= 0; d--) {
        eqp_boxes_change change;
        options.direction = d;
        assert_ok(eqp_boxes_rebalance(boxes, load, &options, &change));
        assert_int_equal(change.dimension, d == 2 ? -1 : d);
        assert_int_equal(change.moved, d == 2 ? 0 : d == 1 ? 2 : 1);
    }
    eqp_boxes_free(boxes);
}

/* A large tangle: motion of every wall in every call, measured on the boxes. */
TEST(sections_cut_one_direction_per_call)
{
    eqp_boxes *boxes = boxes_of(EQP_BOXES_SECTIONS, 64), *before;
    eqp_boxes_options options = eqp_boxes_options_defaults();
    double load[MAX_PARTS], old[MAX_PARTS][6], now[MAX_PARTS][6];

    options.cell[0] = 0.5;
    for (int call = 0; call < 12; call++) {
        eqp_boxes_change change;
        int d = call % 3;
        assert_ok(eqp_boxes_copy(boxes, &before));
        loads_from_points(boxes, load);
        assert_ok(eqp_boxes_rebalance(boxes, load, &options, &change));
        assert_int_equal(change.dimension, d);
        assert_true(change.moved > 0);
        store(before, old[0]);
        store(boxes, now[0]);
        for (int p = 0; p < 64; p++) {
            for (int e = 0; e < 6; e++) {
                double way = fabs(now[p][e] - old[p][e]);
                assert_true(e % 3 == d || way == 0);
                assert_true(d != 0 || way <= 0.49 * 0.5 + 1e-12);
            }
            /* Each of the box's two walls moves by at most 5 %. */
            assert_true(now[p][3 + d] - now[p][d] >= 0.9 * (old[p][3 + d] - old[p][d]) * (1 - 1e-12));
        }
        eqp_boxes_free(before);
    }
    eqp_boxes_free(boxes);
}

/* Four parts along x with loads 3 1 1 1: the first level is 2/3 : 1/3 and moves 30 % of the way, the second all of
 * it. */
TEST(bisection_damps_the_coarsest_level_only)
{
    const int n[3] = {4, 1, 1};
    const double low[3] = {0, 0, 0}, high[3] = {8, 1, 1}, load[4] = {3, 1, 1, 1}, inner[4] = {3, 1, 2, 2};
    eqp_boxes_change change;
    eqp_boxes *boxes;
    double a[3], b[3], wall;

    assert_ok(eqp_boxes_create(EQP_BOXES_BISECTION, low, high, n, &boxes));
    assert_ok(eqp_boxes_rebalance(boxes, load, NULL, &change));
    assert_int_equal(change.level, 0);
    assert_int_equal(change.moved, 3);
    (void)eqp_boxes_bounds(boxes, 1, a, b);
    /* Densities 1 and 1/2: half of the load is below x = 3. */
    wall = 4 + 0.3 * (3 - 4);
    assert_true(fabs(b[0] - wall) < 1e-14);
    /* Half of the load 3 + 1 is below 4/3 in [0, 4), now shrunk to [0, 3.7). */
    assert_true(fabs(a[0] - 3.7 / 3) < 1e-14);
    eqp_boxes_free(boxes);

    assert_ok(eqp_boxes_create(EQP_BOXES_BISECTION, low, high, n, &boxes));
    assert_ok(eqp_boxes_rebalance(boxes, inner, NULL, &change));
    assert_int_equal(change.level, 1);
    (void)eqp_boxes_bounds(boxes, 1, a, b);
    assert_true(b[0] == 4 && fabs(a[0] - (2 + 0.3 * (4 / 3.0 - 2))) < 1e-14);
    eqp_boxes_free(boxes);
}

/* For counts that are not powers of two, load is proportional to the number of parts on either side. */
TEST(bisection_divides_in_proportion)
{
    const int n[3] = {3, 1, 1};
    const double low[3] = {0, 0, 0}, high[3] = {3, 1, 1}, load[3] = {4, 1, 1};
    eqp_boxes_options options = eqp_boxes_options_defaults();
    eqp_boxes *boxes;
    double a[3], b[3];

    options.damping = 1;
    assert_ok(eqp_boxes_create(EQP_BOXES_BISECTION, low, high, n, &boxes));
    assert_ok(eqp_boxes_rebalance(boxes, load, &options, NULL));
    (void)eqp_boxes_bounds(boxes, 0, a, b);
    assert_true(fabs(b[0] - 0.5) < 1e-14);
    eqp_boxes_free(boxes);
}

/* All load is in the first part, the last one, or the part of one point: walls converge on it in every call. */
TEST(one_part_with_everything_leaves_boxes_of_positive_size)
{
    const double where[3] = {7.3, 3.1, 108.9};

    for (int i = 0; i < 3 * 2 * NCOUNTS; i++) {
        const int parts = part_counts[i / 6];
        FREED(eqp_boxes) *boxes = boxes_of(kinds[i % 2], parts);
        for (int call = 0; call < (slow_here() ? 300 : 2000) / (i / 2 % 3 == 2 ? 1 : 2); call++) {
            double load[MAX_PARTS] = {0};
            load[i / 2 % 3 == 0 ? 0 : i / 2 % 3 == 1 ? parts - 1 : eqp_boxes_find(boxes, where)] = 1e-3;
            assert_ok(eqp_boxes_rebalance(boxes, load, NULL, NULL));
        }
        check_cover(boxes);
    }
}

TEST(bad_input_is_refused_and_changes_nothing)
{
    const double bad[] = {NAN, -1, INFINITY};
    const double thin[3] = {-10 + 1e-12, 20, 110}, nan[3] = {NAN, 20, 110};
    const int zero[3] = {2, 0, 2}, many[3] = {50000, 50000, 50000}, two[3] = {2, 1, 1};
    double load[MAX_PARTS], old[MAX_PARTS][6], now[MAX_PARTS][6];
    eqp_boxes *none = NULL;

    for (int k = 0; k < 2; k++) {
        eqp_boxes *boxes = boxes_of(kinds[k], 12);
        eqp_boxes_change change = {-7, 0, 0, 0, 0};
        eqp_boxes_options options = eqp_boxes_options_defaults();
        store(boxes, old[0]);
        for (int i = 0; i < 12; i++) {
            load[i] = i;
        }
        for (int b = 0; b < 3; b++) {
            load[11] = bad[b];
            assert_int_equal(eqp_boxes_rebalance(boxes, load, NULL, &change), EQP_ERR_DATA);
        }
        load[10] = load[11] = DBL_MAX;
        assert_int_equal(eqp_boxes_rebalance(boxes, load, NULL, &change), EQP_ERR_DATA);
        load[10] = load[11] = 1;
        options.slab_fraction = 0.6;
        assert_refused(eqp_boxes_rebalance(boxes, load, &options, &change));
        options.slab_fraction = 0.05;
        options.damping = NAN;
        assert_refused(eqp_boxes_rebalance(boxes, load, &options, &change));
        options.damping = 0;
        options.direction = 3;
        assert_refused(eqp_boxes_rebalance(boxes, load, &options, &change));
        store(boxes, now[0]);
        assert_memory_equal(old, now, 12 * sizeof *old);
        assert_int_equal(change.moved, -7);
        eqp_boxes_free(boxes);
        assert_refused(eqp_boxes_create(kinds[k], low0, high0, zero, &none));
        assert_int_equal(eqp_boxes_create(kinds[k], low0, high0, many, &none), EQP_ERR_OVERFLOW);
        assert_refused(eqp_boxes_create(kinds[k], low0, thin, two, &none));
        assert_refused(eqp_boxes_create(kinds[k], low0, nan, two, &none));
        assert_refused(eqp_boxes_create(kinds[k], high0, low0, two, &none));
    }
    assert_refused(eqp_boxes_create((eqp_boxes_kind)3, low0, high0, two, &none));
    assert_null(none);
}

TEST(copies_go_on_alike)
{
    double load[MAX_PARTS], bounds[MAX_PARTS][6], again[MAX_PARTS][6];

    for (int i = 0; i < 2 * NCOUNTS; i++) {
        FREED(eqp_boxes) *boxes = boxes_of(kinds[i % 2], part_counts[i / 2]), *copy;
        for (int call = 0; call < 7; call++) {
            loads_from_points(boxes, load);
            assert_ok(eqp_boxes_rebalance(boxes, load, NULL, NULL));
        }
        assert_ok(eqp_boxes_copy(boxes, &copy));
        loads_from_points(boxes, load);
        assert_ok(eqp_boxes_rebalance(boxes, load, NULL, NULL));
        assert_ok(eqp_boxes_rebalance(copy, load, NULL, NULL));
        store(boxes, bounds[0]);
        store(copy, again[0]);
        assert_memory_equal(bounds, again, (size_t)part_counts[i / 2] * sizeof *bounds);
    }
}

static int make_copy_and_rebalance(eqp_boxes_kind kind)
{
    const int n[3] = {3, 2, 2};
    const double load[12] = {5, 1, 2, 3};
    eqp_boxes *boxes = NULL, *copy = NULL;
    int code = eqp_boxes_create(kind, low0, high0, n, &boxes);

    code = code ? code : eqp_boxes_copy(boxes, &copy);
    code = code ? code : eqp_boxes_rebalance(copy, load, NULL, NULL);
    eqp_boxes_free(boxes);
    eqp_boxes_free(copy);
    return code;
}

TEST(failing_allocations_are_reported)
{
    int code;

    SKIP_IF(!failing_malloc_works);
    for (int kind = 0; kind < 2; kind++) {
        for (int64_t k = 0; FAILING_MALLOC(k, code = make_copy_and_rebalance(kinds[kind])); k++) {
            assert_int_equal(code, EQP_ERR_MEMORY);
        }
        assert_ok(code);
    }
}
