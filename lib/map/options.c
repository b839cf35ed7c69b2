/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/options.h"

bool eqp__method_weighs(const eqp_method *method)
{
    return (method->flags & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS)) != 0;
}

bool eqp__map_options_wants_units(const eqp_map_options *options)
{
    return options->how.split || (options->method->flags & EQP_NEEDS_UNITS) != 0;
}

bool eqp__map_options_wants_pins(const eqp_map_options *options)
{
    const unsigned start = options->how.start != NULL ? options->how.start->flags : 0;

    return ((options->method->flags | start) & EQP_NEEDS_PINS) != 0;
}

bool eqp__map_options_wants_trial(const eqp_map_options *options)
{
    const bool fits = options->memory.known && eqp__memory_is_capped(&options->memory); /* only a trace shows that */

    return options->how.split || options->how.even || (options->method->flags & EQP_NEEDS_SOURCES) != 0 || fits;
}

eqp_map_options eqp__map_options_with(const eqp_map_options *run, const eqp_choice *choice)
{
    eqp_map_options made = *run;

    made.method = choice->method;
    made.how = choice->options;
    made.settings = choice->settings;
    return made;
}
