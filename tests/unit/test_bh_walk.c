/* SPDX-License-Identifier: BSD-3-Clause */
/* Interaction lists of groups, with all trees on one rank. */
#include "bh_walk_groups.h"
#include "slow.h"
#include "unit.h"

/* Fewer particles under sanitizers and memcheck. */
static int64_t few(int64_t n)
{
    return slow_here() && n > 50 ? n / 6 : n;
}

static void cover(const bh_tree *tree, const bh_list *list, int *covered)
{
    for (int64_t c = 0; c < list->ncells; c++) {
        const bh_cell *cell = &tree->cell[list->cell[c]];
        for (int64_t i = cell->first; i < cell->first + cell->count; i++) {
            covered[i]++;
        }
    }
    int64_t nsources = 0;
    for (int64_t r = 0; r < list->nruns; r++) {
        for (int64_t i = list->run_first[r]; i < list->run_first[r] + list->run_count[r]; i++) {
            covered[i]++;
        }
        nsources += list->run_count[r];
    }
    assert_int_equal(nsources, list->nsources);
}

/* True if a source is within a cutoff of the group's bounds. */
static bool may_reach(const bh_tree *tree, const bh_group *group, const bh_mac *mac, int64_t i)
{
    const double at[3] = {tree->sources.x[i], tree->sources.y[i], tree->sources.z[i]};
    double d2 = 0;
    for (int k = 0; k < 3; k++) {
        const double d = at[k] - fmin(fmax(at[k], group->lo[k]), group->hi[k]);
        d2 += d * d;
    }
    return d2 < mac->cutoff * mac->cutoff;
}

static void covers_once(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    HEAP int *covered = calloc((size_t)tree->sources.n, sizeof(*covered));
    assert_non_null(covered);
    cover(tree, list, covered);
    for (int64_t i = 0; i < tree->sources.n; i++) {
        if (mac->cutoff == 0 || may_reach(tree, group, mac, i)) {
            assert_int_equal(covered[i], 1);
        } else {
            assert_in_range(covered[i], 0, 1);
        }
    }
    assert_int_equal(list->nabsent, 0);
    assert_true(list->cutoff == mac->cutoff);
    assert_true(mac->cutoff == 0 || list->ncells == 0);
    /* The group's own particles act individually. */
    for (int64_t c = 0; c < list->ncells; c++) {
        const bh_cell *cell = &tree->cell[list->cell[c]];
        assert_true(cell->first + cell->count <= group->first || group->first + group->count <= cell->first);
    }
}

TEST(every_particle_acts_exactly_once)
{
    for_each_group(few(300), 8, 8, covers_once);
    for_each_group(few(150), 1, 20, covers_once);
    for_each_group(few(150), 20, 3, covers_once);
    for_each_drifted_group(few(300), 8, 8, covers_once);
    for_each_group(2, 1, 1, covers_once);
    for_each_group(1, 1, 1, covers_once);
}

/* The opening criterion, evaluated from the corners of the group's bounds without shortcuts. */
static bool may_act(const bh_tree *tree, const bh_group *group, const bh_mac *mac, const bh_cell *cell)
{
    const double side = ldexp(tree->box.side, -cell->level);
    double centre[3], d2 = 0;
    bool beside = true;
    if (cell->level > cell->tight) {
        return false;
    }
    bh_set_centre(&tree->box, cell->key, cell->level, centre);
    for (int k = 0; k < 3; k++) {
        const double nearest = fmin(fmax(cell->moments.com[k], group->lo[k]), group->hi[k]);
        d2 += (cell->moments.com[k] - nearest) * (cell->moments.com[k] - nearest);
        beside = beside && group->lo[k] < centre[k] + 0.6 * side && group->hi[k] > centre[k] - 0.6 * side;
    }
    if (mac->relative && group->accel > 0) {
        return mac->G * cell->moments.mass * side * side < mac->alpha * group->accel * d2 * d2 && !beside;
    }
    const double least = tree->drifted ? BH_GUARD_REACH : BH_THETA_RECIPROCAL_LEAST;
    const double factor = mac->theta > 0 ? fmax(1 / mac->theta, least) : INFINITY;
    return sqrt(d2) > side * factor + cell->moments.offset;
}

/* The distance from the group's bounds to the cell's cube is below the cutoff, up to the rounding of keys. */
static bool is_near(const bh_tree *tree, const bh_group *group, const bh_mac *mac, const bh_cell *cell)
{
    const double half = 0.5 * ldexp(tree->box.side, -cell->level);
    double centre[3], d2 = 0, rounding = 0;
    bh_set_centre(&tree->box, cell->key, cell->level, centre);
    for (int k = 0; k < 3; k++) {
        rounding += 8 * DBL_EPSILON * (fabs(tree->box.corner[k]) + tree->box.side);
        const double d = fmax(fmax(centre[k] - half - group->hi[k], group->lo[k] - centre[k] - half), 0);
        d2 += d * d;
    }
    return sqrt(d2) <= mac->cutoff + rounding;
}

