/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts of a domain as roots of its cumulative time function. */
#include "base/internal.h"

#include <equipoise/more/models.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROBES = 8,       /* points where the conditions of appendix A are checked */
    LOOKS = 32,       /* points where t is checked before a cut */
    NEWTON_MOST = 100 /* steps; the source's limit */
};

/* A root in the domain. */
typedef struct root_found {
    double x;
    int evaluations; /* of t */
    int newton;      /* 1: by Newton's method; 0: by Brent's, or without a search */
} root_found;

/* Search for t(x) = target between two places where t - target has opposite signs. */
typedef struct search {
    const eqp_functional_time *time;
    double target;
    double low, high;     /* f(low) <= 0 <= f(high) */
    double f_low, f_high; /* f at low and high */
    double slack;         /* rounding of t: a smaller fall is ignored */
    int evaluations;
    int code;
} search;

/* Evaluates f(x) and narrows the bracket. A value outside its end values shows that t is not finite or falls. */
static double evaluate(search *s, double x)
{
    const double f = s->time->value(s->time->user, x) - s->target;

    s->evaluations++;
    if (!isfinite(f) || f < s->f_low - s->slack || f > s->f_high + s->slack) {
        s->code = EQP_ERR_DATA;
    } else if (f <= 0) {
        s->low = x;
        s->f_low = f;
    } else {
        s->high = x;
        s->f_high = f;
    }
    return f;
}

static double rounding(double t_low, double t_high)
{
    return 16 * DBL_EPSILON * fmax(fabs(t_low), fabs(t_high));
}

static search search_start(const eqp_functional_time *time, double t_low, double t_high, double target)
{
    return (search){.time = time,
                    .target = target,
                    .low = time->low,
                    .high = time->high,
                    .f_low = t_low - target,
                    .f_high = t_high - target,
                    .slack = rounding(t_low, t_high)};
}

static double tolerance(double x)
{
    return 4 * DBL_EPSILON * fabs(x) + DBL_MIN;
}

/* -1, 0 or 1: the sign of t'' where t' > 0; 2 where a condition fails. */
static int bend_sign(const eqp_functional_time *time, double x)
{
    const double slope = time->slope(time->user, x), bend = time->bend(time->user, x);

    return !(slope > 0) || !isfinite(slope) || !isfinite(bend) ? 2 : (bend > 0) - (bend < 0);
}

/* The common sign of t'' from low to high; 2: none. The ends are excluded: t' may be 0 at x = 0, and Newton's points
 * stay on one side of the root. */
static int common_sign(const eqp_functional_time *time, double low, double high)
{
    int sign = 2;

    if (!time->slope || !time->bend) {
        return 2;
    }
    for (int i = 0; i < PROBES; i++) {
        const int here = bend_sign(time, low + (high - low) * ((i + 0.5) / PROBES));
        if (here == 2 || (i > 0 && here != sign)) {
            return 2;
        }
        sign = here;
    }
    return sign;
}

/* Newton's method from a point with f t'' >= 0: every iterate lies between the previous one and the root; for a
 * straight t the first is the root. Returns 1 with *x, or 0 to continue with Brent's method. */
static int newton(search *s, int sign, double guess, double *x)
{
    double f = evaluate(s, guess);

    *x = guess;
    if (!s->code && f * sign < 0) {
        *x = sign > 0 ? s->high : s->low;
        f = sign > 0 ? s->f_high : s->f_low;
    }
    for (int i = 0; i < NEWTON_MOST && !s->code; i++) {
        if (f == 0) {
            return 1;
        }
        if (bend_sign(s->time, *x) != sign) {
            return 0;
        }
        const double next = *x - f / s->time->slope(s->time->user, *x);
        if (fabs(next - *x) <= tolerance(*x)) {
            *x = fmin(fmax(next, s->time->low), s->time->high);
            return 1;
        }
        if (!(next > s->low && next < s->high)) {
            return 0;
        }
        *x = next;
        f = evaluate(s, next);
    }
    return 0;
}

/* The points of Brent's method: b is the best one, a the one before it, and the root is between b and c. */
typedef struct brent_points {
    double a, fa, b, fb, c, fc;
    double step, step_before;
} brent_points;

/* A secant or inverse parabolic step, or bisection where these do not promise more. */
static double brent_step(const brent_points *p, double tol)
{
    const double half = (p->c - p->b) / 2, s = p->fb / p->fa;
    double up, down;

    if (fabs(p->step_before) < tol || fabs(p->fa) <= fabs(p->fb)) {
        return half;
    }
    if (p->a == p->c) {
        up = 2 * half * s;
        down = 1 - s;
    } else {
        const double q = p->fa / p->fc, r = p->fb / p->fc;
        up = s * (2 * half * q * (q - r) - (p->b - p->a) * (r - 1));
        down = (q - 1) * (r - 1) * (s - 1);
    }
    down = up > 0 ? -down : down;
    up = fabs(up);
    return 2 * up < fmin(3 * half * down - fabs(tol * down), fabs(p->step_before * down)) ? up / down : half;
}

