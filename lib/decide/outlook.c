/* SPDX-License-Identifier: BSD-3-Clause */
#include "decide/outlook.h"

#include <math.h>
#include <stddef.h>

/* Samples of an age that count; older ones fade, since a run changes. */
#define MEMORY 16.0

/* A kind's deviation from the average is trusted by weight / (weight + DOUBT). */
#define DOUBT 2.0

/* Fraction of a run that trials may take. */
#define SHARE 0.02

static double first_age(int bin)
{
    return (double)(1 << bin);
}

static int bin_of(double age)
{
    int bin = 0;

    while (bin < EQP__AGES - 1 && age >= first_age(bin + 1)) {
        bin++;
    }
    return bin;
}

void eqp__ageing_learn(eqp_ageing *ageing, int64_t age, double rise)
{
    if (age < 1 || !isfinite(rise)) {
        return;
    }
    const int bin = bin_of((double)age);
    ageing->weight[bin] = fmin(ageing->weight[bin] + 1.0, MEMORY);
    ageing->rise[bin] += (rise - ageing->rise[bin]) / ageing->weight[bin];
}

bool eqp__ageing_known(const eqp_ageing *ageing)
{
    bool known = false;

    for (int b = 0; b < EQP__AGES && ageing != NULL; b++) {
        known = known || ageing->weight[b] > 0.0;
    }
    return known;
}

/* Known ages keep their rise; unknown ages follow a square root. */
static void fill(const eqp_ageing *of, double rise[EQP__AGES])
{
    int last = -1, first = 0;

    while (first < EQP__AGES - 1 && of->weight[first] <= 0.0) {
        first++;
    }
    for (int b = 0; b < EQP__AGES; b++) {
        last = of->weight[b] > 0.0 ? b : last;
        const int from = last >= 0 ? last : first;
        rise[b] = fmax(of->rise[from], 0.0) * (from == b ? 1.0 : sqrt(first_age(b) / first_age(from)));
    }
}

/* Ageing of a kind relative to all kinds, at ages known for both. */
static double against(const eqp_ageing *of, const double usual[EQP__AGES])
{
    double own = 0.0, all = 0.0, weight = 0.0;

    for (int b = 0; b < EQP__AGES; b++) {
        own += of->weight[b] * fmax(of->rise[b], 0.0);
        all += of->weight[b] * usual[b];
        weight += of->weight[b];
    }
    return all > 0.0 ? (weight * own / all + DOUBT) / (weight + DOUBT) : 1.0;
}

void eqp__ageing_expect(const eqp_ageing *ageing, const eqp_ageing *usual, double rise[EQP__AGES])
{
    double all[EQP__AGES] = {0.0};

    if (!eqp__ageing_known(usual)) {
        fill(ageing, rise);
        return;
    }
    fill(usual, all);
    const double scale = against(ageing, all);
    for (int b = 0; b < EQP__AGES; b++) {
        const double trust = ageing->weight[b] / (ageing->weight[b] + DOUBT);
        rise[b] = fmax(trust * ageing->rise[b] + (1.0 - trust) * scale * all[b], 0.0);
    }
}

/* Rises by age, and the present one. */
typedef struct course {
    double rise[EQP__AGES], now;
} course;

static course course_of(const eqp_lives *lives, const eqp_prospect *of)
{
    course c = {.now = 0.0};

    eqp__ageing_expect(of->ageing, lives->known, c.rise);
    c.now = of->age > 0 ? c.rise[bin_of((double)of->age)] : 0.0;
    return c;
}

/* Walks the steps from an age on, the first of which loses nothing, until they have lost `price`, in units of an even
 * step, but at most `most` steps. Returns their number and what they lose. */
static double walk(const course *c, int64_t age, double most, double price, double *lost)
{
    double at = (double)age + 1.0;
    const double end = (double)age + most;

    *lost = 0.0;
    while (at < end) {
        const int bin = bin_of(at);
        const double until = bin == EQP__AGES - 1 ? end : fmin(end, first_age(bin + 1));
        const double rise = fmax(c->rise[bin] - c->now, 0.0), loss = rise * (until - at);
        if (loss >= price) {
            return at + (rise > 0.0 ? ceil(price / rise) : 0.0) - (double)age;
        }
        *lost += loss;
        price -= loss;
        at = until;
    }
    return most;
}

double eqp__prospect_life(const eqp_lives *lives, const eqp_prospect *of)
{
    if (!lives->by_loss || of->even <= 0.0 || !(eqp__ageing_known(of->ageing) || eqp__ageing_known(lives->known))) {
        return fmin(lives->usual, lives->most);
    }
    const course c = course_of(lives, of);
    double lost;
    return fmin(walk(&c, of->age, lives->most, of->price / of->even, &lost), lives->most);
}

double eqp__prospect_cost(const eqp_lives *lives, const eqp_prospect *of)
{
    const double life = eqp__prospect_life(lives, of);
    const course c = course_of(lives, of);
    double lost;

    (void)walk(&c, of->age, life, INFINITY, &lost);
    return of->step + (of->paid + of->even * lost) / life;
}

int eqp__outlook_pick(int n, const double *step, const double *next)
{
    bool ahead = true;
    int best = 0;

    for (int i = 0; i < n; i++) {
        ahead = ahead && !isnan(next[i]);
    }
    const double *const by = ahead ? next : step;
    for (int i = 1; i < n; i++) {
        best = by[i] < by[best] ? i : best;
    }
    return best;
}

double eqp__trials_left(double run, double life, double spent)
{
    return SHARE * (run + life) - spent;
}
