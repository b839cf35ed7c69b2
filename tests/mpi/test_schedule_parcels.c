/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops whose iterations travel in parcels: however they lie on the ranks, every one is computed once and its result
 * comes home, whoever computes, whatever the method; a failure anywhere reaches all ranks; parts change from run to
 * run. */
#include "harness.h"

#include <equipoise/random.h>
#include <equipoise/schedule_run.h>

#include <limits.h>
#include <math.h>
#include <time.h>

/* Where a rank shall fail. */
typedef enum place { NOWHERE, OWN, PACK, AWAY, TAKE } place;

/* How a function of the caller fails: by a code, or by what it hands over. */
typedef enum manner { CODE, NOTHING, NO_BYTES, TOO_LARGE } manner;

/* A parcel, or what was made of it: values follow. */
typedef struct label {
    int64_t first, count;
    int owner, helper;
} label;

typedef struct body {
    eqp_loop *loop;
    eqp_loop_work work;
    int rank, slow;          /* a rank that sleeps, or -1; -2: all that compute for others */
    bool alone;              /* there is no other rank */
    bool packs;              /* somebody may ask for a parcel */
    bool asked;              /* somebody has: a slow owner waits for that, as long as it has anything to do */
    int64_t most;            /* iterations of a parcel, 0: any number */
    size_t extra;            /* bytes more in each parcel and each result */
    bool yield;              /* chunks may be divided */
    eqp_schedule_chunk part; /* of this rank */
    int64_t front, back;     /* of the part, what nobody has got yet if chunks are not divided */
    int64_t *result;         /* [part.count] */
    unsigned char *times;    /* [part.count] how often each result has come */
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

/* The result at home needs nobody's data. */
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

/* What a failing function hands over. */
static int fail(const body *b, void **bytes, size_t *size)
{
    if (b->how == CODE) {
        return b->code;
    }
    *bytes = b->how == NOTHING ? NULL : mpi_test_alloc(1, 1);
    *size = b->how == NO_BYTES ? 0 : (size_t)INT_MAX + 1;
    return EQP_OK;
}

/* A label, one number for each iteration, and bytes that follow from their places. */
static char *new_parcel(const body *b, const label *l, size_t *size)
{
    const size_t numbers = (size_t)l->count * sizeof(int64_t);
    char *parcel;

    *size = sizeof *l + numbers + b->extra;
    parcel = mpi_test_alloc((int64_t)*size, 1);
    memcpy(parcel, l, sizeof *l);
    for (size_t i = 0; i < b->extra; i++) {
        parcel[sizeof *l + numbers + i] = (char)((size_t)l->first + 31 * i);
    }
    return parcel;
}

static void check_parcel(const body *b, const char *parcel, size_t size, int owner, int helper, int64_t first,
                         int64_t count)
{
    const size_t numbers = (size_t)count * sizeof(int64_t);
    label l;

    CHECK_EQUAL(size, sizeof l + numbers + b->extra);
    memcpy(&l, parcel, sizeof l);
    CHECK_EQUAL(l.first, first);
    CHECK_EQUAL(l.count, count);
    CHECK_EQUAL(l.owner, owner);
    CHECK(helper < 0 || l.helper == helper);
    for (size_t i = 0; i < b->extra; i++) {
        CHECK_EQUAL(parcel[sizeof l + numbers + i], (char)((size_t)first + 31 * i));
    }
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    body *b = user;
    const label l = {first, count, b->rank, to};
    char *parcel;

    b->asked = true;
    CHECK(b->packs && to != b->rank && count > 0 && (b->most == 0 || count <= b->most));
    CHECK(first >= b->part.first && first + count <= b->part.first + b->part.count);
    CHECK(b->yield || first + count == b->back);
    b->back = first;
    if (b->fails == PACK) {
        return fail(b, data, bytes);
    }
    b->packed += count;
    parcel = new_parcel(b, &l, bytes);
    for (int64_t i = 0; i < count; i++) {
        const int64_t value = value_of(first + i);
        memcpy(parcel + sizeof l + (size_t)i * sizeof value, &value, sizeof value);
    }
    *data = parcel;
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
    check_parcel(b, data, bytes, owner, b->rank, first, count);
    if (b->fails == AWAY) {
        return fail(b, result, result_bytes);
    }
    b->computed += count;
    b->helped += count;
    back = new_parcel(b, &l, result_bytes);
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

    check_parcel(b, result, bytes, b->rank, -1, first, count);
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

static const eqp_loop_parcels parcels = {pack, compute_away, take};

static void begin(MPI_Comm comm, body *b, const char *method, eqp_loop_options options)
{
    options.engine = EQP_LOOP_MASTER;
    options.parcels = true;
    *b = (body){.alone = mpi_test_size(comm) == 1,
                .rank = mpi_test_rank(comm),
                .slow = -1,
                .yield = options.yield,
                .most = options.most_given,
                .packs = true};
    b->work = (eqp_loop_work){.compute = compute_own, .user = b, .parcels = &parcels};
    CHECK_EQUAL(eqp_loop_create(comm, eqp_schedule_method_find(method), 0, NULL, &options, &b->loop), EQP_OK);
}

static void resize(body *b, int64_t mine)
{
    CHECK_EQUAL(eqp_loop_resize(b->loop, mine), EQP_OK);
    b->part = eqp_loop_part(b->loop, b->rank);
    CHECK_EQUAL(b->part.count, mine);
    free(b->result);
    free(b->times);
    b->result = mpi_test_alloc(mine, sizeof *b->result);
    b->times = mpi_test_alloc(mine, 1);
}

static void end(body *b)
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

static int try_to_run(body *b, eqp_loop_result *mine)
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

/* Runs once, and compares what the ranks say they did with what they did. Returns how many iterations others had. */
static int64_t run(MPI_Comm comm, body *b, eqp_loop_result *result)
{
    eqp_loop_result mine = {.chunks = -1};
    int64_t helped;

    CHECK_EQUAL(try_to_run(b, &mine), EQP_OK);
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

/* Ways for iterations to lie on ranks. */
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

static void every_method_computes_every_iteration_once(MPI_Comm comm)
{
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int yield = 0; yield < 2; yield++) {
            body b;
            begin(comm, &b, eqp_schedule_method_at(m)->name,
                  (eqp_loop_options){.yield = yield == 1, .grain = m % 3, .most_given = m * (1 + yield) % 4});
            (void)run(comm, &b, NULL); /* nobody has said anything yet: no iterations */
            /* Many ranks share few cores: a third of it there. */
            for (int way = 0; way<LAYS; way += nranks> 7 ? 3 : 1) {
                resize(&b, lay((way + m) % LAYS, rank, nranks));
                (void)run(comm, &b, NULL);
                (void)run(comm, &b, NULL);
            }
            end(&b);
        }
    }
}

/* Whatever they are: methods, parts, parcels, ranks that sleep, ranks that fail. */
static void random_loops_lose_nothing(MPI_Comm comm)
{
    const int nranks = mpi_test_size(comm), tries = nranks > 7 ? 12 : 40;
    uint64_t at = 0; /* all ranks draw the same */

    for (int k = 0; k < tries; k++) {
        const int method = (int)eqp_random_below(11, nranks, at++, eqp_schedule_method_count());
        const eqp_loop_options options = {.yield = eqp_random_below(11, nranks, at++, 2) == 1,
                                          .grain = (int64_t)eqp_random_below(11, nranks, at++, 4),
                                          .most_given = (int64_t)eqp_random_below(11, nranks, at++, 6)};
        const int failing = (int)eqp_random_below(11, nranks, at++, 3 * (uint64_t)nranks);
        body b;
        begin(comm, &b, eqp_schedule_method_at(method)->name, options);
        b.slow = (int)eqp_random_below(11, nranks, at++, (uint64_t)nranks + 2) - 2;
        b.extra = (size_t)1 << eqp_random_below(11, nranks, at++, 18);
        b.code = EQP_ERR_DATA;
        for (int step = 0; step < 3; step++) {
            const place fails = failing == b.rank ? (place)eqp_random_below(11, nranks, at, TAKE + 1) : NOWHERE;
            int code;
            at++;
            for (int r = 0; r < nranks; r++) {
                const int64_t some = (int64_t)eqp_random_below(11, nranks, at++, 30);
                if (r == b.rank) {
                    resize(&b, some > 20 ? 0 : some);
                }
            }
            b.fails = fails;
            code = try_to_run(&b, NULL);
            CHECK(code == EQP_OK || (code == EQP_ERR_DATA && failing < nranks));
            b.fails = NOWHERE;
            (void)run(comm, &b, NULL);
        }
        end(&b);
    }
}

static void parts_are_what_ranks_say(MPI_Comm comm)
{
    const int nranks = mpi_test_size(comm);
    int64_t first = 0;
    body b;

    begin(comm, &b, "guided", (eqp_loop_options){0});
    CHECK_EQUAL(eqp_loop_part(b.loop, 0).count, 0);
    resize(&b, lay(6, b.rank, nranks));
    for (int r = 0; r < nranks; r++) {
        CHECK_EQUAL(eqp_loop_part(b.loop, r).first, first);
        CHECK_EQUAL(eqp_loop_part(b.loop, r).count, lay(6, r, nranks));
        first += lay(6, r, nranks);
    }
    CHECK_EQUAL(eqp_loop_part(b.loop, -1).count, 0);
    CHECK_EQUAL(eqp_loop_part(b.loop, nranks).count, 0);
    end(&b);
}

/* Whoever is slow, or has everything: others compute for it. */
static void slow_ranks_are_helped(MPI_Comm comm)
{
    static const char *const names[] = {"self", "guided", "factoring", "awf-c", "adaptive-factoring", "fractiling"};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (int slow = 0; slow<nranks; slow += nranks> 1 ? nranks - 1 : 1) {
            body b;
            begin(comm, &b, names[k], (eqp_loop_options){.grain = 1, .most_given = 4});
            resize(&b, b.rank == slow ? 80 : 2);
            b.slow = slow;
            CHECK(nranks == 1 || run(comm, &b, NULL) > 0);
            if (b.rank == slow) {
                sleep_a_little(3000);
            }
            (void)run(comm, &b, NULL);
            /* Slow where nobody has anything of its own: all the others are slow helpers. */
            resize(&b, b.rank == slow ? 30 : 0);
            b.slow = -2;
            (void)run(comm, &b, NULL);
            end(&b);
        }
    }
}

