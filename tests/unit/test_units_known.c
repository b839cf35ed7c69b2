/* SPDX-License-Identifier: BSD-3-Clause */
/* Work units of owners with known pins equal those by enumeration, without enumerating owners that stay whole. */

#include "slow.h"
#include "units_internal.h"
#include "units_world.h"

enum { OWNERS = 120 };

/* A world with its counts, weights and all pins that its interactions name. */
struct known {
    struct world world;
    int64_t *count, *first, *pin;
    double *weight;
    bool *enumerated; /* [OWNERS] true for owners enumerated since it was cleared */
};

static struct known known_create(void)
{
    struct known made = {.world = world_create(OWNERS, slow_here() ? 20 : 40)}, *const k = &made;
    struct world *w = &k->world;

    w->weighted = true;
    k->count = calloc(OWNERS, sizeof *k->count);
    k->weight = calloc(OWNERS, sizeof *k->weight);
    k->first = calloc(OWNERS + 1, sizeof *k->first);
    k->pin = calloc((size_t)(world_interactions(w) * w->npins), sizeof *k->pin);
    k->enumerated = calloc(OWNERS, sizeof *k->enumerated);
    assert_true(k->count && k->weight && k->first && k->pin && k->enumerated);
    for (int64_t i = 0; i < OWNERS; i++) {
        k->first[i + 1] = k->first[i];
        for (int64_t j = 0; j < w->total[i]; j++) {
            for (int p = 0; p < w->npins; p++) {
                k->pin[k->first[i + 1]++] = world_pin(w->id[i], j, p);
            }
        }
    }
    const eqp_units_options options = eqp_units_options_defaults();
    assert_ok(eqp_owners_weigh(OWNERS, w->id, NULL, world_enumerate, w, &options, k->count, k->weight));
    return made;
}

static void known_free(struct known *k)
{
    world_free(&k->world);
    free(k->count);
    free(k->weight);
    free(k->first);
    free(k->pin);
    free(k->enumerated);
}

static int enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    struct known *k = user;

    k->enumerated[owner] = true;
    return world_enumerate(&k->world, owner, sink);
}

static eqp_units *create(struct known *k, const eqp_owner_pins *pins, const eqp_units_options *options)
{
    eqp_units *units = NULL;

    memset(k->enumerated, 0, OWNERS * sizeof *k->enumerated);
    assert_ok(eqp_units_create_known(OWNERS, k->world.id, k->count, k->weight, pins, enumerate, k, options, NULL, NULL,
                                     &units));
    return units;
}

static void assert_units_equal(const eqp_units *a, const eqp_units *b)
{
    const int64_t *first[2], *pin[2];
    int64_t n = eqp_units_count(a);

    assert_int_equal(n, eqp_units_count(b));
    for (int64_t u = 0; u < n; u++) {
        const eqp_unit x = world_unit(a, u), y = world_unit(b, u);
        assert_true(x.id == y.id && x.weight == y.weight && x.interactions == y.interactions && x.owner == y.owner &&
                    x.owners == y.owners && x.sub == y.sub && (x.centroid == NULL) == (y.centroid == NULL));
        assert_true(!x.centroid || memcmp(x.centroid, y.centroid, 3 * sizeof(double)) == 0);
    }
    eqp_units_pins(a, &first[0], &pin[0]);
    eqp_units_pins(b, &first[1], &pin[1]);
    assert_memory_equal(first[0], first[1], (size_t)(n + 1) * sizeof *first[0]);
    assert_memory_equal(pin[0], pin[1], (size_t)first[0][n] * sizeof *pin[0]);
}

TEST(known_pins_give_what_enumerating_gives)
{
    static const int max_pins[] = {1, 5, 64, 300};
    FREED_BY(known_free) struct known k = known_create();

    const eqp_owner_pins pins = {k.first, k.pin};
    for (int s = 0; s < NSTRATEGIES; s++) {
        for (int64_t wanted = 4; wanted < 3000; wanted *= slow_here() ? 25 : 5) {
            for (int m = slow_here() ? s : 0; m < 4; m += slow_here() ? 4 : 1) {
                eqp_units_options options = world_options(s, wanted);
                options.max_pins = max_pins[m];
                FREED(eqp_units) *enumerated = create(&k, NULL, &options);
                FREED(eqp_units) *known = create(&k, &pins, &options);
                assert_units_equal(enumerated, known);
            }
        }
    }
}

