/* SPDX-License-Identifier: BSD-3-Clause */
/* Work units depend neither on the distribution of owners over ranks nor on the order of visits. */

#include "slow.h"
#include "units_world.h"

enum { MAX_RANKS = 8, MAX_PINS = 6 };

/* A unit as the whole machine sees it. */
struct whole_unit {
    int64_t id;
    double weight;
    int64_t interactions, owners, sub;
    double centroid[3];
    int npins;
    int64_t pin[2 * MAX_PINS];
};

struct table {
    int64_t n, capacity;
    int64_t pieces; /* of units, of all ranks */
    struct whole_unit *unit;
};

/* Two pieces' pins: the smallest keys of both. */
static void merge_pins(struct whole_unit *u, uint64_t seed, int n, const int64_t *pin)
{
    for (int i = 0; i < n; i++) {
        int at = 0;
        while (at < u->npins && eqp_pin_key(seed, u->pin[at]) < eqp_pin_key(seed, pin[i])) {
            at++;
        }
        if (at < u->npins && u->pin[at] == pin[i]) {
            continue;
        }
        memmove(u->pin + at + 1, u->pin + at, (size_t)(u->npins - at) * sizeof *u->pin);
        u->pin[at] = pin[i];
        u->npins = u->npins < MAX_PINS ? u->npins + 1 : MAX_PINS;
    }
}

static void table_add(struct table *t, const eqp_units *units, uint64_t seed)
{
    const int64_t *first, *pin;

    eqp_units_pins(units, &first, &pin);
    for (int64_t i = 0; i < eqp_units_count(units); i++) {
        eqp_unit unit;
        int64_t at = 0;
        assert_ok(eqp_units_get(units, i, &unit));
        t->pieces++;
        while (at < t->n && t->unit[at].id != unit.id) {
            at++;
        }
        if (at == t->n) {
            if (t->n == t->capacity) {
                t->capacity = 2 * t->capacity + 64;
                t->unit = realloc(t->unit, (size_t)t->capacity * sizeof *t->unit);
                assert_non_null(t->unit);
            }
            t->unit[t->n++] = (struct whole_unit){.id = unit.id, .sub = unit.sub};
            if (unit.centroid) {
                memcpy(t->unit[at].centroid, unit.centroid, sizeof t->unit[at].centroid);
            }
        } else {
            assert_int_equal(unit.sub, -1); /* only units of whole owners may be in pieces */
            assert_int_equal(t->unit[at].sub, -1);
        }
        t->unit[at].weight += unit.weight;
        t->unit[at].interactions += unit.interactions;
        t->unit[at].owners += unit.owners;
        merge_pins(&t->unit[at], seed, (int)(first[i + 1] - first[i]), pin + first[i]);
    }
}

static int by_id(const void *a, const void *b)
{
    const struct whole_unit *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static void assert_tables_equal(struct table *a, struct table *b)
{
    qsort(a->unit, (size_t)a->n, sizeof *a->unit, by_id);
    qsort(b->unit, (size_t)b->n, sizeof *b->unit, by_id);
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++) {
        const struct whole_unit *x = &a->unit[i], *y = &b->unit[i];
        assert_int_equal(x->id, y->id);
        assert_int_equal(x->interactions, y->interactions);
        assert_int_equal(x->owners, y->owners);
        assert_int_equal(x->sub, y->sub);
        assert_true(x->weight == y->weight);
        assert_memory_equal(x->centroid, y->centroid, sizeof x->centroid);
        assert_int_equal(x->npins, y->npins);
        assert_memory_equal(x->pin, y->pin, (size_t)x->npins * sizeof x->pin[0]);
    }
}

/* The sums as MPI sees them: arrays of int64_t. */
static eqp_units_totals sum_of(eqp_units_totals a, eqp_units_totals b)
{
    int64_t x[EQP_UNITS_TOTALS_WORDS], y[EQP_UNITS_TOTALS_WORDS];

    assert_int_equal(sizeof x, sizeof a);
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < EQP_UNITS_TOTALS_WORDS; i++) {
        x[i] += y[i];
    }
    memcpy(&a, x, sizeof x);
    return a;
}

/* The owners from..to of a world as a rank's own. */
static struct world slice(const struct world *w, int64_t from, int64_t to)
{
    struct world part = *w;
    part.id += from;
    part.total += from;
    part.n = to - from;
    return part;
}

static eqp_units_totals totals_of(const struct world *w, const eqp_units_options *options, const int64_t *count,
                                  const double *weight)
{
    eqp_units_totals totals = EQP_UNITS_TOTALS_ZERO;
    assert_ok(eqp_units_totals_add(options, w->n, w->id, count, weight, &totals));
    return totals;
}

