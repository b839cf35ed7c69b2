/* SPDX-License-Identifier: BSD-3-Clause */
/* A generated input, `KIND[:key=value,...]`, parsed by a table of kinds. The physics of the apps share it, so it
 * does not use MPI. */
#ifndef APP_RECIPE_H
#define APP_RECIPE_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdint.h>

#define APP_RECIPE_KEYS 6 /* at most */

/* A key of a kind. */
typedef struct app_recipe_key {
    const char *name;
    double value, least, most; /* default and range, both ends allowed */
    bool whole;                /* no fractions */
    const char *help;
} app_recipe_key;

typedef struct app_recipe_kind {
    const char *name, *help;
    const void *how; /* how it is made: the app's own */
    int nkeys;
    app_recipe_key key[APP_RECIPE_KEYS];
} app_recipe_kind;

/* A table of kinds. Every kind also knows seed=. */
typedef struct app_recipes {
    const char *what; /* is generated: "particles" */
    int nkinds;
    const app_recipe_kind *kind; /* [nkinds] static storage */
} app_recipes;

/* `kind` is a row of the table and value[j] belongs to its key[j]. */
typedef struct app_recipe {
    const app_recipe_kind *kind;
    double value[APP_RECIPE_KEYS];
    uint64_t seed;
    bool seeded; /* the text said seed=; otherwise seed is 0 and the caller may set it */
} app_recipe;

/* Missing keys get the table's defaults. On error the recipe is unchanged and message (may be NULL) has the reason:
 * EQP_ERR_UNKNOWN for an unknown kind or key, EQP_ERR_ARGUMENT for a value that is not a number or out of range, or a
 * repeated key. */
int app_recipe_parse(const app_recipes *table, const char *text, app_recipe *recipe, eqp_message *message);

/* True if all values are in their ranges; they may not come from a text. */
bool app_recipe_valid(const app_recipe *recipe);

#endif
