/* SPDX-License-Identifier: BSD-3-Clause */
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/methods.h>
#include <equipoise/more/random.h>

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

/* Boxes in a row along x, from 0 to `length`. */
static eqp_boxes *row_of(eqp_boxes_kind kind, int parts, double length)
{
    const int n[3] = {parts, 1, 1};
    const double low[3] = {0, 0, 0}, high[3] = {length, 1, 1};
    eqp_boxes *boxes = NULL;

    assert_ok(eqp_boxes_create(kind, low, high, n, &boxes));
    return boxes;
}

/* The upper wall of a part of a row. */
static double wall_of(const eqp_boxes *boxes, int part)
{
    double low[3], high[3];

    assert_ok(eqp_boxes_bounds(boxes, part, low, high));
    return high[0];
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
    int n[3];

    for (int i = 0; i < COUNT_OF(expected); i++) {
        assert_ok(eqp_boxes_geometry(expected[i][0], n));
        assert_memory_equal(n, expected[i] + 1, sizeof n);
    }
}

TEST(uniform_boxes_are_equal_and_cover)
{
    for (int i = 0; i < 2 * NCOUNTS; i++) {
        const int parts = part_counts[i / 2];
        FREED(eqp_boxes) *boxes = boxes_of(kinds[i % 2], parts);
        double bounds[MAX_PARTS][6];
        int n[3];
        assert_ok(eqp_boxes_geometry(parts, n));
        check_cover(boxes);
        store(boxes, bounds[0]);
        for (int p = 0; p < parts; p++) {
            const int at[3] = {p / n[2] / n[1], p / n[2] % n[1], p % n[2]};
            for (int d = 0; d < 3; d++) {
                const double width = (high0[d] - low0[d]) / n[d];
                assert_near(bounds[p][d], low0[d] + at[d] * width, 1e-10);
                assert_near(bounds[p][3 + d] - bounds[p][d], width, 1e-10);
            }
        }
    }
}

