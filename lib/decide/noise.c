/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/policy.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Median deviation of a normal distribution, in standard deviations. */
#define MEDIAN_DEVIATION 0.6745

/* The same for their mean deviation. */
#define MEAN_DEVIATION 0.7979

/* Number of earlier maps that are remembered. */
#define MEMORY 20.0

/* The noise of a maximum is skewed: the minimum of several values lies less far below their mean than for normal
 * noise. */
#define SKEWED 0.8

/* The variance of the minimum of several values, relative to that of one, is about the variance of the mean of this
 * many. */
#define LEAST_AS_MEAN 1.8

/* Steps averaged for the spread, since the median of a few changes is itself noisy. */
#define STEADY 100.0
#define FEW 8

/* The same for ranks: finding one rank among many takes more samples. */
#define RANK_MEMORY 100.0

/* Changes of a rank averaged for its spread, and the number needed before it is used. */
#define RANK_STEADY 300.0
#define BELIEVED 100

/* A rise hidden below the other ranks counts until it exceeds the ranks' median maximum by this factor. */
#define HIDES 2.0

/* Least relative excess of the squares of rises over those of noise. */
#define NOTABLE 0.3

/* Rises are remembered across maps, so one false alarm would trigger several new maps; it must therefore be rarer. */
#define SELDOM 1e-3

#define AGEING 256

/* Weight of an earlier map is limited to this many steps. */
#define LIFE 128.0

/* Relative difference in ageing between maps. */
#define UNLIKE 0.5

double eqp__noise_rate(double false_alarms)
{
    return -expm1(log1p(-false_alarms) / 4.0);
}

