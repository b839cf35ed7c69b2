/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles: trees of cuts through pairs of targets and sources. */

#include <equipoise/more/random.h>

#include "failing_malloc.h"
#include "methods/frame/frame.h"
#include "methods/tiles/tiles.h"
#include "unit.h"

enum { MOST = 16500, MOST_PARTS = 64 };

enum kind { SPREAD, TWINS, FEW_TARGETS, ONE_PLACE, FLAT, KINDS };

/* Items of a test, in the order of a curve along x, and the last cut. */
typedef struct world {
    eqp_balance_items items;
    double target[3 * MOST], source[3 * MOST], weight[MOST];
    double aspect, before[MOST_PARTS + 1];
    eqp__tile_item item[MOST], spare[MOST];
    eqp__tile_plan plan;
    eqp__tile_cut cut[MOST_PARTS];
    int columns, count[EQP__TILE_DIRECTIONS]; /* cuts in each direction */
    int part[MOST], other[MOST];
} world;

static world w;

static double uniform(int64_t i, int k)
{
    return eqp_random_uniform(11, (uint64_t)i, (uint64_t)k);
}

static void make_world(int64_t n, enum kind kind)
{
    w.items = (eqp_balance_items){.n = n, .point = w.target, .source = w.source};
    w.aspect = 0.5;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = kind == TWINS ? i / 3 : kind == FEW_TARGETS ? i / 100 : kind == ONE_PLACE ? 0 : i;
        for (int k = 0; k < 3; k++) {
            w.target[3 * i + k] = kind == FLAT && k > 0 ? 7 : 100 + uniform(from, k);
            w.source[3 * i + k] = w.target[3 * i + k] + 0.3 * (uniform(kind == FEW_TARGETS ? i : from, 3 + k) - 0.5);
        }
        w.weight[i] = 0.5 + uniform(i, 7);
    }
}

static eqp_balance_options options_of(int nparts, const double *share, int columns)
{
    const eqp_method *jagged = eqp_method_find("jagged");
    eqp_balance_options options = eqp_balance_options_defaults();
    char aspect[32], number[32];

    options.nparts = nparts;
    options.share = share;
    snprintf(aspect, sizeof aspect, "%g", w.aspect);
    snprintf(number, sizeof number, "%d", columns);
    assert_ok(eqp_method_set(jagged, "aspect", aspect, &options.settings, NULL));
    assert_ok(columns > 0 ? eqp_method_set(jagged, "columns", number, &options.settings, NULL) : EQP_OK);
    return options;
}

/* An item of the reference bisection, which sorts. */
typedef struct sorted {
    uint64_t key;
    uint32_t weight, order;
    eqp__tile_item item;
} sorted;

