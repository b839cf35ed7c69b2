/* SPDX-License-Identifier: BSD-3-Clause */
/* A clock that goes back or counts. Include it in one file of a program: its clock_gettime() replaces libc's. */
#ifndef FAKE_CLOCK_H
#define FAKE_CLOCK_H

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

long syscall(long number, ...); /* not in POSIX */

/* Every k-th reading of the thread's CPU clock sets it back by 10 ms; 0: never. */
static int fake_clock_every;
static long fake_clock_readings;

/* Called at each reading of the thread's CPU clock; NULL allowed. */
static void (*fake_clock_hook)(void);

/* Nanoseconds by which each reading advances the thread's CPU clock. 0: the real clock. */
static long fake_clock_tick;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static long behind, ticks;
    const int code = (int)syscall(SYS_clock_gettime, clock, now);

    if (clock == CLOCK_THREAD_CPUTIME_ID && fake_clock_hook != NULL) {
        fake_clock_hook();
    }
    if (clock == CLOCK_THREAD_CPUTIME_ID && fake_clock_every > 0) {
        behind += ++fake_clock_readings % fake_clock_every == 0;
        now->tv_sec -= behind / 100;
        now->tv_nsec -= behind % 100 * 10000000;
    }
    if (clock == CLOCK_THREAD_CPUTIME_ID && fake_clock_tick > 0) {
        ticks += fake_clock_tick;
        now->tv_sec = ticks / 1000000000;
        now->tv_nsec = ticks % 1000000000;
    }
    return code;
}

#endif
