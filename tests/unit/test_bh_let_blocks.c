/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of a locally essential tree: which ones travel, once each, and that damaged ones are refused. */
#include "bh_let_bundles.h"
#include "failing_malloc.h"
#include "opened.h"
#include "unit.h"

/* Which blocks a list needs from a home. */
typedef struct needed {
    const bh_tree *whole; /* all of it, on one rank */
    const bh_part *home;
    message ids;
} needed;

/* The home that is asked has a cell if it lies in one of its intervals; the top is everybody's. */
static void put_block(needed *n, const bh_cell *cell)
{
    const int64_t id = bh_block_id(cell->key, cell->level);
    const uint64_t last = cell->key + (bh_set_span(cell->level) - 1);
    bool here = false;
    for (int k = 0; k < n->home->nintervals; k++) {
        here = here || (cell->key >= n->home->interval[k].begin && last < n->home->interval[k].end);
    }
    if (here) {
        append(&n->ids, &id, sizeof(id));
    }
}

/* The cells that the walk has just opened, and the leaves that it has taken. */
static void put_list(needed *n, const bh_list *list)
{
    const int64_t nopened = bh_opened_count(n->whole, list);
    for (int64_t i = 0; i < nopened; i++) {
        bh_opened opened;
        bh_opened_get(n->whole, list, i, &opened);
        if (opened.cell >= 0) {
            put_block(n, &n->whole->cell[opened.cell]);
        }
        for (int k = 0; k < opened.nleaves; k++) {
            put_block(n, &n->whole->cell[opened.leaf[k]]);
        }
    }
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    return (i > k) - (i < k);
}

static int64_t sort_ids(int64_t n, int64_t *id)
{
    int64_t kept = 0;
    if (n > 0) {
        qsort(id, (size_t)n, sizeof(*id), compare_ids);
    }
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || id[kept - 1] != id[i]) {
            id[kept++] = id[i];
        }
    }
    return kept;
}

static void check_only_what_is_needed(const bh_set *set, int nranks, const bh_mac *mac)
{
    BH_TREE(whole, set, 6);
    BH_PARTS(parts, set, 6, 10, nranks, 2);
    BH_LIST(list);
    for (int from = 0; from < nranks; from++) {
        const int to = (from + 1) % nranks;
        chooser c;
        const bh_choice *choice = choose(&c, &whole.box, nranks, to);
        needed n = {.whole = &whole, .home = &parts[from]};
        FREED_BY(bundle_free) bundle sent;
        for (int owner = 0; owner < nranks; owner++) {
            for (int64_t g = 0; g < parts[owner].ngroups; g++) {
                const bh_group *group = &parts[owner].group[g];
                assert_int_equal(bh_walk_sampled(&whole, whole.root, group, mac, choice, 0, NULL, NULL, &list), EQP_OK);
                put_list(&n, &list);
            }
        }
        pack_for(parts, nranks, from, to, mac, true, &sent);
        const int64_t nneeded = sort_ids((int64_t)(n.ids.size / sizeof(int64_t)), (int64_t *)(void *)n.ids.bytes);
        assert_int_equal(sent.n, sort_ids(sent.n, sent.id));
        assert_int_equal(sent.n, nneeded);
        if (nneeded > 0) {
            assert_memory_equal(sent.id, n.ids.bytes, (size_t)nneeded * sizeof(int64_t));
        }
        free(n.ids.bytes);
    }
}

TEST(of_shared_groups_only_what_a_sharer_opens_and_takes_travels)
{
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        BH_SET(set, kind, 150, 29);
        check_only_what_is_needed(&set, 2, &geometric);
        check_only_what_is_needed(&set, 3, &relative);
    }
}

