/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops on real ranks: every iteration is computed once, for any method, stalled ranks, clock and data transport;
 * failures reach all ranks; loops can be rerun. */
#include "harness.h"
#include "loops/rules.h"

#include <equipoise/more/loops.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <time.h>

typedef struct body {
    int64_t n;
    int rank, slow;       /* a rank that sleeps, or -1 */
    long pause;           /* sleep per call in microseconds */
    int64_t fails;        /* this iteration fails, -1: none */
    int code;             /* code of the failure */
    unsigned char *times; /* [n] number of times this rank computed it */
    int64_t calls;
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

/* data and result: one int64_t per iteration, if they travel. */
static int compute(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    body *b = user;

    CHECK(first >= 0 && count > 0 && first + count <= b->n);
    b->calls++;
    for (int64_t i = first; i < first + count; i++) {
        b->times[i]++;
        if (i == b->fails) {
            return b->code;
        }
        if (data) {
            CHECK_EQUAL(((const int64_t *)data)[i - first], value_of(i));
        }
        if (result) {
            ((int64_t *)result)[i - first] = 3 * value_of(i);
        }
    }
    if (b->rank == b->slow) {
        sleep_a_little(b->pause);
    }
    return EQP_OK;
}

static body body_of(MPI_Comm comm, int64_t n)
{
    return (body){n, mpi_test_rank(comm), -1, 300, -1, EQP_ERR_DATA, mpi_test_alloc(n, 1), 0};
}

static void check_once(MPI_Comm comm, body *b)
{
    for (int64_t at = 0; at < b->n; at += 1 << 20) {
        const int count = (int)(b->n - at < 1 << 20 ? b->n - at : 1 << 20);
        MPI_Allreduce(MPI_IN_PLACE, b->times + at, count, MPI_UNSIGNED_CHAR, MPI_SUM, comm);
    }
    for (int64_t i = 0; i < b->n; i++) {
        CHECK_EQUAL(b->times[i], 1);
        b->times[i] = 0;
    }
}

static eqp_loop_engine engine; /* shared by all loops of a test */

#define BOTH_ENGINES(test)                                                                                             \
    static void test##_by_engine(MPI_Comm comm);                                                                       \
    MPI_TEST(test)                                                                                                     \
    {                                                                                                                  \
        engine = EQP_LOOP_ONE_SIDED;                                                                                   \
        test##_by_engine(comm);                                                                                        \
        engine = EQP_LOOP_MASTER;                                                                                      \
        test##_by_engine(comm);                                                                                        \
    }                                                                                                                  \
    static void test##_by_engine(MPI_Comm comm)

static eqp_loop *loop_of(MPI_Comm comm, const char *name, int64_t n, const eqp_loop_options *options)
{
    eqp_loop_options how = options ? *options : (eqp_loop_options){.grain = 0};
    eqp_loop *loop = NULL;

    how.size = sizeof how;
    how.engine = engine;
    CHECK_EQUAL(eqp_loop_create(comm, eqp_schedule_method_find(name), n, NULL, &how, &loop), EQP_OK);
    CHECK(loop != NULL);
    return loop;
}

/* Runs once and compares the reported counts with the iterations computed. */
static eqp_loop_result run(MPI_Comm comm, eqp_loop *loop, body *b)
{
    const eqp_loop_work work = {.compute = compute, .user = b};
    eqp_loop_result mine = {.chunks = -1};
    const eqp_schedule_chunk part = eqp_loop_part(loop, b->rank);
    int64_t sum, own = 0, helped = 0;

    CHECK_EQUAL(eqp_loop_run(loop, &work, &mine), EQP_OK);
    for (int64_t i = 0; i < b->n; i++) {
        own += b->times[i];
        helped += i < part.first || i >= part.first + part.count ? b->times[i] : 0;
    }
    CHECK_EQUAL(mine.iterations, own);
    CHECK_EQUAL(mine.helped, helped);
    CHECK((mine.chunks > 0) >= (mine.iterations > 0) && mine.taken <= mine.chunks);
    sum = mine.iterations;
    CHECK_EQUAL(eqp_sum_int64(comm, 1, &sum), EQP_OK);
    CHECK_EQUAL(sum, b->n);
    check_once(comm, b);
    return mine;
}

BOTH_ENGINES(every_method_computes_every_iteration_once)
{
    const int nranks = mpi_test_size(comm);
    const int64_t sizes[] = {0, 1, nranks - 1, nranks, 1003};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            const eqp_loop_options options = {.yield = (m + k) % 2 == 1, .grain = (int64_t)k % 3};
            body b = body_of(comm, sizes[k]);
            eqp_loop *loop = loop_of(comm, eqp_schedule_method_at(m)->name, sizes[k], &options);
            (void)run(comm, loop, &b);
            (void)run(comm, loop, &b);
            eqp_loop_free(loop);
            free(b.times);
        }
    }
}

