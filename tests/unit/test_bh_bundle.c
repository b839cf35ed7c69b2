/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups sent to another rank: it receives each block that their walks need exactly once and checks the bytes.
 * tests/app/schedule.sh tests that forces are bitwise equal on any rank. */
#include "bh_let_bundles.h"
#include "bundle.h"
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/random.h>

enum { MOST_GROUPS = 600 };

typedef struct giver {
    bh_part *parts;
    int owner;
    bh_mac mac;
    bh_packer *packer;
} giver;

static void giver_end(giver *g)
{
    bh_packer_free(g->packer);
}

static giver giver_of(bh_part *parts, int owner, const bh_mac *mac)
{
    giver g = {.parts = parts, .owner = owner, .mac = *mac};
    assert_ok(bh_packer_create(&g.packer));
    bh_packer_begin(g.packer, &parts[owner].tree);
    return g;
}

static bh_bundle_group mine(const giver *g, int64_t i)
{
    const bh_part *part = &g->parts[g->owner];
    const bh_group *group = &part->group[i];
    const int64_t first = group->first;
    return (bh_bundle_group){
        .group = *group, .tag = i, .x = part->set.x + first, .y = part->set.y + first, .z = part->set.z + first};
}

static int try_give(const giver *g, int to, int64_t first, int64_t n, void **data, size_t *bytes)
{
    bh_bundle_group given[MOST_GROUPS];
    assert_true(n <= MOST_GROUPS);
    for (int64_t i = 0; i < n; i++) {
        given[i] = mine(g, first + i);
    }
    return bh_packer_pack(g->packer, to, n, given, &g->mac, NULL, NULL, data, bytes);
}

static void give(const giver *g, int to, int64_t first, int64_t n, void **data, size_t *bytes)
{
    assert_ok(try_give(g, to, first, n, data, bytes));
    assert_true(*bytes % 8 == 0);
}

static int64_t bytes_of_groups(const giver *g, int64_t first, int64_t n)
{
    int64_t bytes = 16;
    for (int64_t i = first; i < first + n; i++) {
        bytes += 24 + 24 * g->parts[g->owner].group[i].count;
    }
    return bytes;
}

/* Bytes of the blocks that a group's walk needs and `to` does not own. */
static int64_t bytes_needed(const giver *g, int to, int64_t number, bh_list *list)
{
    const bh_tree *tree = &g->parts[g->owner].tree;
    int64_t bytes = 0;
    assert_ok(bh_walk(tree, tree->root, &g->parts[g->owner].group[number], &g->mac, NULL, list));
    for (int64_t i = 0; i < bh_opened_count(list); i++) {
        bh_opened opened;
        bh_opened_get(tree, list, i, &opened);
        if (opened.cell >= 0 && tree->cell[opened.cell].home >= 0 && tree->cell[opened.cell].home != to) {
            bytes += bh_let_family_bytes(tree->bare, opened.nchild);
        }
        for (int k = 0; k < opened.nleaves; k++) {
            const bh_cell *leaf = &tree->cell[opened.leaf[k]];
            bytes += leaf->home != to ? bh_let_leaf_bytes(leaf->count) : 0;
        }
    }
    return bytes;
}

static void check_needed(bh_part *parts, int nranks, int owner, const bh_mac *mac)
{
    BH_LIST(list);
    FREED_BY(giver_end) giver g = giver_of(parts, owner, mac);
    for (int64_t i = 0; i < parts[owner].ngroups; i++) {
        const int to = (owner + 1 + (int)(i % (nranks - 1))) % nranks;
        void *data;
        size_t bytes;
        bh_packer_begin(g.packer, &parts[owner].tree);
        give(&g, to, i, 1, &data, &bytes);
        assert_int_equal(bytes, bytes_of_groups(&g, i, 1) + bytes_needed(&g, to, i, &list));
        free(data);
    }
}

TEST(a_group_alone_travels_with_what_it_needs_and_no_more)
{
    const bh_mac fine = {.theta = 0.2};
    BH_SET(set, BH_CLUSTERED, slow_here() ? 150 : 600, 9);
    BH_PARTS(parts, &set, 2, 3, 3, 2);
    exchange(parts, &fine);
    for (int owner = 0; owner < 3; owner++) {
        check_needed(parts, 3, owner, &fine);
    }
}

