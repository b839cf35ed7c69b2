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
 * Programs that run under a sanitizer keep its allocator, and failing_malloc_works is 0 there: skip the test. */
#ifndef EQP_FAILING_MALLOC_H
#define EQP_FAILING_MALLOC_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define FAILING_MALLOC_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAILING_MALLOC_SANITIZED 1
#endif

static int64_t failing_malloc_left = -1; /* -1: nothing fails */
static int64_t failing_malloc_failures;

static inline void failing_malloc_start(int64_t successes)
{
    failing_malloc_failures = 0;
    failing_malloc_left = successes;
}

/* How many allocations failed since the start. */
static inline int64_t failing_malloc_stop(void)
{
    failing_malloc_left = -1;
    return failing_malloc_failures;
}

#if defined(__GLIBC__) && !defined(FAILING_MALLOC_SANITIZED)
enum { failing_malloc_works = 1 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static inline int failing_malloc_refuses(void)
{
    if (failing_malloc_left < 0) {
        return 0;
    }
    if (failing_malloc_left > 0) {
        failing_malloc_left--;
        return 0;
    }
    failing_malloc_failures++;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return failing_malloc_refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return failing_malloc_refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return failing_malloc_refuses() ? NULL : __libc_realloc(old, size);
}
#else
enum { failing_malloc_works = 0 };
#endif

#endif
