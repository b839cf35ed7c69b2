/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/policy.h"
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

FREES(eqp_hindsight, eqp__hindsight_free)

/* A run whose map loses rise age^bend more of a mean second with its age and is renewed every `every` steps. */
typedef struct made_up {
    int64_t steps, every;
    double fresh, rise, price, noise, bend;
} made_up;

static double loss_of(const made_up *of, int64_t age)
{
    return of->fresh + (age > 0 ? of->rise * pow((double)age, of->bend) : 0.0);
}

/* Seconds of the best schedule without the first map: rest[s] from step s on, with a map before it. */
static double best_of(const made_up *of)
{
    static double rest[201];

    assert_in_range(of->steps, 1, 200);
    rest[of->steps] = 0.0;
    for (int64_t s = of->steps - 1; s >= 0; s--) {
        double sum = s > 0 ? of->price : 0.0;
        rest[s] = INFINITY;
        for (int64_t t = s; t < of->steps; t++) {
            sum += 1.0 + loss_of(of, t - s);
            rest[s] = fmin(rest[s], sum + rest[t + 1]);
        }
    }
    return rest[0];
}

/* The report has the steps and seconds of the run, and the savings of the best schedule at this price of a map. */
static void check_schedule(const eqp_hindsight *h, const eqp_regret *regret, double price)
{
    HEAP eqp_hindsight_stretch *stretch = NULL;
    double seconds = 0.0, best = 0.0;
    int64_t n = -1, steps = 0, maps = 0;

    assert_ok(eqp__hindsight_regret(h, NULL, &n, &stretch));
    assert_in_range(n, 1, EQP_HINDSIGHT_MOST);
    for (int64_t i = 0; i < n; i++) {
        assert_true(stretch[i].first == steps && stretch[i].steps >= 1);
        steps += stretch[i].steps;
        seconds += stretch[i].seconds;
        best += stretch[i].best;
        maps += stretch[i].best_map;
    }
    assert_true(steps == regret->steps && stretch[0].best_map);
    assert_near(seconds + price * (double)regret->maps, regret->seconds, 1e-9 * regret->seconds);
    if (n == steps) { /* else a stretch may have several maps */
        assert_int_equal(maps, regret->should);
        assert_near(best + price * (double)maps, regret->best, 1e-9 * regret->best);
    }
}

static eqp_regret regret_of(const made_up *of)
{
    FREED(eqp_hindsight) *h = NULL;
    eqp_regret regret = {.seconds = -1.0};
    uint64_t seed = 23;

    assert_ok(eqp__hindsight_create(&h));
    for (int64_t t = 0; t < of->steps; t++) {
        const int64_t age = t % of->every;
        const double loss = loss_of(of, age) + of->noise * (noise(&seed) - 0.5);
        const eqp_hindsight_step step = {1.0 + fmax(loss, 0.0), 1.0, age == 0, of->price, of->rise};
        assert_ok(eqp__hindsight_add(h, &step));
    }
    assert_ok(eqp__hindsight_regret(h, &regret, NULL, NULL));
    assert_true(regret.steps == of->steps && regret.best <= regret.seconds && regret.regret >= 0.0);
    check_schedule(h, &regret, of->price);
    return regret;
}

TEST(regret_is_what_the_best_schedule_saves)
{
    for (int64_t every = 1; every <= 100; every = every * 3 + 1) {
        for (double price = 0.05; price < 6.0; price *= 4.0) {
            const made_up of = {100, every, 0.03, 0.02, price, 0.0, 1.0};
            const eqp_regret regret = regret_of(&of);
            const double best = best_of(&of) + price; /* the run has paid for its first map, too */

            assert_near(regret.best, best, 1e-9);
            assert_near(regret.regret, 1.0 - best / regret.seconds, 1e-12);
            assert_int_equal(regret.maps, (100 + every - 1) / every);
        }
    }
}

