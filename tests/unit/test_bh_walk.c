/* SPDX-License-Identifier: BSD-3-Clause */
/* Interaction lists of groups with all trees on one rank, and the shares of ranks that compute a group together. */
#include <equipoise/more/random.h>

#include "bh_sets.h"
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"
#include "walker.h"

enum { MOST_TILES = 4096, MOST_UNITS = 40, MOST_RANKS = 6 };

/* Cutoffs are in sides of the root cube. */
static const bh_mac macs[] = {
    {.theta = 0},
    {.theta = 0.4},
    {.theta = 0.8},
    {.theta = 1.15},
    {.theta = 1000},
    {.theta = 0.7, .relative = true, .alpha = 0.001, .G = 1},
    {.theta = 0.7, .relative = true, .alpha = 0.1, .G = 1},
    {.theta = 0.7, .relative = true, .alpha = 1e9, .G = 1},
    {.theta = 0.7, .cutoff = 1e-12},
    {.theta = 0.7, .cutoff = 0.03},
    {.theta = 0.7, .relative = true, .alpha = 0.1, .G = 1, .cutoff = 0.2},
    {.theta = 0.7, .cutoff = 10},
};

/* Bare trees allow walks with a cutoff only, drifted ones only walks without. */
static const struct {
    int64_t n;
    int leaf_size, group_size;
    bool bare;
    double drift;
} sets[] = {
    {400, 4, 16, false, 0},  {200, 2, 8, false, 0}, {150, 1, 20, false, 0}, {150, 20, 3, false, 0},
    {300, 4, 8, false, 0.5}, {250, 3, 8, true, 0},  {3, 8, 8, false, 0},    {2, 4, 8, false, 0},
    {2, 1, 1, false, 0},     {1, 1, 1, false, 0},
};

/* Runs a test with the list of every group of every kind of set by every criterion. */
static void for_each_group(void (*test)(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list))
{
    for (int s = 0; s < COUNT_OF(sets) * BH_SET_KINDS; s++) {
        const int row = s / BH_SET_KINDS;
        HEAP bh_group *group = NULL;
        int64_t ngroups;
        BH_SET(set, s % BH_SET_KINDS, slow_here() && sets[row].n > 50 ? sets[row].n / 6 : sets[row].n, 77);
        set.bare = sets[row].bare;
        set.drift = sets[row].drift;
        BH_TREE(tree, &set, sets[row].leaf_size);
        assert_ok(bh_groups_make(&tree, set.key, sets[row].group_size, set.accel, &ngroups, &group));
        BH_LIST(list);
        for (int m = 0; m < COUNT_OF(macs); m++) {
            bh_mac mac = macs[m];
            mac.cutoff *= tree.box.side;
            for (int64_t g = 0; g < ngroups && (mac.cutoff > 0 ? set.drift == 0 : !set.bare); g++) {
                group[g].accel = g % 4 == 3 ? 0 : group[g].accel; /* unknown */
                assert_ok(bh_walk(&tree, &group[g], &mac, NULL, &list));
                test(&tree, &group[g], &mac, &list);
            }
        }
    }
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
    int64_t nsources = 0;
    assert_non_null(covered);
    for (int64_t c = 0; c < list->ncells; c++) {
        const bh_cell *cell = &tree->cell[list->cell[c]];
        for (int64_t i = cell->first; i < cell->first + cell->count; i++) {
            covered[i]++;
        }
        /* The group's own particles act individually. */
        assert_true(cell->first + cell->count <= group->first || group->first + group->count <= cell->first);
    }
    for (int64_t r = 0; r < list->nruns; r++) {
        for (int64_t i = list->run_first[r]; i < list->run_first[r] + list->run_count[r]; i++) {
            covered[i]++;
        }
        nsources += list->run_count[r];
    }
    assert_int_equal(nsources, list->nsources);
    for (int64_t i = 0; i < tree->sources.n; i++) {
        assert_in_range(covered[i], mac->cutoff == 0 || may_reach(tree, group, mac, i), 1);
    }
    assert_int_equal(list->nabsent, 0);
    assert_true(list->cutoff == mac->cutoff);
    assert_true(mac->cutoff == 0 || list->ncells == 0);
}

