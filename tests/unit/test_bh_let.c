/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of locally essential trees, and bundles of groups with the blocks that they need: each goes out exactly once,
 * and the receiver checks its bytes; fuzz_let damages blocks word by word. Comparisons predict the number of blocks;
 * tests/app/exact.sh and rungs.sh count it in runs, schedule.sh compares forces bit for bit. */
#include <equipoise/more/random.h>

#include "bh_sets.h"
#include "let.h"
#include "slow.h"
#include "unit.h"

enum { MOST_GROUPS = 600, MOST_BLOCKS = 2000 };

static const bh_mac geometric = {.theta = 0.7};

/* Packed blocks one after another. */
typedef struct packed {
    int64_t n, bytes[MOST_BLOCKS];
    unsigned char *data;
    size_t size;
} packed;

static void packed_free(packed *p)
{
    free(p->data);
}

static void pack_for(const bh_part *parts, int from, int to, const bh_mac *mac, packed *out)
{
    bh_let *let;
    bh_let_blocks blocks;
    size_t at = 0;
    assert_ok(bh_let_create(&parts[from].tree, &let));
    for (int64_t g = 0; g < parts[to].ngroups; g++) {
        assert_ok(bh_let_mark(let, to, &parts[to].group[g], mac, NULL));
    }
    assert_ok(bh_let_blocks_get(let, &blocks));
    *out = (packed){.n = blocks.n, .data = malloc((size_t)blocks.size + 1), .size = (size_t)blocks.size};
    assert_true(out->data != NULL && blocks.n <= MOST_BLOCKS);
    for (int64_t b = 0; b < blocks.n; b++) {
        assert_true(blocks.bytes[b] % 8 == 0 && blocks.first[b + 1] == blocks.first[b] + 1);
        bh_let_pack_block(let, b, out->data + at);
        out->bytes[b] = blocks.bytes[b];
        at += (size_t)blocks.bytes[b];
    }
    assert_int_equal(at, out->size);
    bh_let_free(let);
}

static void exchange(bh_part *parts, const bh_mac *mac)
{
    for (int to = 0, nranks = parts[0].nranks; to < nranks; to++) {
        for (int from = 0; from < nranks; from++) {
            FREED_BY(packed_free) packed out = {.n = 0};
            if (from != to) {
                pack_for(parts, from, to, mac, &out);
                assert_ok(bh_let_graft_all(&parts[to].tree, from, out.data, out.size));
            }
        }
        assert_ok(bh_tree_check(&parts[to].tree));
    }
}

/* A tenth of the root cube's side for trees without moments. */
TEST(blocks_have_numbers_of_their_own_and_known_sizes)
{
    int64_t id[4 * (EQP_CURVE_BITS + 1)], n = 0;
    for (int level = 0; level <= EQP_CURVE_BITS; level++) {
        const uint64_t cells = (uint64_t)1 << (3 * level), places[] = {0, 1, cells - 2, cells - 1};
        for (int i = level == 0 ? 3 : 0; i < 4; i++) {
            id[n] = bh_block_id(places[i] * bh_span(level), level);
            assert_true((id[n] < 0) == (level == EQP_CURVE_BITS) && id[n] != 0);
            for (int64_t k = 0; k < n; k++) {
                assert_true(id[k] != id[n]);
            }
            n++;
        }
    }
    for (int count = 0; count < 9; count++) {
        assert_int_equal(bh_let_family_bytes(false, count), 8 + count * 88);
        assert_int_equal(bh_let_family_bytes(true, count), 8 + count * 8);
        assert_int_equal(bh_let_leaf_bytes(count), 8 + count * 32);
    }
}

