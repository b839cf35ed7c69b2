/* SPDX-License-Identifier: BSD-3-Clause */
/* Work units in limiting cases: nothing, everything at one place, caller errors, no memory. */

#include "failing_malloc.h"
#include "slow.h"
#include "units_world.h"

static int create(struct world *w, const eqp_units_options *options, eqp_units **units)
{
    return eqp_units_create_serial(w->n, w->id, world_enumerate, w, options, units);
}

TEST(no_owners_give_no_units)
{
    FREED_BY(world_free) struct world w = world_create(0, 1);
    const int64_t *first, *list;

    for (int s = 0; s < NSTRATEGIES; s++) {
        eqp_units_options options = eqp_units_options_defaults();
        options.strategy = s;
        FREED(eqp_units) *units = world_units(&w, &options);
        assert_int_equal(eqp_units_count(units), 0);
        eqp_units_owners(units, &first, &list);
        assert_int_equal(first[0], 0);
    }
}

TEST(owners_without_interactions_still_have_a_unit)
{
    for (int s = 0; s < NSTRATEGIES; s++) {
        for (int kind = 0; kind < 3; kind++) {
            FREED_BY(world_free) struct world w = world_create(30, 50);
            eqp_units_options options = world_options(s, 40);
            int64_t interactions = 0;
            for (int64_t i = 0; i < w.n; i++) {
                /* none at all; only one owner has some; every second one has */
                bool some = kind == 1 ? i == 17 : kind == 2 ? i % 2 == 0 : false;
                w.total[i] = some ? w.total[i] : 0;
            }
            FREED(eqp_units) *units = world_units(&w, &options);
            for (int64_t i = 0; i < w.n; i++) {
                int64_t u = eqp_units_find(units, i, (const double[]){0.1, 0.2, 0.3});
                assert_in_range(u, 0, eqp_units_count(units) - 1);
            }
            for (int64_t u = 0; u < eqp_units_count(units); u++) {
                const eqp_unit unit = world_unit(units, u);
                interactions += unit.interactions;
            }
            assert_int_equal(interactions, world_interactions(&w));
            assert_true(kind > 0 || eqp_units_count(units) == 1);
        }
    }
}

TEST(one_interaction_is_one_unit)
{
    FREED_BY(world_free) struct world w = world_create(1, 1);

    w.total[0] = 1;
    for (int s = 0; s < NSTRATEGIES; s++) {
        eqp_units_options options = world_options(s, 1000);
        eqp_unit unit;
        FREED(eqp_units) *units = world_units(&w, &options);
        assert_int_equal(eqp_units_count(units), 1);
        assert_ok(eqp_units_get(units, 0, &unit));
        assert_true(unit.interactions == 1 && unit.weight == 1 && unit.owners == 1 && unit.sub == -1);
    }
}

TEST(identical_centroids_make_one_unit_and_an_end)
{
    for (int s = 0; s < NSTRATEGIES; s++) {
        FREED_BY(world_free) struct world w = world_create(4, 500);
        eqp_units_options options = world_options(s, 200);
        w.identical = true;
        FREED(eqp_units) *units = world_units(&w, &options);
        assert_int_equal(eqp_units_count(units), w.n);
        assert_true(w.calls < 8 * w.n);
        for (int64_t i = 0; i < w.n; i++) {
            const eqp_unit unit = world_unit(units, i);
            assert_int_equal(unit.interactions, w.total[i]);
        }
    }
}

/* Interactions on a few places only: no unit can be smaller than a place, and none holds two heavy ones. */
static int lattice(void *user, int64_t owner, eqp_sink *sink)
{
    (void)user;
    for (int j = 0; j < (slow_here() ? 1000 : 4000); j++) {
        uint64_t r = eqp_random_below(21, (uint64_t)owner, (uint64_t)j, 8);
        const double place[2] = {(double)(r % 4), (double)(r / 4)};
        EQP_CHECK(eqp_sink_add(sink, &(eqp_batch){.n = 1, .centroid = place}));
    }
    return EQP_OK;
}