static void static_parts_are_one_chunk_each(MPI_Comm comm)
{
    eqp_loop_result mine;
    body b;

    begin(comm, &b, "static", (eqp_loop_options){.most_given = 1}); /* of what is not given */
    b.packs = false;
    resize(&b, lay(6, b.rank, mpi_test_size(comm)) - 3);
    CHECK_EQUAL(run(comm, &b, &mine), 0);
    CHECK_EQUAL(mine.chunks, b.part.count > 0);
    CHECK_EQUAL(mine.iterations, b.part.count);
    end(&b);
}

/* With `yield` even static chunks are divided; each parcel is computed as it was packed (compute_away sees to that). */
static void own_chunks_are_given_away_in_mid_chunk(MPI_Comm comm)
{
    const int nranks = mpi_test_size(comm);

    for (int64_t most = 0; most < 3; most++) {
        eqp_loop_result mine;
        body b;
        begin(comm, &b, "static", (eqp_loop_options){.yield = true, .grain = 1, .most_given = most});
        resize(&b, b.rank == 0 ? 60 : 3);
        b.slow = 0;
        CHECK((run(comm, &b, &mine) > 0) == (nranks > 1));
        CHECK(b.rank != 0 || nranks == 1 || mine.iterations < 60);
        end(&b);
    }
}

