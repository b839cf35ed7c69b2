/* SPDX-License-Identifier: BSD-3-Clause */
/* What noise of measured seconds costs a policy, in virtual time.
 *
 *     build/bench/study_noise [STEPS [GROWING [SEEDS]]]
 *
 * Ranks take a second each for a step that is even; a map costs half a second, the first one is free. `even`: it stays
 * so, for STEPS steps (10,000). In the other runs, of GROWING steps (2,000), the imbalance grows by 0.2 % with every
 * step, until there is a new map: `spread` over all ranks (the work of each grows by a factor of its own, another one
 * with every map), or `hot`, rank 0 has all of it. A rank's seconds are multiplied by 1 + jitter x, x normal; with
 * spikes one rank, each time another, takes three times as long in one of a hundred steps. `steps`: a step takes what
 * is measured of the slowest rank. `clock`: noise of the measurement, a step takes what it would without.
 *
 * CSV, over SEEDS (3) runs: mean and largest number of maps after the first; mean seconds of a step, maps included;
 * the best fixed period of the first run; mean and largest loss against the best period of the same run, %. */
#include "timing.h"

#include "policy/noise.h"

#include <equipoise/more/decide.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANKS = 512 };

static const double price = 0.5;

typedef struct world {
    int nranks;
    double growth, jitter;
    bool spikes, hot, clock;
    eqp_policy_mode mode;
    uint64_t seed;
} world;

static void check(int code)
{
    if (code) {
        bench_die("study_noise", eqp_error_text(code));
    }
}

/* Work of a rank, by the steps since the map. */
static double work_of(const world *w, int64_t map, int64_t age, int r)
{
    const double more = w->growth * (double)age;

    if (w->growth <= 0.0) {
        return 1.0;
    }
    if (w->hot) {
        return r == 0 ? 1.0 + more : fmax(1.0 - more / (w->nranks - 1), 0.0);
    }
    const double u =
        r == map % w->nranks ? 1.0 : 2.0 * eqp_random_uniform(4 * w->seed, (uint64_t)map, (uint64_t)r) - 1.0;
    return fmax(1.0 + more * u, 0.0);
}

/* What noise makes of it. */
static double noisy(const world *w, int64_t step, int r, double work)
{
    double normal[2] = {0.0, 0.0};

    if (w->jitter > 0.0) {
        eqp_random_normal(4 * w->seed + 1, (uint64_t)step, (uint64_t)(r / 2), normal);
        work *= fmax(1.0 + w->jitter * normal[r % 2], 0.1);
    }
    if (w->spikes && eqp_random_uniform(4 * w->seed + 2, 0, (uint64_t)step) < 0.01 &&
        r == (int)eqp_random_below(4 * w->seed + 3, 0, (uint64_t)step, (uint64_t)w->nranks)) {
        work *= 3.0;
    }
    return work;
}

/* Seconds of a step; load: [nranks] as measured. */
static double step_seconds(const world *w, int64_t step, int64_t map, int64_t age, double *load)
{
    double most = 0.0;

    for (int r = 0; r < w->nranks; r++) {
        const double work = work_of(w, map, age, r);
        load[r] = noisy(w, step, r, work);
        most = fmax(most, w->clock ? work : load[r]);
    }
    return most;
}

static double by_policy(const world *w, int64_t steps, int64_t *maps)
{
    static double load[MOST_RANKS];
    eqp_policy_options options = eqp_policy_options_defaults();
    eqp_policy policy;
    eqp_rank_noise noise;
    double seconds = 0.0;
    int64_t age = 0;

    options.mode = w->mode;
    check(eqp_policy_init(&policy, &options));
    check(eqp__rank_noise_create(w->nranks, &noise));
    *maps = -1;
    for (int64_t s = 0; s < steps; s++) {
        eqp_policy_sample sample = {.balance_seconds = price, .rebalanced = eqp_policy_wants(&policy)};
        double sum = 0.0;
        *maps += sample.rebalanced;
        age = sample.rebalanced ? 0 : age + 1;
        seconds += step_seconds(w, s, *maps, age, load) + (sample.rebalanced && s > 0 ? price : 0.0);
        for (int r = 0; r < w->nranks; r++) {
            sum += load[r];
            sample.seconds_max = fmax(sample.seconds_max, load[r]);
        }
        sample.seconds_mean = sum / w->nranks;
        sample.hidden = eqp__rank_noise_record(&noise, load, sample.rebalanced, options.false_alarms);
        check(eqp_policy_record(&policy, &sample));
    }
    eqp__rank_noise_free(&noise);
    return seconds / (double)steps;
}

