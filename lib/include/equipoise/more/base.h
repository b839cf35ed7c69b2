/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/base.h
 * \brief Messages, growing arrays, and parsers of numbers and words. All functions are local.
 *
 * *File.* Output files, which appear under their names only when complete, and locks that give a name to one run.
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
#ifndef EQUIPOISE_MORE_BASE_H
#define EQUIPOISE_MORE_BASE_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes the compiler check a printf-like function: numbers of the format argument and of the first formatted one. */
#if defined(__GNUC__) || defined(__clang__)
#define EQP_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define EQP_PRINTF(text, first)
#endif

/** Bytes of the character at `text`, 1 to 4; 0 if it is not valid UTF-8 (RFC 3629), at the end of the text, and for
 * NULL. Local. */
size_t eqp_utf8_length(const char *text);

/** Makes foreign text safe for a terminal, in place: replaces control characters, invisible characters, characters that
 * change the writing direction, and bytes that are not UTF-8 by '?'. NULL is legal. Local, O(length). */
void eqp_text_clean(char *text);

/** Writes a message, cleaned by eqp_text_clean(), so that a file name or an argument cannot break the line; a text that
 * is too long ends in "...". Local, O(length).
 * \param[out] message  overwritten; NULL: the call does nothing
 * \param[in]  format   as for printf; the arguments may point into `message` itself */
void eqp_message_set(eqp_message *message, const char *format, ...) EQP_PRINTF(2, 3);

/** Size of an array in bytes, with overflow checks. Local, O(1).
 * \param[in]  count  items, >= 0
 * \param[in]  size   bytes of one item, > 0
 * \param[out] bytes  count * size, at most PTRDIFF_MAX
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative count or size 0, EQP_ERR_OVERFLOW */
int eqp_array_bytes(int64_t count, size_t size, size_t *bytes);

/** A new array of zeros; `free` it. A count of 0 still gives a pointer that is not NULL. Local, O(count).
 * \param[out] array  address of a pointer to items (`T **` for items of type T); the array is owned by the caller
 * \param[in]  count  items, >= 0
 * \param[in]  size   sizeof(T)
 * \return as eqp_array_bytes(), or EQP_ERR_MEMORY */
int eqp_array_create(void *array, int64_t count, size_t size);

/** Makes room in a growing array: capacity at least `count`, growing by half so that appending is O(1) on average.
 * Items keep their values; new ones are not set. Never shrinks. Local.
 * \param[in,out] array     address of a pointer to items (`T **`), NULL inside at first; owned by the caller
 * \param[in,out] capacity  items that fit, 0 at first; it and the array are unchanged on error
 * \param[in]     count     items wanted, >= 0
 * \param[in]     size      sizeof(T)
 * \return as eqp_array_bytes(), or EQP_ERR_MEMORY */
int eqp_array_reserve(void *array, int64_t *capacity, int64_t count, size_t size);

/** Reads an integer in decimal digits, with an optional minus sign.
 * \param[in]  low,high  limits, inclusive; INT64_MIN and INT64_MAX: no limit
 * \param[out] message   "'TEXT' is not an integer ..."; may be NULL
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_read_int(const char *text, int64_t low, int64_t high, int64_t *value, eqp_message *message);

/** Reads a finite decimal number.
 * \param[in]  low,high  limits, inclusive; infinities: no limit
 * \param[in]  above     `low` itself is out of range
 * \param[out] message   "'TEXT' is not a number ..."; may be NULL
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_read_real(const char *text, double low, bool above, double high, double *value, eqp_message *message);

/** Reads one of several words.
 * \param[in]  choices  words separated by '|', such as `load|step`
 * \param[out] value    place of the word, from 0
 * \param[out] message  "'TEXT' is none of: ..."; may be NULL
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_read_choice(const char *text, const char *choices, int *value, eqp_message *message);

/** The search for the intended word after a misspelt one. Initialize with the first two members. */
typedef struct eqp_nearest {
    const char *text; /**< the misspelt word, not zero-terminated (borrowed) */
    size_t length;    /**< length of the text */
    const char *word; /**< the nearest word so far; NULL: no word is near (borrowed) */
    int distance;     /**< of `word`: number of missing, extra, wrong or swapped letters */
} eqp_nearest;

/** Compares a valid word. It is near if at most a third of the text's letters, or one, are mistaken, ignoring case.
 * Local, O(product of the lengths), deterministic: among equally near words the first one stays.
 * \param[in] word  zero-terminated (borrowed while *nearest is used); words of more than 31 letters are never near */
void eqp_nearest_look(eqp_nearest *nearest, const char *word);

/** Appends "; did you mean 'WORD'?" to a message if a word is near. Local; NULL is legal. */
static inline void eqp_nearest_suggest(const eqp_nearest *nearest, eqp_message *message)
{
    if (nearest && nearest->word && message) {
        eqp_message_set(message, "%.400s; did you mean '%s'?", message->text, nearest->word);
    }
}

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
