/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/frame.h"

#include "unit.h"

#include <equipoise/more/methods.h>
#include <equipoise/more/random.h>

#define MAX_N 40
#define MAX_PARTS 12

static uint64_t draws;

static uint64_t below(uint64_t n)
{
    return eqp_random_below(7, 1, draws++, n);
}

static double scale_of(const double *share, int nparts, int p)
{
    return share ? share[p] * nparts : 1;
}

/* Optimal bottleneck, by dynamic programming over all first items. */
static double brute_force(int64_t n, const double *load, int nparts, const double *share)
{
    double best[MAX_PARTS + 1][MAX_N + 1];

    for (int64_t j = 0; j <= n; j++) {
        best[0][j] = j == 0 ? 0 : INFINITY;
    }
    for (int p = 1; p <= nparts; p++) {
        for (int64_t j = 0; j <= n; j++) {
            best[p][j] = INFINITY;
            double sum = 0;
            for (int64_t i = j; i >= 0; i--) {
                sum += i < j ? load[i] : 0;
                best[p][j] = fmin(best[p][j], fmax(best[p - 1][i], sum / scale_of(share, nparts, p - 1)));
            }
        }
    }
    return best[nparts][n];
}

static double largest(int64_t n, const double *load, int nparts, const double *share, const int64_t *first)
{
    double worst = 0;

    assert_int_equal(first[0], 0);
    assert_int_equal(first[nparts], n);
    for (int p = 0; p < nparts; p++) {
        double sum = 0;
        assert_true(first[p] <= first[p + 1]);
        for (int64_t i = first[p]; i < first[p + 1]; i++) {
            sum += load[i];
        }
        worst = fmax(worst, sum / scale_of(share, nparts, p));
    }
    return worst;
}

/* Loads are small integers with many zeros, a few very large ones, or powers of two. */
static void draw_loads(int64_t n, double *load)
{
    uint64_t kind = below(4);

    for (int64_t i = 0; i < n; i++) {
        uint64_t r = below(100);
        load[i] = kind == 0   ? (double)(r % 10)
                  : kind == 1 ? (r < 60 ? 0 : (double)r)
                  : kind == 2 ? (r < 5 ? 1000 : 1)
                              : ldexp(1, (int)(r % 12));
    }
}

/* Shares are sums of powers of two, so that equal quotients compare equal. */
static const double *draw_shares(int nparts, double *share)
{
    if (below(2)) {
        return NULL;
    }
    double left = 1;
    for (int p = 0; p < nparts - 1; p++) {
        share[p] = left / (double)(2 << below(3));
        left -= share[p];
    }
    share[nparts - 1] = left;
    return share;
}

TEST(optimal_cut_equals_brute_force)
{
    for (int round = 0; round < 3000; round++) {
        double load[MAX_N], space[MAX_PARTS], bottleneck = -1;
        int64_t n = (int64_t)below(MAX_N + 1), first[MAX_PARTS + 1];
        int nparts = 1 + (int)below(MAX_PARTS);
        draw_loads(n, load);
        const double *share = draw_shares(nparts, space);
        assert_ok(eqp_cuts_optimal(n, load, nparts, share, first, &bottleneck));
        double best = brute_force(n, load, nparts, share), reached = largest(n, load, nparts, share, first);
        assert_true(fabs(reached - best) <= 1e-12 * best);
        assert_true(fabs(bottleneck - best) <= 1e-12 * best);
    }
}

TEST(equal_shares_leave_no_part_empty)
{
    for (int round = 0; round < 2000; round++) {
        double load[MAX_N];
        int nparts = 1 + (int)below(MAX_PARTS);
        int64_t n = nparts + (int64_t)below((uint64_t)(MAX_N - nparts + 1)), first[MAX_PARTS + 1];
        draw_loads(n, load);
        for (int k = 0; k < 2; k++) {
            assert_ok(k ? eqp_cuts_optimal(n, load, nparts, NULL, first, NULL)
                        : eqp__cuts_from_shares(n, load, nparts, NULL, first));
            for (int p = 0; p < nparts; p++) {
                assert_true(first[p] < first[p + 1]);
            }
        }
    }
}

