/* SPDX-License-Identifier: BSD-3-Clause */
/* The integrals of apps/examples/quadrature.c by all integrators that it is built with: with -Dgsl=enabled also GSL's.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../apps/examples/quadrature_integrands.h"

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

static void known_integrals_come_out(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        assert_true(fabs(quadrature_exact(&known[k].f) - known[k].value) < 1e-13 * (1 + known[k].value));
        for (int r = 0; r < RULES; r++) {
            double value = NAN;
            const int64_t evaluations = rules[r].rule(&known[k].f, 1e-8, &value);
            if (!(fabs(value - known[k].value) < 1e-6)) {
                fail_msg("%s: family %d: %.10g instead of %.10g", rules[r].name, (int)k, value, known[k].value);
            }
            assert_true(evaluations >= 15);
        }
    }
}

/* What sets are made of, within the bound that the example asks for; an integrator may be deceived now and then. */
static void drawn_integrals_come_out(void **state)
{
    (void)state;
    for (int r = 0; r < RULES; r++) {
        int64_t evaluations[2] = {0, 0};
        int wrong = 0;
        for (int64_t i = 0; i < 4000; i++) {
            const quadrature_integrand f = quadrature_draw(7, i, 0, i % 2 == 1);
            double value = NAN;
            evaluations[i % 2] += rules[r].rule(&f, 1e-6, &value);
            wrong += !(fabs(value - quadrature_exact(&f)) <= 1e-4);
        }
        if (wrong > 4) {
            fail_msg("%s: %d of 4000 integrals are wrong", rules[r].name, wrong);
        }
        /* That is what makes them hard. */
        assert_true(evaluations[1] > 4 * evaluations[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_integrals_come_out),
        cmocka_unit_test(drawn_integrals_come_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