/* Visits of this subtree; *nsources grows by the particles that act individually. */
static int64_t expected_below(const bh_tree *tree, int64_t c, const bh_group *group, const bh_mac *mac, bool *is_cell,
                              int64_t *nsources)
{
    const bh_cell *cell = &tree->cell[c];
    const bool few = cell->nchild == 0 && cell->count <= 2;
    if (mac->cutoff > 0 && !is_near(tree, group, mac, cell)) {
        return 1;
    }
    if (mac->cutoff == 0 && !few && may_act(tree, group, mac, cell)) {
        is_cell[c] = true;
        return 1;
    }
    int64_t visits = 1;
    *nsources += cell->nchild == 0 ? cell->count : 0;
    for (int k = 0; k < cell->nchild; k++) {
        visits += expected_below(tree, cell->child + k, group, mac, is_cell, nsources);
    }
    return visits;
}

static void follows_criterion(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    HEAP bool *is_cell = calloc((size_t)tree->ncells, sizeof(*is_cell));
    assert_non_null(is_cell);
    int64_t ncells = 0, nsources = 0;
    assert_int_equal(list->nvisits, expected_below(tree, tree->root, group, mac, is_cell, &nsources));
    assert_int_equal(list->nsources, nsources);
    for (int64_t c = 0; c < tree->ncells; c++) {
        ncells += is_cell[c];
    }
    assert_int_equal(list->ncells, ncells);
    for (int64_t c = 0; c < list->ncells; c++) {
        assert_true(is_cell[list->cell[c]]);
    }
    if (mac->theta == 0 || mac->cutoff > 2 * tree->box.side) {
        assert_int_equal(list->nsources, tree->sources.n);
    }
}

TEST(cells_act_as_the_criterion_says)
{
    for_each_group(few(600), 4, 8, follows_criterion);
    for_each_group(few(200), 1, 3, follows_criterion);
    for_each_drifted_group(few(300), 4, 8, follows_criterion);
}

/* Compares the tiles of a list with its cells and runs. */
typedef struct witness {
    int64_t ncells, nruns, nsources, ntiles;
    uint64_t key;
    int32_t level;
} witness;

static void see(const bh_tree *tree, const bh_list *list, const bh_opened *tile, witness *w)
{
    const bh_cell *opened = &tree->cell[tile->cell >= 0 ? tile->cell : list->root];
    const int level = opened->level - (tile->cell < 0 && opened->level > 0);
    const uint64_t key = bh__key_at_level(opened->key, level);
    double centre[3];
    int64_t nsources = 0;
    for (int c = 0; c < tile->ncells; c++) {
        const int64_t cell = list->cell[w->ncells++], child = cell - opened->child;
        assert_true(tile->cell < 0 ? cell == list->root : child >= 0 && child < tile->nchild);
    }
    for (int l = 0; l < tile->nleaves; l++) {
        const bh_cell *leaf = &tree->cell[tile->leaf[l]];
        assert_int_equal(leaf->first, list->run_first[w->nruns]);
        assert_int_equal(leaf->count, list->run_count[w->nruns++]);
        nsources += leaf->count;
    }
    assert_int_equal(nsources, tile->nsources);
    assert_int_equal(tile->nchild, tile->cell < 0 ? 0 : opened->nchild);
    assert_int_equal(tile->pin, bh_cell_pin(key, level));
    assert_true(tile->pin >= 0);
    w->nsources += nsources;
    bh_set_centre(&tree->box, key, level, centre);
    assert_memory_equal(centre, tile->centre, sizeof(centre));
    /* Depth first in key order: each tile is a descendant of the previous one or follows it. */
    assert_true(w->ntiles == 0 || key > w->key || (key == w->key && level > w->level));
    w->key = key;
    w->level = level;
    w->ntiles++;
}

static witness see_tiles(const bh_tree *tree, const bh_list *list)
{
    witness w = {.ntiles = 0};
    for (int64_t i = bh_opened_count(list) > 0 ? 0 : -1; i >= 0; i = bh_opened_next(list, i)) {
        bh_opened tile;
        bh_opened_get(tree, list, i, &tile);
        if (tile.ncells + tile.nleaves > 0) {
            see(tree, list, &tile, &w);
        }
    }
    assert_true(w.ncells == list->ncells && w.nruns == list->nruns && w.nsources == list->nsources);
    assert_int_equal(w.ntiles, list->ntiles);
    return w;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *first = a, *second = b;
    return (*first > *second) - (*first < *second);
}

