/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/frame.h"
#include "methods/levels/levelled.h"
#include "unit.h"

#include <equipoise/more/methods.h>

enum { MOST = 3000, MOST_PARTS = 40 };

typedef struct set {
    int64_t n;
    int nphases, nparts;
    double weight[MOST], load[MOST * EQP_CYCLE_PHASES], times[EQP_CYCLE_PHASES], share[MOST_PARTS];
    bool shares;
} set;

static uint64_t state = 5;

/* Phase k has the items of bins k and deeper, as with block time steps; particles: number in each item. */
static void make_bins(set *s, int64_t n, int nphases, int nparts, int particles)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    s->nphases = nphases;
    s->nparts = nparts;
    for (int k = 0; k < nphases; k++) {
        s->times[k] = k == 0 ? 1 : ldexp(1, k - 1);
    }
    for (int64_t i = 0; i < n; i++) {
        /* Deep bins are crowded in the middle of the curve. */
        const double middle = fabs((double)i / (double)n - 0.5);
        for (int p = 0; p < particles; p++) {
            const double depth = -log2(fmin(1, 0.02 + middle + 0.6 * noise(&state)));
            for (int k = 0; k < nphases && (k == 0 || depth > 0.4 * k); k++) {
                s->load[i * nphases + k] += 1;
            }
        }
    }
}

static void weigh(set *s)
{
    double sum = 0;

    for (int64_t i = 0; i < s->n; i++) {
        s->weight[i] = 0;
        for (int k = 0; k < s->nphases; k++) {
            s->weight[i] += s->times[k] * s->load[i * s->nphases + k];
        }
    }
    for (int p = 0; p < s->nparts; p++) {
        s->share[p] = 1 + p % 3;
        sum += s->share[p];
    }
    for (int p = 0; p < s->nparts; p++) {
        s->share[p] /= sum;
    }
}

/* The items and options of a set, in place until the next call. */
static eqp__levelling levelling_of(const set *s)
{
    static eqp_balance_items items;
    static eqp_balance_options options;

    items = (eqp_balance_items){.n = s->n, .weight = s->weight, .phase_load = s->load};
    options = eqp_balance_options_defaults();
    options.nphases = s->nphases;
    options.times = s->times;
    options.nparts = s->nparts;
    options.share = s->shares ? s->share : NULL;
    return (eqp__levelling){&items, &options};
}

static eqp_cycle measure(const set *s, const int *part)
{
    eqp_cycle c;

    assert_ok(
        eqp__cycle_measure(s->n, s->load, part, s->nphases, s->times, s->nparts, s->shares ? s->share : NULL, &c));
    return c;
}

static double curve_of(const set *s, int *part)
{
    int64_t first[MOST_PARTS + 1];

    assert_ok(eqp_cuts_optimal(s->n, s->weight, s->nparts, s->shares ? s->share : NULL, first, NULL));
    for (int p = 0; p < s->nparts; p++) {
        for (int64_t i = first[p]; i < first[p + 1]; i++) {
            part[i] = p;
        }
    }
    return measure(s, part).efficiency;
}

/* Levels a set, checks the properties of any result, and returns the efficiency. */
static double level(set *s)
{
    int part[MOST], again[MOST], count[MOST_PARTS] = {0};
    int64_t moved;

    weigh(s);
    const eqp__levelling in = levelling_of(s);
    for (int64_t i = 0; i < s->n; i++) {
        part[i] = again[i] = -1;
    }
    assert_ok(eqp__levelled_assign(&in, part, &moved));
    assert_ok(eqp__levelled_assign(&in, again, &moved));
    assert_memory_equal(part, again, (size_t)s->n * sizeof *part);
    for (int64_t i = 0; i < s->n; i++) {
        assert_in_range(part[i], 0, s->nparts - 1);
        count[part[i]]++;
    }
    for (int p = 0; p < s->nparts && !s->shares && s->n >= s->nparts; p++) {
        assert_true(count[p] > 0);
    }
    const double efficiency = measure(s, part).efficiency;
    assert_true(efficiency >= curve_of(s, again) - 1e-12);
    return efficiency;
}

TEST(every_phase_is_even)
{
    static set s;
    int part[MOST];

    for (int nparts = 1; nparts <= MOST_PARTS; nparts += 9) {
        make_bins(&s, MOST, 4, nparts, 1);
        const double efficiency = level(&s);
        assert_true(efficiency > 0.97);
        assert_true(nparts < 4 || curve_of(&s, part) < 0.95);
    }
}

/* Items of several particles in different bins, nearly all items active in all phases: 50 items per part leave the
 * repair less choice than 125. */
TEST(mixed_items_are_repaired)
{
    static set s;

    for (int nparts = 2; nparts <= 20; nparts += 3) {
        make_bins(&s, 1000, 4, nparts, 8);
        assert_true(level(&s) > (nparts <= 8 ? 0.95 : 0.9));
    }
}

