/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks of ranks that share a group: the shares make up the list, and no rank visits cells without its own tiles. */
#include <equipoise/more/random.h>

#include "bh_walk_groups.h"
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

enum { MOST_UNITS = 40, MOST_RANKS = 6 };

/* Fewer particles under sanitizers and memcheck. */
static int64_t few(int64_t n)
{
    return slow_here() && n > 50 ? n / 6 : n;
}

/* Work units of a group, owned by ranks 0 to nranks - 1; some ranks have none. */
typedef struct shared {
    int nranks;
    int64_t searches;
    double centroid[3 * MOST_UNITS];
    int rank[MOST_UNITS];
    bh_sharing sharing;
} shared;

/* The rank of the nearest unit, the first of equally near ones. */
static int nearest_rank(const bh_sharing *sharing, const double centre[3])
{
    double least = INFINITY;
    int rank = -1;

    for (int64_t u = 0; u < sharing->n; u++) {
        double d2 = 0;
        for (int k = 0; k < 3; k++) {
            const double d = sharing->centroid[3 * u + k] - 0.5 * (centre[k] - sharing->centre[k]);
            d2 += d * d;
        }
        rank = d2 < least ? sharing->rank[u] : rank;
        least = d2 < least ? d2 : least;
    }
    return rank;
}

static bool keep_own(void *user, const double centre[3])
{
    shared *s = user;
    s->searches++;
    return nearest_rank(&s->sharing, centre) == s->sharing.me;
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
        const double uniform = (double)(eqp_random_bits(seed, draw, 4 + (uint64_t)k) >> 11) * 0x1p-53 - 0.5;
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

static void note_content(record *r, const bh_list *list)
{
    note_list(r, list);
    r->n--; /* without the visits */
}

/* One rank's share of a list by every version: the same with and without a search hint, from fewer visits with one. */
static void compare_shares(const bh_tree *tree, const bh_group *group, const bh_mac *mac, shared *s, bh_list *list)
{
    static record expected, heard;
    bh_choice choice = {.keep = keep_own, .user = s};
    int64_t pruned = -1;
    for (int row = bh__walk_table_size; row-- > 0;) {
        if (!bh__walk_table[row]->runs_here()) {
            continue;
        }
        expected.n = heard.n = s->searches = 0;
        choice.sharing = NULL;
        assert_ok(bh__walk(bh__walk_table[row], tree, tree->root, group, mac, &choice, list));
        note_tiles(&expected, tree, list);
        note_content(&expected, list);
        const int64_t visits = list->nvisits, searches = s->searches;
        choice.sharing = &s->sharing;
        assert_ok(bh__walk(bh__walk_table[row], tree, tree->root, group, mac, &choice, list));
        note_tiles(&heard, tree, list);
        note_content(&heard, list);
        assert_same_record(&expected, &heard);
        assert_in_range(list->nvisits, 1, visits);
        assert_true(s->searches <= 2 * searches);
        assert_true(pruned < 0 || list->nvisits == pruned);
        pruned = list->nvisits;
    }
}

static struct {
    int64_t whole, shares;
} visits_of;

/* The shares make up the list, and no rank visits more cells than without sharing. */
static void shares_make_up_the_list(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    static uint64_t seed;
    int64_t left[4] = {list->ncells, list->nruns, list->nsources, list->ntiles};
    const int64_t visits = list->nvisits;
    const bool listed = list->ntiles > 0;
    shared s;
    if (!listed) {
        return; /* the cutoff excludes everything */
    }
    draw_sharing(++seed, tree, group, list, &s);
    for (int rank = 0; rank < s.nranks; rank++) {
        s.sharing.me = rank;
        compare_shares(tree, group, mac, &s, list);
        left[0] -= list->ncells;
        left[1] -= list->nruns;
        left[2] -= list->nsources;
        left[3] -= list->ntiles;
        visits_of.shares += list->nvisits;
        visits_of.whole += visits;
    }
    assert_true(left[0] == 0 && left[1] == 0 && left[2] == 0 && left[3] == 0);
    s.sharing.me = MOST_RANKS; /* has no unit, so visits at most the root's children */
    compare_shares(tree, group, mac, &s, list);
    assert_in_range(list->nvisits, 1, 1 + BH_FAMILY);
    assert_int_equal(list->ntiles, 0);
}

TEST(sharers_look_only_where_something_may_be_their_own)
{
    for_each_group(few(250), 2, 8, shares_make_up_the_list);
    for_each_group(few(400), 4, 16, shares_make_up_the_list);
    for_each_group_of(true, 0, few(250), 3, 8, shares_make_up_the_list);
    for_each_group(3, 4, 8, shares_make_up_the_list);
    for_each_group(1, 1, 1, shares_make_up_the_list);
    assert_true(10 * visits_of.shares < 8 * visits_of.whole);
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
    return bh_walk(w->tree, w->tree->root, w->group, &macs[2], &choice, &list);
}

TEST(failing_allocations_are_reported)
{
    BH_SET(set, BH_UNIFORM, 300, 5);
    BH_TREE(tree, &set, 2);
    BH_LIST(list);
    HEAP bh_group *group = NULL;
    int64_t ngroups;
    assert_ok(bh_groups_make(&tree, set.key, 8, NULL, &ngroups, &group));
    assert_ok(bh_walk(&tree, tree.root, &group[0], &macs[2], NULL, &list));
    walk w = {.tree = &tree, .group = &group[0]};
    draw_sharing(4, &tree, &group[0], &list, &w.shared);
    assert_true(failing_malloc_sweep(walk_share, &w, EQP_ERR_MEMORY) > 2);
}
