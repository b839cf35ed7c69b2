/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between changing partners arrive complete, once, and in rank order; a code reaches all ranks; a rank out of
 * memory does not block the rest. */
#include "harness.h"

#include <equipoise/more/random.h>

#include "failing_ranks.h"

enum { MOST_RANKS = 64 };

/* Message length; 0: no message. Pairs change every ten rounds. */
static int64_t length_of(int round, int from, int to)
{
    const uint64_t draw = eqp_random_bits((uint64_t)(round / 10), (uint64_t)from, (uint64_t)to);

    return from == to || draw % 3 == 0 ? 0 : draw % 29 == 0 ? 600000 + round : (int64_t)(draw % 5000) + 1;
}

static unsigned char byte_of(int round, int from, int to, int64_t i)
{
    return (unsigned char)(round + 7 * from + 31 * to + i);
}

/* Two puts, the second of which reallocates the first one's buffer. */
static void put(eqp_messenger *m, int round, int from, int to)
{
    const int64_t n = length_of(round, from, to), cut = n / 3;

    for (int half = 0; half < 2 && n > 0; half++) {
        const int64_t begin = half == 0 ? 0 : cut, end = half == 0 ? cut : n;
        unsigned char *room = NULL;
        CHECK_EQUAL(eqp_messenger_put(m, to, end - begin, &room), EQP_OK);
        for (int64_t i = begin; i < end; i++) {
            room[i - begin] = byte_of(round, from, to, i);
        }
    }
}

static void check_round(const eqp_messenger *m, int round, int rank, int size)
{
    const eqp_messages_view came = eqp_messenger_came(m);
    const eqp_route_counts counts = eqp_messenger_last_counts(m);
    int64_t sent = 0, received = 0;
    int at = 0;

    for (int from = 0; from < size; from++) {
        const int64_t n = length_of(round, from, rank);
        int64_t wrong = 0;
        sent += length_of(round, rank, from);
        received += n;
        if (n == 0) {
            continue;
        }
        CHECK(at < came.n && came.rank[at] == from && came.bytes[at] == n);
        for (int64_t i = 0; i < n; i++) {
            wrong += ((const unsigned char *)came.data[at])[i] != byte_of(round, from, rank, i);
        }
        CHECK_EQUAL(wrong, 0);
        at++;
    }
    CHECK_EQUAL(came.n, at);
    CHECK(counts.bytes_sent == sent && counts.bytes_received == received && counts.messages_received == at);
}

/* With and without knowledge of the senders; in some rounds nothing is received meanwhile. */
MPI_TEST(messages_arrive_whole)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    eqp_messenger *m = NULL;

    CHECK_EQUAL(eqp_messenger_create(comm, &m), EQP_OK);
    CHECK_EQUAL(eqp_messenger_finish(m), EQP_ERR_STATE);
    for (int round = 0; round < 30; round++) {
        int to[MOST_RANKS], from[MOST_RANKS], nto = 0, nfrom = 0;
        for (int r = 0; r < size; r++) {
            put(m, round, rank, r);
            to[nto] = from[nfrom] = r;
            nto += length_of(round, rank, r) > 0;
            nfrom += length_of(round, r, rank) > 0;
        }
        CHECK_EQUAL(round % 4 == 1 ? eqp_messenger_answer(m, EQP_OK, nto, to, nfrom, from)
                                   : eqp_messenger_send(m, EQP_OK),
                    EQP_OK);
        CHECK_EQUAL(eqp_messenger_send(m, EQP_OK), EQP_ERR_STATE);
        for (int look = 0; look < round % 3 * 20; look++) {
            CHECK_EQUAL(eqp_messenger_progress(m), EQP_OK);
        }
        CHECK_EQUAL(eqp_messenger_finish(m), EQP_OK);
        check_round(m, round, rank, size);
    }
    CHECK_EQUAL(eqp_messenger_send(m, EQP_OK), EQP_OK); /* freed while its messages are in transit */
    eqp_messenger_free(m);
}

