/* SPDX-License-Identifier: BSD-3-Clause */
/* Failing allocations one by one. A test program that includes this file (once) replaces the C library's allocator for
 * itself and for every library that it loads:
 *
 *     for (int64_t k = 0;; k++) {
 *         failing_malloc_start(k);             the first k allocations succeed, all later ones fail
 *         code = eqp_thing_create(..., &thing);
 *         if (!failing_malloc_stop()) break;   nothing failed this time: the call succeeded with k allocations
 *         assert_int_equal(code, EQP_ERR_MEMORY);
 *     }
 *
 * Memory comes from the next allocator in line (the C library's, AddressSanitizer's or valgrind's), so that the latter
 * two find what a failing call leaves behind. failing_malloc_works is 0 where this is impossible: skip the test. */
#ifndef EQP_FAILING_MALLOC_H
#define EQP_FAILING_MALLOC_H

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t failing_malloc_left = -1; /* -1: nothing fails */
static int failing_malloc_single;        /* true: only one allocation fails */
static int64_t failing_malloc_seen;      /* successful allocations since the start */
/* Called after each successful allocation; NULL allowed. */
static void (*failing_malloc_watcher)(int64_t successes);
static int64_t failing_malloc_failures;

/* Address ranges of the code whose allocations may fail, see failing_malloc_only_ours(). 0 modules: everywhere. */
enum { FAILING_MALLOC_MODULES = 16 };
static struct {
    uintptr_t begin, end;
} failing_malloc_module[FAILING_MALLOC_MODULES];
static int failing_malloc_modules;

static inline void failing_malloc_start(int64_t successes)
{
    failing_malloc_failures = 0;
    failing_malloc_seen = 0;
    failing_malloc_single = 0;
    failing_malloc_left = successes;
}

/* Only the first allocation after the successful ones fails. */
static inline void failing_malloc_start_single(int64_t successes)
{
    failing_malloc_start(successes);
    failing_malloc_single = 1;
}

/* Returns the number of failed allocations since the start. */
static inline int64_t failing_malloc_stop(void)
{
    failing_malloc_left = -1;
    return failing_malloc_failures;
}

#if defined(__has_feature)
#if __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define FAILING_MALLOC_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FAILING_MALLOC_SANITIZED 1
#endif

#if defined(__GLIBC__) && !defined(FAILING_MALLOC_SANITIZED)
enum { failing_malloc_works = 1 };

/* AddressSanitizer's own names, NULL without it; dlsym() would allocate too early there. */
__attribute__((weak)) void *__interceptor_malloc(size_t size);
__attribute__((weak)) void *__interceptor_calloc(size_t count, size_t size);
__attribute__((weak)) void *__interceptor_realloc(void *old, size_t size);
__attribute__((weak)) void *__interceptor_aligned_alloc(size_t alignment, size_t size);

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L) /* <dlfcn.h> declares it with _GNU_SOURCE only */
#endif

static inline int failing_malloc_concerns(const void *caller)
{
    for (int i = 0; i < failing_malloc_modules; i++) {
        if ((uintptr_t)caller >= failing_malloc_module[i].begin && (uintptr_t)caller < failing_malloc_module[i].end) {
            return 1;
        }
    }
    return failing_malloc_modules == 0;
}

static inline int failing_malloc_refuses(const void *caller)
{
    if (failing_malloc_left < 0 || !failing_malloc_concerns(caller)) {
        return 0;
    }
    if (failing_malloc_left > 0) {
        failing_malloc_left--;
        if (failing_malloc_watcher) {
            failing_malloc_watcher(failing_malloc_seen);
        }
        failing_malloc_seen++;
        return 0;
    }
    failing_malloc_failures++;
    if (failing_malloc_single) {
        failing_malloc_left = -1;
    }
    errno = ENOMEM;
    return 1;
}

static inline void *failing_malloc_next(void *of_sanitizer, const char *name)
{
    return of_sanitizer ? of_sanitizer : dlsym(RTLD_NEXT, name);
}

static inline void *failing_malloc_succeed(size_t size)
{
    static void *(*next)(size_t);

    if (!next) {
        *(void **)&next = failing_malloc_next((void *)__interceptor_malloc, "malloc");
    }
    return next(size);
}

void *malloc(size_t size)
{
    return failing_malloc_refuses(__builtin_return_address(0)) ? NULL : failing_malloc_succeed(size);
}

void *calloc(size_t count, size_t size)
{
    static void *(*next)(size_t, size_t);

    if (!next) {
        *(void **)&next = failing_malloc_next((void *)__interceptor_calloc, "calloc");
    }
    return failing_malloc_refuses(__builtin_return_address(0)) ? NULL : next(count, size);
}

void *realloc(void *old, size_t size)
{
    static void *(*next)(void *, size_t);

    if (!next) {
        *(void **)&next = failing_malloc_next((void *)__interceptor_realloc, "realloc");
    }
    return failing_malloc_refuses(__builtin_return_address(0)) ? NULL : next(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    static void *(*next)(size_t, size_t);

    if (!next) {
        *(void **)&next = failing_malloc_next((void *)__interceptor_aligned_alloc, "aligned_alloc");
    }
    return failing_malloc_refuses(__builtin_return_address(0)) ? NULL : next(alignment, size);
}

/* AddressSanitizer's strdup() would bypass malloc() above. */
char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = failing_malloc_refuses(__builtin_return_address(0)) ? NULL : failing_malloc_succeed(size);

    return copy ? memcpy(copy, text, size) : NULL;
}
#else
enum { failing_malloc_works = 0 };
#endif

/* Makes a call whose allocations fail after the first k, and tells if one did:
 *
 *     for (int64_t k = 0; FAILING_MALLOC(k, code = eqp_thing_create(..., &thing)); k++) {
 *         assert_int_equal(code, EQP_ERR_MEMORY);
 *     } */
#define FAILING_MALLOC(k, call) (failing_malloc_start(k), (void)(call), failing_malloc_stop() > 0)

/* Repeats the call with 0, 1, 2, ... successful allocations until none fails. Returns their number; -1 if a call did
 * not return `refusal` on a failed allocation or 0 otherwise; INT64_MAX where allocations cannot be made to fail. */
static inline int64_t failing_malloc_sweep(int (*call)(void *data), void *data, int refusal)
{
    for (int64_t k = 0; failing_malloc_works; k++) {
        failing_malloc_start(k);
        const int code = call(data);
        const int64_t failures = failing_malloc_stop();
        if (failures == 0 || code != refusal) {
            return failures == 0 && code == 0 ? k : -1;
        }
    }
    return INT64_MAX;
}

/* From now on only allocations of the program and of libequipoise* fail, not those of other libraries. Returns 0 where
 * this is impossible: skip the test. */
static inline int failing_malloc_only_ours(void)
{
    static char self[4096], line[8192];
    FILE *maps = fopen("/proc/self/maps", "r");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    while (maps && length > 0 && failing_malloc_modules < FAILING_MALLOC_MODULES && fgets(line, sizeof line, maps)) {
        if (strstr(line, " r-xp ") && (strstr(line, self) || strstr(line, "/libequipoise"))) {
            int i = failing_malloc_modules;
            failing_malloc_modules += sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &failing_malloc_module[i].begin,
                                             &failing_malloc_module[i].end) == 2;
        }
    }
    if (maps) {
        fclose(maps);
    }
    return failing_malloc_works && failing_malloc_modules > 0;
}

#endif
