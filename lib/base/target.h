/* SPDX-License-Identifier: BSD-3-Clause */
/* The target of an output: the file, pipe or device behind its name, and its permissions. */
#ifndef EQP_BASE_TARGET_H
#define EQP_BASE_TARGET_H

#include <stdbool.h>
#include <sys/stat.h>

/* No target if zero. */
typedef struct eqp__target {
    char *name;      /* owned: of the file to be replaced, with all links followed; NULL: written to directly */
    int descriptor;  /* descriptor of this process that the path names; -1: none */
    bool exists;     /* true if there is a file to be replaced */
    struct stat old; /* of that file */
} eqp__target;

/* 0 or an errno: EISDIR for a folder, ELOOP for links in a circle. The caller frees target->name. */
int eqp__target_find(const char *path, eqp__target *target);

/* Opens a pipe, device or descriptor. Waits some seconds for the reader of a pipe. 0 or an errno. */
int eqp__target_open(const char *path, const eqp__target *target, int *fd);

/* Gives a new file the owner, group and access control list of the file that it replaces, as far as the system permits.
 * Returns its mode; if the group or the list cannot be kept, the group gets the permissions of all users. */
mode_t eqp__target_take_over(int fd, const eqp__target *target);

/* True if the name in a folder is still that of an open file. */
bool eqp__is_same_file(int fd, int folder, const char *name);

#endif
