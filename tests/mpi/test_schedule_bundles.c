/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops whose iterations travel in bundles: for any distribution and method every iteration is computed once and its
 * result returns to the owner; parts change from run to run. */
#include "harness.h"

#include "bundles_body.h"
#include "loops/rules.h"

#include <equipoise/more/random.h>

MPI_TEST(every_method_computes_every_iteration_once)
{
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int yield = 0; yield < 2; yield++) {
            body b;
            body_begin(comm, &b, eqp_schedule_method_at(m)->name,
                       (eqp_loop_options){.yield = yield == 1, .grain = m % 3, .most_given = m * (1 + yield) % 4});
            (void)body_run(comm, &b, NULL); /* no parts yet, so no iterations */
            for (int way = 0; way < LAYS; way++) {
                body_resize(&b, lay((way + m) % LAYS, rank, nranks));
                (void)body_run(comm, &b, NULL);
                (void)body_run(comm, &b, NULL);
            }
            body_end(&b);
        }
    }
}

/* A random number below n, the same on all ranks. */
static int draw(uint64_t *at, int n)
{
    return (int)eqp_random_below(11, 0, (*at)++, (uint64_t)n);
}

/* Random methods, parts, bundles, sleeping ranks, failing ranks. */
MPI_TEST(random_loops_lose_nothing)
{
    const int nranks = mpi_test_size(comm);
    uint64_t at = 0;

    for (int k = 0; k < 40; k++) {
        const int method = draw(&at, eqp_schedule_method_count()), failing = draw(&at, 3 * nranks);
        eqp_loop_options options = {.yield = draw(&at, 2) == 1};
        body b;
        options.grain = draw(&at, 4);
        options.most_given = draw(&at, 6);
        body_begin(comm, &b, eqp_schedule_method_at(method)->name, options);
        b.slow = draw(&at, nranks + 2) - 2;
        b.extra = (size_t)1 << draw(&at, 18);
        b.code = EQP_ERR_DATA;
        for (int step = 0; step < 3; step++) {
            const place fails = (place)draw(&at, TAKE + 1);
            int64_t mine = 0;
            int code;
            for (int r = 0; r < nranks; r++) {
                const int some = draw(&at, 30);
                mine = r == b.rank && some < 21 ? some : mine;
            }
            body_resize(&b, mine);
            b.fails = failing == b.rank ? fails : NOWHERE;
            code = body_try(&b, NULL);
            CHECK(code == EQP_OK || (code == EQP_ERR_DATA && failing < nranks));
            b.fails = NOWHERE;
            (void)body_run(comm, &b, NULL);
        }
        body_end(&b);
    }
}

MPI_TEST(parts_are_what_ranks_say)
{
    const int nranks = mpi_test_size(comm);
    int64_t first = 0;
    body b;

    body_begin(comm, &b, "guided", (eqp_loop_options){.grain = 0});
    CHECK_EQUAL(eqp_loop_part(b.loop, 0).count, 0);
    body_resize(&b, lay(6, b.rank, nranks));
    for (int r = 0; r < nranks; r++) {
        CHECK_EQUAL(eqp_loop_part(b.loop, r).first, first);
        CHECK_EQUAL(eqp_loop_part(b.loop, r).count, lay(6, r, nranks));
        first += lay(6, r, nranks);
    }
    CHECK_EQUAL(eqp_loop_part(b.loop, -1).count, 0);
    CHECK_EQUAL(eqp_loop_part(b.loop, nranks).count, 0);
    body_end(&b);
}

