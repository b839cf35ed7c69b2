/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluations: wrong arguments, overflow, failed allocations. Packed ones join to the whole for any split, and damaged
 * bytes are refused. */

#include "evaluation_world.h"
#include "failing_malloc.h"

FREES(eqp_evaluation, eqp_evaluation_free)

TEST(wrong_arguments_are_refused)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS, bad = {.alpha = 1, .beta = -1, .node = 1};
    const eqp_exchange_plan direct = EQP_EXCHANGE_PLAN_DEFAULTS, nodes = {EQP_STAGES_DIRECT, 0, 3};
    FREED(eqp_evaluation) *e = NULL;
    eqp_evaluated r = {.messages_max = -7};

    assert_refused(eqp_evaluation_create(0, PHASES, is_back, is_ghosts, &e));
    assert_refused(eqp_evaluation_create(4, EQP_PHASES_MAX + 1, is_back, is_ghosts, &e));
    assert_null(e);
    assert_ok(eqp_evaluation_create(4, PHASES, is_back, is_ghosts, &e));
    assert_refused(eqp_evaluation_load(e, 4, 1));
    assert_int_equal(eqp_evaluation_load(e, 3, -1), EQP_ERR_DATA);
    assert_int_equal(eqp_evaluation_load(e, 3, 1e308 * 10), EQP_ERR_DATA);
    assert_refused(eqp_evaluation_common(e, 0, -1));
    assert_refused(eqp_evaluation_meanwhile(e, PHASES, 0, 1));
    assert_refused(eqp_evaluation_meanwhile(e, 0, 4, 1));
    assert_int_equal(eqp_evaluation_meanwhile(e, 0, 0, -1), EQP_ERR_DATA);
    assert_refused(eqp_evaluation_held(e, 0, -1));
    assert_refused(eqp_evaluation_block(e, PHASES, 0, 1, 1, 0));
    assert_refused(eqp_evaluation_block(e, 0, 0, -1, 1, 0));
    assert_refused(eqp_evaluation_block(e, 0, 0, 1, 1, 4));
    assert_refused(eqp_evaluation_need(e, 0, 0, -1));
    assert_refused(eqp_evaluation_need(e, -1, 0, 0));
    assert_refused(eqp__evaluation_by_plan(e, &network, &nodes, NULL, &r));
    assert_refused(eqp__evaluation_by_plan(e, &bad, &direct, NULL, &r));
    assert_ok(eqp_evaluation_need(e, 0, 17, 3));
    assert_int_equal(eqp__evaluation_by_plan(e, &network, &direct, NULL, &r), EQP_ERR_UNKNOWN);
    assert_int_equal(evaluate_best(e, &network, &r), EQP_ERR_UNKNOWN);
    assert_int_equal(r.messages_max, -7);
    assert_ok(eqp_evaluation_block(e, 0, 17, 8, 1, 0));
    assert_int_equal(eqp_evaluation_block(e, 0, 17, 8, 1, 1), EQP_ERR_DATA);
    assert_ok(eqp__evaluation_by_plan(e, &network, &direct, NULL, &r));
    assert_int_equal(r.bytes_total, 8);
}

/* Blocks enough that all tables grow. */
static int fill_and_ask(eqp_evaluation **e, eqp_evaluated *r, size_t *size, void **bytes)
{
    const eqp_network network = {.alpha = 2e-6, .beta = 1e-9, .node = 2};
    const eqp_exchange_plan plan = {EQP_STAGES_LOG, 4, 2};
    int code = eqp_evaluation_create(6, 1, is_back, is_ghosts, e);

    for (int b = 0; code == EQP_OK && b < 50; b++) {
        code = eqp_evaluation_block(*e, 0, b, 8, 1, b % 6);
        for (int p = 0; code == EQP_OK && p < 6; p++) {
            code = eqp_evaluation_need(*e, 0, b, p);
        }
    }
    if (code == EQP_OK) {
        code = eqp__evaluation_by_plan(*e, &network, &plan, NULL, r);
    }
    return code ? code : eqp__evaluation_pack(*e, size, bytes);
}

TEST(evaluations_survive_failing_allocations)
{
    size_t size = 0;
    HEAP void *bytes = NULL;
    int64_t k = 0, failures;

    SKIP_IF(!failing_malloc_works);
    do {
        FREED(eqp_evaluation) *e = NULL;
        eqp_evaluated r;
        failing_malloc_start(k++);
        const int code = fill_and_ask(&e, &r, &size, &bytes);
        failures = failing_malloc_stop();
        assert_int_equal(code, failures ? EQP_ERR_MEMORY : EQP_OK);
        assert_int_equal(bytes != NULL, !failures);
    } while (failures);
    for (k = 0, failures = 1; failures; k++) {
        FREED(eqp_evaluation) *e = NULL;
        assert_ok(eqp_evaluation_create(6, 1, is_back, is_ghosts, &e));
        failing_malloc_start(k);
        const int code = eqp__evaluation_merge(e, size, bytes);
        failures = failing_malloc_stop();
        assert_int_equal(code, failures ? EQP_ERR_MEMORY : EQP_OK);
        /* A failed merge can be repeated: blocks and needs are sets, and loads come last. */
        assert_ok(eqp__evaluation_merge(e, size, bytes));
    }
}

