/* SPDX-License-Identifier: BSD-3-Clause */
/* What the launcher can tell of a program without running it. */
#ifndef EQP_PRELOAD_PROGRAM_H
#define EQP_PRELOAD_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Looks at the program at `path`, into which `library` is to be loaded.
 * wrong: [size] one line that says why it cannot be divided, or empty. note: [size] what is not known, or empty. */
void eqp__program_look(const char *path, const char *library, char *wrong, char *note, size_t size);

#endif
