/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel.h"

#include <math.h>

/* In strict C a sum may not be reordered, so one running sum is never vectorised; BH_LANES of them side by side are. */
static double sum_lanes(const double lane[BH_LANES])
{
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

_Static_assert(BH_LANES == 8, "sum_lanes() adds eight");

static void plain_points(const bh_points *restrict block, int64_t n, double G, double eps2, const bh_targets *targets)
{
    for (int64_t t = 0; t < targets->n; t++) {
        double sx[BH_LANES] = {0}, sy[BH_LANES] = {0}, sz[BH_LANES] = {0}, sp[BH_LANES] = {0};
        const double x = targets->x[t], y = targets->y[t], z = targets->z[t];

        for (int64_t first = 0; first < n; first += BH_LANES) {
            for (int lane = 0; lane < BH_LANES; lane++) {
                double dx = block->x[first + lane] - x;
                double dy = block->y[first + lane] - y;
                double dz = block->z[first + lane] - z;
                double s2 = dx * dx + dy * dy + dz * dz + eps2;
                double inverse = s2 > BH_LEAST_SQUARE ? 1.0 / sqrt(s2) : 0.0;
                double potential = block->m[first + lane] * inverse;
                double weight = potential * inverse * inverse;

                sx[lane] += weight * dx;
                sy[lane] += weight * dy;
                sz[lane] += weight * dz;
                sp[lane] += potential;
            }
        }
        targets->ax[t] += G * sum_lanes(sx);
        targets->ay[t] += G * sum_lanes(sy);
        targets->az[t] += G * sum_lanes(sz);
        targets->pot[t] -= G * sum_lanes(sp);
    }
}

/* With d = target - com, s^2 = d^2 + eps^2, q = d.Q.d - eps^2 T: phi = -G (M / s + q / (2 s^5)), hence
 * -grad phi = G (Q.d / s^5 - (M / s^3 + 5 q / (2 s^7)) d). */
static void plain_bodies(const bh_bodies *restrict block, int64_t n, double G, double eps2, const bh_targets *targets)
{
    for (int64_t t = 0; t < targets->n; t++) {
        double sx[BH_LANES] = {0}, sy[BH_LANES] = {0}, sz[BH_LANES] = {0}, sp[BH_LANES] = {0};
        const double x = targets->x[t], y = targets->y[t], z = targets->z[t];

        for (int64_t first = 0; first < n; first += BH_LANES) {
            for (int lane = 0; lane < BH_LANES; lane++) {
                int64_t i = first + lane;
                double dx = x - block->x[i], dy = y - block->y[i], dz = z - block->z[i];
                double s2 = dx * dx + dy * dy + dz * dz + eps2;
                double inverse = s2 > BH_LEAST_SQUARE ? 1.0 / sqrt(s2) : 0.0;
                double inverse2 = inverse * inverse;
                double inverse5 = inverse2 * inverse2 * inverse;
                double qx = block->qxx[i] * dx + block->qxy[i] * dy + block->qxz[i] * dz;
                double qy = block->qxy[i] * dx + block->qyy[i] * dy + block->qyz[i] * dz;
                double qz = block->qxz[i] * dx + block->qyz[i] * dy + block->qzz[i] * dz;
                double monopole = block->m[i] * inverse;
                double quadrupole = 0.5 * inverse5 * (dx * qx + dy * qy + dz * qz - eps2 * block->trace[i]);
                double weight = (monopole + 5.0 * quadrupole) * inverse2;

                sx[lane] += inverse5 * qx - weight * dx;
                sy[lane] += inverse5 * qy - weight * dy;
                sz[lane] += inverse5 * qz - weight * dz;
                sp[lane] += monopole + quadrupole;
            }
        }
        targets->ax[t] += G * sum_lanes(sx);
        targets->ay[t] += G * sum_lanes(sy);
        targets->az[t] += G * sum_lanes(sz);
        targets->pot[t] -= G * sum_lanes(sp);
    }
}

const bh_kernel_row bh_kernel_table[] = {
    {"plain", plain_points, plain_bodies},
};

const int bh_kernel_table_size = (int)(sizeof bh_kernel_table / sizeof bh_kernel_table[0]);