/* One rank is slow or late: every other rank computes more. */
BOTH_ENGINES(ranks_that_stall_lose_nothing)
{
    static const char *const names[] = {"self", "guided", "awf-c", "adaptive-factoring", "fractiling"};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        body b = body_of(comm, 150);
        eqp_loop *loop = loop_of(comm, names[k], 150, NULL);
        b.slow = nranks - 1;
        (void)run(comm, loop, &b);
        if (mpi_test_rank(comm) == 0) {
            sleep_a_little(3000);
        }
        (void)run(comm, loop, &b);
        eqp_loop_free(loop);
        free(b.times);
    }
}

/* Static chunks, one of them slow: its rank gives away iterations not begun. Where one-sided operations are messages,
 * each takes the time of several pieces, so there are many pieces. */
BOTH_ENGINES(overrun_chunks_are_given_away)
{
    enum { EACH = 200 };
    const int nranks = mpi_test_size(comm);

    for (int64_t grain = 1; grain <= 4; grain += 3) {
        const eqp_loop_options options = {.yield = true, .grain = grain};
        body b = body_of(comm, (int64_t)EACH * nranks);
        eqp_loop *loop = loop_of(comm, "static", b.n, &options);
        eqp_loop_result mine;
        int64_t taken;

        b.slow = 0;
        b.pause = 500 * (long)grain;
        mine = run(comm, loop, &b);
        taken = mine.taken;
        CHECK_EQUAL(eqp_sum_int64(comm, 1, &taken), EQP_OK);
        CHECK(nranks == 1 ? taken == 0 : taken > 0);
        CHECK(nranks == 1 || b.rank != 0 || mine.iterations < EACH);
        eqp_loop_free(loop);
        free(b.times);
    }
}

/* Chunks are cut, and the pieces cut again. */
BOTH_ENGINES(what_is_taken_is_given_away_again)
{
    const int nranks = mpi_test_size(comm);

    for (int k = 0; k < 24; k++) {
        const eqp_loop_options options = {.yield = true, .grain = k % 4 == 3 ? INT64_MAX : k % 4};
        body b = body_of(comm, 10 * nranks + 7 * k);
        eqp_loop *loop = loop_of(comm, k % 2 ? "fractiling" : "static", b.n, &options);
        b.slow = k % nranks;
        b.pause = 100;
        (void)run(comm, loop, &b);
        b.slow = (k + 1) % nranks;
        (void)run(comm, loop, &b);
        eqp_loop_free(loop);
        free(b.times);
    }
}

/* The slow rank fails while all other ranks wait for its iterations. */
BOTH_ENGINES(who_waits_for_more_hears_of_a_failure)
{
    static const int codes[] = {EQP_ERR_DATA, EQP_ERR_MPI};
    const eqp_loop_options options = {.yield = true, .grain = 1};

    for (int k = 0; k < 6; k++) {
        body b = body_of(comm, 60 * mpi_test_size(comm));
        const eqp_loop_work work = {.compute = compute, .user = &b};
        eqp_loop *loop = loop_of(comm, "static", b.n, &options);
        b.slow = 0;
        b.pause = 1000;
        b.fails = 1 + k;
        b.code = codes[k % 2];
        CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), b.code);
        b.fails = -1;
        memset(b.times, 0, (size_t)b.n);
        (void)run(comm, loop, &b);
        eqp_loop_free(loop);
        free(b.times);
    }
}

