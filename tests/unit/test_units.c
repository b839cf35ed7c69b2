/* SPDX-License-Identifier: BSD-3-Clause */
/* Work units: every interaction is in exactly one, and sizes are as requested. */

#include "slow.h"
#include "units_internal.h"
#include "units_world.h"

/* Counts with eqp_units_find() and compares with what the units say of themselves. */
static void assert_units_cover(const struct world *w, const eqp_units *units)
{
    int64_t n = eqp_units_count(units);
    HEAP int64_t *count = calloc((size_t)n + 1, sizeof *count);
    HEAP double *weight = calloc((size_t)n + 1, sizeof *weight);
    double centroid[EQP_UNITS_MAX_DIM];

    for (int64_t i = 0; i < w->n; i++) {
        int64_t first, nunits;
        assert_ok(eqp_units_of_owner(units, i, &first, &nunits));
        for (int64_t j = 0; j < w->total[i]; j++) {
            world_centroid(w, w->id[i], j, centroid);
            int64_t u = eqp_units_find(units, i, nunits > 1 ? centroid : NULL);
            assert_in_range(u, first, first + nunits - 1);
            count[u]++;
            weight[u] += world_weight(w, w->id[i], j);
        }
    }
    for (int64_t u = 0; u < n; u++) {
        const eqp_unit unit = world_unit(units, u);
        assert_int_equal(unit.interactions, count[u]);
        assert_true(unit.weight == weight[u]); /* quarters add up exactly */
    }
}

TEST(every_interaction_is_in_exactly_one_unit)
{
    for (int s = 0; s < NSTRATEGIES; s++) {
        for (int weighted = 0; weighted < 2; weighted++) {
            for (int64_t wanted = 5; wanted <= 3200; wanted *= 8) {
                FREED_BY(world_free) struct world w = world_create(slow_here() ? 20 : 100, slow_here() ? 10 : 60);
                eqp_units_options options = world_options(s, wanted);
                w.weighted = weighted;
                FREED(eqp_units) *units = world_units(&w, &options);
                assert_units_cover(&w, units);
            }
        }
    }
}

/* A split into more cells than a linear search takes must agree with brute force over the centroids. */
TEST(the_nearest_centroid_decides)
{
    FREED_BY(world_free) struct world w = world_create(3, slow_here() ? 1000 : 3000);
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 300);
    int64_t most = 0;

    FREED(eqp_units) *units = world_units(&w, &options);
    for (int64_t i = 0; i < w.n; i++) {
        int64_t first, count;
        assert_ok(eqp_units_of_owner(units, i, &first, &count));
        most = count > most ? count : most;
        for (uint64_t j = 0; j < (slow_here() ? 50 : 500); j++) {
            /* Interactions that did not exist when the sample was taken. */
            double place[3], least = INFINITY;
            int64_t best = -1;
            for (int d = 0; d < 3; d++) {
                place[d] = 3 * eqp_random_uniform(9, j, (uint64_t)d) - 1;
            }
            for (int64_t u = first; u < first + count; u++) {
                const eqp_unit unit = world_unit(units, u);
                double sum = 0;
                for (int d = 0; d < 3; d++) {
                    sum += (unit.centroid[d] - place[d]) * (unit.centroid[d] - place[d]);
                }
                if (sum < least) {
                    least = sum;
                    best = u;
                }
            }
            assert_int_equal(eqp_units_find(units, i, place), best);
        }
    }
    assert_true(most > 64); /* so that a tree is searched, too */
}