TEST(every_particle_acts_exactly_once)
{
    for_each_group(covers_once);
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
    int64_t ncells = 0, nsources = 0;
    assert_non_null(is_cell);
    assert_int_equal(list->nvisits, expected_below(tree, tree->root, group, mac, is_cell, &nsources));
    assert_int_equal(list->nsources, nsources);
    for (int64_t c = 0; c < tree->ncells; c++) {
        ncells += is_cell[c];
    }
    assert_int_equal(list->ncells, ncells);
    for (int64_t c = 0; c < list->ncells; c++) {
        assert_true(is_cell[list->cell[c]]);
    }
    assert_true((mac->theta > 0 && mac->cutoff <= 2 * tree->box.side) || nsources == tree->sources.n);
}

TEST(cells_act_as_the_criterion_says)
{
    for_each_group(follows_criterion);
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
    const int level = opened->level;
    const uint64_t key = opened->key;
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
    assert_true(tile->pin == bh_cell_pin(key, level) && tile->pin >= 0);
    bh_set_centre(&tree->box, key, level, centre);
    assert_memory_equal(centre, tile->centre, sizeof(centre));
    /* Depth first in key order: each tile is a descendant of the previous one or follows it. */
    assert_true(w->ntiles == 0 || key > w->key || (key == w->key && level > w->level));
    w->nsources += nsources;
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
    for (int l = 0; l < COUNT_OF(limits); l++) {
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
    for_each_group(tiles_are_list);
}

/* The content of a list, for comparison. */
typedef struct record {
    int64_t n, word[1 << 16];
} record;

static void note(record *r, int64_t word)
{
    assert_true(r->n < COUNT_OF(r->word));
    r->word[r->n++] = word;
}

/* visits: with their number. */
static void note_list(record *r, const bh_tree *tree, const bh_list *list, bool visits)
{
    r->n = 0;
    for (int64_t i = bh_opened_count(list) > 0 ? 0 : -1; i >= 0; i = bh_opened_next(list, i)) {
        bh_opened tile;
        bh_opened_get(tree, list, i, &tile);
        const int64_t words[] = {tile.cell, tile.pin, tile.nsources, tile.ncells};
        for (int k = 0; k < 4 && tile.ncells + tile.nleaves > 0; k++) {
            note(r, words[k]);
        }
        for (int l = 0; l < tile.nleaves; l++) {
            note(r, -tile.leaf[l]);
        }
    }
    for (int64_t c = 0; c < list->ncells; c++) {
        note(r, list->cell[c]);
    }
    for (int64_t i = 0; i < list->nruns; i++) {
        note(r, list->run_first[i]);
        note(r, list->run_count[i]);
    }
    for (int64_t i = 0; i < list->nabsent; i++) {
        note(r, list->absent[i]);
    }
    note(r, list->nsources);
    note(r, list->ntiles);
    note(r, visits ? list->nvisits : 0);
}

static void assert_same_record(const record *a, const record *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->word, b->word, (size_t)a->n * sizeof(a->word[0]));
}

/* Keeps half of the tiles, by a hash of their centers. */
static bool keep_half(void *user, const double centre[3])
{
    uint64_t bits[3];
    (void)user;
    memcpy(bits, centre, sizeof(bits));
    return ((bits[0] ^ bits[1] * 3 ^ bits[2] * 5) * UINT64_C(0x9E3779B97F4A7C15)) >> 63 == 1;
}

/* Every available version against plain C: with and without a filter. */
static void versions_agree(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    static const bh_choice filter = {.keep = keep_half};
    static record expected, heard;
    for (int filtered = 0; filtered < 2; filtered++) {
        for (int row = bh__walk_table_size; row-- > 0;) {
            if (bh__walk_table[row]->runs_here()) {
                const bool plain = row == bh__walk_table_size - 1;
                assert_ok(bh__walk(bh__walk_table[row], tree, group, mac, filtered ? &filter : NULL, list));
                note_list(plain ? &expected : &heard, tree, list, true);
                assert_same_record(&expected, plain ? &expected : &heard);
            }
        }
    }
}

TEST(every_version_makes_the_same_lists)
{
    assert_string_equal(bh__walk_table[bh__walk_table_size - 1]->name, "plain");
    for_each_group(versions_agree);
}