/* Data come from the owner and results return to it, whichever rank computes. */
BOTH_ENGINES(data_travel_and_results_return)
{
    const eqp_loop_options options = {
        .data_bytes = sizeof(int64_t), .result_bytes = sizeof(int64_t), .yield = true, .grain = 3};
    const int64_t n = 500;
    const eqp_schedule_chunk part = eqp__schedule_part(n, mpi_test_size(comm), mpi_test_rank(comm));
    int64_t *data = mpi_test_alloc(part.count, sizeof *data), *result = mpi_test_alloc(part.count, sizeof *result);
    body b = body_of(comm, n);
    const eqp_loop_work work = {.compute = compute, .user = &b, .data = data, .result = result};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        eqp_loop *loop = loop_of(comm, eqp_schedule_method_at(m)->name, n, &options);
        for (int64_t i = 0; i < part.count; i++) {
            data[i] = value_of(part.first + i);
            result[i] = -1;
        }
        b.slow = m % mpi_test_size(comm);
        CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_OK);
        check_once(comm, &b);
        for (int64_t i = 0; i < part.count; i++) {
            CHECK_EQUAL(result[i], 3 * value_of(part.first + i));
        }
        eqp_loop_free(loop);
    }
    free(data);
    free(result);
    free(b.times);
}

/* Exceeds the buffer. */
static int compute_large(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    const size_t size = *(const size_t *)user;

    for (int64_t i = 0; i < count; i++) {
        const unsigned char *in = (const unsigned char *)data + (size_t)i * size;
        CHECK(in[0] == (first + i) % 251 && in[size - 1] == (first + i) % 241);
        ((double *)result)[i] = (double)(first + i);
    }
    return EQP_OK;
}

BOTH_ENGINES(large_data_travel_in_pieces)
{
    size_t size = 700001;
    const eqp_loop_options options = {.data_bytes = size, .result_bytes = sizeof(double)};
    const int64_t n = 9;
    const eqp_schedule_chunk part = eqp__schedule_part(n, mpi_test_size(comm), mpi_test_rank(comm));
    unsigned char *data = mpi_test_alloc(part.count, size);
    double *result = mpi_test_alloc(part.count, sizeof *result);
    const eqp_loop_work work = {.compute = compute_large, .user = &size, .data = data, .result = result};
    eqp_loop *loop = loop_of(comm, "guided", n, &options);

    for (int64_t i = 0; i < part.count; i++) {
        data[(size_t)i * size] = (unsigned char)((part.first + i) % 251);
        data[(size_t)i * size + size - 1] = (unsigned char)((part.first + i) % 241);
    }
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_OK);
    for (int64_t i = 0; i < part.count; i++) {
        CHECK_EQUAL(result[i], (double)(part.first + i));
    }
    eqp_loop_free(loop);
    free(data);
    free(result);
}

static double clock_at; /* of the clocks below */

static double clock_backwards(void *user)
{
    (void)user;
    return clock_at -= 1.0;
}

static double clock_nowhere(void *user)
{
    (void)user;
    return NAN;
}

static double clock_stands(void *user)
{
    (void)user;
    return 3.0;
}

BOTH_ENGINES(bad_clocks_lose_nothing)
{
    double (*const clocks[])(void *) = {clock_backwards, clock_nowhere, clock_stands};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int c = 0; c < 3; c++) {
            const eqp_loop_options options = {.clock.seconds = clocks[c], .yield = c == 1};
            body b = body_of(comm, 200);
            eqp_loop *loop = loop_of(comm, eqp_schedule_method_at(m)->name, 200, &options);
            const eqp_loop_result mine = run(comm, loop, &b);
            CHECK(c < 2 ? mine.refused >= (mine.iterations > 0) : mine.refused == 0);
            eqp_loop_free(loop);
            free(b.times);
        }
    }
}

/* The clock of rank r advances by r + 1 seconds per iteration. */
static double told_seconds;

static double told_clock(void *user)
{
    return *(const double *)user;
}

static int compute_by_rank(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    (void)first;
    (void)data;
    (void)result;
    told_seconds += (1.0 + *(const int *)user) * (double)count;
    sleep_a_little(1000); /* so that all ranks get something */
    return EQP_OK;
}

