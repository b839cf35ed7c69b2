/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of methods. */
#include "methods/frame/frame.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const eqp_method *row;
    const char *library;
} methods[] = {
#define EQP__ROW(name, folder, library) {&eqp__method_##name, library},
#include "methods/list.h"
#undef EQP__ROW
};
#define NMETHODS ((int)(sizeof methods / sizeof methods[0]))

/* Row i of the methods that this build has (`built`), or of the methods missing from it. */
static const eqp_method *row_at(int i, bool built)
{
    for (int k = 0; i >= 0 && k < NMETHODS; k++) {
        if (eqp_method_assigns(methods[k].row) == built && i-- == 0) {
            return methods[k].row;
        }
    }
    return NULL;
}

const char *eqp__method_library(const eqp_method *row)
{
    for (int k = 0; k < NMETHODS; k++) {
        if (methods[k].row == row && methods[k].library != NULL) {
            return methods[k].library;
        }
    }
    return "library";
}

const eqp_method *eqp_methods_at(const eqp_methods *own, int i)
{
    const int nown = own && own->row && own->n > 0 ? own->n : 0;
    int nshared = 0;

    while (row_at(nshared, true)) {
        nshared++;
    }
    if (i < nshared) {
        return row_at(i, true);
    }
    if (i - nshared < nown) {
        return own->row[i - nshared];
    }
    return i - nshared == nown ? &eqp__method_auto : NULL;
}

const eqp_method *eqp_method_lacking(int i)
{
    return row_at(i, false);
}

const eqp_method *eqp_method_find(const char *name)
{
    const eqp_method *row;

    for (int i = 0; name && (row = row_at(i, true)) != NULL; i++) {
        if (strcmp(row->name, name) == 0) {
            return row;
        }
    }
    return NULL;
}

const eqp_method *eqp__method_lacking_find(const char *word)
{
    const size_t length = strcspn(word, ":");
    const eqp_method *row;

    for (int i = 0; (row = row_at(i, false)) != NULL; i++) {
        if (strlen(row->name) == length && memcmp(row->name, word, length) == 0) {
            return row;
        }
    }
    return NULL;
}
