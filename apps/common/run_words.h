/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods as the command line names them: `sfc`, `interaction:pins=2`, `interaction:full`, `tiles:aspect=1.5`; alone
 * (--balance) or as a list (--compare). */
#ifndef APP_RUN_WORDS_H
#define APP_RUN_WORDS_H

#include "run_share.h"

#include <equipoise/balance.h>
#include <equipoise/units.h>

#include <stdbool.h>

/* Methods that only this app has. A row whose `assign` is NULL is one that the app carries out itself. */
typedef struct app_methods {
    const eqp_method *const *row; /* [n] */
    int n;
} app_methods;

typedef struct app_rebalance_options {
    const eqp_method *method;
    int nparts;              /* parts that are wanted; 0: one for each rank */
    const double *base;      /* [parts] seconds of what each part does beside all that is assigned; NULL: nothing
                                (borrowed) */
    const double *part_load; /* [parts] measured seconds of the present parts, for `feedback`; NULL: the weights are
                                taken for them (borrowed) */
    app_speeds speeds;       /* of the parts */
    double imbalance_tol;    /* wanted: what the units are fine enough for */
    double assign_tol;       /* at which the assignment of units may stop; 0: imbalance_tol */
    eqp_sample_strategy strategy;
    double sample_rate;      /* units per interaction (tile); 0: follows from the tolerance */
    double sample_threshold; /* over how many times the target weight a unit is split again */
    uint64_t seed;
    int64_t most_pins;       /* of a unit; 0: as many as the hypergraph needs; 2: its owner and the other end of the
                                interaction       next to its centroid */
    bool full;               /* every interaction (tile) is a unit of its own with all its pins: small inputs only */
    const eqp_method *start; /* whose parts `interaction` refines; NULL: the present ones, or the curve's */
    double aspect;           /* of `tiles`: what a shared source costs, in shared targets; 0: as usual */
    int64_t columns;         /* of `jagged`: parts per strip of targets; 0: the best */
    bool split;              /* a method of whole owners gets their work units: those at its cuts are shared */
    bool even_step;          /* load and exchange together are to be even, not the load alone */
} app_rebalance_options;

/* Whether a method goes by counted work. */
bool app_method_weighs(const eqp_method *method);

/* Whether work units are assigned, not whole owners. */
bool app_wants_units(const app_rebalance_options *options);

/* Whether a method's steps can be made even: it must weigh items, and by their weights it must assign. */
bool app_method_can_even(const eqp_method *method);

/* Whether a map takes more than the survey of its owners: traces of what it costs, or of several maps. */
bool app_wants_trial(const app_rebalance_options *options);

/* Longest word, and room for one to which something was added. */
#define APP_WORD_LETTERS 63
#define APP_WORD_SIZE 80

/* A method with options: a word of --balance or --compare. */
typedef struct app_method_choice {
    char name[APP_WORD_SIZE]; /* as written, or as app_even_word() makes it */
    const eqp_method *method;
    app_rebalance_options options; /* of the run, as changed by the word */
} app_method_choice;

/* The row of a name in the library's table, else among the app's own rows (NULL: none); NULL: there is none. */
const eqp_method *app_method_find(const app_methods *own, const char *name);

/* Row i of the library's table, the app's own ones behind it; NULL outside. */
const eqp_method *app_method_at(const app_methods *own, int i);

/* Reads METHOD[:option,...], an option being key=value or a key alone. run: the options that the word changes. EQP_OK;
 * EQP_ERR_UNKNOWN for a method or key that does not exist, EQP_ERR_ARGUMENT for a value that is none, each with what is
 * wrong in the message (may be NULL); *choice is unchanged then. */
int app_word_parse(const app_methods *own, const app_rebalance_options *run, const char *text,
                   app_method_choice *choice, eqp_message *message);

/* Reads words separated by commas. A piece with an equals sign and without a colon is an option of the word before:
 * `interaction:pins=2,start=rcb,sfc` is two words. `all`: every row of both tables but `none`, which is no method but
 * where things are. choices: owned by the caller, free(). As app_word_parse(); EQP_ERR_ARGUMENT also for a word that
 * stands twice; EQP_ERR_MEMORY. */
int app_words_parse(const app_methods *own, const app_rebalance_options *run, const char *text, int *n,
                    app_method_choice **choices, eqp_message *message);

#endif
