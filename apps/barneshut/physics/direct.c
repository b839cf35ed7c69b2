/* SPDX-License-Identifier: BSD-3-Clause */
#include "force.h"

#include <math.h>

/* The reference for the kernels: nothing in it is shared with them. */
void bh_direct(int64_t n, const double *x, const double *y, const double *z, const double *m, double G, double eps,
               int64_t nt, const double *tx, const double *ty, const double *tz, double *ax, double *ay, double *az,
               double *pot)
{
    for (int64_t t = 0; t < nt; t++) {
        double sum[4] = {0};

        for (int64_t i = 0; i < n; i++) {
            double d[3] = {x[i] - tx[t], y[i] - ty[t], z[i] - tz[t]};
            double s = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + eps * eps);
            if (s > 1e-90) {
                double weight = m[i] / (s * s * s);
                sum[0] += weight * d[0];
                sum[1] += weight * d[1];
                sum[2] += weight * d[2];
                sum[3] += m[i] / s;
            }
        }
        ax[t] += G * sum[0];
        ay[t] += G * sum[1];
        az[t] += G * sum[2];
        pot[t] -= G * sum[3];
    }
}
