/* SPDX-License-Identifier: BSD-3-Clause */
/** \file base.h
 * \brief What every room stands on: messages, growing arrays, the version, clocks. */
#ifndef EQUIPOISE_BASE_H
#define EQUIPOISE_BASE_H

#include <equipoise/error.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The compiler checks a printf-like function: number of the format argument and of the first one that it formats. */
#if defined(__GNUC__) || defined(__clang__)
#define EQP_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define EQP_PRINTF(text, first)
#endif

/** One line for a person that says what went wrong and where: the companion of a return code. Start with {""}. */
typedef struct eqp_message {
    char text[512]; /**< zero-terminated UTF-8 without control characters, never longer than one line */
} eqp_message;

/** Bytes of the character at `text`, 1 to 4; 0 where it is not valid UTF-8 (RFC 3629), where the text ends, and for
 * NULL. Local. */
size_t eqp_utf8_length(const char *text);

/** Makes a text from elsewhere fit for a terminal, in place: each control character, each invisible one or one that
 * turns the direction of writing, and each byte that is not UTF-8 becomes '?'. NULL is legal. Local, O(length). */
void eqp_text_clean(char *text);

/** Writes a message, cleaned by eqp_text_clean(), so that a file name or an argument cannot break the line; a text that
 * is too long ends in "...". Local, O(length).
 * \param[out] message  overwritten; NULL: the text is not wanted and nothing happens
 * \param[in]  format   as for printf; the arguments may point into `message` itself */
void eqp_message_set(eqp_message *message, const char *format, ...) EQP_PRINTF(2, 3);

/** Bytes of an array, checked. Local, O(1).
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

/** The version of this library, for example "0.1.0". Static storage. */
const char *eqp_version(void);

/** CPU seconds that the calling thread has used: what loads are measured in, since wall time lies on shared cores. */
double eqp_cpu_seconds(void);

/** CPU seconds that the calling thread has used since eqp_cpu_seconds() was `begin`; 0 where the clock has gone back,
 * as those of some virtual machines do. */
double eqp_cpu_seconds_since(double begin);

/** From here to eqp_wait_end() the calling thread waits for other ranks: CPU seconds that it spends polling are not
 * work. Pairs may be nested; the outermost counts. The library's own collective calls are marked already. Local. */
void eqp_wait_begin(void);

/** Ends the wait of the matching eqp_wait_begin(). Local. */
void eqp_wait_end(void);

/** CPU seconds of the calling thread without waiting; only differences mean something. The first call switches the
 * accounting on: each outermost wait then reads the clock twice (some 100 ns). Local. */
double eqp_busy_seconds(void);

/** Seconds of a clock that only goes forward; its zero means nothing. */
double eqp_wall_seconds(void);

/** A clock of the caller's, for what a library measures itself: of a device, or of nothing but a test. Loads that a
 * caller measures are plain numbers of seconds, whatever clock they come from. Only differences mean something. All
 * zeros: the clock that is usual where it is asked for. */
typedef struct eqp_clock {
    double (*seconds)(void *user); /**< may be called by any thread that calls the library; NULL: as usual */
    void *user;                    /**< handed to it (borrowed) */
} eqp_clock;

#ifdef __cplusplus
}
#endif
#endif