TEST(light_owners_are_merged_along_the_curve)
{
    const int64_t wanted = slow_here() ? 25 : 100;
    FREED_BY(world_free) struct world w = world_create(40 * wanted, 10);
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, wanted);
    const int64_t *first, *owner;

    FREED(eqp_units) *units = world_units(&w, &options);
    double target = eqp__units_target_weight(units);
    assert_true(fabs(target - (double)world_interactions(&w) / (double)wanted) < 1e-6 * target);
    assert_in_range(eqp_units_count(units), wanted * 95 / 100, wanted * 105 / 100);
    eqp_units_owners(units, &first, &owner);
    int64_t seen = 0;
    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        const eqp_unit unit = world_unit(units, u);
        assert_true(unit.weight <= 2 * target);
        assert_int_equal(unit.sub, -1);
        assert_null(unit.centroid);
        assert_int_equal(first[u + 1] - first[u], unit.owners);
        assert_int_equal(owner[first[u]], unit.owner);
        for (int64_t k = first[u]; k < first[u + 1]; k++) {
            int64_t at, count;
            assert_int_equal(owner[k], seen++);
            assert_ok(eqp_units_of_owner(units, owner[k], &at, &count));
            assert_int_equal(at, u);
            assert_int_equal(count, 1);
        }
    }
    assert_int_equal(seen, w.n);
}

TEST(heavy_owners_are_split_to_the_bound)
{
    for (int s = 2; s < NSTRATEGIES; s++) { /* adaptive, stride */
        for (int t = 0; t < 3; t++) {
            const int64_t wanted = slow_here() ? 250 : 1000;
            FREED_BY(world_free) struct world w = slow_here() ? world_create(15, 100) : world_create(60, 200);
            eqp_units_options options = world_options(s, wanted);
            options.threshold = 1.5 + t * 0.5;
            w.weighted = t == 1;
            FREED(eqp_units) *units = world_units(&w, &options);
            double target = eqp__units_target_weight(units);
            assert_true(world_sizes(units).max <= fmax(2, options.threshold) * target);
            assert_in_range(eqp_units_count(units), wanted * 7 / 10, wanted * 2);
            for (int64_t u = 0; u < eqp_units_count(units); u++) {
                const eqp_unit unit = world_unit(units, u);
                assert_true(unit.weight <= options.threshold * target || unit.owners > 1);
                assert_true(unit.interactions > 0);
            }
        }
    }
}

/* A heavy owner between light ones is not part of their unit, although it may lie in the middle of it. */
TEST(a_heavy_owner_between_light_ones_stands_alone)
{
    FREED_BY(world_free) struct world w = world_create(21, 10);
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 2);
    int64_t first, count, left, right;

    for (int64_t i = 0; i < w.n; i++) {
        w.total[i] = i == 10 ? 110 : 1;
    }
    options.threshold = 3;
    FREED(eqp_units) *units = world_units(&w, &options);
    assert_ok(eqp_units_of_owner(units, 10, &first, &count));
    assert_in_range(count, 1, 2);
    assert_ok(eqp_units_of_owner(units, 9, &left, &count));
    assert_ok(eqp_units_of_owner(units, 11, &right, &count));
    assert_true(left != first && right != first);
    assert_units_cover(&w, units);
}

TEST(the_unit_size_follows_from_imbalance_and_parts)
{
    FREED_BY(world_free) struct world w = world_create(slow_here() ? 75 : 300, 40);
    eqp_units_options options = eqp_units_options_defaults();

    options.nparts = slow_here() ? 4 : 16;
    options.imbalance = 0.05;
    FREED(eqp_units) *units = world_units(&w, &options);
    double load = (double)world_interactions(&w) / options.nparts;
    assert_true(world_sizes(units).max <= options.imbalance * load);

    /* Cutting the units' line at multiples of the mean keeps the promise. */
    HEAP double *part = calloc((size_t)options.nparts, sizeof *part);
    double sum = 0;
    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        const eqp_unit unit = world_unit(units, u);
        int p = (int)(sum / load);
        part[p < options.nparts ? p : options.nparts - 1] += unit.weight;
        sum += unit.weight;
    }
    for (int p = 0; p < options.nparts; p++) {
        assert_true(part[p] <= load * (1 + options.imbalance) + 1e-9);
    }
}

