/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank without memory makes a route fail on all ranks, while it is planned, at its first trip, or at its first one
 * back. */
#include "harness.h"

#include <equipoise/more/route.h>

#include <unistd.h>

#include "failing_ranks.h"

/* Blocks for all ranks, for some ranks and for none; out and back. */
static int travel(MPI_Comm comm, void *user)
{
    const eqp_exchange_plan *plan = user;
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    const int64_t id[3] = {7, 8, 9}, bytes[3] = {8, 16, 8}, first[4] = {0, size, size + 1, size + 1};
    const double data[4] = {1, 2, 3, 4}, mine[4 * 64] = {0};
    double sum[4] = {-7, -7, -7, -7};
    int to[65];
    const eqp_route_blocks blocks = {
        .n = 3, .id = id, .bytes = bytes, .first = first, .rank = to, .back = plan->stages == EQP_STAGES_DIRECT};
    const void *received = NULL;
    eqp_route *route = NULL;

    CHECK(size <= 64);
    for (int r = 0; r < size; r++) {
        to[r] = r;
    }
    to[size] = (rank + size / 2) % size;
    failing_ranks_begin();
    int code = eqp_route_create(comm, plan, &blocks, &route);
    CHECK((route == NULL) == (code != EQP_OK));
    if (code == EQP_OK && (code = eqp_route_start(route, data)) == EQP_OK) {
        CHECK_EQUAL(eqp_route_finish(route, &received), EQP_OK);
        code = eqp_route_back_start(route, mine);
        CHECK_EQUAL(code == EQP_OK ? eqp_route_back_finish(route, sum) : EQP_OK, EQP_OK);
        CHECK_EQUAL(sum[3], code == EQP_OK ? 0 : -7);
    } else if (route != NULL) { /* some rank could not make it, and all hear of it as often as they ask */
        CHECK_EQUAL(eqp_route_start(route, data), code);
        CHECK_EQUAL(eqp_route_back_start(route, mine), code);
        CHECK_EQUAL(eqp_route_finish(route, &received), EQP_ERR_STATE);
    }
    failing_ranks_end();
    eqp_route_free(route);
    return code;
}

static void routes_fail_on_all_ranks_or_on_none(MPI_Comm comm)
{
    static const eqp_exchange_plan plans[] = {
        {EQP_STAGES_LOG, 2, 2}, {EQP_STAGES_DIRECT, 0, 1}, {EQP_STAGES_TWO, 0, 1}};

    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        eqp_exchange_plan plan = plans[i];
        CHECK_EQUAL(eqp_route_fit(comm, &plan), EQP_OK);
        CHECK(failing_ranks_check(comm, travel, &plan) > 0);
    }
}

static int fit(MPI_Comm comm, void *user)
{
    eqp_exchange_plan plan = {EQP_STAGES_LOG, 2, 2};

    (void)user;
    failing_ranks_begin();
    const int code = eqp_route_fit(comm, &plan);
    failing_ranks_end();
    return code;
}

static void plans_are_fitted_on_all_ranks_or_on_none(MPI_Comm comm)
{
    CHECK(failing_ranks_check(comm, fit, NULL) > 0);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(routes_fail_on_all_ranks_or_on_none),
        MPI_TEST(plans_are_fitted_on_all_ranks_or_on_none),
    };

    if (!failing_malloc_only_ours()) {
        printf("skipped: this system does not let a program fail its own allocations\n");
        return 77;
    }
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