TEST(a_block_goes_to_each_receiver_once)
{
    void *data;
    size_t bytes, first, both;
    BH_SET(set, BH_CLUSTERED, 400, 9);
    BH_PARTS(parts, &set, 4, 8, 3, 1);
    exchange(parts, &geometric);
    FREED_BY(giver_end) giver g = giver_of(parts, 0, &geometric);
    const int64_t n = parts[0].ngroups, half = n / 2;
    give(&g, 1, 0, n, &data, &both);
    free(data);
    for (int to = 1; to < 3; to++) {
        bh_packer_begin(g.packer, &parts[0].tree);
        give(&g, to, 0, half, &data, &first);
        free(data);
        assert_true(first > (size_t)bytes_of_groups(&g, 0, half));
        give(&g, to, 0, half, &data, &bytes);
        free(data);
        assert_int_equal(bytes, bytes_of_groups(&g, 0, half));
        give(&g, 3 - to, 0, half, &data, &bytes); /* another rank has not received them */
        free(data);
        assert_true(bytes > (size_t)bytes_of_groups(&g, 0, half));
        give(&g, to, half, n - half, &data, &bytes);
        free(data);
        assert_true(to == 2 || first + bytes <= both + 2 * 16);
    }
}

/* The copy ends where its allocation ends, so that a sanitizer sees reads beyond it. */
static int open_copy(bh_tree *tree, const unsigned char *bytes, size_t size, int64_t n)
{
    bh_bundle_group opened[MOST_GROUPS];
    HEAP unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const int code = bh_bundle_open(tree, copy, size, n, opened);
    assert_ok(bh_tree_check(tree));
    return code;
}

static void change_bytes(bh_tree *tree, unsigned char *bytes, size_t size, int64_t n, int64_t *refused)
{
    for (uint64_t i = 0; i < (slow_here() ? 200 : 2000); i++) {
        const size_t at = (size_t)eqp_random_below(7, 0, i, size);
        const unsigned char was = bytes[at];
        bytes[at] ^= (unsigned char)(1 + eqp_random_below(7, 1, i, 255));
        const int code = open_copy(tree, bytes, size, n);
        bytes[at] = was;
        assert_true(code == EQP_OK || code == EQP_ERR_FORMAT);
        *refused += code != EQP_OK;
    }
}

static void check_damage(bool bare)
{
    void *data;
    size_t bytes;
    int64_t refused = 0;
    const size_t step = slow_here() ? 13 : 1;
    BH_SET(set, BH_UNIFORM, 150, 31);
    set.bare = bare;
    const bh_mac mac = bare ? cut(&set) : geometric;
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    exchange(parts, &mac);
    FREED_BY(giver_end) giver g = giver_of(parts, 0, &mac);
    const int64_t n = 3;
    give(&g, 1, 0, n, &data, &bytes);
    const size_t groups = (size_t)bytes_of_groups(&g, 0, n);
    BH_PARTS(fresh, &set, 4, 4, 2, 1);
    bh_tree *tree = &fresh[1].tree;
    assert_true(bytes > groups);
    for (size_t less = 0; less < bytes; less += step) {
        const int code = open_copy(tree, data, less, n);
        assert_true(code == EQP_ERR_FORMAT || (code == EQP_OK && less >= groups));
        refused += code != EQP_OK;
    }
    assert_true(refused > (int64_t)(bytes / step * 7 / 8)); /* bytes that end at a block are incomplete but valid */
    assert_int_equal(open_copy(tree, data, bytes, n - 1), EQP_ERR_FORMAT);
    assert_int_equal(open_copy(tree, data, bytes, n + 1), EQP_ERR_FORMAT);
    assert_int_equal(open_copy(tree, data, bytes, 0), EQP_ERR_FORMAT);
    refused = 0;
    change_bytes(tree, data, bytes, n, &refused);
    assert_true(refused > (slow_here() ? 100 : 1000));
    free(data);
}

TEST(damaged_bundles_are_refused)
{
    check_damage(false);
    check_damage(true);
}

