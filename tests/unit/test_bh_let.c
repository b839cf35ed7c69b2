/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <equipoise/error.h>
#include <equipoise/random.h>

#include "bh_sets.h"
#include "failing_malloc.h"

typedef struct message {
    unsigned char *bytes;
    size_t size, capacity;
} message;

/* Deals tiles out to ranks, by their centre alone. */
typedef struct chooser {
    int nranks, rank;
} chooser;

static bool chosen(void *user, const double centre[3])
{
    const chooser *c = user;
    uint64_t bits[3];
    memcpy(bits, centre, sizeof(bits));
    return eqp_random_below(bits[0], bits[1], bits[2], (uint64_t)c->nranks) == (uint64_t)c->rank;
}

/* What `from` owes to `to`, who computes the chosen tiles of every group, or all tiles of its own if keep is NULL. */
static void pack_for(const bh_part *parts, int nranks, int from, int to, const bh_mac *mac, bh_tile_fn keep,
                     message *out)
{
    bh_let *let;
    chooser choice = {nranks, to};
    int64_t ncells = -1, nparticles = -1;
    const size_t before = out->size;
    assert_int_equal(bh_let_create(&parts[from].tree, &let), EQP_OK);
    for (int owner = 0; owner < nranks; owner++) {
        for (int64_t g = 0; g < parts[owner].ngroups && (owner == to || keep != NULL); g++) {
            for (int64_t b = 0; b < parts[from].tree.nbranches; b++) {
                assert_int_equal(bh_let_mark(let, b, &parts[owner].group[g], mac, keep, &choice), EQP_OK);
            }
        }
    }
    assert_int_equal(bh_let_pack(let, &out->bytes, &out->size, &out->capacity, &ncells, &nparticles), EQP_OK);
    assert_true(ncells >= 0 && nparticles >= 0 && (out->size > before) == (ncells + nparticles > 0));
    bh_let_free(let);
}

static void exchange(bh_part *parts, int nranks, const bh_mac *mac, bh_tile_fn keep)
{
    for (int to = 0; to < nranks; to++) {
        for (int from = 0; from < nranks; from++) {
            message out = {0};
            if (from == to) {
                continue;
            }
            pack_for(parts, nranks, from, to, mac, keep, &out);
            assert_int_equal(bh_let_graft(&parts[to].tree, from, out.bytes, out.size), EQP_OK);
            free(out.bytes);
        }
        assert_int_equal(bh_tree_check(&parts[to].tree), EQP_OK);
    }
}

/* A list as bytes that do not depend on where a tree keeps its cells and particles. */
static void append(message *out, const void *bytes, size_t size)
{
    if (out->size + size > out->capacity) {
        out->capacity = 2 * (out->size + size);
        out->bytes = realloc(out->bytes, out->capacity);
        assert_non_null(out->bytes);
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void describe(const bh_tree *tree, const bh_list *list, message *cells, message *particles)
{
    assert_int_equal(list->nabsent, 0);
    for (int64_t c = 0; c < list->ncells; c++) {
        const bh_cell *cell = &tree->cell[list->cell[c]];
        const uint64_t name[3] = {cell->key, (uint64_t)cell->level, (uint64_t)cell->count};
        append(cells, name, sizeof(name));
        append(cells, &cell->moments, sizeof(cell->moments));
    }
    for (int64_t r = 0; r < list->nruns; r++) {
        for (int64_t i = list->run_first[r]; i < list->run_first[r] + list->run_count[r]; i++) {
            const double body[4] = {tree->sources.x[i], tree->sources.y[i], tree->sources.z[i], tree->sources.m[i]};
            append(particles, body, sizeof(body));
        }
    }
}

static void assert_same(const message *a, const message *b)
{
    assert_int_equal(a->size, b->size);
    if (a->size > 0) {
        assert_memory_equal(a->bytes, b->bytes, a->size);
    }
}

static int64_t compare_lists(const bh_tree *a, const bh_tree *b, const bh_group *group, const bh_mac *mac, bh_list *la,
                             bh_list *lb)
{
    message cells[2] = {{0}, {0}}, particles[2] = {{0}, {0}};
    assert_int_equal(bh_walk(a, a->root, group, mac, NULL, NULL, NULL, la), EQP_OK);
    assert_int_equal(bh_walk(b, b->root, group, mac, NULL, NULL, NULL, lb), EQP_OK);
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
    bh_tree whole;
    bh_part *parts;
    bh_group *group;
    bh_list a, b;
    int64_t ngroups, met = 0, interactions = 0;
    bh_set_tree(set, leaf_size, &whole);
    assert_int_equal(bh_groups_make(&whole, set->key, group_size, set->accel, &ngroups, &group), EQP_OK);
    bh_parts_make(set, leaf_size, group_size, nranks, pieces, &parts);
    exchange(parts, nranks, mac, NULL);
    bh_list_init(&a);
    bh_list_init(&b);
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
    bh_list_free(&a);
    bh_list_free(&b);
    bh_parts_free(nranks, parts);
    free(group);
    bh_tree_free(&whole);
}

static const bh_mac geometric = {.theta = 0.7};
static const bh_mac relative = {.theta = 0.7, .relative = true, .alpha = 0.02, .G = 1};

/* A tenth of the root cube's side. */
static bh_mac cut(const bh_set *set)
{
    return (bh_mac){.theta = 0.7, .cutoff = 0.1 * set->box.side};
}

static void lists_do_not_depend_on_the_number_of_ranks(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 7};
    static const int sizes[][2] = {{8, 8}, {1, 12}, {16, 4}};
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        bh_set set;
        bh_set_make((enum bh_set_kind)kind, 700, 11, &set);
        for (size_t r = 0; r < sizeof(ranks) / sizeof(*ranks); r++) {
            for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
                check_ranks(&set, sizes[s][0], sizes[s][1], ranks[r], 1, &geometric);
            }
            const bh_mac within = cut(&set);
            check_ranks(&set, 8, 8, ranks[r], 3, &relative);
            check_ranks(&set, 8, 8, ranks[r], 2, &within);
        }
        bh_set_free(&set);
    }
}