TEST(equal_places_are_never_torn)
{
    const int64_t id[] = {40, 41};

    for (int s = 0; s < NSTRATEGIES; s++) {
        eqp_units_options options = eqp_units_options_defaults();
        FREED(eqp_units) *units = NULL;
        options.strategy = s;
        options.dim = 2;
        options.units = 160; /* far more than places */
        assert_ok(eqp_units_create_serial(2, id, lattice, NULL, &options, &units));
        assert_in_range(eqp_units_count(units), 14, 16);
    }
}

TEST(the_callbacks_code_comes_back)
{
    for (int64_t owner = 0; owner < 20; owner += 19) {
        FREED_BY(world_free) struct world w = world_create(20, 100);
        eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 100);
        eqp_units *units = NULL;
        int64_t count[20];
        double weight[20];
        assert_ok(eqp_owners_weigh(w.n, w.id, NULL, world_enumerate, &w, &options, count, weight));
        w.fail_owner = owner;
        w.fail_code = EQP_ERR_IO;
        assert_int_equal(create(&w, &options, &units), EQP_ERR_IO);
        w.fail_code = 17; /* not one of ours */
        assert_int_equal(eqp_units_create(w.n, w.id, count, weight, world_enumerate, &w, &options, NULL, NULL, &units),
                         17);
        count[3] = -7;
        assert_int_equal(eqp_owners_weigh(w.n, w.id, NULL, world_enumerate, &w, &options, count, weight), 17);
        assert_int_equal(count[3], -7);
        assert_null(units);
    }
}

/* Passes one batch and ignores the code of the sink. */
static int one_batch(void *user, int64_t owner, eqp_sink *sink)
{
    (void)owner;
    eqp_sink_add(sink, user);
    return EQP_OK;
}

static int weigh_batch(eqp_batch batch, int bits)
{
    eqp_units_options options = eqp_units_options_defaults();
    int64_t id = 1, count;
    double weight;

    options.weight_bits = bits;
    return eqp_owners_weigh(1, &id, NULL, one_batch, &batch, &options, &count, &weight);
}

static int split_batch(eqp_batch batch)
{
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 10);
    int64_t id = 1, count = batch.n;
    double weight = (double)batch.n;
    eqp_units *units = NULL;

    int code = eqp_units_create(1, &id, &count, &weight, one_batch, &batch, &options, NULL, NULL, &units);
    eqp_units_free(units);
    return code;
}

TEST(bad_batches_are_refused_even_if_the_callback_looks_away)
{
    static const double w[] = {1, 2, 1}, tiny[] = {1, 1e-9, 1},
                        heavy[] = {4e12, 4e12, 4e12}; /* each fits, the sum not */
    static const double c[9] = {0, 0, 0, 1, 1, 1, 2, 2, 2}, nan[9] = {0, 0, 0, 1, NAN};
    static const int64_t pin[] = {3, -1, 7};
    static const struct {
        eqp_batch batch;
        int bits, code; /* bits: 0: the batch is split */
    } row[] = {{{.n = 3, .weight = w}, 20, EQP_OK},
               {{.n = 0}, 20, EQP_OK},
               {{.n = -1}, 20, EQP_ERR_ARGUMENT},
               {{.n = 1, .npins = 5}, 20, EQP_ERR_ARGUMENT},
               {{.n = 1, .npins = -1}, 20, EQP_ERR_ARGUMENT},
               {{.n = 3, .weight = tiny}, 20, EQP_ERR_DATA},
               {{.n = 3, .weight = tiny}, 50, EQP_OK}, /* with enough bits */
               {{.n = 1, .weight = heavy}, 20, EQP_OK},
               {{.n = 3, .weight = heavy}, 20, EQP_ERR_OVERFLOW},
               {{.n = 3, .centroid = c, .npins = 1, .pin = pin}, 0, EQP_OK},
               {{.n = 3}, 0, EQP_ERR_ARGUMENT},
               {{.n = 3, .centroid = c, .npins = 1}, 0, EQP_ERR_ARGUMENT},
               {{.n = 3, .centroid = nan}, 0, EQP_ERR_DATA}};

    for (int i = 0; i < COUNT_OF(row); i++) {
        const eqp_batch *const batch = &row[i].batch;
        assert_int_equal(row[i].bits > 0 ? weigh_batch(*batch, row[i].bits) : split_batch(*batch), row[i].code);
    }
}

