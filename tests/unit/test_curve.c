/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"
#include "units_internal.h"
#include <equipoise/more/curve.h>
#include <equipoise/more/random.h>

#define CELLS ((uint32_t)1 << EQP_CURVE_BITS)

/* Number of the cell of a level that contains a grid cell, x slowest. */
static uint64_t cell_number(int level, uint32_t x, uint32_t y, uint32_t z)
{
    const int down = EQP_CURVE_BITS - level;

    return ((uint64_t)(x >> down) << (2 * level)) + ((uint64_t)(y >> down) << level) + (z >> down);
}

static void assert_share_a_face(uint64_t a, uint64_t b)
{
    uint32_t p[3], q[3];
    int64_t distance = 0;

    eqp_hilbert_cell(a, &p[0], &p[1], &p[2]);
    eqp_hilbert_cell(b, &q[0], &q[1], &q[2]);
    for (int d = 0; d < 3; d++) {
        assert_true(p[d] < CELLS && q[d] < CELLS);
        distance += p[d] > q[d] ? p[d] - q[d] : q[d] - p[d];
    }
    assert_int_equal(distance, 1);
}

/* Every octree cell of the first levels is one run of keys, the runs cover all keys, and consecutive cells share a
 * face. */
TEST(low_levels_are_octree_cells)
{
    static uint8_t seen[1 << 15];

    for (int level = 0; level <= 5; level++) {
        const uint64_t run = EQP_CURVE_END >> (3 * level);
        uint32_t before[3] = {0, 0, 0};
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < (uint64_t)1 << (3 * level); i++) {
            uint32_t first[3], last[3];
            eqp_hilbert_cell(i * run, &first[0], &first[1], &first[2]);
            eqp_hilbert_cell(i * run + run - 1, &last[0], &last[1], &last[2]);
            const uint64_t cell = cell_number(level, first[0], first[1], first[2]);
            assert_int_equal(cell_number(level, last[0], last[1], last[2]), cell);
            assert_int_equal(seen[cell], 0);
            seen[cell] = 1;
            int64_t distance = 0;
            for (int d = 0; d < 3; d++) {
                const int64_t here = first[d] >> (EQP_CURVE_BITS - level);
                distance += here > before[d] ? here - before[d] : before[d] - here;
                before[d] = (uint32_t)here;
            }
            assert_int_equal(distance, i == 0 ? 0 : 1);
        }
    }
}

/* The whole curve is too long, so this walks runs at random positions, at the ends and across the borders of every
 * level. */
TEST(cells_that_follow_share_a_face)
{
    for (uint64_t i = 0; i < 20000; i++) {
        const uint64_t key = eqp_random_below(1, 0, i, EQP_CURVE_END - 8);
        for (uint64_t j = 0; j < 8; j++) {
            assert_share_a_face(key + j, key + j + 1);
        }
    }
    assert_share_a_face(0, 1);
    assert_share_a_face(EQP_CURVE_END - 2, EQP_CURVE_END - 1);
    for (int level = 1; level <= EQP_CURVE_BITS; level++) {
        const uint64_t run = EQP_CURVE_END >> (3 * level);
        for (uint64_t i = 0; i < 200; i++) {
            const uint64_t border = (1 + eqp_random_below(2, (uint64_t)level, i, EQP_CURVE_END / run - 1)) * run;
            assert_share_a_face(border - 1, border);
        }
    }
}

TEST(prefixes_name_cells_at_every_level)
{
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t a[3], b[3];
        /* Two grid cells that agree in the first `common` levels and differ in the next. */
        const int common = (int)(i % EQP_CURVE_BITS);
        const uint32_t half = CELLS >> (common + 1);
        for (int d = 0; d < 3; d++) {
            a[d] = (uint32_t)eqp_random_below(3, i, (uint64_t)d, CELLS);
            b[d] = (a[d] & ~(2 * half - 1)) | (uint32_t)eqp_random_below(3, i, 10 + (uint64_t)d, 2 * half);
        }
        const int axis = (int)(i % 3);
        b[axis] = (b[axis] & ~half) | (~a[axis] & half);
        const uint64_t key_a = eqp__hilbert_key(a[0], a[1], a[2]), key_b = eqp__hilbert_key(b[0], b[1], b[2]);
        const int shift = 3 * (EQP_CURVE_BITS - common);
        assert_int_equal(key_a >> shift, key_b >> shift);
        assert_true(key_a >> (shift - 3) != key_b >> (shift - 3));
    }
}

TEST(key_and_cell_are_inverse)
{
    uint32_t c[3];

    for (uint64_t i = 0; i < 50000; i++) {
        const uint64_t key = eqp_random_below(4, 0, i, EQP_CURVE_END);
        eqp_hilbert_cell(key, &c[0], &c[1], &c[2]);
        assert_int_equal(eqp__hilbert_key(c[0], c[1], c[2]), key);
        const uint32_t x = (uint32_t)eqp_random_below(4, 1, i, CELLS), y = (uint32_t)eqp_random_below(4, 2, i, CELLS);
        const uint32_t z = (uint32_t)eqp_random_below(4, 3, i, CELLS);
        eqp_hilbert_cell(eqp__hilbert_key(x, y, z), &c[0], &c[1], &c[2]);
        assert_true(c[0] == x && c[1] == y && c[2] == z);
        /* Higher bits are ignored. */
        assert_int_equal(eqp__hilbert_key(x | CELLS, y | 0xffe00000u, z | (CELLS << 3)), eqp__hilbert_key(x, y, z));
    }
    /* The curve begins in a corner and ends in a corner of the same edge. */
    assert_int_equal(eqp__hilbert_key(0, 0, 0), 0);
    eqp_hilbert_cell(EQP_CURVE_END - 1, &c[0], &c[1], &c[2]);
    assert_int_equal((uint64_t)c[0] + c[1] + c[2], CELLS - 1);
    assert_true(c[0] == CELLS - 1 || c[1] == CELLS - 1 || c[2] == CELLS - 1);
}

