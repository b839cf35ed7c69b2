/* SPDX-License-Identifier: BSD-3-Clause */
/* All forces on one rank against all pairs, with and without a cutoff, with every kernel available on this CPU in both
 * precisions. test_bh_walk.c tests the lists of walks, test_bh_accuracy.c the accuracy of cells. */
#include <equipoise/more/random.h>

#include "bh_bodies.h"
#include "failing_malloc.h"
#include "serial.h"

#define MOST 700
#define GRAVITY 1.5

static double x[4][MOST]; /* x[3]: masses */

static bool (*unit_next_round)(void) = next_kernel;

typedef struct field {
    double a[4][MOST];
    bh_serial_work work;
} field;

static double uniform(int what, int64_t i)
{
    return eqp_random_uniform(5, (uint64_t)what, (uint64_t)i);
}

/* Half of the particles form a clump off the origin. */
static void place(int64_t n, double size)
{
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            x[k][i] = size * (3 * k - 4 + uniform(k, i) * (i % 2 ? 1 : 0.2));
        }
        x[3][i] = 1 + uniform(3, i);
    }
}

static void compute(int64_t n, double cutoff, double eps, int leaf_size, int group_size, field *got)
{
    const bh_mac mac = {.theta = cutoff > 0 ? 0.6 : 0, .G = GRAVITY, .cutoff = cutoff};
    FREED_BY(bh_serial_free) bh_serial serial;
    bh_kernel *kernel;

    assert_ok(bh_kernel_create(kernel_name, kernel_precision, &kernel));
    assert_ok(bh_serial_build(&serial, n, x[0], x[1], x[2], x[3], NULL, leaf_size, group_size));
    assert_ok(
        bh_serial_force(&serial, kernel, &mac, GRAVITY, eps, got->a[0], got->a[1], got->a[2], got->a[3], &got->work));
    bh_kernel_free(kernel);
}

/* Sums for one target, including magnitudes of force and potential: over all pairs, and over pairs so close to the
 * cutoff that single precision may decide either way. */
typedef struct sums {
    double a[4], force, potential, doubtful_force, doubtful_potential;
    int64_t nwithin;
} sums;

static sums sum_of(int64_t n, int64_t t, double cutoff, double eps)
{
    const double blur = kernel_precision == BH_MIXED ? 1e-5 * cutoff : 0;
    sums s = {.nwithin = 0};

    for (int64_t i = 0; i < n; i++) {
        const double d[3] = {x[0][i] - x[0][t], x[1][i] - x[1][t], x[2][i] - x[2][t]};
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], soft = sqrt(r2 + eps * eps);
        const double potential = soft > 0 ? GRAVITY * x[3][i] / soft : 0, force = soft > 0 ? potential / soft : 0;
        const bool doubtful = r2 > 0 && fabs(sqrt(r2) - cutoff) < blur;
        s.doubtful_force += doubtful ? force : 0;
        s.doubtful_potential += doubtful ? potential : 0;
        if (i == t || !(r2 < cutoff * cutoff || r2 == 0)) {
            continue;
        }
        s.nwithin++;
        s.force += force;
        s.potential += potential;
        for (int k = 0; k < 3; k++) {
            s.a[k] += soft > 0 ? force * d[k] / soft : 0;
        }
        s.a[3] -= potential;
    }
    return s;
}

/* Cutoff 0: no cutoff, every cell is opened. Returns the number of pairs within the cutoff. */
static int64_t compare(int64_t n, double cutoff, double eps, int leaf_size, int group_size)
{
    const double precise = kernel_precision == BH_MIXED ? 2e-6 : 1e-14;
    static field got;
    int64_t nwithin = 0;

    compute(n, cutoff, eps, leaf_size, group_size, &got);
    for (int64_t t = 0; t < n; t++) {
        const sums s = sum_of(n, t, cutoff > 0 ? cutoff : INFINITY, eps);
        const double self = eps > 0 ? GRAVITY * x[3][t] / eps : 0; /* added and subtracted again */
        nwithin += s.nwithin;
        for (int k = 0; k < 4; k++) {
            const double limit =
                k < 3 ? precise * s.force + s.doubtful_force : precise * (s.potential + self) + s.doubtful_potential;
            if (!(fabs(got.a[k][t] - s.a[k]) <= limit)) {
                fail_msg("%s %d, %lld particles, cutoff %g, target %lld, column %d: %.17g is not %.17g within %g",
                         kernel_name, kernel_precision, (long long)n, cutoff, (long long)t, k, got.a[k][t], s.a[k],
                         limit);
            }
        }
    }
    assert_int_equal(got.work.cells, 0);
    assert_in_range(got.work.pairs, nwithin + n, n * n); /* the cutoff exceeds all distances */
    return nwithin;
}

TEST(only_pairs_within_the_cutoff_act)
{
    static const int64_t n[] = {0, 1, 2, 7, 9, 64, 300};
    static const double cutoff[] = {1e-300, 0.01, 0.1, 0.4, 0.9, 0, 100, 1e200, INFINITY};

    for (int i = 0; i < 7; i++) {
        for (int c = 0; c < 9; c++) {
            place(n[i], 1);
            compare(n[i], cutoff[c], 0.05, 4, 8);
            compare(n[i], cutoff[c], 0, 16, 64);
            compare(n[i], cutoff[c], 0.05, 1, 1);
            const int64_t nwithin = compare(n[i], cutoff[c], 0.05, 1000, 1000);
            assert_true(n[i] < 300 || c == 0 || c > 4 ? nwithin <= n[i] * n[i]
                                                      : nwithin > 0 && nwithin < n[i] * (n[i] - 1));
        }
    }
}

