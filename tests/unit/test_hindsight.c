/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/policy.h"
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

FREES(eqp_hindsight, eqp__hindsight_free)

/* Seconds of a schedule: bit s means a map before step s; the first step always has one. */
static double seconds_of(int n, const double *aged, double map_seconds, unsigned schedule)
{
    double sum = 0.0;
    int since = 0;

    for (int t = 0; t < n; t++) {
        if (t > 0 && schedule >> t & 1u) {
            since = t;
            sum += map_seconds;
        }
        sum += aged[since * n + t];
    }
    return sum;
}

TEST(the_best_schedule_is_that_of_brute_force)
{
    uint64_t seed = 17;
    double aged[12 * 12];
    bool maps[12];
    int made = 0;

    for (int c = 0; c < 120; c++) {
        const int n = 1 + c % (slow_here() ? 8 : 12);
        const double map_seconds = noise(&seed) * noise(&seed);
        double best = -1.0, least = INFINITY;

        for (int s = 0; s < n; s++) {
            double loss = 0.1 * noise(&seed);
            for (int t = 0; t < n; t++) {
                loss += t > s ? 0.3 * noise(&seed) - 0.05 : 0.0;
                aged[s * n + t] = t < s ? NAN : 1.0 + fmax(loss, 0.0); /* what cannot be is not read */
            }
        }
        assert_ok(eqp__policy_hindsight(n, aged, map_seconds, &best, maps));
        for (unsigned schedule = 1; schedule < 1u << n; schedule += 2) {
            least = fmin(least, seconds_of(n, aged, map_seconds, schedule));
        }
        assert_near(best, least, 1e-12 * least);
        unsigned found = 0;
        for (int t = 0; t < n; t++) {
            found |= maps[t] ? 1u << t : 0u;
            made += t > 0 && maps[t];
        }
        assert_true(found & 1u);
        assert_near(seconds_of(n, aged, map_seconds, found), best, 1e-12 * best);
    }
    assert_true(made > 100);
}

TEST(free_maps_are_made_and_expensive_ones_are_not)
{
    const double aged[] = {1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 0.0, 0.0, 1.0};
    bool maps[3];
    double best = 0.0;

    assert_ok(eqp__policy_hindsight(3, aged, 0.0, &best, maps));
    assert_true(best == 3.0 && maps[0] && maps[1] && maps[2]);
    assert_ok(eqp__policy_hindsight(3, aged, 10.0, &best, NULL));
    assert_true(best == 6.0);
    assert_ok(eqp__policy_hindsight(3, aged, 1.5, &best, maps));
    assert_true(best == 5.5 && maps[0] && maps[1] + maps[2] == 1);
}

TEST(wrong_matrices_are_refused)
{
    double aged[] = {1.0, -1.0, 0.0, 1.0}, best = 7.0;
    bool maps[2] = {false, false};

    assert_int_equal(eqp__policy_hindsight(2, aged, 1.0, &best, maps), EQP_ERR_DATA);
    aged[1] = NAN;
    assert_int_equal(eqp__policy_hindsight(2, aged, 1.0, &best, maps), EQP_ERR_DATA);
    aged[1] = 1.0;
    assert_int_equal(eqp__policy_hindsight(2, aged, -1.0, &best, maps), EQP_ERR_DATA);
    assert_int_equal(eqp__policy_hindsight(2, aged, INFINITY, &best, maps), EQP_ERR_DATA);
    assert_refused(eqp__policy_hindsight(0, aged, 1.0, &best, maps));
    assert_int_equal(eqp__policy_hindsight(INT64_MAX, aged, 1.0, &best, maps), EQP_ERR_OVERFLOW);
    aged[0] = aged[1] = aged[3] = 1e308;
    assert_int_equal(eqp__policy_hindsight(2, aged, 1e308, &best, maps), EQP_ERR_OVERFLOW);
    assert_true(best == 7.0 && !maps[0] && !maps[1]);
}

/* A run whose map loses `rise` more of a mean second with every step and is renewed every `every` steps. */
typedef struct made_up {
    int64_t steps, every;
    double fresh, rise, price, noise;
} made_up;

/* The report has the steps and seconds of the run, and the savings of the best schedule at this price of a map. */
static void check_schedule(const eqp_hindsight *h, const eqp_regret *regret, double price)
{
    HEAP eqp_hindsight_stretch *stretch = NULL;
    double seconds = 0.0, best = 0.0;
    int64_t n = -1, steps = 0, maps = 0;

    assert_ok(eqp__hindsight_schedule(h, &n, &stretch));
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
    eqp_hindsight *h = NULL;
    eqp_regret regret = {.seconds = -1.0};
    uint64_t seed = 23;

    assert_ok(eqp__hindsight_create(&h));
    for (int64_t t = 0; t < of->steps; t++) {
        const int64_t age = t % of->every;
        const double loss = of->fresh + of->rise * (double)age + of->noise * (noise(&seed) - 0.5);
        const eqp_hindsight_step step = {1.0 + fmax(loss, 0.0), 1.0, age == 0, of->price, of->rise};
        assert_ok(eqp__hindsight_add(h, &step));
    }
    assert_ok(eqp__hindsight_regret(h, &regret));
    assert_true(regret.steps == of->steps && regret.best <= regret.seconds && regret.regret >= 0.0);
    check_schedule(h, &regret, of->price);
    eqp__hindsight_free(h);
    return regret;
}

