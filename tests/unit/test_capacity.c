/* SPDX-License-Identifier: BSD-3-Clause */
/* Hard caps: no part exceeds its capacity, reports of impossible caps are correct, and loads stay even. */
#include "failing_malloc.h"
#include "methods/frame/capacity.h"
#include "methods/frame/frame.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/methods.h>

enum { MOST = 6000, MOST_PARTS = 64, SMALL = 9, SMALL_PARTS = 4 };

typedef struct set {
    int64_t n, size[MOST], capacity[MOST_PARTS];
    int nparts, part[MOST];
    double weight[MOST];
} set;

static uint64_t state = 3;

static int64_t any(int64_t below)
{
    return (int64_t)(noise(&state) * (double)below);
}

/* The items and options of a set, in place until the next call. */
static eqp__capping capping_of(const set *s)
{
    static eqp_balance_items items;
    static eqp_balance_options options;

    items = (eqp_balance_items){.n = s->n, .size = s->size, .weight = s->weight};
    options = eqp_balance_options_defaults();
    options.nparts = s->nparts;
    options.capacity = s->capacity;
    options.imbalance_tol = 0.02;
    return (eqp__capping){&items, &options};
}

static bool fits(const set *s, const int *part)
{
    int64_t fill[MOST_PARTS] = {0};
    bool fit = true;

    for (int64_t i = 0; i < s->n; i++) {
        fill[part[i]] += s->size[i];
    }
    for (int p = 0; p < s->nparts; p++) {
        fit = fit && fill[p] <= s->capacity[p];
    }
    return fit;
}

/* True if any assignment fits; brute force. */
static bool can_fit(const set *s)
{
    int part[SMALL] = {0};
    int64_t i = 0;

    while (i < s->n) {
        if (fits(s, part)) {
            return true;
        }
        for (i = 0; i < s->n && ++part[i] == s->nparts; i++) {
            part[i] = 0;
        }
    }
    return fits(s, part);
}

/* Difficult sets, feasible or not at random: items roughly fill the capacities. */
static void make_small(set *s)
{
    const int64_t largest = 1 + any(12);
    int64_t sum = 0;

    memset(s, 0, sizeof *s);
    s->n = any(SMALL + 1);
    s->nparts = 1 + (int)any(s->n > 7 ? 3 : SMALL_PARTS);
    for (int64_t i = 0; i < s->n; i++) {
        s->size[i] = any(4) == 0 ? largest / 2 : any(largest + 1);
        s->weight[i] = noise(&state);
        s->part[i] = (int)any(s->nparts);
        sum += s->size[i];
    }
    const bool alike = any(2) == 0;
    const int64_t even = (int64_t)((double)sum / s->nparts * (0.9 + 0.4 * noise(&state)));
    for (int p = 0; p < s->nparts; p++) {
        s->capacity[p] = alike ? even : any(2 * even + 2);
    }
}

TEST(small_sets_against_brute_force)
{
    const int rounds = slow_here() ? 300 : 4000;
    int found = 0, proven = 0;
    static set s;

    for (int round = 0; round < rounds; round++) {
        int part[SMALL];
        eqp__capped r;
        eqp_message why;
        bool broken;
        make_small(&s);
        const eqp__capping in = capping_of(&s);
        const bool can = can_fit(&s);
        memcpy(part, s.part, sizeof part);
        assert_ok(eqp__capacity_repair(&in, part, &r));
        assert_int_equal(r.fits, can);
        assert_int_equal(r.proven, !can);
        assert_int_equal(r.why.text[0] == '\0', can);
        assert_true(can ? fits(&s, part) : memcmp(part, s.part, sizeof part) == 0);
        assert_ok(eqp__capacity_bounds(&in, &broken, &why));
        assert_false(broken && can);
        found += can;
        proven += broken;
    }
    assert_in_range(found, rounds / 4, rounds * 3 / 4); /* otherwise the sets are too easy or too hard */
    assert_true(proven > (rounds - found) * 9 / 10);    /* the rest needs a search */
}

/* Many items: light ones of large size, and heavy ones of small size. */
static void make_large(set *s, int64_t n, int nparts)
{
    int64_t first[MOST_PARTS + 1];

    memset(s, 0, sizeof *s);
    s->n = n;
    s->nparts = nparts;
    for (int64_t i = 0; i < n; i++) {
        const double at = ((double)i + 0.5) / (double)n;
        s->size[i] = 1 + any(40);
        s->weight[i] =
            (double)s->size[i] * (0.2 + exp(-40 * (at - 0.4) * (at - 0.4)) + 3 * exp(-900 * (at - 0.7) * (at - 0.7)));
    }
    assert_ok(eqp_cuts_optimal(n, s->weight, nparts, NULL, first, NULL));
    for (int p = 0; p < nparts; p++) {
        for (int64_t i = first[p]; i < first[p + 1]; i++) {
            s->part[i] = p;
        }
    }
}

static void cap(set *s, double of_mean, bool alike)
{
    double sum = 0, all = 0;

    for (int64_t i = 0; i < s->n; i++) {
        sum += (double)s->size[i];
    }
    for (int p = 0; p < s->nparts; p++) {
        all += alike ? 1 : 1 + p % 3;
    }
    for (int p = 0; p < s->nparts; p++) {
        s->capacity[p] = (int64_t)(of_mean * sum / all * (alike ? 1 : 1 + p % 3));
    }
}