/* From a message that MPI sends at once to one that the receiver has to be ready for. */
static void parcels_have_any_size(MPI_Comm comm)
{
    static const size_t sizes[] = {0, 1, 3000, 5001, 70000, 3 << 20};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        body b;
        begin(comm, &b, "guided", (eqp_loop_options){.yield = true, .grain = 1, .most_given = 3});
        b.extra = sizes[k];
        b.slow = 0;
        resize(&b, b.rank == 0 ? 20 : b.rank == nranks - 1 ? 5 : 0);
        (void)run(comm, &b, NULL);
        end(&b);
    }
}

/* What run() returns on every rank where some fail. */
static void check_failure(MPI_Comm comm, body *b, int expected)
{
    eqp_loop_result mine = {.chunks = -7};

    CHECK_EQUAL(try_to_run(b, &mine), expected);
    CHECK((mine.chunks == -7) == (expected != EQP_OK));
    for (int64_t i = 0; i < b->part.count; i++) {
        CHECK(b->times[i] <= 1);
    }
    b->fails = NOWHERE;
    (void)run(comm, b, NULL);
}

/* The owner has everything and is slow, so that others help; all of them fail in what they do for it. */
static void failures_reach_all_ranks(MPI_Comm comm)
{
    static const char *const names[] = {"self", "static", "awf-b", "fractiling"};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (int owner = 0; owner<nranks; owner += nranks> 1 ? nranks - 1 : 1) {
            body b;
            begin(comm, &b, names[k], (eqp_loop_options){.yield = true, .grain = 1});
            b.slow = owner;
            b.extra = k % 2 * 9000;
            b.code = EQP_ERR_DATA;
            resize(&b, b.rank == owner ? 50 : 0);
            for (place p = OWN; p <= TAKE; p++) {
                const bool happens = p == OWN || nranks > 1;
                b.fails = p == AWAY ? (b.rank == owner ? NOWHERE : p) : b.rank == owner ? p : NOWHERE;
                check_failure(comm, &b, happens ? EQP_ERR_DATA : EQP_OK);
            }
            end(&b);
        }
    }
}

