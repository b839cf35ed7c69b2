/* SPDX-License-Identifier: BSD-3-Clause */
#include "motion.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

static void add_scaled(int64_t n, double scale, const double *restrict from, double *restrict to)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] += scale * from[i];
    }
}

void bh_kick(int64_t n, double dt, const double *ax, const double *ay, const double *az, double *vx, double *vy,
             double *vz)
{
    add_scaled(n, dt, ax, vx);
    add_scaled(n, dt, ay, vy);
    add_scaled(n, dt, az, vz);
}

void bh_drift(int64_t n, double dt, const double *vx, const double *vy, const double *vz, double *x, double *y,
              double *z)
{
    add_scaled(n, dt, vx, x);
    add_scaled(n, dt, vy, y);
    add_scaled(n, dt, vz, z);
}

int64_t bh_rung_next(const bh_rungs *rungs, int64_t tick, int64_t r, const double a[3])
{
    const double size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    double step = rungs->dt;
    int64_t next = 0;

    if (!bh_rung_meets(rungs, r, tick)) {
        return r;
    }
    while (next < rungs->n - 1 && (step * step * size > rungs->limit || !bh_rung_meets(rungs, next, tick))) {
        step *= 0.5;
        next++;
    }
    return next;
}

int bh_rungs_deepest(const bh_rungs *rungs, const double *on)
{
    int deepest = rungs->n - 1;

    while (deepest > 0 && on[deepest] == 0) {
        deepest--;
    }
    return deepest;
}

/* bh_rung_next() of particle i; most need no call. */
static inline int64_t next_of(const bh_rungs *rungs, int64_t tick, int64_t i, const double *const a[3],
                              const int64_t *rung)
{
    const double of[3] = {a[0][i], a[1][i], a[2][i]};

    return bh_rung_meets(rungs, rung[i], tick) ? bh_rung_next(rungs, tick, rung[i], of) : rung[i];
}

void bh_rungs_choose(const bh_rungs *rungs, int64_t tick, int64_t n, const double *const a[3], int64_t *rung)
{
    for (int64_t i = 0; i < n; i++) {
        rung[i] = next_of(rungs, tick, i, a, rung);
    }
}

void bh_rungs_count(const bh_rungs *rungs, int64_t tick, int64_t n, const double *const a[3], const int64_t *rung,
                    double *on)
{
    int64_t count[4][BH_RUNGS_MAX] = {{0}}; /* neighbours are mostly on one rung: no count waits for the one before */

    for (int64_t i = 0; i < n; i++) {
        count[i % 4][next_of(rungs, tick, i, a, rung)]++;
    }
    for (int r = 0; r < rungs->n; r++) {
        on[r] = (double)(count[0][r] + count[1][r] + count[2][r] + count[3][r]);
    }
}

/* Of one whole step of rung 0, by rungs. */
static void shorten(const bh_rungs *rungs, double time, double by_rung[BH_RUNGS_MAX])
{
    for (int r = 0; r < rungs->n; r++) {
        by_rung[r] = ldexp(time, -r);
    }
}

void bh_rungs_kick(const bh_rungs *rungs, int64_t tick, int64_t n, const double *const a[3], const int64_t *rung,
                   double *const v[3])
{
    double half[BH_RUNGS_MAX];

    if (rung == NULL) {
        bh_kick(n, 0.5 * rungs->dt, a[0], a[1], a[2], v[0], v[1], v[2]);
        return;
    }
    shorten(rungs, 0.5 * rungs->dt, half);
    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < 3 && bh_rung_meets(rungs, rung[i], tick); d++) {
            v[d][i] += half[rung[i]] * a[d][i];
        }
    }
}

