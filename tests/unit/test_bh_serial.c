/* SPDX-License-Identifier: BSD-3-Clause */
/* All forces on one rank: odd sizes, odd places, bad input. How good they are is in test_bh_accuracy.c. */
#include <equipoise/more/random.h>

#include "failing_malloc.h"
#include "unit.h"

#include "serial.h"

#define MOST 300

static double x[MOST], y[MOST], z[MOST], m[MOST];
static const bh_mac mac = {.theta = 0.6, .G = 1};

static void place(int64_t n, double size)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] = 5 + size * eqp_random_uniform(1, 0, (uint64_t)i);
        y[i] = -7 + size * eqp_random_uniform(1, 1, (uint64_t)i);
        z[i] = size * eqp_random_uniform(1, 2, (uint64_t)i);
        m[i] = 1 + (double)(i % 3);
    }
}

/* With theta 0 the answer is direct summation, whatever the sizes of leaves and groups. `precise` is relative. */
static void compare_with_direct_in(bh_precision precision, double precise, int64_t n, double eps, int leaf_size,
                                   int group_size)
{
    static const bh_mac open_all = {.theta = 0, .G = 1};
    double got[4][MOST], wanted[4][MOST] = {{0}};
    FREED_BY(bh_serial_free) bh_serial serial;
    bh_serial_work work;
    bh_kernel *kernel;

    assert_int_equal(bh_kernel_create(NULL, precision, &kernel), EQP_OK);
    assert_int_equal(bh_serial_build(&serial, n, x, y, z, m, NULL, leaf_size, group_size), EQP_OK);
    assert_int_equal(bh_serial_force(&serial, kernel, &open_all, 1, eps, got[0], got[1], got[2], got[3], &work),
                     EQP_OK);
    bh_kernel_free(kernel);
    assert_true(work.pairs == n * n && work.cells == 0);
    bh_direct(n, x, y, z, m, 1, eps, n, x, y, z, wanted[0], wanted[1], wanted[2], wanted[3]);
    for (int64_t i = 0; i < n; i++) {
        wanted[3][i] -= bh_potential_self(1, m[i], eps);
        double scale = fabs(wanted[3][i]) / (eps > 0 ? eps : 1e-3);
        for (int k = 0; k < 4; k++) {
            assert_true(fabs(got[k][i] - wanted[k][i]) <= precise * scale);
        }
    }
}

static void compare_with_direct(int64_t n, double eps, int leaf_size, int group_size)
{
    compare_with_direct_in(BH_DOUBLE, 1e-12, n, eps, leaf_size, group_size);
    compare_with_direct_in(BH_MIXED, 1e-6, n, eps, leaf_size, group_size);
}

TEST(any_number_of_particles)
{
    static const int64_t n[] = {0, 1, 2, 7, 8, 9, 64, 300};

    for (int i = 0; i < 8; i++) {
        place(n[i], 1);
        compare_with_direct(n[i], 0.05, 4, 8);
        compare_with_direct(n[i], 0, 16, 32);
        compare_with_direct(n[i], 0.05, 1, 1);
        compare_with_direct(n[i], 0.05, 1000, 1000);
    }
}

TEST(particles_at_one_place)
{
    place(MOST, 0);
    compare_with_direct(MOST, 0.05, 16, 32);
    compare_with_direct(MOST, 0, 16, 32);
    x[17] += 1;
    compare_with_direct(MOST, 0.05, 16, 32);
}

TEST(bad_input_is_refused_and_forces_stay_as_they_were)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    bh_serial serial;
    double a[4][MOST];

    for (int i = 0; i < 3; i++) {
        for (int64_t at = 0; at < 10; at += 9) {
            place(10, 1);
            y[at] = bad[i];
            assert_int_equal(bh_serial_build(&serial, 10, x, y, z, m, NULL, 4, 8), EQP_ERR_DATA);
            bh_serial_free(&serial);
        }
    }
    place(10, 1);
    assert_int_equal(bh_serial_build(&serial, -1, x, y, z, m, NULL, 4, 8), EQP_ERR_ARGUMENT);
    bh_serial_free(&serial);
    assert_int_equal(bh_serial_build(&serial, 10, x, y, z, m, NULL, 0, 8), EQP_ERR_ARGUMENT);
    bh_serial_free(&serial);
    assert_int_equal(bh_serial_build(&serial, 10, x, y, z, m, NULL, 4, 0), EQP_ERR_ARGUMENT);
    bh_serial_free(&serial);
    assert_int_equal(bh_serial_build(&serial, 10, x, y, z, m, NULL, 4, 8), EQP_OK);
    a[0][3] = 42;
    assert_int_equal(bh_serial_force(&serial, NULL, &mac, NAN, 0, a[0], a[1], a[2], a[3], NULL), EQP_ERR_ARGUMENT);
    assert_true(a[0][3] == 42);
    bh_serial_free(&serial);
}

TEST(failing_allocations_are_reported)
{
    double a[4][MOST];
    int64_t k = 0;

    SKIP_IF(!failing_malloc_works);
    place(MOST, 1);
    for (;; k++) {
        FREED_BY(bh_serial_free) bh_serial serial;
        a[0][3] = 42;
        failing_malloc_start(k);
        int code = bh_serial_build(&serial, MOST, x, y, z, m, m, 4, 8);
        if (code == EQP_OK) {
            code = bh_serial_force(&serial, NULL, &mac, 1, 0.1, a[0], a[1], a[2], a[3], NULL);
        }
        int64_t failures = failing_malloc_stop();
        if (failures == 0) {
            assert_int_equal(code, EQP_OK);
            break;
        }
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_true(a[0][3] == 42);
    }
    assert_true(k > 15);
}
