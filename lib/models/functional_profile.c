/* SPDX-License-Identifier: BSD-3-Clause */
/* Profile of a program's time along one direction, over passes. */
#include "base/internal.h"

#include <equipoise/more/models.h>

#include <math.h>
#include <stdlib.h>

struct eqp_functional_profile {
    eqp_functional_profile_options options;
    int64_t passes;
    double *now;  /* [cells] time of this pass */
    double *past; /* [cells] decaying sum of earlier passes */
};

/* Lower edge of cell i. */
static double edge(const eqp_functional_profile_options *o, int64_t i)
{
    return i < o->cells ? o->low + (o->high - o->low) * ((double)i / (double)o->cells) : o->high;
}

/* Refuses cells so narrow that rounding makes edges equal. */
static int edges_rise(const eqp_functional_profile_options *o)
{
    for (int64_t i = 0; i < o->cells; i++) {
        if (!(edge(o, i + 1) > edge(o, i))) {
            return 0;
        }
    }
    return 1;
}

int eqp_functional_profile_create(const eqp_functional_profile_options *options, eqp_functional_profile **profile)
{
    const eqp_functional_profile_options *o = options;
    eqp_functional_profile *p = NULL;
    int code;

    EQP__FAIL_IF(!o || !profile || !(o->high > o->low) || !isfinite(o->high - o->low) || o->cells < 1 ||
                     !(o->keep >= 0) || !(o->keep <= 1) || o->every < 1 || !(o->threshold >= 0),
                 EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp_array_create(&p, 1, sizeof *p));
    p->options = *o;
    if ((code = eqp_array_create(&p->now, o->cells, sizeof *p->now)) ||
        (code = eqp_array_create(&p->past, o->cells, sizeof *p->past))) {
        eqp_functional_profile_free(p);
        return code;
    }
    if (!edges_rise(o)) {
        eqp_functional_profile_free(p);
        return EQP_ERR_ARGUMENT;
    }
    *profile = p;
    return EQP_OK;
}

/* Converts a coordinate to units of cells. */
static double in_cells(const eqp_functional_profile_options *o, double x)
{
    return (x - o->low) / (o->high - o->low) * (double)o->cells;
}

static int64_t cell_of(const eqp_functional_profile_options *o, double place)
{
    return place < (double)(o->cells - 1) ? (int64_t)place : o->cells - 1;
}

int eqp_functional_profile_add(eqp_functional_profile *profile, double from, double to, double seconds)
{
    EQP__FAIL_IF(!profile || !(from >= profile->options.low) || !(to >= from) || !(to <= profile->options.high),
                 EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!(seconds >= 0) || !isfinite(seconds), EQP_ERR_DATA);
    const eqp_functional_profile_options *o = &profile->options;
    const double first = in_cells(o, from), last = in_cells(o, to);
    if (!(last > first)) {
        profile->now[cell_of(o, first)] += seconds;
        return EQP_OK;
    }
    for (int64_t cell = cell_of(o, first); cell <= cell_of(o, last); cell++) {
        const double part = fmin(last, (double)cell + 1) - fmax(first, (double)cell);
        profile->now[cell] += part > 0 ? seconds * (part / (last - first)) : 0;
    }
    return EQP_OK;
}

double *eqp_functional_profile_cells(eqp_functional_profile *profile, int64_t *cells)
{
    if (!profile || !cells) {
        return NULL;
    }
    *cells = profile->options.cells;
    return profile->now;
}

int eqp_functional_profile_pass(eqp_functional_profile *profile, int n, const double *time, int *recut)
{
    const double keep = profile ? profile->options.keep : 0;
    double spread = 0;

    EQP__CHECK(profile && recut ? eqp_functional_spread(n, time, &spread) : EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < profile->options.cells; i++) {
        profile->past[i] = keep > 0 ? keep * profile->past[i] + profile->now[i] : profile->now[i];
        profile->now[i] = 0;
    }
    profile->passes++;
    *recut = profile->passes % profile->options.every == 0 && spread > profile->options.threshold;
    return EQP_OK;
}

int eqp_functional_profile_time(const eqp_functional_profile *profile, eqp_functional_samples **samples)
{
    const eqp_functional_profile_options *o = profile ? &profile->options : NULL;
    double *x = NULL, *t = NULL;
    int code = o && samples ? EQP_OK : EQP_ERR_ARGUMENT;

    EQP_TRY(code);
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(x, o->cells + 1), EQP__ARRAY(t, o->cells + 1)));
    x[0] = edge(o, 0);
    for (int64_t i = 0; i < o->cells && !code; i++) {
        x[i + 1] = edge(o, i + 1);
        t[i + 1] = t[i] + profile->past[i];
        code = !(profile->past[i] >= 0) ? EQP_ERR_DATA : isfinite(t[i + 1]) ? EQP_OK : EQP_ERR_OVERFLOW;
    }
    code = code ? code : eqp_functional_samples_create(o->cells + 1, x, t, NULL, samples);
done:
    EQP__FREE(x, t);
    return code;
}

void eqp_functional_profile_free(eqp_functional_profile *profile)
{
    if (profile) {
        EQP__FREE(profile->now, profile->past, profile);
    }
}
