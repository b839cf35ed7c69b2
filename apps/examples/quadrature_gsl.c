/* SPDX-License-Identifier: BSD-3-Clause */
/* GSL is under the GPL, and so is a program that is linked with it: only this example can be, and only when asked for
 * (-Dgsl=enabled). */
#include "quadrature_integrands.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>

typedef struct counted {
    const quadrature_integrand *f;
    int64_t evaluations;
} counted;

static double evaluate(double x, void *user)
{
    counted *c = user;

    c->evaluations++;
    return quadrature_at(c->f, x);
}

int64_t quadrature_gsl(const quadrature_integrand *f, double tolerance, double *value)
{
    enum { INTERVALS = 200 };
    counted c = {f, 0};
    gsl_function function = {evaluate, &c};
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    gsl_integration_workspace *space = gsl_integration_workspace_alloc(INTERVALS);
    double error;

    *value = 0.0;
    if (space) {
        /* Whether it converged does not matter: the value is compared with the exact one. */
        (void)gsl_integration_qags(&function, 0.0, 1.0, tolerance, 0.0, INTERVALS, space, value, &error);
        gsl_integration_workspace_free(space);
    }
    (void)gsl_set_error_handler(handler);
    return c.evaluations;
}
