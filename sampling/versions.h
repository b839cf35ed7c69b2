/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal: function multiversioning. If the compiler and the linker support it, EQP__VERSIONS("avx2", "default")
 * before a function compiles it for each of these instruction sets, and the loader picks the best version for the
 * machine. All versions must compute the same numbers. */
#ifndef EQP_VERSIONS_H
#define EQP_VERSIONS_H

#include <stdint.h> /* __GLIBC__ */

/* ThreadSanitizer instruments the code that chooses the version, which runs while the program is loaded and before
 * ThreadSanitizer is ready: the program would crash before main(). */
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
