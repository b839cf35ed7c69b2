/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of methods. */
#include "par/methods.h"

#include <string.h>

static const eqp_method *const methods[] = {
    &eqp__method_none,        &eqp__method_count,     &eqp__method_sfc,     &eqp__method_rcb,
    &eqp__method_interaction, &eqp__method_tiles,     &eqp__method_jagged,  &eqp__method_tensor,
    &eqp__method_feedback,    &eqp__method_diffusion, &eqp__method_voronoi,
};

int eqp_method_count(void)
{
    return (int)(sizeof methods / sizeof methods[0]);
}

const eqp_method *eqp_method_at(int i)
{
    return i >= 0 && i < eqp_method_count() ? methods[i] : NULL;
}

const eqp_method *eqp_method_find(const char *name)
{
    for (int i = 0; name && i < eqp_method_count(); i++) {
        if (strcmp(methods[i]->name, name) == 0) {
            return methods[i];
        }
    }
    return NULL;
}

const eqp_method *eqp_method_repair(void)
{
    return &eqp__method_repair;
}