/* Samples that leave one cell are no split, but how could one know before? */
TEST(only_owners_heavier_than_a_unit_are_enumerated)
{
    FREED_BY(known_free) struct known k = known_create();
    int64_t split = 0, whole = 0;

    const eqp_owner_pins pins = {k.first, k.pin};
    for (int64_t wanted = 10; wanted < 1000; wanted *= 2) {
        eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, wanted);
        FREED(eqp_units) *units = create(&k, &pins, &options);
        for (int64_t i = 0; i < OWNERS; i++) {
            int64_t first, count;
            assert_ok(eqp_units_of_owner(units, i, &first, &count));
            assert_true(k.enumerated[i] || count == 1);
            assert_true(!k.enumerated[i] || k.weight[i] > 1.25 * eqp__units_target_weight(units));
            split += count > 1;
            whole += !k.enumerated[i];
        }
    }
    assert_true(split > 50 && whole > 50);
}

/* The n-th smallest key of a list's ids without duplicates. */
static uint64_t bound_of(uint64_t seed, int64_t n, const int64_t *pin, int most)
{
    uint64_t bound = 0;

    for (int found = 0; found < most; found++) {
        uint64_t next = UINT64_MAX;
        for (int64_t j = 0; j < n; j++) {
            uint64_t key = eqp_pin_key(seed, pin[j]);
            next = (found == 0 || key > bound) && key < next ? key : next;
        }
        bound = next;
    }
    return bound;
}

/* The bottom of every owner's ids: of these the units keep the smallest. */
TEST(a_part_of_the_pins_is_enough)
{
    enum { MAX_PINS = 8 };
    FREED_BY(known_free) struct known k = known_create();
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 30);
    HEAP int64_t *first = calloc(OWNERS + 1, sizeof *first);

    HEAP int64_t *pin = calloc((size_t)k.first[OWNERS], sizeof *pin);
    assert_true(first && pin);
    options.max_pins = MAX_PINS;
    for (int64_t i = 0; i < OWNERS; i++) {
        first[i + 1] = first[i];
        uint64_t bound = bound_of(options.seed, k.first[i + 1] - k.first[i], k.pin + k.first[i], MAX_PINS);
        for (int64_t j = k.first[i]; j < k.first[i + 1]; j++) {
            if (eqp_pin_key(options.seed, k.pin[j]) <= bound) { /* some are repeated */
                pin[first[i + 1]++] = k.pin[j];
            }
        }
    }
    assert_true(first[OWNERS] < k.first[OWNERS] / 2);
    FREED(eqp_units) *all = create(&k, &(eqp_owner_pins){k.first, k.pin}, &options);
    FREED(eqp_units) *some = create(&k, &(eqp_owner_pins){first, pin}, &options);
    assert_units_equal(all, some);
}

TEST(negative_pins_are_none)
{
    FREED_BY(known_free) struct known k = known_create();
    eqp_units_options options = eqp_units_options_defaults();
    const int64_t *first, *pin;

    for (int64_t j = 0; j < k.first[OWNERS]; j++) {
        k.pin[j] = j % 2 ? -1 : INT64_MIN;
    }
    options.units = 10;
    FREED(eqp_units) *units = create(&k, &(eqp_owner_pins){k.first, k.pin}, &options);
    eqp_units_pins(units, &first, &pin);
    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        const eqp_unit unit = world_unit(units, u);
        assert_true(unit.sub >= 0 || first[u + 1] - first[u] == (unit.owners < 16 ? unit.owners : 16));
    }
}

TEST(lists_that_are_none_are_refused)
{
    FREED_BY(known_free) struct known k = known_create();
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 10);
    eqp_units *units = NULL;

    for (int kind = 0; kind < 4; kind++) {
        int64_t first[OWNERS + 1];
        memcpy(first, k.first, sizeof first);
        first[0] = kind == 1 ? 1 : 0;
        first[5] = kind == 2 ? first[4] - 1 : first[5];
        const eqp_owner_pins pins = {kind == 0 ? NULL : first, kind == 3 ? NULL : k.pin};
        assert_refused(eqp_units_create_known(OWNERS, k.world.id, k.count, k.weight, &pins, enumerate, &k, &options,
                                              NULL, NULL, &units));
        assert_null(units);
    }
    options.max_pins = 0; /* not read in that case */
    const eqp_owner_pins none = {NULL, NULL};
    assert_ok(eqp_units_create_known(OWNERS, k.world.id, k.count, k.weight, &none, enumerate, &k, &options, NULL, NULL,
                                     &units));
    eqp_units_free(units);
    options.max_pins = 4;
    assert_ok(eqp_units_create_known(0, NULL, NULL, NULL, &none, enumerate, &k, &options, NULL, NULL, &units));
    assert_int_equal(eqp_units_count(units), 0);
    eqp_units_free(units);
}
