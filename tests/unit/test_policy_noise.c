/* SPDX-License-Identifier: BSD-3-Clause */
/* Noise of measured seconds triggers no map and delays the detection of ageing maps only briefly. The noise is a
 * counter stream. */

#include "decide/policy.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/random.h>

enum { MOST_RANKS = 512 };

/* Seconds of steps: a map costs half of an even one. */
static const double price = 0.5;

typedef struct world {
    int nranks;
    double growth; /* of the imbalance, in each step of a map */
    double jitter; /* standard deviation of a rank's seconds */
    double worse;  /* times that, of rank 0; 0: once */
    bool spikes;   /* one rank takes three times as long, in one step of a hundred */
    bool hot;      /* the growth is rank 0's, else it is spread over all ranks */
    bool clock;    /* the jitter is of the measurement alone: steps last as long as without it */
} world;

static double work_of(const world *w, int64_t map, int64_t age, int r)
{
    const double more = w->growth * (double)age, own = eqp_random_uniform(1, (uint64_t)map, (uint64_t)r);

    if (w->hot) {
        return r == 0 ? 1.0 + more : 1.0 - more / (w->nranks - 1);
    }
    return 1.0 + more * (r == map % w->nranks ? 1.0 : 2.0 * own - 1.0);
}

/* load: [nranks] as measured. Returns the seconds of the step. */
static double make_step(const world *w, int64_t step, int64_t map, int64_t age, double *load)
{
    const bool spike = w->spikes && eqp_random_uniform(2, 0, (uint64_t)step) < 0.01;
    const int at = (int)eqp_random_below(3, 0, (uint64_t)step, (uint64_t)w->nranks);
    double normal[2] = {0.0, 0.0}, most = 0.0;

    for (int r = 0; r < w->nranks; r++) {
        const double work = w->growth > 0.0 ? work_of(w, map, age, r) : 1.0;
        if (w->jitter > 0.0 && r % 2 == 0) {
            eqp_random_normal(4, (uint64_t)step, (uint64_t)r, normal);
        }
        load[r] = work * fmax(1.0 + w->jitter * (r == 0 && w->worse > 0.0 ? w->worse : 1.0) * normal[r % 2], 0.1) *
                  (spike && r == at ? 3.0 : 1.0);
        most = fmax(most, w->clock ? work : load[r]);
    }
    return most;
}

/* Seconds of the run. maps: after the first. */
static double run(const world *w, eqp_policy_mode mode, int64_t steps, int *maps)
{
    static double load[MOST_RANKS];
    eqp_policy_options options = eqp_policy_options_defaults();
    eqp_policy policy;
    eqp_rank_noise noise;
    double seconds = 0.0;
    int64_t age = 0;

    options.mode = mode;
    assert_ok(eqp__policy_init(&policy, &options));
    assert_ok(eqp__rank_noise_create(w->nranks, &noise));
    *maps = -1;
    for (int64_t s = 0; s < steps; s++) {
        eqp_policy_sample sample = {.balance_seconds = price, .rebalanced = eqp__policy_advise(&policy) != EQP_KEEP};
        *maps += sample.rebalanced;
        age = sample.rebalanced ? 0 : age + 1;
        seconds += make_step(w, s, *maps, age, load) + (sample.rebalanced && s > 0 ? price : 0.0);
        for (int r = 0; r < w->nranks; r++) {
            sample.seconds_mean += load[r] / w->nranks;
            sample.seconds_max = fmax(sample.seconds_max, load[r]);
        }
        sample.hidden = eqp__rank_noise_record(&noise, load, sample.rebalanced, options.false_alarms);
        assert_ok(eqp__policy_record(&policy, &sample));
    }
    eqp__rank_noise_free(&noise);
    return seconds;
}

static double run_by_period(const world *w, int64_t steps, int64_t every)
{
    static double load[MOST_RANKS];
    double seconds = 0.0;

    for (int64_t s = 0; s < steps; s++) {
        seconds += make_step(w, s, s / every, s % every, load) + (s > 0 && s % every == 0 ? price : 0.0);
    }
    return seconds;
}

/* Loss relative to the best fixed period. */
static double regret(const world *w, int64_t steps)
{
    double best = INFINITY;
    int maps;
    const double seconds = run(w, EQP_POLICY_AUTO, steps, &maps);

    for (int64_t every = 16; every < 130; every += 1 + every / 7) {
        best = fmin(best, run_by_period(w, steps, every));
    }
    return 1.0 - best / seconds;
}

