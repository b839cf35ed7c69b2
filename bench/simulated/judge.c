/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the judge that is linked into an app: run.py makes of both a program for SimGrid's SMPI.
 *
 * Work is counted in picoseconds and handed to the simulator before each MPI call. In counted mode the compiler calls
 * __sanitizer_cov_trace_pc() in every basic block, and a table made from the disassembled program has the price of the
 * block's instructions, so two runs agree to the digit. In measured mode the thread's CPU clock is read instead.
 * Either way the app's own CPU clock shows this work, and its wall clock the simulated time.
 * A failed poll sleeps here, because SimGrid's own sleep grows with the failed polls of all ranks. */
#include <equipoise/balancer.h>
#include <equipoise/more/comm.h>

#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <math.h>
#include <mpi.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Prices in picoseconds: of an allocation, and of a byte that is copied or set, which is not our code. */
enum { ALLOCATION = 40000, COPIED_BYTE = 50 };

/* Less work than this waits for the next call. */
enum { SMALL = 50000 };

/* Seconds that a failed poll sleeps: a share of the time waited so far, within these limits. */
#define NAP_SHARE 0.05
#define NAP_LEAST 0.2e-6
#define NAP_MOST 1e-6

/* The linker sends calls of a function to __wrap_NAME(); __real_NAME() is the function itself. */
#define WRAPPED(type, name, parameters)                                                                                \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;

WRAPPED(int, clock_gettime, (clockid_t clock, struct timespec *time))
WRAPPED(int, nanosleep, (const struct timespec *time, struct timespec *left))
WRAPPED(int, sched_yield, (void))
WRAPPED(long, syscall, (long number, ...))
WRAPPED(int, eqp_node_meet, (eqp_node * node, int code))
WRAPPED(void *, malloc, (size_t bytes))
WRAPPED(void *, calloc, (size_t n, size_t size))
WRAPPED(void *, realloc, (void *data, size_t bytes))
WRAPPED(int, posix_memalign, (void **data, size_t unit, size_t bytes))
WRAPPED(void *, aligned_alloc, (size_t unit, size_t bytes))
WRAPPED(void, free, (void *data))
WRAPPED(void *, memcpy, (void *to, const void *from, size_t bytes))
WRAPPED(void *, memmove, (void *to, const void *from, size_t bytes))
WRAPPED(void *, memset, (void *to, int byte, size_t bytes))
WRAPPED(int, eqp_balancer_record, (eqp_balancer * balancer, const eqp_work *given, eqp_step *step))

/* One rank's counts at the end of a step; run.py names the columns alike. */
typedef struct note {
    double end, work, forces, blocking, others, messages, bytes, peak, exchanged, exchanged_bytes;
} note;

enum { NUMBERS = sizeof(note) / sizeof(double) };

/* Each rank has these: SMPI loads a copy of the program per rank. */
static const uint16_t *price; /* [priced] in units of 10 ps, by the address of the instruction after the call */
static size_t priced;
static int64_t work, charged;   /* not yet handed over; handed over */
static struct timespec resumed; /* measured mode: CPU clock when the app went on */
static bool measures;
static double waits_since = -1.0;
static int64_t allocated;
static note now;
static note *notes;
static int nnotes;

/* First byte of the program in memory, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

void __sanitizer_cov_trace_pc(void)
{
    const size_t at = (size_t)((const char *)__builtin_return_address(0) - __ehdr_start);

    if (at < priced) {
        work += 10 * price[at];
    }
}

__attribute__((constructor)) static void open_prices(void)
{
    const char *path = getenv("JUDGE_PRICES");
    const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat s;

    measures = !path;
    if (file >= 0 && fstat(file, &s) == 0) {
        void *table = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, file, 0);
        if (table != MAP_FAILED) {
            price = table;
            priced = (size_t)s.st_size / sizeof *price;
        }
    }
    if (file >= 0) {
        (void)close(file);
    }
}

static struct timespec cpu_time(void)
{
    struct timespec t = {0, 0};

    (void)syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
    return t;
}

/* All ranks run in one thread, and another one only goes on within a call of the simulator. */
static void meter(void)
{
    if (measures) {
        const struct timespec t = cpu_time();
        if (resumed.tv_sec > 0 || resumed.tv_nsec > 0) {
            work += ((int64_t)(t.tv_sec - resumed.tv_sec) * 1000000000 + t.tv_nsec - resumed.tv_nsec) * 1000;
        }
        resumed = t;
    }
}

static void nap(void)
{
    const double t = simgrid_get_clock();

    waits_since = waits_since < 0.0 ? t : waits_since;
    const double share = NAP_SHARE * (t - waits_since);
    sg_actor_sleep_for(share < NAP_LEAST ? NAP_LEAST : share > NAP_MOST ? NAP_MOST : share);
}

/* A call of MPI ends. found: flag of a poll, which sleeps if it is 0; NULL for all else */
static void leave(const int *found)
{
    if (found && !*found) {
        nap();
    } else if (found) {
        waits_since = -1.0;
    }
    if (measures) {
        resumed = cpu_time();
    }
}

/* Hands work over to the simulator; hosts make 1e9 operations a second. */
static void charge(void)
{
    meter();
    if (work >= SMALL) {
        const int64_t all = work;
        work = 0;
        charged += all;
        smpi_execute_flops(1e-3 * (double)all);
        leave(NULL);
    }
}

typedef enum kind { CALL, MESSAGE, BLOCKING, NONBLOCKING } kind;