TEST(options_out_of_range_are_refused)
{
    const eqp_units_options good = eqp_units_options_defaults();
    eqp_units_options bad[17];
    FREED_BY(world_free) struct world w = world_create(3, 5);
    int n = 0;

    for (int i = 0; i < 17; i++) {
        bad[i] = good;
    }
    bad[n++].strategy = (eqp_sample_strategy)9;
    bad[n++].dim = 0;
    bad[n++].dim = 9;
    bad[n++].units = -1;
    bad[n++].rate = -0.1;
    bad[n++].rate = 1.5;
    bad[n++].rate = NAN;
    bad[n++].imbalance = -1;
    bad[n++].imbalance = NAN;
    bad[n++].nparts = -1;
    bad[n++].threshold = 1;
    bad[n++].threshold = INFINITY;
    bad[n++].max_pins = -1;
    bad[n++].max_pins = 65537;
    bad[n++].weigh_rate = 0;
    bad[n++].weight_bits = 61;
    bad[n++].weight_bits = -1;
    for (int i = 0; i < n; i++) {
        eqp_units *units = NULL;
        assert_refused(create(&w, &bad[i], &units));
        assert_null(units);
    }
    eqp_units *units = NULL;
    assert_refused(eqp_units_create_serial(-1, w.id, world_enumerate, &w, &good, &units));
}

TEST(owners_data_out_of_range_are_refused)
{
    static const struct {
        double weight[2];
        int64_t count;
        int code;
    } row[] = {{{1, NAN}, 1, EQP_ERR_DATA},         {{1, -1}, 1, EQP_ERR_DATA},
               {{1, 1}, -1, EQP_ERR_DATA},          {{1, 1e13}, 1, EQP_ERR_OVERFLOW},
               {{4e12, 4e12}, 1, EQP_ERR_OVERFLOW}, {{1, 1}, INT64_MAX, EQP_ERR_OVERFLOW}};
    const eqp_units_options options = eqp_units_options_defaults();
    const int64_t id[] = {1, 2};
    eqp_units_totals totals = {1, 2, 3, 4};
    double target, rate;

    for (int i = 0; i < COUNT_OF(row); i++) {
        const int64_t count[] = {1, row[i].count};
        assert_int_equal(eqp_units_totals_add(&options, 2, id, count, row[i].weight, &totals), row[i].code);
        assert_true(totals.owners == 1 && totals.interactions == 2 && totals.weight == 3 && totals.draws == 4);
    }
    totals.weight = -1;
    assert_refused(eqp_units_target(&options, &totals, &target, &rate));
}

/* A callback may return different interactions the second time: no crash, and no invalid unit. */
TEST(a_callback_that_contradicts_itself_does_no_harm)
{
    for (int s = 0; s < NSTRATEGIES; s++) {
        FREED_BY(world_free) struct world w = world_create(10, 100);
        eqp_units_options options = world_options(s, 100);
        int64_t count[10];
        double weight[10];
        assert_ok(eqp_owners_weigh(w.n, w.id, NULL, world_enumerate, &w, &options, count, weight));
        for (int64_t i = 0; i < w.n; i++) {
            w.total[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 20 * w.total[i];
        }
        FREED(eqp_units) *units = NULL;
        assert_ok(eqp_units_create(w.n, w.id, count, weight, world_enumerate, &w, &options, NULL, NULL, &units));
        for (int64_t i = 0; i < w.n; i++) {
            int64_t u = eqp_units_find(units, i, (const double[]){0.5, 0.5, 0.5});
            assert_in_range(u, 0, eqp_units_count(units) - 1);
        }
    }
}

TEST(a_place_that_is_no_number_still_has_a_unit)
{
    FREED_BY(world_free) struct world w = world_create(1, 3000);
    eqp_units *units = NULL;

    for (int64_t wanted = 5; wanted < 100; wanted += 90) { /* linear, tree */
        eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, wanted);
        assert_ok(create(&w, &options, &units));
        assert_int_equal(eqp_units_find(units, 0, (const double[]){NAN, 0, 0}), 0);
        eqp_units_free(units);
    }
}