/* Ranks that fail by themselves, each with a code of its own: that of the lowest counts. */
static void the_lowest_failing_rank_is_heard(MPI_Comm comm)
{
    static const int codes[] = {EQP_ERR_DATA, EQP_ERR_STATE, EQP_ERR_INTERNAL};
    body b;

    begin(comm, &b, "static", (eqp_loop_options){0});
    resize(&b, 5);
    b.fails = OWN;
    b.code = codes[b.rank % 3];
    check_failure(comm, &b, EQP_ERR_DATA);
    b.fails = b.rank > 0 ? OWN : NOWHERE;
    check_failure(comm, &b, mpi_test_size(comm) > 1 ? codes[1] : EQP_OK);
    end(&b);
}

/* Nothing handed over, no bytes, or more than a message can have: nobody reads what is not there. */
static void parcels_that_are_none_are_refused(MPI_Comm comm)
{
    static const int expected[] = {EQP_ERR_DATA, EQP_ERR_ARGUMENT, EQP_ERR_ARGUMENT, EQP_ERR_OVERFLOW};
    const int nranks = mpi_test_size(comm);

    for (int owner = 0; owner<nranks; owner += nranks> 1 ? nranks - 1 : 1) {
        body b;
        begin(comm, &b, "self", (eqp_loop_options){.grain = 1});
        b.slow = owner;
        b.code = EQP_ERR_DATA;
        resize(&b, b.rank == owner ? 30 : 0);
        for (b.how = CODE; b.how <= TOO_LARGE; b.how++) {
            for (place p = PACK; p <= AWAY; p++) {
                b.fails = (p == PACK) == (b.rank == owner) ? p : NOWHERE;
                check_failure(comm, &b, nranks > 1 ? expected[b.how] : EQP_OK);
            }
        }
        end(&b);
    }
}

static double clock_at; /* of the clocks below */

static double clock_backwards(void)
{
    return clock_at -= 1.0;
}

static double clock_nowhere(void)
{
    return NAN;
}

static void bad_clocks_lose_nothing(MPI_Comm comm)
{
    double (*const clocks[])(void) = {clock_backwards, clock_nowhere};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int c = 0; c < 2; c++) {
            eqp_loop_result mine;
            body b;
            begin(comm, &b, eqp_schedule_method_at(m)->name, (eqp_loop_options){.clock = clocks[c], .yield = c == 1});
            resize(&b, lay(1 + (m + c) % (LAYS - 1), b.rank, mpi_test_size(comm)));
            (void)run(comm, &b, &mine);
            CHECK(mine.refused >= (mine.iterations > 0));
            end(&b);
        }
    }
}

/* Rank r needs r + 1 seconds for an iteration, on a clock of its own. */
static double told_seconds;

static double told_clock(void)
{
    return told_seconds;
}

static int compute_by_rank(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    told_seconds += (1.0 + ((const body *)user)->rank) * (double)count;
    return compute_own(user, first, count, data, result);
}

static int compute_away_by_rank(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                                void **result, size_t *result_bytes)
{
    told_seconds += (1.0 + ((const body *)user)->rank) * (double)count;
    return compute_away(user, owner, first, count, data, bytes, result, result_bytes);
}

