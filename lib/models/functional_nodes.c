/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of nodes of several speeds, and measures of their balance. */
#include "base/internal.h"
#include "models/functional_look.h"
#include <equipoise/more/models.h>

#include <limits.h>
#include <math.h>
#include <stddef.h>

static int count_nodes(int ntypes, const eqp_functional_type *type, eqp_functional_plan *plan)
{
    eqp_functional_plan p = {0};

    EQP__FAIL_IF(ntypes < 1 || !type, EQP_ERR_ARGUMENT);
    for (int j = 0; j < ntypes; j++) {
        EQP__FAIL_IF(type[j].count < 0 || !(type[j].speed > 0) || !isfinite(type[j].speed), EQP_ERR_ARGUMENT);
        EQP__FAIL_IF(type[j].count > INT_MAX - p.nodes, EQP_ERR_OVERFLOW);
        p.nodes += type[j].count;
        p.speedup += type[j].count * type[j].speed;
    }
    EQP__FAIL_IF(p.nodes == 0, EQP_ERR_ARGUMENT);
    *plan = p;
    return isfinite(p.speedup) ? EQP_OK : EQP_ERR_ARGUMENT;
}

int eqp_functional_types(int ntypes, const eqp_functional_type *type, double total, double *share,
                         eqp_functional_plan *plan)
{
    eqp_functional_plan p;

    EQP__CHECK(plan ? count_nodes(ntypes, type, &p) : EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!(total >= 0) || !isfinite(total), EQP_ERR_DATA);
    p.interval = total / p.speedup;
    p.all = p.nodes * p.interval;
    for (int j = 0; share && j < ntypes; j++) {
        share[j] = type[j].count * p.interval;
    }
    *plan = p;
    return EQP_OK;
}

int eqp__functional_speeds(int ntypes, const eqp_functional_type *type, double *speed)
{
    eqp_functional_plan p;
    int code = speed ? count_nodes(ntypes, type, &p) : EQP_ERR_ARGUMENT;

    for (int j = 0; j < ntypes && !code; j++) {
        for (int i = 0; i < type[j].count; i++) {
            *speed++ = type[j].speed;
        }
    }
    return code;
}

typedef struct extremes {
    double min, mean, max;
} extremes;

static int survey(int n, const double *time, extremes *e)
{
    EQP__FAIL_IF(n < 1 || !time, EQP_ERR_ARGUMENT);
    *e = (extremes){INFINITY, 0, 0};
    for (int i = 0; i < n; i++) {
        EQP__FAIL_IF(!(time[i] >= 0) || !isfinite(time[i]), EQP_ERR_DATA);
        e->min = fmin(e->min, time[i]);
        e->max = fmax(e->max, time[i]);
        e->mean += time[i] / n;
    }
    return EQP_OK;
}

int eqp_functional_efficiency(int n, const double *time, double *inefficiency, double *efficiency)
{
    extremes e;
    int code = inefficiency && efficiency ? survey(n, time, &e) : EQP_ERR_ARGUMENT;

    if (!code) {
        *inefficiency = e.max > 0 ? fmax(0, (e.max - e.mean) / e.max * 100) : 0; /* (2) */
        *efficiency = 100 - *inefficiency;                                       /* (3) */
    }
    return code;
}

int eqp__functional_spread(int n, const double *time, double *spread)
{
    extremes e;
    int code = spread ? survey(n, time, &e) : EQP_ERR_ARGUMENT;

    if (!code) {
        *spread = e.mean > 0 ? (e.max - e.min) / e.mean : 0;
    }
    return code;
}
