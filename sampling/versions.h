/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal: a loop in several versions. Where the compiler and the linker can, EQP__VERSIONS("avx2", "default") before
 * a function compiles it for each of these instruction sets, and the program takes the version that the machine runs
 * best. It must compute the same numbers in all of them. */
#ifndef EQP_VERSIONS_H
#define EQP_VERSIONS_H

#include <stdint.h> /* __GLIBC__ */

/* The version is chosen while the program is loaded, by code that the compiler instruments for ThreadSanitizer like any
 * other, and ThreadSanitizer is not there yet: the program would end by a segmentation fault before main(). */
#if defined(__SANITIZE_THREAD__)
#define EQP__WITH_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EQP__WITH_THREAD_SANITIZER 1
#endif
#endif

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute) && !defined(EQP__WITH_THREAD_SANITIZER)
#if __has_attribute(target_clones)
#define EQP__VERSIONS(...) __attribute__((target_clones(__VA_ARGS__)))
#endif
#endif
#ifndef EQP__VERSIONS
#define EQP__VERSIONS(...)
#endif

#endif