TEST(blocks_in_a_row_are_grafted_as_one_by_one)
{
    FREED_BY(packed_free) packed out;
    BH_SET(set, BH_CLUSTERED, 400, 38);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    BH_PARTS(twins, &set, 4, 4, 2, 1);
    bh_tree *tree = &parts[1].tree, *twin = &twins[1].tree;
    pack_for(parts, 0, 1, &geometric, &out);
    for (int again = 0; again < 2; again++) { /* repeated blocks change nothing */
        const unsigned char *at = out.data;
        for (int64_t b = 0; b < out.n; at += out.bytes[b++]) {
            assert_ok(bh_let_graft(twin, 0, at, (size_t)out.bytes[b]));
        }
    }
    assert_int_equal(bh_let_graft_all(tree, 1, out.data, out.size), EQP_ERR_FORMAT);     /* its cells differ */
    assert_int_equal(bh_let_graft_all(tree, 0, out.data, out.size - 8), EQP_ERR_FORMAT); /* all but the last */
    assert_ok(bh_let_graft_all(tree, 0, out.data, out.size));
    assert_true(tree->ncells == twin->ncells && tree->sources.n == twin->sources.n);
    assert_memory_equal(tree->sources.x, twin->sources.x, (size_t)tree->sources.n * sizeof(double));
    assert_ok(bh_tree_check(tree));
    assert_ok(bh_tree_check(twin));
}

/* ---- ranks of a node in one memory ---- */

enum { NEAR = 2 }; /* ranks 0 and 1 of four */

typedef struct node {
    bh_tree tree[NEAR];
    bh_room slot, behind;
    void *memory;
} node;

static void node_free(node *n)
{
    for (int r = 0; r < NEAR; r++) {
        bh_tree_free(&n->tree[r]);
    }
    free(n->memory);
}

static void *room_for(const node *n)
{
    void *memory = aligned_alloc(64, (size_t)(bh_shared_bytes(&n->slot, &n->behind, NEAR) + 63) / 64 * 64);

    assert_non_null(memory);
    return memory;
}

static bool add_lacks(bh_room *room, const bh_room *lacks)
{
    room->cells = lacks->cells > room->cells ? lacks->cells : room->cells;
    room->families = lacks->families > room->families ? lacks->families : room->families;
    room->particles = lacks->particles > room->particles ? lacks->particles : room->particles;
    return lacks->cells > 0 || lacks->families > 0 || lacks->particles > 0;
}

/* Slots grow from nothing to what is needed. */
static void build_slots(node *n, const bh_part *parts)
{
    for (bool again = true; again;) {
        free(n->memory);
        n->memory = room_for(n);
        again = false;
        for (int r = 0; r < NEAR; r++) {
            const bh_set *s = &parts[r].set;
            bh_tree_share(&n->tree[r], n->memory, &n->slot, &n->behind, NEAR, r);
            const int code = bh_tree_build(&n->tree[r], &s->box, s->n, s->key, s->x, s->y, s->z, s->m,
                                           parts[r].nintervals, parts[r].interval, r);
            const bool lacks = add_lacks(&n->slot, &n->tree[r].shared.lacks);
            assert_int_equal(code, lacks ? EQP_ERR_MEMORY : EQP_OK);
            again = again || lacks;
        }
    }
}

/* Repeats a call with more room behind the slots while it lacks some. */
static bool grows(node *n, bh_tree *tree, int code)
{
    const bool lacks = add_lacks(&n->behind, &tree->shared.lacks);

    assert_int_equal(code, lacks ? EQP_ERR_MEMORY : EQP_OK);
    if (lacks) {
        void *memory = room_for(n);
        bh_shared_move(tree, memory, &n->behind, NEAR);
        for (int r = 0; r < NEAR; r++) {
            bh_tree_moved(&n->tree[r], memory, &n->behind, NEAR);
        }
        free(n->memory);
        n->memory = memory;
    }
    return lacks;
}

static int compare_keys(const void *a, const void *b)
{
    const bh_cell *p = a, *q = b;

    return (p->key > q->key) - (p->key < q->key);
}

