/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/policy.h"
#include "unit.h"

/* 10 steps; the slowest rank takes 4 s, the mean 3 s, a global method reaches 3.2 s and decides within 0.5 s; 80
 * elements of 100 bytes at 0.001 s a byte, 0.25 s a message. */
static eqp_gain_case example(void)
{
    return (eqp_gain_case){.steps = 10,
                           .load_max = 4.0,
                           .load_mean = 3.0,
                           .load_reached = 3.2,
                           .decision_seconds = 0.5,
                           .diffusive_seconds = 0.125,
                           .elements_max = 80.0,
                           .element_bytes = 100.0,
                           .alpha = 0.25,
                           .beta = 0.001};
}

static double none(const eqp_gain_case *of)
{
    double seconds = -1.0;

    assert_ok(eqp__gain_none(of, &seconds));
    return seconds;
}

static double global(const eqp_gain_case *of)
{
    double seconds = -1.0;

    assert_ok(eqp__gain_global(of, &seconds));
    return seconds;
}

static double diffusive(const eqp_gain_case *of, int64_t n, const double *load_max, const double *moved_max)
{
    double seconds = -1.0;

    assert_ok(eqp__gain_diffusive(of, n, load_max, moved_max, &seconds));
    return seconds;
}

TEST(equations_by_hand)
{
    const double load[] = {3.5, 3.25}, moved[] = {10.0, 5.0};
    eqp_gain_case of = example();

    assert_near(none(&of), 40.0, 1e-12); /* 10 x 4 */
    /* A quarter of 80 elements moves: 0.5 + 0.25 + 0.001 x 100 x 20 + 10 x 3.2. */
    assert_near(global(&of), 34.75, 1e-12);
    /* 2 x (0.125 + 0.25) + 0.1 x 15 + 3.5 + 3.25, then eight steps of 3.25. */
    assert_near(diffusive(&of, 2, load, moved), 35.0, 1e-12);
    assert_near(diffusive(&of, 0, NULL, NULL), 40.0, 1e-12);
    of.steps = 1; /* the second simulated step does not come */
    assert_near(diffusive(&of, 2, load, moved), 0.375 + 1.0 + 3.5, 1e-12);
    of.steps = 0;
    assert_near(none(&of), 0.0, 0.0);
    assert_near(diffusive(&of, 2, load, moved), 0.0, 0.0);
}

TEST(equations_as_printed_by_hand)
{
    const double load[] = {3.5, 3.25}, moved[] = {10.0, 5.0};
    eqp_gain_case of = example();

    of.as_printed = true;
    assert_near(none(&of), 40.0, 1e-12);
    /* 80 x 3 / (4 - 3) = 240 elements, three times those that are there: 0.5 + 0.25 + 24 + 10 x 3. */
    assert_near(global(&of), 54.75, 1e-12);
    /* One step more than above. */
    assert_near(diffusive(&of, 2, load, moved), 35.0 + 3.25, 1e-12);
}

/* The elements to move decrease towards balance; by the printed formula they grow without bound. */
TEST(small_imbalances_move_few_elements)
{
    eqp_gain_case of = example();
    double last = INFINITY, last_printed = 0.0;

    of.load_reached = of.load_mean;
    for (double above = 1.0; above > 1e-6; above /= 2.0) {
        of.load_max = of.load_mean + above;
        of.as_printed = false;
        assert_true(global(&of) < last);
        last = global(&of);
        of.as_printed = true;
        assert_true(global(&of) > last_printed);
        last_printed = global(&of);
    }
    of.load_max = of.load_mean;
    assert_true(global(&of) == INFINITY);
    of.beta = 0.0; /* infinitely many elements that cost nothing */
    assert_near(global(&of), 0.75 + 30.0, 1e-12);
    of.as_printed = false;
    assert_near(global(&of), 0.75 + 30.0, 1e-12);
}