TEST(a_rate_gives_units_per_interaction)
{
    for (int s = 0; s < NSTRATEGIES; s++) {
        FREED_BY(world_free) struct world w = world_create(slow_here() ? 100 : 400, 40);
        eqp_units_options options = world_options(s, 0);
        options.rate = 0.002;
        FREED(eqp_units) *units = world_units(&w, &options);
        double wanted = options.rate * (double)world_interactions(&w);
        assert_true(fabs((double)eqp_units_count(units) - wanted) < 0.4 * wanted);
    }
}

/* Selects units of a strategy, with the wanted number adjusted until as many come out as asked for. */
static eqp_sizes sizes_at(struct world *w, int strategy, int64_t wanted)
{
    eqp_units_options options = eqp_units_options_defaults();
    double ask = (double)wanted;
    eqp_sizes sizes = {0};

    options.strategy = strategy;
    options.max_pins = 0;
    for (int attempt = 0; attempt < 20; attempt++) {
        options.units = (int64_t)ask;
        eqp_units *units = world_units(w, &options);
        sizes = world_sizes(units);
        eqp_units_free(units);
        if (llabs(sizes.n - wanted) * 50 <= wanted) {
            return sizes;
        }
        ask *= (double)wanted / (double)sizes.n;
    }
    fail_msg("no %d units", (int)wanted);
    return sizes;
}

static double spread(const eqp_sizes *s)
{
    double mean = s->sum / (double)s->n;
    return sqrt(s->sum_squares / (double)s->n - mean * mean) / mean;
}

TEST(adaptive_sampling_cuts_the_tail)
{
    FREED_BY(world_free) struct world w = world_create(slow_here() ? 40 : 200, slow_here() ? 80 : 120);
    const double most = slow_here() ? 0.7 : 0.5;
    double k[NSTRATEGIES], theta[NSTRATEGIES];
    eqp_sizes sizes[NSTRATEGIES];

    for (int s = 0; s < NSTRATEGIES; s++) {
        sizes[s] = sizes_at(&w, s, slow_here() ? 200 : 1500);
        assert_true(sizes[s].sum == (double)world_interactions(&w));
        assert_ok(eqp_sizes_fit_gamma(&sizes[s], &k[s], &theta[s]));
    }
    /* Random, per particle, adaptive: the distribution gets narrower, and sampling again removes the tail (figure 4.4).
     * The largest of the other two is a matter of luck. */
    for (int s = 2; s < NSTRATEGIES; s++) {
        assert_true(sizes[s].max < most * sizes[0].max && sizes[s].max < most * sizes[1].max);
    }
    assert_true(spread(&sizes[2]) < spread(&sizes[1]) && spread(&sizes[1]) < spread(&sizes[0]));
    assert_true(k[2] > k[1] && k[1] > k[0]);
}

TEST(pins_are_the_smallest_keys_of_all_that_a_unit_touches)
{
    FREED_BY(world_free) struct world w = world_create(40, slow_here() ? 20 : 60);
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 60);
    const int64_t *first, *pin;

    options.max_pins = 9;
    FREED(eqp_units) *units = world_units(&w, &options);
    eqp_units_pins(units, &first, &pin);
    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        /* Ids are small: mark what the unit touches. */
        bool touched[1000] = {false};
        int64_t ntouched = 0, below = 0;
        double centroid[3];
        int64_t split_owner = -1;
        for (int64_t i = 0; i < w.n; i++) {
            for (int64_t j = 0; j < w.total[i]; j++) {
                world_centroid(&w, w.id[i], j, centroid);
                if (eqp_units_find(units, i, centroid) == u) {
                    const eqp_unit unit = world_unit(units, u);
                    split_owner = unit.sub >= 0 ? w.id[i] : -1;
                    touched[w.id[i]] = touched[world_pin(w.id[i], j, 0)] = touched[world_pin(w.id[i], j, 1)] = true;
                }
            }
        }
        for (int64_t id = 0; id < 1000; id++) {
            ntouched += touched[id];
        }
        int64_t npins = first[u + 1] - first[u];
        assert_int_equal(npins, ntouched < options.max_pins ? ntouched : options.max_pins);
        bool with_owner = split_owner < 0;
        for (int64_t k = first[u]; k < first[u + 1]; k++) {
            assert_true(touched[pin[k]]);
            assert_true(k == first[u] || eqp_pin_key(options.seed, pin[k - 1]) < eqp_pin_key(options.seed, pin[k]));
            with_owner |= pin[k] == split_owner;
        }
        assert_true(with_owner);
        for (int64_t id = 0; id < 1000; id++) {
            below += touched[id] && eqp_pin_key(options.seed, id) < eqp_pin_key(options.seed, pin[first[u + 1] - 1]);
        }
        /* Smaller keys than the last are all there, unless the owner had to have the last place. */
        assert_true(below == npins - 1 || pin[first[u + 1] - 1] == split_owner);
    }
}

