/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles: trees of cuts through pairs of targets and sources. */

#include <equipoise/more/random.h>

#include "failing_malloc.h"
#include "methods/frame/frame.h"
#include "methods/tiles/tiles.h"
#include "unit.h"

FREES(eqp_tiles, eqp__tiles_free)

enum { MOST = 16500 };

enum kind { SPREAD, TWINS, FEW_TARGETS, ONE_PLACE, FLAT, KINDS };

/* Items of a test, in the order of a curve along x. */
typedef struct world {
    eqp_tiles_items items;
    double target[3 * MOST], source[3 * MOST], weight[MOST];
    int part[MOST], other[MOST];
} world;

static world w;

static double uniform(int64_t i, int k)
{
    return eqp_random_uniform(11, (uint64_t)i, (uint64_t)k);
}

static void make_world(int64_t n, enum kind kind)
{
    w.items = (eqp_tiles_items){n, w.target, w.source, NULL};
    for (int64_t i = 0; i < n; i++) {
        int64_t from = kind == TWINS ? i / 3 : kind == FEW_TARGETS ? i / 100 : kind == ONE_PLACE ? 0 : i;
        for (int k = 0; k < 3; k++) {
            w.target[3 * i + k] = kind == FLAT && k > 0 ? 7 : 100 + uniform(from, k);
            w.source[3 * i + k] = w.target[3 * i + k] + 0.3 * (uniform(kind == FEW_TARGETS ? i : from, 3 + k) - 0.5);
        }
        w.weight[i] = 0.5 + uniform(i, 7);
    }
}

static double imbalance_of(const int *part, int nparts, const double *share)
{
    eqp_part_loads loads;
    double *ones = malloc((size_t)(w.items.n + 1) * sizeof *ones);

    assert_non_null(ones);
    for (int64_t i = 0; i < w.items.n; i++) {
        ones[i] = 1;
    }
    assert_ok(eqp__parts_load(w.items.n, w.items.weight ? w.items.weight : ones, part, nparts, share, NULL, &loads));
    free(ones);
    return loads.imbalance;
}

/* An item of the slow way. */
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

