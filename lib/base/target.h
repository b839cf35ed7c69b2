/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an output goes: what lies behind its name, and who may read what lies there. */
#ifndef EQP_BASE_TARGET_H
#define EQP_BASE_TARGET_H

#include <stdbool.h>
#include <sys/stat.h>

/* No target if zero. */
typedef struct eqp__target {
    char *name;      /* owned: of the file to be replaced, with all links followed; NULL: written to directly */
    int descriptor;  /* of this process, of which the path is a name; -1: it is none */
    bool exists;     /* there is a file to be replaced */
    struct stat old; /* of that file */
} eqp__target;

/* 0, or why not as an errno: EISDIR for a folder, ELOOP for links in a circle. The caller frees target->name. */
int eqp__target_find(const char *path, eqp__target *target);

/* A new descriptor of a pipe, device or descriptor. A pipe without a reader is waited for some seconds. 0 or an errno.
 */
int eqp__target_open(const char *path, const eqp__target *target, int *fd);

/* Gives a new file the owner, group, and access control list of the one that it replaces, as far as the system lets us.
 * Returns the mode that it has to have: where the group or the list cannot be kept, no more for the group than for
 * everybody. */
mode_t eqp__target_take_over(int fd, const eqp__target *target);

/* True if the name in a folder is still that of an open file. */
bool eqp__is_same_file(int fd, int folder, const char *name);

#endif