BOTH_ENGINES(speeds_are_learnt_from_time_steps)
{
    const eqp_loop_options options = {.clock = {told_clock, &told_seconds}};
    int rank = mpi_test_rank(comm);
    const int nranks = mpi_test_size(comm);
    const eqp_loop_work work = {.compute = compute_by_rank, .user = &rank};
    double harmonic = 0;
    eqp_loop *loop = loop_of(comm, "adaptive-weighted-factoring", 4000, &options);
    eqp_loop_result mine;
    int64_t idle;

    told_seconds = 0;
    CHECK_EQUAL(eqp__loop_weight(loop, 0), 1.0);
    CHECK_EQUAL(eqp_loop_run(loop, &work, &mine), EQP_OK);
    idle = mine.iterations == 0;
    CHECK_EQUAL(eqp_sum_int64(comm, 1, &idle), EQP_OK);
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_OK);
    for (int r = 0; r < nranks; r++) {
        harmonic += 1.0 / (r + 1);
    }
    /* On a loaded machine a rank may get no iterations and then is not measured. */
    for (int r = 0; r < nranks && idle == 0; r++) {
        CHECK_NEAR(eqp__loop_weight(loop, r), nranks / harmonic / (r + 1), 1e-9);
    }
    eqp_loop_free(loop);
}

BOTH_ENGINES(failures_reach_all_ranks)
{
    const eqp_schedule_chunk part = eqp__schedule_part(100, mpi_test_size(comm), mpi_test_rank(comm));
    int64_t data[100], result[100];

    for (int64_t i = 0; i < part.count; i++) {
        data[i] = value_of(part.first + i);
    }
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        const size_t bytes = m % 3 == 0 ? 0 : sizeof *data;
        const eqp_loop_options options = {.data_bytes = bytes, .result_bytes = bytes, .yield = m % 2 == 0};
        body b = body_of(comm, 100);
        const eqp_loop_work work = {.compute = compute, .user = &b, .data = data, .result = result};
        eqp_loop_result mine = {.chunks = -7};
        eqp_loop *loop = loop_of(comm, eqp_schedule_method_at(m)->name, 100, &options);
        b.fails = 37 + m;
        CHECK_EQUAL(eqp_loop_run(loop, &work, &mine), EQP_ERR_DATA);
        CHECK_EQUAL(mine.chunks, -7);
        /* The next time step works. */
        b.fails = -1;
        memset(b.times, 0, 100);
        CHECK_EQUAL(eqp_loop_run(loop, &work, &mine), EQP_OK);
        check_once(comm, &b);
        for (int64_t i = 0; i < part.count && bytes > 0; i++) {
            CHECK_EQUAL(result[i], 3 * value_of(part.first + i));
        }
        eqp_loop_free(loop);
        free(b.times);
    }
}

/* Sizes that no engine accepts; test_disagree_objects.c tests arguments that differ on one rank. */
MPI_TEST(bad_arguments_are_refused_by_all)
{
    const eqp_schedule_method *self = eqp_schedule_method_find("self");
    const eqp_schedule_method copy = *self;
    const eqp_loop_options usual = eqp_loop_options_defaults();
    eqp_loop_options options[] = {usual, usual, usual};
    eqp_schedule_options rules = eqp_schedule_options_defaults();
    eqp_loop *loop = NULL;

    options[0].yield = true;
    options[1].data_bytes = (size_t)1 << 31;
    options[2].engine = (eqp_loop_engine)7;
    rules.factor = 0.5;
    CHECK_EQUAL(eqp_loop_create(comm, &copy, 5, NULL, NULL, &loop), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_create(comm, self, 5, &rules, NULL, &loop), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_create(comm, self, (int64_t)1 << 31, NULL, &options[0], &loop), EQP_ERR_OVERFLOW);
    CHECK_EQUAL(eqp_loop_create(comm, self, 5, NULL, &options[1], &loop), EQP_ERR_OVERFLOW);
    CHECK_EQUAL(eqp_loop_create(comm, self, 5, NULL, &options[2], &loop), EQP_ERR_ARGUMENT);
    CHECK(loop == NULL);
}