/* R. P. Brent, Algorithms for minimization without derivatives, 1973, chapter 4. */
static double brent(search *s)
{
    brent_points p = {s->low, s->f_low, s->high, s->f_high, s->low, s->f_low, s->high - s->low, s->high - s->low};

    while (!s->code && p.fb != 0) {
        if ((p.fb > 0) == (p.fc > 0)) {
            p.c = p.a;
            p.fc = p.fa;
            p.step = p.step_before = p.b - p.a;
        }
        if (fabs(p.fc) < fabs(p.fb)) {
            p.a = p.b, p.b = p.c, p.c = p.a;
            p.fa = p.fb, p.fb = p.fc, p.fc = p.fa;
        }
        const double tol = tolerance(p.b) / 2, half = (p.c - p.b) / 2;
        if (fabs(half) <= tol || p.fb == 0) {
            break;
        }
        const double step = brent_step(&p, tol);
        p.step_before = step == half ? half : p.step;
        p.step = step;
        p.a = p.b;
        p.fa = p.fb;
        p.b += fabs(step) > tol ? step : copysign(tol, half);
        p.fb = evaluate(s, p.b);
    }
    return p.b;
}

static int is_time(const eqp_functional_time *time)
{
    return time && time->value && isfinite(time->low) && isfinite(time->high - time->low) && time->low <= time->high;
}

/* sign: of t'' in the whole domain; 2: unknown. f is known at both ends. */
static int solve_between(search *s, int sign, double guess, root_found *root)
{
    root_found found = {.x = s->low};

    if (s->f_low < 0 && s->f_high > 0) {
        found.newton = sign != 2 && newton(s, sign, guess, &found.x);
        if (!s->code && !found.newton) {
            found.x = s->f_low == 0 ? s->low : brent(s);
        }
    } else if (s->f_low < 0) {
        found.x = s->high;
    }
    found.evaluations = s->evaluations;
    if (!s->code) {
        *root = found;
    }
    return s->code;
}

/* Evaluates t at LOOKS points from end to end. EQP_ERR_DATA where t falls, or where it or its rise is not finite. */
static int check_time(const eqp_functional_time *time, double *t_low, double *t_high)
{
    const double first = time->value(time->user, time->low), end = time->value(time->user, time->high);
    double last = first;

    EQP__FAIL_IF(!isfinite(first) || !isfinite(end - first), EQP_ERR_DATA);
    for (int i = 1; i <= LOOKS; i++) {
        const double x = i < LOOKS ? time->low + (time->high - time->low) * ((double)i / LOOKS) : time->high;
        const double t = time->value(time->user, x);
        EQP__FAIL_IF(!(t >= last - rounding(first, end)) || !isfinite(t), EQP_ERR_DATA);
        last = fmax(t, last);
    }
    *t_low = first;
    *t_high = end;
    return EQP_OK;
}

/* Sums the speeds and checks t from end to end. */
static int check_cut(const eqp_functional_time *time, int nnodes, const double *speed, double *speeds, double *t_low,
                     double *t_high)
{
    EQP__FAIL_IF(!is_time(time) || nnodes < 1, EQP_ERR_ARGUMENT);
    *speeds = speed ? 0 : nnodes;
    for (int i = 0; speed && i < nnodes; i++) {
        EQP__FAIL_IF(!(speed[i] > 0), EQP_ERR_ARGUMENT);
        *speeds += speed[i];
    }
    return isfinite(*speeds) ? check_time(time, t_low, t_high) : EQP_ERR_ARGUMENT;
}

/* Places one cut at a share of the time; by length if there is no time. */
static int place_cut(const eqp_functional_time *time, double t_low, double t_high, double share, int sign,
                     eqp_functional_search *done, double *x)
{
    root_found root = {.x = time->low + (time->high - time->low) * share};
    int code = EQP_OK;

    if (done->total > 0) {
        search s = search_start(time, t_low, t_high, fmin(t_high, t_low + done->total * share));
        code = solve_between(&s, sign, root.x, &root);
        done->evaluations += root.evaluations;
        done->newton += root.newton;
        done->brent += !root.newton;
    }
    *x = root.x;
    return code;
}

int eqp_functional_cut(const eqp_functional_time *time, int nnodes, const double *speed, double *bound,
                       eqp_functional_search *search_out)
{
    double speeds = 0, t_low = 0, t_high = 0, before = 0, *cut = NULL;
    eqp_functional_search done = {.evaluations = LOOKS + 2};
    int code = bound ? check_cut(time, nnodes, speed, &speeds, &t_low, &t_high) : EQP_ERR_ARGUMENT;

    EQP__CHECK(code);
    code = eqp_array_create(&cut, (int64_t)nnodes + 1, sizeof *cut);
    EQP__CHECK(code);
    const int sign = common_sign(time, time->low, time->high);
    done.total = t_high - t_low;
    cut[0] = time->low;
    cut[nnodes] = time->high;
    for (int i = 1; i < nnodes && !code; i++) {
        before += speed ? speed[i - 1] : 1;
        code = place_cut(time, t_low, t_high, fmin(1, before / speeds), sign, &done, &cut[i]);
        /* where t is flat, any place will do that is not before the last cut */
        cut[i] = fmin(fmax(cut[i], cut[i - 1]), time->high);
    }
    if (!code) {
        memcpy(bound, cut, ((size_t)nnodes + 1) * sizeof *bound);
        if (search_out) {
            *search_out = done;
        }
    }
    free(cut);
    return code;
}
