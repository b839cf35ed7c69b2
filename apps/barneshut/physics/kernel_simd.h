/* SPDX-License-Identifier: BSD-3-Clause */
/* The interactions for one instruction set and type of number, sources in the lanes and several targets at once;
 * included by kernel_avx2.c and kernel_avx512.c once for each type. They define
 *   SINGLE (1 for float, 0 for double), VECTOR, LANES, V(add) (the intrinsic of that name),
 *   VECTOR NAME(inverse)(VECTOR s2): w = c / sqrt(s2), and NAME(inverse_bare) for double: the same, but 0 for 0,
 *   VECTOR NAME(where_below)(VECTOR w, d2, cutoff2): w where d2 < cutoff2, and 0 elsewhere,
 *   bool NAME(none_below)(VECTOR d2, cutoff2) for double: true if that is so in no lane,
 *   __m256d NAME(sum4)(VECTOR a, b, c, d): the sums of each one's lanes,
 *   void NAME(sum16)(const VECTOR x[4], y[4], z[4], p[4], __m256d sum[4]) for float: the same for each of x, y, z, p,
 * in the same order of additions.
 *
 * Both formulas use w = c / s for all powers of s, with the c that makes w the cheapest, and no other factor is left to
 * multiply with: with quadrupole moments stored as Q / c^2 (and the trace as -eps^2 T / c^2), g = (d.Q.d - eps^2 T) w^4
 * / c^2 is 2 c^2 times q / (2 s^4); phi sums up w (M + g / (2 c^2)) and the acceleration w^3 (M + 5 g / (2 c^2)) d -
 * w^5 Q.d / c^2; the sums are multiplied with 1 / c and 1 / c^3. Differences d are source - target here. Included
 * twice, therefore without a guard. */

#ifndef BH_INLINE
#ifdef EQP_SANITIZED
#define BH_INLINE static inline
#else
#define BH_INLINE static inline __attribute__((always_inline))
#endif
/* Targets that share the loads of sources. They need more registers than there are, but their independent operations
 * fill the pipelines, which gains more than the spills cost. */
#define BH_AT_ONCE 4

BH_INLINE void add_to(double *to, __m256d field)
{
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), field));
}

/* Of n >= 4 numbers; the last vector overlaps the one before. */
BH_INLINE void bounds_along(const double *x, int64_t n, double *lo, double *hi)
{
    const __m256d last = _mm256_loadu_pd(x + n - 4);
    __m256d least = last, most = last;

    for (int64_t t = 0; t + 4 < n; t += 4) {
        const __m256d some = _mm256_loadu_pd(x + t);
        least = _mm256_min_pd(some, least);
        most = _mm256_max_pd(some, most);
    }
    const __m128d l = _mm_min_pd(_mm256_castpd256_pd128(least), _mm256_extractf128_pd(least, 1));
    const __m128d m = _mm_max_pd(_mm256_castpd256_pd128(most), _mm256_extractf128_pd(most, 1));
    *lo = _mm_cvtsd_f64(_mm_min_sd(l, _mm_unpackhi_pd(l, l)));
    *hi = _mm_cvtsd_f64(_mm_max_sd(m, _mm_unpackhi_pd(m, m)));
}

static void find_bounds(const bh_targets *targets, double lo[3], double hi[3])
{
    const double *const of[3] = {targets->x, targets->y, targets->z};

    for (int k = 0; k < 3; k++) {
        const double *x = of[k];
        const int64_t n = targets->n, last = n - 1;
        const double few[4] = {x[0], x[last < 1 ? last : 1], x[last < 2 ? last : 2], x[last < 3 ? last : 3]};
        bounds_along(n < 4 ? few : x, n < 4 ? 4 : n, &lo[k], &hi[k]);
    }
}
#endif

#if SINGLE
#define REAL float
#define POINTS points_mixed
#define BODIES bodies_mixed
#define MAY_BE_BARE false
#define NAME(what) what##_mixed
/* 1 / c, 1 / c^3 and 1 / (2 c^2). */
#define OF_W 0.5
#define OF_W3 0.125
#define OF_G 0.125

static inline VECTOR inverse_bare_mixed(VECTOR s2)
{
    return inverse_mixed(s2);
}