/* The same by the matrix of the model. */
static double best_of(const made_up *of)
{
    const int64_t n = of->steps;
    double *aged = calloc((size_t)(n * n), sizeof *aged), best = -1.0;

    assert_non_null(aged);
    for (int64_t s = 0; s < n; s++) {
        for (int64_t t = s; t < n; t++) {
            aged[s * n + t] = 1.0 + of->fresh + of->rise * (double)(t - s);
        }
    }
    assert_ok(eqp__policy_hindsight(n, aged, of->price, &best, NULL));
    free(aged);
    return best + of->price; /* the run has paid for its first map, too */
}

TEST(regret_is_what_the_best_schedule_saves)
{
    for (int64_t every = 1; every <= 100; every = every * 3 + 1) {
        for (double price = 0.05; price < 6.0; price *= 4.0) {
            const made_up of = {100, every, 0.03, 0.02, price, 0.0};
            const eqp_regret regret = regret_of(&of);
            const double best = best_of(&of);

            assert_near(regret.best, best, 1e-9);
            assert_near(regret.regret, 1.0 - best / regret.seconds, 1e-12);
            assert_int_equal(regret.maps, (100 + every - 1) / every);
        }
    }
}

TEST(no_gain_is_no_regret)
{
    const made_up even = {1000, 1000, 0.02, 0.0, 0.2, 0.0};
    made_up noisy = {1000, 1000, 0.1, 0.0, 1.0, 0.05}; /* noise is not ageing */
    eqp_regret regret;
    FREED(eqp_hindsight) *h = NULL;

    assert_near(regret_of(&even).regret, 0.0, 1e-12);
    assert_near(regret_of(&noisy).regret, 0.0, 0.002);
    /* Without a map its cost is unknown. */
    assert_ok(eqp__hindsight_create(&h));
    assert_ok(eqp__hindsight_regret(h, &regret));
    assert_true(regret.seconds == 0.0 && regret.best == 0.0 && regret.regret == 0.0 && regret.steps == 0);
    for (int t = 0; t < 50; t++) {
        assert_ok(eqp__hindsight_add(h, &(eqp_hindsight_step){.seconds_max = 2.0 + t, .seconds_mean = 1.0}));
    }
    assert_ok(eqp__hindsight_regret(h, &regret));
    assert_true(regret.regret == 0.0 && regret.maps == 0 && regret.should == 0 && regret.best == regret.seconds);
}

/* Steps whose maps have no promise take the mean rise of the remaining maps. */
TEST(unknown_increments_are_the_mean_of_known_ones)
{
    const made_up of = {60, 6, 0.03, 0.02, 0.5, 0.0};
    FREED(eqp_hindsight) *h = NULL;
    eqp_regret regret;

    assert_ok(eqp__hindsight_create(&h));
    for (int64_t t = 0; t < of.steps; t++) {
        const int64_t age = t % of.every;
        const eqp_hindsight_step step = {1.0 + of.fresh + of.rise * (double)age, 1.0, age == 0, of.price, -1.0};
        assert_ok(eqp__hindsight_add(h, &step));
    }
    assert_ok(eqp__hindsight_regret(h, &regret));
    assert_near(regret.best, best_of(&of), 1e-9);
}

/* For any number of steps: neighbors are merged, sums are exact, results approximate. */
TEST(long_runs_are_summarized)
{
    for (int64_t steps = 2047; steps <= (slow_here() ? 5000 : 30000); steps = steps * 2 - 1) {
        const made_up slow = {steps, 4000, 0.02, 1e-4, 2.0, 0.0}, fast = {steps, 10, 0.03, 0.02, 5.0, 0.0};
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
    const made_up of = {slow_here() ? 20000 : 400000, 3, 0.03, 0.02, 0.03, 0.0};
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
    assert_ok(eqp__hindsight_schedule(h, &n, &stretch));
    assert_int_equal(n, 0);
    free(stretch);
    wrong[0] = (eqp_hindsight_step){.seconds_max = 1e308, .seconds_mean = 1e308};
    assert_ok(eqp__hindsight_add(h, &wrong[0]));
    assert_ok(eqp__hindsight_add(h, &wrong[0]));
    assert_int_equal(eqp__hindsight_regret(h, &regret), EQP_ERR_OVERFLOW);
    assert_true(regret.seconds == 7.0);
}

static int remember(eqp_regret *regret, double *best)
{
    const double aged[] = {1.0, 1.0, 1.0, 1.0};
    eqp_hindsight_stretch *stretch = NULL;
    eqp_hindsight *h = NULL;
    int64_t n;
    int code = eqp__hindsight_create(&h);

    for (int t = 0; t < 3 && code == EQP_OK; t++) {
        code = eqp__hindsight_add(h, &(eqp_hindsight_step){2.0, 1.0, t == 0, 1.0, 0.0});
    }
    code = code == EQP_OK ? eqp__hindsight_regret(h, regret) : code;
    code = code == EQP_OK ? eqp__hindsight_schedule(h, &n, &stretch) : code;
    free(stretch);
    eqp__hindsight_free(h);
    return code == EQP_OK ? eqp__policy_hindsight(2, aged, 1.0, best, NULL) : code;
}

TEST(failing_allocations_are_reported)
{
    SKIP_IF(!failing_malloc_works);
    eqp_regret regret;
    double best = 7.0;
    int64_t k = 0;
    int code;
    for (; FAILING_MALLOC(k, code = remember(&regret, &best)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_true(best == 7.0);
    }
    assert_ok(code);
    assert_true(best == 2.0 && k >= 8);
}