MPI_TEST(slow_ranks_are_helped)
{
    static const char *const names[] = {"self", "guided", "factoring", "awf-c", "adaptive-factoring", "fractiling"};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (int slow = 0; slow<nranks; slow += nranks> 1 ? nranks - 1 : 1) {
            body b;
            body_begin(comm, &b, names[k], (eqp_loop_options){.grain = 1, .most_given = 4});
            body_resize(&b, b.rank == slow ? 80 : 2);
            b.slow = slow;
            CHECK(nranks == 1 || body_run(comm, &b, NULL) > 0);
            if (b.rank == slow) {
                sleep_a_little(3000);
            }
            (void)body_run(comm, &b, NULL);
            /* The helpers are slow and have no iterations of their own. */
            body_resize(&b, b.rank == slow ? 30 : 0);
            b.slow = -2;
            (void)body_run(comm, &b, NULL);
            body_end(&b);
        }
    }
}

MPI_TEST(static_parts_are_one_chunk_each)
{
    eqp_loop_result mine;
    body b;

    body_begin(comm, &b, "static", (eqp_loop_options){.most_given = 1}); /* refers to chunks given away */
    b.packs = false;
    body_resize(&b, lay(6, b.rank, mpi_test_size(comm)) - 3);
    CHECK_EQUAL(body_run(comm, &b, &mine), 0);
    CHECK_EQUAL(mine.chunks, b.part.count > 0);
    CHECK_EQUAL(mine.iterations, b.part.count);
    body_end(&b);
}

/* With `yield` even static chunks are divided; compute_away() checks that each bundle is computed as packed. */
MPI_TEST(own_chunks_are_given_away_in_mid_chunk)
{
    const int nranks = mpi_test_size(comm);

    for (int64_t most = 0; most < 3; most++) {
        eqp_loop_result mine;
        body b;
        body_begin(comm, &b, "static", (eqp_loop_options){.yield = true, .grain = 1, .most_given = most});
        body_resize(&b, b.rank == 0 ? 60 : 3);
        b.slow = 0;
        CHECK((body_run(comm, &b, &mine) > 0) == (nranks > 1));
        CHECK(b.rank != 0 || nranks == 1 || mine.iterations < 60);
        body_end(&b);
    }
}

/* From eager messages to ones with a rendezvous. */
MPI_TEST(bundles_have_any_size)
{
    static const size_t sizes[] = {0, 1, 3000, 5001, 70000, 3 << 20};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        body b;
        body_begin(comm, &b, "guided", (eqp_loop_options){.yield = true, .grain = 1, .most_given = 3});
        b.extra = sizes[k];
        b.slow = 0;
        body_resize(&b, b.rank == 0 ? 20 : b.rank == nranks - 1 ? 5 : 0);
        (void)body_run(comm, &b, NULL);
        body_end(&b);
    }
}

/* Rank r takes r + 1 seconds per iteration on its own clock. */
static double told_seconds;

static double told_clock(void *user)
{
    return *(const double *)user;
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

/* Every rank starts with its own part, so all are measured, also after parts change size. */
MPI_TEST(speeds_outlive_the_parts)
{
    static const eqp_loop_bundles timed = {pack, compute_away_by_rank, take};
    const int nranks = mpi_test_size(comm);
    double harmonic = 0;
    body b;

    told_seconds = 0;
    body_begin(comm, &b, "adaptive-weighted-factoring", (eqp_loop_options){.clock = {told_clock, &told_seconds}});
    b.work.compute = compute_by_rank;
    b.work.bundles = &timed;
    body_resize(&b, 40);
    for (int r = 0; r < nranks; r++) {
        harmonic += 1.0 / (r + 1);
        CHECK_EQUAL(eqp__loop_weight(b.loop, r), 1.0);
    }
    /* A late rank may get nothing, so the loop repeats until every rank has been measured. */
    for (int64_t idle = 1; idle > 0;) {
        eqp_loop_result mine;
        (void)body_run(comm, &b, &mine);
        idle = sum_of(comm, mine.iterations == 0);
    }
    body_resize(&b, 3 * b.rank);
    (void)body_run(comm, &b, NULL);
    for (int r = 0; r < nranks; r++) {
        CHECK_NEAR(eqp__loop_weight(b.loop, r), nranks / harmonic / (r + 1), 1e-9);
    }
    body_end(&b);
}