static eqp_gain_kind chosen(const eqp_gain_case *of, int64_t n, const double *load_max, const double *moved_max)
{
    eqp_gain_choice choice;

    assert_ok(eqp__gain_choose(of, n, load_max, moved_max, &choice));
    assert_true(choice.none == none(of) && choice.global == global(of) &&
                choice.diffusive == diffusive(of, n, load_max, moved_max));
    return choice.kind;
}

TEST(the_cheapest_kind_is_chosen)
{
    const double good[] = {3.3, 3.0}, bad[] = {4.0, 4.0}, moved[] = {5.0, 5.0}, nothing[] = {0.0, 0.0};
    eqp_gain_case of = example();

    assert_int_equal(chosen(&of, 2, bad, moved), EQP_GAIN_GLOBAL);
    assert_int_equal(chosen(&of, 2, good, moved), EQP_GAIN_DIFFUSIVE);
    of.steps = 1; /* nothing pays within a step */
    assert_int_equal(chosen(&of, 2, good, moved), EQP_GAIN_NONE);
    of.steps = 10;
    of.load_reached = of.load_max; /* a method that reaches nothing is not called, although the mean is far below */
    assert_int_equal(chosen(&of, 0, NULL, NULL), EQP_GAIN_NONE);
    /* Of equal methods, the one that does less. */
    of.alpha = of.beta = of.diffusive_seconds = of.decision_seconds = 0.0;
    assert_int_equal(chosen(&of, 2, bad, nothing), EQP_GAIN_NONE);
    of.load_reached = 3.0;
    assert_int_equal(chosen(&of, 2, (double[]){3.0, 3.0}, nothing), EQP_GAIN_DIFFUSIVE);
}

TEST(wrong_cases_are_refused)
{
    const double fine[] = {3.0}, negative[] = {-1.0}, endless[] = {INFINITY};
    eqp_gain_case wrong[9];
    eqp_gain_choice choice = {.kind = EQP_GAIN_GLOBAL, .none = 7.0};
    double seconds = 7.0;

    for (int i = 0; i < 9; i++) {
        wrong[i] = example();
    }
    wrong[0].load_max = -1.0;
    wrong[1].load_mean = NAN;
    wrong[2].load_reached = INFINITY;
    wrong[3].decision_seconds = -1.0;
    wrong[4].diffusive_seconds = NAN;
    wrong[5].elements_max = -1.0;
    wrong[6].element_bytes = INFINITY;
    wrong[7].alpha = -1.0;
    wrong[8].beta = NAN;
    for (int i = 0; i < 9; i++) {
        assert_int_equal(eqp__gain_none(&wrong[i], &seconds), EQP_ERR_DATA);
        assert_int_equal(eqp__gain_global(&wrong[i], &seconds), EQP_ERR_DATA);
        assert_int_equal(eqp__gain_diffusive(&wrong[i], 0, NULL, NULL, &seconds), EQP_ERR_DATA);
        assert_int_equal(eqp__gain_choose(&wrong[i], 0, NULL, NULL, &choice), EQP_ERR_DATA);
    }
    const eqp_gain_case of = example();
    wrong[0] = of;
    wrong[0].steps = -1;
    assert_refused(eqp__gain_none(&wrong[0], &seconds));
    assert_refused(eqp__gain_diffusive(&of, -1, fine, fine, &seconds));
    assert_refused(eqp__gain_diffusive(&of, 1, fine, NULL, &seconds));
    assert_int_equal(eqp__gain_diffusive(&of, 1, negative, fine, &seconds), EQP_ERR_DATA);
    assert_int_equal(eqp__gain_diffusive(&of, 1, fine, endless, &seconds), EQP_ERR_DATA);
    assert_int_equal(eqp__gain_choose(&of, 1, endless, fine, &choice), EQP_ERR_DATA);
    assert_true(seconds == 7.0 && choice.none == 7.0 && choice.kind == EQP_GAIN_GLOBAL);
}