TEST(a_block_is_packed_once_for_all_who_want_it)
{
    const int nranks = 4;
    bh_let *let;
    bh_let_blocks blocks;
    FREED_BY(bundle_free) bundle all;
    int64_t asked = 0, shared = 0;
    BH_SET(set, BH_CLUSTERED, 400, 9);
    BH_PARTS(parts, &set, 4, 8, nranks, 1);
    assert_int_equal(bh_let_create(&parts[0].tree, &let), EQP_OK);
    for (int to = 1; to < nranks; to++) {
        mark_for(let, parts, nranks, to, &geometric, false);
    }
    assert_int_equal(bh_let_mark(let, 1, parts[1].group, &geometric, NULL), EQP_ERR_ARGUMENT);
    bundle_take(let, -1, &all);
    assert_int_equal(bh_let_mark(let, 3, parts[3].group, &geometric, NULL), EQP_ERR_STATE);
    assert_int_equal(bh_let_blocks_get(let, &blocks), EQP_ERR_STATE);
    for (int to = 1; to < nranks; to++) {
        FREED_BY(bundle_free) bundle alone;
        int64_t at = 0;
        pack_for(parts, nranks, 0, to, &geometric, false, &alone);
        for (int64_t b = 0; b < alone.n; b++) { /* those of one asker, in the same order */
            for (; at < all.n && all.id[at] != alone.id[b]; at++) {
            }
            assert_true(at < all.n);
            assert_int_equal(all.bytes[at], alone.bytes[b]);
        }
        asked += alone.n;
    }
    for (int64_t b = 0; b < all.n; b++) {
        asked -= all.nasking[b];
        shared += all.nasking[b] > 1;
    }
    assert_int_equal(asked, 0);
    assert_true(shared > 0);
    assert_int_equal(sort_ids(all.n, all.id), all.n);
    bh_let_free(let);
    bh_let_free(NULL);
}

TEST(blocks_have_numbers_of_their_own_and_known_sizes)
{
    message ids = {0};
    for (int level = 0; level <= EQP_CURVE_BITS; level++) {
        const uint64_t cells = (uint64_t)1 << (3 * level), last = cells - 1;
        for (uint64_t i = 0; i < 4; i++) {
            const uint64_t place = i < 2 ? i : last - (i - 2);
            if (i < cells && (i < 2 || place > 1)) {
                const int64_t id = bh_block_id(place * bh_set_span(level), level);
                assert_true((id < 0) == (level == EQP_CURVE_BITS) && id != 0);
                append(&ids, &id, sizeof(id));
            }
        }
    }
    const int64_t n = (int64_t)(ids.size / sizeof(int64_t));
    assert_int_equal(sort_ids(n, (int64_t *)(void *)ids.bytes), n);
    assert_true(n == 4 * EQP_CURVE_BITS + 1);
    for (int count = 0; count < 9; count++) {
        assert_int_equal(bh_let_family_bytes(false, count), 8 + count * 88);
        assert_int_equal(bh_let_family_bytes(true, count), 8 + count * 8);
        assert_int_equal(bh_let_leaf_bytes(count), 8 + count * 32);
    }
    free(ids.bytes);
}

/* Grafts a bad block in memory of exactly its size, so that a sanitizer sees any step over its end. */
static int graft_copy(bh_tree *tree, int home, const unsigned char *bytes, size_t size)
{
    HEAP unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const int code = bh_let_graft(tree, home, copy, size);
    return code;
}

/* A block as it must not be. Returns whether a change of a byte was taken: a last bit that no moment feels. */
static bool damage_block(bh_tree *tree, unsigned char *block, size_t size, uint64_t seed)
{
    const int64_t ncells = tree->ncells, nsources = tree->sources.n, nfamilies = tree->nfamilies;
    int code = EQP_ERR_FORMAT;
    for (size_t less = 0; less < size; less += less < 40 ? 1 : 24) {
        assert_int_equal(graft_copy(tree, 0, block, less), EQP_ERR_FORMAT);
    }
    for (int home = -1; home <= 2; home++) {
        assert_true(home == 0 || graft_copy(tree, home, block, size) == EQP_ERR_FORMAT);
    }
    for (uint64_t i = 0; i < 12 && code == EQP_ERR_FORMAT; i++) {
        const size_t at = (size_t)eqp_random_below(seed, 0, i, size);
        const unsigned char was = block[at];
        block[at] ^= (unsigned char)(1 + eqp_random_below(seed, 1, i, 255));
        code = graft_copy(tree, 0, block, size);
        block[at] = was;
        assert_true(code == EQP_OK || (code == EQP_ERR_FORMAT && tree->ncells == ncells &&
                                       tree->sources.n == nsources && tree->nfamilies == nfamilies));
    }
    assert_int_equal(bh_tree_check(tree), EQP_OK);
    return code == EQP_OK;
}

