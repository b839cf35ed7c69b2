/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of a locally essential tree: numbers, sizes, refusal of damaged ones. Comparisons predict the number of
 * blocks; tests/app/exact.sh and rungs.sh count it in runs. */
#include "bh_let_bundles.h"
#include "failing_malloc.h"
#include "unit.h"

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

TEST(blocks_have_numbers_of_their_own_and_known_sizes)
{
    int64_t id[4 * (EQP_CURVE_BITS + 1)], n = 0;
    for (int level = 0; level <= EQP_CURVE_BITS; level++) {
        const uint64_t cells = (uint64_t)1 << (3 * level), last = cells - 1;
        for (uint64_t i = 0; i < 4; i++) {
            const uint64_t place = i < 2 ? i : last - (i - 2);
            if (i < cells && (i < 2 || place > 1)) {
                id[n++] = bh_block_id(place * bh_set_span(level), level);
                assert_true((id[n - 1] < 0) == (level == EQP_CURVE_BITS) && id[n - 1] != 0);
            }
        }
    }
    assert_int_equal(sort_ids(n, id), n);
    assert_true(n == 4 * EQP_CURVE_BITS + 1);
    for (int count = 0; count < 9; count++) {
        assert_int_equal(bh_let_family_bytes(false, count), 8 + count * 88);
        assert_int_equal(bh_let_family_bytes(true, count), 8 + count * 8);
        assert_int_equal(bh_let_leaf_bytes(count), 8 + count * 32);
    }
}

/* The block has an allocation of its own size, so that a sanitizer sees reads beyond it. */
static int graft_copy(bh_tree *tree, int home, const unsigned char *bytes, size_t size)
{
    const int64_t ncells = tree->ncells, nsources = tree->sources.n, nfamilies = tree->nfamilies;
    HEAP unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const int code = bh_let_graft(tree, home, copy, size);
    assert_true(code == EQP_OK || (code == EQP_ERR_FORMAT && tree->ncells == ncells && tree->sources.n == nsources &&
                                   tree->nfamilies == nfamilies));
    return code;
}

static void assert_refused_with(bh_tree *tree, unsigned char *word, uint64_t value, const unsigned char *block,
                                size_t size)
{
    uint64_t was;
    memcpy(&was, word, 8);
    memcpy(word, &value, 8);
    assert_int_equal(graft_copy(tree, 0, block, size), EQP_ERR_FORMAT);
    memcpy(word, &was, 8);
}

/* Truncation, wrong homes, and changes of each word: the header of a child, or a real number. */
static void damage_block(bh_tree *tree, unsigned char *block, size_t size, bool leaf)
{
    const size_t words = size / 8, record = tree->bare ? 1 : 11;
    for (size_t less = 0; less < size; less += less < 40 ? 1 : 24) {
        assert_int_equal(graft_copy(tree, 0, block, less), EQP_ERR_FORMAT);
    }
    for (int home = -1; home <= 2; home++) {
        assert_true(home == 0 || graft_copy(tree, home, block, size) == EQP_ERR_FORMAT);
    }
    for (size_t w = 0; w < words; w++) {
        unsigned char *at = block + 8 * w;
        uint64_t word;
        memcpy(&word, at, 8);
        if (!leaf && w > 0 && w % record == 1 % record) {
            const uint64_t wrong[] = {
                word + 1, word - 1, word + ((uint64_t)1 << 35), word ^ (uint64_t)1 << 39, word | (uint64_t)1 << 63, 0};
            for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                assert_refused_with(tree, at, wrong[i], block, size);
            }
        } else if (!(leaf && tree->bare && w % 4 == 0) || w == 0) { /* the mass alone is not checked there */
            assert_refused_with(tree, at, UINT64_C(0x7ff8) << 48, block, size);
            assert_refused_with(tree, at, UINT64_C(0xfff0) << 48, block, size);
            assert_refused_with(tree, at, word ^ (uint64_t)1 << 62, block, size);
        }
    }
}

TEST(a_damaged_block_is_refused_and_changes_nothing)
{
    for (int bare = 0; bare < 2; bare++) {
        FREED_BY(bundle_free) bundle out;
        int64_t families = 0;
        BH_SET(set, BH_UNIFORM, bare ? 300 : 150, 31);
        set.bare = bare;
        const bh_mac mac = bare ? cut(&set) : geometric;
        BH_PARTS(parts, &set, 4, 4, 2, 1);
        bh_tree *tree = &parts[1].tree;
        pack_for(parts, 0, 1, &mac, &out);
        unsigned char *at = out.data;
        for (int64_t b = 0; b < out.n; b++) {
            const size_t size = (size_t)out.bytes[b];
            bool leaf = false;
            for (int64_t c = 0; c < tree->ncells; c++) {
                const bh_cell *cell = &tree->cell[c];
                leaf = leaf || (cell->nchild == 0 && bh_block_id(cell->key, cell->level) == out.id[b]);
            }
            damage_block(tree, at, size, leaf);
            assert_ok(graft_copy(tree, 0, at, size));
            at[size - 1] ^= 0x80; /* a different block with the same number */
            assert_int_equal(graft_copy(tree, 0, at, size), EQP_ERR_FORMAT);
            at[size - 1] ^= 0x80;
            families += !leaf;
            at += size;
        }
        assert_true(families > 3 && families < out.n);
        assert_ok(bh_tree_check(tree));
    }
}

