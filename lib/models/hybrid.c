/* SPDX-License-Identifier: BSD-3-Clause */
/* Powell's hybrid method for eq. 2 of Clarke 2011, section 6.1: the routine of MINPACK that the paper used. */
#include "models/speeds.h"

#include "base/internal.h"

#include <cminpack.h>
#include <math.h>
#include <stdlib.h>

/* Relative distance of iterates at which hybrj stops, and largest relative spread of the times at a root. */
#define TOLERANCE 1e-12
#define LARGEST_SPREAD 1e-6
/* Bound of the first step, in lengths of the first guess: MINPACK's recommendation. */
#define FIRST_STEP 100.0
#define NO_DIVISION (-1)

/* Unknowns are fractions of n, and times are relative to that of equal shares, so that all are of order 1. */
typedef struct equations {
    const eqp__curve *curve; /* [nranks] */
    double n;
    double unit; /* seconds */
    int evaluations;
} equations;

/* F of eq. 2 (iflag 1) or its Jacobian of eq. 5 (iflag 2), by columns. */
static int evaluate(void *user, int nranks, const double *fraction, double *f, double *jacobian, int stride, int iflag)
{
    equations *s = user;
    double first, rate, sum = 0.0;

    first = eqp__curve_seconds(&s->curve[0], s->n * fraction[0], &rate) / s->unit;
    if (iflag == 1) {
        s->evaluations++;
    } else {
        for (int r = 0; r < nranks; r++) {
            for (int i = 1; i < nranks; i++) {
                jacobian[i + r * stride] = r == 0 ? -rate * s->n / s->unit : 0.0;
            }
            jacobian[r * stride] = -1.0;
        }
    }
    for (int r = 1; r < nranks; r++) {
        const double seconds = eqp__curve_seconds(&s->curve[r], s->n * fraction[r], &rate) / s->unit;
        if (iflag == 1) {
            f[r] = seconds - first;
            sum += fraction[r];
        } else {
            jacobian[r + r * stride] = rate * s->n / s->unit;
        }
    }
    if (iflag == 1) {
        f[0] = 1.0 - (fraction[0] + sum);
    }
    return 0;
}

/* True if the fractions sum to 1 and take equal times. */
static bool is_root(const equations *s, int nranks, const double *fraction)
{
    double sum = 0.0, least = INFINITY, most = 0.0;

    for (int r = 0; r < nranks; r++) {
        const double seconds = eqp__curve_seconds(&s->curve[r], s->n * fraction[r], NULL);
        if (!(fraction[r] > 0.0 && fraction[r] <= 1.0)) {
            return false;
        }
        sum += fraction[r];
        least = fmin(least, seconds);
        most = fmax(most, seconds);
    }
    return fabs(sum - 1.0) <= LARGEST_SPREAD && most <= least * (1.0 + LARGEST_SPREAD);
}

int eqp__speeds_hybrid(int nranks, const eqp__curve *curve, double n, double *size, int *info, int *evaluations)
{
    const int triangle = nranks * (nranks + 1) / 2;
    equations s = {.curve = curve, .n = n};
    double *matrix = NULL, *r = NULL, *vectors = NULL;
    int code, njacobians, nf;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(matrix, (int64_t)nranks * nranks), EQP__ARRAY(r, triangle),
                        EQP__ARRAY(vectors, (int64_t)7 * nranks)));
    double *f = vectors, *diagonal = f + nranks, *qtf = diagonal + nranks, *wa = qtf + nranks;
    for (int i = 0; i < nranks; i++) {
        size[i] = 1.0 / nranks;
        diagonal[i] = 1.0;
        s.unit += eqp__curve_seconds(&curve[i], n / nranks, NULL) / nranks;
    }
    *info = hybrj(evaluate, &s, nranks, size, f, matrix, nranks, TOLERANCE, 100 * (nranks + 1), diagonal, 2, FIRST_STEP,
                  0, &nf, &njacobians, r, triangle, qtf, wa, wa + nranks, wa + 2 * nranks, wa + 3 * nranks);
    *evaluations = s.evaluations;
    if (*info == 1 && !is_root(&s, nranks, size)) {
        *info = NO_DIVISION;
    }
    for (int i = 0; i < nranks; i++) {
        size[i] *= n;
    }
done:
    EQP__FREE(vectors, r, matrix);
    return code;
}
