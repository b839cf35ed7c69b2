/* SPDX-License-Identifier: BSD-3-Clause */
/* Leapfrog in its kick-drift-kick form, and what a run conserves. Structure of arrays, all borrowed, all [n]. */
#ifndef BH_MOTION_H
#define BH_MOTION_H

#include <stdbool.h>
#include <stdint.h>

/* v += dt a. O(n). One step of kick-drift-kick (Quinn et al. 1997, eq. 6) is bh_kick(dt / 2), bh_drift(dt), forces at
 * the new positions, bh_kick(dt / 2). */
void bh_kick(int64_t n, double dt, const double *ax, const double *ay, const double *az, double *vx, double *vy,
             double *vz);

/* x += dt v. O(n). */
void bh_drift(int64_t n, double dt, const double *vx, const double *vy, const double *vz, double *x, double *y,
              double *z);

/* Block time steps: a particle on rung r moves by steps of dt / 2^r, so that the particles of all rungs meet at the end
 * of the longest step (Hernquist and Katz 1989; kick-drift-kick of each rung: Quinn et al. 1997, Springel 2005). Time
 * within the longest step is counted in ticks: steps of rung n - 1. */
#define BH_RUNGS_MAX 16

typedef struct bh_rungs {
    int n;        /* rungs: 1 to BH_RUNGS_MAX */
    double dt;    /* the longest step */
    double limit; /* 2 eta eps: a step is at most sqrt(limit / |a|) (Springel 2005, eq. 34), or that of rung n - 1 */
} bh_rungs;

/* Ticks of a step of rung r; a step of rung 0 is a whole cycle. */
static inline int64_t bh_rung_ticks(const bh_rungs *rungs, int64_t r)
{
    return INT64_C(1) << (rungs->n - 1 - r);
}

/* True if a step of rung r ends, and the next one begins, at a tick. */
static inline bool bh_rung_meets(const bh_rungs *rungs, int64_t r, int64_t tick)
{
    return (tick & (bh_rung_ticks(rungs, r) - 1)) == 0;
}

/* The step of rung 0 is a cycle of phases (<equipoise/more/cycle.h>): forces are computed at a tick where some step
 * ends, and phase k is a tick at which rung k is the first one whose steps end. Particles of that rung and of all later
 * ones are active then. */
static inline int bh_rungs_phase(const bh_rungs *rungs, int64_t tick)
{
    int k = 0;

    while (!bh_rung_meets(rungs, k, tick)) {
        k++;
    }
    return k;
}

/* Number of substeps of phase k in a cycle, if some rung from k on has particles. */
static inline int64_t bh_phase_turns(int k)
{
    return INT64_C(1) << (k > 0 ? k - 1 : 0);
}

/* The last rung that has particles, 0 if none has: on [n of the rungs]. */
int bh_rungs_deepest(const bh_rungs *rungs, const double *on);

/* The rung of a particle on rung r with acceleration a: unchanged if its step does not end at this tick, else the first
 * one with a short enough step, but no longer step than can begin at this tick. O(n of the rungs). */
int64_t bh_rung_next(const bh_rungs *rungs, int64_t tick, int64_t r, const double a[3]);

/* bh_rung_next() of all particles: stored in rung [n], or counted in on [n of the rungs], which is overwritten.
 * O(n). */
void bh_rungs_choose(const bh_rungs *rungs, int64_t tick, int64_t n, const double *const a[3], int64_t *rung);
void bh_rungs_count(const bh_rungs *rungs, int64_t tick, int64_t n, const double *const a[3], const int64_t *rung,
                    double *on);

/* v += half a step of its rung times a, for each particle whose step ends, or begins, at this tick. rung: NULL: 0 of
 * all. O(n). */
void bh_rungs_kick(const bh_rungs *rungs, int64_t tick, int64_t n, const double *const a[3], const int64_t *rung,
                   double *const v[3]);

/* Bounds of all positions until the steps after this tick end. Velocities miss `kick` on rung 0 and proportionally less
 * on shorter steps; rungs have not been chosen yet. low[3], then minus high[3], so that one minimum over ranks gives
 * the bounds of all; wider by a last digit. n == 0: DBL_MAX. With one rung they hold at the ends of steps only. O(n).
 */
void bh_rungs_bounds(const bh_rungs *rungs, int64_t tick, double kick, int64_t n, const double *const at[3],
                     const double *const v[3], const double *const a[3], const int64_t *rung, double bound[6]);

/* Sums over particles. All members are double, so that a caller can add them over ranks. The total energy is kinetic +
 * potential; 2 kinetic + virial is 0 in equilibrium; the centre of mass is moment / mass. */
typedef struct bh_sums {
    double mass;
    double kinetic;     /* sum m v^2 / 2 */
    double potential;   /* sum m phi / 2, every pair counted once */
    double virial;      /* sum m x.a, Clausius; equals the potential energy for eps == 0 */
    double moment[3];   /* sum m x */
    double momentum[3]; /* sum m v */
    double angular[3];  /* sum m x cross v, about the origin */
} bh_sums;

#define BH_SUMS_DOUBLES ((int)(sizeof(bh_sums) / sizeof(double)))

/* kick: time of a kick not yet in the velocities; sums include it. rung: NULL, or the kick is shorter by 2^rung for
 * each particle. pot is the potential of all *other* particles per unit mass (see bh_potential_self). Sets every
 * member. Compensated summation, so that drifts far below 1e-10 can be seen. O(n). */
void bh_sums_make(int64_t n, const double *m, const double *x, const double *y, const double *z, const double *vx,
                  const double *vy, const double *vz, const double *ax, const double *ay, const double *az,
                  const double *pot, double kick, const int64_t *rung, bh_sums *sums);

#endif
