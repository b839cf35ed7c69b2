/* SPDX-License-Identifier: BSD-3-Clause */
#include "numeric.h"

#include <equipoise/lazy.h>

#include <limits.h>

static eqp_seconds_fit fitted(int n, const int *ranks, const double *seconds)
{
    eqp_seconds_fit fit = {-1.0, -1.0, -1.0};

    assert_int_equal(eqp_seconds_fit_compute(n, ranks, seconds, &fit), EQP_OK);
    return fit;
}

static void a_fit_finds_what_was_put_in(void **state)
{
    static const eqp_seconds_fit put[] = {{0.0, 5.0, 0.0}, {2.0, 0.0, 0.0}, {0.0, 0.0, 0.25}, {1.0, 3.0, 0.0},
                                          {0.0, 3.0, 0.5}, {1.0, 0.0, 0.5}, {1.0, 7.0, 0.5},  {1e-9, 1e3, 1e-6}};
    const int ranks[] = {1, 2, 4, 8, 64, 1024};
    double seconds[6];
    (void)state;

    for (size_t c = 0; c < sizeof put / sizeof put[0]; c++) {
        for (int i = 0; i < 6; i++) {
            seconds[i] = eqp_seconds_at(&put[c], ranks[i]);
        }
        const eqp_seconds_fit fit = fitted(6, ranks, seconds);
        for (int i = 0; i < 6; i++) {
            assert_near(eqp_seconds_at(&fit, ranks[i]), seconds[i], 1e-5 * seconds[i]);
        }
        assert_near(fit.divided, put[c].divided, 1e-4 * (put[c].divided + 1e-3));
        assert_near(fit.per_rank, put[c].per_rank, 1e-4 * (put[c].per_rank + 1e-3));
    }
}

static void few_samples_are_enough(void **state)
{
    eqp_seconds_fit fit = fitted(1, (const int[]){4}, (const double[]){2.0});
    (void)state;

    assert_near(fit.divided, 8.0, 1e-12); /* all of it is shared */
    assert_true(fit.fixed == 0.0 && fit.per_rank == 0.0);
    fit = fitted(3, (const int[]){4, 4, 4}, (const double[]){2.0, 2.0, 2.0});
    assert_near(fit.divided, 8.0, 1e-9);
    assert_true(fit.fixed == 0.0 && fit.per_rank == 0.0);
    fit = fitted(2, (const int[]){1, 2}, (const double[]){3.0, 2.0});
    assert_near(fit.divided, 2.0, 1e-9);
    assert_near(fit.fixed, 1.0, 1e-9);
    fit = fitted(2, (const int[]){1, 2}, (const double[]){0.0, 0.0});
    assert_true(fit.fixed == 0.0 && fit.divided == 0.0 && fit.per_rank == 0.0);
}

/* Times that fall faster than 1/n would ask for a negative term. */
static void no_term_is_negative_and_none_is_better(void **state)
{
    const int ranks[] = {1, 2, 3, 8};
    const double seconds[] = {8.0, 1.0, 0.5, 0.1};
    const eqp_seconds_fit fit = fitted(4, ranks, seconds);
    double least = 0.0;
    uint64_t seed = 5;
    (void)state;

    assert_true(fit.fixed >= 0.0 && fit.divided >= 0.0 && fit.per_rank >= 0.0);
    for (int i = 0; i < 4; i++) {
        least += pow(eqp_seconds_at(&fit, ranks[i]) / seconds[i] - 1.0, 2.0);
    }
    for (int c = 0; c < 2000; c++) {
        const eqp_seconds_fit other = {0.1 * noise(&seed), 3.0 * noise(&seed), 0.05 * noise(&seed)};
        double sum = 0.0;
        for (int i = 0; i < 4; i++) {
            sum += pow(eqp_seconds_at(&other, ranks[i]) / seconds[i] - 1.0, 2.0);
        }
        assert_true(least <= sum + 1e-12);
    }
}

/* A partitioner that takes 0.37 s on one rank and has its minimum at six; nothing is sent. */
static eqp_lazy_model partitioner(double work)
{
    return (eqp_lazy_model){.step = {.divided = work},
                            .map = {.divided = 0.3588, .per_rank = 0.0111},
                            .imbalance = 0.5,
                            .tolerance = 0.1,
                            .steps = 50};
}

static eqp_lazy_choice choice_of(const eqp_lazy_model *model, int nranks)
{
    eqp_lazy_choice choice = {.steps = -1};

    assert_int_equal(eqp_lazy_choose(model, nranks, &choice), EQP_OK);
    return choice;
}

