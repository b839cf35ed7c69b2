/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/survey.h>

#include <time.h>

static double seconds_of(clockid_t clock)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double eqp_cpu_seconds(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* Per thread. The clock is read for waiting only after the first eqp_busy_seconds(): programs that never ask pay
 * nothing. */
static _Thread_local int waits, asked;
static _Thread_local double waiting_since, waited;

void eqp_wait_begin(void)
{
    if (waits++ == 0 && asked) {
        waiting_since = eqp_cpu_seconds();
    }
}

void eqp_wait_end(void)
{
    if (--waits == 0 && asked) {
        waited += eqp_cpu_seconds_since(waiting_since);
    }
}

double eqp_busy_seconds(void)
{
    if (!asked) {
        asked = 1;
        waiting_since = eqp_cpu_seconds();
    }
    return (waits > 0 ? waiting_since : eqp_cpu_seconds()) - waited;
}

double eqp_wall_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}