void bh_rungs_bounds(const bh_rungs *rungs, int64_t tick, double kick, int64_t n, const double *const at[3],
                     const double *const v[3], const double *const a[3], const int64_t *rung, double bound[6])
{
    double low[3], high[3], lacks[BH_RUNGS_MAX], step[BH_RUNGS_MAX], left[BH_RUNGS_MAX];

    for (int d = 0; d < 3; d++) {
        low[d] = DBL_MAX;
        high[d] = -DBL_MAX;
    }
    shorten(rungs, kick, lacks);
    shorten(rungs, rungs->dt, step);
    for (int r = 0; r < rungs->n; r++) {
        const double ticks = (double)bh_rung_ticks(rungs, r);
        left[r] = step[r] * (1.0 - fmod((double)tick, ticks) / ticks);
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t now = rung != NULL ? rung[i] : 0;
        const bool begins = bh_rung_meets(rungs, now, tick);
        const int64_t next_rung = begins && rung != NULL ? next_of(rungs, tick, i, a, rung) : now;
        const double first = begins ? lacks[now] + 0.5 * step[next_rung] : 0.0;
        for (int d = 0; d < 3; d++) {
            const double next = at[d][i] + left[next_rung] * (v[d][i] + first * a[d][i]);
            const double here = rungs->n > 1 ? at[d][i] : next; /* where one that does not end next may still be */
            low[d] = next < low[d] ? next : low[d];
            high[d] = next > high[d] ? next : high[d];
            low[d] = here < low[d] ? here : low[d];
            high[d] = here > high[d] ? here : high[d];
        }
    }
    for (int d = 0; d < 3; d++) {
        /* Steps may round in another order than this. */
        const double wider = n > 0 ? 1e-12 * fmax(fabs(low[d]), fabs(high[d])) : 0.0;
        bound[d] = low[d] - wider;
        bound[3 + d] = n > 0 ? -(high[d] + wider) : DBL_MAX;
    }
}

/* Neumaier's sum: a second sum collects the rounding error of each addition. */
typedef struct exact {
    double sum, lost;
} exact;

static void add(exact *to, double term)
{
    double sum = to->sum + term;

    to->lost += fabs(to->sum) >= fabs(term) ? (to->sum - sum) + term : (term - sum) + to->sum;
    to->sum = sum;
}

static double value(const exact *of)
{
    return of->sum + of->lost;
}

static void add_vector(exact to[3], double m, const double v[3])
{
    for (int k = 0; k < 3; k++) {
        add(&to[k], m * v[k]);
    }
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void bh_sums_make(int64_t n, const double *m, const double *x, const double *y, const double *z, const double *vx,
                  const double *vy, const double *vz, const double *ax, const double *ay, const double *az,
                  const double *pot, double kick, const int64_t *rung, bh_sums *sums)
{
    exact mass = {0}, kinetic = {0}, potential = {0}, virial = {0};
    exact moment[3] = {{0}}, momentum[3] = {{0}}, angular[3] = {{0}};

    for (int64_t i = 0; i < n; i++) {
        const double r[3] = {x[i], y[i], z[i]}, a[3] = {ax[i], ay[i], az[i]};
        const double lacks = rung != NULL ? ldexp(kick, -(int)rung[i]) : kick;
        const double v[3] = {vx[i] + lacks * a[0], vy[i] + lacks * a[1], vz[i] + lacks * a[2]};
        const double spin[3] = {r[1] * v[2] - r[2] * v[1], r[2] * v[0] - r[0] * v[2], r[0] * v[1] - r[1] * v[0]};

        add(&mass, m[i]);
        add(&kinetic, 0.5 * m[i] * dot(v, v));
        add(&potential, 0.5 * m[i] * pot[i]);
        add(&virial, m[i] * dot(r, a));
        add_vector(moment, m[i], r);
        add_vector(momentum, m[i], v);
        add_vector(angular, m[i], spin);
    }
    sums->mass = value(&mass);
    sums->kinetic = value(&kinetic);
    sums->potential = value(&potential);
    sums->virial = value(&virial);
    for (int k = 0; k < 3; k++) {
        sums->moment[k] = value(&moment[k]);
        sums->momentum[k] = value(&momentum[k]);
        sums->angular[k] = value(&angular[k]);
    }
}
