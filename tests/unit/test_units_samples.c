/* SPDX-License-Identifier: BSD-3-Clause */
/* Which interactions of a heavy owner become centroids, and the effect of coincident centroids. */

#include "units_internal.h"
#include "units_world.h"

enum { OWNERS = 60, INTERACTIONS = 2000, PER_OWNER = 23 };

/* On a line: interaction j at x = j, every second one nine times as heavy, every tenth one without weight. The same
 * list for every owner. */
static int comb(void *user, int64_t owner, eqp_sink *sink)
{
    (void)user;
    (void)owner;
    for (int j = 0; j < INTERACTIONS; j++) {
        const double x = j, weight = j % 2 ? 9 : j % 10 ? 1 : 0;
        EQP_CHECK(eqp_sink_add(sink, &(eqp_batch){.n = 1, .centroid = &x, .weight = &weight}));
    }
    return EQP_OK;
}

static eqp_units *comb_units(eqp_sample_strategy strategy)
{
    int64_t id[OWNERS];
    eqp_units *units = NULL;
    eqp_units_options options = eqp_units_options_defaults();

    for (int i = 0; i < OWNERS; i++) {
        id[i] = 100 + i;
    }
    options.strategy = strategy;
    options.dim = 1;
    options.max_pins = 0;
    options.units = (int64_t)OWNERS * PER_OWNER;
    options.threshold = 1000; /* first samples only */
    assert_ok(eqp_units_create_serial(OWNERS, id, comb, NULL, &options, &units));
    return units;
}

TEST(samples_fall_in_proportion_to_weight)
{
    for (int s = EQP_SAMPLE_PARTICLE; s <= EQP_SAMPLE_STRIDE; s++) {
        FREED(eqp_units) *units = comb_units(s);
        double heavy = 0, mean = 0, n = (double)eqp_units_count(units);
        assert_int_equal(eqp_units_count(units), OWNERS * PER_OWNER);
        for (int64_t u = 0; u < eqp_units_count(units); u++) {
            eqp_unit unit, before;
            assert_ok(eqp_units_get(units, u, &unit));
            assert_int_equal(unit.owner, u / PER_OWNER);
            heavy += (int64_t)unit.centroid[0] % 2 == 1;
            mean += unit.centroid[0] / n;
            assert_true(fmod(unit.centroid[0], 10) != 0); /* nothing to compute there */
            if (unit.sub > 0) {                           /* in the order of the enumeration */
                assert_ok(eqp_units_get(units, u - 1, &before));
                assert_true(before.centroid[0] < unit.centroid[0]);
            }
        }
        /* Five standard deviations. */
        assert_true(fabs(heavy / n - 45. / 49) < 5 * sqrt(0.09 / n));
        assert_true(fabs(mean / INTERACTIONS - 0.5) < 5 / sqrt(12 * n));
    }
}

TEST(random_draws_ignore_the_weight)
{
    FREED(eqp_units) *units = comb_units(EQP_SAMPLE_RANDOM);
    double heavy = 0, n = 0;

    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        const eqp_unit unit = world_unit(units, u);
        if (unit.centroid) {
            heavy += (int64_t)unit.centroid[0] % 2 == 1;
            n++;
        }
    }
    assert_true(fabs(n - OWNERS * PER_OWNER) < 5 * sqrt(OWNERS * PER_OWNER));
    assert_true(fabs(heavy / n - 0.5) < 5 * sqrt(0.25 / n));
}

/* Owners with the same list are sampled independently: their ids are the streams. */
TEST(every_owner_has_its_own_random_numbers)
{
    for (int s = EQP_SAMPLE_PARTICLE; s <= EQP_SAMPLE_STRIDE; s++) {
        FREED(eqp_units) *units = comb_units(s);
        int same = 0;
        for (int64_t u = 0; u + PER_OWNER < eqp_units_count(units); u++) {
            const eqp_unit a = world_unit(units, u), b = world_unit(units, u + PER_OWNER);
            same += a.centroid[0] == b.centroid[0];
        }
        assert_true(same < OWNERS * PER_OWNER / 10);
    }
}

TEST(of_equal_centroids_the_first_decides)
{
    for (int64_t count = 4; count <= 100; count += 96) { /* linear, tree */
        const int64_t first[] = {0, count};
        int64_t unit_id[100];
        double centroid[100];
        FREED(eqp_units) *units = NULL;
        for (int i = 0; i < count; i++) {
            unit_id[i] = i;
            centroid[i] = i / 2; /* pairs */
        }
        assert_ok(eqp_units_rebuild(1, 1, first, unit_id, centroid, &units));
        for (int i = 0; i < count; i++) {
            const double x = i / 2;
            assert_int_equal(eqp_units_find(units, 0, &x), i / 2 * 2);
        }
        const double between = 0.5; /* as near to 0 as to 1 */
        assert_int_equal(eqp_units_find(units, 0, &between), 0);
    }
}

/* A place with most of the weight, which cannot be divided, among places that can. */
static int atom(void *user, int64_t owner, eqp_sink *sink)
{
    int64_t *calls = user;

    (void)owner;
    ++*calls;
    for (int j = 0; j < 6000; j++) {
        const bool in_atom = j % 6 != 0;
        const double x = in_atom ? 0.5 : eqp_random_uniform(3, 0, (uint64_t)j);
        EQP_CHECK(eqp_sink_add(sink, &(eqp_batch){.n = 1, .centroid = &x}));
    }
    return EQP_OK;
}

TEST(an_indivisible_place_does_not_multiply_units)
{
    for (int s = EQP_SAMPLE_ADAPTIVE; s <= EQP_SAMPLE_STRIDE; s++) {
        const int64_t id = 1;
        int64_t calls = 0, heavy = 0;
        FREED(eqp_units) *units = NULL;
        eqp_units_options options = world_options(s, 60); /* of 100: 50 for the place, 10 for the rest */
        options.dim = 1;
        assert_ok(eqp_units_create_serial(1, &id, atom, &calls, &options, &units));
        assert_in_range(eqp_units_count(units), 8, 30);
        assert_true(calls <= 10);
        for (int64_t u = 0; u < eqp_units_count(units); u++) {
            const eqp_unit unit = world_unit(units, u);
            heavy += unit.weight > 2 * eqp__units_target_weight(units);
        }
        assert_int_equal(heavy, 1);
    }
}
