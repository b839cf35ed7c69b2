/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/frame.h"

#include "unit.h"

#include <equipoise/more/random.h>

static uint64_t draws;

static int below(int n)
{
    return (int)eqp_random_below(13, 1, draws++, (uint64_t)n);
}

TEST(loads_and_imbalance_are_those_of_the_definition)
{
    const double weight[5] = {1, 2, 3, 4, 5}, share[3] = {0.5, 0.25, 0.25};
    const int part[5] = {0, 0, 1, 1, 0};
    double load[3];
    eqp_part_loads loads;

    assert_ok(eqp__parts_load(5, weight, part, 3, NULL, load, &loads));
    assert_true(load[0] == 8 && load[1] == 7 && load[2] == 0);
    assert_true(loads.total == 15 && loads.max == 8 && loads.mean == 5);
    assert_true(fabs(loads.imbalance - 0.6) < 1e-12);
    assert_int_equal(loads.heaviest, 0);
    assert_int_equal(loads.empty, 1);
    assert_ok(eqp__parts_load(5, weight, part, 3, share, NULL, &loads));
    assert_int_equal(loads.heaviest, 1);
    assert_true(fabs(loads.imbalance - (7 / (15 * 0.25) - 1)) < 1e-12);
}

TEST(nothing_has_no_imbalance)
{
    const double weight[2] = {0, 0};
    const int part[2] = {0, 0};
    eqp_part_loads loads = {.empty = -1};

    assert_ok(eqp__parts_load(0, NULL, NULL, 4, NULL, NULL, &loads));
    assert_true(loads.imbalance == 0);
    assert_int_equal(loads.empty, 4);
    assert_ok(eqp__parts_load(2, weight, part, 3, NULL, NULL, &loads));
    assert_true(loads.imbalance == 0);
    assert_int_equal(loads.empty, 2);
}

TEST(overlaps_add_up_to_the_weights_of_known_items)
{
    for (int round = 0; round < 200; round++) {
        enum { N = 60, PARTS = 7 };
        int fresh[N], now[N];
        double weight[N], table[PARTS][PARTS] = {{0}};
        int64_t count = -1, filled = 0;
        HEAP eqp_overlap *list = NULL;
        for (int i = 0; i < N; i++) {
            fresh[i] = below(PARTS);
            now[i] = below(PARTS + 2) - 1;
            weight[i] = 1 + below(9);
            if (now[i] >= 0 && now[i] < PARTS) {
                filled += !(table[fresh[i]][now[i]] > 0);
                table[fresh[i]][now[i]] += weight[i];
            }
        }
        assert_ok(eqp__overlaps_collect(N, fresh, now, weight, PARTS, &count, &list));
        assert_int_equal(count, filled);
        for (int64_t k = 0; k < count; k++) {
            assert_true(list[k].weight == table[list[k].fresh][list[k].now]);
            assert_true(k == 0 || list[k - 1].fresh < list[k].fresh ||
                        (list[k - 1].fresh == list[k].fresh && list[k - 1].now < list[k].now));
        }
    }
}

static double kept(const double *table, int nparts, const int *number)
{
    double sum = 0;

    for (int p = 0; p < nparts; p++) {
        sum += table[p * nparts + number[p]];
    }
    return sum;
}

/* The most that any permutation keeps, by trying all of them. */
static double most_kept(const double *table, int nparts, int *number, int at)
{
    double best = 0;

    if (at == nparts) {
        return kept(table, nparts, number);
    }
    for (int k = at; k < nparts; k++) {
        int swap = number[at];
        number[at] = number[k];
        number[k] = swap;
        best = fmax(best, most_kept(table, nparts, number, at + 1));
        number[k] = number[at];
        number[at] = swap;
    }
    return best;
}

TEST(relabelling_keeps_at_least_half_of_the_most)
{
    for (int round = 0; round < 300; round++) {
        int nparts = 1 + below(6), number[6], all[6], used[6] = {0};
        double table[36] = {0};
        eqp_overlap list[72];
        int64_t n = 0;
        for (; n < 2 * nparts * nparts; n++) {
            list[n] = (eqp_overlap){below(nparts), below(nparts), below(50)};
            table[list[n].fresh * nparts + list[n].now] += list[n].weight;
        }
        assert_ok(eqp__parts_relabel(nparts, NULL, n, list, number));
        for (int p = 0; p < nparts; p++) {
            assert_in_range(number[p], 0, nparts - 1);
            used[number[p]]++;
            all[p] = p;
        }
        for (int p = 0; p < nparts; p++) {
            assert_int_equal(used[p], 1);
        }
        assert_true(2 * kept(table, nparts, number) >= most_kept(table, nparts, all, 0));
    }
}