/* Runs both phases on `nranks` simulated ranks whose owners end at cut[r]. interval: [owners], or NULL. */
static void run_ranks(const struct world *w, int nranks, const int64_t *cut, eqp_units_options options,
                      int64_t *interval, struct table *table)
{
    HEAP int64_t *count = calloc((size_t)w->n + 1, sizeof *count);
    HEAP double *weight = calloc((size_t)w->n + 1, sizeof *weight);
    eqp_units_totals all = EQP_UNITS_TOTALS_ZERO, before = EQP_UNITS_TOTALS_ZERO;
    double target;

    for (int pass = 0; pass < 2; pass++) { /* the second is for RANDOM, which needs the rate */
        all = (eqp_units_totals)EQP_UNITS_TOTALS_ZERO;
        for (int r = 0; r < nranks; r++) {
            struct world mine = slice(w, r ? cut[r - 1] : 0, cut[r]);
            int64_t at = r ? cut[r - 1] : 0;
            assert_ok(
                eqp_owners_weigh(mine.n, mine.id, NULL, world_enumerate, &mine, &options, count + at, weight + at));
            all = sum_of(all, totals_of(&mine, &options, count + at, weight + at));
        }
        if (options.strategy != EQP_SAMPLE_RANDOM) {
            break;
        }
        assert_ok(eqp_units_target(&options, &all, &target, &options.rate));
    }
    for (int r = 0; r < nranks; r++) {
        int64_t at = r ? cut[r - 1] : 0;
        struct world mine = slice(w, at, cut[r]);
        eqp_units *units = NULL;
        assert_ok(eqp_units_create(mine.n, mine.id, count + at, weight + at, world_enumerate, &mine, &options, &all,
                                   &before, &units));
        table_add(table, units, options.seed);
        eqp_units_free(units);
        if (interval) {
            assert_ok(
                eqp_units_intervals(mine.n, mine.id, count + at, weight + at, &options, &all, &before, interval + at));
        }
        before = sum_of(before, totals_of(&mine, &options, count + at, weight + at));
    }
}

TEST(the_same_units_on_any_number_of_ranks)
{
    static const int ranks[] = {1, 2, 3, 7};
    /* Owners up to the end of each rank: some have none. */
    static const int64_t percent[][7] = {{100}, {35, 100}, {15, 50, 100}, {0, 10, 25, 50, 50, 100, 100}};

    for (int s = 0; s < NSTRATEGIES; s++) {
        for (int64_t wanted = 12; wanted < 1000; wanted *= 8) { /* merged, mixed, split */
            FREED_BY(world_free) struct world w = world_create(slow_here() ? 60 : 120, 15);
            struct table serial = {0};
            eqp_units_options options = world_options(s, wanted);
            options.max_pins = MAX_PINS;
            w.weighted = s % 2;
            FREED(eqp_units) *units = world_units(&w, &options);
            table_add(&serial, units, options.seed);
            assert_int_equal(serial.n, eqp_units_count(units)); /* ids are different */
            for (int k = 0; k < 4; k += slow_here() ? 3 : 1) {
                int64_t cut[MAX_RANKS];
                struct table table = {0};
                for (int r = 0; r < ranks[k]; r++) {
                    cut[r] = w.n * percent[k][r] / 100;
                }
                run_ranks(&w, ranks[k], cut, options, NULL, &table);
                assert_tables_equal(&serial, &table);
                free(table.unit);
            }
            free(serial.unit);
        }
    }
}

TEST(ranks_that_have_whole_intervals_have_whole_units)
{
    enum { RANKS = 5 };
    int64_t in_pieces = 0;

    for (int s = 0; s < NSTRATEGIES; s++) {
        FREED_BY(world_free) struct world w = world_create(slow_here() ? 60 : 120, 15);
        int64_t cut[RANKS], *interval = calloc((size_t)w.n, sizeof *interval);
        eqp_units_options options = world_options(s, 40);
        struct table table = {0}, whole = {0};
        options.max_pins = MAX_PINS;
        for (int r = 0; r < RANKS; r++) {
            cut[r] = w.n * (r + 1) / RANKS;
        }
        run_ranks(&w, RANKS, cut, options, interval, &table);
        in_pieces += table.pieces - table.n;
        for (int64_t i = 1; i < w.n; i++) {
            assert_true(interval[i] >= interval[i - 1]);
        }
        for (int r = 0; r + 1 < RANKS; r++) {
            while (cut[r] < w.n && interval[cut[r]] == interval[cut[r] - 1]) {
                cut[r]++;
            }
        }
        run_ranks(&w, RANKS, cut, options, NULL, &whole);
        assert_int_equal(whole.pieces, whole.n);
        assert_tables_equal(&table, &whole);
        free(table.unit);
        free(whole.unit);
        free(interval);
    }
    assert_true(in_pieces > 0); /* before */
}