/* Every rank begins with its own, so all are measured; parts of another size change nothing of that. */
static void speeds_outlive_the_parts(MPI_Comm comm)
{
    static const eqp_loop_parcels timed = {pack, compute_away_by_rank, take};
    const int nranks = mpi_test_size(comm);
    double harmonic = 0;
    body b;

    told_seconds = 0;
    begin(comm, &b, "adaptive-weighted-factoring", (eqp_loop_options){.clock = told_clock});
    b.work.compute = compute_by_rank;
    b.work.parcels = &timed;
    resize(&b, 40);
    for (int r = 0; r < nranks; r++) {
        harmonic += 1.0 / (r + 1);
        CHECK_EQUAL(eqp_loop_weight(b.loop, r), 1.0);
    }
    /* Until every rank has got something to be measured by: one that comes late gets nothing. */
    for (int64_t idle = 1; idle > 0;) {
        eqp_loop_result mine;
        (void)run(comm, &b, &mine);
        idle = sum_of(comm, mine.iterations == 0);
    }
    resize(&b, 3 * b.rank);
    (void)run(comm, &b, NULL);
    for (int r = 0; r < nranks; r++) {
        CHECK_NEAR(eqp_loop_weight(b.loop, r), nranks / harmonic / (r + 1), 1e-9);
    }
    end(&b);
}

static void bad_arguments_are_refused_by_all(MPI_Comm comm)
{
    const eqp_schedule_method *self = eqp_schedule_method_find("self");
    const int rank = mpi_test_rank(comm), last = mpi_test_size(comm) - 1;
    const eqp_loop_options good = {.engine = EQP_LOOP_MASTER, .parcels = true};
    eqp_loop_options bad[] = {good, good, good, good};
    eqp_loop_parcels half = parcels;
    eqp_loop_work work = {.compute = compute_own};
    eqp_loop *loop = NULL;

    bad[0].engine = EQP_LOOP_ONE_SIDED;
    bad[1].data_bytes = 8;
    bad[2].result_bytes = 8;
    bad[3].most_given = -1;
    for (int k = 0; k < 4; k++) {
        CHECK_EQUAL(eqp_loop_create(comm, self, 0, NULL, rank == last ? &bad[k] : &good, &loop), EQP_ERR_ARGUMENT);
    }
    CHECK_EQUAL(eqp_loop_create(comm, self, 5, NULL, &good, &loop), EQP_ERR_ARGUMENT);
    CHECK(loop == NULL);
    CHECK_EQUAL(eqp_loop_create(comm, self, 0, NULL, &good, &loop), EQP_OK);
    CHECK_EQUAL(eqp_loop_resize(loop, 4), EQP_OK);
    CHECK_EQUAL(eqp_loop_resize(loop, rank == last ? -1 : 4), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_resize(loop, INT64_MAX), last > 0 ? EQP_ERR_OVERFLOW : EQP_OK);
    CHECK_EQUAL(eqp_loop_part(loop, rank).count, last > 0 ? 4 : INT64_MAX);
    CHECK_EQUAL(eqp_loop_resize(loop, 0), EQP_OK);
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_ERR_ARGUMENT);
    half.take = rank == last ? NULL : take;
    work.parcels = &half;
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_ERR_ARGUMENT);
    work.parcels = &parcels;
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_OK);
    eqp_loop_free(loop);
    /* Parcels and their parts belong together. */
    CHECK_EQUAL(eqp_loop_create(comm, self, 0, NULL, NULL, &loop), EQP_OK);
    CHECK_EQUAL(eqp_loop_resize(loop, 4), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_ERR_ARGUMENT);
    eqp_loop_free(loop);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(every_method_computes_every_iteration_once),
        MPI_TEST(random_loops_lose_nothing),
        MPI_TEST(parts_are_what_ranks_say),
        MPI_TEST(slow_ranks_are_helped),
        MPI_TEST(static_parts_are_one_chunk_each),
        MPI_TEST(own_chunks_are_given_away_in_mid_chunk),
        MPI_TEST(parcels_have_any_size),
        MPI_TEST(failures_reach_all_ranks),
        MPI_TEST(the_lowest_failing_rank_is_heard),
        MPI_TEST(parcels_that_are_none_are_refused),
        MPI_TEST(bad_clocks_lose_nothing),
        MPI_TEST(speeds_outlive_the_parts),
        MPI_TEST(bad_arguments_are_refused_by_all),
    };

    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