static double by_period(const world *w, int64_t steps, int64_t every)
{
    static double load[MOST_RANKS];
    double seconds = 0.0;

    for (int64_t s = 0; s < steps; s++) {
        seconds += step_seconds(w, s, s / every, s % every, load) + (s > 0 && s % every == 0 ? price : 0.0);
    }
    return seconds / (double)steps;
}

/* Periods that differ by a tenth. */
static double best_period(const world *w, int64_t steps, int64_t *period)
{
    double best = INFINITY;

    for (int64_t every = w->growth > 0.0 ? 8 : steps; every <= steps; every += 1 + every / 10) {
        const double seconds = by_period(w, steps, every);
        if (seconds < best) {
            best = seconds;
            *period = every;
        }
        if (seconds > 1.02 * best && every > 150) {
            break;
        }
    }
    return best;
}

/* Runs of the same kind. */
typedef struct outcome {
    double maps, most_maps, seconds, regret, most_regret;
    int64_t period;
} outcome;

static outcome run_all(const world *w, int64_t steps, int seeds)
{
    outcome all = {.most_regret = -INFINITY};

    for (int k = seeds; k > 0; k--) {
        world one = *w;
        int64_t maps;
        one.seed = (uint64_t)k;
        const double seconds = by_policy(&one, steps, &maps), best = best_period(&one, steps, &all.period);
        const double regret = 100.0 * (1.0 - best / seconds);
        all.maps += (double)maps / seeds;
        all.most_maps = fmax(all.most_maps, (double)maps);
        all.seconds += seconds / seeds;
        all.regret += regret / seeds;
        all.most_regret = fmax(all.most_regret, regret);
    }
    return all;
}

static void show(const char *work, const world *w, int64_t steps, int seeds)
{
    const outcome all = run_all(w, steps, seeds);

    printf("%s,%s,%d,%g,%d,%s,%lld,%.1f,%g,%.4f,%lld,%.2f,%.2f\n", work, w->mode == EQP_POLICY_GAIN ? "gain" : "auto",
           w->nranks, w->jitter, w->spikes, w->clock ? "clock" : "steps", (long long)steps, all.maps, all.most_maps,
           all.seconds, (long long)all.period, all.regret, all.most_regret);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const int ranks[] = {8, 512};
    static const double jitter[] = {0.0, 0.02, 0.1};
    const int64_t steps = argc > 1 ? atoll(argv[1]) : 10000, growing = argc > 2 ? atoll(argv[2]) : 2000;
    const int seeds = argc > 3 ? atoi(argv[3]) : 3;

    printf("work,policy,ranks,jitter,spikes,noise,steps,maps,most_maps,step_seconds,best_period,regret,most_regret\n");
    for (int i = 0; i < 4; i++) {
        world w = {.nranks = ranks[i % 2], .mode = i < 2 ? EQP_POLICY_AUTO : EQP_POLICY_GAIN};
        for (int k = 0; k < 6; k++) {
            w.jitter = jitter[k % 3];
            w.spikes = k >= 3;
            show("even", &w, steps, seeds);
        }
        w.growth = 0.002;
        w.spikes = false;
        for (int k = 0; k < 12; k++) {
            w.jitter = jitter[k % 3];
            w.hot = k / 3 % 2;
            w.clock = k >= 6;
            show(w.hot ? "hot" : "spread", &w, growing, seeds);
        }
    }
    return 0;
}