static void few_particles_and_many_ranks_agree(void **state)
{
    (void)state;
    for (int64_t n = 0; n <= 3; n++) {
        for (int nranks = 1; nranks <= 4; nranks++) {
            bh_set set;
            bh_set_make(BH_UNIFORM, n, 5, &set);
            check_ranks(&set, 1, 1, nranks, 2, &geometric);
            const bh_mac within = cut(&set);
            check_ranks(&set, 1, 1, nranks, 1, &relative);
            check_ranks(&set, 1, 1, nranks, 2, &within);
            bh_set_free(&set);
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
    bh_tree whole;
    bh_part *parts;
    bh_list list;
    bh_set_tree(set, 6, &whole);
    bh_parts_make(set, 6, 10, nranks, 2, &parts);
    exchange(parts, nranks, mac, chosen);
    bh_list_init(&list);
    for (int owner = 0; owner < nranks; owner++) {
        for (int64_t g = 0; g < parts[owner].ngroups; g++) {
            const bh_group *group = &parts[owner].group[g];
            message cells[2] = {{0}, {0}}, particles[2] = {{0}, {0}};
            for (int r = 0; r < nranks; r++) {
                chooser choice = {nranks, r};
                const bh_tree *tree = &parts[r].tree;
                assert_int_equal(bh_walk(tree, tree->root, group, mac, chosen, NULL, &choice, &list), EQP_OK);
                describe(tree, &list, &cells[0], &particles[0]);
            }
            assert_int_equal(bh_walk(&whole, whole.root, group, mac, NULL, NULL, NULL, &list), EQP_OK);
            describe(&whole, &list, &cells[1], &particles[1]);
            for (int i = 0; i < 2; i++) {
                sort_messages(&cells[i], &particles[i]);
            }
            assert_same(&cells[0], &cells[1]);
            assert_same(&particles[0], &particles[1]);
            for (int i = 0; i < 2; i++) {
                free(cells[i].bytes);
                free(particles[i].bytes);
            }
        }
    }
    bh_list_free(&list);
    bh_parts_free(nranks, parts);
    bh_tree_free(&whole);
}

static void dealt_tiles_are_computed_exactly_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        bh_set set;
        bh_set_make((enum bh_set_kind)kind, 300, 23, &set);
        check_dealt_tiles(&set, 3, &geometric);
        const bh_mac within = cut(&set);
        check_dealt_tiles(&set, 2, &relative);
        check_dealt_tiles(&set, 3, &within);
        bh_set_free(&set);
    }
}

/* What the whole walk finds absent, and what the short one does. Returns how much. */
static int64_t compare_absent(const bh_part *part, const bh_mac *mac, bh_tile_fn keep, chooser *choice)
{
    const bh_tree *tree = &part->tree;
    bh_list all, only;
    int64_t absent = 0;
    bh_list_init(&all);
    bh_list_init(&only);
    for (int64_t g = 0; g < part->ngroups; g++) {
        const bh_group *group = &part->group[g];
        assert_int_equal(bh_walk(tree, tree->root, group, mac, keep, NULL, choice, &all), EQP_OK);
        assert_int_equal(bh_walk_absent(tree, group, mac, keep, choice, &only), EQP_OK);
        assert_int_equal(only.nabsent, all.nabsent);
        for (int64_t i = 0; i < all.nabsent; i++) {
            assert_int_equal(only.absent[i], all.absent[i]);
            assert_int_not_equal(tree->cell[all.absent[i]].home, choice->rank);
        }
        absent += all.nabsent;
    }
    bh_list_free(&only);
    bh_list_free(&all);
    return absent;
}

