/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed evaluations: they join to the whole however it was split, and no other bytes are taken. */

#include "evaluation_world.h"

/* Packed bytes say everything, and in one way only. */
static void assert_packs_alike(eqp_evaluation *a, eqp_evaluation *b)
{
    void *x = NULL, *y = NULL;
    size_t nx = 0, ny = 0;

    assert_ok(eqp__evaluation_pack(a, &nx, &x));
    assert_ok(eqp__evaluation_pack(b, &ny, &y));
    assert_int_equal(nx, ny);
    assert_memory_equal(x, y, nx);
    free(x);
    free(y);
}

TEST(split_streams_join_to_the_whole)
{
    static assignment a;

    for (int nparts = 1; nparts <= WORLD_PARTS; nparts += 3) {
        const int tellers = 1 + below(5);
        assignment_make(nparts, &a);
        eqp_evaluation *whole = evaluation_of(&a, 0, 1), *joined = evaluation_of(&a, tellers - 1, tellers);
        for (int who = 0; who < tellers - 1; who++) {
            eqp_evaluation *part = evaluation_of(&a, who, tellers);
            void *bytes = NULL;
            size_t size = 0;
            assert_ok(eqp__evaluation_pack(part, &size, &bytes));
            assert_ok(eqp__evaluation_merge(joined, size, bytes));
            free(bytes);
            eqp_evaluation_free(part);
        }
        assert_packs_alike(whole, joined);
        eqp_evaluation_free(whole);
        eqp_evaluation_free(joined);
    }
}

TEST(invalid_bytes_are_refused)
{
    static assignment a;
    eqp_evaluation *whole, *e;
    unsigned char *bytes = NULL, *copy;
    size_t size = 0;
    void *packed = NULL;

    assignment_make(5, &a);
    whole = evaluation_of(&a, 0, 1);
    e = evaluation_of(&a, 0, 1);
    assert_ok(eqp__evaluation_pack(whole, &size, &packed));
    bytes = packed;
    for (size_t cut = 0; cut < size; cut++) {
        copy = malloc(cut + 1); /* so that a sanitizer sees what reads too far */
        assert_non_null(copy);
        memcpy(copy, bytes, cut);
        assert_int_equal(eqp__evaluation_merge(e, cut, cut ? copy : NULL), EQP_ERR_FORMAT);
        free(copy);
    }
    copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    copy[size] = 0;
    assert_int_equal(eqp__evaluation_merge(e, size + 1, copy), EQP_ERR_FORMAT);
    assert_packs_alike(whole, e);
    for (size_t at = 0; at < size; at++) {
        memcpy(copy, bytes, size);
        copy[at] ^= (unsigned char)(1 + below(255));
        assert_int_equal(eqp__evaluation_merge(e, size, copy), EQP_ERR_FORMAT);
    }
    assert_packs_alike(whole, e);
    free(copy);
    free(packed);
    eqp_evaluation_free(whole);
    eqp_evaluation_free(e);
}

TEST(mismatched_parts_phases_and_blocks_are_not_merged)
{
    static const int forth[PHASES] = {0, 0, 0};
    eqp_evaluation *a = NULL, *parts = NULL, *phases = NULL, *ways = NULL, *blocks = NULL;
    void *bytes = NULL;
    size_t size = 0;

    assert_ok(eqp_evaluation_create(4, PHASES, is_back, is_ghosts, &a));
    assert_ok(eqp_evaluation_create(5, PHASES, is_back, is_ghosts, &parts));
    assert_ok(eqp_evaluation_create(4, PHASES - 1, is_back, is_ghosts, &phases));
    assert_ok(eqp_evaluation_create(4, PHASES, forth, is_ghosts, &ways));
    assert_ok(eqp_evaluation_create(4, PHASES, is_back, is_ghosts, &blocks));
    assert_ok(eqp_evaluation_block(a, 0, INT64_MAX, 8, 1, 2));
    assert_ok(eqp__evaluation_pack(a, &size, &bytes));
    assert_refused(eqp__evaluation_merge(parts, size, bytes));
    assert_refused(eqp__evaluation_merge(phases, size, bytes));
    assert_refused(eqp__evaluation_merge(ways, size, bytes));
    assert_ok(eqp_evaluation_block(blocks, 0, INT64_MAX, 8, 1, 3));
    assert_int_equal(eqp__evaluation_merge(blocks, size, bytes), EQP_ERR_DATA);
    assert_ok(eqp__evaluation_merge(a, size, bytes));
    free(bytes);
    eqp_evaluation_free(a);
    eqp_evaluation_free(parts);
    eqp_evaluation_free(phases);
    eqp_evaluation_free(ways);
    eqp_evaluation_free(blocks);
}