/* Blocks without their parents, the same block twice, and two different blocks with one number. */
static void check_order(const bh_set *set, const bundle *out)
{
    BH_PARTS(parts, set, 4, 4, 2, 1);
    bh_tree *tree = &parts[1].tree;
    const unsigned char *at = out->data + out->size;
    int64_t early = 0;
    for (int64_t b = out->n; b-- > 0;) { /* children first */
        const int64_t ncells = tree->ncells, nsources = tree->sources.n;
        at -= out->bytes[b];
        const int code = graft_copy(tree, 0, at, (size_t)out->bytes[b]);
        assert_true(code == EQP_OK ||
                    (code == EQP_ERR_FORMAT && tree->ncells == ncells && tree->sources.n == nsources));
        early += code != EQP_OK;
    }
    assert_true(early > out->n / 2);
    graft_all(tree, 0, out);
    const int64_t ncells = tree->ncells, nsources = tree->sources.n, nfamilies = tree->nfamilies;
    graft_all(tree, 0, out);
    assert_true(tree->ncells == ncells && tree->sources.n == nsources && tree->nfamilies == nfamilies);
    assert_int_equal(bh_tree_check(tree), EQP_OK);
    at = out->data;
    for (int64_t b = 0; b < out->n; b++) { /* the same mass in other places */
        const size_t size = (size_t)out->bytes[b];
        HEAP unsigned char *other = malloc(size);
        assert_non_null(other);
        memcpy(other, at, size);
        other[size - 1] ^= 0x80;
        assert_int_equal(bh_let_graft(tree, 0, other, size), EQP_ERR_FORMAT);
        at += size;
    }
    assert_int_equal(bh_tree_check(tree), EQP_OK);
}

TEST(a_damaged_block_is_refused_and_changes_nothing)
{
    bh_part *parts;
    FREED_BY(bundle_free) bundle out;
    int64_t accepted = 0;
    BH_SET(set, BH_UNIFORM, 150, 31);
    bh_parts_make(&set, 4, 4, 2, 1, &parts);
    bh_tree *tree = &parts[1].tree;
    pack_for(parts, 2, 0, 1, &geometric, false, &out);
    unsigned char *at = out.data;
    for (int64_t b = 0; b < out.n; b++) {
        const size_t size = (size_t)out.bytes[b];
        if (damage_block(tree, at, size, (uint64_t)b)) {
            const bundle before = {.n = b, .bytes = out.bytes, .data = out.data};
            assert_int_equal(graft_copy(tree, 0, at, size), EQP_ERR_FORMAT); /* not the same block */
            bh_parts_free(parts);
            bh_parts_make(&set, 4, 4, 2, 1, &parts);
            tree = &parts[1].tree;
            graft_all(tree, 0, &before);
            accepted++;
        }
        assert_int_equal(graft_copy(tree, 0, at, size), EQP_OK);
        at += size;
    }
    assert_true(out.n > 20 && accepted < out.n / 2);
    for (uint64_t i = 0; i < 2000; i++) { /* noise behind a good head */
        unsigned char noise[400];
        const size_t size = (size_t)eqp_random_below(2, 0, i, sizeof(noise));
        for (size_t k = 0; k < size; k++) {
            noise[k] = (unsigned char)eqp_random_below(3, i, k, 256);
        }
        memcpy(noise, out.data, size < 8 ? size : 8);
        assert_int_equal(graft_copy(tree, 0, noise, size), EQP_ERR_FORMAT);
    }
    assert_int_equal(bh_tree_check(tree), EQP_OK);
    check_order(&set, &out);
    bh_parts_free(parts);
}

