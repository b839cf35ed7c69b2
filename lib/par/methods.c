/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of methods. */
#include "par/methods.h"

#include <stdbool.h>
#include <string.h>

static const eqp_method *const methods[] = {
    &eqp__method_none,        &eqp__method_count,     &eqp__method_sfc,     &eqp__method_rcb,
    &eqp__method_interaction, &eqp__method_tiles,     &eqp__method_jagged,  &eqp__method_tensor,
    &eqp__method_feedback,    &eqp__method_diffusion, &eqp__method_voronoi, &eqp__method_rib,
    &eqp__method_hypergraph,  &eqp__method_metis,     &eqp__method_scotch,  &eqp__method_levelled,
    &eqp__method_pieces,
};
#define NMETHODS ((int)(sizeof methods / sizeof methods[0]))

/* Row i of those that this build has, or of those that it lacks. */
static const eqp_method *row_at(int i, bool built)
{
    for (int k = 0; i >= 0 && k < NMETHODS; k++) {
        if ((methods[k]->assign != NULL) == built && i-- == 0) {
            return methods[k];
        }
    }
    return NULL;
}

int eqp_method_count(void)
{
    int n = 0;

    while (row_at(n, true) != NULL) {
        n++;
    }
    return n;
}

const eqp_method *eqp_method_at(int i)
{
    return row_at(i, true);
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

const eqp_method *eqp_method_repair(void)
{
    return &eqp__method_repair;
}