static int by_key(const void *a, const void *b)
{
    const sorted *x = a, *y = b;

    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

/* The same bisection by sorting, along the directions of a tree. */
static void bisect_slowly(const eqp__tile_plan *plan, sorted *list, int64_t n, int first, int nparts,
                          const eqp__tile_cut *cut, int *part)
{
    int64_t total = 0, before = 0, left = 0;
    unsigned allowed;

    for (int64_t i = 0; i < n; i++) {
        part[list[i].order] = first;
        total += list[i].weight;
    }
    if (nparts == 1) {
        return;
    }
    const bool ones = total == 0;
    const int half = eqp__tiles_split(plan, first, nparts, &allowed);
    const double target = eqp__tiles_target(plan, first, nparts, half, ones ? n : total);
    assert_int_equal(half, cut->left);
    assert_true(allowed >> cut->direction & 1);
    for (int64_t i = 0; i < n; i++) {
        list[i].key = eqp__tile_key(&list[i].item, eqp__tile_reader_of(cut->direction));
    }
    qsort(list, (size_t)n, sizeof *list, by_key);
    /* The cut nearest to the target; of two equally near cuts, the later one. */
    while (left < n) {
        int64_t next = before + (ones ? 1 : list[left].weight);
        if ((double)next >= target) {
            left += (double)next - target <= target - (double)before;
            break;
        }
        before = next;
        left++;
    }
    bisect_slowly(plan, list, left, first, half, cut + 1, part);
    bisect_slowly(plan, list + left, n - left, first + half, nparts - half, cut + half, part);
}

static void make_shares(int nparts, double *share)
{
    double sum = 0;

    for (int p = 0; p < nparts; p++) {
        sum += share[p] = 1 + p % 3;
    }
    for (int p = 0; p < nparts; p++) {
        share[p] /= sum;
    }
}

/* Cuts the items, with the same parts from both entries. columns: of jagged parts; 0: estimated. */
static void cut(int nparts, const double *share, bool jagged, int columns)
{
    const eqp_balance_options options = options_of(nparts, share, columns);
    eqp__tile_scope scope = eqp__tile_scope_nothing();

    assert_ok(eqp__tile_scope_add(&w.items, &scope));
    eqp__tiles_pack(&w.items, &scope, 0, w.item);
    for (int p = 0; share && p < nparts; p++) {
        w.before[p + 1] = w.before[p] + share[p];
    }
    w.columns = columns;
    if (jagged && columns == 0) {
        assert_ok(eqp__tiles_columns(w.item, w.items.n, nparts, w.aspect, &w.columns));
    }
    w.plan = (eqp__tile_plan){.nparts = nparts,
                              .strips = jagged ? eqp__tiles_strips(nparts, w.columns) : 0,
                              .aspect = w.aspect,
                              .before = share ? w.before : NULL};
    assert_ok(eqp__tiles_bisect(&w.plan, w.items.n, w.item, w.spare, 0, nparts, w.cut, w.part));
    assert_ok(eqp__tiles_cut(&w.items, &options, jagged, w.other));
    assert_memory_equal(w.part, w.other, (size_t)w.items.n * sizeof *w.part);
    memset(w.count, 0, sizeof w.count);
    for (int i = 0; i < nparts - 1; i++) {
        w.count[w.cut[i].direction]++;
    }
}

static void check_against_sorting(void)
{
    static sorted list[MOST];
    eqp__tile_scope scope = eqp__tile_scope_nothing();

    assert_ok(eqp__tile_scope_add(&w.items, &scope));
    eqp__tiles_pack(&w.items, &scope, 0, w.item);
    for (int64_t i = 0; i < w.items.n; i++) {
        list[i] = (sorted){0, w.item[i].weight, w.item[i].order, w.item[i]};
    }
    bisect_slowly(&w.plan, list, w.items.n, 0, w.plan.nparts, w.cut, w.other);
    assert_memory_equal(w.part, w.other, (size_t)w.items.n * sizeof *w.part);
}

TEST(cuts_are_those_of_sorting)
{
    const int64_t number[] = {0, 1, 2, 7, 60, 777, 4000};
    const int parts[] = {1, 2, 3, 7, 16, 53};
    double share[MOST_PARTS];

    for (int kind = 0; kind < KINDS; kind++) {
        for (int c = 0; c < COUNT_OF(number) * COUNT_OF(parts); c++) {
            const int a = c / COUNT_OF(parts), b = c % COUNT_OF(parts);
            make_world(number[a], (enum kind)kind);
            make_shares(parts[b], share);
            w.items.weight = (a + b) % 2 ? w.weight : NULL;
            cut(parts[b], (a + b) % 3 == 1 && parts[b] > 1 ? share : NULL, b % 2, 0);
            check_against_sorting();
        }
    }
}

/* With this many items a sample locates the first cuts, for items ordered along x, and for few items with nearly all
 * the weight. */
TEST(cuts_of_many_items_are_those_of_sorting)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int heavy = 0; heavy < 2; heavy++) {
            make_world(MOST, (enum kind)kind);
            for (int64_t i = 0; heavy && i < MOST; i++) {
                w.weight[i] = i % 5000 == 1 ? 1000 : 0.001;
            }
            w.items.weight = heavy ? w.weight : NULL;
            cut(5, NULL, false, 0);
            check_against_sorting();
        }
    }
}

/* Parts of the method, repaired, and their loads. */
static double assign(int nparts, bool jagged, double *load)
{
    const eqp_method *method = eqp_method_find(jagged ? "jagged" : "tiles");
    const eqp_balance_options options = options_of(nparts, NULL, 0);
    eqp_balance_result result;
    eqp_part_loads loads;

    w.items.weight = w.weight;
    assert_ok(method->assign_alone(&w.items, &options, w.part, &result));
    assert_ok(eqp__parts_load(w.items.n, w.weight, w.part, nparts, NULL, load, &loads));
    return loads.imbalance;
}

TEST(small_items_are_balanced)
{
    double load[MOST_PARTS];

    for (int c = 0; c < 2 * KINDS; c++) {
        make_world(6000, (enum kind)(c / 2));
        assert_true(assign(40, c % 2, load) <= 0.02 + 1e-9);
        /* 1000 items of equal weight in each part: identical ones too. */
        w.items.weight = NULL;
        cut(6, NULL, c % 2, 0);
        memset(load, 0, sizeof load);
        for (int64_t i = 0; i < 6000; i++) {
            load[w.part[i]] += 1;
        }
        for (int p = 0; p < 6; p++) {
            assert_true(load[p] <= 1020);
        }
    }
}