TEST(kernels_of_any_proportions_come_out_even)
{
    static set s;

    for (int nparts = 2; nparts <= 16; nparts += 7) {
        make_bins(&s, 600, 3, nparts, 1);
        for (int64_t i = 0; i < s.n; i++) {
            const double at = (double)i / (double)s.n;
            s.load[3 * i] = 0.5 + at + noise(&state);
            s.load[3 * i + 1] = 0.2 + 2 * (1 - at) * noise(&state);
            s.load[3 * i + 2] = 1;
        }
        assert_true(level(&s) > 0.95);
    }
}

/* The bound of a set whose items weigh 1. */
static double bound_of(const set *s)
{
    double work = 0, wait = 0;

    for (int k = 0; k < s->nphases; k++) {
        double sum = 0;
        for (int64_t i = 0; i < s->n; i++) {
            sum += s->load[i * s->nphases + k];
        }
        work += s->times[k] * sum / s->nparts;
        wait += s->times[k] * ceil(sum / s->nparts);
    }
    return work / wait;
}

static double best_of_all(const set *s)
{
    int part[12] = {0};
    double best = 0;

    for (;;) {
        const double here = measure(s, part).efficiency;
        int64_t i = 0;
        best = here > best ? here : best;
        while (i < s->n && ++part[i] == s->nparts) {
            part[i++] = 0;
        }
        if (i == s->n) {
            return best;
        }
    }
}

TEST(near_the_best_of_all_assignments)
{
    static set s;
    double worst = 1, sum = 0;
    int tried = 0;

    for (int round = 0; round < 30; round++) {
        make_bins(&s, 4 + round % 5, 1 + round % 3, 2 + round % 2, 1);
        for (int64_t j = 0; round % 2 && j < s.n * s.nphases; j++) {
            s.load[j] = noise(&state) < 0.7 ? floor(1 + 4 * noise(&state)) : 0;
        }
        const double mine = level(&s), best = best_of_all(&s);
        assert_true(mine <= best + 1e-12);
        worst = fmin(worst, mine / best);
        sum += mine / best;
        tried++;
    }
    assert_true(worst > 0.65);
    assert_true(sum / tried > 0.95);
}

TEST(strange_sets)
{
    static set s;

    for (int round = 0; round < 40; round++) {
        make_bins(&s, round % 4 == 0 ? 7 : 500, 1 + 5 * (round % 4), 9, 1);
        s.shares = round % 3 == 2;
        for (int64_t i = 0; i < s.n; i++) {
            double *load = s.load + i * s.nphases;
            const int deep = s.nphases - 1;
            load[s.nphases / 2] = round % 5 == 1 ? 0 : load[s.nphases / 2]; /* a phase without load */
            load[deep] = round % 5 == 2 ? (i == 321 ? 1 : 0) : load[deep];  /* one item in the deepest */
            for (int k = 0; k <= deep; k++) {
                load[k] = round % 5 == 3 && i < s.n / 2 ? 0 : load[k];         /* half of the items idle */
                load[k] = round % 10 == 4 ? 0 : load[k];                       /* nothing at all */
                load[k] *= round % 7 == 6 ? ldexp(1 + noise(&state), 300) : 1; /* any unit */
            }
        }
        (void)level(&s);
    }
    make_bins(&s, 0, 3, 4, 1);
    assert_near(level(&s), 1, 0);
    make_bins(&s, 2000, EQP_CYCLE_PHASES, 8, 1);
    assert_true(level(&s) > 0.98 * bound_of(&s));
}

TEST(unequal_shares_are_followed)
{
    static set s;

    make_bins(&s, MOST, 4, 7, 1);
    s.shares = true;
    assert_true(level(&s) > 0.97);
}

/* A repair may start from any parts and never increases the largest load of a phase. */
TEST(a_repair_worsens_no_phase)
{
    static set s;
    int part[MOST];

    for (int round = 0; round < 10; round++) {
        int64_t moved;
        make_bins(&s, 800, 3, 10, 1 + round % 3);
        weigh(&s);
        for (int64_t i = 0; i < s.n; i++) {
            part[i] = round < 5 ? (int)(10 * i / s.n) : (int)(10 * noise(&state));
        }
        const eqp__levelling in = levelling_of(&s);
        const eqp_cycle before = measure(&s, part);
        assert_ok(eqp__levelled_repair(&in, part, &moved));
        const eqp_cycle after = measure(&s, part);
        for (int k = 0; k < 3; k++) {
            assert_true(after.imbalance[k] <= before.imbalance[k] + 1e-12);
        }
        assert_true(moved > 0 && after.efficiency > before.efficiency);
    }
}