TEST(a_root_that_acts_alone_is_in_its_own_tile)
{
    BH_SET(set, BH_UNIFORM, 300, 5);
    BH_TREE(tree, &set, 8);
    BH_LIST(list);
    const bh_group far = {.count = 1, .lo = {1e6, 1e6, 1e6}, .hi = {1e6, 1e6, 1e6}};
    const bh_mac cut = {.cutoff = 1};
    assert_ok(bh_walk(&tree, &far, &macs[1], NULL, &list));
    const witness w = see_tiles(&tree, &list);
    assert_true(w.ntiles == 1 && w.key == 0 && w.level == 0 && list.ncells == 1);
    assert_ok(bh_walk(&tree, &far, &cut, NULL, &list));
    assert_true(list.nvisits == 1 && list.ncells + list.nruns + list.ntiles == 0); /* beyond the cutoff */
    tree.root = -1;
    assert_ok(bh_walk(&tree, &far, &macs[1], NULL, &list));
    assert_int_equal(list.ncells + list.nruns + list.nvisits, 0);
}

/* Work units of a group, owned by ranks 0 to nranks - 1; some ranks have none. */
typedef struct shared {
    int nranks;
    int64_t searches;
    double centroid[3 * MOST_UNITS];
    int rank[MOST_UNITS];
    bh_sharing sharing;
} shared;

/* The tile is of the rank of the nearest unit, the first of equally near ones. */
static bool keep_own(void *user, const double centre[3])
{
    shared *s = user;
    double least = INFINITY;
    int rank = -1;

    s->searches++;
    for (int64_t u = 0; u < s->sharing.n; u++) {
        double d2 = 0;
        for (int k = 0; k < 3; k++) {
            const double d = s->centroid[3 * u + k] - 0.5 * (centre[k] - s->sharing.centre[k]);
            d2 += d * d;
        }
        rank = d2 < least ? s->rank[u] : rank;
        least = fmin(d2, least);
    }
    return rank == s->sharing.me;
}

/* Draws a centroid at or near a tile, at or near another unit, or anywhere. Tiles lie on a grid, so many are equally
 * near to two units and bounds of cells lie on planes between units. */
static void draw_unit(uint64_t seed, uint64_t draw, const bh_tree *tree, const bh_list *list, const bh_opened *tile,
                      shared *s)
{
    const int64_t u = s->sharing.n;
    const uint64_t kind = eqp_random_bits(seed, draw, 1) % 6;
    const int64_t t = (int64_t)(eqp_random_bits(seed, draw, 2) % (uint64_t)list->ntiles);
    const int64_t other = u > 0 ? (int64_t)(eqp_random_bits(seed, draw, 3) % (uint64_t)u) : 0;
    for (int k = 0; k < 3; k++) {
        const double uniform = eqp_random_uniform(seed, draw, 4 + (uint64_t)k) - 0.5;
        const double of_tile = 0.5 * (tile[t].centre[k] - s->sharing.centre[k]);
        double *x = &s->centroid[3 * u + k];
        *x = kind == 0            ? 2 * tree->box.side * uniform
             : kind == 1          ? of_tile + 0.1 * tree->box.side * uniform
             : kind == 2 && u > 0 ? s->centroid[3 * other + k]
             : kind == 3 && u > 0 ? nextafter(s->centroid[3 * other + k], uniform)
                                  : of_tile;
    }
    s->rank[u] = (int)(eqp_random_bits(seed, draw, 7) % (uint64_t)s->nranks);
    s->sharing.n++;
}

/* Shares a group whose list has just been built. */
static void draw_sharing(uint64_t seed, const bh_tree *tree, const bh_group *group, const bh_list *list, shared *s)
{
    static bh_opened tile[MOST_TILES];
    static const int64_t units[] = {1, 2, 3, 8, 17, 18, MOST_UNITS};
    const int64_t n = units[eqp_random_bits(seed, 0, 0) % 7];
    assert_true(list->ntiles <= MOST_TILES);
    for (int64_t i = 0, t = 0; t < list->ntiles; i++) {
        bh_opened_get(tree, list, i, &tile[t]);
        t += tile[t].ncells + tile[t].nleaves > 0;
    }
    *s = (shared){.nranks = 1 + (int)(eqp_random_bits(seed, 1, 0) % MOST_RANKS)};
    s->sharing = (bh_sharing){.centroid = s->centroid, .rank = s->rank};
    for (int k = 0; k < 3; k++) {
        s->sharing.centre[k] = 0.5 * (group->lo[k] + group->hi[k]);
    }
    for (int64_t u = 0; u < n; u++) {
        draw_unit(seed, (uint64_t)u + 2, tree, list, tile, s);
    }
}