TEST(blocks_in_a_row_are_grafted_as_one_by_one)
{
    FREED_BY(bundle_free) bundle out;
    size_t size = 0;
    BH_SET(set, BH_CLUSTERED, 400, 38);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    BH_PARTS(twins, &set, 4, 4, 2, 1);
    bh_tree *tree = &parts[1].tree, *twin = &twins[1].tree;
    pack_for(parts, 0, 1, &geometric, &out);
    for (int64_t b = 0; b < out.n; b++) {
        size += (size_t)out.bytes[b];
    }
    graft_all(twin, 0, &out);
    const int64_t ncells = twin->ncells;
    graft_all(twin, 0, &out); /* repeated blocks change nothing */
    assert_true(twin->ncells == ncells && bh_tree_check(twin) == EQP_OK);
    assert_ok(bh_let_graft_all(tree, 0, out.data, 0));
    assert_int_equal(bh_let_graft_all(tree, 1, out.data, size), EQP_ERR_FORMAT); /* its cells differ */
    assert_true(tree->ncells < twin->ncells);
    assert_int_equal(bh_let_graft_all(tree, 0, out.data, size - 8), EQP_ERR_FORMAT); /* all but the last */
    assert_ok(bh_let_graft_all(tree, 0, out.data, size));
    assert_int_equal(tree->ncells, twin->ncells);
    assert_int_equal(tree->sources.n, twin->sources.n);
    assert_memory_equal(tree->sources.x, twin->sources.x, (size_t)tree->sources.n * sizeof(double));
    assert_ok(bh_tree_check(tree));
    BH_PARTS(late, &set, 4, 4, 2, 1);
    int64_t early = 0;
    for (int64_t b = out.n, at = (int64_t)size; b-- > 0;) { /* children first: their parents are missing */
        at -= out.bytes[b];
        early += graft_copy(&late[1].tree, 0, out.data + at, (size_t)out.bytes[b]) != EQP_OK;
    }
    assert_true(early > 0);
}

/* All steps from the build to the list of rank 1. */
typedef struct sent {
    const bh_part *parts;
    int64_t nbranches;
    bh_cell *branch;
} sent;

static int build_send_and_walk(void *data)
{
    const sent *s = data;
    const bh_part *parts = s->parts;
    bh_tree tree[2];
    bh_let *let = NULL;
    HEAP bh_group *group = NULL;
    HEAP unsigned char *bytes = NULL;
    bh_let_blocks blocks = {0};
    int64_t ngroups = 0;
    int code;
    BH_LIST(list);
    bh_tree_init(&tree[0], 4);
    bh_tree_init(&tree[1], 4);
    for (int r = 0; r < 2; r++) {
        const bh_set *of = &parts[r].set;
        EQP_TRY(bh_tree_build(&tree[r], &of->box, of->n, of->key, of->x, of->y, of->z, of->m, parts[r].nintervals,
                              parts[r].interval, r));
        EQP_TRY(bh_tree_top(&tree[r], s->nbranches, s->branch, r));
    }
    EQP_TRY(bh_groups_make(&tree[1], parts[1].set.key, 8, NULL, &ngroups, &group));
    EQP_TRY(bh_let_create(&tree[0], &let));
    for (int64_t g = 0; g < ngroups; g++) {
        EQP_TRY(bh_let_mark(let, 1, &group[g], &geometric, NULL));
    }
    EQP_TRY(bh_let_blocks_get(let, &blocks));
    bytes = malloc((size_t)blocks.size);
    EQP_TRY(bytes == NULL ? EQP_ERR_MEMORY : EQP_OK);
    bh_let_pack(let, bytes);
    const unsigned char *at = bytes;
    for (int64_t b = 0; b < blocks.n; at += blocks.bytes[b++]) {
        EQP_TRY(bh_let_graft(&tree[1], 0, at, (size_t)blocks.bytes[b]));
    }
    for (int64_t g = 0; g < ngroups; g++) {
        EQP_TRY(bh_walk(&tree[1], tree[1].root, &group[g], &geometric, NULL, &list));
        assert_int_equal(list.nabsent, 0);
    }
done:
    bh_let_free(let);
    for (int r = 0; r < 2; r++) {
        assert_ok(bh_tree_check(&tree[r]));
        bh_tree_free(&tree[r]);
    }
    return code;
}

TEST(every_failing_allocation_is_reported)
{
    BH_SET(set, BH_UNIFORM, 900, 41);
    BH_PARTS(parts, &set, 4, 8, 2, 1);
    const int64_t n0 = parts[0].tree.nbranches, n1 = parts[1].tree.nbranches;
    HEAP bh_cell *branch = malloc((size_t)(n0 + n1) * sizeof(*branch));
    assert_non_null(branch);
    memcpy(branch, parts[0].tree.cell, (size_t)n0 * sizeof(*branch));
    memcpy(branch + n0, parts[1].tree.cell, (size_t)n1 * sizeof(*branch));
    sent s = {parts, n0 + n1, branch};
    assert_true(failing_malloc_sweep(build_send_and_walk, &s, EQP_ERR_MEMORY) > 20);
}
