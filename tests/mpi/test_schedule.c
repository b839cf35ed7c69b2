/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops on real ranks: every iteration is computed once, for any method, transport, stalled ranks and clock; failures
 * reach all ranks; loops can be rerun. */
#include "harness.h"

#include "loop_body.h"
#include "loops/schedule_loop.h"

#include <math.h>

EACH_TRANSPORT(every_method_computes_every_iteration_once)
{
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int way = m % 2; way < LAYS; way += by == BUNDLES ? 1 : 2) {
            const eqp_loop_options options = {
                .yield = (m + way) / 2 % 2 == 1, .grain = (m + way) % 3, .most_given = m % 4};
            body b;
            body_begin(comm, &b, by, eqp_schedule_method_at(m)->name, lay(way, rank, nranks), options);
            (void)body_run(comm, &b, NULL);
            (void)body_run(comm, &b, NULL);
            body_end(&b);
        }
    }
}

/* One rank is slow or late: every other rank computes more. */
EACH_TRANSPORT(slow_ranks_are_helped)
{
    static const char *const names[] = {"self", "guided", "factoring", "awf-c", "adaptive-factoring", "fractiling"};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (int slow = 0; slow<nranks; slow += nranks> 1 ? nranks - 1 : 1) {
            const bool is_slow = mpi_test_rank(comm) == slow;
            body b;
            body_begin(comm, &b, by, names[k], is_slow ? 80 : 2, (eqp_loop_options){.grain = 1, .most_given = 4});
            b.slow = slow;
            CHECK(body_run(comm, &b, NULL) > 0 || nranks == 1 || by != BUNDLES);
            if (is_slow) {
                sleep_a_little(3000);
            }
            (void)body_run(comm, &b, NULL);
            if (by == BUNDLES) { /* the helpers are slow and have no iterations of their own */
                body_resize(comm, &b, is_slow ? 30 : 0);
                b.slow = -2;
                (void)body_run(comm, &b, NULL);
            }
            body_end(&b);
        }
    }
}

/* Static chunks, one of them slow: its rank gives away iterations not begun. Where one-sided operations are messages,
 * each takes the time of several pieces, so there are many pieces. */
EACH_TRANSPORT(overrun_chunks_are_given_away)
{
    for (int64_t k = 0; k < (by == BUNDLES ? 3 : 2); k++) {
        const int64_t mine = by != BUNDLES ? 200 : mpi_test_rank(comm) == 0 ? 60 : 3;
        const int64_t grain = by == BUNDLES ? 1 : 1 + 3 * k;
        eqp_loop_result result;
        body b;
        body_begin(comm, &b, by, "static", mine, (eqp_loop_options){.yield = true, .grain = grain, .most_given = k});
        b.slow = 0;
        b.pause = by == BUNDLES ? 200 : 500 * (long)grain;
        CHECK((body_run(comm, &b, &result) > 0) == (b.nranks > 1));
        CHECK(b.rank != 0 || b.nranks == 1 || result.iterations < mine);
        CHECK(by == BUNDLES || (sum_of(comm, result.taken) > 0) == (b.nranks > 1));
        body_end(&b);
    }
}

/* Chunks are cut, and the pieces cut again. */
EACH_TRANSPORT(what_is_taken_is_given_away_again)
{
    for (int k = 0; k < 24; k += by == BUNDLES ? 7 : 1) { /* test_schedule_bundles.c has random loops */
        body b;
        body_begin(comm, &b, by, k % 2 ? "fractiling" : "static", mpi_test_rank(comm) == 0 ? 10 + 7 * k : 10,
                   (eqp_loop_options){.yield = true, .grain = k % 4 == 3 ? INT64_MAX : k % 4});
        b.pause = 100;
        for (int step = 0; step < 2; step++) {
            b.slow = (k + step) % b.nranks;
            (void)body_run(comm, &b, NULL);
        }
        body_end(&b);
    }
}

/* The slow rank fails while all other ranks wait for its iterations. */
EACH_TRANSPORT(who_waits_for_more_hears_of_a_failure)
{
    for (int k = 0; k < 6; k++) {
        body b;
        body_begin(comm, &b, by, "static", 60, (eqp_loop_options){.yield = true, .grain = 1});
        b.slow = 0;
        b.pause = 1000;
        b.fails_at = 1 + k;
        b.code = k % 2 ? EQP_ERR_MPI : EQP_ERR_DATA;
        check_failure(comm, &b, b.code);
        body_end(&b);
    }
}