double eqp__normal_exceeded(double probability)
{
    double low = -40.0, high = 40.0;

    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2.0;
        if (erfc(middle / sqrt(2.0)) / 2.0 > probability) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static double median_of_three(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Median of n <= EQP_POLICY_CHANGES numbers; for even n the lower middle one. */
static double median(int n, const double *of)
{
    double sorted[EQP_POLICY_CHANGES];

    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > of[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = of[i];
    }
    return sorted[(n - 1) / 2];
}

/* Second differences exclude a steady rise, which is not noise. */
static void learn_spread(eqp_policy_noise *noise, double imbalance)
{
    const int64_t n = noise->changes;

    noise->change[(uint64_t)n % EQP_POLICY_CHANGES] = fabs(imbalance - 2.0 * noise->last + noise->former);
    noise->changes += n < INT64_MAX;
    const int seen = (int)(n >= 0 && n < EQP_POLICY_CHANGES ? n + 1 : EQP_POLICY_CHANGES);
    const double spread = median(seen, noise->change) / (MEDIAN_DEVIATION * sqrt(6.0));
    /* the median of the first few changes may be a jump instead of noise */
    const double part = noise->changes <= FEW ? 1.0 : 1.0 / fmin((double)(noise->changes - FEW), STEADY);
    noise->spread += (spread - noise->spread) * part;
}

/* Expected distance of the minimum of n fresh steps below their mean, in standard deviations. */
static double shortfall(int64_t n)
{
    const double of = (double)n;

    return n < 2 ? 0.0 : SKEWED * eqp__normal_exceeded(1.0 - (of - 0.375) / (of + 0.25));
}

static void combine(eqp_level *level, double mean, double variance)
{
    if (level->variance > 0.0 && isfinite(variance)) {
        const double share = level->variance / (level->variance + variance);
        level->mean += share * (mean - level->mean);
        level->variance *= 1.0 - share;
    }
}

eqp_level eqp__noise_mark(const eqp_policy_noise *noise, double reached, int64_t settled)
{
    const double one = noise->spread * noise->spread / fmin(settled > 0 ? (double)settled : 1.0, LEAST_AS_MEAN);
    eqp_level mark = {reached + shortfall(settled) * noise->spread, one};

    if (noise->fresh_maps > 0.0) {
        const double among = fmax(noise->fresh_square - noise->fresh * noise->fresh, 0.0);
        const double n = noise->fresh_maps, true_among = fmax(among * (n + 1.0) / n - one, 0.0);
        combine(&mark, noise->fresh, true_among + one / n);
    }
    if (noise->calm_steps > 0.0) {
        combine(&mark, noise->calm, noise->spread * noise->spread / noise->calm_steps);
    }
    return mark;
}

static double excess(const eqp_policy_noise *noise, const eqp_level *mark)
{
    return noise->sum_beyond - mark->mean * noise->sum_mean;
}

/* Adds the last step, with this imbalance, to the earlier ones. */
static void put_behind(eqp_policy_noise *noise, double imbalance)
{
    noise->sum_mean += noise->mean;
    noise->sum_beyond += noise->mean * imbalance;
    noise->steps += noise->steps < INT64_MAX;
}

/* Least squares over n steps from age 0: the weight of the rise (1 / variance, relative to one step), the weighted rise
 * from the sums of values and of values times age, and the fraction that counts for an earlier map. */
static double weight_of_fit(int64_t steps)
{
    const double n = (double)steps;

    return n * (n * n - 1.0) / 12.0;
}

static double rise_of_fit(int64_t steps, double sum, double ages)
{
    return ages - sum * ((double)steps - 1.0) / 2.0;
}

static double less_of_fit(int64_t steps)
{
    return steps > 1 ? fmin(1.0, LIFE * LIFE * LIFE / 12.0 / weight_of_fit(steps)) : 0.0;
}

static void end_fit(eqp_policy_noise *noise)
{
    const double less = less_of_fit(noise->fit_steps);

    noise->rise *= 1.0 - 1.0 / MEMORY;
    noise->rise_weight *= 1.0 - 1.0 / MEMORY;
    noise->rise += less * rise_of_fit(noise->fit_steps, noise->fit, noise->fit_ages);
    noise->rise_weight += less * weight_of_fit(noise->fit_steps);
    noise->fit = noise->fit_ages = 0.0;
    noise->fit_steps = 0;
}

static void fit(eqp_policy_noise *noise, double imbalance)
{
    if (noise->fit_steps < AGEING) {
        noise->fit += imbalance;
        noise->fit_ages += (double)noise->fit_steps * imbalance;
        noise->fit_steps++;
    }
}

eqp_level eqp__noise_rise(const eqp_policy_noise *noise)
{
    const double weight = noise->rise_weight + weight_of_fit(noise->fit_steps);
    const double sum = noise->rise + rise_of_fit(noise->fit_steps, noise->fit, noise->fit_ages);

    return weight > 0.0 ? (eqp_level){sum / weight, noise->spread * noise->spread / weight}
                        : (eqp_level){0.0, INFINITY};
}

bool eqp__noise_rises(const eqp_policy_noise *noise, double false_alarms)
{
    const eqp_level rise = eqp__noise_rise(noise);

    return rise.mean > eqp__normal_exceeded(false_alarms) * sqrt(rise.variance);
}

void eqp__noise_mend(eqp_policy_noise *noise)
{
    if (noise->age > 0) {
        put_behind(noise, noise->now);
    }
    end_fit(noise);
    noise->age = 0;
    noise->block = 0.0;
}

void eqp__noise_renew(eqp_policy_noise *noise, double reached, int64_t settled)
{
    if (settled > 0) {
        const double level = reached + shortfall(settled) * noise->spread;
        const double n = fmin(noise->fresh_maps, MEMORY - 1.0);
        noise->fresh += (level - noise->fresh) / (n + 1.0);
        noise->fresh_square += (level * level - noise->fresh_square) / (n + 1.0);
        noise->fresh_maps = n + 1.0;
    }
    eqp__noise_mend(noise);
    noise->sum_mean = noise->sum_beyond = noise->cured = 0.0;
    noise->steps = 0;
    noise->calm = noise->calm_steps = 0.0;
}

/* Learns from steps as good as fresh ones, up to half of a map's steps. */
static void learn_calm(eqp_policy_noise *noise, double imbalance, const eqp_level *mark)
{
    const int64_t age = noise->age;

    noise->block += imbalance;
    if (age < 8 || (age & (age - 1)) != 0) {
        noise->block = age == 4 ? 0.0 : noise->block;
        return;
    }
    const double n = (double)age / 2.0, mean = noise->block / n;
    if (mean <= mark->mean + sqrt(mark->variance + noise->spread * noise->spread / n)) {
        noise->calm_steps += n;
        noise->calm += (mean - noise->calm) * n / noise->calm_steps;
    }
    noise->block = 0.0;
}

void eqp__noise_record(eqp_policy_noise *noise, double imbalance, double mean, const eqp_level *mark, double cured)
{
    if (noise->age > 0) { /* the previous step, smoothed by its neighbours */
        const double first = fmin(noise->last, imbalance);
        const double level = noise->age > 1 ? median_of_three(noise->former, noise->last, imbalance) : first;
        put_behind(noise, level);
        if (excess(noise, mark) < 0.0) {
            noise->sum_mean = noise->sum_beyond = 0.0;
            noise->steps = 0;
            noise->cured = cured;
        }
        fit(noise, level);
        learn_calm(noise, level, mark);
    }
    if (noise->age > 1) {
        learn_spread(noise, imbalance);
    }
    noise->now = imbalance;
    if (noise->age > 1) {
        noise->now = fmin(imbalance, noise->last + fmax(noise->last - noise->former, 0.0));
    }
    noise->former = noise->last;
    noise->last = imbalance;
    noise->mean = mean;
    noise->age += noise->age < INT64_MAX;
}

double eqp__noise_loss(const eqp_policy_noise *noise, const eqp_level *mark, double cured)
{
    return fmax(excess(noise, mark) + (noise->now - mark->mean) * noise->mean - (cured - noise->cured), 0.0);
}

static double loss_variance(const eqp_policy_noise *noise, const eqp_level *mark)
{
    const double steps = (double)noise->steps + 1.0, seconds = (noise->sum_mean + noise->mean) / steps;

    return (noise->spread * noise->spread * steps + mark->variance * steps * steps) * seconds * seconds;
}

double eqp__noise_expected(const eqp_policy_noise *noise, const eqp_level *mark, double loss)
{
    const eqp_level rise = eqp__noise_rise(noise);
    const double age = (double)noise->age, risen = noise->mean * age * (age - 1.0) / 2.0;
    eqp_level expected = {loss, loss_variance(noise, mark)};

    combine(&expected, risen * rise.mean, risen * risen * (rise.variance + pow(UNLIKE * rise.mean, 2.0)));
    return expected.mean;
}

bool eqp__noise_sure(const eqp_policy_noise *noise, const eqp_level *mark, double loss, double false_alarms)
{
    return loss * loss >= -2.0 * log(false_alarms) * loss_variance(noise, mark);
}

static bool can_be_count(int64_t n)
{
    return n >= 0 && n <= INT64_C(1) << 62;
}

bool eqp__noise_can_be(const eqp_policy_noise *noise, const eqp_noise_state *ranks)
{
    return can_be_count(noise->changes) && can_be_count(noise->age) && can_be_count(noise->steps) &&
           can_be_count(noise->fit_steps) && can_be_count(ranks->age) && can_be_count(ranks->fit_steps) &&
           can_be_count(ranks->changes);
}

void eqp__rank_noise_free(eqp_rank_noise *noise)
{
    free(noise->last);
    *noise = (eqp_rank_noise){.nranks = 0};
}

int eqp__rank_noise_create(int nranks, eqp_rank_noise *noise)
{
    eqp_rank_noise made = {.nranks = nranks};

    EQP__CHECK(eqp_array_create(&made.last, EQP__RANK_NOISE_ROWS * (int64_t)nranks, sizeof *made.last));
    made.former = made.last + nranks;
    made.fit = made.former + nranks;
    made.fit_ages = made.fit + nranks;
    made.rise = made.fit_ages + nranks;
    made.spread = made.rise + nranks;
    *noise = made;
    return EQP_OK;
}

/* Mean squares over the ranks of weight times rise: excess over noise, and ratio to noise. */
typedef struct squares {
    double beyond, ratio;
} squares;

static squares squares_of_fits(const eqp_rank_noise *noise)
{
    const double weight = weight_of_fit(noise->now.fit_steps), one = 1.0 / (double)noise->nranks;
    squares sum = {0.0, 0.0};

    for (int r = 0; r < noise->nranks && weight > 0.0; r++) {
        const double rise = rise_of_fit(noise->now.fit_steps, noise->fit[r], noise->fit_ages[r]);
        const double chance = weight * noise->spread[r] * noise->spread[r];
        sum.beyond += one * (rise * rise - chance);
        sum.ratio += chance > 0.0 ? one * rise * rise / chance : 0.0;
    }
    return sum;
}

static void end_fits(eqp_rank_noise *noise)
{
    const double weight = weight_of_fit(noise->now.fit_steps), less = less_of_fit(noise->now.fit_steps);

    const squares now = squares_of_fits(noise);
    noise->now.squares = noise->now.squares * (1.0 - 1.0 / MEMORY) + less * less * now.beyond;
    noise->now.ratios = noise->now.ratios * (1.0 - 1.0 / MEMORY) + less * less * weight * now.ratio;
    noise->now.square_weight = noise->now.square_weight * (1.0 - 1.0 / MEMORY) + pow(less * weight, 2.0);
    noise->now.weight = noise->now.weight * (1.0 - 1.0 / MEMORY) + less * less * weight;

    for (int r = 0; r < noise->nranks; r++) {
        const double rise = rise_of_fit(noise->now.fit_steps, noise->fit[r], noise->fit_ages[r]);
        noise->rise[r] = noise->rise[r] * (1.0 - 1.0 / RANK_MEMORY) + less * rise;
        noise->fit[r] = noise->fit_ages[r] = 0.0;
    }
    noise->now.rise_weight = noise->now.rise_weight * (1.0 - 1.0 / RANK_MEMORY) + less * weight;
    noise->now.fit_steps = noise->now.age = 0;
}

/* Averages changes. An outlier counts only in part, so that a hiccup is not mistaken for noise. */
static void learn_spread_of_rank(double *spread, double change, double part)
{
    const double size = fabs(change) / (MEAN_DEVIATION * sqrt(6.0));

    *spread += (fmin(size, fmax(3.0 * *spread, size / 8.0)) - *spread) * part;
}

static void take_loads(eqp_rank_noise *noise, const double *load, double mean)
{
    const bool fits = noise->now.age > 0 && noise->now.age <= AGEING;
    const double part = 1.0 / fmin((double)noise->now.changes + 1.0, RANK_STEADY);

    noise->now.spread = 0.0;
    for (int r = 0; r < noise->nranks; r++) {
        const double now = load[r] / mean - 1.0, last = noise->last[r];
        if (fits) {
            const double level = noise->now.age > 1 ? median_of_three(noise->former[r], last, now) : fmin(last, now);
            noise->fit[r] += level;
            noise->fit_ages[r] += (double)noise->now.fit_steps * level;
        }
        if (noise->now.age > 1) {
            learn_spread_of_rank(&noise->spread[r], now - 2.0 * last + noise->former[r], part);
        }
        noise->former[r] = last;
        noise->last[r] = now;
        noise->now.spread += noise->spread[r] / (double)noise->nranks;
    }
    noise->now.changes += noise->now.age > 1;
    noise->now.fit_steps += fits;
    noise->now.age++;
}

/* Largest rise of a rank; 0 unless it exceeds `surely` standard deviations of the rank's own noise. */
static double largest_rise(const eqp_rank_noise *noise, double surely)
{
    const double weight = noise->now.rise_weight + weight_of_fit(noise->now.fit_steps);
    double most = 0.0;

    for (int r = 0; r < noise->nranks; r++) {
        const double rise = noise->rise[r] + rise_of_fit(noise->now.fit_steps, noise->fit[r], noise->fit_ages[r]);
        most = rise > surely * noise->spread[r] * sqrt(weight) ? fmax(most, rise) : most;
    }
    return weight > 0.0 ? most / weight : 0.0;
}

/* Largest rise if different ranks rise with each map: sqrt(3) standard deviations of the rises, if these are
 * uniform. With many ranks the sum of squares is less certain than single rises. */
static double usual_rise(const eqp_rank_noise *noise, double false_alarms)
{
    const double own = weight_of_fit(noise->now.fit_steps), weight = noise->now.weight + own;
    const double square = noise->now.square_weight + own * own;
    const squares now = squares_of_fits(noise);
    const double beyond = noise->now.squares + now.beyond, ratio = noise->now.ratios + own * now.ratio;

    if (square <= 0.0) {
        return 0.0;
    }
    const double numbers = (double)noise->nranks * weight * weight / square;
    /* The mean square of n normal numbers exceeds the cube with this probability (Wilson and Hilferty: The distribution
     * of chi-square, PNAS 17, 1931). */
    const double part = 2.0 / (9.0 * numbers);
    const double exceeded = pow(fmax(1.0 - part + eqp__normal_exceeded(false_alarms) * sqrt(part), 0.0), 3.0);
    const bool sure = ratio > weight * fmax(exceeded, 1.0 + NOTABLE);
    return sure && beyond > 0.0 ? sqrt(3.0 * beyond / square) : 0.0;
}

double eqp__rank_noise_record(eqp_rank_noise *noise, const double *load, bool begins, double false_alarms)
{
    const double one = 1.0 / (double)noise->nranks;
    double mean = 0.0;

    for (int r = 0; r < noise->nranks; r++) {
        mean += load[r] * one;
    }
    if (begins) {
        end_fits(noise);
    }
    if (mean <= 0.0 || noise->nranks < 2) {
        return 0.0;
    }
    take_loads(noise, load, mean);
    if (noise->now.changes < BELIEVED) {
        return 0.0;
    }
    const double rate = eqp__noise_rate(false_alarms);
    const double others = eqp__normal_exceeded(0.5 * one) * noise->now.spread;
    const double rise = fmax(largest_rise(noise, eqp__normal_exceeded(rate * one)), usual_rise(noise, SELDOM * rate));
    return rise * (double)noise->now.age < HIDES * others ? rise : 0.0;
}
