/* SPDX-License-Identifier: BSD-3-Clause */
/* A barrier of the processes or threads that share one struct in memory: a counter of arrivals and the number of the
 * meeting. The last one to arrive ends the meeting; the rest sleep until its number has changed. Every failure is
 * recorded before its arrival, so that all participants return the same code. */
#ifndef EQUIPOISE_COMM_MEETING_H
#define EQUIPOISE_COMM_MEETING_H

#include <equipoise/error.h>

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#define EQP__FUTEX 1
#endif

/* Zeros: no meeting yet. */
typedef struct eqp__meeting {
    _Alignas(64) _Atomic uint32_t number; /* of meetings that have ended */
    _Atomic uint32_t arrived;
    _Atomic uint64_t failed;     /* the largest eqp__failure_of() of the present meeting */
    _Atomic uint64_t outcome[2]; /* `failed` of an even and an odd meeting; read before the next but one can end */
} eqp__meeting;

/* A failure as one word, 0 for none; of several the largest counts. As the word is a complement, that is the failure of
 * the lowest rank that failed by itself. */
static inline uint64_t eqp__failure_of(int rank, int code)
{
    const uint64_t remote = code == EQP_ERR_REMOTE;

    return code == EQP_OK ? 0 : ~(remote << 63 | (uint64_t)(unsigned)rank << 32 | (uint32_t)code);
}

/* Sleeps while the number is `old`, or shorter. */
static inline void eqp__meeting_sleep(eqp__meeting *m, uint32_t old)
{
#ifdef EQP__FUTEX
    (void)syscall(SYS_futex, &m->number, FUTEX_WAIT, old, NULL, NULL, 0);
#else
    const struct timespec nap = {0, 20000};

    (void)m, (void)old;
    (void)nanosleep(&nap, NULL);
#endif
}

static inline void eqp__meeting_wake(eqp__meeting *m)
{
#ifdef EQP__FUTEX
    (void)syscall(SYS_futex, &m->number, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
#else
    (void)m;
#endif
}

/* Waits until all n participants have come. rank: among them. Returns the code of the lowest one that failed by itself,
 * or EQP_ERR_REMOTE if there are only such. What a participant wrote before is visible to all afterwards. */
static inline int eqp__meeting_hold(eqp__meeting *m, int n, int rank, int code)
{
    enum { SPINS = 200 };
    const uint32_t number = atomic_load_explicit(&m->number, memory_order_relaxed); /* stays: this rank is missing */
    const uint64_t failure = eqp__failure_of(rank, code);
    uint64_t seen = atomic_load_explicit(&m->failed, memory_order_relaxed);

    while (failure > seen && !atomic_compare_exchange_weak_explicit(&m->failed, &seen, failure, memory_order_relaxed,
                                                                    memory_order_relaxed)) {
    }
    if (atomic_fetch_add_explicit(&m->arrived, 1, memory_order_acq_rel) + 1 == (uint32_t)n) {
        seen = atomic_exchange_explicit(&m->failed, 0, memory_order_relaxed);
        atomic_store_explicit(&m->outcome[number & 1], seen, memory_order_relaxed);
        atomic_store_explicit(&m->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&m->number, number + 1, memory_order_release);
        eqp__meeting_wake(m);
    }
    for (int spins = 0; atomic_load_explicit(&m->number, memory_order_acquire) == number; spins++) {
        if (spins >= SPINS) {
            eqp__meeting_sleep(m, number);
        }
    }
    seen = atomic_load_explicit(&m->outcome[number & 1], memory_order_relaxed);
    return seen == 0 ? EQP_OK : (int)(uint32_t)~seen;
}

#endif