/* In every round another rank fails and its messages are lost; the next exchange works. */
MPI_TEST(a_code_arrives_everywhere)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    eqp_messenger *m = NULL;

    CHECK_EQUAL(eqp_messenger_create(comm, &m), EQP_OK);
    for (int round = 0; round < 30; round++) {
        const bool failed = round % 2 == 0 && rank == round / 2 % size;
        for (int r = 0; r < size; r++) {
            put(m, round, rank, r);
        }
        CHECK_EQUAL(eqp_messenger_send(m, failed ? EQP_ERR_DATA : EQP_OK), EQP_OK);
        CHECK_EQUAL(eqp_messenger_finish(m), round % 2 == 0 ? EQP_ERR_DATA : EQP_OK);
        CHECK_EQUAL(eqp_messenger_came(m).rank == NULL, round % 2 == 0);
        if (round % 2 == 1) {
            check_round(m, round, rank, size);
        }
    }
    eqp_messenger_free(m);
}

/* Only ranks that expect an answer learn of the failure. */
MPI_TEST(an_answer_that_fails_is_told_to_those_who_wait)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    const int next = (rank + 1) % size, last = (rank + size - 1) % size, n = size > 1;
    eqp_messenger *m = NULL;

    CHECK_EQUAL(eqp_messenger_create(comm, &m), EQP_OK);
    CHECK_EQUAL(eqp_messenger_answer(m, rank == 0 ? EQP_ERR_DATA : EQP_OK, n, &next, n, &last), EQP_OK);
    CHECK_EQUAL(eqp_messenger_finish(m), rank == 0 || last == 0 ? EQP_ERR_DATA : EQP_OK);
    CHECK_EQUAL(eqp_messenger_came(m).n, 0);
    eqp_messenger_free(m);
}

static int put_long(eqp_messenger *m, int rank, int size)
{
    const int64_t n = 700000;
    unsigned char *room = NULL;
    const int code = size > 1 ? eqp_messenger_put(m, (rank + 1) % size, n, &room) : EQP_OK;

    if (code == EQP_OK && room != NULL) {
        memset(room, rank, (size_t)n);
    }
    return code;
}

static int exchange_with_little(MPI_Comm comm, void *user)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    const int next = (rank + 1) % size, last = (rank + size - 1) % size, n = size > 1;
    eqp_messenger *m = NULL;

    (void)user;
    failing_ranks_begin();
    int code = eqp_messenger_create(comm, &m);
    CHECK((m == NULL) == (code != EQP_OK));
    for (int round = 0; round < 2 && code == EQP_OK; round++) {
        code = put_long(m, rank, size);
        CHECK_EQUAL(round == 0 ? eqp_messenger_send(m, code) : eqp_messenger_answer(m, code, n, &next, n, &last),
                    EQP_OK);
        code = eqp_messenger_finish(m);
        const eqp_messages_view came = eqp_messenger_came(m);
        CHECK(code != EQP_OK || came.n == n);
        CHECK(code != EQP_OK || n == 0 || (came.rank[0] == last && ((const char *)came.data[0])[699999] == (char)last));
        code = eqp_agree(comm, code, NULL); /* only the rank that cannot store an arrival knows of it */
    }
    failing_ranks_end();
    eqp_messenger_free(m);
    return code;
}

MPI_TEST(lists_of_partners_ascend)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm), other = rank == 0 ? 1 : 0;
    const int twice[2] = {other, other}, self[1] = {rank};
    unsigned char *room;
    eqp_messenger *m = NULL;

    CHECK_EQUAL(eqp_messenger_create(comm, &m), EQP_OK);
    CHECK_EQUAL(eqp_messenger_answer(m, EQP_OK, 2, twice, 0, NULL), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_messenger_answer(m, EQP_OK, 0, NULL, 2, twice), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_messenger_answer(m, EQP_OK, 1, self, 0, NULL), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_messenger_finish(m), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_messenger_progress(m), EQP_OK);
    CHECK_EQUAL(eqp_messenger_put(m, rank, 8, &room), EQP_ERR_ARGUMENT);
    if (size > 1) { /* addressed to a rank outside the list */
        CHECK_EQUAL(eqp_messenger_put(m, other, 8, &room), EQP_OK);
        CHECK_EQUAL(eqp_messenger_answer(m, EQP_OK, 0, NULL, 0, NULL), EQP_OK);
        CHECK_EQUAL(eqp_messenger_put(m, other, 8, &room), EQP_ERR_STATE);
        CHECK_EQUAL(eqp_messenger_finish(m), EQP_ERR_ARGUMENT);
    }
    eqp_messenger_free(m);
}