TEST(positions_outside_are_clamped)
{
    static const struct {
        double at[3];
        int part;
    } row[] = {{{-1e30, -INFINITY, 99}, 0}, {{NAN, NAN, NAN}, 0}, {{30, 20, 110}, 11}, {{INFINITY, 1e9, 1e9}, 11}};

    for (int i = 0; i < 2 * COUNT_OF(row); i++) {
        FREED(eqp_boxes) *boxes = boxes_of(kinds[i % 2], 12);
        assert_int_equal(eqp_boxes_find(boxes, row[i / 2].at), row[i / 2].part);
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

    for (int i = 2; i < 2 * NCOUNTS; i++) {
        FREED(eqp_boxes) *boxes = boxes_of(kinds[i % 2], part_counts[i / 2]);
        loads_from_points(boxes, load);
        const double first = imbalance(boxes, load);
        for (int call = 0; call < 90; call++) {
            assert_ok(eqp_boxes_rebalance(boxes, load, NULL, NULL));
            loads_from_points(boxes, load);
            assert_true(call != 29 || imbalance(boxes, load) < 0.7 * first);
        }
        assert_true(imbalance(boxes, load) < 0.35 * first);
        check_cover(boxes);
    }
}

/* One load density below the middle of a row and another above. */
static void step_loads(const eqp_boxes *boxes, double *load)
{
    for (int p = 0; p < 4; p++) {
        const double low = p > 0 ? wall_of(boxes, p - 1) : 0, high = wall_of(boxes, p);
        load[p] = 6 * fmax(0, fmin(high, 20) - low) + fmax(0, high - fmax(low, 20));
    }
}

TEST(a_step_converges_to_equal_loads)
{
    double load[4];

    for (int k = 0; k < 2; k++) {
        FREED(eqp_boxes) *boxes = row_of(kinds[k], 4, 80);
        for (int call = 0; call < 200; call++) {
            step_loads(boxes, load);
            assert_ok(eqp_boxes_rebalance(boxes, load, NULL, NULL));
        }
        step_loads(boxes, load);
        /* Bisection stops at its tolerance. */
        assert_true(imbalance(boxes, load) < (k ? 0.051 : 1e-6));
    }
}

/* One wall between two slabs, calculated by hand. */
TEST(sections_keep_their_limits)
{
    const double load[2] = {1, 3}, little[2] = {1, 1.06};
    /* Target: 1 + (2 - 1) / 3; allowed: 5 % of the upper slab, or 0.49 of a cell. */
    const struct {
        double cell, fraction, wall;
    } want[] = {{0, 0.05, 1.05}, {0.05, 0.05, 1.0245}, {9, 0.5, 1 + 1 / 3.0}, {0, 0, 1}};

    for (int i = 0; i < COUNT_OF(want); i++) {
        FREED(eqp_boxes) *boxes = row_of(EQP_BOXES_SECTIONS, 2, 2);
        eqp_boxes_options options = eqp_boxes_options_defaults();
        eqp_boxes_change change;
        options.cell[0] = want[i].cell;
        options.slab_fraction = want[i].fraction;
        assert_ok(eqp_boxes_rebalance(boxes, load, &options, &change));
        assert_near(wall_of(boxes, 0), want[i].wall, 1e-14);
        assert_int_equal(change.moved, want[i].wall > 1);
        assert_true(change.dimension == 0 && change.level == -1 && change.total == change.largest);
        assert_near(change.largest, wall_of(boxes, 0) - 1, 1e-15);
    }
    /* Small differences are balanced in one call. */
    FREED(eqp_boxes) *boxes = row_of(EQP_BOXES_SECTIONS, 2, 2);
    assert_ok(eqp_boxes_rebalance(boxes, little, NULL, NULL));
    assert_near(wall_of(boxes, 0), 1 + 0.03 / 1.06, 1e-14);
}

/* A given direction is used, even if it has no walls; in turn, only those that have some. */
TEST(sections_move_the_direction_that_is_told)
{
    const int n[3] = {2, 2, 1};
    const double load[4] = {1, 2, 3, 4};
    eqp_boxes_options options = eqp_boxes_options_defaults();
    FREED(eqp_boxes) *boxes = NULL;

    assert_ok(eqp_boxes_create(EQP_BOXES_SECTIONS, low0, high0, n, &boxes));
    for (int d = 2; d >= 0; d--) {
        eqp_boxes_change change;
        options.direction = d;
        assert_ok(eqp_boxes_rebalance(boxes, load, &options, &change));
        assert_int_equal(change.dimension, d == 2 ? -1 : d);
        assert_int_equal(change.moved, d == 2 ? 0 : d == 1 ? 2 : 1);
    }
    options.direction = -1;
    for (int turn = 0; turn < 4; turn++) {
        eqp_boxes_change change;
        assert_ok(eqp_boxes_rebalance(boxes, load, &options, &change));
        assert_int_equal(change.dimension, 1 - turn % 2);
    }
}

/* A large tangle: motion of every wall in every call, measured on the boxes. */
TEST(sections_cut_one_direction_per_call)
{
    FREED(eqp_boxes) *boxes = boxes_of(EQP_BOXES_SECTIONS, 64);
    eqp_boxes_options options = eqp_boxes_options_defaults();
    double load[MAX_PARTS], old[MAX_PARTS][6], now[MAX_PARTS][6];

    options.cell[0] = 0.5;
    for (int call = 0; call < 12; call++) {
        eqp_boxes_change change;
        int d = call % 3;
        store(boxes, old[0]);
        loads_from_points(boxes, load);
        assert_ok(eqp_boxes_rebalance(boxes, load, &options, &change));
        assert_int_equal(change.dimension, d);
        assert_true(change.moved > 0);
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
    }
}

/* Four parts along x with loads 3 1 1 1: the first level is 2/3 : 1/3 and moves 30 % of the way, the second all of
 * it. */
TEST(bisection_damps_the_coarsest_level_only)
{
    const double load[4] = {3, 1, 1, 1}, inner[4] = {3, 1, 2, 2};
    FREED(eqp_boxes) *boxes = row_of(EQP_BOXES_BISECTION, 4, 8), *other = row_of(EQP_BOXES_BISECTION, 4, 8);
    eqp_boxes_change change;

    assert_ok(eqp_boxes_rebalance(boxes, load, NULL, &change));
    assert_true(change.level == 0 && change.moved == 3);
    /* Densities 1 and 1/2: half of the load is below x = 3. */
    assert_near(wall_of(boxes, 1), 4 + 0.3 * (3 - 4), 1e-14);
    /* Half of the load 3 + 1 is below 4/3 in [0, 4), now shrunk to [0, 3.7). */
    assert_near(wall_of(boxes, 0), 3.7 / 3, 1e-14);
    assert_ok(eqp_boxes_rebalance(other, inner, NULL, &change));
    assert_true(change.level == 1 && wall_of(other, 1) == 4);
    assert_near(wall_of(other, 0), 2 + 0.3 * (4 / 3.0 - 2), 1e-14);
}

/* For counts that are not powers of two, load is proportional to the number of parts on either side. */
TEST(bisection_divides_in_proportion)
{
    const double load[3] = {4, 1, 1};
    FREED(eqp_boxes) *boxes = row_of(EQP_BOXES_BISECTION, 3, 3);
    eqp_boxes_options options = eqp_boxes_options_defaults();

    options.damping = 1;
    assert_ok(eqp_boxes_rebalance(boxes, load, &options, NULL));
    assert_near(wall_of(boxes, 0), 0.5, 1e-14);
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
    static const double bad[] = {NAN, -1, INFINITY, DBL_MAX};
    const double thin[3] = {-10 + 1e-12, 20, 110}, nan[3] = {NAN, 20, 110};
    const int many[3] = {50000, 50000, 50000}, two[3] = {2, 1, 1};
    double load[MAX_PARTS] = {DBL_MAX}, old[MAX_PARTS][6], now[MAX_PARTS][6];
    eqp_boxes *none = NULL;

    for (int k = 0; k < 2; k++) {
        FREED(eqp_boxes) *boxes = boxes_of(kinds[k], 12);
        eqp_boxes_change change = {-7, 0, 0, 0, 0};
        store(boxes, old[0]);
        for (int b = 0; b < COUNT_OF(bad); b++) {
            load[11] = bad[b];
            assert_int_equal(eqp_boxes_rebalance(boxes, load, NULL, &change), EQP_ERR_DATA);
        }
        store(boxes, now[0]);
        assert_memory_equal(old, now, 12 * sizeof *old);
        assert_int_equal(change.moved, -7);
        assert_int_equal(eqp_boxes_create(kinds[k], low0, high0, many, &none), EQP_ERR_OVERFLOW);
        assert_refused(eqp_boxes_create(kinds[k], low0, thin, two, &none));
        assert_refused(eqp_boxes_create(kinds[k], low0, nan, two, &none));
        assert_refused(eqp_boxes_create(kinds[k], high0, low0, two, &none));
    }
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

static int make_copy_and_rebalance(void *kind)
{
    const int n[3] = {3, 2, 2};
    const double load[12] = {5, 1, 2, 3};
    FREED(eqp_boxes) *boxes = NULL, *copy = NULL;
    int code = eqp_boxes_create(*(eqp_boxes_kind *)kind, low0, high0, n, &boxes);

    code = code ? code : eqp_boxes_copy(boxes, &copy);
    return code ? code : eqp_boxes_rebalance(copy, load, NULL, NULL);
}

TEST(failing_allocations_are_reported)
{
    for (int k = 0; k < 2; k++) {
        eqp_boxes_kind kind = kinds[k];
        assert_true(failing_malloc_sweep(make_copy_and_rebalance, &kind, EQP_ERR_MEMORY) > 0);
    }
}