TEST(children_are_visited_in_the_order_of_their_keys)
{
    for (uint64_t i = 0; i < 2000; i++) {
        const int level = (int)(i % EQP_CURVE_BITS), shift = EQP_CURVE_BITS - 1 - level;
        const uint64_t key = eqp_random_below(8, 0, i, EQP_CURVE_END);
        unsigned char child[8];
        eqp_hilbert_children(key, level, child);
        for (unsigned place = 0; place < 8; place++) {
            uint32_t c[3];
            eqp_hilbert_cell(((key >> (3 * shift) & ~UINT64_C(7)) | place) << (3 * shift), &c[0], &c[1], &c[2]);
            assert_int_equal(child[place], (c[0] >> shift & 1) << 2 | (c[1] >> shift & 1) << 1 | (c[2] >> shift & 1));
        }
    }
}

TEST(points_fall_into_their_cells)
{
    const double corner[3] = {-5.0, 2.5, 100.0};
    const double side = 10.0;

    for (uint64_t i = 0; i < 5000; i++) {
        uint32_t c[3];
        double low[3], middle[3];
        uint64_t key[2];
        for (int d = 0; d < 3; d++) {
            /* Faces belong to the octree cell above them; 10 / 2^k is exact. */
            c[d] = (uint32_t)eqp_random_below(5, (uint64_t)d, i, CELLS);
            low[d] = corner[d] + (double)c[d] * (side / CELLS);
            middle[d] = corner[d] + ((double)c[d] + 0.5) * (side / CELLS);
        }
        const double x[2] = {low[0], middle[0]};
        const double y[2] = {low[1], middle[1]};
        const double z[2] = {low[2], middle[2]};
        assert_ok(eqp_hilbert_keys(2, x, y, z, corner, side, key));
        assert_int_equal(key[0], eqp__hilbert_key(c[0], c[1], c[2]));
        assert_int_equal(key[1], key[0]);
    }
}

TEST(points_outside_take_the_nearest_cell)
{
    const double corner[3] = {0.0, 0.0, 0.0};
    const uint32_t top = CELLS - 1;
    const double x[] = {-1.0, 1.0, 1e308, -INFINITY, INFINITY, 0.5, NAN};
    const double y[] = {0.5, 1.0, -1e308, 0.0, INFINITY, 7.0, 0.0};
    const double z[] = {0.5, 1.0, 0.0, 1.0, INFINITY, -7.0, 1e-300};
    const uint32_t expected[][3] = {{0, CELLS / 2, CELLS / 2}, {top, top, top},     {top, 0, 0}, {0, 0, top},
                                    {top, top, top},           {CELLS / 2, top, 0}, {0, 0, 0}};
    uint64_t key[7];

    assert_ok(eqp_hilbert_keys(7, x, y, z, corner, 1.0, key));
    for (int i = 0; i < 7; i++) {
        assert_int_equal(key[i], eqp__hilbert_key(expected[i][0], expected[i][1], expected[i][2]));
    }
}

TEST(many_points_have_the_keys_of_single_ones)
{
    enum { MANY = 5003 };
    static double at[3][MANY];
    static uint64_t key[MANY];
    const double corner[3] = {-0.25, 1e3, -1e-3};
    const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, 1e3, -1e-3, 1e300};

    for (int i = 0; i < MANY; i++) {
        for (int d = 0; d < 3; d++) {
            at[d][i] = corner[d] + 0.7 * (1.2 * eqp_random_uniform(6, (uint64_t)d, (uint64_t)i) - 0.1);
        }
        if (i % 50 == 0) {
            at[i / 50 % 3][i] = odd[i % 7];
        }
    }
    for (int n = MANY; n > 0; n /= 3) {
        assert_ok(eqp_hilbert_keys(n, at[0], at[1], at[2], corner, 0.7, key));
        for (int i = 0; i < n; i++) {
            uint64_t alone;
            assert_ok(eqp_hilbert_keys(1, at[0] + i, at[1] + i, at[2] + i, corner, 0.7, &alone));
            assert_int_equal(key[i], alone);
        }
    }
}

TEST(refuses_bad_cubes)
{
    const double corner[3] = {0.0, 0.0, 0.0};
    const double x[1] = {0.5};
    const double bad[] = {0.0, -1.0, INFINITY, NAN};
    uint64_t key[1] = {42};

    for (int i = 0; i < 4; i++) {
        assert_refused(eqp_hilbert_keys(1, x, x, x, corner, bad[i], key));
    }
    assert_refused(eqp_hilbert_keys(-1, x, x, x, corner, 1.0, key));
    assert_int_equal(key[0], 42);
    assert_ok(eqp_hilbert_keys(0, NULL, NULL, NULL, corner, 1.0, NULL));
}