TEST(sums_that_do_not_fit_are_errors)
{
    static const int out[1] = {0}, ghosts[1] = {1};
    const eqp_network net = {.alpha = 1, .beta = 1, .node = 1};
    eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
    eqp_evaluated r = {.load_max = -7};
    size_t size;
    void *bytes;

    for (int kind = 0; kind < 4; kind++) { /* too many bytes, elements, broadcast bytes, seconds */
        eqp_evaluation *e, *sum;
        assert_ok(eqp_evaluation_create(3, 1, out, ghosts, &e));
        assert_ok(eqp_evaluation_create(3, 1, out, ghosts, &sum));
        for (int64_t block = 0; block < 5; block++) {
            const int64_t much = INT64_MAX / 4;
            assert_ok(eqp_evaluation_block(e, 0, block, kind == 0 ? much : 1, kind == 1 ? much : 1, 0));
            assert_ok(eqp_evaluation_need(e, 0, block, 1 + (int)(block % 2)));
        }
        for (int part = 0; part < 3 && kind == 2; part++) {
            assert_ok(eqp_evaluation_common(e, part, INT64_MAX));
        }
        assert_ok(eqp_evaluation_load(e, 0, kind == 3 ? 1.7e308 : 1));
        assert_int_equal(eqp_evaluation_load(e, 0, 1.7e308), kind == 3 ? EQP_ERR_OVERFLOW : EQP_OK);
        assert_ok(eqp__evaluation_pack(e, &size, &bytes));
        assert_ok(eqp__evaluation_merge(sum, size, bytes));
        if (kind == 3) {
            assert_int_equal(eqp__evaluation_merge(sum, size, bytes), EQP_ERR_FORMAT);
        } else {
            assert_int_equal(eqp__evaluation_by_plan(sum, &net, &plan, NULL, &r), EQP_ERR_OVERFLOW);
            assert_int_equal(evaluate_best(sum, &net, &r), EQP_ERR_OVERFLOW);
            assert_true(r.load_max == -7);
        }
        free(bytes);
        eqp_evaluation_free(sum);
        eqp_evaluation_free(e);
    }
    /* the counts of a broadcast overflow in the sum over the parts */
    eqp_evaluation *e;
    assert_ok(eqp_evaluation_create(1024, 1, out, ghosts, &e));
    for (int part = 0; part < 1024; part++) {
        assert_ok(eqp_evaluation_need(e, 0, 0, part));
        assert_ok(eqp_evaluation_common(e, part, INT64_C(1) << 44));
    }
    assert_ok(eqp_evaluation_block(e, 0, 0, 1, 1, 0));
    assert_int_equal(eqp__evaluation_by_plan(e, &net, &plan, NULL, &r), EQP_ERR_OVERFLOW);
    eqp_evaluation_free(e);
}

/* Packing is unique. */
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
        FREED(eqp_evaluation) *whole = evaluation_of(&a, 0, 1), *joined = evaluation_of(&a, tellers - 1, tellers);
        for (int who = 0; who < tellers - 1; who++) {
            FREED(eqp_evaluation) *part = evaluation_of(&a, who, tellers);
            HEAP void *bytes = NULL;
            size_t size = 0;
            assert_ok(eqp__evaluation_pack(part, &size, &bytes));
            assert_ok(eqp__evaluation_merge(joined, size, bytes));
        }
        assert_packs_alike(whole, joined);
    }
}

TEST(invalid_bytes_are_refused)
{
    static assignment a;
    unsigned char *bytes = NULL, *copy;
    size_t size = 0;
    HEAP void *packed = NULL;

    assignment_make(5, &a);
    FREED(eqp_evaluation) *whole = evaluation_of(&a, 0, 1), *e = evaluation_of(&a, 0, 1);
    assert_ok(eqp__evaluation_pack(whole, &size, &packed));
    bytes = packed;
    for (size_t cut = 0; cut < size; cut++) {
        copy = malloc(cut + 1); /* lets a sanitizer see reads beyond it */
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
}

TEST(mismatched_parts_phases_and_blocks_are_not_merged)
{
    static const int forth[PHASES] = {0, 0, 0};
    FREED(eqp_evaluation) *a = NULL, *parts = NULL, *phases = NULL, *ways = NULL, *blocks = NULL;
    HEAP void *bytes = NULL;
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
}
