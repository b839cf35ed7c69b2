/* SPDX-License-Identifier: BSD-3-Clause */
/** \file option.h
 * \brief Values that people write: read, checked, and described where they are wrong; the rows of tables of options.
 *
 * All of this is local. A value that is none leaves everything as it was, with one line in the message that says what
 * it has to be. */
#ifndef EQUIPOISE_OPTION_H
#define EQUIPOISE_OPTION_H

#include <equipoise/base.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Reads an integer in decimal digits, with a minus sign or without.
 * \param[in]  low,high  limits, inclusive; INT64_MIN and INT64_MAX are none
 * \param[out] message   "'TEXT' is not an integer ..."; may be NULL
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_read_int(const char *text, int64_t low, int64_t high, int64_t *value, eqp_message *message);

/** Reads a finite decimal number.
 * \param[in]  low,high  limits, inclusive; infinities are none
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

/** The search for the word that somebody meant who wrote another one. Zeros but for the first two. */
typedef struct eqp_nearest {
    const char *text; /**< as it was written, not zero-terminated (borrowed) */
    size_t length;    /**< of the text */
    const char *word; /**< the nearest one so far; NULL: none is near (borrowed) */
    int distance;     /**< of `word`: letters that are missing, needless, wrong or swapped with their neighbour */
} eqp_nearest;

/** Looks at a word that there is. One is near if no more than a third of the text's letters, or one, are mistaken,
 * whatever their case. Local, O(product of the lengths), deterministic: of words that are as near the first one stays.
 * \param[in] word  zero-terminated (borrowed as long as *nearest is used); longer ones than 31 letters are not near */
void eqp_nearest_look(eqp_nearest *nearest, const char *word);

/** Appends "; did you mean 'WORD'?" to a message if a word is near. Local; NULL is legal. */
void eqp_nearest_suggest(const eqp_nearest *nearest, eqp_message *message);

/** What the value of an option is. Zero, false or NULL is what holds where nobody gives one. */
typedef enum eqp_option_type {
    EQP_OPTION_INT,    /**< int64_t from `low` to `high` */
    EQP_OPTION_REAL,   /**< double from `low` to `high` */
    EQP_OPTION_CHOICE, /**< int: a place in `choices` */
    EQP_OPTION_FLAG,   /**< bool: its name alone sets it */
    EQP_OPTION_METHOD  /**< const eqp_method *: a method whose parts are refined */
} eqp_option_type;

/** One option, a row of a table: where its value is among the settings, and what it may be. */
typedef struct eqp_option {
    const char *name;     /**< as people write it */
    eqp_option_type type; /**< of its value */
    size_t offset;        /**< of its value in the settings */
    double low;           /**< of a number: the smallest */
    bool above;           /**< of a real number: `low` itself is none */
    double high;          /**< of a number: the largest; INFINITY: none */
    const char *choices;  /**< of EQP_OPTION_CHOICE: words separated by '|', else NULL */
    const char *help;     /**< one line for people */
} eqp_option;

/** Values of a method's own options, where the rows of its table say; zeros are what the method takes for itself. */
typedef struct eqp_settings {
    int64_t word[8]; /**< room for the values */
} eqp_settings;

#ifdef __cplusplus
}
#endif
#endif
