/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective calls in which one rank runs out of memory: every rank in turn, at every of its allocations in turn. Only
 * what this project allocates fails; what MPI and the other libraries do without memory is not ours to test. To be
 * included once in a program, after harness.h. */
#ifndef EQP_FAILING_RANKS_H
#define EQP_FAILING_RANKS_H

#include "../unit/failing_malloc.h"

/* A collective call between failing_ranks_begin() and failing_ranks_end(). Returns its code; frees what it made. */
typedef int (*failing_ranks_action)(MPI_Comm comm, void *user);

static int64_t failing_ranks_successes; /* -1: this rank has all the memory it wants */
static int64_t failing_ranks_failures;

static inline void failing_ranks_begin(void)
{
    if (failing_ranks_successes >= 0) {
        failing_malloc_start(failing_ranks_successes);
    }
}

static inline void failing_ranks_end(void)
{
    failing_ranks_failures = failing_malloc_stop();
}

/* One try, rank `victim` having memory for `successes` allocations. Returns whether it had too little. */
static inline int failing_ranks_try(MPI_Comm comm, int victim, int64_t successes, failing_ranks_action action,
                                    void *user)
{
    int code, failed, lowest, highest;

    failing_ranks_successes = mpi_test_rank(comm) == victim ? successes : -1;
    failing_ranks_failures = 0;
    code = action(comm, user);
    failed = mpi_test_rank(comm) == victim && failing_ranks_failures > 0;
    MPI_Allreduce(&code, &lowest, 1, MPI_INT, MPI_MIN, comm);
    MPI_Allreduce(&code, &highest, 1, MPI_INT, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, comm);
    CHECK_EQUAL(lowest, highest);
    CHECK_EQUAL(code, failed ? EQP_ERR_MEMORY : EQP_OK);
    return failed;
}

/* Fails on all ranks or on none, whoever lacks memory and when. Returns how many tries failed. */
static inline int64_t failing_ranks_check(MPI_Comm comm, failing_ranks_action action, void *user)
{
    int64_t tries = 0;

    for (int victim = 0; victim < mpi_test_size(comm); victim++) {
        for (int64_t k = 0; failing_ranks_try(comm, victim, k, action, user); k++) {
            tries++;
        }
    }
    return tries;
}

#endif