/* Twice the lanes for half the time: a test would cost up to 4 %. */
static inline bool none_below_mixed(VECTOR d2, VECTOR cutoff2)
{
    (void)d2;
    (void)cutoff2;
    return false;
}

static inline void store4_mixed(float to[4], __m256d four)
{
    _mm_storeu_ps(to, _mm256_cvtpd_ps(four));
}
#else
#define REAL double
#define POINTS points
#define BODIES bodies
#define MAY_BE_BARE true
#define NAME(what) what##_double
#define OF_W BH_ROOT_TWO
#define OF_W3 (2 * BH_ROOT_TWO)
#define OF_G 1

static inline void sum16_double(const VECTOR x[4], const VECTOR y[4], const VECTOR z[4], const VECTOR p[4],
                                __m256d sum[4])
{
    sum[0] = sum4_double(x[0], x[1], x[2], x[3]);
    sum[1] = sum4_double(y[0], y[1], y[2], y[3]);
    sum[2] = sum4_double(z[0], z[1], z[2], z[3]);
    sum[3] = sum4_double(p[0], p[1], p[2], p[3]);
}

static inline void store4_double(double to[4], __m256d four)
{
    _mm256_storeu_pd(to, four);
}
#endif

typedef struct NAME(sums) {
    VECTOR x[BH_AT_ONCE], y[BH_AT_ONCE], z[BH_AT_ONCE], p[BH_AT_ONCE];
} NAME(sums);

/* Each lane is added up in the same order however many targets there are. */
BH_INLINE void NAME(add_field)(const int nt, const NAME(sums) * s, const bh_frame *frame, const bh_targets *targets,
                               int64_t t)
{
    const double a = OF_W3 * frame->acceleration, p = -OF_W * frame->potential;

    if (nt == 4) {
        const __m256d factor = _mm256_set1_pd(a);
        __m256d sum[4];
        NAME(sum16)(s->x, s->y, s->z, s->p, sum);
        add_to(targets->ax + t, _mm256_mul_pd(factor, sum[0]));
        add_to(targets->ay + t, _mm256_mul_pd(factor, sum[1]));
        add_to(targets->az + t, _mm256_mul_pd(factor, sum[2]));
        add_to(targets->pot + t, _mm256_mul_pd(_mm256_set1_pd(p), sum[3]));
        return;
    }
    for (int j = 0; j < nt; j++) {
        double field[4];
        _mm256_storeu_pd(field,
                         _mm256_mul_pd(_mm256_setr_pd(a, a, a, p), NAME(sum4)(s->x[j], s->y[j], s->z[j], s->p[j])));
        targets->ax[t + j] += field[0];
        targets->ay[t + j] += field[1];
        targets->az[t + j] += field[2];
        targets->pot[t + j] += field[3];
    }
}

/* nt targets' coordinates in the frame's units. */
BH_INLINE void NAME(place)(const int nt, const bh_frame *frame, int axis, const double *x, VECTOR place[])
{
    const double factor = frame->per_length, shift = frame->shift[axis];

    if (nt == 4) {
        REAL four[4];
        const __m256d x4 = _mm256_fmadd_pd(_mm256_loadu_pd(x), _mm256_set1_pd(factor), _mm256_set1_pd(shift));
        NAME(store4)(four, x4);
        for (int j = 0; j < 4; j++) {
            place[j] = V(set1)(four[j]);
        }
    } else {
        for (int j = 0; j < nt; j++) {
            place[j] = V(set1)((REAL)fma(x[j], factor, shift));
        }
    }
}

