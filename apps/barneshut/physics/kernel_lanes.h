/* SPDX-License-Identifier: BSD-3-Clause */
/* The interactions of mixed precision for one instruction set, targets in the lanes: no sums across lanes, which would
 * dominate short lists, but idle lanes in the last vector. Included by kernel_avx2.c
 * and kernel_avx512.c after kernel_simd.h, whose macros and formulas it takes; they define
 *   VECTOR place_lanes(int64_t r, const double *x, double factor, double shift): x factor + shift of r targets, and 0
 *   in idle lanes,
 *   void add_lanes(int64_t r, VECTOR sum, double factor, double *to): adds r of these to r targets,
 *   scaling, scaling_to(frame): factors of a cell's twelve moments, and load_columns(cell, numbers, scaling,
 * column[12]), which gathers those of LANES cells, magnitude(v), and the tests all_at_most(v, limit), all_at_least(v,
 * limit), far_enough(v, limit) of all lanes. */
#ifndef BH_KERNEL_LANES_H
#define BH_KERNEL_LANES_H

/* Sources per iteration, each with its own sums, so that independent operations fill the pipelines. Blocks are padded
 * to a multiple. */
#define BH_SOURCES_AT_ONCE 4

/* All targets of a list take the same way, the one that needs fewer lanes: otherwise sums would depend on the order of
 * targets. With sources in the lanes each target also costs the sum over lanes: as much as this many vectors of
 * particles or cells. */
#define BH_POINTS_OF_A_SUM 1.5
#define BH_BODIES_OF_A_SUM 0.75

static inline bool short_list(int64_t n, int64_t nt, double sum)
{
    const int64_t vectors = (n + LANES - 1) / LANES, lanes = (nt + LANES - 1) / LANES;
    return (double)(lanes * n) < (double)nt * ((double)vectors + sum);
}

static inline VECTOR sum_of(const VECTOR of[BH_SOURCES_AT_ONCE])
{
    return V(add)(V(add)(of[0], of[1]), V(add)(of[2], of[3]));
}

BH_INLINE void add_lane_sums(int64_t r, const sums_mixed *s, const bh_frame *frame, const bh_targets *targets,
                             int64_t t)
{
    add_lanes(r, sum_of(s->x), OF_W3 * frame->acceleration, targets->ax + t);
    add_lanes(r, sum_of(s->y), OF_W3 * frame->acceleration, targets->ay + t);
    add_lanes(r, sum_of(s->z), OF_W3 * frame->acceleration, targets->az + t);
    add_lanes(r, sum_of(s->p), -OF_W * frame->potential, targets->pot + t);
}

/* r <= LANES targets. */
BH_INLINE void lane_points(int64_t r, const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets,
                           int64_t t)
{
    const bh_points_mixed *b = &of->points_mixed;
    const VECTOR eps2 = V(set1)((float)frame->eps2);
    const VECTOR tx = place_lanes(r, targets->x + t, frame->per_length, frame->shift[0]);
    const VECTOR ty = place_lanes(r, targets->y + t, frame->per_length, frame->shift[1]);
    const VECTOR tz = place_lanes(r, targets->z + t, frame->per_length, frame->shift[2]);
    sums_mixed s;

    for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
        s.x[j] = s.y[j] = s.z[j] = s.p[j] = V(setzero)();
    }
    for (int64_t i = 0; i < n; i += BH_SOURCES_AT_ONCE) {
        VECTOR dx[BH_SOURCES_AT_ONCE], dy[BH_SOURCES_AT_ONCE], dz[BH_SOURCES_AT_ONCE], w[BH_SOURCES_AT_ONCE];

        for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
            dx[j] = V(sub)(V(set1)(b->x[i + j]), tx);
            dy[j] = V(sub)(V(set1)(b->y[i + j]), ty);
            dz[j] = V(sub)(V(set1)(b->z[i + j]), tz);
            w[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(fmadd)(dz[j], dz[j], eps2)));
        }
        for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
            w[j] = inverse_mixed(w[j]);
        }
        for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
            const VECTOR potential = V(mul)(V(set1)(b->m[i + j]), w[j]);
            const VECTOR weight = V(mul)(potential, V(mul)(w[j], w[j]));
            s.p[j] = V(add)(s.p[j], potential);
            s.x[j] = V(fmadd)(weight, dx[j], s.x[j]);
            s.y[j] = V(fmadd)(weight, dy[j], s.y[j]);
            s.z[j] = V(fmadd)(weight, dz[j], s.z[j]);
        }
    }
    add_lane_sums(r, &s, frame, targets, t);
}