static void what_is_absent_is_found_before_and_after_the_exchange(void **state)
{
    (void)state;
    static const bh_mac macs[] = {{.theta = 0}, {.theta = 0.7}, {.theta = 1e9}};
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        for (int nranks = 1; nranks <= 3; nranks++) {
            for (size_t m = 0; m < sizeof(macs) / sizeof(*macs); m++) {
                bh_set set;
                bh_part *parts;
                int64_t absent = 0;
                bh_set_make((enum bh_set_kind)kind, 300, 3, &set);
                bh_parts_make(&set, 8, 8, nranks, 2, &parts);
                for (int r = 0; r < nranks; r++) {
                    chooser choice = {nranks, r};
                    absent += compare_absent(&parts[r], &macs[m], NULL, &choice);
                    compare_absent(&parts[r], &macs[m], chosen, &choice);
                }
                assert_true(absent > 0 || nranks == 1 || kind == BH_COINCIDENT || macs[m].theta > 1);
                assert_true(absent == 0 || nranks > 1);
                exchange(parts, nranks, &macs[m], NULL);
                for (int r = 0; r < nranks; r++) {
                    chooser choice = {nranks, r};
                    assert_int_equal(compare_absent(&parts[r], &macs[m], NULL, &choice), 0);
                }
                bh_parts_free(nranks, parts);
                bh_set_free(&set);
            }
        }
    }
}

static void reset_forgets_and_messages_are_appended(void **state)
{
    (void)state;
    bh_set set;
    bh_part *parts;
    bh_let *let;
    message out = {0};
    int64_t ncells, nparticles;
    bh_set_make(BH_CLUSTERED, 400, 9, &set);
    bh_parts_make(&set, 4, 8, 2, 1, &parts);
    append(&out, "abc", 3);
    assert_int_equal(bh_let_create(&parts[0].tree, &let), EQP_OK);
    for (int round = 0; round < 2; round++) {
        message alone = {0};
        const size_t before = out.size;
        for (int64_t g = 0; g < parts[1].ngroups; g++) {
            for (int64_t b = 0; b < parts[0].tree.nbranches; b++) {
                assert_int_equal(bh_let_mark(let, b, &parts[1].group[g], &geometric, NULL, NULL), EQP_OK);
            }
        }
        assert_int_equal(bh_let_pack(let, &out.bytes, &out.size, &out.capacity, &ncells, &nparticles), EQP_OK);
        pack_for(parts, 2, 0, 1, &geometric, NULL, &alone);
        assert_int_equal(out.size - before, alone.size);
        assert_memory_equal(out.bytes + before, alone.bytes, alone.size);
        bh_let_reset(let);
        assert_int_equal(bh_let_pack(let, &out.bytes, &out.size, &out.capacity, &ncells, &nparticles), EQP_OK);
        assert_int_equal(out.size - before, alone.size);
        assert_int_equal(ncells + nparticles, 0);
        free(alone.bytes);
    }
    assert_memory_equal(out.bytes, "abc", 3);
    assert_int_equal(bh_let_mark(let, -1, parts[1].group, &geometric, NULL, NULL), EQP_ERR_ARGUMENT);
    assert_int_equal(bh_let_mark(let, parts[0].tree.nbranches, parts[1].group, &geometric, NULL, NULL),
                     EQP_ERR_ARGUMENT);
    bh_let_free(let);
    bh_let_free(NULL);
    free(out.bytes);
    bh_parts_free(2, parts);
    bh_set_free(&set);
}

/* Grafts a bad message in a block of exactly its size, so that a sanitizer sees any step over its end. */
static int graft_copy(bh_tree *tree, int home, const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const int code = bh_let_graft(tree, home, copy, size);
    free(copy);
    return code;
}

