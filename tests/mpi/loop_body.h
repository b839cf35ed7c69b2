/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop without or with bundles: its body checks what is packed, computed and returned, and by
 * which rank; every iteration is computed once, and every result returns to its owner. Include after harness.h. */
#ifndef TESTS_LOOP_BODY_H
#define TESTS_LOOP_BODY_H

#include <equipoise/more/comm.h>
#include <equipoise/more/loops.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef enum transport { ONE_SIDED, BUNDLES, TRANSPORTS } transport;

/* Defines a test that runs for each transport, in the parameter `by`. */
#define EACH_TRANSPORT(test)                                                                                           \
    static void test##_by(MPI_Comm comm, transport by);                                                                \
    MPI_TEST(test)                                                                                                     \
    {                                                                                                                  \
        for (int by = 0; by < TRANSPORTS; by++) {                                                                      \
            test##_by(comm, (transport)by);                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void test##_by(MPI_Comm comm, transport by)

/* Where a rank fails, with bundles. */
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
    transport by;
    eqp_loop_options options;
    int rank, nranks, slow; /* a rank that sleeps; -1: none, -2: all helpers, -3: all */
    long pause;             /* its sleep per call in microseconds */
    bool packs;             /* another rank may request a bundle */
    bool asked;             /* a rank has requested a bundle: a slow owner waits for that while it has iterations */
    size_t extra;           /* bytes of a bundle after the numbers */
    int64_t n;
    eqp_schedule_chunk part;
    int64_t front, back;  /* bundles: iterations not handed out, if chunks are not divided */
    int64_t *result;      /* bundles: [part.count] */
    unsigned char *times; /* [n] number of times this rank computed an iteration */
    int64_t computed, helped, packed, taken;
    int64_t fails_at; /* this iteration fails; -1: none */
    place fails;
    manner how;
    int code;
} body;

/* A clock of this process that advances by r + 1 seconds per iteration on rank r. */
static double told_seconds;

static void sleep_a_little(long microseconds)
{
    const struct timespec pause = {.tv_nsec = 1000 * microseconds};

    (void)nanosleep(&pause, NULL);
}

static int64_t value_of(int64_t iteration)
{
    return iteration * iteration + 7;
}

/* Counts iterations that this rank computes. */
static int note(body *b, int64_t first, int64_t count)
{
    CHECK(first >= 0 && count > 0 && first + count <= b->n);
    told_seconds += (1.0 + b->rank) * (double)count;
    b->computed += count;
    for (int64_t i = first; i < first + count; i++) {
        b->times[i]++;
        b->helped += i < b->part.first || i >= b->part.first + b->part.count;
    }
    return b->fails_at >= first && b->fails_at < first + count ? b->code : EQP_OK;
}

/* Bytes after the numbers depend on their position. */
static void fill(char *bytes, size_t n, int64_t first)
{
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (char)((size_t)first + 31 * i);
    }
}