BH_INLINE void lane_bodies(int64_t r, const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets,
                           int64_t t)
{
    const bh_bodies_mixed *b = &of->bodies_mixed;
    const VECTOR eps2 = V(set1)((float)frame->eps2), of_g = V(set1)((float)OF_G), five = V(set1)(5 * (float)OF_G);
    const VECTOR tx = place_lanes(r, targets->x + t, frame->per_length, frame->shift[0]);
    const VECTOR ty = place_lanes(r, targets->y + t, frame->per_length, frame->shift[1]);
    const VECTOR tz = place_lanes(r, targets->z + t, frame->per_length, frame->shift[2]);
    sums_mixed s;

    for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
        s.x[j] = s.y[j] = s.z[j] = s.p[j] = V(setzero)();
    }
    for (int64_t i = 0; i < n; i += BH_SOURCES_AT_ONCE) {
        VECTOR dx[BH_SOURCES_AT_ONCE], dy[BH_SOURCES_AT_ONCE], dz[BH_SOURCES_AT_ONCE], w[BH_SOURCES_AT_ONCE];
        VECTOR qx[BH_SOURCES_AT_ONCE], qy[BH_SOURCES_AT_ONCE], qz[BH_SOURCES_AT_ONCE];
#define LOAD(what) V(set1)(b->what[i + j])
        for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
            dx[j] = V(sub)(LOAD(x), tx);
            dy[j] = V(sub)(LOAD(y), ty);
            dz[j] = V(sub)(LOAD(z), tz);
            w[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(fmadd)(dz[j], dz[j], eps2)));
        }
        for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
            w[j] = inverse_mixed(w[j]);
        }
        for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
            const VECTOR xy = LOAD(qxy), xz = LOAD(qxz), yz = LOAD(qyz);
            qx[j] = V(fmadd)(xz, dz[j], V(fmadd)(xy, dy[j], V(mul)(LOAD(qxx), dx[j])));
            qy[j] = V(fmadd)(yz, dz[j], V(fmadd)(LOAD(qyy), dy[j], V(mul)(xy, dx[j])));
            qz[j] = V(fmadd)(LOAD(qzz), dz[j], V(fmadd)(yz, dy[j], V(mul)(xz, dx[j])));
        }
        for (int j = 0; j < BH_SOURCES_AT_ONCE; j++) {
            const VECTOR m = LOAD(m), w2 = V(mul)(w[j], w[j]), w3 = V(mul)(w2, w[j]), w5 = V(mul)(w3, w2);
            const VECTOR q = V(fmadd)(dx[j], qx[j], V(fmadd)(dy[j], qy[j], V(fmadd)(dz[j], qz[j], LOAD(trace))));
            const VECTOR g = V(mul)(q, V(mul)(w2, w2)), weight = V(mul)(w3, V(fmadd)(five, g, m));
            s.p[j] = V(fmadd)(w[j], V(fmadd)(of_g, g, m), s.p[j]);
            s.x[j] = V(fnmadd)(w5, qx[j], V(fmadd)(weight, dx[j], s.x[j]));
            s.y[j] = V(fnmadd)(w5, qy[j], V(fmadd)(weight, dy[j], s.y[j]));
            s.z[j] = V(fnmadd)(w5, qz[j], V(fmadd)(weight, dz[j], s.z[j]));
        }
