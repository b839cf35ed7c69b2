/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop whose iterations travel in bundles, with checks of what is packed, computed and returned, by which rank, and
 * that each result returns exactly once. Include after harness.h. */
#ifndef TESTS_BUNDLES_BODY_H
#define TESTS_BUNDLES_BODY_H

#include <equipoise/more/comm.h>
#include <equipoise/more/loops.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

/* Where a rank fails. */
typedef enum place { NOWHERE, OWN, PACK, AWAY, TAKE } place;

/* How a callback fails: by its code, or by its output. */
typedef enum manner { CODE, NOTHING, NO_BYTES, TOO_LARGE } manner;

/* Header of a bundle or of its results; values follow. */
typedef struct label {
    int64_t first, count;
    int owner, helper;
} label;

typedef struct body {
    eqp_loop *loop;
    eqp_loop_work work;
    int rank, slow; /* a rank that sleeps; -1: none, -2: all helpers */
    bool alone;
    bool packs;   /* another rank may request a bundle */
    bool asked;   /* a rank has requested a bundle: a slow owner waits for that while it has iterations */
    int64_t most; /* iterations per bundle, 0: any number */
    size_t extra; /* extra bytes per bundle and result */
    bool yield;   /* chunks may be divided */
    eqp_schedule_chunk part;
    int64_t front, back;  /* iterations not handed out, if chunks are not divided */
    int64_t *result;      /* [part.count] */
    unsigned char *times; /* [part.count] number of times each result returned */
    int64_t computed, helped, packed, taken;
    place fails;
    manner how;
    int code;
} body;

static void sleep_a_little(long microseconds)
{
    const struct timespec pause = {.tv_nsec = 1000 * microseconds};

    (void)nanosleep(&pause, NULL);
}

static int64_t value_of(int64_t iteration)
{
    return iteration * iteration + 7;
}

static int compute_own(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    body *b = user;

    CHECK(data == NULL && result == NULL);
    CHECK(count > 0 && first >= b->part.first && first + count <= b->part.first + b->part.count);
    CHECK(b->yield || first == b->front);
    b->front = first + count;
    b->computed += count;
    if (b->fails == OWN) {
        return b->code;
    }
    for (int64_t i = first - b->part.first; i < first - b->part.first + count; i++) {
        b->result[i] = 3 * value_of(b->part.first + i);
        b->times[i]++;
    }
    if (b->rank == b->slow) {
        sleep_a_little(b->asked ? 200 : 5000);
    }
    return EQP_OK;
}

/* The output of a failing callback. */
static int fail(const body *b, void **bytes, size_t *size)
{
    if (b->how == CODE) {
        return b->code;
    }
    *bytes = b->how == NOTHING ? NULL : mpi_test_alloc(1, 1);
    *size = b->how == NO_BYTES ? 0 : (size_t)INT_MAX + 1;
    return EQP_OK;
}

/* A label, one number per iteration, and filler bytes that depend on their position. */
static char *new_bundle(const body *b, const label *l, size_t *size)
{
    const size_t numbers = (size_t)l->count * sizeof(int64_t);
    char *bundle;

    *size = sizeof *l + numbers + b->extra;
    bundle = mpi_test_alloc((int64_t)*size, 1);
    memcpy(bundle, l, sizeof *l);
    for (size_t i = 0; i < b->extra; i++) {
        bundle[sizeof *l + numbers + i] = (char)((size_t)l->first + 31 * i);
    }
    return bundle;
}

static void check_bundle(const body *b, const char *bundle, size_t size, int owner, int helper, int64_t first,
                         int64_t count)
{
    const size_t numbers = (size_t)count * sizeof(int64_t);
    label l;

    CHECK_EQUAL(size, sizeof l + numbers + b->extra);
    memcpy(&l, bundle, sizeof l);
    CHECK_EQUAL(l.first, first);
    CHECK_EQUAL(l.count, count);
    CHECK_EQUAL(l.owner, owner);
    CHECK(helper < 0 || l.helper == helper);
    for (size_t i = 0; i < b->extra; i++) {
        CHECK_EQUAL(bundle[sizeof l + numbers + i], (char)((size_t)first + 31 * i));
    }
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    body *b = user;
    const label l = {first, count, b->rank, to};
    char *bundle;

    b->asked = true;
    CHECK(b->packs && to != b->rank && count > 0 && (b->most == 0 || count <= b->most));
    CHECK(first >= b->part.first && first + count <= b->part.first + b->part.count);
    CHECK(b->yield || first + count == b->back);
    b->back = first;
    if (b->fails == PACK) {
        return fail(b, data, bytes);
    }
    b->packed += count;
    bundle = new_bundle(b, &l, bytes);
    for (int64_t i = 0; i < count; i++) {
        const int64_t value = value_of(first + i);
        memcpy(bundle + sizeof l + (size_t)i * sizeof value, &value, sizeof value);
    }
    *data = bundle;
    return EQP_OK;
}

