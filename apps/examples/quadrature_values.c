/* SPDX-License-Identifier: BSD-3-Clause */
/* The integrals of quadrature.c by every integrator that it is built with, with -Dgsl=enabled also GSL's. Says what is
 * wrong, and returns 1 then. */
#include "quadrature_integrands.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
    const char *name;
    quadrature_rule rule;
} rules[] = {
    {"own", quadrature_own},
#ifdef QUADRATURE_GSL
    {"gsl", quadrature_gsl},
#endif
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* Values from tables of integrals, one of each family. */
static const struct {
    quadrature_integrand f;
    double value;
} known[] = {
    {{QUADRATURE_SMOOTH, 1.0, 0.5}, 1.7182818284590452},           /* e - 1 */
    {{QUADRATURE_OSCILLATORY, 10.0, 0.25}, -0.18390715290764524},  /* (cos 10 - 1) / 10 */
    {{QUADRATURE_CORNER, 2.0, 0.5}, 0.63212055882855768},          /* 1 - 1 / e */
    {{QUADRATURE_GAUSSIAN, 2.0, 0.5}, 0.74682413281242702},        /* sqrt(pi) / 2 erf(1) */
    {{QUADRATURE_PEAK, 200.0, 0.5}, 3.1215933202164627},           /* 2 atan 100 */
    {{QUADRATURE_SINGULAR_INSIDE, 0.5, 0.25}, 2.7320508075688773}, /* 1 + sqrt(3) */
    {{QUADRATURE_SINGULAR_EDGE, 0.5, 0.5}, 2.0},
};

/* Both what is called exact and what the integrators find. */
static int check_known(void)
{
    int wrong = 0;

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        const double exact = quadrature_exact(&known[k].f);
        if (!(fabs(exact - known[k].value) < 1e-13 * (1.0 + known[k].value))) {
            fprintf(stderr, "family %zu: exactly %.15g instead of %.15g\n", k, exact, known[k].value);
            wrong++;
        }
        for (int r = 0; r < RULES; r++) {
            double value = NAN;
            const int64_t evaluations = rules[r].rule(&known[k].f, 1e-8, &value);
            if (!(fabs(value - known[k].value) < 1e-6) || evaluations < 15) {
                fprintf(stderr, "%s: family %zu: %.10g instead of %.10g\n", rules[r].name, k, value, known[k].value);
                wrong++;
            }
        }
    }
    return wrong;
}

/* What sets are made of, within the bound that quadrature asks for; an integrator may be deceived now and then. Hard
 * ones are hard. */
static int check_drawn(int r)
{
    enum { DRAWN = 4000, DECEIVED = 4 };
    int64_t evaluations[2] = {0, 0};
    int wrong = 0;

    for (int64_t i = 0; i < DRAWN; i++) {
        const quadrature_integrand f = quadrature_draw(7, i, 0, i % 2 == 1);
        double value = NAN;
        evaluations[i % 2] += rules[r].rule(&f, 1e-6, &value);
        wrong += !(fabs(value - quadrature_exact(&f)) <= 1e-4);
    }
    if (wrong > DECEIVED || evaluations[1] <= 4 * evaluations[0]) {
        fprintf(stderr, "%s: %d of %d integrals are wrong; %lld evaluations for easy ones, %lld for hard ones\n",
                rules[r].name, wrong, DRAWN, (long long)evaluations[0], (long long)evaluations[1]);
        return 1;
    }
    return 0;
}

int main(void)
{
    int wrong = check_known();

    for (int r = 0; r < RULES; r++) {
        wrong += check_drawn(r);
    }
    return wrong > 0;
}
