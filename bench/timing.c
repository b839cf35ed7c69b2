/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "timing.h"

#include <equipoise/survey.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void bench_times_add_since(bench_times *times, double start)
{
    bench_times_add(times, eqp_cpu_seconds_since(start));
}

void bench_times_add(bench_times *times, double seconds)
{
    if (times->n < BENCH_MOST_TIMES) {
        times->seconds[times->n++] = seconds;
    }
}

int bench_ascending(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;

    return (first > second) - (first < second);
}

static bench_times sorted(const bench_times *times)
{
    bench_times copy = *times;

    qsort(copy.seconds, (size_t)copy.n, sizeof copy.seconds[0], bench_ascending);
    return copy;
}

double bench_least(const bench_times *times)
{
    return times->n > 0 ? sorted(times).seconds[0] : 0.0;
}

double bench_median(const bench_times *times)
{
    const bench_times copy = sorted(times);

    return times->n > 0 ? 0.5 * (copy.seconds[(times->n - 1) / 2] + copy.seconds[times->n / 2]) : 0.0;
}

void bench_die(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(2);
}

void bench_check(int code, const char *what)
{
    if (code != EQP_OK) {
        bench_die(what != NULL && what[0] != '\0' ? what : eqp_error_text(code));
    }
}

void *bench_room(int64_t n, size_t size)
{
    void *memory = calloc((size_t)n + 1, size);

    if (memory == NULL) {
        bench_die("out of memory");
    }
    return memory;
}
