/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops whose iterations travel in bundles: a failure on any rank ends the loop on all, and the next run works; bad
 * clocks, bundles and arguments lose no iterations. */
#include "harness.h"

#include "bundles_body.h"

#include <math.h>

/* Checks the code of a failing run on every rank, and that the next run works. */
static void check_failure(MPI_Comm comm, body *b, int expected)
{
    eqp_loop_result mine = {.chunks = -7};

    const int code = body_try(b, &mine);

    CHECK_EQUAL(code, expected);
    CHECK((mine.chunks == -7) == (expected != EQP_OK));
    for (int64_t i = 0; i < b->part.count; i++) {
        CHECK(b->times[i] <= 1);
    }
    b->fails = NOWHERE;
    (void)body_run(comm, b, NULL);
}

/* The owner of all work is slow; every helper fails. */
MPI_TEST(failures_reach_all_ranks)
{
    static const char *const names[] = {"self", "static", "awf-b", "fractiling"};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (int owner = 0; owner<nranks; owner += nranks> 1 ? nranks - 1 : 1) {
            body b;
            body_begin(comm, &b, names[k], (eqp_loop_options){.yield = true, .grain = 1});
            b.slow = owner;
            b.extra = k % 2 * 9000;
            b.code = EQP_ERR_DATA;
            body_resize(&b, b.rank == owner ? 50 : 0);
            for (place p = OWN; p <= TAKE; p++) {
                const bool happens = p == OWN || nranks > 1;
                b.fails = p == AWAY ? (b.rank == owner ? NOWHERE : p) : b.rank == owner ? p : NOWHERE;
                check_failure(comm, &b, happens ? EQP_ERR_DATA : EQP_OK);
            }
            body_end(&b);
        }
    }
}

/* Ranks fail with different codes, and the code of the lowest is returned. A rank that arrives after a failure gets no
 * work and so does not fail. */
MPI_TEST(the_lowest_failing_rank_is_heard)
{
    static const int codes[] = {EQP_ERR_DATA, EQP_ERR_STATE, EQP_ERR_INTERNAL};
    body b;

    body_begin(comm, &b, "static", (eqp_loop_options){.grain = 0});
    body_resize(&b, 5);
    b.code = codes[b.rank % 3];
    for (int first = 0; first < 2; first++) {
        int lowest, code;
        b.fails = b.rank >= first ? OWN : NOWHERE;
        code = body_try(&b, NULL);
        lowest = b.fails == OWN && b.computed > 0 ? b.rank : mpi_test_size(comm);
        CHECK_EQUAL(MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, comm), MPI_SUCCESS);
        CHECK((lowest == mpi_test_size(comm)) == (mpi_test_size(comm) == first));
        CHECK_EQUAL(code, lowest < mpi_test_size(comm) ? codes[lowest % 3] : EQP_OK);
        b.fails = NOWHERE;
        (void)body_run(comm, &b, NULL);
    }
    body_end(&b);
}

/* Bundles that are NULL, empty, or larger than a message can be are never read. */
MPI_TEST(bundles_that_are_none_are_refused)
{
    static const int expected[] = {EQP_ERR_DATA, EQP_ERR_ARGUMENT, EQP_ERR_ARGUMENT, EQP_ERR_OVERFLOW};
    const int nranks = mpi_test_size(comm);

    for (int owner = 0; owner<nranks; owner += nranks> 1 ? nranks - 1 : 1) {
        body b;
        body_begin(comm, &b, "self", (eqp_loop_options){.grain = 1});
        b.slow = owner;
        b.code = EQP_ERR_DATA;
        body_resize(&b, b.rank == owner ? 30 : 0);
        for (b.how = CODE; b.how <= TOO_LARGE; b.how++) {
            for (place p = PACK; p <= AWAY; p++) {
                b.fails = (p == PACK) == (b.rank == owner) ? p : NOWHERE;
                check_failure(comm, &b, nranks > 1 ? expected[b.how] : EQP_OK);
            }
        }
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

MPI_TEST(bad_clocks_lose_nothing)
{
    double (*const clocks[])(void *) = {clock_backwards, clock_nowhere};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int c = 0; c < 2; c++) {
            eqp_loop_result mine;
            body b;
            body_begin(comm, &b, eqp_schedule_method_at(m)->name,
                       (eqp_loop_options){.clock.seconds = clocks[c], .yield = c == 1});
            body_resize(&b, lay(1 + (m + c) % (LAYS - 1), b.rank, mpi_test_size(comm)));
            (void)body_run(comm, &b, &mine);
            CHECK(mine.refused >= (mine.iterations > 0));
            body_end(&b);
        }
    }
}

MPI_TEST(bundles_and_arrays_exclude_each_other)
{
    const eqp_schedule_method *self = eqp_schedule_method_find("self");
    const eqp_loop_options good = {.size = sizeof(eqp_loop_options), .engine = EQP_LOOP_MASTER, .bundles = true};
    eqp_loop_options bad[] = {good, good, good};
    const eqp_loop_work work = {.compute = compute_own, .bundles = &bundles};
    eqp_loop *loop = NULL;

    bad[0].data_bytes = 8;
    bad[1].result_bytes = 8;
    bad[2].most_given = -1;
    for (int k = 0; k < 3; k++) {
        CHECK_EQUAL(eqp_loop_create(comm, self, 0, NULL, &bad[k], &loop), EQP_ERR_ARGUMENT);
    }
    CHECK_EQUAL(eqp_loop_create(comm, self, 5, NULL, &good, &loop), EQP_ERR_ARGUMENT);
    CHECK(loop == NULL);
    CHECK_EQUAL(eqp_loop_create(comm, self, 0, NULL, NULL, &loop), EQP_OK);
    CHECK_EQUAL(eqp_loop_resize(loop, 4), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_ERR_ARGUMENT);
    eqp_loop_free(loop);
}
