/* SPDX-License-Identifier: BSD-3-Clause */
/* Loops whose iterations travel in bundles: parts are those that ranks give; a failure of any callback on any rank ends
 * the loop on all, and the next run works. */
#include "harness.h"

#include "loop_body.h"

#include <equipoise/more/random.h>

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
        body_begin(comm, &b, BUNDLES, eqp_schedule_method_at(method)->name, 0, options);
        b.extra = (size_t)1 << draw(&at, 18);
        b.slow = draw(&at, nranks + 2) - 2;
        for (int step = 0; step < 3; step++) {
            const place fails = (place)draw(&at, TAKE + 1);
            int64_t mine = 0;
            int code;
            for (int r = 0; r < nranks; r++) {
                const int some = draw(&at, 30);
                mine = r == b.rank && some < 21 ? some : mine;
            }
            body_resize(comm, &b, mine);
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

    body_begin(comm, &b, BUNDLES, "guided", 0, (eqp_loop_options){.grain = 0});
    CHECK_EQUAL(eqp_loop_part(b.loop, 0).count, 0);
    body_resize(comm, &b, lay(6, b.rank, nranks));
    for (int r = 0; r < nranks; r++) {
        CHECK_EQUAL(eqp_loop_part(b.loop, r).first, first);
        CHECK_EQUAL(eqp_loop_part(b.loop, r).count, lay(6, r, nranks));
        first += lay(6, r, nranks);
    }
    CHECK_EQUAL(eqp_loop_part(b.loop, -1).count, 0);
    CHECK_EQUAL(eqp_loop_part(b.loop, nranks).count, 0);
    body_end(&b);
}

MPI_TEST(static_parts_are_one_chunk_each)
{
    eqp_loop_result mine;
    body b;

    /* most_given refers to chunks given away */
    body_begin(comm, &b, BUNDLES, "static", lay(6, mpi_test_rank(comm), mpi_test_size(comm)) - 3,
               (eqp_loop_options){.most_given = 1});
    b.packs = false;
    CHECK_EQUAL(body_run(comm, &b, &mine), 0);
    CHECK_EQUAL(mine.chunks, b.part.count > 0);
    CHECK_EQUAL(mine.iterations, b.part.count);
    body_end(&b);
}

/* The owner of all work is slow; every helper fails. */
MPI_TEST(failures_of_any_callback_reach_all_ranks)
{
    static const char *const names[] = {"self", "static", "awf-b", "fractiling"};
    const int nranks = mpi_test_size(comm);

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        for (int owner = 0; owner<nranks; owner += nranks> 1 ? nranks - 1 : 1) {
            body b;
            body_begin(comm, &b, BUNDLES, names[k], mpi_test_rank(comm) == owner ? 50 : 0,
                       (eqp_loop_options){.yield = true, .grain = 1});
            b.extra = k % 2 * 9000;
            b.slow = owner;
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

    body_begin(comm, &b, BUNDLES, "static", 5, (eqp_loop_options){.grain = 0});
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
        body_begin(comm, &b, BUNDLES, "self", mpi_test_rank(comm) == owner ? 30 : 0, (eqp_loop_options){.grain = 1});
        b.slow = owner;
        for (b.how = CODE; b.how <= TOO_LARGE; b.how++) {
            for (place p = PACK; p <= AWAY; p++) {
                b.fails = (p == PACK) == (b.rank == owner) ? p : NOWHERE;
                check_failure(comm, &b, nranks > 1 ? expected[b.how] : EQP_OK);
            }
        }
        body_end(&b);
    }
}

MPI_TEST(bundles_need_a_loop_of_their_own)
{
    const eqp_schedule_method *self = eqp_schedule_method_find("self");
    const eqp_loop_options good = {.size = sizeof(eqp_loop_options), .bundles = true};
    eqp_loop_options bad = good;
    const eqp_loop_work work = {.compute = compute, .bundles = &bundles};
    eqp_loop *loop = NULL;

    bad.most_given = -1;
    CHECK_EQUAL(eqp_loop_create(comm, self, 0, NULL, &bad, &loop), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_create(comm, self, 5, NULL, &good, &loop), EQP_ERR_ARGUMENT);
    CHECK(loop == NULL);
    CHECK_EQUAL(eqp_loop_create(comm, self, 0, NULL, NULL, &loop), EQP_OK);
    CHECK_EQUAL(eqp_loop_resize(loop, 4), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_loop_run(loop, &work, NULL), EQP_ERR_ARGUMENT);
    eqp_loop_free(loop);
}
