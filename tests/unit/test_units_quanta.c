/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights as integers: the weight of a list is the exact sum of its weights, each rounded to a quantum, for any number
 * and any values; draws have the requested probability. */

#include "units_world.h"

enum { LIST = 1000 };

static int one_batch(void *user, int64_t owner, eqp_sink *sink)
{
    (void)owner;
    return eqp_sink_add(sink, user);
}

static int weigh(eqp_batch batch, const eqp_units_options *options, int64_t *count, double *weight)
{
    const int64_t id = 9;

    return eqp_owners_weigh(1, &id, NULL, one_batch, &batch, options, count, weight);
}

/* Realistic and unrealistic weights: whole and half quanta, huge ones, zeros of both signs. */
static double odd_weight(int kind, uint64_t k, int bits)
{
    const uint64_t r = eqp_random_bits(4, (uint64_t)kind, k);
    const double quantum = ldexp(1, -bits);

    switch (kind) {
    case 0:
        return quantum * (double)(r % 1000);
    case 1:
        return quantum * (1.5 + (double)(r % 1000)); /* ties: to the even one */
    case 2:
        return quantum * (0.75 + (double)(r % 4000) * 0.25) * (double)(r >> 60);
    case 3:
        return r % 3 ? quantum * (double)(r >> 20) : 0; /* up to 2^44 quanta */
    case 4:
        return r % 50 ? quantum * (double)(r % 77) : quantum * 0x1.123456789p51;
    default:
        return r % 2 ? -0.0 : quantum * (double)(r % 3);
    }
}

TEST(sums_are_those_of_the_rounded_weights)
{
    for (int kind = 0; kind < 6; kind++) {
        for (int bits = 0; bits <= 60; bits += 20) {
            double list[LIST], weight = -1;
            int64_t sum = 0, count = -1;
            eqp_units_options options = eqp_units_options_defaults();
            options.weight_bits = bits;
            for (uint64_t k = 0; k < LIST; k++) {
                list[k] = odd_weight(kind, k, bits);
                sum += llrint(ldexp(list[k], bits));
            }
            assert_ok(weigh((eqp_batch){.n = LIST, .weight = list}, &options, &count, &weight));
            assert_int_equal(count, LIST);
            assert_true(weight == ldexp((double)sum, -bits));
        }
    }
}

TEST(one_wrong_weight_anywhere_is_found)
{
    static const struct {
        double weight;
        int code;
    } wrong[] = {{NAN, EQP_ERR_DATA},        {-NAN, EQP_ERR_DATA},     {INFINITY, EQP_ERR_DATA},
                 {-INFINITY, EQP_ERR_DATA},  {-1, EQP_ERR_DATA},       {-1e-300, EQP_ERR_DATA},
                 {-1e300, EQP_ERR_DATA},     {0x1p-22, EQP_ERR_DATA},  {0x1p-1074, EQP_ERR_DATA},
                 {0x1p-21, EQP_ERR_DATA}, /* half a quantum */
                 {0x1p42, EQP_ERR_OVERFLOW}, {1e300, EQP_ERR_OVERFLOW}};
    const eqp_units_options options = eqp_units_options_defaults();
    double list[LIST], weight;
    int64_t count;

    for (int k = 0; k < LIST; k++) {
        list[k] = 1;
    }
    for (int w = 0; w < COUNT_OF(wrong); w++) {
        for (int at = 0; at < LIST; at += 37) {
            list[at] = wrong[w].weight;
            assert_int_equal(weigh((eqp_batch){.n = LIST, .weight = list}, &options, &count, &weight), wrong[w].code);
            list[at] = 1;
        }
    }
    list[5] = 0x1.8p-20; /* three halves: two quanta */
    assert_ok(weigh((eqp_batch){.n = LIST, .weight = list}, &options, &count, &weight));
    assert_true(weight == LIST - 1 + 0x1p-19);
}