TEST(groups_that_are_none_are_refused)
{
    static const double bad_accel[] = {-1, NAN}, bad_place[] = {NAN, INFINITY, -INFINITY};
    static const int64_t bad_count[] = {0, -1, 1000, (int64_t)1 << 31, INT64_MAX};
    enum { COUNT = 3, ACCEL, PLACE }; /* words of the first group, after the header of two words */
    void *data;
    size_t bytes;
    BH_SET(set, BH_UNIFORM, 150, 31);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    exchange(parts, &geometric);
    FREED_BY(giver_end) giver g = giver_of(parts, 0, &geometric);
    give(&g, 1, 0, 1, &data, &bytes);
    const size_t size = (size_t)bytes_of_groups(&g, 0, 1); /* without blocks */
    assert_true(set.n == 150 && size >= 8 * (PLACE + 3));
    double *word = data;
    assert_ok(open_copy(&parts[1].tree, data, size, 1));
    for (int place = PLACE; place < PLACE + 3; place++) {
        const double was = word[place];
        for (size_t i = 0; i < sizeof(bad_place) / sizeof(*bad_place); i++) {
            word[place] = bad_place[i];
            assert_int_equal(open_copy(&parts[1].tree, data, size, 1), EQP_ERR_FORMAT);
        }
        word[place] = was;
    }
    const double accel = word[ACCEL];
    for (size_t i = 0; i < sizeof(bad_accel) / sizeof(*bad_accel); i++) {
        word[ACCEL] = bad_accel[i];
        assert_int_equal(open_copy(&parts[1].tree, data, size, 1), EQP_ERR_FORMAT);
    }
    word[ACCEL] = accel;
    for (size_t i = 0; i < sizeof(bad_count) / sizeof(*bad_count); i++) {
        memcpy(&word[COUNT], &bad_count[i], sizeof(*word));
        assert_int_equal(open_copy(&parts[1].tree, data, size, 1), EQP_ERR_FORMAT);
    }
    free(data);
}

TEST(a_bundle_of_other_particles_is_refused)
{
    void *data;
    size_t bytes;
    BH_SET(set, BH_UNIFORM, 150, 31);
    BH_SET(other, BH_UNIFORM, 150, 32);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    BH_PARTS(others, &other, 4, 4, 2, 1);
    exchange(parts, &geometric);
    exchange(others, &geometric);
    FREED_BY(giver_end) giver g = giver_of(parts, 0, &geometric);
    give(&g, 1, 0, 2, &data, &bytes);
    assert_int_equal(open_copy(&others[1].tree, data, bytes, 2), EQP_ERR_FORMAT);
    free(data);
}

typedef struct deal {
    giver *giver;
    bh_tree *tree;
    void *data;
    size_t bytes;
} deal;

static int create_packer(void *unused)
{
    bh_packer *packer = NULL;
    const int code = bh_packer_create(&packer);
    (void)unused;
    bh_packer_free(packer);
    return code;
}

static int pack_four(void *data)
{
    deal *d = data;
    return try_give(d->giver, 1, 0, 4, &d->data, &d->bytes);
}

static int open_four(void *data)
{
    const deal *d = data;
    bh_bundle_group opened[4];
    const int code = bh_bundle_open(d->tree, d->data, d->bytes, 4, opened);
    assert_ok(bh_tree_check(d->tree));
    return code;
}

TEST(failing_allocations_lose_nothing)
{
    size_t expected;
    void *data = NULL;
    BH_SET(set, BH_UNIFORM, 150, 3);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    exchange(parts, &geometric);
    FREED_BY(giver_end) giver first = giver_of(parts, 0, &geometric), g = giver_of(parts, 0, &geometric);
    give(&first, 1, 0, 4, &data, &expected);
    free(data);
    assert_true(failing_malloc_sweep(create_packer, NULL, EQP_ERR_MEMORY) > 0);
    deal d = {.giver = &g, .tree = &parts[1].tree};
    if (failing_malloc_works) { /* blocks not sent are sent next time */
        assert_true(failing_malloc_sweep(pack_four, &d, EQP_ERR_MEMORY) > 0);
        assert_int_equal(d.bytes, expected);
        assert_true(failing_malloc_sweep(open_four, &d, EQP_ERR_MEMORY) >= 0);
    }
    free(d.data);
}
