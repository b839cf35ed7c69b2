/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/file.h
 * \brief Output files, which appear under their names only when complete, and locks that give a name to one run.
 *
 * *Output.* An eqp_output is written under a temporary name of its own, `PATH.eqp-XXXXXXXX.part` with eight random
 * letters, which is created exclusively, so it is never another program's file or a link. Its descriptor and its folder
 * stay open from creation to commit. The temporary file is locked (flock) as long as its writer lives, which
 * distinguishes temporary files of live runs from those of killed runs.
 *
 * *Target.* Symbolic links are followed, and the file at their end is replaced, or created if it does not exist.
 * The new file has the mode, the group and the access control list of the file that it replaces; for root also its
 * owner. Only regular files are ever replaced. Pipes, devices, and names of open descriptors such as
 * /dev/stdout are written directly; they get no data before the output is published. Until then the data are in
 * `TMPDIR`.
 *
 * *Errors.* Every failed write, flush and rename (full disk, quota, file size limit with SIGXFSZ ignored, read-only or
 * broken disk) is reported in the same words: "PATH: cannot be written: REASON" with the system's reason for the first
 * failure. After a failure nothing more is written.
 *
 * *Lock.* An eqp_lock reserves a name for one run on all machines that share the folder, if the file system supports
 * flock. The system releases it when its holder dies for any reason.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_FILE_H
#define EQUIPOISE_MORE_FILE_H

#include <equipoise/error.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opens a regular file for reading. Never waits: a pipe, a device or a folder is an error. Local.
 * \param[in]  path     (borrowed)
 * \param[out] stream   close with fclose(); unchanged on error
 * \param[out] message  "PATH: REASON"; may be NULL; unchanged on success
 * \return EQP_OK; EQP_ERR_IO with the reason in errno (ENOENT: there is no such file); EQP_ERR_MEMORY */
int eqp_input_open(const char *path, FILE **stream, eqp_message *message);

/** A file that is being written. */
typedef struct eqp_output eqp_output;

/** Creates a temporary file in the folder of `path`. An existing file of that name is not touched. Waits some seconds
 * for the reader of a named pipe. Local.
 * \param[in]  path     not a folder; need not exist (copied)
 * \param[out] output   free with eqp_output_commit() or eqp_output_discard(); unchanged on error
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_output_create(const char *path, eqp_output **output, eqp_message *message);

/** A buffered stream into the file (borrowed: never close it). Do not mix it with the descriptor. */
FILE *eqp_output_stream(eqp_output *output);

/** The descriptor, open for reading and writing, closed when another program is executed (borrowed: never close it). */
int eqp_output_descriptor(const eqp_output *output);

/** The target's name (borrowed). */
const char *eqp_output_path(const eqp_output *output);

/** Notes that writing to the descriptor failed. The first reason is kept.
 * \param[in] reason  an errno value; 0: unknown reason */
void eqp_output_note(eqp_output *output, int reason);

/** Checks that all writes so far succeeded. Data still buffered in the stream are not checked.
 * \return EQP_OK, or EQP_ERR_IO with a message */
int eqp_output_check(const eqp_output *output, eqp_message *message);

/** Gives the file its name now: for files that are read while they grow. Flushes the stream first. Later writes go
 * to the same file, are visible after each further call of this function, and stay there even after an error.
 * \return EQP_OK, or EQP_ERR_IO with a message */
int eqp_output_publish(eqp_output *output, eqp_message *message);

/** Completes the file: its data reach the disk, then it gets its name, replacing an older file. Frees the output in any
 * case; on error the temporary file is removed and an older file is unchanged.
 * \param[in]  output   (owned: taken)
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_IO */
int eqp_output_commit(eqp_output *output, eqp_message *message);

/** Removes the temporary file, unless it was published, and frees the output. NULL is legal. */
void eqp_output_discard(eqp_output *output);

/** Finds the file that an output of that name replaces: the one behind its links, which need not exist. Local.
 * \param[in]  path     (borrowed)
 * \param[out] target   its name, owned by the caller, free(); NULL if the output would be written directly, to a
 *                      pipe, a device or an open descriptor; unchanged on error
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK; EQP_ERR_IO for a folder and for circular links; EQP_ERR_MEMORY; EQP_ERR_ARGUMENT */
int eqp_output_target(const char *path, char **target, eqp_message *message);

/** Removes temporary files of dead writers: files with our mark in their names and without a lock. Files of live
 * writers stay; if the file system has no locks, all stay. Local, O(files in the folder).
 * \param[in] stem  as in the names STEM, STEM.more, STEM_more and STEM-more of the targets, with its folder; all files
 *                   in the folder if it ends in '/' (borrowed) */
void eqp_output_sweep(const char *stem);

/** A name that this run owns. */
typedef struct eqp_lock eqp_lock;

/** Takes a name: creates the file `path`, locks it, and writes its holder into it. Never waits. The lock file of a dead
 * run is taken over. On a file system without locks the call succeeds without protection. Local.
 * \param[in]  path     the lock file; its folder must exist (copied)
 * \param[in]  program  name of the program (borrowed)
 * \param[out] lock     free with eqp_lock_free(); unchanged on error
 * \param[out] message  "in use by PROGRAM, process 1234 on HOST" if another run holds it; may be NULL
 * \return EQP_OK, EQP_ERR_STATE if another run holds it, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_lock_take(const char *path, const char *program, eqp_lock **lock, eqp_message *message);

/** Releases the name and removes the lock file. NULL is legal. */
void eqp_lock_free(eqp_lock *lock);

#ifdef __cplusplus
}
#endif
#endif
