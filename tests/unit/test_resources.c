/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/lazy_state.h"
#include "unit.h"

#include <equipoise/more/lazy_model.h>

static double seconds_at(const eqp_seconds_fit *fit, double n)
{
    return fit->fixed + fit->divided / n + fit->per_rank * n;
}

/* A partitioner that takes 0.37 s on one rank and least time on six; it sends nothing. */
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

    assert_ok(eqp__lazy_choose(model, nranks, &choice));
    return choice;
}

TEST(a_partitioner_by_hand)
{
    eqp_lazy_model model = partitioner(0.4);
    eqp_lazy_choice choice = choice_of(&model, 64);

    /* Nothing ages, so the present map stays. */
    assert_int_equal(choice.kind, EQP_LAZY_INLINE);
    assert_near(choice.seconds[EQP_LAZY_INLINE], 50 * 0.4 / 64, 1e-12);
    assert_int_equal(choice.every[EQP_LAZY_INLINE], 50);
    assert_int_equal(choice.balancers[EQP_LAZY_DECOUPLED], 6);
    assert_near(choice.seconds[EQP_LAZY_DECOUPLED], 0.3125 + 1.0 / 49 * (0.3588 / 6 + 0.0111 * 6), 1e-12);
    /* A step gets longer by 5 %. Five ranks: 0.1273 s of a map, steps of 1.5 x 0.4 / 59 s until it comes: 12.5. */
    model.drift = 0.05;
    model.own = 0.001;
    model.mended = true;
    choice = choice_of(&model, 64);
    assert_int_equal(choice.kind, EQP_LAZY_BESIDE);
    assert_int_equal(choice.balancers[EQP_LAZY_BESIDE], 5);
    assert_int_equal(choice.late[EQP_LAZY_BESIDE], 13);
    assert_int_equal(choice.every[EQP_LAZY_BESIDE], 13);
    assert_near(choice.seconds[EQP_LAZY_BESIDE],
                50 * 0.4 / 59 * (pow(1.05, 13) - 1) / (0.05 * 13) + (50.0 / 13 - 1) * 0.001, 1e-12);
    const double mended = choice.seconds[EQP_LAZY_BESIDE];
    model.mended = false; /* thirteen steps old */
    choice = choice_of(&model, 64);
    assert_true(choice.seconds[EQP_LAZY_BESIDE] > 1.5 * mended);
    assert_true(choice.seconds[EQP_LAZY_THREAD] == INFINITY);
    /* As printed: never better than waiting. */
    model = partitioner(0.4);
    model.as_printed = true;
    choice = choice_of(&model, 64);
    assert_int_equal(choice.kind, EQP_LAZY_DECOUPLED);
    assert_near(choice.seconds[EQP_LAZY_INLINE], 0.3125 + 0.3588 / 64 + 0.0111 * 64, 1e-12);
    assert_near(choice.seconds[EQP_LAZY_DECOUPLED], 0.3125 + 0.3588 / 6 + 0.0111 * 6, 1e-12);
    assert_near(choice.seconds[EQP_LAZY_BESIDE], 50 * 0.4 / 59 + 0.3588 / 5 + 0.0111 * 5, 1e-12);
    assert_int_equal(choice.late[EQP_LAZY_BESIDE], 38); /* 0.12726 / (0.5 x 0.4 / 59) = 37.5 */
    /* One of 8 ranks is an eighth of all, even if half a map costs less than the drift. */
    model = partitioner(4.0);
    model.drift = 0.01;
    model.mended = true;
    assert_int_not_equal(choice_of(&model, 8).kind, EQP_LAZY_BESIDE);
    model.spare = true;
    choice = choice_of(&model, 8);
    assert_int_equal(choice.kind, EQP_LAZY_THREAD);
    assert_int_equal(choice.late[EQP_LAZY_THREAD], 1);
    assert_int_equal(choice.every[EQP_LAZY_THREAD], 1); /* it costs nothing */
    assert_near(choice.seconds[EQP_LAZY_THREAD], 50 * 4.0 / 8, 1e-12);
    model.own = 1.0; /* two steps; to wait for six ranks costs a quarter of one */
    assert_int_equal(choice_of(&model, 8).kind, EQP_LAZY_DECOUPLED);
}