typedef struct creation {
    struct world w;
    eqp_units_options options;
} creation;

static int create_and_free(void *user)
{
    creation *const c = user;
    FREED(eqp_units) *units = NULL;
    const int code = create(&c->w, &c->options, &units);

    assert_true((units == NULL) == (code != EQP_OK));
    return code;
}

TEST(every_failing_allocation_is_survived)
{
    SKIP_IF(!failing_malloc_works);
    for (int s = 0; s < NSTRATEGIES; s++) {
        creation c = {world_create(slow_here() ? 6 : 12, slow_here() ? 30 : 150), world_options(s, 400)};
        c.options.max_pins = 4;
        assert_true(failing_malloc_sweep(create_and_free, &c, EQP_ERR_MEMORY) > 20);
        world_free(&c.w);
    }
}

TEST(rebuilding_survives_failing_allocations)
{
    const int64_t first[] = {0, 1, 81, 82};
    int64_t unit_id[82];
    double centroid[164];
    FREED(eqp_units) *units = NULL;
    int code = EQP_ERR_MEMORY;

    SKIP_IF(!failing_malloc_works);
    for (int i = 0; i < 82; i++) {
        unit_id[i] = i == 81 ? 0 : i;
        centroid[2 * i] = i;
        centroid[2 * i + 1] = -i;
    }
    for (int64_t n = 0; code != EQP_OK; n++) {
        failing_malloc_start_single(n);
        code = eqp_units_rebuild(2, 3, first, unit_id, centroid, &units);
        (void)failing_malloc_stop();
        assert_true(code == EQP_OK || (code == EQP_ERR_MEMORY && !units));
    }
    assert_int_equal(eqp_units_count(units), 81); /* the owners around the split one share a unit */
    assert_int_equal(eqp_units_find(units, 0, NULL), eqp_units_find(units, 2, NULL));
    assert_int_equal(eqp_units_find(units, 1, (const double[]){3.2, -3.1}), 3);
}

TEST(totals_and_counts_that_cannot_be_are_refused)
{
    const eqp_units_options options = eqp_units_options_defaults();
    const eqp_units_totals none = EQP_UNITS_TOTALS_ZERO, before = {5, 5, 5, 5};
    const int64_t id = 1, count = 1;
    const double weight = 1;
    eqp_units *units = NULL;

    for (int k = 0; k < 4; k++) {
        const int64_t low = INT64_MIN;
        eqp_units_totals bad = {k == 0 ? low : 9, k == 1 ? low : 9, k == 2 ? low : 9, k == 3 ? low : 9}, sum = bad;
        assert_refused(eqp_units_create(0, NULL, NULL, NULL, lattice, NULL, &options, &bad, &before, &units));
        assert_refused(eqp_units_totals_add(&options, 1, &id, &count, &weight, &sum));
        assert_memory_equal(&sum, &bad, sizeof sum);
    }
    eqp_units_totals full = none;
    full.owners = INT64_MAX;
    assert_int_equal(eqp_units_totals_add(&options, 1, &id, &count, &weight, &full), EQP_ERR_OVERFLOW);
    /* Sizes of units, likewise. */
    eqp_sizes sizes = {.n = INT64_MAX}, more = {.n = 1};
    assert_int_equal(eqp_sizes_merge(&sizes, &more), EQP_ERR_OVERFLOW);
    assert_int_equal(eqp_sizes_add(&sizes, 1, &weight), EQP_ERR_OVERFLOW);
    more.bin[0] = 2;
    assert_refused(eqp_sizes_merge(&sizes, &more));
    assert_true(sizes.n == INT64_MAX && sizes.bin[0] == 0);
    assert_null(units);
}
