/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of ranks that sent each other what they owe, against those of one that has everything. */
#include "bh_let_bundles.h"
#include "slow.h"
#include "unit.h"

static int64_t compare_lists(const bh_tree *a, const bh_tree *b, const bh_group *group, const bh_mac *mac, bh_list *la,
                             bh_list *lb)
{
    message cells[2] = {{0}, {0}}, particles[2] = {{0}, {0}};
    assert_ok(bh_walk(a, a->root, group, mac, NULL, NULL, NULL, la));
    assert_ok(bh_walk(b, b->root, group, mac, NULL, NULL, NULL, lb));
    describe(a, la, &cells[0], &particles[0]);
    describe(b, lb, &cells[1], &particles[1]);
    assert_same(&cells[0], &cells[1]);
    assert_same(&particles[0], &particles[1]);
    assert_int_equal(la->nvisits, lb->nvisits);
    assert_int_equal(la->nruns, lb->nruns);
    for (int i = 0; i < 2; i++) {
        free(cells[i].bytes);
        free(particles[i].bytes);
    }
    return la->ncells + la->nsources;
}

static void assert_same_group(const bh_group *a, const bh_group *b)
{
    assert_true(a->key == b->key && a->part == b->part && a->count == b->count);
    assert_memory_equal(a->lo, b->lo, sizeof(a->lo));
    assert_memory_equal(a->hi, b->hi, sizeof(a->hi));
    assert_true(a->accel == b->accel);
}

static void check_ranks(const bh_set *set, int leaf_size, int group_size, int nranks, int pieces, const bh_mac *mac)
{
    bh_group *group;
    int64_t ngroups, met = 0, interactions = 0;
    BH_TREE(whole, set, leaf_size);
    assert_ok(bh_groups_make(&whole, set->key, group_size, set->accel, &ngroups, &group));
    BH_PARTS(parts, set, leaf_size, group_size, nranks, pieces);
    exchange(parts, nranks, mac, false);
    BH_LIST(a);
    BH_LIST(b);
    for (int r = 0; r < nranks; r++) {
        int64_t w = 0;
        for (int64_t g = 0; g < parts[r].ngroups; g++) {
            const bh_group *mine = &parts[r].group[g];
            while (w < ngroups &&
                   (group[w].key < mine->key || (group[w].key == mine->key && group[w].part < mine->part))) {
                w++;
            }
            assert_true(w < ngroups);
            assert_same_group(mine, &group[w]);
            interactions += compare_lists(&whole, &parts[r].tree, mine, mac, &a, &b);
            met++;
        }
    }
    assert_int_equal(met, ngroups);
    assert_true(interactions >= ngroups);
    free(group);
}

TEST(lists_do_not_depend_on_the_number_of_ranks)
{
    static const int ranks[] = {1, 2, 3, 7};
    static const int sizes[][2] = {{8, 8}, {1, 12}, {16, 4}};
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        BH_SET(set, kind, slow_here() ? 80 : 700, 11);
        for (size_t r = 0; r < sizeof(ranks) / sizeof(*ranks); r++) {
            for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
                check_ranks(&set, sizes[s][0], sizes[s][1], ranks[r], 1, &geometric);
            }
            const bh_mac within = cut(&set);
            check_ranks(&set, 8, 8, ranks[r], 3, &relative);
            set.drift = 0.5;
            check_ranks(&set, 8, 8, ranks[r], 3, &relative);
            check_ranks(&set, 4, 8, ranks[r], 2, &geometric);
            set.drift = 0;
            check_ranks(&set, 8, 8, ranks[r], 2, &within);
            set.bare = true;
            check_ranks(&set, 8, 8, ranks[r], 2, &within);
            set.bare = false;
        }
    }
}

TEST(few_particles_and_many_ranks_agree)
{
    for (int64_t n = 0; n <= 3; n++) {
        for (int nranks = 1; nranks <= 4; nranks++) {
            BH_SET(set, BH_UNIFORM, n, 5);
            check_ranks(&set, 1, 1, nranks, 2, &geometric);
            const bh_mac within = cut(&set);
            check_ranks(&set, 1, 1, nranks, 1, &relative);
            check_ranks(&set, 1, 1, nranks, 2, &within);
            set.bare = true;
            check_ranks(&set, 1, 1, nranks, 2, &within);
        }
    }
}

static int compare_names(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(uint64_t) + sizeof(bh_moments));
}

static int compare_bodies(const void *a, const void *b)
{
    return memcmp(a, b, 4 * sizeof(double));
}

static void sort_messages(message *cells, message *particles)
{
    const size_t name = 3 * sizeof(uint64_t) + sizeof(bh_moments), body = 4 * sizeof(double);
    if (cells->size > 0) {
        qsort(cells->bytes, cells->size / name, name, compare_names);
    }
    if (particles->size > 0) {
        qsort(particles->bytes, particles->size / body, body, compare_bodies);
    }
}

/* Tiles dealt out by their centres: every rank computes some of every group, and together they compute it all once. */
static void check_dealt_tiles(const bh_set *set, int nranks, const bh_mac *mac)
{
    BH_TREE(whole, set, 6);
    BH_PARTS(parts, set, 6, 10, nranks, 2);
    exchange(parts, nranks, mac, true);
    BH_LIST(list);
    for (int owner = 0; owner < nranks; owner++) {
        for (int64_t g = 0; g < parts[owner].ngroups; g++) {
            const bh_group *group = &parts[owner].group[g];
            message cells[2] = {{0}, {0}}, particles[2] = {{0}, {0}};
            int64_t visits[2] = {0, 0};
            for (int r = 0; r < nranks; r++) {
                chooser c;
                const bh_tree *tree = &parts[r].tree;
                const bh_choice *choice = choose(&c, &tree->box, nranks, r);
                assert_ok(bh_walk_sampled(tree, tree->root, group, mac, choice, 0, NULL, NULL, &list));
                visits[0] += list.nvisits;
                describe(tree, &list, &cells[0], &particles[0]);
                assert_ok(bh_walk_sampled(&whole, whole.root, group, mac, choice, 0, NULL, NULL, &list));
                visits[1] += list.nvisits;
            }
            assert_ok(bh_walk(&whole, whole.root, group, mac, NULL, NULL, NULL, &list));
            describe(&whole, &list, &cells[1], &particles[1]);
            for (int i = 0; i < 2; i++) {
                sort_messages(&cells[i], &particles[i]);
            }
            assert_same(&cells[0], &cells[1]);
            assert_same(&particles[0], &particles[1]);
            assert_int_equal(visits[0], visits[1]);
            for (int i = 0; i < 2; i++) {
                free(cells[i].bytes);
                free(particles[i].bytes);
            }
        }
    }
}

TEST(dealt_tiles_are_computed_exactly_once)
{
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        BH_SET(set, kind, slow_here() ? 80 : 300, 23);
        check_dealt_tiles(&set, 3, &geometric);
        const bh_mac within = cut(&set);
        check_dealt_tiles(&set, 2, &relative);
        set.bare = true;
        check_dealt_tiles(&set, 3, &within);
    }
}