TEST(too_late_is_never)
{
    eqp_lazy_model model = partitioner(0.4);

    model.spare = true;
    model.drift = 0.1;
    model.mended = true;
    model.steps = 20; /* of 0.4 / 8 s: a map by the thread takes 5 of them where half as much is lost meanwhile */
    eqp_lazy_choice choice = choice_of(&model, 8);
    assert_int_equal(choice.late[EQP_LAZY_THREAD], 5);
    assert_int_equal(choice.kind, EQP_LAZY_THREAD);
    model.steps = 5;
    choice = choice_of(&model, 8);
    assert_true(choice.seconds[EQP_LAZY_THREAD] == INFINITY && choice.balancers[EQP_LAZY_THREAD] == 0);
    assert_int_equal(choice.kind, EQP_LAZY_INLINE);
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

/* The equations of the header comment: m ranks make maps, n compute. */
static double seconds_of(const eqp_lazy_model *o, int64_t t, int n, int m, bool waits)
{
    const double f = o->step.fixed + o->step.divided / n + o->step.per_rank * n, ratio = (double)n / m;
    const double g = o->map.fixed + o->map.divided / m + o->map.per_rank * m;
    const double h = o->talk.fixed + o->talk.divided / ratio + o->talk.per_rank * ratio;
    double least = INFINITY;
    int64_t u = 1;

    if (o->as_printed) {
        return (double)t * f + g + h; /* either way */
    }
    while (!waits && u < t && (double)u * (1.0 + o->imbalance) * f < (g + h) * (1.0 - 1e-15)) {
        u++;
    }
    const double age = waits || o->mended ? 1.0 : pow(1.0 + o->drift, (double)u);
    for (int64_t k = u; k < t; k++) {
        least = fmin(least, all_steps(o, f * age, k, waits ? g + h : o->own));
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
                            .tolerance = noise(seed),
                            .steps = 1 + (int64_t)(200.0 * noise(seed)),
                            .spare = noise(seed) < 0.5,
                            .mended = noise(seed) < 0.5,
                            .as_printed = noise(seed) < 0.5};
}

static int64_t steps_of(const eqp_lazy_model *model)
{
    int64_t t = 0;

    if (!model->as_printed) {
        return model->steps;
    }
    while (t < model->steps && pow(1.0 + model->drift, (double)t + 1.0) <= 1.0 + model->tolerance) {
        t++;
    }
    return t < 1 ? 1 : t;
}

TEST(the_choice_is_that_of_brute_force)
{
    uint64_t seed = 11;
    int taken[EQP_LAZY_KINDS] = {0};

    for (int c = 0; c < 300; c++) {
        const eqp_lazy_model model = random_model(&seed);
        const int p = 1 + (int)(40.0 * noise(&seed));
        const eqp_lazy_choice choice = choice_of(&model, p);
        const int64_t t = steps_of(&model);
        double least[EQP_LAZY_KINDS] = {INFINITY, INFINITY, INFINITY, INFINITY}, best = INFINITY;

        assert_int_equal(choice.steps, t);
        eqp_lazy_model quiet = model;
        quiet.talk = (eqp_seconds_fit){0.0, 0.0, 0.0};
        least[EQP_LAZY_INLINE] = seconds_of(&quiet, t, p, p, true);
        if (!model.as_printed) {
            least[EQP_LAZY_INLINE] =
                fmin(least[EQP_LAZY_INLINE], all_steps(&model, seconds_at(&model.step, p), t, 0.0));
        }
        for (int m = 1; m <= p; m++) {
            eqp_lazy_model some = model; /* all compute, these make maps */
            some.map = (eqp_seconds_fit){seconds_at(&model.map, m), 0.0, 0.0};
            some.talk = (eqp_seconds_fit){seconds_at(&model.talk, (double)p / m), 0.0, 0.0};
            least[EQP_LAZY_DECOUPLED] = fmin(least[EQP_LAZY_DECOUPLED], seconds_of(&some, t, p, p, true));
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

TEST(extremes_are_modelled)
{
    eqp_lazy_model model = partitioner(4.0);
    eqp_lazy_choice choice = choice_of(&model, 1); /* no rank can be given away */

    assert_int_equal(choice.kind, EQP_LAZY_INLINE);
    assert_true(choice.seconds[EQP_LAZY_BESIDE] == INFINITY);
    model.steps = INT64_MAX;
    model.drift = 1e300;
    model.tolerance = 0.0;
    choice = choice_of(&model, 5); /* a map for every step */
    assert_true(choice.steps == INT64_MAX && choice.every[EQP_LAZY_INLINE] == 1);
    model.as_printed = true;
    assert_int_equal(choice_of(&model, 5).steps, 1);
    model.drift = 0.0;
    assert_true(choice_of(&model, 5).steps == INT64_MAX);
    model.as_printed = false;
    choice = choice_of(&model, 5);
    assert_true(choice.every[EQP_LAZY_INLINE] == INT64_MAX && choice.seconds[EQP_LAZY_INLINE] < INFINITY);
    model.step = (eqp_seconds_fit){0.0, 0.0, 0.0}; /* steps of no time: the map never comes */
    choice = choice_of(&model, 5);
    assert_true(choice.seconds[EQP_LAZY_BESIDE] == INFINITY && choice.seconds[EQP_LAZY_INLINE] == 0.0);
}

TEST(wrong_models_are_refused)
{
    eqp_lazy_model wrong[7];
    eqp_lazy_choice choice = {.steps = 7};
    const eqp_lazy_model model = partitioner(4.0);

    for (int i = 0; i < 7; i++) {
        wrong[i] = model;
    }
    wrong[0].step.divided = -1.0;
    wrong[1].map.per_rank = NAN;
    wrong[2].talk.fixed = INFINITY;
    wrong[3].imbalance = -0.1;
    wrong[4].drift = NAN;
    wrong[5].tolerance = -0.1;
    wrong[6].own = -1.0;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(eqp__lazy_choose(&wrong[i], 4, &choice), EQP_ERR_DATA);
    }
    wrong[0] = model;
    wrong[0].steps = 0;
    assert_refused(eqp__lazy_choose(&wrong[0], 4, &choice));
    assert_refused(eqp__lazy_choose(&model, 0, &choice));
    assert_refused(eqp__lazy_choose(&model, EQP_LAZY_RANKS_MAX + 1, &choice));
    assert_int_equal(choice.steps, 7);
}