/* By messengers created afterwards on duplicates of the communicator, and on no other communicator. */
MPI_TEST(traffic_is_counted_where_it_is_watched)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    const int next = (rank + 1) % size;
    int64_t bytes[MOST_RANKS] = {0};
    unsigned char *room;
    eqp_messenger *m = NULL, *apart = NULL;
    MPI_Comm own = MPI_COMM_NULL;

    CHECK(eqp_traffic_watched(comm) == NULL);
    CHECK_EQUAL(eqp_comm_create(comm, &own), EQP_OK);
    CHECK_EQUAL(eqp_traffic_watch(MPI_COMM_NULL, bytes), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_traffic_watch(own, bytes), EQP_OK);
    CHECK(eqp_traffic_watched(own) == bytes);
    CHECK_EQUAL(eqp_messenger_create(own, &m), EQP_OK);
    CHECK_EQUAL(eqp_messenger_create(comm, &apart), EQP_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(next == rank ? EQP_OK : eqp_messenger_put(i == 0 ? m : apart, next, 100, &room), EQP_OK);
        CHECK_EQUAL(eqp_messenger_send(i == 0 ? m : apart, EQP_OK), EQP_OK);
        CHECK_EQUAL(eqp_messenger_finish(i == 0 ? m : apart), EQP_OK);
    }
    for (int r = 0; r < size; r++) {
        CHECK_EQUAL(bytes[r], r == next && r != rank ? 100 : 0);
    }
    CHECK_EQUAL(eqp_traffic_watch(own, NULL), EQP_OK);
    CHECK_EQUAL(eqp_messenger_send(m, EQP_OK), EQP_OK);
    CHECK_EQUAL(eqp_messenger_finish(m), EQP_OK);
    eqp_messenger_free(apart);
    eqp_messenger_free(m);
    eqp_comm_free(&own);
}

MPI_TEST(nobody_waits_for_a_rank_without_memory)
{
    CHECK(failing_ranks_check(comm, exchange_with_little, NULL) > 0);
}

/* ---- routes and records on one communicator: each keeps its own partners ---- */

/* Pairs change from round to round. */
static bool has_for(int round, int from, int to)
{
    return from != to && eqp_random_bits((uint64_t)(round / 3), (uint64_t)from, (uint64_t)to) % 3 == 0;
}

static void send_rank_and_round(MPI_Comm comm, int round)
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

/* On one communicator, with late ranks, an unexpected message is never taken for another call's. */
MPI_TEST(routes_and_records_take_turns)
{
    const eqp_exchange_plan direct = EQP_EXCHANGE_PLAN_DEFAULTS, staged = {EQP_STAGES_LOG, 0, 1};
    const struct timespec late = {.tv_nsec = 2000000};
    MPI_Comm own = MPI_COMM_NULL;

    CHECK_EQUAL(eqp_comm_create(comm, &own), EQP_OK);
    for (int round = 0; round < 40; round++) {
        if (eqp_random_bits(7, (uint64_t)round, (uint64_t)mpi_test_rank(comm)) % 5 == 0) {
            nanosleep(&late, NULL);
        }
        send_rank_and_round(own, round);
        send_block(own, round + 100, round % 2 ? &direct : &staged);
        send_rank_and_round(own, round + 200);
    }
    eqp_comm_free(&own);
}