static void a_damaged_message_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    bh_set set;
    bh_part *parts;
    message out = {0};
    int64_t accepted = 0;
    bh_set_make(BH_UNIFORM, 150, 31, &set);
    bh_parts_make(&set, 4, 4, 2, 1, &parts);
    bh_tree *tree = &parts[1].tree;
    const int64_t ncells = tree->ncells, nsources = tree->sources.n;
    pack_for(parts, 2, 0, 1, &geometric, NULL, &out);
    for (size_t size = 1; size < out.size; size++) {
        assert_int_equal(graft_copy(tree, 0, out.bytes, size), EQP_ERR_FORMAT);
    }
    assert_int_equal(graft_copy(tree, 1, out.bytes, out.size), EQP_ERR_FORMAT);
    assert_int_equal(graft_copy(tree, 2, out.bytes, out.size), EQP_ERR_FORMAT);
    for (uint64_t i = 0; i < 4000; i++) {
        const size_t at = (size_t)eqp_random_below(1, 0, i, out.size);
        const unsigned char was = out.bytes[at];
        out.bytes[at] ^= (unsigned char)(1 + eqp_random_below(1, 1, i, 255));
        const int code = graft_copy(tree, 0, out.bytes, out.size);
        out.bytes[at] = was;
        assert_true(code == EQP_ERR_FORMAT || code == EQP_OK);
        if (code == EQP_OK) { /* a last bit that no moment feels: harmless, but now the branch is taken */
            accepted++;
            assert_int_equal(bh_tree_check(tree), EQP_OK);
            bh_parts_free(2, parts);
            bh_parts_make(&set, 4, 4, 2, 1, &parts);
            tree = &parts[1].tree;
        }
        assert_int_equal(tree->ncells, ncells);
        assert_int_equal(tree->sources.n, nsources);
    }
    assert_true(accepted < 400);
    for (uint64_t i = 0; i < 2000; i++) { /* noise behind a good header */
        unsigned char noise[400];
        const size_t size = (size_t)eqp_random_below(2, 0, i, sizeof(noise));
        for (size_t k = 0; k < size; k++) {
            noise[k] = (unsigned char)eqp_random_below(3, i, k, 256);
        }
        memcpy(noise, out.bytes, size < 8 ? size : 8);
        assert_int_equal(graft_copy(tree, 0, noise, size), size == 0 ? EQP_OK : EQP_ERR_FORMAT);
    }
    assert_int_equal(bh_tree_check(tree), EQP_OK);
    assert_int_equal(graft_copy(tree, 0, out.bytes, out.size), EQP_OK);
    assert_int_equal(bh_tree_check(tree), EQP_OK);
    assert_int_equal(graft_copy(tree, 0, out.bytes, out.size), EQP_ERR_FORMAT);
    free(out.bytes);
    bh_parts_free(2, parts);
    bh_set_free(&set);
}

/* Everything from the build to the list of rank 1, from nothing. */
static int build_send_and_walk(const bh_part *parts, int64_t nbranches, const bh_cell *branch)
{
    bh_tree tree[2];
    bh_let *let = NULL;
    bh_group *group = NULL;
    bh_list list;
    message out = {0};
    int64_t ngroups = 0, ncells, nparticles;
    int code = EQP_OK;
    bh_list_init(&list);
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
    for (int64_t g = 0; g < ngroups && let != NULL; g++) {
        for (int64_t b = 0; b < tree[0].nbranches && code == EQP_OK; b++) {
            code = bh_let_mark(let, b, &group[g], &geometric, NULL, NULL);
        }
    }
    code = code != EQP_OK ? code : bh_let_pack(let, &out.bytes, &out.size, &out.capacity, &ncells, &nparticles);
    code = code != EQP_OK ? code : bh_let_graft(&tree[1], 0, out.bytes, out.size);
    for (int64_t g = 0; g < ngroups && code == EQP_OK; g++) {
        code = bh_walk(&tree[1], tree[1].root, &group[g], &geometric, NULL, NULL, NULL, &list);
        assert_int_equal(list.nabsent, 0);
    }
    bh_list_free(&list);
    bh_let_free(let);
    free(group);
    free(out.bytes);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(bh_tree_check(&tree[r]), EQP_OK);
        bh_tree_free(&tree[r]);
    }
    return code;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    if (!failing_malloc_works) {
        skip();
    }
    bh_set set;
    bh_part *parts;
    int64_t k = 0, nbranches;
    bh_set_make(BH_UNIFORM, 900, 41, &set);
    bh_parts_make(&set, 4, 8, 2, 1, &parts);
    nbranches = parts[0].tree.nbranches + parts[1].tree.nbranches;
    bh_cell *branch = malloc((size_t)nbranches * sizeof(*branch));
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
    free(branch);
    bh_parts_free(2, parts);
    bh_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_do_not_depend_on_the_number_of_ranks),
        cmocka_unit_test(few_particles_and_many_ranks_agree),
        cmocka_unit_test(dealt_tiles_are_computed_exactly_once),
        cmocka_unit_test(what_is_absent_is_found_before_and_after_the_exchange),
        cmocka_unit_test(reset_forgets_and_messages_are_appended),
        cmocka_unit_test(a_damaged_message_is_refused_and_changes_nothing),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