static void a_partitioner_by_hand(void **state)
{
    eqp_lazy_model model = partitioner(0.4);
    eqp_lazy_choice choice = choice_of(&model, 64);
    (void)state;

    assert_int_equal(choice.kind, EQP_LAZY_BESIDE);
    assert_near(choice.seconds[EQP_LAZY_INLINE], 0.3125 + 0.3588 / 64 + 0.0111 * 64, 1e-12);
    assert_int_equal(choice.balancers[EQP_LAZY_DECOUPLED], 6);
    assert_near(choice.seconds[EQP_LAZY_DECOUPLED], 0.3125 + 0.3588 / 6 + 0.0111 * 6, 1e-12);
    /* Four ranks: 0.1341 s of a map, steps of 1.5 x 0.4 / 60 s until it comes: fourteen. */
    assert_int_equal(choice.balancers[EQP_LAZY_BESIDE], 4);
    assert_int_equal(choice.late[EQP_LAZY_BESIDE], 14);
    assert_near(choice.seconds[EQP_LAZY_BESIDE], (50 + 14 * 0.5) * 0.4 / 60, 1e-12);
    assert_true(choice.seconds[EQP_LAZY_THREAD] == INFINITY);
    model.as_printed = true; /* never better than to stop and wait */
    choice = choice_of(&model, 64);
    assert_int_equal(choice.kind, EQP_LAZY_DECOUPLED);
    assert_near(choice.seconds[EQP_LAZY_BESIDE], 50 * 0.4 / 59 + 0.3588 / 5 + 0.0111 * 5, 1e-12);
    assert_int_equal(choice.late[EQP_LAZY_BESIDE], 38); /* 0.12726 / (0.5 x 0.4 / 59) = 37.5 */
    /* Of 8 ranks one is an eighth of all there is. */
    model = partitioner(4.0);
    assert_int_equal(choice_of(&model, 8).kind, EQP_LAZY_DECOUPLED);
    model.spare = true; /* until the map comes one step is uneven, which is to cost less than the wait */
    assert_int_equal(choice_of(&model, 8).kind, EQP_LAZY_DECOUPLED);
    model.imbalance = 0.1;
    choice = choice_of(&model, 8);
    assert_int_equal(choice.kind, EQP_LAZY_THREAD);
    assert_int_equal(choice.late[EQP_LAZY_THREAD], 1);
    assert_near(choice.seconds[EQP_LAZY_THREAD], (50 + 0.1) * 4.0 / 8, 1e-12);
}

/* The equations once more, as they stand in the comment. */
static double seconds_of(const eqp_lazy_model *o, int64_t t, int n, int m, bool waits)
{
    const double f = o->step.fixed + o->step.divided / n + o->step.per_rank * n;
    const double ratio = (double)n / m;
    const double g = o->map.fixed + o->map.divided / m + o->map.per_rank * m;
    const double h = o->talk.fixed + o->talk.divided / ratio + o->talk.per_rank * ratio;

    if (waits) {
        return g + h + (double)t * f;
    }
    if (o->as_printed) {
        const double u = (g + h) / (o->imbalance * f);
        return (double)t * f + u * o->imbalance * f;
    }
    int64_t u = 1;
    while (u < t && (double)u * (1.0 + o->imbalance) * f < (g + h) * (1.0 - 1e-15)) {
        u++;
    }
    return (double)t * f + (double)u * o->imbalance * f + (double)(t - u) * (pow(1.0 + o->drift, (double)u) - 1.0) * f;
}

static eqp_lazy_model random_model(uint64_t *seed)
{
    return (eqp_lazy_model){.step = {0.1 * noise(seed), 10.0 * noise(seed), 1e-3 * noise(seed)},
                            .map = {0.2 * noise(seed), 3.0 * noise(seed), 0.02 * noise(seed)},
                            .talk = {1e-3 * noise(seed), 1e-2 * noise(seed), 1e-3 * noise(seed)},
                            .imbalance = 0.01 + noise(seed),
                            .drift = 0.02 * noise(seed),
                            .tolerance = noise(seed),
                            .steps = 1 + (int64_t)(200.0 * noise(seed)),
                            .spare = noise(seed) < 0.5,
                            .as_printed = noise(seed) < 0.5};
}

