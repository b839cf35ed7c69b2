/* SPDX-License-Identifier: BSD-3-Clause */
#include "motion.h"

#include <float.h>
#include <math.h>

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

/* Neumaier's sum: what is lost by each addition is summed beside it. */
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
                  const double *pot, double kick, bh_sums *sums)
{
    exact mass = {0}, kinetic = {0}, potential = {0}, virial = {0};
    exact moment[3] = {{0}}, momentum[3] = {{0}}, angular[3] = {{0}};

    for (int64_t i = 0; i < n; i++) {
        const double r[3] = {x[i], y[i], z[i]}, a[3] = {ax[i], ay[i], az[i]};
        const double v[3] = {vx[i] + kick * a[0], vy[i] + kick * a[1], vz[i] + kick * a[2]};
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

void bh_bounds_next(int64_t n, double kick, double drift, const double *const at[3], const double *const v[3],
                    const double *const a[3], double bound[6])
{
    for (int d = 0; d < 3; d++) {
        double low = DBL_MAX, high = -DBL_MAX;
        for (int64_t i = 0; i < n; i++) {
            const double next = at[d][i] + drift * (v[d][i] + kick * a[d][i]);
            low = next < low ? next : low;
            high = next > high ? next : high;
        }
        /* Steps may round in another order than this. */
        const double wider = n > 0 ? 1e-12 * fmax(fabs(low), fabs(high)) : 0.0;
        bound[d] = low - wider;
        bound[3 + d] = n > 0 ? -(high + wider) : DBL_MAX;
    }
}
