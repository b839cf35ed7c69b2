/* SPDX-License-Identifier: BSD-3-Clause */
/* Preload: clocks that lie, as on a loaded machine and worse. CPU time and the monotonic clock run up to 50 times as
 * fast, stop, or jump forward by up to 10 s, and change after some readings; they never go back. LYING_CLOCK is the
 * seed; ranks and programs differ, and each is reproducible. System libraries, thus launchers and MPI, see the true
 * time. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Times in ns. */
struct lie {
    uint64_t state;       /* state of the random numbers; 0: not seeded */
    int64_t real, shown;  /* at the last reading */
    int64_t rate, period; /* tenths of the true rate, for `period` more readings */
};

static uint64_t next(uint64_t *state)
{
    uint64_t word = *state += 0x9e3779b97f4a7c15u;

    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/* From the seed, the rank and the program's name. */
static uint64_t seed(void)
{
    const char *const names[] = {"LYING_CLOCK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    uint64_t hash = 1;
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *const value = getenv(names[k]);

        hash = hash * 1000003 + (value ? strtoull(value, NULL, 10) + 1 : 0);
    }
    for (ssize_t k = 0; k < length; k++) {
        hash = hash * 1000003 + (unsigned char)path[k];
    }
    return hash | 1;
}

static int64_t told(struct lie *lie, int64_t real)
{
    static const int64_t rates[] = {0, 0, 1, 3, 10, 10, 30, 100, 250, 500};

    if (lie->state == 0) {
        lie->state = seed();
        lie->real = lie->shown = real;
    }
    if (lie->period-- <= 0) {
        lie->rate = rates[next(&lie->state) % (sizeof rates / sizeof *rates)];
        lie->period = (int64_t)(next(&lie->state) % 100);
        if (next(&lie->state) % 8 == 0) {
            /* Jumps of all sizes from microseconds to seconds. */
            lie->shown += (int64_t)(next(&lie->state) % 10000000000u) >> next(&lie->state) % 20;
        }
    }
    lie->shown += (real - lie->real) * lie->rate / 10;
    lie->real = real;
    return lie->shown;
}

static int of_system(const void *caller)
{
    static _Thread_local const void *last;
    static _Thread_local int answer;
    Dl_info info;

    if (caller != last) {
        answer = dladdr(caller, &info) == 0 || !info.dli_fname || strncmp(info.dli_fname, "/usr/", 5) == 0 ||
                 strncmp(info.dli_fname, "/lib", 4) == 0;
        last = caller;
    }
    return answer;
}

/* Takes no lock, since a fork() could leave it locked. */
static int64_t now_for(clockid_t clock, const void *caller)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static _Thread_local struct lie thread;
    static struct lie process, monotonic;
    struct lie *const lie = clock == CLOCK_MONOTONIC            ? &monotonic
                            : clock == CLOCK_PROCESS_CPUTIME_ID ? &process
                                                                : &thread;
    const int truth = of_system(caller);
    struct timespec time = {0, 0};
    int64_t shown;

    if (!truth) {
        (void)pthread_mutex_lock(&lock);
    }
    (void)syscall(SYS_clock_gettime, clock, &time);
    shown = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
    if (!truth) {
        shown = told(lie, shown);
        (void)pthread_mutex_unlock(&lock);
    }
    return shown;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_THREAD_CPUTIME_ID && clock != CLOCK_PROCESS_CPUTIME_ID && clock != CLOCK_MONOTONIC) {
        return (int)syscall(SYS_clock_gettime, clock, time);
    }
    const int64_t now = now_for(clock, __builtin_return_address(0));

    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

clock_t clock(void)
{
    return now_for(CLOCK_PROCESS_CPUTIME_ID, __builtin_return_address(0)) / (1000000000 / CLOCKS_PER_SEC);
}

/* Replaces MPI's function without linking MPI. */
double MPI_Wtime(void);

double MPI_Wtime(void)
{
    return 1e-9 * (double)now_for(CLOCK_MONOTONIC, __builtin_return_address(0));
}
