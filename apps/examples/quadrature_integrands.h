/* SPDX-License-Identifier: BSD-3-Clause */
/* Integrals over [0, 1] whose values are known, some of them hard, and what integrates them. */
#ifndef QUADRATURE_INTEGRANDS_H
#define QUADRATURE_INTEGRANDS_H

#include <stdbool.h>
#include <stdint.h>

/* The families of section 4.6 of the thesis (<equipoise/schedule.h>): well-behaved, oscillatory, with a corner, a
 * Gaussian peak; and the hard ones: an internal peak, singular at an interior point, singular at an edge. */
typedef enum quadrature_family {
    QUADRATURE_SMOOTH,
    QUADRATURE_OSCILLATORY,
    QUADRATURE_CORNER,
    QUADRATURE_GAUSSIAN,
    QUADRATURE_PEAK,
    QUADRATURE_SINGULAR_INSIDE,
    QUADRATURE_SINGULAR_EDGE
} quadrature_family;

/* One integrand: a is its difficulty, w the place where it is difficult. */
typedef struct quadrature_integrand {
    int64_t family;
    double a, w;
} quadrature_integrand;

/* Sample k of integrand i: a pure function of these. hard: of the last three families. */
quadrature_integrand quadrature_draw(uint64_t seed, int64_t i, int k, bool hard);

double quadrature_at(const quadrature_integrand *f, double x);
double quadrature_exact(const quadrature_integrand *f);

/* Integrates over [0, 1] until no interval seems to be wrong by more than the tolerance. Returns how often the
 * integrand was evaluated. */
typedef int64_t (*quadrature_rule)(const quadrature_integrand *f, double tolerance, double *value);

/* Bisection with the 7 point Gauss and 15 point Kronrod rules. */
int64_t quadrature_own(const quadrature_integrand *f, double tolerance, double *value);

/* GSL's QAGS; only where it was built in. */
int64_t quadrature_gsl(const quadrature_integrand *f, double tolerance, double *value);

#endif
