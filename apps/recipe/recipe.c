/* SPDX-License-Identifier: BSD-3-Clause */
#include "recipe.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SEED 9007199254740992.0 /* 2^53: every seed is written and read exactly */

static const app_recipe_key seed_key = {"seed", 0, 0, MOST_SEED, true, "random seed"};

static bool in_range(const app_recipe_key *key, double value)
{
    return value >= key->least && value <= key->most && !(key->whole && value != floor(value));
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* The row of a name, or NULL. */
static const app_recipe_kind *find_kind(const app_recipes *table, const char *text, size_t length)
{
    for (int i = 0; i < table->nkinds; i++) {
        if (is_name(table->kind[i].name, text, length)) {
            return &table->kind[i];
        }
    }
    return NULL;
}

/* The number of a key of the kind; nkeys for seed; -1 if there is none. */
static int find_key(const app_recipe_kind *kind, const char *text, size_t length)
{
    for (int i = 0; i <= kind->nkeys; i++) {
        const char *name = i < kind->nkeys ? kind->key[i].name : seed_key.name;
        if (is_name(name, text, length)) {
            return i;
        }
    }
    return -1;
}

/* Lists the known names and the one nearest to an unknown text: " plummer disks; did you mean 'plummer'?" */
static void add_names(int n, const char *(*name_of)(const void *table, int i), const void *table, const char *text,
                      size_t length, eqp_message *message)
{
    eqp_nearest nearest = {.text = text, .length = length};

    for (int i = 0; i < n && message != NULL; i++) {
        eqp_nearest_look(&nearest, name_of(table, i));
        eqp_message_set(message, "%.400s %s", message->text, name_of(table, i));
    }
    eqp_nearest_suggest(&nearest, message);
}

static const char *name_of_kind(const void *table, int i)
{
    return ((const app_recipes *)table)->kind[i].name;
}

static const char *name_of_key(const void *kind, int i)
{
    const app_recipe_kind *of = kind;
    return i < of->nkeys ? of->key[i].name : seed_key.name;
}

/* Precision argument of printf's %.*s: long nonsense is cut, the message says enough without it. */
static int shown(size_t length)
{
    return length < 40 ? (int)length : 40;
}

static int read_value(const app_recipe_kind *kind, const app_recipe_key *key, const char *text, size_t length,
                      double *value, eqp_message *message)
{
    char *end;
    double number = length > 0 && strchr(" \t\n\v\f\r", text[0]) == NULL ? strtod(text, &end) : NAN;

    if (isnan(number) || end != text + length) {
        eqp_message_set(message, "%s: '%.*s' is no number for %s", kind->name, shown(length), text, key->name);
        return EQP_ERR_ARGUMENT;
    }
    if (!in_range(key, number)) {
        eqp_message_set(message, "%s: %s=%.*s is not a %snumber from %g to %g", kind->name, key->name, shown(length),
                        text, key->whole ? "whole " : "", key->least, key->most);
        return EQP_ERR_ARGUMENT;
    }
    *value = number;
    return EQP_OK;
}

/* One `key=value` of the given length. */
static int read_item(app_recipe *recipe, unsigned *said, const char *item, size_t length, eqp_message *message)
{
    const app_recipe_kind *kind = recipe->kind;
    const char *equals = memchr(item, '=', length);
    const size_t name = equals == NULL ? length : (size_t)(equals - item);
    const int number = find_key(kind, item, name);
    double value;

    if (number < 0) {
        eqp_message_set(message, "%s has no key '%.*s'; known:", kind->name, shown(name), item);
        add_names(kind->nkeys + 1, name_of_key, kind, item, name, message);
        return EQP_ERR_UNKNOWN;
    }
    const app_recipe_key *key = number < kind->nkeys ? &kind->key[number] : &seed_key;
    if (equals == NULL || (*said & 1U << number) != 0) {
        eqp_message_set(message, "%s: %s %s", kind->name, key->name, equals == NULL ? "has no value" : "stands twice");
        return EQP_ERR_ARGUMENT;
    }
    *said |= 1U << number;
    EQP_CHECK(read_value(kind, key, equals + 1, length - name - 1, &value, message));
    if (key == &seed_key) {
        recipe->seed = (uint64_t)value;
        recipe->seeded = true;
    } else {
        recipe->value[number] = value;
    }
    return EQP_OK;
}

int app_recipe_parse(const app_recipes *table, const char *text, app_recipe *recipe, eqp_message *message)
{
    const size_t name = strcspn(text, ":");
    app_recipe made = {.kind = find_kind(table, text, name)};
    unsigned said = 0;

    if (made.kind == NULL) {
        eqp_message_set(message, "no kind of %s is called '%.*s'; known:", table->what, shown(name), text);
        add_names(table->nkinds, name_of_kind, table, text, name, message);
        return EQP_ERR_UNKNOWN;
    }
    for (int i = 0; i < made.kind->nkeys; i++) {
        made.value[i] = made.kind->key[i].value;
    }
    for (const char *at = text + name; *at != '\0';) {
        at++; /* the colon or comma */
        size_t length = strcspn(at, ",");
        EQP_CHECK(read_item(&made, &said, at, length, message));
        at += length;
    }
    *recipe = made;
    return EQP_OK;
}

bool app_recipe_valid(const app_recipe *recipe)
{
    for (int i = 0; i < recipe->kind->nkeys; i++) {
        if (!in_range(&recipe->kind->key[i], recipe->value[i])) {
            return false;
        }
    }
    return true;
}