TEST(blocks_in_a_row_are_grafted_as_one_by_one)
{
    FREED_BY(bundle_free) bundle out;
    size_t size = 0;
    BH_SET(set, BH_CLUSTERED, 400, 38);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    BH_PARTS(twins, &set, 4, 4, 2, 1);
    bh_tree *tree = &parts[1].tree, *twin = &twins[1].tree;
    pack_for(parts, 2, 0, 1, &geometric, false, &out);
    for (int64_t b = 0; b < out.n; b++) {
        size += (size_t)out.bytes[b];
    }
    graft_all(twin, 0, &out);
    assert_int_equal(bh_let_graft_all(tree, 0, out.data, 0), EQP_OK);
    assert_int_equal(bh_let_graft_all(tree, 1, out.data, size), EQP_ERR_FORMAT); /* it has other cells */
    assert_true(tree->ncells < twin->ncells);
    assert_int_equal(bh_let_graft_all(tree, 0, out.data, size - 8), EQP_ERR_FORMAT); /* all but the last */
    assert_int_equal(bh_let_graft_all(tree, 0, out.data, size), EQP_OK);
    assert_int_equal(tree->ncells, twin->ncells);
    assert_int_equal(tree->sources.n, twin->sources.n);
    assert_memory_equal(tree->sources.x, twin->sources.x, (size_t)tree->sources.n * sizeof(double));
    assert_int_equal(bh_tree_check(tree), EQP_OK);
}

/* A word of a block is changed; whether the block is refused then. */
static bool is_refused(bh_tree *tree, unsigned char *block, size_t size, size_t word, uint64_t value)
{
    uint64_t was;
    memcpy(&was, block + 8 * word, 8);
    memcpy(block + 8 * word, &value, 8);
    const int code = graft_copy(tree, 0, block, size);
    memcpy(block + 8 * word, &was, 8);
    return code == EQP_ERR_FORMAT;
}

TEST(damaged_blocks_of_bare_trees_are_refused)
{
    FREED_BY(bundle_free) bundle out;
    int64_t families = 0;
    BH_SET(set, BH_UNIFORM, 300, 37);
    set.bare = true;
    const bh_mac within = cut(&set);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    bh_tree *tree = &parts[1].tree;
    pack_for(parts, 2, 0, 1, &within, false, &out);
    unsigned char *at = out.data;
    for (int64_t b = 0; b < out.n; b++) {
        const size_t size = (size_t)out.bytes[b], words = size / 8;
        bool leaf = false;
        for (int64_t c = 0; c < tree->ncells; c++) {
            const bh_cell *cell = &tree->cell[c];
            leaf = leaf || (cell->nchild == 0 && bh_block_id(cell->key, cell->level) == out.id[b]);
        }
        for (size_t w = 1; w < words && !leaf; w++) {
            uint64_t word;
            memcpy(&word, at + 8 * w, 8);
            const uint64_t wrong[] = {
                word + 1, word - 1, word + ((uint64_t)1 << 35), word ^ (uint64_t)1 << 39, word | (uint64_t)1 << 63, 0};
            for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                assert_true(is_refused(tree, at, size, w, wrong[i]));
            }
        }
        for (size_t w = 1; w + 4 <= words && leaf; w += 4) { /* a particle that cannot be there */
            const double corner = set.box.corner[0], side = set.box.side;
            double x;
            memcpy(&x, at + 8 * w, 8);
            const double wrong[] = {x < corner + 0.5 * side ? corner + side : corner, NAN, INFINITY, -INFINITY};
            for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                uint64_t word;
                memcpy(&word, &wrong[i], 8);
                assert_true(is_refused(tree, at, size, w, word));
            }
        }
        families += !leaf;
        assert_int_equal(graft_copy(tree, 0, at, size), EQP_OK);
        at += size;
    }
    assert_true(families > 3 && families < out.n);
    assert_int_equal(bh_tree_check(tree), EQP_OK);
}

