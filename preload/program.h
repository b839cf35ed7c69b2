/* SPDX-License-Identifier: BSD-3-Clause */
/* Inspects a program without running it. */
#ifndef EQP_PRELOAD_PROGRAM_H
#define EQP_PRELOAD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Inspects the program at `path` before `library` is preloaded into it.
 * wrong: [size] why it cannot be divided, in one line; empty: it can. note: [size] a caveat; empty: none. */
void eqp__program_look(const char *path, const char *library, char *wrong, char *note, size_t size);

#endif
