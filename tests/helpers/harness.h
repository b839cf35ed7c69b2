/* SPDX-License-Identifier: BSD-3-Clause */
/* A small harness for tests on several ranks. A test is a function MPI_TEST(name_of_the_property) { ... } with the
 * communicator `comm`; main() is here. Every test runs on two communicators: all ranks in reverse order, and a split
 * by parity with reversed ranks. A failed check prints its place and both values and ends all ranks. A program with
 * its own main() defines MPI_TEST_OWN_MAIN. */
#ifndef EQP_MPI_HARNESS_H
#define EQP_MPI_HARNESS_H

#include "meet.h"

#include <equipoise/more/comm.h>

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mpi_test {
    const char *name;
    void (*run)(MPI_Comm comm);
} mpi_test;

enum { MPI_TEST_MOST = 64 };
static mpi_test mpi_tests[MPI_TEST_MOST];
static size_t mpi_test_count;
static const char *mpi_test_row; /* second argument of the program, or NULL */

#define MPI_TEST(function)                                                                                             \
    static void function(MPI_Comm comm);                                                                               \
    __attribute__((constructor)) static void function##_is_a_test(void)                                                \
    {                                                                                                                  \
        mpi_tests[mpi_test_count++] = (mpi_test){#function, function};                                                 \
    }                                                                                                                  \
    static void function(__attribute__((unused)) MPI_Comm comm)

static const char *mpi_test_now = "start", *mpi_test_case = ""; /* running test; its row of a table, if it says so */

static inline int mpi_test_rank(MPI_Comm comm)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    return rank;
}

_Noreturn static inline void mpi_test_fail(const char *file, int line, const char *what, double left, double right)
{
    fprintf(stderr, "%s:%d: rank %d, %s %s: %s (%.17g, %.17g)\n", file, line, mpi_test_rank(MPI_COMM_WORLD),
            mpi_test_now, mpi_test_case, what, left, right);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            mpi_test_fail(__FILE__, __LINE__, #condition, 0, 1);                                                       \
        }                                                                                                              \
    } while (0)

#define CHECK_EQUAL(a, b)                                                                                              \
    do {                                                                                                               \
        if ((a) != (b)) {                                                                                              \
            mpi_test_fail(__FILE__, __LINE__, #a " == " #b, (double)(a), (double)(b));                                 \
        }                                                                                                              \
    } while (0)

#define CHECK_NEAR(a, b, tolerance)                                                                                    \
    do {                                                                                                               \
        double near_a_ = (a), near_b_ = (b);                                                                           \
        if (!(near_a_ - near_b_ <= (tolerance) && near_b_ - near_a_ <= (tolerance))) {                                 \
            mpi_test_fail(__FILE__, __LINE__, #a " ~ " #b, near_a_, near_b_);                                          \
        }                                                                                                              \
    } while (0)

static inline int mpi_test_size(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size;
}

/* True if check k of many similar ones runs here: all on few ranks, a selection on many or under sanitizers. */
static inline int mpi_test_takes(int k)
{
#ifdef EQP_SANITIZED
    return k % 2 == 0;
#else
    return k % 2 == 0 || mpi_test_size(MPI_COMM_WORLD) <= 4;
#endif
}

static inline void *mpi_test_alloc(int64_t count, size_t size)
{
    void *array = calloc(count > 0 ? (size_t)count : 1, size);

    CHECK(array != NULL);
    return array;
}

/* Runs one test on a communicator of its own, then synchronizes. */
static inline void mpi_test_run(const mpi_test *test, MPI_Comm shape)
{
    MPI_Comm own = MPI_COMM_NULL;

    mpi_test_now = test->name;
    mpi_test_case = "";
    CHECK_EQUAL(eqp_comm_create(shape, &own), EQP_OK);
    test->run(own);
    eqp_comm_free(&own);
    CHECK(own == MPI_COMM_NULL);
    meet();
}

/* First argument: name of the only test to run. */
static inline int mpi_test_main(int argc, char **argv)
{
    MPI_Comm reversed, split;

    MPI_Init(&argc, &argv);
    const int rank = mpi_test_rank(MPI_COMM_WORLD);
    mpi_test_row = argc > 2 ? argv[2] : NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &split);
    for (size_t i = 0; i < mpi_test_count; i++) {
        if (argc > 1 && strcmp(argv[1], mpi_tests[i].name) != 0) {
            continue;
        }
        mpi_test_run(&mpi_tests[i], reversed);
        mpi_test_run(&mpi_tests[i], split);
        if (rank == 0) {
            printf("ok %s\n", mpi_tests[i].name);
            fflush(stdout);
        }
    }
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&split);
    MPI_Finalize();
    return 0;
}

#ifndef MPI_TEST_OWN_MAIN
int main(int argc, char **argv)
{
    return mpi_test_main(argc, argv);
}
#endif

#endif