/* Compile-time constants: nt targets; bare: sources may be at distance 0; within: there is a cutoff. */
BH_INLINE void NAME(points_at)(const int nt, const bool bare, const bool within, const bh_block *of, int64_t n,
                               const bh_frame *frame, const bh_targets *targets, int64_t t)
{
    const REAL *bx = of->POINTS.x, *by = of->POINTS.y, *bz = of->POINTS.z, *bm = of->POINTS.m;
    const VECTOR eps2 = V(set1)((REAL)frame->eps2), cutoff2 = V(set1)((REAL)frame->cutoff2);
    VECTOR tx[BH_AT_ONCE], ty[BH_AT_ONCE], tz[BH_AT_ONCE];
    NAME(sums) s;

    NAME(place)(nt, frame, 0, targets->x + t, tx);
    NAME(place)(nt, frame, 1, targets->y + t, ty);
    NAME(place)(nt, frame, 2, targets->z + t, tz);
    for (int j = 0; j < nt; j++) {
        s.x[j] = s.y[j] = s.z[j] = s.p[j] = V(setzero)();
    }
    for (int64_t i = 0; i < n; i += LANES) {
        const VECTOR x = V(load)(bx + i), y = V(load)(by + i), z = V(load)(bz + i), m = V(load)(bm + i);
        VECTOR dx[BH_AT_ONCE], dy[BH_AT_ONCE], dz[BH_AT_ONCE], d2[BH_AT_ONCE], w[BH_AT_ONCE];

        for (int j = 0; j < nt; j++) {
            dx[j] = V(sub)(x, tx[j]);
            dy[j] = V(sub)(y, ty[j]);
            dz[j] = V(sub)(z, tz[j]);
            if (within) {
                d2[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(mul)(dz[j], dz[j])));
                w[j] = V(add)(d2[j], eps2);
            } else {
                w[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(fmadd)(dz[j], dz[j], eps2)));
            }
        }
        if (within) {
            VECTOR nearest = d2[0];
            for (int j = 1; j < nt; j++) {
                nearest = V(min)(nearest, d2[j]);
            }
            if (NAME(none_below)(nearest, cutoff2)) {
                continue;
            }
        }
        for (int j = 0; j < nt; j++) {
            w[j] = bare ? NAME(inverse_bare)(w[j]) : NAME(inverse)(w[j]);
            w[j] = within ? NAME(where_below)(w[j], d2[j], cutoff2) : w[j];
        }
        for (int j = 0; j < nt; j++) {
            const VECTOR potential = V(mul)(m, w[j]), weight = V(mul)(potential, V(mul)(w[j], w[j]));
            s.p[j] = V(add)(s.p[j], potential);
            s.x[j] = V(fmadd)(weight, dx[j], s.x[j]);
            s.y[j] = V(fmadd)(weight, dy[j], s.y[j]);
            s.z[j] = V(fmadd)(weight, dz[j], s.z[j]);
        }
    }
    NAME(add_field)(nt, &s, frame, targets, t);
}

BH_INLINE void NAME(points_all)(const bool bare, const bool within, const bh_block *of, int64_t n,
                                const bh_frame *frame, const bh_targets *targets)
{
    int64_t t = 0;

    for (; t + BH_AT_ONCE <= targets->n; t += BH_AT_ONCE) {
        NAME(points_at)(BH_AT_ONCE, bare, within, of, n, frame, targets, t);
    }
    if (t + 2 <= targets->n) {
        NAME(points_at)(2, bare, within, of, n, frame, targets, t);
        t += 2;
    }
    if (t < targets->n) {
        NAME(points_at)(1, bare, within, of, n, frame, targets, t);
    }
}

static __attribute__((noinline)) void NAME(points_within)(const bh_block *of, int64_t n, const bh_frame *frame,
                                                          const bh_targets *targets)
{
    NAME(points_all)(MAY_BE_BARE, true, of, n, frame, targets);
}

static void NAME(points)(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    if (frame->cutoff2 > 0) {
        NAME(points_within)(of, n, frame, targets);
    } else if (MAY_BE_BARE && frame->bare) {
        NAME(points_all)(true, false, of, n, frame, targets);
    } else {
        NAME(points_all)(false, false, of, n, frame, targets);
    }
}

