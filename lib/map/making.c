/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/making.h"

bool eqp__method_weighs(const eqp_method *method)
{
    return (method->flags & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS)) != 0;
}

bool eqp__making_wants_units(const eqp_making *making)
{
    return making->how.split || (making->method->flags & EQP_NEEDS_UNITS) != 0;
}

bool eqp__making_wants_pins(const eqp_making *making)
{
    const unsigned start = making->how.start != NULL ? making->how.start->flags : 0;

    return ((making->method->flags | start) & EQP_NEEDS_PINS) != 0;
}

bool eqp__making_wants_trial(const eqp_making *making)
{
    const bool fits = making->memory.known && eqp__memory_is_capped(&making->memory); /* only a trace shows that */

    return making->how.split || making->how.even || (making->method->flags & EQP_NEEDS_SOURCES) != 0 || fits;
}

eqp_making eqp__making_with(const eqp_making *run, const eqp_choice *choice)
{
    eqp_making made = *run;

    made.method = choice->method;
    made.how = choice->options;
    made.settings = choice->settings;
    return made;
}
