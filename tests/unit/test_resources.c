/* SPDX-License-Identifier: BSD-3-Clause */
#include "late/lazy.h"
#include "unit.h"

static double seconds_at(const eqp_seconds_fit *fit, double n)
{
    return fit->fixed + fit->divided / n + fit->per_rank * n;
}

/* A partitioner that takes 0.37 s on one rank and least time on six; it sends nothing. */
static eqp_lazy_model partitioner(double work)
{
    return (eqp_lazy_model){
        .step = {.divided = work}, .map = {.divided = 0.3588, .per_rank = 0.0111}, .imbalance = 0.5, .steps = 50};
}

static eqp__lazy_choice choice_of(const eqp_lazy_model *model, int nranks)
{
    eqp__lazy_choice choice = {.balancers = -1};

    assert_ok(eqp__lazy_choose(model, nranks, &choice));
    return choice;
}

TEST(a_partitioner_by_hand)
{
    eqp_lazy_model model = partitioner(0.4);
    eqp__lazy_choice choice = choice_of(&model, 64);

    /* Nothing ages, so the present map stays. */
    assert_near(choice.in_line, 50 * 0.4 / 64, 1e-12);
    assert_true(choice.in_line <= choice.dedicated && choice.thread == INFINITY);
    /* Each step is 5 % longer. Five balancers make a map in 0.1273 s, 12.5 steps of 1.5 x 0.4 / 59 s. */
    model.drift = 0.05;
    model.own = 0.001;
    model.mended = true;
    choice = choice_of(&model, 64);
    assert_int_equal(choice.balancers, 5);
    assert_near(choice.dedicated, 50 * 0.4 / 59 * (pow(1.05, 13) - 1) / (0.05 * 13) + (50.0 / 13 - 1) * 0.001, 1e-12);
    assert_true(choice.dedicated < choice.in_line);
    const double mended = choice.dedicated;
    model.mended = false; /* thirteen steps old */
    assert_true(choice_of(&model, 64).dedicated > 1.5 * mended);
    /* One of 8 ranks is an eighth of all, even if half a map costs less than the drift. */
    model = partitioner(4.0);
    model.drift = 0.01;
    model.mended = model.spare = true;
    choice = choice_of(&model, 8);
    assert_true(choice.in_line < choice.dedicated);
    assert_near(choice.thread, 50 * 4.0 / 8, 1e-12); /* a map for each step costs nothing */
}

TEST(too_late_is_never)
{
    eqp_lazy_model model = partitioner(0.4);

    model.spare = true;
    model.drift = 0.1;
    model.mended = true;
    model.steps = 20; /* of 0.4 / 8 s: a map by the thread takes 5 of them where half as much is lost meanwhile */
    eqp__lazy_choice choice = choice_of(&model, 8);
    assert_true(choice.thread < choice.in_line && choice.thread < choice.dedicated);
    model.steps = 5;
    choice = choice_of(&model, 8);
    assert_true(choice.thread == INFINITY && choice.in_line < choice.dedicated);
}

/* t steps of f seconds with a map every k steps, at this price for each. */
static double all_steps(const eqp_lazy_model *o, double f, int64_t k, double price)
{
    double sum = 0.0;

    for (int64_t s = 0; s < k; s++) {
        sum += pow(1.0 + o->drift, (double)s);
    }
    return f * (double)o->steps / (double)k * sum + ((double)o->steps / (double)k - 1.0) * price;
}

/* The equations of the header comment: n ranks compute, m make maps. */
static double seconds_of(const eqp_lazy_model *o, int n, int m)
{
    const double f = seconds_at(&o->step, n);
    const double map = seconds_at(&o->map, m) + seconds_at(&o->talk, (double)n / m);
    double least = INFINITY;
    int64_t u = 1;

    while (u < o->steps && (double)u * (1.0 + o->imbalance) * f < map * (1.0 - 1e-15)) {
        u++;
    }
    const double age = o->mended ? 1.0 : pow(1.0 + o->drift, (double)u);
    for (int64_t k = u; k < o->steps; k++) {
        least = fmin(least, all_steps(o, f * age, k, o->own));
    }
    return least;
}

