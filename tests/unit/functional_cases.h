/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of t(x) for functional balancing, and a check of cuts. */
#ifndef FUNCTIONAL_CASES_H
#define FUNCTIONAL_CASES_H

#include "unit.h"

#include <equipoise/more/models.h>
#include <equipoise/more/random.h>

#define MAX_NODES 64

static uint64_t draws;

static inline double uniform(void)
{
    return (double)eqp_random_below(5, 1, draws++, 1000001) / 1000000;
}

static inline int near(double a, double b, double relative)
{
    return fabs(a - b) <= relative * fmax(fabs(a), fabs(b));
}

static const eqp_functional_family families[] = {
    {EQP_FUNCTIONAL_POWER, {0.3, 1.43}},    {EQP_FUNCTIONAL_POWER, {7, 0.5}},
    {EQP_FUNCTIONAL_POWER, {1e-9, 3}},      {EQP_FUNCTIONAL_PRIMES, {3.9098e-7, 1.43}},
    {EQP_FUNCTIONAL_PRIMES, {2, 1.5}},      {EQP_FUNCTIONAL_POLYNOMIAL, {1, 0, 0}},
    {EQP_FUNCTIONAL_POLYNOMIAL, {1, 2, 3}}, {EQP_FUNCTIONAL_POLYNOMIAL, {0, 1, 0}},
};
enum { NFAMILIES = sizeof families / sizeof families[0] };

static inline void check_shares(const eqp_functional_time *time, int nnodes, const double *speed, const double *bound)
{
    const double t_low = time->value(time->user, time->low), t_high = time->value(time->user, time->high);
    double speeds = 0;

    for (int i = 0; i < nnodes; i++) {
        speeds += speed ? speed[i] : 1;
    }
    assert_true(bound[0] == time->low && bound[nnodes] == time->high);
    for (int i = 0; i < nnodes; i++) {
        const double mine = time->value(time->user, bound[i + 1]) - time->value(time->user, bound[i]);
        assert_true(bound[i] <= bound[i + 1]);
        assert_true(fabs(mine - (t_high - t_low) * (speed ? speed[i] : 1) / speeds) <= 1e-12 * t_high);
    }
}

#endif
