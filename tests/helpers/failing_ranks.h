/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective calls in which one rank runs out of memory: each rank in turn, at each place that allocates, by each path
 * of two or three calls to that place, the first and the last time. A failure already checked on a rank for the same
 * action is skipped. Only this project's allocations fail. Include once per program, after harness.h. */
#ifndef EQP_FAILING_RANKS_H
#define EQP_FAILING_RANKS_H

#include "failing_malloc.h"
#include "slow.h"

#include <equipoise/error.h>

#if defined(__GNUC__)
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>
#endif

/* A collective call between failing_ranks_begin() and failing_ranks_end(). Returns its code; frees what it made. */
typedef int (*failing_ranks_action)(MPI_Comm comm, void *user);

static int64_t failing_ranks_successes; /* -1: no allocation of this rank fails */
static int64_t failing_ranks_failures;

static inline void failing_ranks_begin(void)
{
    failing_malloc_start(failing_ranks_successes >= 0 ? failing_ranks_successes : INT64_MAX);
}

static inline void failing_ranks_end(void)
{
    failing_ranks_failures = failing_malloc_stop();
}

/* One attempt in which rank `victim` can make `successes` allocations. Returns true if one failed. */
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

/* Allocating places of this rank, each named by its innermost calls: two or three in here and failing_malloc.h, then
 * the allocating function and its caller. */
enum { FAILING_RANKS_PLACES = 4096, FAILING_RANKS_DEPTH = 5 };
static struct {
    uint64_t name;
    int64_t first, last; /* numbers of allocations */
    int done;
} failing_ranks_place[FAILING_RANKS_PLACES];
static int failing_ranks_nplaces;
static failing_ranks_action failing_ranks_now;

#if defined(__GNUC__)
/* A hash of the innermost calls. */
typedef struct failing_ranks_calls {
    uint64_t name;
    int depth;
} failing_ranks_calls;

static inline _Unwind_Reason_Code failing_ranks_call(struct _Unwind_Context *context, void *user)
{
    failing_ranks_calls *calls = user;

    calls->name = (calls->name ^ (uint64_t)_Unwind_GetIP(context)) * UINT64_C(0x9E3779B97F4A7C15);
    return ++calls->depth < FAILING_RANKS_DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}
#endif

static inline void failing_ranks_watch(int64_t successes)
{
    uint64_t name = (uint64_t)(uintptr_t)failing_ranks_now;
    int p = 0;

#if defined(__GNUC__)
    failing_ranks_calls calls = {.name = name};
    (void)_Unwind_Backtrace(failing_ranks_call, &calls);
    name = calls.name;
#else
    name += (uint64_t)successes; /* every allocation is its own place */
#endif
    while (p < failing_ranks_nplaces && failing_ranks_place[p].name != name) {
        p++;
    }
    CHECK(p < FAILING_RANKS_PLACES);
    if (p == failing_ranks_nplaces) {
        failing_ranks_place[failing_ranks_nplaces++].name = name;
        failing_ranks_place[p].first = successes;
    }
    failing_ranks_place[p].last = failing_ranks_place[p].done ? failing_ranks_place[p].last : successes;
}

#ifndef FAILING_RANKS_MOST
#define FAILING_RANKS_MOST 3 /* ranks: on more, failures repeat the same places */
#endif
#ifndef FAILING_RANKS_TIMES
#define FAILING_RANKS_TIMES 2 /* failures tried at each place: 2 the first and last, 1 the first */
#endif

/* Checks that a call fails on all ranks or on none, for each rank and each failing allocation; under sanitizers for a
 * third of the places on one rank, the first time only. Returns the allocations of all ranks without a failure, or
 * INT64_MAX where nothing is tried: on more ranks, or where allocations cannot be made to fail. */
static inline int64_t failing_ranks_check(MPI_Comm comm, failing_ranks_action action, void *user)
{
    const bool few = slow_here();
    int64_t allocations = 0;

    if (mpi_test_size(comm) > FAILING_RANKS_MOST || (failing_malloc_modules == 0 && !failing_malloc_only_ours())) {
        return INT64_MAX;
    }
    failing_ranks_now = action;
    failing_malloc_watcher = failing_ranks_watch;
    CHECK(!failing_ranks_try(comm, MPI_PROC_NULL, 0, action, user));
    failing_malloc_watcher = NULL;
    MPI_Allreduce(&failing_malloc_seen, &allocations, 1, MPI_INT64_T, MPI_SUM, comm);
    for (int victim = 0; victim < mpi_test_size(comm); victim++) {
        int places = failing_ranks_nplaces;
        MPI_Bcast(&places, 1, MPI_INT, victim, comm);
        for (int p = few ? victim : 0; p < places; p += few ? 3 * mpi_test_size(comm) : 1) {
            int64_t when[2] = {-1, -1};
            if (mpi_test_rank(comm) == victim && !failing_ranks_place[p].done) {
                when[0] = failing_ranks_place[p].first;
                when[1] = failing_ranks_place[p].last;
                failing_ranks_place[p].done = 1;
            }
            MPI_Bcast(when, 2, MPI_INT64_T, victim, comm);
            for (int t = 0; t < (few ? 1 : FAILING_RANKS_TIMES) && when[t] >= 0 && (t == 0 || when[1] > when[0]); t++) {
                (void)failing_ranks_try(comm, victim, when[t], action, user);
            }
        }
    }
    /* The failed call changed nothing. */
    CHECK(!failing_ranks_try(comm, MPI_PROC_NULL, 0, action, user));
    return allocations;
}

#endif
