/* SPDX-License-Identifier: BSD-3-Clause */
/* Partners that routes and sparse records of one communicator remember: neither takes what the other one sends. */
#include "harness.h"

#include <equipoise/more/random.h>
#include <equipoise/more/route.h>

#include <stdlib.h>
#include <time.h>

enum { MOST_RANKS = 64 };

/* True if a rank sends to another one in a round; the pairs change. */
static bool has_for(int round, int from, int to)
{
    return from != to && eqp_random_bits((uint64_t)(round / 3), (uint64_t)from, (uint64_t)to) % 3 == 0;
}

/* A record of its rank and round for each of them. */
static void send_records(MPI_Comm comm, int round)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    int dest[MOST_RANKS], n = 0, expected = 0;
    int64_t record[MOST_RANKS], nrecv = 0, *recv = NULL;

    for (int r = 0; r < size; r++) {
        record[n] = 1000 * round + rank;
        dest[n] = r;
        n += has_for(round, rank, r);
    }
    CHECK_EQUAL(eqp_send_sparse(comm, EQP_OK, sizeof *record, n, dest, record, NULL, &nrecv, &recv), EQP_OK);
    for (int r = 0; r < size; r++) {
        if (has_for(round, r, rank)) {
            CHECK(expected < nrecv && recv[expected] == 1000 * round + r);
            expected++;
        }
    }
    CHECK_EQUAL(nrecv, expected);
    free(recv);
}

/* The same by a block of a route. */
static void send_block(MPI_Comm comm, int round, const eqp_exchange_plan *plan)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    const int64_t id = rank, bytes = 8, mine = 1000 * round + rank;
    int64_t first[2] = {0, 0};
    int to[MOST_RANKS], expected = 0;
    eqp_route *route = NULL;
    const void *received = NULL;

    for (int r = 0; r < size; r++) {
        to[first[1]] = r;
        first[1] += has_for(round, rank, r);
    }
    const eqp_route_blocks blocks = {.n = 1, .id = &id, .bytes = &bytes, .first = first, .rank = to};
    CHECK_EQUAL(eqp_route_create(comm, plan, &blocks, &route), EQP_OK);
    CHECK_EQUAL(eqp_route_start(route, &mine), EQP_OK);
    CHECK_EQUAL(eqp_route_finish(route, &received), EQP_OK);
    const eqp_route_view view = eqp_route_arrivals(route);
    for (int r = 0; r < size; r++) {
        if (has_for(round, r, rank)) {
            CHECK(expected < view.n && view.home[expected] == r &&
                  ((const int64_t *)received)[expected] == 1000 * round + r);
            expected++;
        }
    }
    CHECK_EQUAL(view.n, expected);
    eqp_route_free(route);
}

/* One communicator for all, while ranks come late: what is sent without being expected is never taken for another
 * call's. */
static void routes_and_records_take_turns(MPI_Comm comm)
{
    const eqp_exchange_plan direct = EQP_EXCHANGE_PLAN_DEFAULTS, staged = {EQP_STAGES_LOG, 0, 1};
    const struct timespec late = {.tv_nsec = 2000000};
    MPI_Comm own = MPI_COMM_NULL;

    CHECK_EQUAL(eqp_comm_create(comm, &own), EQP_OK);
    for (int round = 0; round < 40; round++) {
        if (eqp_random_bits(7, (uint64_t)round, (uint64_t)mpi_test_rank(comm)) % 5 == 0) {
            nanosleep(&late, NULL);
        }
        send_records(own, round);
        send_block(own, round + 100, round % 2 ? &direct : &staged);
        send_records(own, round + 200);
    }
    eqp_comm_free(&own);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {MPI_TEST(routes_and_records_take_turns)};

    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