static double imbalance_of(const set *s, const int *part)
{
    eqp_part_loads loads;

    assert_ok(eqp__parts_load(s->n, s->weight, part, s->nparts, NULL, NULL, &loads));
    return loads.imbalance;
}

/* Capacities slightly above the mean, equal or not, keep the balance and add few pieces of the curve. */
TEST(loads_stay_even)
{
    static set s;
    static int part[MOST];

    for (int round = 0; round < 6; round++) {
        const int nparts = round % 2 == 0 ? 8 : 48;
        const bool alike = round < 4;
        const double of_mean = round < 2 ? 1.05 : 1.2;
        eqp__capped r;
        int64_t runs = 1;
        make_large(&s, MOST, nparts);
        cap(&s, of_mean, alike);
        const eqp__capping in = capping_of(&s);
        memcpy(part, s.part, sizeof part);
        assert_false(fits(&s, part));
        assert_ok(eqp__capacity_repair(&in, part, &r));
        assert_true(r.fits && fits(&s, part));
        for (int64_t i = 1; i < s.n; i++) {
            runs += part[i] != part[i - 1];
        }
        assert_true(imbalance_of(&s, part) <= 0.02 + 1e-9);
        assert_true(runs <= 20 * nparts);
    }
}

TEST(what_fits_is_repaired_no_more_than_it_must)
{
    static set s;
    static int part[MOST];
    eqp__capped r;

    make_large(&s, 1000, 7);
    cap(&s, 1000, true);
    const eqp__capping in = capping_of(&s);
    memcpy(part, s.part, sizeof part);
    assert_ok(eqp__capacity_repair(&in, part, &r));
    assert_true(r.fits && r.moved == 0);
    assert_memory_equal(part, s.part, sizeof part);
    for (int p = 0; p < 7; p++) {
        s.capacity[p] = INT64_MAX; /* unlimited */
    }
    assert_ok(eqp__capacity_repair(&in, part, &r));
    assert_true(r.fits && r.moved == 0);
}

/* For each bound a set that only this bound proves impossible, and a set that no bound decides. */
TEST(proofs_say_what_is_broken)
{
    static const struct {
        const char *says;
        int64_t size[8], capacity[4];
        int n, nparts;
    } row[] = {
        {"the items sum to 12", {4, 4, 4}, {5, 6}, 3, 2},
        {"an item of 9 is larger than each capacity, 8", {1, 9, 1}, {8, 8}, 3, 2},
        {"items of at least 6 sum to 12", {1, 6, 6}, {7, 5, 5}, 3, 3},
        {"items hold 3 times a size of 4, the parts have room for 2", {4, 4, 4}, {7, 7}, 3, 2},
        {"items of at least 3 take 26", {8, 7, 3, 3, 3}, {10, 10, 5}, 5, 3},
        {"a search of all assignments", {8, 4, 4, 4, 4, 3}, {10, 10, 10}, 6, 3},
    };
    static set s;

    for (int k = 0; k < COUNT_OF(row); k++) {
        eqp__capped r;
        int part[8] = {0};
        memset(&s, 0, sizeof s);
        s.n = row[k].n;
        s.nparts = row[k].nparts;
        memcpy(s.size, row[k].size, sizeof row[k].size);
        memcpy(s.capacity, row[k].capacity, sizeof row[k].capacity);
        const eqp__capping in = capping_of(&s);
        assert_ok(eqp__capacity_repair(&in, part, &r));
        if (!strstr(r.why.text, row[k].says)) {
            fail_msg("'%s' does not say '%s'", r.why.text, row[k].says);
        }
        assert_true(!r.fits && r.proven);
    }
}

/* An existing packing that takes too long to find is not reported as impossible. */
TEST(what_is_not_known_is_said_not_to_be)
{
    static set s;
    eqp__capped r;

    memset(&s, 0, sizeof s);
    s.nparts = 40;
    s.n = 3 * s.nparts;
    for (int p = 0; p < s.nparts; p++) {
        s.capacity[p] = 1000003; /* holds three items exactly */
        s.size[3 * p] = 260000 + any(140000);
        s.size[3 * p + 1] = 260000 + any(140000);
        s.size[3 * p + 2] = s.capacity[p] - s.size[3 * p] - s.size[3 * p + 1];
    }
    const eqp__capping in = capping_of(&s);
    assert_ok(eqp__capacity_repair(&in, s.part, &r));
    assert_false(r.proven);
    assert_true(r.fits ? fits(&s, s.part) : strstr(r.why.text, "no lower bound proves") != NULL);
}

static int repair_copy(void *user)
{
    static int part[MOST];
    const set *s = user;
    const eqp__capping in = capping_of(s);
    eqp__capped r = {.moved = -1};

    memcpy(part, s->part, sizeof part);
    const int code = eqp__capacity_repair(&in, part, &r);
    assert_true(code == EQP_OK ? r.fits : r.moved == -1 && memcmp(part, s->part, sizeof part) == 0);
    return code;
}

TEST(without_memory)
{
    static set s;

    make_large(&s, 200, 8);
    cap(&s, 1.2, true);
    assert_true(failing_malloc_sweep(repair_copy, &s, EQP_ERR_MEMORY) > 0);
}
