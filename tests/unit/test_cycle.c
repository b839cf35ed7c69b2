/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/frame.h"

#include "unit.h"

TEST(a_cycle_by_hand)
{
    /* Two phases: mean 2, largest 3; mean 1, largest 2. */
    static const double load[] = {1, 1, 1, 0, 2, 1, 0, 0}, times[] = {1, 4};
    static const int part[] = {0, 1, 0, 1};
    double of_part[4];
    eqp_cycle c;

    assert_ok(eqp__cycle_measure(4, load, part, 2, times, 2, NULL, of_part, &c));
    assert_near(of_part[0], 3, 0);
    assert_near(of_part[1], 2, 0);
    assert_near(of_part[2], 1, 0);
    assert_near(of_part[3], 0, 0);
    assert_near(c.imbalance[0], 0.5, 1e-15);
    assert_near(c.imbalance[1], 1, 1e-15);
    assert_near(c.imbalance[2], 0, 0);
    assert_near(c.worst, 1, 1e-15);
    assert_int_equal(c.worst_phase, 1);
    assert_near(c.efficiency, (2 + 4 * 1.0) / (3 + 4 * 2), 1e-15);
    assert_ok(eqp__cycle_measure(4, load, part, 2, NULL, 2, NULL, NULL, &c));
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

    assert_ok(eqp__cycle_measure(0, NULL, NULL, 16, NULL, 3, NULL, NULL, &c));
    assert_near(c.efficiency, 1, 0);
    assert_near(c.worst, 0, 0);
    assert_ok(eqp__cycle_of_parts(2, load, 2, NULL, NULL, &c));
    assert_near(c.efficiency, 1, 0);
    assert_near(c.imbalance[0], 0, 0);
}

TEST(wrong_arguments_change_nothing)
{
    const double load[] = {1, 1}, nan[] = {1, NAN}, negative[] = {1, -1}, huge[] = {1e308, 1e308}, none[] = {1, 0},
                 share[] = {0.6, 0.6};
    const int part[] = {0, 1}, outside[] = {0, 2}, alike[] = {0, 0};
    double of_part[4] = {-7, -7, -7, -7};
    eqp_cycle c, before;

    memset(&c, 7, sizeof c);
    before = c;
    assert_refused(eqp__cycle_measure(2, nan, part, 1, NULL, 2, NULL, of_part, &c));
    assert_refused(eqp__cycle_measure(2, negative, part, 1, NULL, 2, NULL, of_part, &c));
    assert_refused(eqp__cycle_measure(2, load, outside, 1, NULL, 2, NULL, of_part, &c));
    assert_refused(eqp__cycle_measure(2, load, part, 0, NULL, 2, NULL, of_part, &c));
    assert_refused(eqp__cycle_measure(1, load, part, 2, none, 2, NULL, of_part, &c));
    assert_refused(eqp__cycle_measure(1, load, part, 2, nan, 2, NULL, of_part, &c));
    assert_refused(eqp__cycle_measure(2, load, part, 1, NULL, 2, share, of_part, &c));
    assert_refused(eqp__cycle_measure(2, load, part, 1, NULL, 0, NULL, of_part, &c));
    assert_refused(eqp__cycle_measure(-1, load, part, 1, NULL, 1, NULL, of_part, &c));
    assert_int_equal(eqp__cycle_measure(2, huge, alike, 1, NULL, 2, NULL, of_part, &c), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp__cycle_of_parts(2, huge, 1, NULL, NULL, &c), EQP_ERR_OVERFLOW);
    assert_refused(eqp__cycle_of_parts(1, load, EQP_CYCLE_PHASES + 1, NULL, NULL, &c));
    assert_memory_equal(&c, &before, sizeof c);
    assert_near(of_part[0], -7, 0);
}
