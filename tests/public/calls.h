/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls every public function with NULL and with extreme numbers; generate.py writes the table of the calls.
 *
 * The rule (<equipoise/error.h>): where the header does not allow NULL, a function that returns int returns
 * EQP_ERR_ARGUMENT, a function with any other result returns zero, and a void function does nothing. On error
 * results are unchanged. No call may crash, end the program or hang; under UndefinedBehaviorSanitizer no call may
 * overflow, divide by zero or convert a value out of range.
 *
 * A child process makes the calls. If a call kills it, that call is reported and the next child continues after it. */
#ifndef EQUIPOISE_TEST_CALLS_H
#define EQUIPOISE_TEST_CALLS_H

#include <equipoise/error.h>

#include <float.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kinds of slots: pointers; numbers in members and arguments; numbers in an input array. */
typedef enum slot_kind { POINTER, MAY_BE_NULL, INTEGER, REAL, CONTENT } slot_kind;

typedef struct slot {
    slot_kind kind;
    const char *name;
} slot;

typedef struct function {
    const char *name;
    void (*call)(void);
    const slot *slots;
    int nslots;
    int large;   /* takes no arrays, so counts may be arbitrarily large */
    int inlined; /* stores the pointers without dereferencing them */
} function;

enum {
    SLOTS = 192,
    ROOM = 1 << 14,
    WATCHED = 256,
    NO_SLOT = -1,
    ALL_SLOTS = -2,
    NO_VALUE = -1,
    SECONDS_OF_A_CALL = 60
};

enum { ZERO, MINUS_ONE, LOWEST, HIGHEST, NEARLY, NOT_A_NUMBER, VALUES };

/* The current call and its outcome. */
static const function *now;
static int null_slot, value_slot, value_now; /* NO_SLOT, ALL_SLOTS or a slot */
static bool watched[SLOTS];
static _Alignas(64) unsigned char room[SLOTS][ROOM];

/* Shared memory in which a child reports its progress. */
static struct progress {
    long at, failed;
} * progress;

static void describe(const char *what)
{
    fprintf(stderr, "%s(", now->name);
    for (int pass = 0; pass < 2; pass++) {
        static const char *const name[VALUES] = {"0", "-1", "lowest", "highest", "nearly highest", "NaN"};
        const int s = pass == 0 ? null_slot : value_slot;
        if (s != NO_SLOT) {
            fprintf(stderr, "%s = %s ", s == ALL_SLOTS ? "all" : now->slots[s].name,
                    pass == 0 ? "NULL" : name[value_now]);
        }
    }
    fprintf(stderr, "): %s\n", what);
}

static void failed(const char *what)
{
    describe(what);
    progress->failed++;
}

static inline bool null(int s)
{
    return null_slot == s || (null_slot == ALL_SLOTS);
}

static inline int value_of(int s)
{
    return value_slot == s || (value_slot == ALL_SLOTS && now->slots[s].kind != CONTENT) ? value_now : NO_VALUE;
}

static inline int64_t integer(int s, int64_t plain, int64_t low, int64_t high)
{
    switch (value_of(s)) {
    case ZERO:
        return 0;
    case MINUS_ONE:
        return -1;
    case LOWEST:
        return low;
    case HIGHEST:
        return now->large || high == 1 ? high : plain;
    case NEARLY:
        return now->large || high == 1 ? high / 2 + 1 : plain;
    default:
        return plain;
    }
}

static inline uint64_t natural(int s, uint64_t plain, uint64_t high)
{
    switch (value_of(s)) {
    case ZERO:
    case LOWEST:
        return 0;
    case MINUS_ONE:
        return 1;
    case HIGHEST:
        return now->large || high == 1 ? high : plain;
    case NEARLY:
        return now->large ? high / 2 + 1 : plain;
    default:
        return plain;
    }
}

static inline double real(int s)
{
    switch (value_of(s)) {
    case ZERO:
        return 0.0;
    case MINUS_ONE:
        return -1.0;
    case LOWEST:
        return -INFINITY;
    case HIGHEST:
        return INFINITY;
    case NEARLY:
        return DBL_MAX;
    case NOT_A_NUMBER:
        return NAN;
    default:
        return 1.0;
    }
}

static inline void *buffer(int s)
{
    memset(room[s], 0, ROOM);
    return room[s];
}

static inline void output(int s)
{
    watched[s] = true;
}

#define FILLED(name, type, zero, minus_one, lowest, highest, nearly, nan)                                              \
    static inline void *name(int s, void *array)                                                                       \
    {                                                                                                                  \
        const type number[VALUES] = {zero, minus_one, lowest, highest, nearly, nan};                                   \
        for (int i = 0; value_of(s) != NO_VALUE && i < ROOM / (int)sizeof(type); i++) {                                \
            ((type *)array)[i] = number[value_now];                                                                    \
        }                                                                                                              \
        return array;                                                                                                  \
    }
FILLED(reals, double, 0, -1, -INFINITY, INFINITY, DBL_MAX, NAN)
FILLED(floats, float, 0, -1, -INFINITY, INFINITY, FLT_MAX, NAN)
FILLED(words, int64_t, 0, -1, INT64_MIN, INT64_MAX, INT64_MAX / 2 + 1, 1)
FILLED(ints, int, 0, -1, INT_MIN, INT_MAX, INT_MAX / 2 + 1, 1)
FILLED(bytes, signed char, 0, -1, -128, 127, 64, 1)