TEST(no_gain_is_no_regret)
{
    const made_up even = {1000, 1000, 0.02, 0.0, 0.2, 0.0, 1.0};
    const made_up noisy = {1000, 1000, 0.1, 0.0, 1.0, 0.05, 1.0}; /* noise is not ageing */
    eqp_regret regret;
    FREED(eqp_hindsight) *h = NULL;

    assert_near(regret_of(&even).regret, 0.0, 1e-12);
    assert_near(regret_of(&noisy).regret, 0.0, 0.002);
    /* Without a map its cost is unknown. */
    assert_ok(eqp__hindsight_create(&h));
    assert_ok(eqp__hindsight_regret(h, &regret, NULL, NULL));
    assert_true(regret.seconds == 0.0 && regret.best == 0.0 && regret.regret == 0.0 && regret.steps == 0);
    for (int t = 0; t < 50; t++) {
        assert_ok(eqp__hindsight_add(h, &(eqp_hindsight_step){.seconds_max = 2.0 + t, .seconds_mean = 1.0}));
    }
    assert_ok(eqp__hindsight_regret(h, &regret, NULL, NULL));
    assert_true(regret.regret == 0.0 && regret.maps == 0 && regret.should == 0 && regret.best == regret.seconds);
}

/* Steps whose maps have no promise take the mean rise of the remaining maps. */
TEST(unknown_increments_are_the_mean_of_known_ones)
{
    const made_up of = {60, 6, 0.03, 0.02, 0.5, 0.0, 1.0};
    FREED(eqp_hindsight) *h = NULL;
    eqp_regret regret;

    assert_ok(eqp__hindsight_create(&h));
    for (int64_t t = 0; t < of.steps; t++) {
        const int64_t age = t % of.every;
        const eqp_hindsight_step step = {1.0 + loss_of(&of, age), 1.0, age == 0, of.price, -1.0};
        assert_ok(eqp__hindsight_add(h, &step));
    }
    assert_ok(eqp__hindsight_regret(h, &regret, NULL, NULL));
    assert_near(regret.best, best_of(&of) + of.price, 1e-9);
}

/* For any number of steps: neighbors are merged, sums are exact, results approximate. */
TEST(long_runs_are_summarized)
{
    for (int64_t steps = 2047; steps <= (slow_here() ? 5000 : 30000); steps = steps * 2 - 1) {
        const made_up slow = {steps, 4000, 0.02, 1e-4, 2.0, 0.0, 1.0}, fast = {steps, 10, 0.03, 0.02, 5.0, 0.0, 1.0};
        const eqp_regret few = regret_of(&slow), many = regret_of(&fast);

        /* Loss d per step, cost C: cycles of T = sqrt(2 C / d) steps lose C / T + d T / 2 a step. */
        const double of_slow = 1.0 + 0.02 + sqrt(2.0 * 2.0 * 1e-4), of_fast = 1.0 + 0.03 + sqrt(2.0 * 5.0 * 0.02);
        assert_near(few.best / (double)steps, of_slow, 0.01);
        assert_near(few.seconds / (double)steps, 1.02 + 1e-4 * (double)(steps < 4000 ? steps : 4000) / 2.0, 0.03);
        /* Stretches longer than a cycle cannot show the best one. */
        assert_true(many.best / (double)steps >= of_fast - 0.02);
        assert_true(many.maps == (steps + 9) / 10 && many.should <= many.maps);
    }
}

/* More maps than can be stored: a million steps take no more memory or time than the first thousands. */
TEST(maps_of_long_runs_are_merged)
{
    const made_up of = {slow_here() ? 20000 : 400000, 3, 0.03, 0.02, 0.03, 0.0, 1.0};
    const eqp_regret regret = regret_of(&of);

    /* At this resolution a map every third step and the best schedule, every second, look alike. */
    assert_near(regret.seconds / (double)of.steps, 1.0 + 0.03 + 0.02 + 0.01, 1e-4);
    assert_true(regret.regret < 0.01 && regret.maps == (of.steps + 2) / 3);
}