/* One rank's share of a list by every version: the same with and without a search hint, from fewer visits with one. */
static void compare_shares(const bh_tree *tree, const bh_group *group, const bh_mac *mac, shared *s, bh_list *list)
{
    static record expected, heard;
    const bh_choice choice[] = {{.keep = keep_own, .user = s}, {.keep = keep_own, .user = s, .sharing = &s->sharing}};
    int64_t pruned = -1;
    for (int row = bh__walk_table_size; row-- > 0;) {
        if (!bh__walk_table[row]->runs_here()) {
            continue;
        }
        s->searches = 0;
        assert_ok(bh__walk(bh__walk_table[row], tree, group, mac, &choice[0], list));
        note_list(&expected, tree, list, false);
        const int64_t visits = list->nvisits, searches = s->searches;
        assert_ok(bh__walk(bh__walk_table[row], tree, group, mac, &choice[1], list));
        note_list(&heard, tree, list, false);
        assert_same_record(&expected, &heard);
        assert_in_range(list->nvisits, 1, visits);
        assert_true(s->searches <= 2 * searches);
        assert_true(pruned < 0 || list->nvisits == pruned);
        pruned = list->nvisits;
    }
}

static int64_t visits_of_wholes, visits_of_shares;

/* The shares make up the list, and no rank visits more cells than without sharing. */
static void shares_make_up_the_list(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    static uint64_t seed;
    int64_t left[4] = {list->ncells, list->nruns, list->nsources, list->ntiles};
    const int64_t visits = list->nvisits;
    shared s;
    if (list->ntiles == 0) {
        return; /* the cutoff excludes everything */
    }
    draw_sharing(++seed, tree, group, list, &s);
    for (s.sharing.me = 0; s.sharing.me < s.nranks; s.sharing.me++) {
        compare_shares(tree, group, mac, &s, list);
        left[0] -= list->ncells;
        left[1] -= list->nruns;
        left[2] -= list->nsources;
        left[3] -= list->ntiles;
        visits_of_shares += list->nvisits;
        visits_of_wholes += visits;
    }
    assert_true(left[0] == 0 && left[1] == 0 && left[2] == 0 && left[3] == 0);
    s.sharing.me = MOST_RANKS; /* has no unit, so visits at most the root's children */
    compare_shares(tree, group, mac, &s, list);
    assert_in_range(list->nvisits, 1, 1 + BH_FAMILY);
    assert_int_equal(list->ntiles, 0);
}

TEST(sharers_look_only_where_something_may_be_their_own)
{
    for_each_group(shares_make_up_the_list);
    assert_true(10 * visits_of_shares < 8 * visits_of_wholes);
}

typedef struct walk {
    const bh_tree *tree;
    const bh_group *group;
    shared shared;
} walk;

static int walk_share(void *data)
{
    walk *w = data;
    const bh_choice choice = {.keep = keep_own, .user = &w->shared, .sharing = &w->shared.sharing};
    BH_LIST(list);
    return bh_walk(w->tree, w->group, &macs[2], &choice, &list);
}

TEST(failing_allocations_are_reported)
{
    BH_SET(set, BH_UNIFORM, 300, 5);
    BH_TREE(tree, &set, 2);
    BH_LIST(list);
    HEAP bh_group *group = NULL;
    int64_t ngroups;
    assert_ok(bh_groups_make(&tree, set.key, 8, NULL, &ngroups, &group));
    assert_ok(bh_walk(&tree, &group[0], &macs[2], NULL, &list));
    walk w = {.tree = &tree, .group = &group[0]};
    draw_sharing(4, &tree, &group[0], &list, &w.shared);
    assert_true(failing_malloc_sweep(walk_share, &w, EQP_ERR_MEMORY) > 2);
}
