/* SPDX-License-Identifier: BSD-3-Clause */
#include "motion.h"

#include "tree.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

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

/* Particles in a block, whose values stay in the L1 cache. */
#define BLOCK 128

/* The positions next[d] of a block, as bh_rungs_bounds() predicts them, from its first particle on. */
typedef struct forecast {
    const bh_rungs *rungs;
    int64_t tick;
    double lacks[BH_RUNGS_MAX], step[BH_RUNGS_MAX], left[BH_RUNGS_MAX];
    double first[BLOCK], time[BLOCK]; /* until the first kick is complete, and until the step ends, of each particle */
    double next[3][BLOCK];
} forecast;

static void take_times(forecast *f, int64_t n, int64_t i, const double *const a[3], const int64_t *rung)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t now = rung != NULL ? rung[i + k] : 0;
        const bool begins = bh_rung_meets(f->rungs, now, f->tick);
        const int64_t next = begins && rung != NULL ? next_of(f->rungs, f->tick, i + k, a, rung) : now;
        f->first[k] = begins ? f->lacks[now] + 0.5 * f->step[next] : 0.0;
        f->time[k] = f->left[next];
    }
}

static void widen(int64_t n, const double *const at[3], double low[3], double high[3])
{
    double lo[3], hi[3];

    bh_group_bounds(n, at[0], at[1], at[2], lo, hi);
    for (int d = 0; d < 3; d++) {
        low[d] = lo[d] < low[d] ? lo[d] : low[d];
        high[d] = hi[d] > high[d] ? hi[d] : high[d];
    }
}

void bh_rungs_bounds(const bh_rungs *rungs, int64_t tick, double kick, int64_t n, const double *const at[3],
                     const double *const v[3], const double *const a[3], const int64_t *rung, double bound[6])
{
    forecast f = {.rungs = rungs, .tick = tick};
    double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};

    shorten(rungs, kick, f.lacks);
    shorten(rungs, rungs->dt, f.step);
    for (int r = 0; r < rungs->n; r++) {
        const double ticks = (double)bh_rung_ticks(rungs, r);
        f.left[r] = f.step[r] * (1.0 - fmod((double)tick, ticks) / ticks);
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t count = n - i < BLOCK ? n - i : BLOCK;
        if (i == 0 || rung != NULL) { /* the same in all blocks without rungs */
            take_times(&f, count, i, a, rung);
        }
        for (int d = 0; d < 3; d++) {
            for (int64_t k = 0; k < count; k++) {
                f.next[d][k] = at[d][i + k] + f.time[k] * (v[d][i + k] + f.first[k] * a[d][i + k]);
            }
        }
        widen(count, (const double *const[3]){f.next[0], f.next[1], f.next[2]}, low, high);
        if (rungs->n > 1) { /* one that does not end next may still be here */
            widen(count, (const double *const[3]){at[0] + i, at[1] + i, at[2] + i}, low, high);
        }
    }
    for (int d = 0; d < 3; d++) {
        /* Steps may round in another order than this. */
        const double wider = n > 0 ? 1e-12 * fmax(fabs(low[d]), fabs(high[d])) : 0.0;
        bound[d] = low[d] - wider;
        bound[3 + d] = n > 0 ? -(high[d] + wider) : DBL_MAX;
    }
}

/* Sums side by side, so that few additions wait for the one before. */
#define LANES 8

/* Each with a second sum of the rounding errors of its additions (Knuth's two-sum). */
typedef struct exact {
    double sum[LANES], lost[LANES];
} exact;

static void add(exact *to, int64_t n, const double *term)
{
    exact here = *to;

    for (int64_t i = 0; i < n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            const double sum = here.sum[k] + term[i + k], added = sum - here.sum[k];
            here.lost[k] += (here.sum[k] - (sum - added)) + (term[i + k] - added);
            here.sum[k] = sum;
        }
    }
    *to = here;
}

static double value(const exact *of)
{
    double sum = of->sum[0], lost = of->lost[0];

    for (int k = 1; k < LANES; k++) {
        const double both = sum + of->sum[k], added = both - sum;
        lost += (sum - (both - added)) + (of->sum[k] - added) + of->lost[k];
        sum = both;
    }
    return sum + lost;
}

void bh_sums_make(int64_t n, const double *m, const double *x, const double *y, const double *z, const double *vx,
                  const double *vy, const double *vz, const double *ax, const double *ay, const double *az,
                  const double *pot, double kick, const int64_t *rung, bh_sums *sums)
{
    exact total[BH_SUMS_DOUBLES] = {{{0}, {0}}};
    double term[BH_SUMS_DOUBLES][BLOCK], lacks[BLOCK]; /* in the order of the sums' members */

    for (int64_t first = 0; first < n; first += BLOCK) {
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        if (count < BLOCK) {
            memset(term, 0, sizeof term);
        }
        for (int64_t k = 0; k < count; k++) {
            lacks[k] = rung != NULL ? ldexp(kick, -(int)rung[first + k]) : kick;
        }
        for (int64_t k = 0; k < count; k++) {
            const int64_t i = first + k;
            const double v[3] = {vx[i] + lacks[k] * ax[i], vy[i] + lacks[k] * ay[i], vz[i] + lacks[k] * az[i]};
            term[0][k] = m[i];
            term[1][k] = 0.5 * m[i] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            term[2][k] = 0.5 * m[i] * pot[i];
            term[3][k] = m[i] * (x[i] * ax[i] + y[i] * ay[i] + z[i] * az[i]);
            term[4][k] = m[i] * x[i];
            term[5][k] = m[i] * y[i];
            term[6][k] = m[i] * z[i];
            term[7][k] = m[i] * v[0];
            term[8][k] = m[i] * v[1];
            term[9][k] = m[i] * v[2];
            term[10][k] = m[i] * (y[i] * v[2] - z[i] * v[1]);
            term[11][k] = m[i] * (z[i] * v[0] - x[i] * v[2]);
            term[12][k] = m[i] * (x[i] * v[1] - y[i] * v[0]);
        }
        for (int s = 0; s < BH_SUMS_DOUBLES; s++) {
            add(&total[s], (count + LANES - 1) / LANES * LANES, term[s]);
        }
    }
    double made[BH_SUMS_DOUBLES];
    for (int s = 0; s < BH_SUMS_DOUBLES; s++) {
        made[s] = value(&total[s]);
    }
    memcpy(sums, made, sizeof made);
}
