/* SPDX-License-Identifier: BSD-3-Clause */
/* The plain interactions for one type of number; included by kernel_plain.c once for each. REAL and SQRT: the type and
 * its square root, LEAST_SQUARE: squared distances up to it count as 0, POINTS and BODIES: the blocks' members,
 * NAME(points): how functions are called. Included twice, therefore without a guard. */

#ifndef LANES
/* Source i adds to partial sum i mod LANES. */
#define LANES 8
#endif

/* In strict C a sum may not be reordered, so one running sum is never vectorised; LANES of them side by side are. */
static REAL NAME(sum)(const REAL lane[LANES])
{
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

_Static_assert(LANES == 8, "the sum above adds eight");

static REAL NAME(place)(const bh_frame *frame, int axis, double x)
{
    return (REAL)(x * frame->per_length + frame->shift[axis]);
}

static void NAME(add_field)(const bh_targets *targets, int64_t t, const bh_frame *frame, const REAL *sx, const REAL *sy,
                            const REAL *sz, const REAL *sp)
{
    targets->ax[t] += frame->acceleration * (double)NAME(sum)(sx);
    targets->ay[t] += frame->acceleration * (double)NAME(sum)(sy);
    targets->az[t] += frame->acceleration * (double)NAME(sum)(sz);
    targets->pot[t] -= frame->potential * (double)NAME(sum)(sp);
}

/* `within`, known when this is compiled: true with a cutoff. */
static inline __attribute__((always_inline)) void NAME(points_all)(const bool within, const bh_block *of, int64_t n,
                                                                   const bh_frame *frame, const bh_targets *targets)
{
    const REAL *restrict bx = of->POINTS.x, *restrict by = of->POINTS.y, *restrict bz = of->POINTS.z;
    const REAL *restrict bm = of->POINTS.m;
    const REAL eps2 = (REAL)frame->eps2, cutoff2 = (REAL)frame->cutoff2;

    for (int64_t t = 0; t < targets->n; t++) {
        REAL sx[LANES] = {0}, sy[LANES] = {0}, sz[LANES] = {0}, sp[LANES] = {0};
        const REAL x = NAME(place)(frame, 0, targets->x[t]), y = NAME(place)(frame, 1, targets->y[t]);
        const REAL z = NAME(place)(frame, 2, targets->z[t]);

        for (int64_t first = 0; first < n; first += LANES) {
            for (int lane = 0; lane < LANES; lane++) {
                REAL dx = bx[first + lane] - x, dy = by[first + lane] - y, dz = bz[first + lane] - z;
                REAL d2 = dx * dx + dy * dy + dz * dz, s2 = d2 + eps2;
                REAL inverse = s2 > LEAST_SQUARE && (!within || d2 < cutoff2) ? 1 / SQRT(s2) : 0;
                REAL potential = bm[first + lane] * inverse;
                REAL weight = potential * inverse * inverse;

                sx[lane] += weight * dx;
                sy[lane] += weight * dy;
                sz[lane] += weight * dz;
                sp[lane] += potential;
            }
        }
        NAME(add_field)(targets, t, frame, sx, sy, sz, sp);
    }
}

static void NAME(points)(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    if (frame->cutoff2 > 0) {
        NAME(points_all)(true, of, n, frame, targets);
    } else {
        NAME(points_all)(false, of, n, frame, targets);
    }
}

/* With d = target - com, s^2 = d^2 + eps^2, q = d.Q.d - eps^2 T: phi = -G (M / s + q / (2 s^5)) and
 * -grad phi = G (Q.d / s^5 - (M / s^3 + 5 q / (2 s^7)) d). */
static void NAME(bodies)(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    const REAL eps2 = (REAL)frame->eps2;
    const REAL *restrict bx = of->BODIES.x, *restrict by = of->BODIES.y, *restrict bz = of->BODIES.z;
    const REAL *restrict qxx = of->BODIES.qxx, *restrict qxy = of->BODIES.qxy, *restrict qxz = of->BODIES.qxz;
    const REAL *restrict qyy = of->BODIES.qyy, *restrict qyz = of->BODIES.qyz, *restrict qzz = of->BODIES.qzz;
    const REAL *restrict m = of->BODIES.m, *restrict trace = of->BODIES.trace;

    for (int64_t t = 0; t < targets->n; t++) {
        REAL sx[LANES] = {0}, sy[LANES] = {0}, sz[LANES] = {0}, sp[LANES] = {0};
        const REAL x = NAME(place)(frame, 0, targets->x[t]), y = NAME(place)(frame, 1, targets->y[t]);
        const REAL z = NAME(place)(frame, 2, targets->z[t]);

        for (int64_t first = 0; first < n; first += LANES) {
            for (int lane = 0; lane < LANES; lane++) {
                int64_t i = first + lane;
                REAL dx = x - bx[i], dy = y - by[i], dz = z - bz[i];
                REAL s2 = dx * dx + dy * dy + dz * dz + eps2;
                REAL inverse = s2 > LEAST_SQUARE ? 1 / SQRT(s2) : 0;
                REAL inverse2 = inverse * inverse;
                REAL inverse5 = inverse2 * inverse2 * inverse;
                REAL qx = qxx[i] * dx + qxy[i] * dy + qxz[i] * dz;
                REAL qy = qxy[i] * dx + qyy[i] * dy + qyz[i] * dz;
                REAL qz = qxz[i] * dx + qyz[i] * dy + qzz[i] * dz;
                REAL monopole = m[i] * inverse;
                REAL quadrupole = (REAL)0.5 * inverse5 * (dx * qx + dy * qy + dz * qz - eps2 * trace[i]);
                REAL weight = (monopole + 5 * quadrupole) * inverse2;

                sx[lane] += inverse5 * qx - weight * dx;
                sy[lane] += inverse5 * qy - weight * dy;
                sz[lane] += inverse5 * qz - weight * dz;
                sp[lane] += monopole + quadrupole;
            }
        }
        NAME(add_field)(targets, t, frame, sx, sy, sz, sp);
    }
}