TEST(any_size_and_unit)
{
    static const double unit[] = {1, 1e15, 1e-20};

    for (int u = 0; u < 3; u++) {
        place(MOST, unit[u]);
        compare(MOST, 0.3 * unit[u], 0.05 * unit[u], 16, 64);
        compare(MOST, 0.9 * unit[u], 0, 8, 32);
    }
}

/* On a lattice distances are exact in both precisions: a particle at the cutoff does not act, the next nearer one
 * does. */
TEST(a_particle_at_the_cutoff_does_not_act)
{
    static field got;
    const int side = 8, n = side * side * side;
    const double cutoff[] = {1, nextafter(1, 2), 2, 3, 5}; /* 5 also occurs as 3 and 4 along two axes */

    for (int i = 0; i < n; i++) {
        x[0][i] = i / (side * side);
        x[1][i] = i / side % side;
        x[2][i] = i % side;
        x[3][i] = 1;
    }
    for (int c = 0; c < 5; c++) {
        if (c == 1 && kernel_precision == BH_MIXED) {
            continue;
        }
        compute(n, cutoff[c], 0.25, 8, 32, &got);
        for (int t = 0; t < n; t++) {
            double wanted = 0;
            for (int i = 0; i < n; i++) {
                const double dx = x[0][i] - x[0][t], dy = x[1][i] - x[1][t], dz = x[2][i] - x[2][t];
                const double r2 = dx * dx + dy * dy + dz * dz;
                wanted -= i != t && r2 < cutoff[c] * cutoff[c] ? GRAVITY / sqrt(r2 + 0.0625) : 0;
            }
            assert_true(fabs(got.a[3][t] - wanted) < 1e-4 - 1e-6 * wanted); /* one particle is 0.29 or more */
        }
    }
}

/* Coincident particles are within any cutoff; a particle's own term is subtracted from the potential. */
TEST(coincident_particles_act_within_the_smallest_cutoff)
{
    static field got;
    const int64_t n = 100;

    place(n, 0);
    x[0][17] += 1;
    compare(n, 0, 0.05, 16, 32);
    compare(n, 0, 0, 16, 32);
    compute(n, 1e-300, 0.05, 16, 64, &got);
    for (int64_t t = 0; t < n; t++) {
        double others = 0;
        for (int64_t i = 0; i < n; i++) {
            others += i != t && (i == 17) == (t == 17) ? x[3][i] : 0;
        }
        assert_true(fabs(got.a[3][t] + GRAVITY * others / 0.05) <= 1e-6 * GRAVITY * (others + x[3][t]) / 0.05);
        assert_true(got.a[0][t] == 0 && got.a[1][t] == 0 && got.a[2][t] == 0);
    }
}

/* In double precision each pair counts in both directions or in neither, so momentum is conserved to rounding. */
TEST(pairs_count_both_ways)
{
    static field got;
    const int64_t n = 500;

    place(n, 1);
    for (double cutoff = 0.02; cutoff < 1 && kernel_precision == BH_DOUBLE; cutoff *= 1.3) {
        compute(n, cutoff, 0.01, 8, 32, &got);
        for (int k = 0; k < 3; k++) {
            double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < n; i++) {
                sum += x[3][i] * got.a[k][i];
                magnitude += fabs(x[3][i] * got.a[k][i]);
            }
            assert_true(fabs(sum) <= 1e-13 * magnitude);
        }
    }
}

TEST(bad_input_is_refused_and_forces_stay_as_they_were)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    bh_serial serial;
    double a[4][MOST];

    for (int i = 0; i < 3; i++) {
        for (int64_t at = 0; at < 10; at += 9) {
            place(10, 1);
            x[1][at] = bad[i];
            assert_int_equal(bh_serial_build(&serial, 10, x[0], x[1], x[2], x[3], NULL, 4, 8), EQP_ERR_DATA);
            bh_serial_free(&serial);
        }
    }
    place(10, 1);
    assert_ok(bh_serial_build(&serial, 10, x[0], x[1], x[2], x[3], NULL, 4, 8));
    a[0][3] = 42;
    assert_refused(
        bh_serial_force(&serial, NULL, &(bh_mac){.theta = 0.6, .G = 1}, NAN, 0, a[0], a[1], a[2], a[3], NULL));
    assert_true(a[0][3] == 42);
    bh_serial_free(&serial);
}

static int build_and_compute(void *results)
{
    double(*a)[MOST] = results;
    bh_serial serial;
    int code;

    a[0][3] = 42;
    code = bh_serial_build(&serial, 300, x[0], x[1], x[2], x[3], x[3], 4, 8);
    if (code == EQP_OK) {
        code = bh_serial_force(&serial, NULL, &(bh_mac){.theta = 0.6, .G = 1}, 1, 0.1, a[0], a[1], a[2], a[3], NULL);
    }
    bh_serial_free(&serial);
    assert_true(code == EQP_OK || a[0][3] == 42);
    return code;
}

TEST(failing_allocations_are_reported)
{
    static double a[4][MOST];

    place(300, 1);
    assert_true(failing_malloc_sweep(build_and_compute, a, EQP_ERR_MEMORY) > 15);
}