/* Along another curve the merged units differ, but a split owner's cells are its own affair. */
TEST(a_split_owner_has_the_same_cells_anywhere_on_the_curve)
{
    const int64_t least = slow_here() ? 60 : 200;
    FREED_BY(world_free) struct world w = world_create(40, least), v = world_create(40, least);
    eqp_units_options options = eqp_units_options_defaults();

    for (int64_t i = 0; i < w.n; i++) {
        v.id[i] = w.id[(i * 7 + 3) % w.n];
        v.total[i] = w.total[(i * 7 + 3) % w.n];
    }
    for (int s = 0; s < NSTRATEGIES; s++) {
        int64_t split = 0;
        FREED(eqp_units) *a = NULL, *b = NULL;
        options.strategy = s;
        options.units = 300;
        assert_ok(eqp_units_create_serial(w.n, w.id, world_enumerate, &w, &options, &a));
        assert_ok(eqp_units_create_serial(v.n, v.id, world_enumerate, &v, &options, &b));
        for (int64_t i = 0; i < v.n; i++) {
            int64_t first[2], count[2];
            assert_ok(eqp_units_of_owner(a, (i * 7 + 3) % w.n, &first[0], &count[0]));
            assert_ok(eqp_units_of_owner(b, i, &first[1], &count[1]));
            assert_int_equal(count[0], count[1]);
            split += count[0] > 1;
            for (int64_t c = 0; c < count[0] && count[0] > 1; c++) {
                const eqp_unit x = world_unit(a, first[0] + c), y = world_unit(b, first[1] + c);
                assert_int_equal(x.interactions, y.interactions);
                assert_memory_equal(x.centroid, y.centroid, 3 * sizeof(double));
            }
        }
        assert_true(split > 20);
    }
}

TEST(a_rebuilt_map_answers_the_same)
{
    FREED_BY(world_free) struct world w = world_create(60, 100);
    eqp_units_options options = world_options(EQP_SAMPLE_STRIDE, 400);
    eqp_units *units = NULL, *copy = NULL;
    HEAP int64_t *first = calloc((size_t)w.n + 1, sizeof *first);
    HEAP int64_t *unit_id = calloc(5000, sizeof *unit_id);
    HEAP double *centroid = calloc(5000 * 3, sizeof *centroid);

    assert_ok(eqp_units_create_serial(w.n, w.id, world_enumerate, &w, &options, &units));
    assert_true(eqp_units_count(units) < 4900);
    for (int64_t i = 0; i < w.n; i++) {
        int64_t at, count;
        assert_ok(eqp_units_of_owner(units, i, &at, &count));
        first[i + 1] = first[i] + count;
        for (int64_t c = 0; c < count; c++) {
            const eqp_unit unit = world_unit(units, at + c);
            unit_id[first[i] + c] = unit.id;
            if (unit.centroid) {
                memcpy(centroid + (first[i] + c) * 3, unit.centroid, 3 * sizeof(double));
            }
        }
    }
    assert_ok(eqp_units_rebuild(3, w.n, first, unit_id, centroid, &copy));
    assert_int_equal(eqp_units_count(copy), eqp_units_count(units));
    for (int64_t i = 0; i < w.n; i++) {
        for (uint64_t j = 0; j < (slow_here() ? 20 : 200); j++) {
            double place[3];
            eqp_unit x, y;
            for (int d = 0; d < 3; d++) {
                place[d] = 2 * eqp_random_uniform(11, j, (uint64_t)d) - 0.5;
            }
            assert_ok(eqp_units_get(units, eqp_units_find(units, i, place), &x));
            assert_ok(eqp_units_get(copy, eqp_units_find(copy, i, place), &y));
            assert_int_equal(x.id, y.id);
            assert_int_equal(x.owners, y.owners);
        }
    }
    eqp_units_free(copy);
    copy = NULL;
    first[3] = first[2];
    assert_refused(eqp_units_rebuild(3, w.n, first, unit_id, centroid, &copy));
    assert_null(copy);
    first[0] = 0;
    first[1] = 2;
    centroid[4] = NAN;
    assert_int_equal(eqp_units_rebuild(3, 1, first, unit_id, centroid, &copy), EQP_ERR_DATA);
    assert_refused(eqp_units_rebuild(3, 1, first, unit_id, NULL, &copy));
    unit_id[0] = -5;
    centroid[4] = 0;
    assert_refused(eqp_units_rebuild(3, 1, first, unit_id, centroid, &copy));
    assert_null(copy);
    assert_ok(eqp_units_rebuild(3, 0, first, NULL, NULL, &copy));
    assert_int_equal(eqp_units_count(copy), 0);
    eqp_units_free(copy);
    eqp_units_free(units);
}

TEST(totals_that_do_not_fit_are_refused)
{
    FREED_BY(world_free) struct world w = world_create(10, 10);
    eqp_units_options options = eqp_units_options_defaults();
    eqp_units *units = NULL;
    double weight[10];

    for (int i = 0; i < 10; i++) {
        weight[i] = (double)w.total[i];
    }
    eqp_units_totals all = totals_of(&w, &options, w.total, weight), before = EQP_UNITS_TOTALS_ZERO;
    before.owners = 1; /* more before and here than in all */
    assert_refused(eqp_units_create(10, w.id, w.total, weight, world_enumerate, &w, &options, &all, &before, &units));
    before.owners = 0;
    assert_refused(eqp_units_create(10, w.id, w.total, weight, world_enumerate, &w, &options, &all, NULL, &units));
    options.strategy = EQP_SAMPLE_RANDOM; /* without a rate, draws are not counted */
    assert_refused(eqp_units_create(10, w.id, w.total, weight, world_enumerate, &w, &options, &all, &before, &units));
    assert_null(units);
}
