/* SPDX-License-Identifier: BSD-3-Clause */
/* Expected cost of maps over their lives, and the share of a run that trials may take. */

#include "decide/outlook.h"
#include "unit.h"

static const eqp_ageing nothing = {{0.0}, {0.0}};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b));
}

/* Maps that lose `a` more of an even step with each step. */
static eqp_ageing linear(double a, int64_t until)
{
    eqp_ageing ageing = nothing;

    for (int64_t age = 1; age <= until; age++) {
        eqp__ageing_learn(&ageing, age, a * (double)age);
    }
    return ageing;
}

TEST(observed_ageing_is_expected)
{
    eqp_ageing ageing = nothing;
    double rise[EQP__AGES];

    assert_false(eqp__ageing_known(&ageing));
    eqp__ageing_expect(&ageing, NULL, rise);
    for (int b = 0; b < EQP__AGES; b++) {
        assert_true(rise[b] == 0.0);
    }
    eqp__ageing_learn(&ageing, 1, 0.1);
    eqp__ageing_learn(&ageing, 2, 0.2);
    eqp__ageing_learn(&ageing, 3, 0.4);
    eqp__ageing_learn(&ageing, 0, 7.0); /* a fresh map has no age */
    eqp__ageing_learn(&ageing, 4, NAN);
    assert_true(eqp__ageing_known(&ageing));
    eqp__ageing_expect(&ageing, NULL, rise);
    assert_true(near(rise[0], 0.1) && near(rise[1], 0.3));
    assert_true(near(rise[2], 0.3 * sqrt(2.0)) && near(rise[5], 0.3 * 4.0)); /* beyond: the root of the age */
    eqp__ageing_learn(&ageing, INT64_MAX, 0.5);
    eqp__ageing_expect(&ageing, NULL, rise);
    assert_true(near(rise[5], 0.5));
    for (int i = 0; i < 1000; i++) { /* a run changes */
        eqp__ageing_learn(&ageing, 1, -1.0);
    }
    eqp__ageing_expect(&ageing, NULL, rise);
    assert_true(rise[0] == 0.0);
}

/* Ages at which a kind was never observed use the average of all kinds, scaled by the kind's own observations. */
TEST(a_new_kind_ages_like_all_others)
{
    const eqp_ageing all = linear(0.01, 40);
    eqp_ageing fast = nothing;
    double usual[EQP__AGES], rise[EQP__AGES];

    eqp__ageing_expect(&all, NULL, usual);
    eqp__ageing_expect(&nothing, &all, rise);
    for (int b = 0; b < EQP__AGES; b++) {
        assert_true(near(rise[b], usual[b]));
    }
    for (int i = 0; i < 14; i++) {
        eqp__ageing_learn(&fast, 1, 3.0 * usual[0]);
    }
    eqp__ageing_expect(&fast, &all, rise);
    for (int b = 0; b < EQP__AGES; b++) {
        assert_true(rise[b] > 2.0 * usual[b] && rise[b] <= 3.0 * usual[b] * (1.0 + 1e-12));
    }
}

/* Brute force over steps. */
static double cost_by_steps(const eqp_prospect *of, const double rise[EQP__AGES], int life)
{
    double sum = of->paid;

    for (int k = 0; k < life; k++) {
        int bin = 0;
        while (bin < EQP__AGES - 1 && k >= 1 << (bin + 1)) {
            bin++;
        }
        sum += of->step + (k > 0 ? of->even * rise[bin] : 0.0);
    }
    return sum / life;
}

TEST(the_cost_covers_all_steps)
{
    const eqp_ageing ageing = linear(0.02, 70);
    const eqp_prospect of = {.step = 1.1, .even = 1.0, .paid = 3.0, .price = 3.0, .ageing = &ageing};
    double rise[EQP__AGES];

    eqp__ageing_expect(&ageing, NULL, rise);
    for (int life = 1; life <= 80; life++) {
        const eqp_lives lives = {.usual = life, .most = 1000.0};
        assert_true(eqp__prospect_life(&lives, &of) == life);
        assert_true(near(eqp__prospect_cost(&lives, &of), cost_by_steps(&of, rise, life)));
    }
    const eqp_lives end = {.usual = 50.0, .most = 4.0};
    assert_true(eqp__prospect_life(&end, &of) == 4.0);
    const eqp_lives ever = {.usual = 1e15, .most = 1e15};
    assert_true(isfinite(eqp__prospect_cost(&ever, &of)));
}

