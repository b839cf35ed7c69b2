/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective calls in which one rank runs out of memory: every rank in turn, at every of its allocations in turn. Only
 * what this project allocates fails; what MPI and the other libraries do without memory is not ours to test. To be
 * included once in a program, after harness.h. */
#ifndef EQP_FAILING_RANKS_H
#define EQP_FAILING_RANKS_H

#include "../unit/failing_malloc.h"

enum { FAILING_RANKS_MODULES = 16 };

/* Where the code of this project lies in memory. */
static struct {
    const char *begin, *end;
} failing_ranks_module[FAILING_RANKS_MODULES];
static int failing_ranks_modules;

static int failing_ranks_is_ours(const void *caller)
{
    for (int i = 0; i < failing_ranks_modules; i++) {
        if ((const char *)caller >= failing_ranks_module[i].begin &&
            (const char *)caller < failing_ranks_module[i].end) {
            return 1;
        }
    }
    return 0;
}

static inline void failing_ranks_add_module(const char *line)
{
    uintptr_t begin, end;

    CHECK(failing_ranks_modules < FAILING_RANKS_MODULES);
    CHECK_EQUAL(sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end), 2);
    failing_ranks_module[failing_ranks_modules].begin = (const char *)begin;
    failing_ranks_module[failing_ranks_modules++].end = (const char *)end;
}

/* Reads the map of this process: the program itself and libequipoise*. 0: this cannot be done here. */
static inline int failing_ranks_find_modules(void)
{
    static char self[4096], line[8192];
    FILE *maps = fopen("/proc/self/maps", "r");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (!failing_malloc_works || !maps || length < 0) {
        return 0;
    }
    while (fgets(line, sizeof line, maps)) {
        if (strstr(line, " r-xp ") && (strstr(line, self) || strstr(line, "/libequipoise"))) {
            failing_ranks_add_module(line);
        }
    }
    fclose(maps);
    failing_malloc_concerns = failing_ranks_is_ours;
    return failing_ranks_modules > 0;
}

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
