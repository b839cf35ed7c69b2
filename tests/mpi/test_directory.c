/* SPDX-License-Identifier: BSD-3-Clause */
/* A directory finds the rank of every id, and no rank for unknown ids. */
#include "harness.h"

#include <equipoise/more/random.h>

#include "failing_ranks.h"

enum { IDS = 300, QUESTIONS = 3 * IDS, UNSET = -7 };

enum spread { ANYWHERE, ALL_ON_LAST, EVERY_OTHER_RANK, NOWHERE, SPREADS };

/* Distinct ids of a set, 0 <= k < 2 IDS; no rank holds the second half. */
static int64_t id_of(int set, int k)
{
    static const int64_t special[] = {INT64_MIN, INT64_MAX, 0, -1, 1, INT64_MIN + 1};

    return k < 6          ? special[k]
           : k % 3 == 0   ? k
           : k % 3 == 1   ? -(int64_t)k
           : set % 2 == 0 ? (int64_t)eqp_random_bits(5, (uint64_t)k, 0)
                          : (int64_t)(eqp_random_bits(5, (uint64_t)k, 0) >> 30);
}

/* The rank that holds id k of a set, or -1. */
static int rank_of(int set, enum spread spread, int k, int size)
{
    switch (spread) {
    case ANYWHERE:
        return (int)eqp_random_below(6, (uint64_t)set, (uint64_t)k, (uint64_t)size);
    case ALL_ON_LAST:
        return size - 1;
    case EVERY_OTHER_RANK:
        return k % ((size + 1) / 2) * 2;
    default:
        return -1;
    }
}

static int64_t own_ids(MPI_Comm comm, int set, enum spread spread, int64_t *id)
{
    int64_t n = 0;

    for (int i = 0; i < IDS; i++) {
        const int k = (i * 7919 + 11 * set) % IDS;
        if (rank_of(set, spread, k, mpi_test_size(comm)) == mpi_test_rank(comm)) {
            id[n++] = id_of(set, k);
        }
    }
    return n;
}

static eqp_directory *directory_of(MPI_Comm comm, int set, enum spread spread)
{
    int64_t id[IDS];
    const int64_t n = own_ids(comm, set, spread, id);
    eqp_directory *directory = NULL;

    CHECK_EQUAL(eqp_directory_create(comm, n, n > 0 ? id : NULL, &directory), EQP_OK);
    CHECK(directory != NULL);
    return directory;
}

/* n queries of this rank, different in each round: ids of all ranks and unknown ids, many of them repeated. */
static void check_answers(MPI_Comm comm, eqp_directory *directory, int set, enum spread spread, int64_t n, int round)
{
    const uint64_t asker = (uint64_t)mpi_test_rank(comm) + 100 * (uint64_t)round;
    int64_t id[QUESTIONS];
    int rank[QUESTIONS], expected[QUESTIONS];

    for (int64_t i = 0; i < n; i++) {
        const uint64_t span = i % 10 == 0 ? 6 : 2 * IDS;
        const int k = (int)eqp_random_below(7, asker, (uint64_t)i, span);
        id[i] = id_of(set, k);
        expected[i] = k < IDS ? rank_of(set, spread, k, mpi_test_size(comm)) : -1;
        rank[i] = UNSET;
    }
    CHECK_EQUAL(eqp_directory_find(directory, n, n > 0 ? id : NULL, n > 0 ? rank : NULL), EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        CHECK_EQUAL(rank[i], expected[i]);
    }
}

MPI_TEST(all_ranks_find_the_holder_of_an_id)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);

    for (int spread = ANYWHERE; spread < SPREADS; spread++) {
        eqp_directory *directory = directory_of(comm, spread, (enum spread)spread);

        check_answers(comm, directory, spread, (enum spread)spread, QUESTIONS, 0);
        check_answers(comm, directory, spread, (enum spread)spread, rank == size / 2 ? QUESTIONS : 0, 1);
        check_answers(comm, directory, spread, (enum spread)spread, 40 * (rank % 3), 2);
        check_answers(comm, directory, spread, (enum spread)spread, 0, 3);
        eqp_directory_free(directory);
    }
}

/* The two halves use the same ids with different ranks. */
MPI_TEST(directories_do_not_meet)
{
    const int rank = mpi_test_rank(comm);
    eqp_directory *whole = directory_of(comm, 1, ANYWHERE), *part;
    MPI_Comm half;

    MPI_Comm_split(comm, rank % 2, -rank, &half);
    part = directory_of(half, 2, ANYWHERE);
    check_answers(half, part, 2, ANYWHERE, 100, rank);
    check_answers(comm, whole, 1, ANYWHERE, 100, rank);
    check_answers(half, part, 2, ANYWHERE, 10 * rank, rank);
    MPI_Comm_free(&half); /* the directory has duplicated it */
    int64_t id = INT64_MIN;
    int found = UNSET;
    CHECK_EQUAL(eqp_directory_find(part, 1, &id, &found), EQP_OK);
    CHECK(found >= 0);
    eqp_directory_free(part);
    eqp_directory_free(whole);
}

/* The id is on ranks a and b; a == b allowed. */
static void check_twice(MPI_Comm comm, int a, int b, int64_t twice)
{
    const int rank = mpi_test_rank(comm);
    int64_t id[12], n = 0;
    eqp_directory *directory = NULL;

    for (int k = 0; k < 10; k++) {
        id[n++] = 1000 + 10 * rank + k;
        if ((k == 4 && rank == a) || (k == 8 && rank == b)) {
            id[n++] = twice;
        }
    }
    CHECK_EQUAL(eqp_directory_create(comm, n, id, &directory), EQP_ERR_DATA);
    CHECK(directory == NULL);
    CHECK_EQUAL(eqp_directory_create(comm, rank == a ? 5 : 0, id, &directory), EQP_OK);
    eqp_directory_free(directory);
}

MPI_TEST(duplicate_ids_are_refused_on_all_ranks)
{
    const int64_t twice[] = {INT64_MIN, INT64_MAX, -1, 0, 77};
    const int last = mpi_test_size(comm) - 1;

    for (size_t k = 0; k < sizeof twice / sizeof twice[0]; k++) {
        check_twice(comm, 0, 0, twice[k]);
        check_twice(comm, last, last, twice[k]);
        check_twice(comm, 0, last, twice[k]);
        check_twice(comm, last, last / 2, twice[k]);
    }
}

static int without_memory(MPI_Comm comm, void *user)
{
    int64_t id[IDS], asked[IDS];
    const int64_t n = own_ids(comm, 0, EVERY_OTHER_RANK, id);
    int rank[IDS] = {UNSET};
    eqp_directory *directory = NULL;

    (void)user;
    for (int k = 0; k < IDS; k++) {
        asked[k] = id_of(0, 2 * k);
    }
    failing_ranks_begin();
    int code = eqp_directory_create(comm, n, id, &directory);
    CHECK((directory == NULL) == (code != EQP_OK));
    if (code == EQP_OK) {
        code = eqp_directory_find(directory, IDS, asked, rank);
        CHECK((rank[0] == UNSET) == (code != EQP_OK));
    }
    failing_ranks_end();
    eqp_directory_free(directory);
    return code;
}

MPI_TEST(calls_fail_on_all_ranks_or_on_none)
{
    CHECK(failing_ranks_check(comm, without_memory, NULL) > 0);
}
