/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of integrals by an adaptive integrator, the second application of the thesis that schedule.h cites
 * (section 4.6): bench_integrals N front|back|centre|scatter One integral in five is hard: the first ones, the last
 * ones, the middle, or the ends of the quarters. Prints the cost of each, 1e-7 s for an evaluation of its
 * integrand, a line each. Fails if more than one in a thousand differs from its exact value. */
#include <equipoise/more/random.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846, tolerance = 1e-6;

/* Over [0, 1]; the last three families are hard. */
enum { SMOOTH, OSCILLATORY, CORNER, GAUSSIAN, PEAK, SINGULAR_INSIDE, SINGULAR_EDGE };

/* a: difficulty; w: its position. */
typedef struct integrand {
    int family;
    double a, w;
} integrand;

static double between(double low, double high, double u)
{
    return low + (high - low) * u;
}

static integrand draw(uint64_t i, bool hard)
{
    static const double low[] = {0.5, 5, 2, 2, 2, 0.3, 0.3}, high[] = {3, 20, 10, 10, 4, 0.6, 0.6};
    const int family = (int)(hard ? PEAK + eqp_random_below(1, i, 0, 3) : eqp_random_below(1, i, 0, 4));
    const double a = between(low[family], high[family], eqp_random_uniform(1, i, 1));

    return (integrand){family, family == PEAK ? pow(10, a) : a, between(0.1, 0.9, eqp_random_uniform(1, i, 2))};
}

static double value_at(const integrand *f, double x)
{
    const double d = x - f->w;

    switch (f->family) {
    case SMOOTH:
        return exp(f->a * x);
    case OSCILLATORY:
        return cos(2.0 * pi * f->w + f->a * x);
    case CORNER:
        return exp(-f->a * fabs(d));
    case GAUSSIAN:
        return exp(-f->a * f->a * d * d);
    case PEAK:
        return f->a / (1.0 + f->a * f->a * d * d);
    case SINGULAR_INSIDE:
        return d == 0.0 ? 0.0 : pow(fabs(d), -f->a);
    default:
        return x == 0.0 ? 0.0 : pow(x, -f->a);
    }
}

static double exact(const integrand *f)
{
    const double a = f->a, w = f->w;

    switch (f->family) {
    case SMOOTH:
        return expm1(a) / a;
    case OSCILLATORY:
        return (sin(2.0 * pi * w + a) - sin(2.0 * pi * w)) / a;
    case CORNER:
        return (2.0 - exp(-a * w) - exp(-a * (1.0 - w))) / a;
    case GAUSSIAN:
        return sqrt(pi) / (2.0 * a) * (erf(a * (1.0 - w)) + erf(a * w));
    case PEAK:
        return atan(a * (1.0 - w)) + atan(a * w);
    case SINGULAR_INSIDE:
        return (pow(w, 1.0 - a) + pow(1.0 - w, 1.0 - a)) / (1.0 - a);
    default:
        return 1.0 / (1.0 - a);
    }
}

typedef struct interval {
    double low, high, value, error;
    int depth;
} interval;

/* 7-point Gauss and 15-point Kronrod rules on [-1, 1], middle last; every other point is a Gauss point. */
static interval make(const integrand *f, double low, double high, int depth)
{
    static const double place[7] = {0.991455371120812639, 0.949107912342758525, 0.864864423359769073,
                                    0.741531185599394440, 0.586087235467691130, 0.405845151377397167,
                                    0.207784955007898468};
    static const double kronrod[8] = {0.022935322010529225, 0.063092092629978553, 0.104790010322250184,
                                      0.140653259715525919, 0.169004726639267903, 0.190350578064785410,
                                      0.204432940075298892, 0.209482141084727828};
    static const double gauss[4] = {0.129484966168869693, 0.279705391489276668, 0.381830050505118945,
                                    0.417959183673469388};
    const double middle = 0.5 * (low + high), half = 0.5 * (high - low);
    double fine = kronrod[7] * value_at(f, middle), coarse = gauss[3] * value_at(f, middle);

    for (int k = 0; k < 7; k++) {
        const double pair = value_at(f, middle - half * place[k]) + value_at(f, middle + half * place[k]);
        fine += kronrod[k] * pair;
        coarse += k % 2 == 1 ? gauss[k / 2] * pair : 0.0;
    }
    return (interval){low, high, fine * half, fabs(fine - coarse) * half, depth};
}

/* Depth-first bisection. Since the rules may agree by accident, both halves must agree, and their sum with the whole.
 * Returns the number of evaluations. */
static int64_t integrate(const integrand *f, double *value)
{
    enum { DEPTH = 60 }; /* halvings down to adjacent doubles */
    interval waiting[DEPTH + 2] = {make(f, 0.0, 1.0, 0)};
    int64_t rules = 1;

    *value = 0.0;
    for (int n = 1; n > 0; rules += 2) {
        const interval whole = waiting[--n];
        const double middle = 0.5 * (whole.low + whole.high);
        const interval left = make(f, whole.low, middle, whole.depth + 1);
        const interval right = make(f, middle, whole.high, whole.depth + 1);
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

static bool is_hard(char kind, double place)
{
    return kind == 'f'   ? place < 0.2
           : kind == 'b' ? place >= 0.8
           : kind == 'c' ? place >= 0.4 && place < 0.6
                         : 4.0 * place - (int)(4.0 * place) >= 0.8;
}

int main(int argc, char **argv)
{
    const int64_t n = argc == 3 ? atoll(argv[1]) : 0;
    int64_t wrong = 0;

    if (n < 1) {
        fprintf(stderr, "usage: bench_integrals N front|back|centre|scatter\n");
        return 2;
    }
    for (int64_t i = 0; i < n; i++) {
        const integrand f = draw((uint64_t)i, is_hard(argv[2][0], ((double)i + 0.5) / (double)n));
        double value;
        printf("%.9g\n", 1e-7 * (double)integrate(&f, &value));
        wrong += !(fabs(value - exact(&f)) <= 100.0 * tolerance);
    }
    return 1000 * wrong > n;
}
