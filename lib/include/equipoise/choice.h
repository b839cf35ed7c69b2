/* SPDX-License-Identifier: BSD-3-Clause */
/** \file choice.h
 * \brief Methods as people name them: `sfc`, `interaction:pins=2`, `tiles:aspect=1.5,even=step`; alone or in a list.
 *
 * A word is METHOD[:OPTION,...], an option NAME=VALUE or a name alone. What options a method takes follows from its
 * row: those below that its flags allow, and its own. All of this is local. */
#ifndef EQUIPOISE_CHOICE_H
#define EQUIPOISE_CHOICE_H

#include <equipoise/balance.h>
#include <equipoise/units.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Methods beside those of the library's table. */
typedef struct eqp_methods {
    const eqp_method *const *row; /**< [n] (borrowed); one whose `assign` is NULL is carried out by its owner */
    int n;                        /**< rows, >= 0 */
} eqp_methods;

/** Row i of the library's table, the others behind it, then `auto`, which a balancer (balancer.h) carries out by trying
 * the others; NULL outside.
 * \param[in] own  may be NULL (borrowed) */
const eqp_method *eqp_methods_at(const eqp_methods *own, int i);

/** The first row of a name; NULL if there is none.
 * \param[in] own  may be NULL (borrowed) */
const eqp_method *eqp_methods_find(const eqp_methods *own, const char *name);

/** How maps are made with a method, beside its own settings. */
typedef struct eqp_choice_options {
    eqp_sample_strategy strategy; /**< `strategy`, of EQP_NEEDS_UNITS: how centroids are drawn */
    double rate;             /**< `rate`, likewise: units per interaction, at most 1; 0: follows from the tolerance */
    double threshold;        /**< `threshold`, likewise: times the target weight over which a unit is split again */
    int64_t pins;            /**< `pins`, with EQP_NEEDS_PINS: most of a unit; 0: as many as are needed; 2: its owner
                                 and the other end of the interaction next to its centroid (Pearce 2014) */
    bool full;               /**< `full`, likewise: every interaction is a unit with all its pins */
    const eqp_method *start; /**< `start`, of EQP_REFINES: whose parts are refined; NULL: the present ones, or the
                                 curve's */
    bool split;              /**< `split`, of EQP_CAN_SPLIT: work units are assigned, not whole owners */
    int even;                /**< `even`, of EQP_CAN_EVEN: 0 `load`; 1 `step`: load and exchange together; with `maps` 1
                                what lives on a rank is computed there in phases that are shorter so */
    int homes;               /**< `homes`, of EQP_SCATTERS: 0 `parts`: owners live with the part that computes them;
                                1 `curve`: each part has a run of the curve with equally many particles at home, whoever
                                computes them, where the code can do so (eqp_problem.apart) */
    int maps;                /**< `maps`, of EQP_CAN_SPLIT: 0 `cycle`: who computes an owner does so in all phases of a
                                cycle (cycle.h); 1 `phase`: each phase has a map of its own (eqp_map_tag_in()), and data
                                stay in runs of the curve, as with `homes` 1, but with equal work each. With one phase
                                as with `homes` alone */
} eqp_choice_options;

/** Room for a word, its end included. */
#define EQP_WORD_SIZE 80

/** Longest word that is read. */
#define EQP_WORD_LETTERS 63

/** A method with options. */
typedef struct eqp_choice {
    char word[EQP_WORD_SIZE];   /**< as written */
    const eqp_method *method;   /**< its row (borrowed) */
    eqp_choice_options options; /**< as changed by the word */
    eqp_settings settings;      /**< of the method's own options */
} eqp_choice;

/** Reads one word.
 * \param[in]  own      may be NULL (borrowed)
 * \param[in]  usual    options that the word changes; NULL: zeros, but for EQP_SAMPLE_STRIDE and threshold 2 (borrowed)
 * \param[in]  word     the text
 * \param[out] choice   unchanged on error
 * \param[out] message  what is wrong, one line; may be NULL
 * \return EQP_OK, EQP_ERR_UNKNOWN for a method or option that does not exist, EQP_ERR_ARGUMENT for a value that is none,
 * for options that contradict each other and for a word that is too long */
int eqp_choice_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *word, eqp_choice *choice,
                     eqp_message *message);

/** Reads words separated by commas. A piece with an equals sign and without a colon is an option of the word before:
 * `interaction:pins=2,start=rcb,sfc` is two words. `all`: every row but those that keep what there is (EQP_KEEPS).
 * \param[out] n        words
 * \param[out] choices  [*n] owned by the caller, free()
 * \return as eqp_choice_parse(); EQP_ERR_ARGUMENT also for a word that stands twice; EQP_ERR_MEMORY */
int eqp_choices_parse(const eqp_methods *own, const eqp_choice_options *usual, const char *words, int *n,
                      eqp_choice **choices, eqp_message *message);

/** The i-th option that a method takes, as words name it; NULL outside. */
const eqp_option *eqp_choice_option(const eqp_method *method, int i);

#ifdef __cplusplus
}
#endif
#endif
