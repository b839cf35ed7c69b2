/* SPDX-License-Identifier: BSD-3-Clause */
/** \file file.h
 * \brief Text files that appear under their name only when they are complete. */
#ifndef EQP_REPORT_FILE_H
#define EQP_REPORT_FILE_H

#include <equipoise/base.h>

#include <stdio.h>

/** A file in the making; {NULL, NULL, NULL} is none. */
typedef struct eqp__file {
    FILE *stream;    /**< write here; errors show up in eqp__report_file_commit() */
    char *path;      /**< final name */
    char *temporary; /**< name until then, in the same folder */
} eqp__file;

/** Opens a file beside `path`. EQP_OK, EQP_ERR_IO with a message, EQP_ERR_MEMORY; then `file` is none. */
int eqp__report_file_open(eqp__file *file, const char *path, eqp_message *message);

/** Completes the file and renames it. EQP_OK, or EQP_ERR_IO with a message and nothing left behind. Then it is none. */
int eqp__report_file_commit(eqp__file *file, eqp_message *message);

/** Removes it. */
void eqp__report_file_discard(eqp__file *file);

/** dir/name; owned by the caller. NULL without memory. */
char *eqp__report_file_join(const char *dir, const char *name);

#endif
