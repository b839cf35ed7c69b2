/* SPDX-License-Identifier: BSD-3-Clause */
/* Leapfrog in its kick-drift-kick form, and what a run conserves. Structure of arrays, all borrowed, all [n]. */
#ifndef BH_MOTION_H
#define BH_MOTION_H

#include <stdint.h>

/* v += dt a. O(n). One step of kick-drift-kick (Quinn et al. 1997, eq. 6) is bh_kick(dt / 2), bh_drift(dt), forces at
 * the new positions, bh_kick(dt / 2). */
void bh_kick(int64_t n, double dt, const double *ax, const double *ay, const double *az, double *vx, double *vy,
             double *vz);

/* x += dt v. O(n). */
void bh_drift(int64_t n, double dt, const double *vx, const double *vy, const double *vz, double *x, double *y,
              double *z);

/* Sums over particles. A caller with many ranks adds the members of all ranks: there is nothing in it but doubles, and
 * every one of them is a sum. The total energy is kinetic + potential; 2 kinetic + virial is 0 in equilibrium; the
 * centre of mass is moment / mass. */
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

/* kick: time of a kick that the velocities still lack, which is counted as if it had been given.
 * pot is the potential of all *other* particles per unit mass (see bh_potential_self). Sets every member. Compensated
 * summation, so that drifts far below 1e-10 can be seen. O(n). */
void bh_sums_make(int64_t n, const double *m, const double *x, const double *y, const double *z, const double *vx,
                  const double *vy, const double *vz, const double *ax, const double *ay, const double *az,
                  const double *pot, double kick, bh_sums *sums);

/* Bounds of where particles will be after a kick of the velocities and a drift: low[3], then minus high[3], so that the
 * least of each over ranks are those of all; a last digit wider. n == 0: DBL_MAX. */
void bh_bounds_next(int64_t n, double kick, double drift, const double *const at[3], const double *const v[3],
                    const double *const a[3], double bound[6]);

#endif