/* A policy that waits until ageing has cost what a map costs renews cheap maps often and expensive ones seldom. */
TEST(a_map_lasts_until_it_has_lost_its_price)
{
    const eqp_ageing ageing = linear(0.02, 40);
    const eqp_lives lives = {.usual = 50.0, .most = 1e6, .by_loss = true};
    double before = 0.0, rise[EQP__AGES];

    eqp__ageing_expect(&ageing, NULL, rise);
    for (double price = 0.05; price < 20.0; price *= 2.0) {
        const eqp_prospect of = {.step = 1.0, .even = 1.0, .paid = price, .price = price, .ageing = &ageing};
        const double life = eqp__prospect_life(&lives, &of);
        const eqp_prospect free_of = {.even = 1.0, .price = price, .ageing = &ageing};
        assert_true(life == floor(life) && life >= before && life > 1.0);
        assert_true(cost_by_steps(&free_of, rise, (int)life) * life >= price * (1.0 - 1e-12));
        assert_true(cost_by_steps(&free_of, rise, (int)life - 1) * (life - 1.0) < price);
        before = life;
    }
    const eqp_prospect unknown = {.step = 1.0, .even = 1.0, .paid = 1.0, .price = 1.0, .ageing = &nothing};
    assert_true(eqp__prospect_life(&lives, &unknown) == 50.0);
}

/* A method with a longer fresh step wins only where the other one ages. */
TEST(ageing_decides)
{
    const eqp_ageing fast = linear(0.05, 40), slow = linear(0.001, 40);
    const eqp_prospect a = {.step = 1.00, .even = 0.9, .paid = 0.1, .price = 0.1, .ageing = &fast};
    const eqp_prospect b = {.step = 1.05, .even = 0.9, .paid = 0.1, .price = 0.1, .ageing = &slow};

    for (int by_loss = 0; by_loss < 2; by_loss++) {
        const eqp_lives once = {.usual = 1.0, .most = 1.0, .by_loss = by_loss}, many = {50.0, 50.0, by_loss, NULL};
        assert_true(eqp__prospect_cost(&once, &a) < eqp__prospect_cost(&once, &b));
        assert_true(eqp__prospect_cost(&many, &a) > eqp__prospect_cost(&many, &b));
    }
}

TEST(an_old_map_ages_less)
{
    const eqp_ageing ageing = linear(0.02, 64);
    const eqp_lives lives = {.usual = 20.0, .most = 20.0};
    double before = INFINITY;

    for (int64_t age = 0; age <= 64; age += 16) {
        const eqp_prospect of = {.step = 1.0, .even = 1.0, .age = age, .ageing = &ageing};
        const double cost = eqp__prospect_cost(&lives, &of);
        assert_true(cost >= 1.0 && cost < before + 1e-15);
        before = cost;
    }
    assert_true(before == 1.0); /* nothing is known of older maps */
}

TEST(the_shortest_next_step_is_picked)
{
    const double step[] = {1.0, 0.9, 1.2, 0.9}, next[] = {1.5, 1.9, 1.4, 1.4}, part[] = {1.5, NAN, 1.4, 1.4};

    assert_int_equal(eqp__outlook_pick(4, step, next), 2); /* of equal ones the first */
    assert_int_equal(eqp__outlook_pick(4, step, part), 1); /* one is not known: as they are now */
    assert_int_equal(eqp__outlook_pick(1, step, next), 0);
}

/* A run that makes a trial whenever allowed: trials take less than a fiftieth of the run and of one life, and never
 * stop. */
TEST(trials_keep_to_their_share)
{
    const double step = 1.0, life = 50.0, trial = 1.7;
    double run = 0.0, spent = 0.0, first = 0.0, second = 0.0;

    for (int t = 0; t < 20000; t++) {
        if (eqp__trials_left(run, life * step, spent) >= trial) {
            spent += trial;
            run += trial;
        }
        run += step;
        assert_true(spent <= 0.02 * (run + life * step));
        first = t == 9999 ? spent : first;
    }
    second = spent - first;
    assert_true(first > 0.0 && second > 0.9 * first);
    assert_true(spent > 0.019 * run);
}
