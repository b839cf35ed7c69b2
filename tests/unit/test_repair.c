/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/frame.h"
#include "methods/frame/hypergraph.h"
#include "methods/frame/repair.h"

#include "unit.h"

#include <equipoise/more/random.h>

#define MAX_N 400
#define MAX_PARTS 20

static uint64_t draws;

static int below(int n)
{
    return (int)eqp_random_below(17, 1, draws++, (uint64_t)n);
}

/* The loads of repaired parts: their imbalance exceeds neither the tolerance nor the former one. */
static eqp_part_loads loads_of(int64_t n, const double *weight, int nparts, const double *share, double tol,
                               const int *part, const eqp_repair_result *r)
{
    eqp_part_loads loads;

    assert_ok(eqp__parts_load(n, weight, part, nparts, share, NULL, &loads));
    assert_true(loads.imbalance <= fmax(r->imbalance_before, tol) + 1e-9);
    return loads;
}

TEST(fine_items_always_reach_the_tolerance)
{
    for (int round = 0; round < 300; round++) {
        double weight[MAX_N], share[MAX_PARTS], total = 0, biggest = 0, smallest = 1;
        int part[MAX_N], nparts = 1 + below(MAX_PARTS);
        int64_t n = nparts + below(MAX_N - nparts);
        for (int64_t i = 0; i < n; i++) {
            weight[i] = below(4) ? eqp_random_uniform(1, 1, draws++) : 0.01;
            /* From all in one part to spread at random. */
            part[i] = round % 3 == 0 ? 0 : round % 3 == 1 ? below(1 + below(nparts)) : below(nparts);
            total += weight[i];
            biggest = fmax(biggest, weight[i]);
        }
        for (int p = 0; p < nparts; p++) {
            share[p] = 1 + p % 3;
        }
        double sum = 0;
        for (int p = 0; p < nparts; p++) {
            sum += share[p];
        }
        for (int p = 0; p < nparts; p++) {
            share[p] /= sum;
            smallest = fmin(smallest, share[p]);
        }
        double tol = biggest / (total * smallest);
        eqp_repair_result r;
        assert_ok(eqp__parts_repair(n, weight, NULL, nparts, share, tol, part, &r));
        assert_true(loads_of(n, weight, nparts, share, tol, part, &r).imbalance <= tol + 1e-9);
    }
}

TEST(coarse_items_come_near_the_best)
{
    /* 3 n items that pair up perfectly: an optimum without imbalance exists, but plain moves cannot find it. */
    for (int round = 0; round < 100; round++) {
        double weight[3 * MAX_PARTS];
        int part[3 * MAX_PARTS], nparts = 2 + below(MAX_PARTS - 1);
        for (int p = 0; p < nparts; p++) {
            double a = 20 + below(40), b = 5 + below(15);
            weight[3 * p] = a;
            weight[3 * p + 1] = b;
            weight[3 * p + 2] = 100 - a - b;
        }
        for (int i = 0; i < 3 * nparts; i++) {
            part[i] = below(nparts);
        }
        eqp_repair_result r;
        assert_ok(eqp__parts_repair(3 * nparts, weight, NULL, nparts, NULL, 0.05, part, &r));
        const eqp_part_loads loads = loads_of(3 * nparts, weight, nparts, NULL, 0.05, part, &r);
        assert_true(loads.imbalance <= 0.20);
        assert_int_equal(loads.empty, 0);
    }
}

TEST(heavy_items_find_places_among_small_items)
{
    enum { PARTS = 16, N = 2000 };
    double weight[N];
    int part[N];
    eqp_repair_result r;

    /* One heavy item per part, no two of which fit into one part; all start in random parts. */
    for (int i = 0; i < N; i++) {
        weight[i] = i % (N / PARTS) == 7 ? 60 + below(30) : 0.5;
        part[i] = weight[i] > 1 ? below(PARTS) : i * PARTS / N;
    }
    assert_ok(eqp__parts_repair(N, weight, NULL, PARTS, NULL, 0.02, part, &r));
    assert_true(r.imbalance_before > 0.5);
    assert_true(loads_of(N, weight, PARTS, NULL, 0.02, part, &r).imbalance <= 0.02 + 1e-9);
}

TEST(a_balanced_assignment_is_left_alone)
{
    double weight[MAX_N];
    int part[MAX_N], before[MAX_N];
    eqp_repair_result r;

    for (int i = 0; i < MAX_N; i++) {
        weight[i] = 1 + 0.001 * (i % 7);
        before[i] = part[i] = i % 8;
    }
    assert_ok(eqp__parts_repair(MAX_N, weight, NULL, 8, NULL, 0.02, part, &r));
    assert_int_equal(r.moved, 0);
    assert_memory_equal(part, before, sizeof part);
}