TEST(a_heavy_item_does_not_unbalance_the_others)
{
    double load[10], total = 0, second = 0;

    make_world(3000, SPREAD);
    w.weight[1234] = 400; /* twice the mean of the ten parts */
    (void)assign(10, false, load);
    for (int p = 0; p < 10; p++) {
        second = p == w.part[1234] ? second : fmax(second, load[p]);
        total += load[p];
    }
    assert_true(load[w.part[1234]] < 401);
    assert_true(second < 1.02 * total / 10);
}

TEST(weights_of_zero_count_alike)
{
    static int former[MOST];

    make_world(1000, SPREAD);
    cut(9, NULL, false, 0);
    memcpy(former, w.part, sizeof former);
    memset(w.weight, 0, sizeof w.weight);
    w.items.weight = w.weight;
    cut(9, NULL, false, 0);
    assert_memory_equal(w.part, former, 1000 * sizeof *w.part);
}

TEST(directions_follow_what_is_wide_and_what_is_dear)
{
    make_world(2000, SPREAD);
    w.aspect = 1;
    for (int64_t i = 0; i < 2000; i++) {
        /* Few targets, whose sources are far and wide along y. */
        for (int k = 0; k < 3; k++) {
            w.target[3 * i + k] = 0.1 * uniform(i, k);
            w.source[3 * i + k] = (k == 1 ? 5 : 1) * uniform(i, 3 + k) - 0.5;
        }
    }
    cut(2, NULL, false, 0);
    assert_int_equal(w.count[4], 1);
    /* If all targets interact with all sources, the cut divides the expensive kind: the halves of a cut through the
     * targets need the same sources. */
    for (int64_t j = 0; j < 6000; j++) {
        w.source[j] = 3 + uniform(j / 3, 3 + (int)(j % 3));
        w.target[j] = uniform(j / 3, (int)(j % 3));
    }
    for (int costly = 0; costly < 2; costly++) {
        w.aspect = costly ? 10 : 0.1;
        cut(2, NULL, false, 0);
        assert_int_equal(w.count[0] + w.count[1] + w.count[2], !costly);
    }
}

TEST(jagged_parts_are_strips_of_targets)
{
    for (int columns = 1; columns <= 12; columns++) {
        make_world(3000, SPREAD);
        cut(12, NULL, true, columns);
        assert_int_equal(w.count[0] + w.count[1] + w.count[2], w.plan.strips - 1);
        assert_int_equal(w.count[3] + w.count[4] + w.count[5], 12 - w.plan.strips);
    }
}

TEST(columns_follow_how_far_sources_are)
{
    for (int far = 0; far < 2; far++) {
        make_world(4000, SPREAD);
        for (int64_t i = 0; i < 3 * 4000; i++) {
            w.source[i] = w.target[i] + (far ? 5 : 0.01) * (uniform(i, 8) - 0.5);
        }
        cut(64, NULL, true, 0);
        assert_true(far ? w.columns >= 4 : w.columns == 1);
    }
}

TEST(extreme_positions_and_weights_are_cut_too)
{
    const double size[] = {1e308, 1e-308, 5e-324, 1e150};
    double load[3];

    for (int k = 0; k < COUNT_OF(size); k++) {
        make_world(600, SPREAD);
        for (int64_t i = 0; i < 1800; i++) {
            w.target[i] = size[k] * (2 * uniform(i, 1) - 1);
            w.source[i] = size[k] * (2 * uniform(i, 2) - 1);
            w.weight[i / 3] = k % 2 ? 1e300 : 1e-300;
        }
        assert_true(assign(3, false, load) < 0.02);
    }
}

static int assign_jagged(void *user)
{
    static const double share[3] = {0.5, 0.25, 0.25};
    const eqp_balance_options options = options_of(3, share, 0);
    eqp_balance_result result;

    (void)user;
    return eqp_method_find("jagged")->assign_alone(&w.items, &options, w.part, &result);
}

TEST(failing_allocations_are_reported)
{
    SKIP_IF(!failing_malloc_works);
    make_world(50, SPREAD);
    w.items.weight = w.weight;
    assert_true(failing_malloc_sweep(assign_jagged, NULL, EQP_ERR_MEMORY) > 3);
}
