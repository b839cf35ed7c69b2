/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of messages and collective calls, and the model fitted to timings. */

#include "move/evaluation.h"
#include "move/network.h"
#include "unit.h"

enum { SIZES = 6, RANKS = 24 };

static const double sizes[SIZES] = {0, 64, 1024, 8192, 65536, 1048576};

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

TEST(one_outlier_does_not_bend_the_line)
{
    for (int wrong = -1; wrong < SIZES; wrong++) {
        double seconds[SIZES], alpha = -1, beta = -1;
        for (int i = 0; i < SIZES; i++) {
            seconds[i] = (2e-6 + 1e-9 * sizes[i]) * (i == wrong ? 7 : 1);
        }
        eqp__network_fit(SIZES, sizes, seconds, &alpha, &beta);
        assert_true(is_near(alpha, 2e-6) && is_near(beta, 1e-9));
    }
}

/* Neither cost is below 0, whatever the clock says. */
TEST(fitted_lines_have_no_negative_coefficients)
{
    const double less[] = {3e-6, 2e-6, 1e-6}, more[] = {1e-9, 1e-6, 1e-4}, bytes[] = {1, 100, 10000};
    double alpha = -1, beta = -1;

    eqp__network_fit(3, bytes, less, &alpha, &beta);
    assert_true(alpha == 1e-6 && beta == 0); /* relative to what was timed, that is least wrong */
    eqp__network_fit(3, bytes, more, &alpha, &beta);
    assert_true(alpha >= 0 && beta > 0);
    eqp__network_fit(1, bytes, less, &alpha, &beta);
    assert_true(is_near(alpha + beta * bytes[0], less[0]));
}

TEST(pairs_are_of_two_nodes_where_ranks_are_on_several)
{
    for (int n = 1; n <= RANKS; n++) {
        for (int nodes = 1; nodes <= n; nodes++) {
            for (int cyclic = 0; cyclic < 2; cyclic++) {
                int node[RANKS], partner[RANKS], alone = 0, apart = 0;
                for (int r = 0; r < n; r++) {
                    node[r] = cyclic ? r % nodes : r * nodes / n;
                }
                const bool any = eqp__network_pairs(n, node, partner);
                for (int r = 0; r < n; r++) {
                    const int other = partner[r];
                    alone += other < 0;
                    assert_true(other < 0 || (other != r && other < n && partner[other] == r));
                    apart += other >= 0 && node[other] != node[r];
                }
                assert_int_equal(alone, n % 2);
                assert_int_equal(any, apart > 0);
                assert_int_equal(apart > 0, nodes > 1);
                assert_true(nodes == 1 || n % nodes != 0 || apart == n - n % 2);
            }
        }
    }
}

TEST(collective_calls_default_to_the_cost_of_messages)
{
    const eqp_network plain = {.alpha = 2e-6, .beta = 1e-9, .node = 1};
    const eqp_network told = {
        .alpha = 2e-6, .beta = 1e-9, .node = 1, .reduce = 1e-6, .gather = 5e-6, .gather_byte = 3e-9};
    int64_t bytes[5] = {100, 0, 0, 50, 0};
    double seconds[5] = {0};
    const eqp_traffic traffic = {.seconds = seconds};

    assert_true(is_near(eqp__network_reduction(&plain, 5), 3 * 2e-6));
    assert_true(is_near(eqp__network_gathering(&plain, 5, 150), 3 * 2e-6 + 150e-9));
    assert_true(is_near(eqp__network_reduction(&told, 8), 3e-6) && eqp__network_reduction(&told, 1) == 0);
    assert_true(is_near(eqp__network_gathering(&told, 9, 10), 4 * 5e-6 + 30e-9));
    assert_ok(eqp__exchange_count_all(bytes, 5, &told, &traffic));
    for (int p = 0; p < 5; p++) {
        assert_true(is_near(seconds[p], eqp__network_gathering(&told, 5, (double)(150 - bytes[p]))));
    }
}

TEST(negative_costs_are_refused)
{
    const double bad[] = {-1, NAN, INFINITY};
    eqp_network network = EQP_NETWORK_DEFAULTS;

    assert_true(eqp__network_valid(&network));
    for (int i = 0; i < 3; i++) {
        double *const cost[] = {&network.alpha, &network.beta, &network.reduce, &network.gather, &network.gather_byte};
        for (int k = 0; k < 5; k++) {
            const double was = *cost[k];
            *cost[k] = bad[i];
            assert_false(eqp__network_valid(&network));
            *cost[k] = was;
        }
    }
    network.node = 0;
    assert_false(eqp__network_valid(&network));
}