static void build_top(node *n, const bh_part *parts)
{
    int code;

    do {
        HEAP bh_cell *branch = calloc(MOST_BLOCKS, sizeof *branch);
        HEAP unsigned char *bytes = malloc(MOST_BLOCKS * (size_t)bh_branch_bytes(&n->tree[0]));
        int64_t count = 0;
        assert_true(branch != NULL && bytes != NULL);
        for (int r = 0; r < parts[0].nranks; r++) {
            const bh_tree *from = r < NEAR ? &n->tree[r] : &parts[r].tree;
            const bh_cell *first = from->cell + from->shared.begin.cells;
            assert_true(count + from->nbranches <= MOST_BLOCKS);
            memcpy(branch + count, first, (size_t)from->nbranches * sizeof *branch);
            if (r >= NEAR) {
                bh_branches_pack(from, from->nbranches, first, bytes);
                assert_ok(bh_branches_unpack(from, from->nbranches, bytes, branch + count));
            }
            count += from->nbranches;
        }
        qsort(branch, (size_t)count, sizeof *branch, compare_keys);
        code = bh_shared_open(&n->tree[0], count);
        code = code == EQP_OK ? bh_tree_top(&n->tree[0], count, branch, 0) : code;
    } while (grows(n, &n->tree[0], code));
    bh_shared_close(&n->tree[0]);
    bh_tree_follow(&n->tree[1], n->tree[0].root, n->tree[0].ntop_families);
}

TEST(ranks_in_one_memory_walk_one_tree)
{
    BH_SET(set, BH_CLUSTERED, 1500, 39);
    BH_TREE(whole, &set, 4);
    BH_PARTS(parts, &set, 4, 8, 4, 2);
    FREED_BY(node_free) node n = {.memory = NULL};
    BH_LIST(list);
    BH_LIST(same);
    for (int r = 0; r < NEAR; r++) {
        bh_tree_init(&n.tree[r], 4);
    }
    build_slots(&n, parts);
    build_top(&n, parts);
    for (int from = NEAR; from < 4; from++) { /* one rank of the node gets what all of it need */
        for (int to = 0; to < NEAR; to++) {
            FREED_BY(packed_free) packed out;
            bh_tree *tree = &n.tree[from % NEAR];
            pack_for(parts, from, to, &geometric, &out);
            while (grows(&n, tree, bh_shared_take(tree, (int64_t)out.size))) {
            }
            assert_ok(bh_let_graft_all(tree, from, out.data, out.size));
        }
    }
    for (int r = 0; r < NEAR; r++) {
        for (int64_t g = 0; g < parts[r].ngroups; g++) {
            assert_ok(bh_walk(&n.tree[r], &parts[r].group[g], &geometric, NULL, &list));
            assert_ok(bh_walk(&whole, &parts[r].group[g], &geometric, NULL, &same));
            assert_int_equal(list.nabsent, 0);
            assert_true(list.ncells == same.ncells && list.nruns == same.nruns && list.nsources == same.nsources);
            for (int64_t c = 0; c < list.ncells; c++) {
                assert_memory_equal(&n.tree[r].cell[list.cell[c]].moments, &whole.cell[same.cell[c]].moments,
                                    sizeof(bh_moments));
            }
            for (int64_t k = 0; k < list.nruns; k++) {
                assert_int_equal(list.run_count[k], same.run_count[k]);
                assert_memory_equal(n.tree[r].sources.x + list.run_first[k], whole.sources.x + same.run_first[k],
                                    (size_t)same.run_count[k] * sizeof(double));
            }
        }
    }
}

/* ---- bundles ---- */

typedef struct giver {
    const bh_part *part;
    const bh_mac *mac;
    bh_packer *packer;
} giver;

static void giver_end(giver *g)
{
    bh_packer_free(g->packer);
}

static giver giver_of(const bh_part *part, const bh_mac *mac)
{
    giver g = {.part = part, .mac = mac};
    assert_ok(bh_packer_create(&g.packer));
    bh_packer_begin(g.packer, &part->tree);
    return g;
}

