/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of needs equals a table of bits for any order, repetition and size. */
#include "move/needs.h"

#include <equipoise/more/random.h>

#include "failing_malloc.h"
#include "unit.h"

FREES(eqp__needs, eqp__needs_free)

static uint64_t draws;

static int64_t below(int64_t n)
{
    return (int64_t)eqp_random_below(29, 1, draws++, (uint64_t)n);
}

/* table[block][part] is true if the part needs the block; block numbers are `scale` times the index. */
static void assert_is_table(eqp__needs *needs, int64_t nblocks, int nparts, int64_t scale, const unsigned char *table)
{
    const uint64_t *key;
    int64_t n, at = 0;

    assert_ok(eqp__needs_keys(needs, &n, &key));
    for (int64_t b = 0; b < nblocks; b++) {
        for (int p = 0; p < nparts; p++) {
            if (table[b * nparts + p]) {
                assert_true(at < n && eqp__key_block(key[at]) == b * scale && eqp__key_part(key[at]) == p);
                at++;
            }
        }
    }
    assert_int_equal(n, at);
}

TEST(a_stream_gives_the_set_of_its_needs)
{
    static const int64_t scale[] = {1, 1000003, (INT64_C(1) << 47) / 60 - 1};

    for (int round = 0; round < 60; round++) {
        unsigned char table[60 * 40] = {0};
        const int64_t nblocks = 1 + below(60), by = scale[round % 3];
        const int nparts = 1 + (int)below(40);
        FREED(eqp__needs) *needs = NULL;
        assert_ok(eqp__needs_create(&needs));
        assert_is_table(needs, nblocks, nparts, by, table);
        for (int batch = 0; batch < 4; batch++) {
            for (int64_t i = below(501); i > 0; i--) {
                const int64_t b = below(nblocks);
                const int part = (int)below(nparts);
                assert_ok(eqp__needs_add(needs, b * by, part));
                table[b * nparts + part] = 1;
            }
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
    enum { BLOCKS = 40000, PARTS = 64 };
    static unsigned char table[BLOCKS * PARTS];
    FREED(eqp__needs) *needs = NULL;
    uint64_t x = 12345;

    assert_ok(eqp__needs_create(&needs));
    for (int i = 0; i < 2500000; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        const int64_t block = (int64_t)((x >> 32) * BLOCKS >> 32);
        const int part = (int)(x >> 20 & (PARTS - 1));
        table[block * PARTS + part] = 1;
        assert_ok(eqp__needs_add(needs, block, part));
    }
    assert_is_table(needs, BLOCKS, PARTS, 1, table);
}

TEST(the_largest_numbers_are_kept)
{
    const int64_t last = (INT64_C(1) << 47) - 1, block[] = {last, 0, last};
    const int part[] = {65535, 65535, 0}, order[] = {1, 2, 0};
    FREED(eqp__needs) *needs = NULL;
    const uint64_t *key;
    int64_t n;

    assert_ok(eqp__needs_create(&needs));
    for (int i = 0; i < 3; i++) {
        assert_ok(eqp__needs_add(needs, block[i], part[i]));
    }
    assert_ok(eqp__needs_keys(needs, &n, &key));
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) {
        assert_true(eqp__key_block(key[i]) == block[order[i]] && eqp__key_part(key[i]) == part[order[i]]);
    }
}

enum { SOME = 700 };

static int add_and_look(eqp__needs *needs, int64_t *n)
{
    const uint64_t *key;
    int code = EQP_OK;

    for (int i = 0; i < SOME && code == EQP_OK; i++) {
        code = eqp__needs_add(needs, i, i % 3);
    }
    return code ? code : eqp__needs_keys(needs, n, &key);
}

TEST(a_set_survives_failing_allocations)
{
    int64_t failures = 1;

    SKIP_IF(!failing_malloc_works);
    for (int64_t k = 0; failures; k++) {
        FREED(eqp__needs) *needs = NULL;
        int64_t n = -1;
        failing_malloc_start(k);
        int code = eqp__needs_create(&needs);
        code = code ? code : add_and_look(needs, &n);
        failures = failing_malloc_stop();
        assert_int_equal(code, failures ? EQP_ERR_MEMORY : EQP_OK);
        assert_int_equal(n, failures ? -1 : SOME);
        if (needs) { /* what failed may be done again */
            assert_ok(add_and_look(needs, &n));
            assert_int_equal(n, SOME);
        }
        assert_true(failures || k > 6);
    }
}