/* A call of MPI begins. n, type: of a message */
static void enter(kind kind, MPI_Comm comm, int n, MPI_Datatype type)
{
    int nranks = 2, size = 0;

    charge();
    if (comm != MPI_COMM_NULL) {
        (void)PMPI_Comm_size(comm, &nranks);
    }
    if (kind == MESSAGE) {
        (void)PMPI_Type_size(type, &size);
        now.messages++;
        now.bytes += (double)n * size;
    } else if (nranks > 1) {
        now.blocking += kind == BLOCKING;
        now.others += kind == NONBLOCKING;
    }
}

/* ---- clocks, allocations and copies of the app, which the linker sends here ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int64_t ps;

    if (clock == CLOCK_THREAD_CPUTIME_ID || clock == CLOCK_PROCESS_CPUTIME_ID) {
        meter();
        ps = charged + work;
    } else {
        charge();
        ps = (int64_t)(1e12 * simgrid_get_clock());
    }
    time->tv_sec = ps / 1000000000000;
    time->tv_nsec = ps / 1000 % 1000000000;
    return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    charge();
    sg_actor_sleep_for((double)time->tv_sec + 1e-9 * (double)time->tv_nsec);
    leave(NULL);
    return 0;
}

int __wrap_sched_yield(void)
{
    charge();
    leave(&(int){0});
    return 0;
}

/* Ranks of a node wait for each other on a futex, which would stop the only thread. */
long __wrap_syscall(long number, ...)
{
    va_list list;
    long argument[6];

    va_start(list, number);
    for (int k = 0; k < 6; k++) {
        argument[k] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_futex) {
        charge();
        leave(argument[1] == FUTEX_WAIT ? &(int){0} : NULL);
        return 0;
    }
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

/* A rank arrives after the time of its work so far. */
int __wrap_eqp_node_meet(eqp_node *node, int code)
{
    charge();
    code = __real_eqp_node_meet(node, code);
    leave(&(int){1});
    return code;
}

static void *hold(void *data)
{
    work += measures ? 0 : ALLOCATION;
    allocated += (int64_t)malloc_usable_size(data);
    now.peak = (double)allocated > now.peak ? (double)allocated : now.peak;
    return data;
}

void *__wrap_malloc(size_t bytes)
{
    return hold(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t size)
{
    work += measures ? 0 : (int64_t)(n * size) * COPIED_BYTE;
    return hold(__real_calloc(n, size));
}

void *__wrap_realloc(void *data, size_t bytes)
{
    const int64_t before = (int64_t)malloc_usable_size(data);
    void *moved = __real_realloc(data, bytes);

    if (moved || bytes == 0) {
        allocated -= before;
    }
    return hold(moved);
}

int __wrap_posix_memalign(void **data, size_t unit, size_t bytes)
{
    const int code = __real_posix_memalign(data, unit, bytes);

    if (code == 0) {
        (void)hold(*data);
    }
    return code;
}

void *__wrap_aligned_alloc(size_t unit, size_t bytes)
{
    return hold(__real_aligned_alloc(unit, bytes));
}

void __wrap_free(void *data)
{
    allocated -= (int64_t)malloc_usable_size(data);
    __real_free(data);
}

#define COPIES(name, parameters, ...)                                                                                  \
    void *__wrap_##name parameters                                                                                     \
    {                                                                                                                  \
        work += measures ? 0 : (int64_t)bytes * COPIED_BYTE;                                                           \
        return __real_##name(__VA_ARGS__);                                                                             \
    }

COPIES(memcpy, (void *to, const void *from, size_t bytes), to, from, bytes)
COPIES(memmove, (void *to, const void *from, size_t bytes), to, from, bytes)
COPIES(memset, (void *to, int byte, size_t bytes), to, byte, bytes)

/* Other MPI calls that can take time are written by run.py: enter(), SimGrid's function, leave(). */
#include "missing.h"

/* ---- steps ---- */

/* The app calls this once at the end of each step, and the linker sends it here. */
int __wrap_eqp_balancer_record(eqp_balancer *balancer, const eqp_work *given, eqp_step *step)
{
    const int code = __real_eqp_balancer_record(balancer, given, step);
    note *more = __real_realloc(notes, (size_t)(nnotes + 1) * sizeof *notes);

    charge();
    if (more) {
        notes = more;
        now.end = simgrid_get_clock();
        now.work = 1e-12 * (double)(charged + work);
        now.forces = given->row->load;
        now.exchanged = given->row->last_messages_sent;
        now.exchanged_bytes = given->row->last_bytes_sent;
        notes[nnotes++] = now;
    }
    return code;
}

int MPI_Finalize(void)
{
    const char *path = getenv("JUDGE_NOTES");
    int rank = 0, nranks = 1;
    double *all = NULL;
    FILE *file = NULL;

    charge();
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)PMPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (rank == 0) {
        all = __real_calloc((size_t)nranks * (size_t)nnotes * NUMBERS + 1, sizeof *all);
        file = path ? fopen(path, "w") : NULL;
    }
    (void)PMPI_Gather(notes, nnotes * NUMBERS, MPI_DOUBLE, all, nnotes * NUMBERS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int64_t i = 0; file && i < (int64_t)nranks * nnotes; i++) {
        for (int k = 0; k < NUMBERS; k++) {
            fprintf(file, "%.17g%c", all[i * NUMBERS + k], k + 1 < NUMBERS ? ',' : '\n');
        }
    }
    if (file) {
        (void)fclose(file);
    }
    __real_free(all);
    return PMPI_Finalize();
}