/* Returns the bundle's size. data: NULL if nobody wants it. */
static size_t give(const giver *g, int to, int64_t first, int64_t n, void **data)
{
    const bh_set *set = &g->part->set;
    bh_bundle_group given[MOST_GROUPS];
    void *made = NULL;
    size_t bytes = 0;
    assert_true(n <= MOST_GROUPS);
    for (int64_t i = 0; i < n; i++) {
        const bh_group *group = &g->part->group[first + i];
        const int64_t at = group->first;
        given[i] = (bh_bundle_group){*group, first + i, set->x + at, set->y + at, set->z + at};
    }
    assert_ok(bh_packer_pack(g->packer, to, n, given, g->mac, NULL, NULL, &made, &bytes));
    assert_true(bytes % 8 == 0);
    if (data != NULL) {
        *data = made;
    } else {
        free(made);
    }
    return bytes;
}

static size_t bytes_of_groups(const giver *g, int64_t first, int64_t n)
{
    int64_t bytes = 16;
    for (int64_t i = first; i < first + n; i++) {
        bytes += 24 + 24 * g->part->group[i].count;
    }
    return (size_t)bytes;
}

/* Bytes of the blocks that a group's walk needs and `to` does not own. */
static size_t bytes_needed(const giver *g, int to, int64_t number, bh_list *list)
{
    const bh_tree *tree = &g->part->tree;
    int64_t bytes = 0;
    assert_ok(bh_walk(tree, &g->part->group[number], g->mac, NULL, list));
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
    return (size_t)bytes;
}

TEST(a_group_alone_travels_with_what_it_needs_and_no_more)
{
    const bh_mac fine = {.theta = 0.2};
    BH_SET(set, BH_CLUSTERED, slow_here() ? 150 : 600, 9);
    BH_PARTS(parts, &set, 2, 3, 3, 2);
    BH_LIST(list);
    exchange(parts, &fine);
    for (int owner = 0; owner < 3; owner++) {
        FREED_BY(giver_end) giver g = giver_of(&parts[owner], &fine);
        for (int64_t i = 0; i < parts[owner].ngroups; i++) {
            const int to = (owner + 1 + (int)(i % 2)) % 3;
            bh_packer_begin(g.packer, &parts[owner].tree);
            assert_int_equal(give(&g, to, i, 1, NULL), bytes_of_groups(&g, i, 1) + bytes_needed(&g, to, i, &list));
        }
    }
}

TEST(a_block_goes_to_each_receiver_once)
{
    BH_SET(set, BH_CLUSTERED, 400, 9);
    BH_PARTS(parts, &set, 4, 8, 3, 1);
    exchange(parts, &geometric);
    FREED_BY(giver_end) giver g = giver_of(&parts[0], &geometric);
    const int64_t n = parts[0].ngroups, half = n / 2;
    const size_t both = give(&g, 1, 0, n, NULL);
    for (int to = 1; to < 3; to++) {
        bh_packer_begin(g.packer, &parts[0].tree);
        const size_t first = give(&g, to, 0, half, NULL);
        assert_true(first > bytes_of_groups(&g, 0, half));
        assert_int_equal(give(&g, to, 0, half, NULL), bytes_of_groups(&g, 0, half));
        assert_true(give(&g, 3 - to, 0, half, NULL) > bytes_of_groups(&g, 0, half)); /* another rank has none of them */
        assert_true(first + give(&g, to, half, n - half, NULL) <= both + 2 * 16 || to == 2);
    }
}

/* The copy ends where its allocation ends, so that a sanitizer sees reads beyond it. */
static int open_copy(bh_tree *tree, const void *bytes, size_t size, int64_t n)
{
    bh_bundle_group opened[MOST_GROUPS];
    HEAP unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const int code = bh_bundle_open(tree, copy, size, n, opened);
    assert_ok(bh_tree_check(tree));
    return code;
}