/* The call passes a NULL that the header does not allow. */
static bool is_refused(void)
{
    for (int s = 0; s < now->nslots; s++) {
        if (now->slots[s].kind == POINTER && null(s) && !strpbrk(now->slots[s].name, "->[")) {
            return true;
        }
    }
    return false;
}

static inline void done_void(void)
{
}

static inline void done_zero(bool is_zero)
{
    if (is_refused() && !is_zero && !now->inlined) {
        failed("returns something");
    }
}

static inline void done_int(int code)
{
    static const unsigned char zero[WATCHED];

    const bool is_empty =
        null_slot == ALL_SLOTS && value_slot == ALL_SLOTS && value_now == ZERO; /* an array of zero items */

    if (is_refused() && code != EQP_ERR_ARGUMENT && !(is_empty && code == EQP_OK)) {
        char text[64];
        snprintf(text, sizeof text, "returns %d", code);
        failed(text);
    }
    for (int s = 0; s < now->nslots && code < 0; s++) {
        if (watched[s] && !null(s) && memcmp(room[s], zero, sizeof zero) != 0) {
            failed("changes results on error");
        }
    }
}

/* Makes a call unless an earlier child made it. */
static void make_call(long from, long *at, int null_at, int value_at, int v)
{
    if (++*at <= from) {
        return;
    }
    progress->at = *at;
    null_slot = null_at;
    value_slot = value_at;
    value_now = v;
    memset(watched, 0, sizeof watched);
    alarm(SECONDS_OF_A_CALL);
    now->call();
}

static void ended(int signal_number)
{
    char text[64];

    snprintf(text, sizeof text, "ended by signal %d", signal_number);
    describe(text);
    _exit(1);
}

static void make_calls(const function *functions, size_t n, long from)
{
    long at = 0;

    for (size_t f = 0; f < n; f++) {
        now = &functions[f];
        if (now->nslots > SLOTS) {
            failed("has too many slots");
            continue;
        }
        make_call(from, &at, NO_SLOT, NO_SLOT, 0);
        for (int s = 0; s < now->nslots; s++) {
            const slot_kind kind = now->slots[s].kind;
            if (kind == POINTER || kind == MAY_BE_NULL) {
                make_call(from, &at, s, NO_SLOT, 0);
            } else {
                for (int v = 0; v < VALUES; v++) {
                    make_call(from, &at, NO_SLOT, s, v);
                }
            }
        }
        if (now->nslots > 1) {
            make_call(from, &at, ALL_SLOTS, NO_SLOT, 0);
            for (int v = 0; v < VALUES; v++) {
                make_call(from, &at, ALL_SLOTS, ALL_SLOTS, v);
                make_call(from, &at, NO_SLOT, ALL_SLOTS, v);
            }
        }
    }
    progress->at = at + 1;
}

/* Huge allocations fail at this limit instead of exhausting the machine. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=256:detect_leaks=0:handle_abort=0:allow_user_segv_"
           "handler=1";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:abort_on_error=1:print_stacktrace=1";
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    (void)status;
    (void)flag;
    (void)ftw;
    return remove(path);
}

/* Makes the objects of objects.h, runs the given calls, and frees the objects. */
static void with_world(void (*run)(void));

static const function *all_functions;
static size_t all_count;
static long all_from;
static bool all_made;

static void run_all(void)
{
    make_calls(all_functions, all_count, all_from);
    all_made = true;
}

static void child(void)
{
    static const int ends[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    const struct rlimit most = {(rlim_t)2 << 30, (rlim_t)2 << 30};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        signal(ends[i], ended);
    }
#ifndef EQP_SANITIZED
    setrlimit(RLIMIT_DATA, &most);
#endif
    (void)most;
    with_world(run_all);
}

/* Exit status 0 if every call returned according to the rule. */
static int calls_main(const function *functions, size_t n)
{
    char folder[] = "/tmp/equipoise-calls-XXXXXX";
    int crashes = 0;

    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED || !mkdtemp(folder) || chdir(folder)) {
        perror("calls");
        return 1;
    }
    all_functions = functions;
    all_count = n;
    for (;;) {
        int status = 0;
        pid_t pid;

        all_from = progress->at;
        pid = fork();
        if (pid == 0) {
            child();
#ifdef EQP_SANITIZED
            _exit(all_made ? 0 : 2); /* objects of wrong calls are left, which is a leak at a regular end */
#else
            exit(all_made ? 0 : 2); /* which writes the counts of a build with coverage */
#endif
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid) {
            perror("calls");
            return 1;
        }
        if (status == 0) {
            break;
        }
        if (progress->at == all_from) { /* the world could not be made */
            fprintf(stderr, "calls: a child ends before its first call\n");
            crashes++;
            break;
        }
        crashes++;
    }
    printf("%ld calls of %zu functions: %d ended the program, %ld came back wrong\n", progress->at - 1, n, crashes,
           progress->failed);
    if (chdir("/") || nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS)) {
        perror(folder);
    }
    return crashes > 0 || progress->failed > 0;
}

#endif