TEST(wrong_steps_are_refused)
{
    const eqp_hindsight_step good = {2.0, 1.0, true, 1.0, 0.0};
    eqp_hindsight_step wrong[7] = {good, good, good, good, good, good, good};
    eqp_hindsight_stretch *stretch = NULL;
    int64_t n = -1;
    FREED(eqp_hindsight) *h = NULL;
    eqp_regret regret = {.seconds = 7.0};

    wrong[0].seconds_max = NAN;
    wrong[1].seconds_max = INFINITY;
    wrong[2].seconds_mean = -1.0;
    wrong[3].seconds_mean = 3.0;
    wrong[4].balance_seconds = -1.0;
    wrong[5].balance_seconds = INFINITY;
    wrong[6].aged = NAN;
    assert_ok(eqp__hindsight_create(&h));
    for (int i = 0; i < 7; i++) {
        assert_int_equal(eqp__hindsight_add(h, &wrong[i]), EQP_ERR_DATA);
    }
    assert_ok(eqp__hindsight_regret(h, NULL, &n, &stretch));
    assert_int_equal(n, 0);
    free(stretch);
    wrong[0] = (eqp_hindsight_step){.seconds_max = 1e308, .seconds_mean = 1e308};
    assert_ok(eqp__hindsight_add(h, &wrong[0]));
    assert_ok(eqp__hindsight_add(h, &wrong[0]));
    assert_int_equal(eqp__hindsight_regret(h, &regret, NULL, NULL), EQP_ERR_OVERFLOW);
    assert_true(regret.seconds == 7.0);
}

static int remember(eqp_regret *regret)
{
    HEAP eqp_hindsight_stretch *stretch = NULL;
    FREED(eqp_hindsight) *h = NULL;
    int64_t n;
    int code = eqp__hindsight_create(&h);

    for (int t = 0; t < 3 && code == EQP_OK; t++) {
        code = eqp__hindsight_add(h, &(eqp_hindsight_step){2.0, 1.0, t == 0, 1.0, 0.0});
    }
    return code == EQP_OK ? eqp__hindsight_regret(h, regret, &n, &stretch) : code;
}

TEST(failing_allocations_are_reported)
{
    eqp_regret regret = {.seconds = -1.0};
    int64_t k = 0;
    int code;

    SKIP_IF(!failing_malloc_works);
    for (; FAILING_MALLOC(k, code = remember(&regret)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_true(regret.seconds == -1.0);
    }
    assert_ok(code);
    assert_true(regret.seconds == 7.0 && k >= 5); /* three steps of 2 s and a map */
}

/* Seconds of the run by a policy, without its first map. */
static double seconds_by(eqp_policy_mode mode, const made_up *of)
{
    eqp_policy_options options = eqp_policy_options_defaults();
    eqp_policy policy;
    double sum = 0.0;
    int64_t since = 0;

    options.mode = mode;
    assert_ok(eqp__policy_init(&policy, &options));
    for (int64_t t = 0; t < of->steps; t++) {
        assert_ok(eqp__policy_expect(&policy, of->steps - t));
        const bool renew = eqp__policy_advise(&policy) != EQP_KEEP;
        since = renew ? t : since;
        const double loss = loss_of(of, t - since);
        const eqp_policy_sample sample = {1.0 + loss, 1.0,   renew, renew ? of->price : 0.0, loss, of->fresh,
                                          false,      false, 0.0};
        sum += 1.0 + loss + (renew && t > 0 ? of->price : 0.0);
        assert_ok(eqp__policy_record(&policy, &sample));
    }
    return sum;
}

/* Maps that age evenly, fast at first, and slowly at first; short runs and long ones; cheap maps and maps that cost as
 * much as ten steps. */
TEST(policies_are_near_the_best_schedule)
{
    static const eqp_policy_mode modes[] = {EQP_POLICY_AUTO, EQP_POLICY_GAIN};
    double worst[2] = {0.0, 0.0}, sum[2] = {0.0, 0.0};
    int n = 0;

    for (int steps = 12; steps <= (slow_here() ? 50 : 200); steps = steps * 2 + 10) {
        for (double price = 0.01; price < 11.0; price *= 10.0) {
            for (double bend = 0.5; bend <= 2.0; bend *= 2.0) {
                const made_up of = {steps, 1, 0.01, bend > 1.0 ? 0.0005 : 0.02, price, 0.0, bend};
                const double best = best_of(&of);
                for (int m = 0; m < 2; m++) {
                    const double points = 100.0 * (seconds_by(modes[m], &of) - best) / steps;
                    worst[m] = fmax(worst[m], points);
                    sum[m] += points;
                }
                n++;
            }
        }
    }
    for (int m = 0; m < 2; m++) {
        assert_near(sum[m] / n, 0.0, 1.0);
        assert_near(worst[m], 0.0, 4.5);
    }
}