static void check_against_sorting(const eqp_tiles *tree)
{
    const int64_t n = w.items.n;
    HEAP sorted *list = calloc((size_t)n + 1, sizeof *list);
    HEAP eqp__tile_item *item = calloc((size_t)n + 1, sizeof *item);
    eqp__tile_scope scope = eqp__tile_scope_nothing();

    assert_true(list && item);
    assert_ok(eqp__tile_scope_add(&w.items, &scope));
    eqp__tiles_pack(&w.items, &scope, &tree->grid, item);
    for (int64_t i = 0; i < n; i++) {
        list[i] = (sorted){0, item[i].weight, item[i].order, item[i]};
    }
    bisect_slowly(&tree->plan, list, n, 0, tree->plan.nparts, tree->cut, w.other);
    assert_memory_equal(w.part, w.other, (size_t)n * sizeof *w.part);
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

static eqp_tiles *cut(int nparts, const double *share, enum eqp_tiles_shape shape, int columns, double tolerance,
                      eqp_tiles_result *result)
{
    const eqp_tiles_options options = {sizeof(eqp_tiles_options), nparts, share, tolerance, 0.5, shape, columns};
    eqp_tiles *tree = NULL;

    assert_ok(eqp__tiles_create(&w.items, &options, w.part, &tree, result));
    return tree;
}

TEST(cuts_are_those_of_sorting)
{
    const int64_t number[] = {0, 1, 2, 7, 60, 777, 4000};
    const int parts[] = {1, 2, 3, 7, 16, 53};
    double share[64];

    for (int kind = 0; kind < KINDS; kind++) {
        for (int a = 0; a < COUNT_OF(number); a++) {
            for (int b = 0; b < COUNT_OF(parts); b++) {
                const bool unequal = (a + b) % 3 == 1;
                eqp_tiles_result result;
                make_world(number[a], (enum kind)kind);
                make_shares(parts[b], share);
                w.items.weight = (a + b) % 2 ? w.weight : NULL;
                FREED(eqp_tiles) *tree =
                    cut(parts[b], unequal ? share : NULL, (enum eqp_tiles_shape)(b % 2), 0, INFINITY, &result);
                check_against_sorting(tree);
                assert_true(fabs(result.imbalance - imbalance_of(w.part, parts[b], unequal ? share : NULL)) < 1e-9);
                assert_int_equal(result.repaired, 0);
            }
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
            FREED(eqp_tiles) *tree = cut(5, NULL, EQP_TILES_FREE, 0, INFINITY, NULL);
            check_against_sorting(tree);
        }
    }
}

TEST(small_items_are_balanced)
{
    for (int kind = 0; kind < KINDS; kind++) {
        for (int shape = EQP_TILES_FREE; shape <= EQP_TILES_JAGGED; shape++) {
            eqp_tiles_result result;
            make_world(6000, (enum kind)kind);
            /* 1000 items of equal weight in each part: identical ones too. */
            eqp_tiles *tree = cut(6, NULL, (enum eqp_tiles_shape)shape, 0, INFINITY, &result);
            assert_true(result.imbalance <= 0.02);
            eqp__tiles_free(tree);
            w.items.weight = w.weight;
            tree = cut(40, NULL, (enum eqp_tiles_shape)shape, 0, 0.02, &result);
            assert_true(result.imbalance <= 0.02 + 1e-9);
            eqp__tiles_free(tree);
        }
    }
}

TEST(a_heavy_item_does_not_unbalance_the_others)
{
    eqp_tiles_result result;

    make_world(3000, SPREAD);
    w.items.weight = w.weight;
    w.weight[1234] = 400; /* twice the mean of the ten parts */
    FREED(eqp_tiles) *tree = cut(10, NULL, EQP_TILES_FREE, 0, 0.02, &result);
    double load[10] = {0}, second = 0;
    for (int64_t i = 0; i < w.items.n; i++) {
        load[w.part[i]] += w.weight[i];
    }
    for (int p = 0; p < 10; p++) {
        second = p == w.part[1234] ? second : fmax(second, load[p]);
    }
    assert_true(load[w.part[1234]] < 401);
    assert_true(
        second <
        1.02 * (load[0] + load[1] + load[2] + load[3] + load[4] + load[5] + load[6] + load[7] + load[8] + load[9]) /
            10);
}

TEST(weights_of_zero_count_alike)
{
    eqp_tiles_result result;

    make_world(1000, SPREAD);
    eqp_tiles *tree = cut(9, NULL, EQP_TILES_FREE, 0, 0.02, &result);
    memcpy(w.other, w.part, sizeof w.part);
    eqp__tiles_free(tree);
    memset(w.weight, 0, sizeof w.weight);
    w.items.weight = w.weight;
    tree = cut(9, NULL, EQP_TILES_FREE, 0, INFINITY, &result);
    assert_memory_equal(w.part, w.other, 1000 * sizeof *w.part);
    assert_true(result.imbalance == 0);
    eqp__tiles_free(tree);
}

TEST(search_agrees_with_parts)
{
    for (int kind = 0; kind < KINDS; kind++) {
        eqp_tiles_result result;
        int64_t wrong = 0;
        make_world(2000, (enum kind)kind);
        FREED(eqp_tiles) *tree = cut(23, NULL, kind % 2 ? EQP_TILES_JAGGED : EQP_TILES_FREE, 0, INFINITY, &result);
        for (int64_t i = 0; i < 2000; i++) {
            wrong += eqp__tiles_find(tree, w.target + 3 * i, w.source + 3 * i) != w.part[i];
        }
        if (kind == SPREAD || kind == FEW_TARGETS || kind == FLAT) {
            assert_int_equal(wrong, 0);
        } else if (kind == TWINS) {
            assert_true(wrong <= 2 * 22); /* each cut divides at most three identical items */
        }
        /* Any item has a part. */
        const double far[2][3] = {{-1e300, 1e300, 0}, {INFINITY, -INFINITY, 100.5}};
        for (int k = 0; k < 4; k++) {
            int p = eqp__tiles_find(tree, far[k / 2], far[k % 2]);
            assert_in_range(p, 0, 22);
        }
    }
}

/* Number of cuts of the targets, whose halves then need the same sources. */
static int64_t shared_by_halves(const eqp_tiles *tree)
{
    int count[9];

    eqp__tiles_directions(tree, count);
    return count[0] + count[1] + count[2];
}

TEST(directions_follow_what_is_wide_and_what_is_dear)
{
    eqp_tiles *tree = NULL;
    eqp_tiles_options options = {sizeof(eqp_tiles_options), 2, NULL, INFINITY, 1, EQP_TILES_FREE, 0};
    int count[9];

    make_world(2000, SPREAD);
    for (int64_t i = 0; i < 2000; i++) {
        /* Few targets, whose sources are far and wide along y. */
        for (int k = 0; k < 3; k++) {
            w.target[3 * i + k] = 0.1 * uniform(i, k);
            w.source[3 * i + k] = (k == 1 ? 5 : 1) * uniform(i, 3 + k) - 0.5;
        }
    }
    assert_ok(eqp__tiles_create(&w.items, &options, NULL, &tree, NULL));
    eqp__tiles_directions(tree, count);
    assert_int_equal(count[4], 1);
    eqp__tiles_free(tree);
    /* If all targets interact with all sources, the cut divides the expensive kind. */
    for (int64_t i = 0; i < 2000; i++) {
        for (int k = 0; k < 3; k++) {
            w.source[3 * i + k] = 3 + uniform(i, 3 + k);
            w.target[3 * i + k] = uniform(i, k);
        }
    }
    for (int costly = 0; costly < 2; costly++) {
        options.aspect = costly ? 10 : 0.1;
        assert_ok(eqp__tiles_create(&w.items, &options, NULL, &tree, NULL));
        assert_int_equal(shared_by_halves(tree), !costly);
        eqp__tiles_free(tree);
    }
}

TEST(jagged_parts_are_strips_of_targets)
{
    for (int columns = 1; columns <= 12; columns++) {
        eqp_tiles_result result;
        int count[9];
        make_world(3000, SPREAD);
        FREED(eqp_tiles) *tree = cut(12, NULL, EQP_TILES_JAGGED, columns, INFINITY, &result);
        int strips = eqp__tiles_strips(12, columns);
        assert_int_equal(result.columns, columns);
        eqp__tiles_directions(tree, count);
        assert_int_equal(count[0] + count[1] + count[2], strips - 1);
        assert_int_equal(count[3] + count[4] + count[5], 12 - strips);
    }
}

TEST(columns_follow_how_far_sources_are)
{
    for (int far = 0; far < 2; far++) {
        eqp_tiles_result result;
        make_world(4000, SPREAD);
        for (int64_t i = 0; i < 3 * 4000; i++) {
            w.source[i] = w.target[i] + (far ? 5 : 0.01) * (uniform(i, 8) - 0.5);
        }
        eqp__tiles_free(cut(64, NULL, EQP_TILES_JAGGED, 0, INFINITY, &result));
        assert_true(far ? result.columns >= 4 : result.columns == 1);
    }
}

TEST(extreme_positions_and_weights_are_cut_too)
{
    const double size[] = {1e308, 1e-308, 5e-324, 1e150};
    eqp_tiles_result result;

    for (int k = 0; k < COUNT_OF(size); k++) {
        make_world(600, SPREAD);
        for (int64_t i = 0; i < 1800; i++) {
            w.target[i] = size[k] * (2 * uniform(i, 1) - 1);
            w.source[i] = size[k] * (2 * uniform(i, 2) - 1);
            w.weight[i / 3] = k % 2 ? 1e300 : 1e-300;
        }
        w.items.weight = w.weight;
        FREED(eqp_tiles) *tree = cut(3, NULL, EQP_TILES_FREE, 0, INFINITY, &result);
        assert_true(result.imbalance < 0.02);
    }
}

TEST(wrong_arguments_change_nothing)
{
    const eqp_tiles_options good = {sizeof(eqp_tiles_options), 3, NULL, 0.1, 1, EQP_TILES_JAGGED, 0};
    const double falling[3] = {0.5, 0.6, -0.1};
    eqp_tiles_options bad[9];
    FREED(eqp_tiles) *tree = NULL;
    eqp_tiles_result result = {.repaired = -3};

    make_world(10, SPREAD);
    for (int k = 0; k < 9; k++) {
        bad[k] = good;
    }
    bad[0].nparts = 0;
    bad[1].share = falling;
    bad[2].imbalance_tol = -1;
    bad[3].imbalance_tol = NAN;
    bad[4].aspect = 0;
    bad[5].aspect = NAN;
    bad[6].shape = (enum eqp_tiles_shape)7;
    bad[7].columns = -1;
    bad[8].columns = 4;
    w.part[0] = -7;
    for (int k = 0; k < 9; k++) {
        assert_refused(eqp__tiles_create(&w.items, &bad[k], w.part, &tree, &result));
    }
    for (int k = 0; k < 3; k++) {
        double *place[] = {&w.target[4], &w.source[29], &w.weight[9]};
        double value = *place[k];
        w.items.weight = w.weight;
        *place[k] = k == 1 ? INFINITY : NAN;
        assert_refused(eqp__tiles_create(&w.items, &good, w.part, &tree, &result));
        *place[k] = value;
    }
    assert_null(tree);
    assert_int_equal(w.part[0], -7);
    assert_int_equal(result.repaired, -3);
    assert_ok(eqp__tiles_create(&w.items, &good, NULL, &tree, NULL));
    assert_int_equal(w.part[0], -7);
}

TEST(failing_allocations_change_nothing)
{
    const double share[3] = {0.5, 0.25, 0.25};
    const eqp_tiles_options options = {sizeof(eqp_tiles_options), 3, share, 0.001, 1, EQP_TILES_JAGGED, 0};
    FREED(eqp_tiles) *tree = NULL;
    int64_t k = 0;

    SKIP_IF(!failing_malloc_works);
    make_world(50, SPREAD);
    w.part[0] = -7;
    int code;
    for (k = 0; FAILING_MALLOC(k, code = eqp__tiles_create(&w.items, &options, w.part, &tree, NULL)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_int_equal(w.part[0], -7);
        assert_null(tree);
    }
    assert_ok(code);
    assert_true(k > 3);
}