#undef LOAD
    }
    add_lane_sums(r, &s, frame, targets, t);
}

static void points_by_lanes(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    const int64_t full = targets->n - targets->n % LANES;

    if (frame->cutoff2 > 0 || !short_list(n, targets->n, BH_POINTS_OF_A_SUM)) {
        points_mixed(of, n, frame, targets);
        return;
    }
    for (int64_t t = 0; t < full; t += LANES) {
        lane_points(LANES, of, n, frame, targets, t);
    }
    if (full < targets->n) {
        lane_points(targets->n - full, of, n, frame, targets, full);
    }
}

static void bodies_by_lanes(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    const int64_t full = targets->n - targets->n % LANES;

    if (!short_list(n, targets->n, BH_BODIES_OF_A_SUM)) {
        bodies_mixed(of, n, frame, targets);
        return;
    }
    for (int64_t t = 0; t < full; t += LANES) {
        lane_bodies(LANES, of, n, frame, targets, t);
    }
    if (full < targets->n) {
        lane_bodies(targets->n - full, of, n, frame, targets, full);
    }
}

/* Extremes in each lane: the largest coordinate, the least and largest mass, the least distance from the targets'
 * bounds. */
typedef struct extremes {
    VECTOR length, least_mass, most_mass, least;
} extremes;

static inline VECTOR outside(VECTOR x, double half)
{
    return V(sub)(magnitude(x), V(set1)((float)half));
}

static inline void see(extremes *seen, const bh_frame *frame, VECTOR x, VECTOR y, VECTOR z, VECTOR m)
{
    seen->length = V(max)(V(max)(seen->length, magnitude(x)), V(max)(magnitude(y), magnitude(z)));
    seen->least_mass = V(min)(seen->least_mass, m);
    seen->most_mass = V(max)(seen->most_mass, m);
    if (frame->least > -INFINITY) {
        const VECTOR yz = V(max)(outside(y, frame->half[1]), outside(z, frame->half[2]));
        seen->least = V(min)(seen->least, V(max)(outside(x, frame->half[0]), yz));
    }
}

/* True if everything fits, with light masses still to be checked for 0. */
static inline bool fit(const extremes *seen, const bh_frame *frame)
{
    return all_at_most(seen->length, BH_MIXED_MOST_LENGTH) && all_at_most(seen->most_mass, BH_MIXED_MOST_MASS) &&
           far_enough(seen->least, frame->least);
}

static void put_bodies_mixed(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                             int64_t n, bool *fits)
{
    bh_bodies_mixed *b = &block->bodies_mixed;
    float *const to[12] = {b->m, b->x, b->y, b->z, NULL, b->qxx, b->qxy, b->qxz, b->qyy, b->qyz, b->qzz, b->trace};
    const scaling by = scaling_to(frame);
    const VECTOR none = V(setzero)(), all = V(set1)(INFINITY);
    extremes seen = {none, all, none, all};
    int64_t room[LANES];

    for (int64_t i = 0; i < n; i += LANES) {
        VECTOR column[12];

        send_for_moments(cell, number, i, n, LANES);
        load_columns(cell, numbers_of(number, i, n, LANES, room), &by, column);
        see(&seen, frame, column[1], column[2], column[3], column[0]);
        for (int k = 0; k < 12; k++) {
            if (k != 4) {
                V(store)(to[k] + i, column[k]);
            }
        }
    }
    for (int64_t i = n; i % LANES != 0; i++) {
        b->m[i] = b->qxx[i] = b->qxy[i] = b->qxz[i] = b->qyy[i] = b->qyz[i] = b->qzz[i] = b->trace[i] = 0;
    }
    *fits = *fits && fit(&seen, frame);
    for (int64_t i = 0; *fits && i < n && !all_at_least(seen.least_mass, BH_MIXED_LEAST_MASS); i++) {
        *fits = bh_mixed_mass(*moments_of(cell, number[i]) * frame->per_mass);
    }
}

#endif