TEST(a_thousand_million_interactions_add_up)
{
    const int64_t n = 1000000000;
    eqp_units_options options = eqp_units_options_defaults();
    int64_t count = -1;
    double weight = -1;

    assert_ok(weigh((eqp_batch){.n = n}, &options, &count, &weight));
    assert_true(count == n && weight == (double)n);
    options.weight_bits = 32; /* 2^32 x 10^9 is just below 2^62 */
    assert_ok(weigh((eqp_batch){.n = n}, &options, &count, &weight));
    assert_true(weight == (double)n);
    options.weight_bits = 33;
    assert_int_equal(weigh((eqp_batch){.n = n}, &options, &count, &weight), EQP_ERR_OVERFLOW);
    options.weight_bits = 60;
    assert_int_equal(weigh((eqp_batch){.n = n}, &options, &count, &weight), EQP_ERR_OVERFLOW);
    assert_true(weight == (double)n);

    /* The same from the owners' side: sums over ranks stay below 2^62. */
    const int64_t id[] = {1, 2}, counts[] = {n, n};
    const double weights[] = {(double)n, (double)n};
    eqp_units_totals totals = EQP_UNITS_TOTALS_ZERO;
    options.weight_bits = 31;
    assert_ok(eqp_units_totals_add(&options, 2, id, counts, weights, &totals));
    assert_true(totals.interactions == 2 * n && totals.weight == (2 * n) << 31);
    assert_int_equal(eqp_units_totals_add(&options, 1, id, counts, weights, &totals), EQP_ERR_OVERFLOW);
    assert_true(totals.interactions == 2 * n && totals.owners == 2);
}

/* A heavy owner whose interactions have no weight. */
TEST(lists_without_weight_are_one_unit)
{
    for (int s = EQP_SAMPLE_RANDOM; s <= EQP_SAMPLE_STRIDE; s++) {
        eqp_units_options options = eqp_units_options_defaults();
        double list[LIST] = {0}, place[3 * LIST], weight = LIST;
        const int64_t id = 3, count = LIST;
        FREED(eqp_units) *units = NULL;
        eqp_unit unit;
        for (int k = 0; k < 3 * LIST; k++) {
            place[k] = eqp_random_uniform(1, 0, (uint64_t)k);
        }
        eqp_batch batch = {.n = LIST, .weight = list, .centroid = place};
        options.strategy = s;
        options.units = 50;
        /* Said to be heavy, enumerated without weight. */
        assert_ok(eqp_units_create(1, &id, &count, &weight, one_batch, &batch, &options, NULL, NULL, &units));
        assert_true(s == EQP_SAMPLE_RANDOM || eqp_units_count(units) == 1);
        assert_ok(eqp_units_get(units, 0, &unit));
        assert_true(s == EQP_SAMPLE_RANDOM || (unit.interactions == LIST && unit.weight == LIST));
    }
}

static int64_t draws(double rate, uint64_t seed, int64_t id, int64_t count)
{
    eqp_units_options options = world_options(EQP_SAMPLE_RANDOM, 0);
    eqp_units_totals totals = EQP_UNITS_TOTALS_ZERO;
    const double weight = 1;

    options.rate = rate;
    options.seed = seed;
    assert_ok(eqp_units_totals_add(&options, 1, &id, &count, &weight, &totals));
    return totals.draws;
}

TEST(draws_come_with_their_probability)
{
    static const double rate[] = {0.9, 0.5, 0.1, 1e-3, 1e-6};

    for (int r = 0; r < 5; r++) {
        const int64_t n = (int64_t)(20 / rate[r]);
        double sum = 0, squares = 0;
        for (int64_t id = 0; id < 4000; id++) {
            double m = (double)draws(rate[r], 1, id, n);
            sum += m / 4000;
            squares += m * m / 4000;
        }
        double mean = (double)n * rate[r], variance = mean * (1 - rate[r]);
        assert_true(fabs(sum - mean) < 5 * sqrt(variance / 4000));
        assert_true(fabs((squares - sum * sum) / variance - 1) < 5 * sqrt(2. / 4000 + 1 / (4000 * variance)));
    }
}

TEST(certain_and_hopeless_draws)
{
    assert_int_equal(draws(1, 1, 5, 1234), 1234);
    assert_int_equal(draws(1, 1, 5, 0), 0);
    assert_int_equal(draws(1e-300, 1, 5, INT64_MAX), 0);
    assert_int_equal(draws(0x1p-1074, 1, 5, INT64_MAX), 0);
    for (int64_t n = 1; n < 200; n++) { /* the first of a list do not depend on how long it is */
        int64_t step = draws(0.3, 2, 8, n) - draws(0.3, 2, 8, n - 1);
        assert_in_range(step, 0, 1);
    }
}
