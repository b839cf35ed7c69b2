/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/base.h
 * \brief Messages, growing arrays, and parsers of numbers and words. All functions are local.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_BASE_H
#define EQUIPOISE_MORE_BASE_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
void eqp_nearest_suggest(const eqp_nearest *nearest, eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
