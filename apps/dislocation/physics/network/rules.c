/* SPDX-License-Identifier: BSD-3-Clause */
#include "rules.h"

#include <equipoise/error.h>

#include <math.h>

/* Area of an equilateral triangle over the square of its side. */
#define EQUILATERAL 0.43301270189221932

static bool is_positive(double x)
{
    return x > 0.0 && isfinite(x);
}

int dd_rules_complete(dd_rules *rules)
{
    dd_rules full = *rules;

    if (full.r_tol == 0.0) {
        full.r_tol = full.rann / 2.0;
    }
    if (full.rann == 0.0) {
        full.rann = 2.0 * full.r_tol;
    }
    if (full.min_seg == 0.0) {
        full.min_seg = fmin(sqrt(2.0 * full.r_tol * full.max_seg / EQUILATERAL), full.max_seg / 2.0);
    }
    if (full.area_min == 0.0) {
        full.area_min = fmin(2.0 * full.r_tol * full.max_seg, EQUILATERAL * full.min_seg * full.min_seg);
    }
    if (full.area_max == 0.0) {
        full.area_max = (4.0 * full.area_min + EQUILATERAL * full.max_seg * full.max_seg) / 2.0;
    }
    if (!is_positive(full.max_seg) || !is_positive(full.min_seg) || !is_positive(full.area_min) ||
        !is_positive(full.area_max) || !is_positive(full.r_tol) || !is_positive(full.rann) ||
        full.min_seg > full.max_seg / 2.0 || full.area_min >= full.area_max) {
        return EQP_ERR_ARGUMENT;
    }
    *rules = full;
    return EQP_OK;
}
