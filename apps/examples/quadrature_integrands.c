/* SPDX-License-Identifier: BSD-3-Clause */
#include "quadrature_integrands.h"

#include <equipoise/random.h>

#include <math.h>

static const double pi = 3.14159265358979323846;

static double between(double low, double high, double u)
{
    return low + (high - low) * u;
}

quadrature_integrand quadrature_draw(uint64_t seed, int64_t i, int k, bool hard)
{
    const uint64_t stream = (uint64_t)i, draw = 3 * (uint64_t)k;
    const double u = eqp_random_uniform(seed, stream, draw + 1);
    quadrature_integrand f = {(int64_t)(hard ? QUADRATURE_PEAK + eqp_random_below(seed, stream, draw, 3)
                                             : eqp_random_below(seed, stream, draw, 4)),
                              0.0, between(0.1, 0.9, eqp_random_uniform(seed, stream, draw + 2))};

    switch (f.family) {
    case QUADRATURE_SMOOTH:
        f.a = between(0.5, 3.0, u);
        break;
    case QUADRATURE_OSCILLATORY:
        f.a = between(5.0, 20.0, u);
        break;
    case QUADRATURE_CORNER:
    case QUADRATURE_GAUSSIAN:
        f.a = between(2.0, 10.0, u);
        break;
    case QUADRATURE_PEAK:
        f.a = pow(10.0, between(2.0, 4.0, u));
        break;
    default:
        f.a = between(0.3, 0.6, u);
        break;
    }
    return f;
}

double quadrature_at(const quadrature_integrand *f, double x)
{
    const double d = x - f->w;

    switch (f->family) {
    case QUADRATURE_SMOOTH:
        return exp(f->a * x);
    case QUADRATURE_OSCILLATORY:
        return cos(2.0 * pi * f->w + f->a * x);
    case QUADRATURE_CORNER:
        return exp(-f->a * fabs(d));
    case QUADRATURE_GAUSSIAN:
        return exp(-f->a * f->a * d * d);
    case QUADRATURE_PEAK:
        return f->a / (1.0 + f->a * f->a * d * d);
    case QUADRATURE_SINGULAR_INSIDE:
        return d == 0.0 ? 0.0 : pow(fabs(d), -f->a);
    default:
        return x == 0.0 ? 0.0 : pow(x, -f->a);
    }
}

double quadrature_exact(const quadrature_integrand *f)
{
    const double a = f->a, w = f->w;

    switch (f->family) {
    case QUADRATURE_SMOOTH:
        return expm1(a) / a;
    case QUADRATURE_OSCILLATORY:
        return (sin(2.0 * pi * w + a) - sin(2.0 * pi * w)) / a;
    case QUADRATURE_CORNER:
        return (2.0 - exp(-a * w) - exp(-a * (1.0 - w))) / a;
    case QUADRATURE_GAUSSIAN:
        return sqrt(pi) / (2.0 * a) * (erf(a * (1.0 - w)) + erf(a * w));
    case QUADRATURE_PEAK:
        return atan(a * (1.0 - w)) + atan(a * w);
    case QUADRATURE_SINGULAR_INSIDE:
        return (pow(w, 1.0 - a) + pow(1.0 - w, 1.0 - a)) / (1.0 - a);
    default:
        return 1.0 / (1.0 - a);
    }
}

/* Places and weights of the rules on [-1, 1], the middle last; every other place is Gauss'. */
static const double place[8] = {0.991455371120812639, 0.949107912342758525, 0.864864423359769073, 0.741531185599394440,
                                0.586087235467691130, 0.405845151377397167, 0.207784955007898468, 0.0};
static const double kronrod[8] = {0.022935322010529225, 0.063092092629978553, 0.104790010322250184,
                                  0.140653259715525919, 0.169004726639267903, 0.190350578064785410,
                                  0.204432940075298892, 0.209482141084727828};
static const double gauss[4] = {0.129484966168869693, 0.279705391489276668, 0.381830050505118945, 0.417959183673469388};

static double apply(const quadrature_integrand *f, double low, double high, double *error)
{
    const double middle = 0.5 * (low + high), half = 0.5 * (high - low);
    double fine = kronrod[7] * quadrature_at(f, middle), coarse = gauss[3] * quadrature_at(f, middle);

    for (int k = 0; k < 7; k++) {
        const double pair = quadrature_at(f, middle - half * place[k]) + quadrature_at(f, middle + half * place[k]);
        fine += kronrod[k] * pair;
        coarse += k % 2 == 1 ? gauss[k / 2] * pair : 0.0;
    }
    *error = fabs(fine - coarse) * half;
    return fine * half;
}

typedef struct interval {
    double low, high, value, error;
    int depth;
} interval;

static interval make(const quadrature_integrand *f, double low, double high, int depth)
{
    interval made = {low, high, 0.0, 0.0, depth};

    made.value = apply(f, low, high, &made.error);
    return made;
}

/* Depth first; so many halvings leave nothing between two neighbouring numbers. The two rules may agree by accident:
 * both halves have to, and their sum with the whole. */
int64_t quadrature_own(const quadrature_integrand *f, double tolerance, double *value)
{
    enum { DEPTH = 60 };
    interval waiting[DEPTH + 2] = {make(f, 0.0, 1.0, 0)};
    int64_t rules = 1;
    int n = 1;

    *value = 0.0;
    while (n > 0) {
        const interval whole = waiting[--n];
        const double middle = 0.5 * (whole.low + whole.high);
        const interval left = make(f, whole.low, middle, whole.depth + 1);
        const interval right = make(f, middle, whole.high, whole.depth + 1);
        rules += 2;
        if ((fmax(left.error, right.error) <= tolerance && fabs(left.value + right.value - whole.value) <= tolerance) ||
            left.depth == DEPTH || middle <= whole.low || middle >= whole.high) {
            *value += left.value + right.value;
        } else {
            waiting[n++] = left;
            waiting[n++] = right;
        }
    }
    return 15 * rules;
}