TEST(cuts_from_shares_miss_the_target_by_half_an_item)
{
    for (int round = 0; round < 2000; round++) {
        double load[MAX_N], space[MAX_PARTS], total = 0, biggest = 0, before = 0;
        int64_t n = 1 + (int64_t)below(MAX_N), first[MAX_PARTS + 1];
        int nparts = 2 + (int)below(MAX_PARTS - 1);
        for (int p = 0; p < nparts; p++) {
            space[p] = (p + 1) * 2.0 / (nparts * (nparts + 1.0));
        }
        draw_loads(n, load);
        for (int64_t i = 0; i < n; i++) {
            total += load[i];
            biggest = fmax(biggest, load[i]);
        }
        if (!(total > 0)) {
            continue;
        }
        assert_ok(eqp__cuts_from_shares(n, load, nparts, space, first));
        (void)largest(n, load, nparts, space, first);
        for (int p = 0; p < nparts; p++) {
            double sum = 0;
            before += space[p];
            for (int64_t i = 0; i < first[p + 1]; i++) {
                sum += load[i];
            }
            assert_true(fabs(sum - before * total) <= biggest / 2 + 1e-9 * total);
        }
    }
}

TEST(zero_loads_are_cut_by_number)
{
    const int64_t number[5] = {0, 3, 6, 9, 12};
    double load[12] = {0}, bottleneck = -1;
    int64_t first[5];

    assert_ok(eqp_cuts_optimal(12, load, 4, NULL, first, &bottleneck));
    assert_true(bottleneck == 0);
    assert_memory_equal(first, number, sizeof first);
    assert_ok(eqp__cuts_from_shares(12, load, 4, NULL, first));
    assert_memory_equal(first, number, sizeof first);
}

TEST(a_part_may_stay_empty_where_its_share_is_too_small)
{
    const double load[2] = {1, 1}, share[2] = {0.999, 0.001};
    int64_t first[3];

    assert_ok(eqp_cuts_optimal(2, load, 2, share, first, NULL));
    assert_int_equal(first[1], 2);
}

TEST(shares_that_are_equal_act_like_none)
{
    double load[MAX_N], share[7];
    int64_t with[8], without[8];

    for (int p = 0; p < 7; p++) {
        share[p] = 1.0 / 7;
    }
    for (int round = 0; round < 100; round++) {
        draw_loads(MAX_N, load);
        assert_ok(eqp_cuts_optimal(MAX_N, load, 7, share, with, NULL));
        assert_ok(eqp_cuts_optimal(MAX_N, load, 7, NULL, without, NULL));
        assert_memory_equal(with, without, sizeof with);
    }
}

TEST(a_large_real_case_is_within_one_item_of_the_mean)
{
    const int64_t n = 200000;
    const int nparts = 512;
    double *load = malloc((size_t)n * sizeof *load), total = 0, biggest = 0, bottleneck = 0;
    HEAP int64_t *first = malloc(((size_t)nparts + 1) * sizeof *first);

    assert_non_null(load);
    assert_non_null(first);
    for (int64_t i = 0; i < n; i++) {
        load[i] = pow(eqp_random_uniform(1, 2, (uint64_t)i) + 1e-3, -0.5);
        total += load[i];
        biggest = fmax(biggest, load[i]);
    }
    assert_ok(eqp_cuts_optimal(n, load, nparts, NULL, first, &bottleneck));
    assert_true(bottleneck >= total / nparts * (1 - 1e-12));
    assert_true(bottleneck <= total / nparts + biggest);
    assert_true(fabs(largest(n, load, nparts, NULL, first) - bottleneck) <= 1e-9 * bottleneck);
    free(load);
}

TEST(tiny_loads_behind_a_large_one_still_count)
{
    const int64_t n = 20001;
    HEAP double *load = malloc((size_t)n * sizeof *load);
    int64_t first[3];

    assert_non_null(load);
    load[0] = 1e16;
    for (int64_t i = 1; i < n; i++) {
        load[i] = 1;
    }
    assert_ok(eqp_cuts_optimal(n, load, 2, NULL, first, NULL));
    assert_int_equal(first[1], 1);
}

TEST(loads_and_shares_that_cannot_be_are_refused)
{
    static const double load[][3] = {{1, -2, 3}, {1, NAN, 3}, {1, INFINITY, 3}, {1e308, 1e308, 1e308}, {1, 2, 3}};
    static const double share[][2] = {{1, 1}, {1, 0}, {NAN, 1}, {0.5, 0.5}};
    int64_t first[3] = {-7, -7, -7};

    for (int k = 0; k < 5 + 4 - 2; k++) {
        const double *const loads = load[k < 4 ? k : 4], *const shares = share[k < 4 ? 3 : k - 4];
        assert_refused(eqp_cuts_optimal(3, loads, 2, shares, first, NULL));
        assert_refused(eqp__cuts_from_shares(3, loads, 2, shares, first));
    }
    assert_true(first[0] == -7 && first[2] == -7);
}