TEST(a_renumbered_assignment_gets_its_old_numbers)
{
    enum { N = 300, PARTS = 9 };
    int now[N], fresh[N], number[PARTS];
    int64_t count = 0;
    HEAP eqp_overlap *list = NULL;

    for (int i = 0; i < N; i++) {
        now[i] = i % PARTS;
        fresh[i] = (now[i] * 4 + 5) % PARTS;
    }
    assert_ok(eqp__overlaps_collect(N, fresh, now, NULL, PARTS, &count, &list));
    assert_ok(eqp__parts_relabel(PARTS, NULL, count, list, number));
    for (int i = 0; i < N; i++) {
        assert_int_equal(number[fresh[i]], now[i]);
    }
}

TEST(parts_without_overlap_keep_their_number)
{
    const eqp_overlap one = {0, 2, 5};
    int number[5];

    assert_ok(eqp__parts_relabel(5, NULL, 1, &one, number));
    assert_memory_equal(number, ((const int[]){2, 1, 0, 3, 4}), sizeof number);
}

TEST(parts_of_unequal_share_do_not_change_places)
{
    const double share[4] = {0.1, 0.4, 0.1, 0.4};
    const eqp_overlap list[4] = {{0, 1, 100}, {1, 0, 100}, {0, 2, 1}, {1, 3, 1}};
    int number[4];

    assert_ok(eqp__parts_relabel(4, share, 4, list, number));
    for (int p = 0; p < 4; p++) {
        assert_true(share[p] == share[number[p]]);
    }
    assert_int_equal(number[0], 2);
    assert_int_equal(number[1], 3);
}

TEST(a_cycle_by_hand)
{
    /* Two phases: mean 2, largest 3; mean 1, largest 2. */
    static const double load[] = {1, 1, 1, 0, 2, 1, 0, 0}, times[] = {1, 4};
    static const int part[] = {0, 1, 0, 1};
    eqp_cycle c;

    assert_ok(eqp__cycle_measure(4, load, part, 2, times, 2, NULL, &c));
    assert_near(c.imbalance[0], 0.5, 1e-15);
    assert_near(c.imbalance[1], 1, 1e-15);
    assert_near(c.imbalance[2], 0, 0);
    assert_near(c.worst, 1, 1e-15);
    assert_int_equal(c.worst_phase, 1);
    assert_near(c.efficiency, (2 + 4 * 1.0) / (3 + 4 * 2), 1e-15);
    assert_ok(eqp__cycle_measure(4, load, part, 2, NULL, 2, NULL, &c));
    assert_near(c.efficiency, (2 + 1.0) / (3 + 2), 1e-15);
}

TEST(shares_scale_loads)
{
    static const double load[] = {3, 1, 1, 1}, share[] = {0.75, 0.25};
    eqp_cycle c;

    assert_ok(eqp__cycle_of_parts(2, load, 2, NULL, share, &c));
    assert_near(c.imbalance[0], 0, 1e-15); /* proportional to the shares */
    assert_near(c.imbalance[1], 1, 1e-15); /* the small part has twice its share */
    assert_near(c.efficiency, 3.0 / 4, 1e-15);
}

TEST(nothing_is_even)
{
    static const double load[] = {0, 2, 0, 2};
    eqp_cycle c;

    assert_ok(eqp__cycle_measure(0, NULL, NULL, 16, NULL, 3, NULL, &c));
    assert_near(c.efficiency, 1, 0);
    assert_near(c.worst, 0, 0);
    assert_ok(eqp__cycle_of_parts(2, load, 2, NULL, NULL, &c));
    assert_near(c.efficiency, 1, 0);
    assert_near(c.imbalance[0], 0, 0);
}

TEST(loads_without_a_finite_sum_have_no_cycle)
{
    const double huge[] = {1e308, 1e308};
    const int alike[] = {0, 0};
    eqp_cycle c = {.worst_phase = -7};

    assert_int_equal(eqp__cycle_measure(2, huge, alike, 1, NULL, 2, NULL, &c), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp__cycle_of_parts(2, huge, 1, NULL, NULL, &c), EQP_ERR_OVERFLOW);
    assert_int_equal(c.worst_phase, -7);
}