static void tiles_are_list(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    static int64_t pin[MOST_TILES + 1], expected[MOST_TILES];
    static const uint64_t limits[] = {0, UINT64_C(1) << 61, UINT64_C(1) << 63};
    (void)group;
    (void)mac;
    (void)see_tiles(tree, list);
    for (size_t l = 0; l < sizeof(limits) / sizeof(*limits); l++) {
        const int64_t n = bh_list_pins(tree, list, limits[l], pin);
        int64_t below = 0;
        for (int64_t i = 0; i < bh_opened_count(list); i++) {
            bh_opened tile;
            bh_opened_get(tree, list, i, &tile);
            assert_true(below < MOST_TILES);
            expected[below] = tile.pin;
            below += tile.ncells + tile.nleaves > 0 && (uint64_t)tile.pin < limits[l];
        }
        assert_int_equal(n, below);
        qsort(pin, (size_t)n, sizeof(*pin), compare_numbers);
        qsort(expected, (size_t)n, sizeof(*pin), compare_numbers);
        assert_memory_equal(pin, expected, (size_t)n * sizeof(*pin));
    }
}

TEST(tiles_make_up_the_list_in_key_order)
{
    for_each_group(few(600), 4, 8, tiles_are_list);
    for_each_group(3, 8, 8, tiles_are_list); /* the root is a leaf */
    for_each_group(2, 4, 8, tiles_are_list);
    for_each_group(1, 1, 1, tiles_are_list);
}

/* Keeps the tiles of one color; the color depends on the center. */
typedef struct painter {
    int colour;
} painter;

static bool keep_colour(void *user, const double centre[3])
{
    const painter *p = user;
    uint64_t bits[3];
    memcpy(bits, centre, sizeof(bits));
    return (int)(((bits[0] ^ bits[1] * 3 ^ bits[2] * 5) * UINT64_C(0x9E3779B97F4A7C15)) >> 63) == p->colour;
}

/* Every available version against plain C: with and without a filter, from the root and from below. */
static void versions_agree(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    static record expected, heard;
    painter p = {.colour = 1};
    const bh_choice filter = {.keep = keep_colour, .user = &p}, *const choices[] = {NULL, &filter};
    const int64_t roots[] = {tree->root, tree->ncells / 3, tree->ncells - 1};
    for (size_t v = 0; v < sizeof(choices) / sizeof(*choices); v++) {
        for (size_t r = 0; r < sizeof(roots) / sizeof(*roots); r++) {
            for (int row = bh__walk_table_size; row-- > 0;) {
                record *to = row == bh__walk_table_size - 1 ? &expected : &heard;
                to->n = 0;
                if (!bh__walk_table[row]->runs_here()) {
                    continue;
                }
                assert_ok(bh__walk(bh__walk_table[row], tree, roots[r], group, mac, choices[v], list));
                note_tiles(to, tree, list);
                note_list(to, list);
                assert_true(to == &expected || heard.n > 0);
                if (to == &heard) {
                    assert_same_record(&expected, &heard);
                }
            }
        }
    }
}

TEST(every_version_makes_the_same_lists)
{
    assert_string_equal(bh__walk_table[bh__walk_table_size - 1]->name, "plain");
    for_each_group(few(500), 4, 16, versions_agree);
    for_each_group(few(200), 1, 5, versions_agree);
    for_each_drifted_group(few(300), 4, 16, versions_agree);
    for_each_group(2, 1, 1, versions_agree);
}

TEST(a_walk_from_below_puts_the_root_into_the_tile_above)
{
    BH_SET(set, BH_UNIFORM, 300, 5);
    BH_TREE(tree, &set, 8);
    BH_LIST(list);
    const bh_group far = {.count = 1, .lo = {1e6, 1e6, 1e6}, .hi = {1e6, 1e6, 1e6}};
    const bh_cell *root = &tree.cell[tree.root];
    for (int k = 0; k < root->nchild; k++) {
        assert_ok(bh_walk(&tree, root->child + k, &far, &macs[1], NULL, &list));
        const witness w = see_tiles(&tree, &list);
        assert_true(w.ntiles == 1 && w.key == 0 && w.level == 0 && list.ncells == 1);
    }
    const bh_mac cut = {.cutoff = 1};
    assert_ok(bh_walk(&tree, root->child, &far, &cut, NULL, &list));
    assert_true(list.nvisits == 1 && list.ncells + list.nruns + list.ntiles == 0); /* beyond the cutoff */
    assert_ok(bh_walk(&tree, -1, &far, &macs[1], NULL, &list));
    assert_int_equal(list.ncells + list.nruns + list.nvisits, 0);
    bh_list_free(NULL);
}