/* Everything from the build to the list of rank 1, from nothing. */
static int build_send_and_walk(const bh_part *parts, int64_t nbranches, const bh_cell *branch)
{
    bh_tree tree[2];
    bh_let *let = NULL;
    HEAP bh_group *group = NULL;
    bh_let_blocks blocks = {0};
    HEAP unsigned char *bytes = NULL;
    int64_t ngroups = 0;
    int code = EQP_OK;
    chooser c;
    const bh_choice *choice = choose(&c, &parts[0].set.box, 2, 1);
    BH_LIST(list);
    for (int r = 0; r < 2; r++) {
        const bh_set *s = &parts[r].set;
        bh_tree_init(&tree[r], 4);
        code = code != EQP_OK ? code
                              : bh_tree_build(&tree[r], &s->box, s->n, s->key, s->x, s->y, s->z, s->m,
                                              parts[r].nintervals, parts[r].interval, r);
        code = code != EQP_OK ? code : bh_tree_top(&tree[r], nbranches, branch, r);
    }
    code = code != EQP_OK ? code : bh_groups_make(&tree[1], parts[1].set.key, 8, NULL, &ngroups, &group);
    code = code != EQP_OK ? code : bh_let_create(&tree[0], &let);
    for (int64_t g = 0; g < ngroups && code == EQP_OK; g++) {
        code = bh_let_mark(let, 1, &group[g], &geometric, g % 2 == 0 ? NULL : choice);
    }
    code = code != EQP_OK ? code : bh_let_blocks_get(let, &blocks);
    bytes = code != EQP_OK ? NULL : malloc((size_t)blocks.size);
    code = code == EQP_OK && bytes == NULL ? EQP_ERR_MEMORY : code;
    if (code == EQP_OK) {
        bh_let_pack(let, bytes);
    }
    const unsigned char *at = bytes;
    for (int64_t b = 0; b < blocks.n && code == EQP_OK; at += blocks.bytes[b++]) {
        code = bh_let_graft(&tree[1], 0, at, (size_t)blocks.bytes[b]);
    }
    for (int64_t g = 0; g < ngroups && code == EQP_OK; g++) {
        code = bh_walk_sampled(&tree[1], tree[1].root, &group[g], &geometric, g % 2 == 0 ? NULL : choice, 0, NULL, NULL,
                               &list);
        assert_int_equal(list.nabsent, 0);
    }
    bh_let_free(let);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(bh_tree_check(&tree[r]), EQP_OK);
        bh_tree_free(&tree[r]);
    }
    return code;
}

TEST(every_failing_allocation_is_reported)
{
    SKIP_IF(!failing_malloc_works);
    int64_t k = 0, nbranches;
    BH_SET(set, BH_UNIFORM, 900, 41);
    BH_PARTS(parts, &set, 4, 8, 2, 1);
    nbranches = parts[0].tree.nbranches + parts[1].tree.nbranches;
    HEAP bh_cell *branch = malloc((size_t)nbranches * sizeof(*branch));
    assert_non_null(branch);
    memcpy(branch, parts[0].tree.cell, (size_t)parts[0].tree.nbranches * sizeof(*branch));
    memcpy(branch + parts[0].tree.nbranches, parts[1].tree.cell, (size_t)parts[1].tree.nbranches * sizeof(*branch));
    for (;; k++) {
        failing_malloc_start(k);
        const int code = build_send_and_walk(parts, nbranches, branch);
        const bool failed = failing_malloc_stop() > 0;
        assert_int_equal(code, failed ? EQP_ERR_MEMORY : EQP_OK);
        if (!failed) {
            break;
        }
    }
    assert_true(k > 20);
}