TEST(damaged_bundles_are_refused)
{
    for (int bare = 0; bare < 2; bare++) {
        HEAP void *data = NULL;
        size_t refused = 0;
        const size_t step = slow_here() ? 13 : 1, changes = slow_here() ? 200 : 2000;
        BH_SET(set, BH_UNIFORM, 150, 31);
        set.bare = bare;
        const bh_mac mac = {.theta = 0.7, .cutoff = set.bare ? 0.1 * set.box.side : 0};
        BH_PARTS(parts, &set, 4, 4, 2, 1);
        exchange(parts, &mac);
        FREED_BY(giver_end) giver g = giver_of(&parts[0], &mac);
        const size_t bytes = give(&g, 1, 0, 3, &data), groups = bytes_of_groups(&g, 0, 3);
        BH_PARTS(fresh, &set, 4, 4, 2, 1);
        bh_tree *tree = &fresh[1].tree;
        assert_true(bytes > groups);
        for (size_t less = 0; less < bytes; less += step) {
            const int code = open_copy(tree, data, less, 3);
            assert_true(code == EQP_ERR_FORMAT || (code == EQP_OK && less >= groups));
            refused += code != EQP_OK;
        }
        assert_true(refused > bytes / step * 7 / 8); /* bytes that end at a block are incomplete but valid */
        for (int64_t n = 0; n < 5; n += n == 2 ? 2 : 1) {
            assert_int_equal(open_copy(tree, data, bytes, n), EQP_ERR_FORMAT);
        }
        refused = 0;
        for (uint64_t i = 0; i < changes; i++) {
            unsigned char *at = (unsigned char *)data + eqp_random_below(7, 0, i, bytes);
            const unsigned char was = *at;
            *at ^= (unsigned char)(1 + eqp_random_below(7, 1, i, 255));
            const int code = open_copy(tree, data, bytes, 3);
            *at = was;
            assert_true(code == EQP_OK || code == EQP_ERR_FORMAT);
            refused += code != EQP_OK;
        }
        assert_true(refused > changes / 2);
    }
}

TEST(impossible_groups_and_foreign_blocks_are_refused)
{
    enum { COUNT = 3, ACCEL, PLACE }; /* words of the first group, after the header of two words */
    static const struct {
        int word;
        double real;
        int64_t count;
    } bad[] = {{PLACE, NAN, 0}, {PLACE + 2, -INFINITY, 0},    {ACCEL, -1, 0},       {ACCEL, NAN, 0}, {COUNT, 0, 0},
               {COUNT, 0, -1},  {COUNT, 0, INT64_C(1) << 31}, {COUNT, 0, INT64_MAX}};
    HEAP double *word = NULL;
    BH_SET(set, BH_UNIFORM, 150, 31);
    BH_SET(other, BH_UNIFORM, 150, 32);
    BH_PARTS(parts, &set, 4, 4, 2, 1);
    BH_PARTS(others, &other, 4, 4, 2, 1);
    exchange(parts, &geometric);
    exchange(others, &geometric);
    FREED_BY(giver_end) giver g = giver_of(&parts[0], &geometric);
    const size_t all = give(&g, 1, 0, 1, (void **)(void *)&word), size = bytes_of_groups(&g, 0, 1);
    assert_int_equal(open_copy(&others[1].tree, word, all, 1), EQP_ERR_FORMAT);
    assert_ok(open_copy(&parts[1].tree, word, size, 1)); /* without blocks */
    for (int i = 0; i < COUNT_OF(bad); i++) {
        double was = word[bad[i].word];
        if (bad[i].word == COUNT) {
            memcpy(&word[COUNT], &bad[i].count, sizeof(*word));
        } else {
            word[bad[i].word] = bad[i].real;
        }
        assert_int_equal(open_copy(&parts[1].tree, word, size, 1), EQP_ERR_FORMAT);
        word[bad[i].word] = was;
    }
}