TEST(a_small_excess_moves_few_items)
{
    double weight[MAX_N];
    int part[MAX_N];
    eqp_repair_result r;

    for (int i = 0; i < MAX_N; i++) {
        weight[i] = 1;
        part[i] = i / (MAX_N / 8);
    }
    for (int i = 50; i < 60; i++) {
        part[i] = 0;
    }
    assert_ok(eqp__parts_repair(MAX_N, weight, NULL, 8, NULL, 0.02, part, &r));
    assert_true(loads_of(MAX_N, weight, 8, NULL, 0.02, part, &r).imbalance <= 0.02 + 1e-9);
    /* Part 0 has ten extra items, of which at most one may stay. */
    assert_in_range(r.moved, 9, 10);
}

TEST(items_at_the_end_of_a_run_go_to_the_neighbour)
{
    double weight[90];
    int part[90];
    eqp_repair_result r;

    for (int i = 0; i < 90; i++) {
        weight[i] = 1;
        part[i] = i < 40 ? 0 : i < 60 ? 1 : 2;
    }
    assert_ok(eqp__parts_repair(90, weight, NULL, 3, NULL, 0.0, part, &r));
    assert_int_equal(r.moved, 10);
    for (int i = 0; i < 90; i++) {
        assert_int_equal(part[i], i / 30);
    }
}

TEST(items_go_where_they_share_hyperedges)
{
    /* Parts 0, 1, 2 alternate so that no item of part 0 has a neighbour with room; its items 0, 6, ... share an id with
     * part 2, which has as much room as part 1. */
    enum { N = 60 };
    double weight[N];
    int part[N];
    int64_t first[N + 1], pin[N];
    FREED_BY(eqp__hypergraph_free) eqp_hypergraph graph = {0};
    eqp_repair_result r;

    for (int i = 0; i < N; i++) {
        weight[i] = 1;
        part[i] = i < 30 ? 0 : i < 32 ? 3 : i < 46 ? 1 : 2;
        first[i] = i;
        pin[i] = part[i] == 2 || (i < 30 && i >= 10 && i < 20) ? 7 : 100 + part[i];
    }
    weight[30] = weight[31] = 12; /* keeps the neighbour along the curve full */
    first[N] = N;
    assert_ok(eqp__hypergraph_create(N, first, pin, &graph));
    assert_ok(eqp__parts_repair(N, weight, &graph, 4, NULL, 0.2, part, &r));
    assert_true(loads_of(N, weight, 4, NULL, 0.2, part, &r).imbalance <= 0.2 + 1e-9);
    for (int i = 0; i < 30; i++) {
        assert_true(part[i] == 0 || (part[i] == 2 && i >= 10 && i < 20));
    }
}

TEST(no_part_stays_empty_where_items_suffice)
{
    for (int round = 0; round < 300; round++) {
        double weight[MAX_N];
        int part[MAX_N], nparts = 1 + below(MAX_PARTS), n = 1 + below(2 * MAX_PARTS);
        for (int i = 0; i < n; i++) {
            weight[i] = round % 4 == 0 ? 0 : below(3) * below(100);
            part[i] = round % 2 ? nparts - 1 : below(nparts);
        }
        eqp_repair_result r;
        assert_ok(eqp__parts_repair(n, weight, NULL, nparts, NULL, 0.1, part, &r));
        assert_int_equal(loads_of(n, weight, nparts, NULL, 0.1, part, &r).empty, n >= nparts ? 0 : nparts - n);
    }
}

TEST(an_item_too_large_gets_a_part_of_its_own)
{
    const double weight[5] = {100, 1, 1, 1, 1};
    int part[5] = {0, 0, 1, 1, 1};
    eqp_repair_result r;

    assert_ok(eqp__parts_repair(5, weight, NULL, 2, NULL, 0.02, part, &r));
    assert_near(loads_of(5, weight, 2, NULL, 0.02, part, &r).imbalance, 100 / 52.0 - 1, 1e-12);
    assert_int_equal(r.moved, 1);
    assert_int_equal(part[1], 1);
}

TEST(a_tiny_share_may_stay_empty)
{
    const double weight[3] = {1, 1, 1}, share[2] = {0.999, 0.001};
    int part[3] = {0, 0, 0};
    eqp_repair_result r;

    assert_ok(eqp__parts_repair(3, weight, NULL, 2, share, 0.02, part, &r));
    assert_int_equal(r.moved, 0);
}

TEST(the_same_input_gives_the_same_repair)
{
    double weight[MAX_N];
    int start[MAX_N], one[MAX_N], two[MAX_N];
    eqp_repair_result r1, r2;

    for (int i = 0; i < MAX_N; i++) {
        weight[i] = 1 + below(5);
        start[i] = below(3);
    }
    memcpy(one, start, sizeof one);
    memcpy(two, start, sizeof two);
    assert_ok(eqp__parts_repair(MAX_N, weight, NULL, 9, NULL, 0.01, one, &r1));
    assert_ok(eqp__parts_repair(MAX_N, weight, NULL, 9, NULL, 0.01, two, &r2));
    assert_memory_equal(one, two, sizeof one);
    assert_int_equal(r1.moved, r2.moved);
}