BH_INLINE void NAME(bodies_at)(const int nt, const bool bare, const bh_block *of, int64_t n, const bh_frame *frame,
                               const bh_targets *targets, int64_t t)
{
    const VECTOR eps2 = V(set1)((REAL)frame->eps2);
    VECTOR tx[BH_AT_ONCE], ty[BH_AT_ONCE], tz[BH_AT_ONCE];
    NAME(sums) s;

    NAME(place)(nt, frame, 0, targets->x + t, tx);
    NAME(place)(nt, frame, 1, targets->y + t, ty);
    NAME(place)(nt, frame, 2, targets->z + t, tz);
    for (int j = 0; j < nt; j++) {
        s.x[j] = s.y[j] = s.z[j] = s.p[j] = V(setzero)();
    }
    for (int64_t i = 0; i < n; i += LANES) {
        VECTOR dx[BH_AT_ONCE], dy[BH_AT_ONCE], dz[BH_AT_ONCE], w[BH_AT_ONCE];
        VECTOR qx[BH_AT_ONCE], qy[BH_AT_ONCE], qz[BH_AT_ONCE];
#define LOAD(what) V(load)(of->BODIES.what + i)
        for (int j = 0; j < nt; j++) {
            dx[j] = V(sub)(LOAD(x), tx[j]);
            dy[j] = V(sub)(LOAD(y), ty[j]);
            dz[j] = V(sub)(LOAD(z), tz[j]);
            w[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(fmadd)(dz[j], dz[j], eps2)));
        }
        for (int j = 0; j < nt; j++) {
            w[j] = bare ? NAME(inverse_bare)(w[j]) : NAME(inverse)(w[j]);
        }
        for (int j = 0; j < nt; j++) {
            qx[j] = V(fmadd)(LOAD(qxz), dz[j], V(fmadd)(LOAD(qxy), dy[j], V(mul)(LOAD(qxx), dx[j])));
            qy[j] = V(fmadd)(LOAD(qyz), dz[j], V(fmadd)(LOAD(qyy), dy[j], V(mul)(LOAD(qxy), dx[j])));
            qz[j] = V(fmadd)(LOAD(qzz), dz[j], V(fmadd)(LOAD(qyz), dy[j], V(mul)(LOAD(qxz), dx[j])));
        }
        for (int j = 0; j < nt; j++) {
            const VECTOR w2 = V(mul)(w[j], w[j]), w3 = V(mul)(w2, w[j]), w5 = V(mul)(w3, w2);
            const VECTOR q = V(fmadd)(dx[j], qx[j], V(fmadd)(dy[j], qy[j], V(fmadd)(dz[j], qz[j], LOAD(trace))));
            const VECTOR g = V(mul)(q, V(mul)(w2, w2));
            const VECTOR weight = V(mul)(w3, V(fmadd)(V(set1)(5 * (REAL)OF_G), g, LOAD(m)));
            s.p[j] = V(fmadd)(w[j], V(fmadd)(V(set1)((REAL)OF_G), g, LOAD(m)), s.p[j]);
            s.x[j] = V(fnmadd)(w5, qx[j], V(fmadd)(weight, dx[j], s.x[j]));
            s.y[j] = V(fnmadd)(w5, qy[j], V(fmadd)(weight, dy[j], s.y[j]));
            s.z[j] = V(fnmadd)(w5, qz[j], V(fmadd)(weight, dz[j], s.z[j]));
        }
#undef LOAD
    }
    NAME(add_field)(nt, &s, frame, targets, t);
}

BH_INLINE void NAME(bodies_all)(const bool bare, const bh_block *of, int64_t n, const bh_frame *frame,
                                const bh_targets *targets)
{
    int64_t t = 0;

    for (; t + BH_AT_ONCE <= targets->n; t += BH_AT_ONCE) {
        NAME(bodies_at)(BH_AT_ONCE, bare, of, n, frame, targets, t);
    }
    if (t + 2 <= targets->n) {
        NAME(bodies_at)(2, bare, of, n, frame, targets, t);
        t += 2;
    }
    if (t < targets->n) {
        NAME(bodies_at)(1, bare, of, n, frame, targets, t);
    }
}

static void NAME(bodies)(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    if (MAY_BE_BARE && frame->bare) {
        NAME(bodies_all)(true, of, n, frame, targets);
    } else {
        NAME(bodies_all)(false, of, n, frame, targets);
    }
}

#if !SINGLE /* kernel_lanes.h needs those of float */
#undef SINGLE
#undef VECTOR
#undef LANES
#undef V
#undef REAL
#undef POINTS
#undef BODIES
#undef MAY_BE_BARE
#undef NAME
#undef OF_W
#undef OF_W3
#undef OF_G
#endif
