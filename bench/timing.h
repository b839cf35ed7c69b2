/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of benches: CPU seconds of repeated runs with minimum and median, memory, exit on errors. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define BENCH_NORETURN [[noreturn]]
#else
#define BENCH_NORETURN _Noreturn
#endif

#define BENCH_MOST_TIMES 256

/* The CPU seconds of several runs of the same thing. Start from {0}. */
typedef struct bench_times {
    int n;
    double seconds[BENCH_MOST_TIMES];
} bench_times;

/* CPU seconds since `start` (as of eqp_cpu_seconds()), as one more run; runs beyond BENCH_MOST_TIMES are dropped. */
void bench_times_add_since(bench_times *times, double start);

/* Adds a run whose seconds the caller has measured. */
void bench_times_add(bench_times *times, double seconds);

/* 0 without runs. */
double bench_least(const bench_times *times);
double bench_median(const bench_times *times);

/* Order of two doubles, for qsort(). */
int bench_ascending(const void *a, const void *b);

/* Prints the program's name and the message, and exits with status 2. */
BENCH_NORETURN void bench_die(const char *what);

/* Ends the program so for a code other than EQP_OK; what: NULL or "": the text of the code. */
void bench_check(int code, const char *what);

/* n zeroed elements; ends the program without memory. */
void *bench_room(int64_t n, size_t size);

#ifdef __cplusplus
}
#endif

#endif
