/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods as the command line names them (<equipoise/choice.h>), with the options of the run. */
#ifndef APP_RUN_WORDS_H
#define APP_RUN_WORDS_H

#include "run_share.h"

#include <equipoise/choice.h>

#include <stdbool.h>

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
    uint64_t seed;
    double aspect;          /* what a shared source costs here, in shared targets; 0: not known */
    eqp_choice_options how; /* what the word says beside the method */
    eqp_settings settings;  /* of the method's own options */
} app_rebalance_options;

/* Whether a method goes by counted work. */
bool app_method_weighs(const eqp_method *method);

/* Whether work units are assigned, not whole owners. */
bool app_wants_units(const app_rebalance_options *options);

/* Whether a map takes more than the survey of its owners: traces of what it costs, or of several maps. */
bool app_wants_trial(const app_rebalance_options *options);

/* A method with options: a word of --balance or --compare. */
typedef struct app_method_choice {
    char name[EQP_WORD_SIZE]; /* as written, or as app_even_word() makes it */
    const eqp_method *method;
    app_rebalance_options options; /* of the run, as changed by the word */
} app_method_choice;

/* One word. As eqp_choice_parse(); run: the options that the word changes. */
int app_word_parse(const eqp_methods *own, const app_rebalance_options *run, const char *text,
                   app_method_choice *choice, eqp_message *message);

/* A list. As eqp_choices_parse(). */
int app_words_parse(const eqp_methods *own, const app_rebalance_options *run, const char *text, int *n,
                    app_method_choice **choices, eqp_message *message);

#endif