static void the_choice_is_that_of_brute_force(void **state)
{
    uint64_t seed = 11;
    int taken[EQP_LAZY_KINDS] = {0};
    (void)state;

    for (int c = 0; c < 300; c++) {
        const eqp_lazy_model model = random_model(&seed);
        const int p = 1 + (int)(40.0 * noise(&seed));
        const eqp_lazy_choice choice = choice_of(&model, p);
        double least[EQP_LAZY_KINDS] = {INFINITY, INFINITY, INFINITY, INFINITY}, best = INFINITY;
        int64_t t = 0;

        while (t < model.steps && pow(1.0 + model.drift, (double)t + 1.0) <= 1.0 + model.tolerance) {
            t++;
        }
        t = t < 1 ? 1 : t;
        assert_int_equal(choice.steps, t);
        eqp_lazy_model quiet = model;
        quiet.talk = (eqp_seconds_fit){0.0, 0.0, 0.0};
        least[EQP_LAZY_INLINE] = seconds_of(&quiet, t, p, p, true);
        for (int m = 1; m <= p; m++) {
            const double g = eqp_seconds_at(&model.map, m) + eqp_seconds_at(&model.talk, (double)p / m);
            least[EQP_LAZY_DECOUPLED] = fmin(least[EQP_LAZY_DECOUPLED], g + (double)t * eqp_seconds_at(&model.step, p));
            if (m < p) {
                least[EQP_LAZY_BESIDE] = fmin(least[EQP_LAZY_BESIDE], seconds_of(&model, t, p - m, m, false));
            }
        }
        if (model.spare) {
            least[EQP_LAZY_THREAD] = seconds_of(&model, t, p, 1, false);
        }
        for (int k = 0; k < EQP_LAZY_KINDS; k++) {
            if (least[k] == INFINITY) {
                assert_true(choice.seconds[k] == INFINITY);
            } else {
                assert_near(choice.seconds[k], least[k], 1e-9 * least[k]);
                best = fmin(best, least[k]);
            }
        }
        assert_near(choice.seconds[choice.kind], best, 1e-9 * best);
        taken[choice.kind]++;
    }
    for (int k = 0; k < EQP_LAZY_KINDS; k++) {
        assert_true(taken[k] > 0);
    }
}

static void extremes_are_modelled(void **state)
{
    eqp_lazy_model model = partitioner(4.0);
    eqp_lazy_choice choice = choice_of(&model, 1); /* nobody can be given away */
    (void)state;

    assert_int_equal(choice.kind, EQP_LAZY_INLINE);
    assert_true(choice.seconds[EQP_LAZY_BESIDE] == INFINITY);
    model.steps = INT64_MAX;
    model.drift = 1e300;
    model.tolerance = 0.0;
    choice = choice_of(&model, 5);
    assert_int_equal(choice.steps, 1);
    model.drift = 0.0;
    assert_true(choice_of(&model, 5).steps == INT64_MAX);
    model.step = (eqp_seconds_fit){0.0, 0.0, 0.0}; /* steps of no time: the map never comes */
    choice = choice_of(&model, 5);
    assert_true(choice.late[EQP_LAZY_BESIDE] == INT64_MAX && choice.seconds[EQP_LAZY_BESIDE] == 0.0);
    assert_true(eqp_seconds_at(NULL, 2) == 0.0 && eqp_seconds_at(&model.map, 0) == 0.0);
}

static void wrong_models_are_refused(void **state)
{
    eqp_lazy_model wrong[6];
    eqp_lazy_choice choice = {.steps = 7};
    eqp_seconds_fit fit = {7.0, 7.0, 7.0};
    const eqp_lazy_model model = partitioner(4.0);
    (void)state;

    for (int i = 0; i < 6; i++) {
        wrong[i] = model;
    }
    wrong[0].step.divided = -1.0;
    wrong[1].map.per_rank = NAN;
    wrong[2].talk.fixed = INFINITY;
    wrong[3].imbalance = -0.1;
    wrong[4].drift = NAN;
    wrong[5].tolerance = -0.1;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(eqp_lazy_choose(&wrong[i], 4, &choice), EQP_ERR_DATA);
    }
    wrong[0] = model;
    wrong[0].steps = 0;
    assert_int_equal(eqp_lazy_choose(&wrong[0], 4, &choice), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_lazy_choose(&model, 0, &choice), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_lazy_choose(&model, EQP_LAZY_RANKS_MAX + 1, &choice), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_lazy_choose(NULL, 4, &choice), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_lazy_choose(&model, 4, NULL), EQP_ERR_ARGUMENT);
    const int ranks[] = {1, 0}, huge[] = {INT_MAX};
    const double seconds[] = {1.0, 1.0}, bad[] = {-1.0}, most[] = {1e308};
    assert_int_equal(eqp_seconds_fit_compute(0, ranks, seconds, &fit), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_seconds_fit_compute(2, ranks, seconds, &fit), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_seconds_fit_compute(1, NULL, seconds, &fit), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_seconds_fit_compute(1, ranks, bad, &fit), EQP_ERR_DATA);
    assert_int_equal(eqp_seconds_fit_compute(1, huge, most, &fit), EQP_ERR_DATA);
    assert_true(choice.steps == 7 && fit.fixed == 7.0 && fit.divided == 7.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_finds_what_was_put_in),
        cmocka_unit_test(few_samples_are_enough),
        cmocka_unit_test(no_term_is_negative_and_none_is_better),
        cmocka_unit_test(a_partitioner_by_hand),
        cmocka_unit_test(the_choice_is_that_of_brute_force),
        cmocka_unit_test(extremes_are_modelled),
        cmocka_unit_test(wrong_models_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