TEST(without_pins_light_owners_are_not_enumerated)
{
    FREED_BY(world_free) struct world w = world_create(500, 10);
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 20);
    const int64_t *first, *pin;

    options.max_pins = 0;
    FREED(eqp_units) *units = world_units(&w, &options);
    assert_int_equal(w.calls, w.n); /* for the weights only */
    assert_true(w.largest <= 7);
    eqp_units_pins(units, &first, &pin);
    assert_int_equal(first[eqp_units_count(units)], 0);
}

TEST(the_same_units_for_any_batches_and_every_dimension)
{
    for (int dim = 1; dim <= EQP_UNITS_MAX_DIM; dim++) {
        FREED_BY(world_free) struct world w = world_create(20, slow_here() ? 25 : 100);
        eqp_units_options options = world_options(dim % 2 ? EQP_SAMPLE_ADAPTIVE : EQP_SAMPLE_STRIDE, 100);
        options.dim = w.dim = dim;
        FREED(eqp_units) *a = world_units(&w, &options);
        w.batch = 64;
        FREED(eqp_units) *b = world_units(&w, &options);
        assert_units_cover(&w, a);
        assert_int_equal(eqp_units_count(a), eqp_units_count(b));
        for (int64_t u = 0; u < eqp_units_count(a); u++) {
            const eqp_unit x = world_unit(a, u), y = world_unit(b, u);
            assert_int_equal(x.id, y.id);
            assert_true(x.weight == y.weight);
            assert_true((x.centroid == NULL) == (y.centroid == NULL));
            assert_true(!x.centroid || memcmp(x.centroid, y.centroid, (size_t)dim * sizeof(double)) == 0);
        }
    }
}

TEST(the_seed_matters)
{
    FREED_BY(world_free) struct world w = world_create(30, slow_here() ? 40 : 100);

    for (int s = 0; s < NSTRATEGIES; s++) {
        eqp_units_options options = world_options(s, 200);
        FREED(eqp_units) *a = world_units(&w, &options);
        options.seed = 2;
        FREED(eqp_units) *b = world_units(&w, &options);
        eqp_sizes x = world_sizes(a), y = world_sizes(b);
        assert_true(x.sum == y.sum);
        assert_true(x.sum_squares != y.sum_squares);
    }
}

TEST(a_centroid_is_the_mean_of_the_particles)
{
    const double p[] = {0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0, 12};
    const double origin[] = {1, 1, 1};
    double c[3];

    assert_ok(eqp_centroid(2, 3, p, NULL, c));
    assert_true(c[0] == 2 && c[1] == 0 && c[2] == 0);
    assert_ok(eqp_centroid(4, 3, p, origin, c));
    assert_true(c[0] == 0 && c[1] == 1 && c[2] == 2);
    assert_ok(eqp_centroid(3, 2, p, NULL, c)); /* (0,0) (0,4) (0,0) */
    assert_true(c[0] == 0 && fabs(c[1] - 4. / 3) < 1e-15);
    assert_refused(eqp_centroid(1, 3, p, NULL, c));
    assert_refused(eqp_centroid(5, 3, p, NULL, c));
    assert_refused(eqp_centroid(2, 9, p, NULL, c));
}