TEST(an_even_run_keeps_its_map)
{
    static const double jitter[] = {0.0, 0.02, 0.1};
    static const eqp_policy_mode modes[] = {EQP_POLICY_AUTO, EQP_POLICY_GAIN};

    for (int k = 0; k < 12; k++) {
        const world w = {.nranks = 8, .jitter = jitter[k % 3], .spikes = k / 3 % 2};
        int maps;
        (void)run(&w, modes[k / 6], 10000, &maps);
        assert_in_range(maps, 0, 5);
    }
    const world uneven = {.nranks = 8, .jitter = 0.02, .worse = 5.0};
    int times;
    (void)run(&uneven, EQP_POLICY_AUTO, 10000, &times);
    assert_in_range(times, 0, 5);
    for (int k = 0; k < 2; k++) { /* many ranks take long here */
        const world w = {.nranks = 512, .jitter = 0.1, .spikes = k};
        int maps;
        (void)run(&w, EQP_POLICY_AUTO, 2000, &maps);
        assert_in_range(maps, 0, 2);
    }
}

TEST(noise_does_not_hide_that_maps_age)
{
    for (int k = 0; k < 4; k++) {
        const world few = {.nranks = 8, .growth = 0.002, .jitter = 0.1, .hot = k % 2, .clock = k / 2};
        const world many = {.nranks = 512, .growth = 0.002, .jitter = 0.1, .hot = k % 2, .clock = k / 2};
        assert_true(regret(&few, 4000) < 0.01);
        assert_true(slow_here() || regret(&many, 1500) < 0.01);
    }
}

TEST(without_noise_nothing_is_lost)
{
    for (int k = 0; k < 2; k++) {
        const world w = {.nranks = 8, .growth = 0.002, .hot = k};
        assert_true(regret(&w, 2000) < 0.001);
    }
}

/* The load of one rank grows during every map; the noise of the remaining ranks equals its growth in 100 steps. */
TEST(averages_find_a_hidden_rank)
{
    const world w = {.nranks = 512, .growth = 0.002, .jitter = 0.1, .hot = true};
    double load[MOST_RANKS];
    eqp_rank_noise noise;
    double found = 0.0;
    int times = 0;

    assert_ok(eqp__rank_noise_create(w.nranks, &noise));
    for (int64_t s = 0; s < 2000; s++) {
        (void)make_step(&w, s, s / 50, s % 50, load);
        const double rise = eqp__rank_noise_record(&noise, load, s % 50 == 0, 1e-4);
        found = fmax(found, rise);
        times += rise > 0.0 && s >= 1500;
    }
    assert_true(found > 0.0015 && found < 0.0035);
    assert_true(times > 450);
    eqp__rank_noise_free(&noise);
}

TEST(one_rank_has_nothing_to_hide)
{
    eqp_rank_noise noise;

    assert_ok(eqp__rank_noise_create(1, &noise));
    for (int s = 0; s < 100; s++) {
        const double load = s < 50 ? 1.0 + s : 0.0;
        assert_true(eqp__rank_noise_record(&noise, &load, s == 0, 1e-4) == 0.0);
    }
    eqp__rank_noise_free(&noise);
}

/* The lower the rate, the later a map; with rate 1 every loss that costs enough counts. */
TEST(the_rate_of_false_alarms_is_the_callers)
{
    static const double rate[] = {1.0, 1e-2, 1e-8};
    int maps[3] = {0};

    for (int k = 0; k < 3; k++) {
        eqp_policy_options options = eqp_policy_options_defaults();
        eqp_policy policy;
        options.false_alarms = rate[k];
        assert_ok(eqp__policy_init(&policy, &options));
        for (int64_t s = 0; s < 4000; s++) {
            double normal[2];
            eqp_random_normal(5, 0, (uint64_t)s, normal);
            const eqp_policy_sample sample = {.seconds_max = fmax(1.3 + 0.05 * normal[0], 1.0),
                                              .seconds_mean = 1.0,
                                              .rebalanced = eqp__policy_advise(&policy) != EQP_KEEP,
                                              .balance_seconds = price};
            maps[k] += sample.rebalanced;
            assert_ok(eqp__policy_record(&policy, &sample));
        }
    }
    assert_true(maps[0] > maps[1] && maps[1] >= maps[2]);
    assert_int_equal(maps[2], 1);
}

TEST(normal_quantiles)
{
    assert_true(fabs(eqp__normal_exceeded(0.5)) < 1e-9);
    assert_true(fabs(eqp__normal_exceeded(0.025) - 1.959963985) < 1e-8);
    assert_true(fabs(eqp__normal_exceeded(1e-7) - 5.199337582) < 1e-8);
}