static eqp_lazy_model random_model(uint64_t *seed)
{
    return (eqp_lazy_model){.step = {0.1 * noise(seed), 10.0 * noise(seed), 1e-3 * noise(seed)},
                            .map = {0.2 * noise(seed), 3.0 * noise(seed), 0.02 * noise(seed)},
                            .talk = {1e-3 * noise(seed), 1e-2 * noise(seed), 1e-3 * noise(seed)},
                            .own = 0.1 * noise(seed),
                            .imbalance = 0.01 + noise(seed),
                            .drift = 0.02 * noise(seed),
                            .steps = 1 + (int64_t)(200.0 * noise(seed)),
                            .spare = noise(seed) < 0.5,
                            .mended = noise(seed) < 0.5};
}

static void assert_seconds(double seconds, double expected)
{
    assert_true(expected == INFINITY ? seconds == INFINITY : fabs(seconds - expected) <= 1e-9 * expected);
}

TEST(the_choice_is_that_of_brute_force)
{
    uint64_t seed = 11;
    int cheapest[3] = {0};

    for (int c = 0; c < 300; c++) {
        const eqp_lazy_model model = random_model(&seed);
        const int p = 1 + (int)(40.0 * noise(&seed));
        const eqp__lazy_choice choice = choice_of(&model, p);
        const double f = seconds_at(&model.step, p);
        double in_line = all_steps(&model, f, model.steps, 0.0), dedicated = INFINITY;

        for (int64_t k = 1; k < model.steps; k++) {
            in_line = fmin(in_line, all_steps(&model, f, k, seconds_at(&model.map, p)));
        }
        for (int m = 1; m < p; m++) {
            dedicated = fmin(dedicated, seconds_of(&model, p - m, m));
        }
        assert_seconds(choice.in_line, in_line);
        assert_seconds(choice.dedicated, dedicated);
        assert_seconds(choice.thread, model.spare ? seconds_of(&model, p, 1) : INFINITY);
        assert_true(dedicated == INFINITY ||
                    fabs(seconds_of(&model, p - choice.balancers, choice.balancers) - dedicated) <= 1e-9 * dedicated);
        cheapest[choice.thread < fmin(choice.in_line, choice.dedicated) ? 2 : choice.dedicated < choice.in_line]++;
    }
    assert_true(cheapest[0] > 0 && cheapest[1] > 0 && cheapest[2] > 0);
}

TEST(extremes_are_modelled)
{
    eqp_lazy_model model = partitioner(4.0);

    assert_true(choice_of(&model, 1).dedicated == INFINITY); /* no rank can be given away */
    model.steps = INT64_MAX;
    model.drift = 1e300; /* a map for every step */
    assert_near(choice_of(&model, 5).in_line / ((4.0 / 5 + 0.3588 / 5 + 0.0111 * 5) * 0x1p63), 1.0, 1e-9);
    model.drift = 0.0;
    assert_true(choice_of(&model, 5).in_line < INFINITY);
    model.step = (eqp_seconds_fit){0.0, 0.0, 0.0}; /* steps of no time: the map never comes */
    const eqp__lazy_choice choice = choice_of(&model, 5);
    assert_true(choice.dedicated == INFINITY && choice.in_line == 0.0);
}

TEST(wrong_models_are_refused)
{
    eqp_lazy_model wrong[6];
    eqp__lazy_choice choice = {.balancers = 7};
    const eqp_lazy_model model = partitioner(4.0);

    for (int i = 0; i < 6; i++) {
        wrong[i] = model;
    }
    wrong[0].step.divided = -1.0;
    wrong[1].map.per_rank = NAN;
    wrong[2].talk.fixed = INFINITY;
    wrong[3].imbalance = -0.1;
    wrong[4].drift = NAN;
    wrong[5].own = -1.0;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(eqp__lazy_choose(&wrong[i], 4, &choice), EQP_ERR_DATA);
    }
    wrong[0] = model;
    wrong[0].steps = 0;
    assert_refused(eqp__lazy_choose(&wrong[0], 4, &choice));
    assert_refused(eqp__lazy_choose(&model, 0, &choice));
    assert_refused(eqp__lazy_choose(&model, EQP_LAZY_RANKS_MAX + 1, &choice));
    assert_int_equal(choice.balancers, 7);
}
