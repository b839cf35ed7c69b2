/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "decide/policy.h"

#include <math.h>

static bool is_amount(double x)
{
    return isfinite(x) && x >= 0.0;
}

static bool are_amounts(int64_t n, const double *x)
{
    bool are = true;

    for (int64_t i = 0; i < n && are; i++) {
        are = is_amount(x[i]);
    }
    return are;
}

static int check(const eqp_gain_case *of)
{
    EQP_REQUIRE(of && of->steps >= 0);
    const double amount[] = {of->load_max,
                             of->load_mean,
                             of->load_reached,
                             of->decision_seconds,
                             of->diffusive_seconds,
                             of->elements_max,
                             of->element_bytes,
                             of->alpha,
                             of->beta};

    return are_amounts((int64_t)(sizeof amount / sizeof amount[0]), amount) ? EQP_OK : EQP_ERR_DATA;
}

/* Zero times infinity is zero: infinitely many elements are free if a byte is. */
static double product(double x, double y)
{
    return x == 0.0 || y == 0.0 ? 0.0 : x * y;
}

/* Equation 3.2. */
static double movement(const eqp_gain_case *of, double elements)
{
    return of->alpha + product(product(of->beta, of->element_bytes), elements);
}

/* Equation 3.3. */
static double moved_by_global(const eqp_gain_case *of)
{
    const double above = fmax(of->load_max - of->load_mean, 0.0);

    if (of->as_printed) {
        return above > 0.0 ? product(of->elements_max, of->load_mean / above) : INFINITY;
    }
    return of->load_max > 0.0 ? of->elements_max * (above / of->load_max) : 0.0;
}

int eqp__gain_none(const eqp_gain_case *of, double *seconds)
{
    const int code = check(of);

    EQP_REQUIRE(seconds);
    if (code == EQP_OK) {
        *seconds = product((double)of->steps, of->load_max);
    }
    return code;
}

int eqp__gain_global(const eqp_gain_case *of, double *seconds)
{
    const int code = check(of);

    EQP_REQUIRE(seconds);
    if (code == EQP_OK) {
        const double step = of->as_printed ? of->load_mean : of->load_reached;
        *seconds = of->decision_seconds + movement(of, moved_by_global(of)) + product((double)of->steps, step);
    }
    return code;
}

int eqp__gain_diffusive(const eqp_gain_case *of, int64_t n, const double *load_max, const double *moved_max,
                        double *seconds)
{
    const int code = check(of);

    EQP_REQUIRE(seconds && n >= 0 && (n == 0 || (load_max && moved_max)));
    EQP__CHECK(code);
    EQP__FAIL_IF(!are_amounts(n, load_max) || !are_amounts(n, moved_max), EQP_ERR_DATA);
    if (n == 0) {
        return eqp__gain_none(of, seconds);
    }
    /* as printed, the sum runs over steps 0 to `steps` */
    const double steps = (double)of->steps + (of->as_printed ? 1.0 : 0.0);
    const int64_t counted = steps < (double)n ? (int64_t)steps : n;
    double sum = 0.0;
    for (int64_t i = 0; i < counted; i++) {
        sum += of->diffusive_seconds + movement(of, moved_max[i]) + load_max[i];
    }
    *seconds = sum + product(steps - (double)counted, load_max[n - 1]);
    return EQP_OK;
}

int eqp__gain_choose(const eqp_gain_case *of, int64_t n, const double *load_max, const double *moved_max,
                     eqp_gain_choice *choice)
{
    eqp_gain_choice made = {.kind = EQP_GAIN_NONE};

    EQP_REQUIRE(choice);
    EQP__CHECK(eqp__gain_none(of, &made.none));
    EQP__CHECK(eqp__gain_global(of, &made.global));
    EQP__CHECK(eqp__gain_diffusive(of, n, load_max, moved_max, &made.diffusive));
    if (n > 0 && made.diffusive < made.none) {
        made.kind = EQP_GAIN_DIFFUSIVE;
    }
    if (made.global < (made.kind == EQP_GAIN_NONE ? made.none : made.diffusive)) {
        made.kind = EQP_GAIN_GLOBAL;
    }
    *choice = made;
    return EQP_OK;
}
