/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of needs equals a table of bits for any order, repetition and size. */

#include <equipoise/more/random.h>
#include <equipoise/more/whatif.h>

#include "failing_malloc.h"
#include "unit.h"

FREES(eqp_needs, eqp_needs_free)

static uint64_t draws;

static int64_t below(int64_t n)
{
    return (int64_t)eqp_random_below(29, 1, draws++, (uint64_t)n);
}

static void assert_empty(eqp_needs *needs)
{
    eqp_needs_view v;

    assert_ok(eqp_needs_view_get(needs, &v));
    assert_int_equal(v.nblocks, 0);
    assert_int_equal(v.first[0], 0);
}

/* table[block][part] is true if the part needs the block; block numbers are `scale` times the index. */
static void assert_is_table(eqp_needs *needs, int64_t nblocks, int nparts, int64_t scale, const unsigned char *table)
{
    int64_t at = 0, need = 0;
    eqp_needs_view v;

    assert_ok(eqp_needs_view_get(needs, &v));
    for (int64_t b = 0; b < nblocks; b++) {
        const int64_t begin = need;
        for (int p = 0; p < nparts; p++) {
            if (table[b * nparts + p]) {
                assert_true(at < v.nblocks && need < v.first[at + 1]);
                assert_true(v.part[need] == p);
                need++;
            }
        }
        if (need > begin) {
            assert_true(v.block[at] == b * scale && v.first[at] == begin && v.first[at + 1] == need);
            at++;
        }
    }
    assert_int_equal(v.nblocks, at);
    assert_int_equal(v.first[at], need);
}

TEST(a_stream_gives_the_set_of_its_needs)
{
    static const int64_t scale[] = {1, 1000003, (INT64_C(1) << 47) / 60 - 1};

    for (int round = 0; round < 60; round++) {
        unsigned char table[60 * 40] = {0};
        const int64_t nblocks = 1 + below(60), by = scale[round % 3];
        const int nparts = 1 + (int)below(40);
        FREED(eqp_needs) *needs = NULL;
        assert_ok(eqp_needs_create(nparts, &needs));
        assert_empty(needs);
        for (int batch = 0; batch < 4; batch++) {
            int64_t block[500];
            int part[500];
            const int64_t n = below(501);
            for (int64_t i = 0; i < n; i++) {
                const int64_t b = below(nblocks);
                part[i] = (int)below(nparts);
                block[i] = b * by;
                table[b * nparts + part[i]] = 1;
            }
            assert_ok(eqp_needs_add(needs, n, block, part));
            if (below(2)) {
                assert_is_table(needs, nblocks, nparts, by, table);
            }
        }
        assert_is_table(needs, nblocks, nparts, by, table);
        assert_is_table(needs, nblocks, nparts, by, table);
    }
}

/* More needs than fit into any buffer, with duplicates: runs and their merges. */
TEST(large_sets_are_sets_too)
{
    enum { BLOCKS = 40000, PARTS = 64, BATCH = 1000 };
    static unsigned char table[BLOCKS * PARTS];
    static int64_t block[BATCH];
    static int part[BATCH];
    FREED(eqp_needs) *needs = NULL;
    uint64_t x = 12345;

    assert_ok(eqp_needs_create(PARTS, &needs));
    for (int batch = 0; batch < 2500; batch++) {
        for (int i = 0; i < BATCH; i++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
            block[i] = (int64_t)((x >> 32) * BLOCKS >> 32);
            part[i] = (int)(x >> 20 & (PARTS - 1));
            table[block[i] * PARTS + part[i]] = 1;
        }
        assert_ok(eqp_needs_add(needs, BATCH, block, part));
    }
    assert_is_table(needs, BLOCKS, PARTS, 1, table);
}

TEST(limits_are_accepted_and_larger_numbers_refused)
{
    const int64_t last = (INT64_C(1) << 47) - 1, blocks[] = {last, 0, last}, beyond[] = {0, last + 1}, negative = -1;
    const int parts[] = {65535, 65535, 0}, wrong = 65536, minus = -1;
    FREED(eqp_needs) *needs = NULL;
    eqp_needs_view v;

    assert_refused(eqp_needs_create(0, &needs));
    assert_refused(eqp_needs_create(65537, &needs));
    assert_ok(eqp_needs_create(65536, &needs));
    assert_refused(eqp_needs_add(needs, 2, beyond, parts));
    assert_refused(eqp_needs_add(needs, 1, &negative, parts));
    assert_refused(eqp_needs_add(needs, 1, blocks, &wrong));
    assert_refused(eqp_needs_add(needs, 1, blocks, &minus));
    assert_refused(eqp_needs_add(needs, -1, blocks, parts));
    assert_empty(needs);
    assert_ok(eqp_needs_add(needs, 0, NULL, NULL));
    assert_ok(eqp_needs_add(needs, 3, blocks, parts));
    assert_ok(eqp_needs_view_get(needs, &v));
    assert_int_equal(v.nblocks, 2);
    assert_true(v.block[0] == 0 && v.block[1] == last);
    assert_true(v.first[1] == 1 && v.first[2] == 3);
    assert_true(v.part[0] == 65535 && v.part[1] == 0 && v.part[2] == 65535);
}

enum { SOME = 700 };

static int add_and_look(eqp_needs **needs, const int64_t *block, const int *part, eqp_needs_view *v)
{
    int code = eqp_needs_create(3, needs);

    if (code == EQP_OK) {
        code = eqp_needs_add(*needs, SOME, block, part);
    }
    return code ? code : eqp_needs_view_get(*needs, v);
}

TEST(a_set_survives_failing_allocations)
{
    int64_t block[SOME];
    int part[SOME];

    SKIP_IF(!failing_malloc_works);
    for (int i = 0; i < SOME; i++) {
        block[i] = i;
        part[i] = i % 3;
    }
    for (int64_t k = 0;; k++) {
        eqp_needs *needs = NULL;
        eqp_needs_view v = {.nblocks = -1};
        failing_malloc_start(k);
        const int code = add_and_look(&needs, block, part, &v);
        const int64_t failures = failing_malloc_stop();
        assert_int_equal(code, failures ? EQP_ERR_MEMORY : EQP_OK);
        assert_int_equal(v.nblocks, failures ? -1 : SOME);
        if (needs && failures) { /* what failed may be done again */
            assert_ok(eqp_needs_add(needs, SOME, block, part));
            assert_ok(eqp_needs_view_get(needs, &v));
            assert_int_equal(v.nblocks, SOME);
        }
        eqp_needs_free(needs);
        if (!failures) {
            assert_true(k > 6);
            return;
        }
    }
}