static int compute(void *user, int64_t first, int64_t count)
{
    body *b = user;
    int code = note(b, first, count);

    if (b->by == BUNDLES) {
        CHECK(first >= b->part.first && first + count <= b->part.first + b->part.count);
        CHECK(b->options.yield || first == b->front);
        b->front = first + count;
        code = b->fails == OWN ? b->code : code;
        for (int64_t i = first; i < first + count && code == EQP_OK; i++) {
            b->result[i - b->part.first] = 3 * value_of(i);
        }
    }
    if ((b->rank == b->slow || b->slow == -3) && code == EQP_OK) {
        sleep_a_little(b->by == BUNDLES && b->slow >= 0 && !b->asked ? 5000 : b->pause);
    }
    return code;
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

/* A label, `factor` times one value per iteration, and the extra bytes. */
static void *new_bundle(const body *b, label l, int factor, size_t *size)
{
    char *bundle, *at;

    *size = sizeof l + (size_t)l.count * sizeof(int64_t) + b->extra;
    at = bundle = mpi_test_alloc((int64_t)*size, 1);
    memcpy(at, &l, sizeof l);
    at += sizeof l;
    for (int64_t i = l.first; i < l.first + l.count; i++, at += sizeof(int64_t)) {
        const int64_t value = factor * value_of(i);
        memcpy(at, &value, sizeof value);
    }
    fill(at, b->extra, l.first);
    return bundle;
}

/* Compares a bundle with the one that was made. helper -1: any. */
static void check_bundle(const body *b, const char *bundle, size_t size, label l, int factor)
{
    size_t same;

    CHECK(size >= sizeof l);
    if (l.helper < 0) {
        memcpy(&l.helper, bundle + offsetof(label, helper), sizeof l.helper);
    }
    char *expected = new_bundle(b, l, factor, &same);
    CHECK_EQUAL(size, same);
    CHECK(memcmp(bundle, expected, size) == 0);
    free(expected);
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    body *b = user;

    b->asked = true;
    CHECK(b->packs && to != b->rank && count > 0 && (b->options.most_given == 0 || count <= b->options.most_given));
    CHECK(first >= b->part.first && first + count <= b->part.first + b->part.count);
    CHECK(b->options.yield || first + count == b->back);
    b->back = first;
    if (b->fails == PACK) {
        return fail(b, data, bytes);
    }
    b->packed += count;
    *data = new_bundle(b, (label){first, count, b->rank, to}, 1, bytes);
    return EQP_OK;
}

static int compute_away(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                        void **result, size_t *result_bytes)
{
    body *b = user;
    const eqp_schedule_chunk part = eqp_loop_part(b->loop, owner);
    const label l = {first, count, owner, b->rank};

    CHECK(owner != b->rank && first >= part.first && first + count <= part.first + part.count);
    check_bundle(b, data, bytes, l, 1);
    if (b->fails == AWAY) {
        return fail(b, result, result_bytes);
    }
    if (note(b, first, count) != EQP_OK) {
        return b->code;
    }
    if (b->rank == b->slow || b->slow < -1) {
        sleep_a_little(200);
    }
    *result = new_bundle(b, l, 3, result_bytes);
    return EQP_OK;
}

static int take(void *user, int64_t first, int64_t count, const void *result, size_t bytes)
{
    body *b = user;

    CHECK(first >= b->part.first && first + count <= b->part.first + b->part.count);
    check_bundle(b, result, bytes, (label){first, count, b->rank, -1}, 3);
    if (b->fails == TAKE) {
        return b->code;
    }
    b->taken += count;
    memcpy(b->result + first - b->part.first, (const char *)result + sizeof(label), (size_t)count * sizeof(int64_t));
    return EQP_OK;
}

static const eqp_loop_bundles bundles = {pack, compute_away, take};

static int64_t sum_of(MPI_Comm comm, int64_t mine)
{
    CHECK_EQUAL(eqp_sum_int64(comm, 1, &mine), EQP_OK);
    return mine;
}

/* With bundles this rank gets `mine` iterations; without, the ranks share the sum evenly. */
static void body_resize(MPI_Comm comm, body *b, int64_t mine)
{
    CHECK_EQUAL(b->by == BUNDLES ? eqp_loop_resize(b->loop, mine) : EQP_OK, EQP_OK);
    b->part = eqp_loop_part(b->loop, b->rank);
    CHECK(b->by != BUNDLES || b->part.count == mine);
    free(b->result);
    free(b->times);
    b->n = sum_of(comm, mine);
    b->times = mpi_test_alloc(b->n, 1);
    b->result = mpi_test_alloc(b->part.count, sizeof *b->result);
}

static void body_begin(MPI_Comm comm, body *b, transport by, const char *method, int64_t mine, eqp_loop_options options)
{
    *b = (body){.by = by,
                .rank = mpi_test_rank(comm),
                .nranks = mpi_test_size(comm),
                .slow = -1,
                .pause = 200,
                .packs = true,
                .fails_at = -1,
                .code = EQP_ERR_DATA};
    options.size = sizeof options;
    options.bundles = by == BUNDLES;
    b->options = options;
    b->work = (eqp_loop_work){.compute = compute, .user = b, .bundles = by == BUNDLES ? &bundles : NULL};
    CHECK_EQUAL(eqp_loop_create(comm, eqp_schedule_method_find(method), by == BUNDLES ? 0 : sum_of(comm, mine), NULL,
                                &options, &b->loop),
                EQP_OK);
    body_resize(comm, b, mine);
}

static void body_end(body *b)
{
    eqp_loop_free(b->loop);
    free(b->result);
    free(b->times);
}

static int body_try(body *b, eqp_loop_result *mine)
{
    memset(b->times, 0, (size_t)b->n);
    memset(b->result, 0, (size_t)b->part.count * sizeof *b->result);
    b->computed = b->helped = b->packed = b->taken = 0;
    b->asked = b->nranks == 1;
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
    MPI_Allreduce(MPI_IN_PLACE, b->times, (int)b->n, MPI_UNSIGNED_CHAR, MPI_SUM, comm);
    for (int64_t i = 0; i < b->n; i++) {
        CHECK_EQUAL(b->times[i], 1);
    }
    for (int64_t i = 0; i < b->part.count && b->by == BUNDLES; i++) {
        CHECK_EQUAL(b->result[i], 3 * value_of(b->part.first + i));
    }
    CHECK_EQUAL(mine.iterations, b->computed);
    CHECK_EQUAL(mine.helped, b->helped);
    CHECK_EQUAL(b->packed, b->taken);
    CHECK((mine.chunks > 0) >= (mine.iterations > 0) && mine.taken <= mine.chunks);
    CHECK(b->by != BUNDLES || (mine.chunks > 0) == (mine.iterations > 0));
    helped = sum_of(comm, mine.helped);
    CHECK(b->by != BUNDLES || sum_of(comm, b->taken) == helped);
    CHECK_EQUAL(sum_of(comm, mine.iterations), b->n);
    if (result) {
        *result = mine;
    }
    return helped;
}

/* Checks the code of a failing run on every rank, and that the next run works. */
static void check_failure(MPI_Comm comm, body *b, int expected)
{
    eqp_loop_result mine = {.chunks = -7};

    CHECK_EQUAL(body_try(b, &mine), expected);
    CHECK((mine.chunks == -7) == (expected != EQP_OK));
    for (int64_t i = 0; i < b->n; i++) {
        CHECK(b->times[i] <= 1);
    }
    b->fails = NOWHERE;
    b->fails_at = -1;
    (void)body_run(comm, b, NULL);
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