static int compute_away(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                        void **result, size_t *result_bytes)
{
    body *b = user;
    const eqp_schedule_chunk part = eqp_loop_part(b->loop, owner);
    const label l = {first, count, owner, b->rank};
    char *back;

    CHECK(owner != b->rank && first >= part.first && first + count <= part.first + part.count);
    check_bundle(b, data, bytes, owner, b->rank, first, count);
    if (b->fails == AWAY) {
        return fail(b, result, result_bytes);
    }
    b->computed += count;
    b->helped += count;
    back = new_bundle(b, &l, result_bytes);
    for (int64_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, (const char *)data + sizeof l + (size_t)i * sizeof value, sizeof value);
        value *= 3;
        memcpy(back + sizeof l + (size_t)i * sizeof value, &value, sizeof value);
    }
    if (b->rank == b->slow || b->slow == -2) {
        sleep_a_little(200);
    }
    *result = back;
    return EQP_OK;
}

static int take(void *user, int64_t first, int64_t count, const void *result, size_t bytes)
{
    body *b = user;

    check_bundle(b, result, bytes, b->rank, -1, first, count);
    if (b->fails == TAKE) {
        return b->code;
    }
    b->taken += count;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = first - b->part.first + i;
        CHECK(at >= 0 && at < b->part.count);
        memcpy(&b->result[at], (const char *)result + sizeof(label) + (size_t)i * sizeof(int64_t), sizeof(int64_t));
        b->times[at]++;
    }
    return EQP_OK;
}

static const eqp_loop_bundles bundles = {pack, compute_away, take};

static void body_begin(MPI_Comm comm, body *b, const char *method, eqp_loop_options options)
{
    options.size = sizeof options;
    options.engine = EQP_LOOP_MASTER;
    options.bundles = true;
    *b = (body){.alone = mpi_test_size(comm) == 1,
                .rank = mpi_test_rank(comm),
                .slow = -1,
                .yield = options.yield,
                .most = options.most_given,
                .packs = true};
    b->work = (eqp_loop_work){.compute = compute_own, .user = b, .bundles = &bundles};
    CHECK_EQUAL(eqp_loop_create(comm, eqp_schedule_method_find(method), 0, NULL, &options, &b->loop), EQP_OK);
}

static void body_resize(body *b, int64_t mine)
{
    CHECK_EQUAL(eqp_loop_resize(b->loop, mine), EQP_OK);
    b->part = eqp_loop_part(b->loop, b->rank);
    CHECK_EQUAL(b->part.count, mine);
    free(b->result);
    free(b->times);
    b->result = mpi_test_alloc(mine, sizeof *b->result);
    b->times = mpi_test_alloc(mine, 1);
}

static void body_end(body *b)
{
    eqp_loop_free(b->loop);
    free(b->result);
    free(b->times);
}

static int64_t sum_of(MPI_Comm comm, int64_t mine)
{
    CHECK_EQUAL(eqp_sum_int64(comm, 1, &mine), EQP_OK);
    return mine;
}

static int body_try(body *b, eqp_loop_result *mine)
{
    for (int64_t i = 0; i < b->part.count; i++) {
        b->times[i] = 0;
        b->result[i] = -1;
    }
    b->computed = b->helped = b->packed = b->taken = 0;
    b->asked = b->alone;
    b->front = b->part.first;
    b->back = b->part.first + b->part.count;
    return eqp_loop_run(b->loop, &b->work, mine);
}

/* Runs once and compares the reported counts with the calls made. Returns the iterations computed by helpers. */
static int64_t body_run(MPI_Comm comm, body *b, eqp_loop_result *result)
{
    eqp_loop_result mine = {.chunks = -1};
    int64_t helped;

    CHECK_EQUAL(body_try(b, &mine), EQP_OK);
    for (int64_t i = 0; i < b->part.count; i++) {
        CHECK_EQUAL(b->times[i], 1);
        CHECK_EQUAL(b->result[i], 3 * value_of(b->part.first + i));
    }
    CHECK_EQUAL(mine.iterations, b->computed);
    CHECK_EQUAL(mine.helped, b->helped);
    CHECK_EQUAL(b->packed, b->taken);
    CHECK((mine.chunks > 0) == (mine.iterations > 0) && mine.taken <= mine.chunks);
    helped = sum_of(comm, mine.helped);
    CHECK_EQUAL(sum_of(comm, b->taken), helped);
    CHECK_EQUAL(sum_of(comm, mine.iterations), sum_of(comm, b->part.count));
    if (result) {
        *result = mine;
    }
    return helped;
}

/* Distributions of iterations over ranks. */
enum { LAYS = 7 };

static int64_t lay(int way, int rank, int nranks)
{
    switch (way) {
    case 0:
        return 0;
    case 1:
        return rank == 0 ? 60 : 0;
    case 2:
        return rank == nranks - 1 ? 61 : 0;
    case 3:
        return 1;
    case 4:
        return rank % 2 == 1 ? 9 : 0;
    case 5:
        return rank == nranks / 2 ? nranks - 1 : 0;
    default:
        return rank * 7 % 5 * 8 + 3;
    }
}

#endif