EACH_TRANSPORT(failures_reach_all_ranks)
{
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        body b;
        body_begin(comm, &b, by, eqp_schedule_method_at(m)->name,
                   eqp__schedule_part(100, mpi_test_size(comm), mpi_test_rank(comm)).count,
                   (eqp_loop_options){.yield = m % 2 == 0});
        b.fails_at = 37 + m;
        check_failure(comm, &b, EQP_ERR_DATA);
        body_end(&b);
    }
}

/* From eager messages to ones with a rendezvous. */
MPI_TEST(bundles_have_any_size)
{
    static const size_t sizes[] = {0, 1, 3000, 5001, 70000, 1 << 20};

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const int rank = mpi_test_rank(comm), last = mpi_test_size(comm) - 1;
        body b;
        body_begin(comm, &b, BUNDLES, "guided",
                   rank == 0      ? 20
                   : rank == last ? 5
                                  : 0,
                   (eqp_loop_options){.yield = true, .grain = 1, .most_given = 3});
        b.extra = sizes[k];
        b.slow = 0;
        (void)body_run(comm, &b, NULL);
        body_end(&b);
    }
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

EACH_TRANSPORT(bad_clocks_lose_nothing)
{
    double (*const clocks[])(void *) = {clock_backwards, clock_nowhere, clock_stands};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int c = 0; c < 3; c++) {
            eqp_loop_result mine;
            body b;
            body_begin(comm, &b, by, eqp_schedule_method_at(m)->name,
                       lay(1 + (m + c) % (LAYS - 1), mpi_test_rank(comm), mpi_test_size(comm)),
                       (eqp_loop_options){.clock.seconds = clocks[c], .yield = c == 1});
            (void)body_run(comm, &b, &mine);
            CHECK(c < 2 ? mine.refused >= (mine.iterations > 0) : mine.refused == 0);
            body_end(&b);
        }
    }
}

static double told_clock(void *user)
{
    (void)user;
    return told_seconds;
}

/* Every rank is measured by its own clock; with bundles also after parts change size. */
EACH_TRANSPORT(speeds_are_learnt_from_time_steps)
{
    double harmonic = 0;
    body b;

    body_begin(comm, &b, by, "adaptive-weighted-factoring", 40, (eqp_loop_options){.clock.seconds = told_clock});
    for (int r = 0; r < b.nranks; r++) {
        harmonic += 1.0 / (r + 1);
        CHECK_EQUAL(eqp__schedule_weight(b.loop->schedule, r), 1.0);
    }
    /* A late rank gets nothing in some loops; on a loaded machine it may stay without a measurement. */
    int64_t idle = 1;
    b.slow = -3;
    b.pause = 1000;
    for (int runs = 0, measured = 0; runs < 20 && idle > 0; runs++) {
        eqp_loop_result mine;
        (void)body_run(comm, &b, &mine);
        measured = measured || mine.iterations > 0;
        idle = sum_of(comm, !measured);
    }
    body_resize(comm, &b, by == BUNDLES ? 3 * b.rank : 40);
    (void)body_run(comm, &b, NULL);
    for (int r = 0; r < b.nranks && idle == 0; r++) {
        CHECK_NEAR(eqp__schedule_weight(b.loop->schedule, r), b.nranks / harmonic / (r + 1), 1e-9);
    }
    body_end(&b);
}

/* Sizes that no engine accepts; test_disagree_objects.c tests arguments that differ on one rank. */
MPI_TEST(bad_arguments_are_refused_by_all)
{
    const eqp_schedule_method *self = eqp_schedule_method_find("self"), copy = *self;
    eqp_loop_options options = eqp_loop_options_defaults();
    eqp_schedule_options rules = eqp_schedule_options_defaults();
    eqp_loop *loop = NULL;

    options.yield = true;
    rules.factor = 0.5;
    CHECK_EQUAL(eqp_loop_create(comm, &copy, 5, NULL, NULL, &loop), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_create(comm, self, 5, &rules, NULL, &loop), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_create(comm, self, (int64_t)1 << 31, NULL, &options, &loop), EQP_ERR_OVERFLOW);
    CHECK(loop == NULL);
}
