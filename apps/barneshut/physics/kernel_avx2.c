/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows for AVX2 with FMA. */
#include "kernel.h"

#include "kernel_gather.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* The first r of four lanes. */
static inline __m256i first_lanes(int64_t r)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(r), _mm256_setr_epi64x(0, 1, 2, 3));
}

static inline __m256d load_first(int64_t r, const double *x)
{
    return r >= 4 ? _mm256_loadu_pd(x) : _mm256_maskload_pd(x, first_lanes(r));
}

#define SINGLE 0
#define VECTOR __m256d
#define LANES 4
#define V(op) _mm256_##op##_pd

/* AVX2 has no estimate of 1 / sqrt in double precision. Newton steps from the exponent's bits took 5 % longer (Zen 5)
 * than these two operations, which give the same bits on every CPU. */
static inline __m256d inverse_double(__m256d s2)
{
    return _mm256_div_pd(_mm256_set1_pd(1 / BH_ROOT_TWO), _mm256_sqrt_pd(s2));
}

static inline __m256d inverse_bare_double(__m256d s2)
{
    return _mm256_and_pd(inverse_double(s2), _mm256_cmp_pd(s2, _mm256_set1_pd(BH_LEAST_SQUARE), _CMP_GT_OQ));
}

static inline __m256d where_below_double(__m256d w, __m256d d2, __m256d cutoff2)
{
    return _mm256_and_pd(w, _mm256_cmp_pd(d2, cutoff2, _CMP_LT_OQ));
}

static inline bool none_below_double(__m256d d2, __m256d cutoff2)
{
    return _mm256_movemask_pd(_mm256_cmp_pd(d2, cutoff2, _CMP_LT_OQ)) == 0;
}

static inline __m256d sum4_double(__m256d a, __m256d b, __m256d c, __m256d d)
{
    const __m256d ab = _mm256_hadd_pd(a, b), cd = _mm256_hadd_pd(c, d);
    return _mm256_add_pd(_mm256_blend_pd(ab, cd, 0xc), _mm256_permute2f128_pd(ab, cd, 0x21));
}

#include "kernel_simd.h"

#define SINGLE 1
#define VECTOR __m256
#define LANES 8
#define V(op) _mm256_##op##_ps

/* An estimate within 1.5 2^-12 and one Newton step: 2e-7. */
static inline __m256 inverse_mixed(__m256 s2)
{
    const __m256 r = _mm256_rsqrt_ps(s2);
    return _mm256_mul_ps(r, _mm256_fnmadd_ps(_mm256_mul_ps(s2, r), r, _mm256_set1_ps(3)));
}

static inline __m256 where_below_mixed(__m256 w, __m256 d2, __m256 cutoff2)
{
    return _mm256_and_ps(w, _mm256_cmp_ps(d2, cutoff2, _CMP_LT_OQ));
}

static inline __m256d sum4_mixed(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm256_cvtps_pd(_mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
}

/* The first r of four numbers times factor plus shift; 0 behind them. */
#define PART __m128
#define PART_LANES 4
#define PV(op) _mm_##op##_ps
static inline __m128 place_part(int64_t r, const double *x, double factor, double shift)
{
    const __m256d place = _mm256_fmadd_pd(load_first(r, x), _mm256_set1_pd(factor), _mm256_set1_pd(shift));
    return _mm256_cvtpd_ps(_mm256_and_pd(place, _mm256_castsi256_pd(first_lanes(r))));
}

static inline __m256 place_lanes(int64_t r, const double *x, double factor, double shift)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(place_part(r, x, factor, shift)),
                                place_part(r - 4, x + 4, factor, shift), 1);
}

static inline unsigned light_part(int64_t r, __m128 m)
{
    const unsigned lanes = r < 4 ? (1u << r) - 1 : 15;
    return lanes & (unsigned)_mm_movemask_ps(_mm_cmp_ps(m, _mm_set1_ps(BH_MIXED_LEAST_MASS), _CMP_NGE_UQ));
}

static inline void add_four(int64_t r, __m128 sum, double factor, double *to)
{
    const __m256d field = _mm256_mul_pd(_mm256_set1_pd(factor), _mm256_cvtps_pd(sum));

    if (r >= 4) {
        _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), field));
    } else {
        const __m256i lanes = first_lanes(r);
        _mm256_maskstore_pd(to, lanes, _mm256_add_pd(_mm256_maskload_pd(to, lanes), field));
    }
}

static inline void add_lanes(int64_t r, __m256 sum, double factor, double *to)
{
    add_four(r, _mm256_castps256_ps128(sum), factor, to);
    add_four(r - 4, _mm256_extractf128_ps(sum, 1), factor, to + 4);
}

#include "kernel_simd.h"

/* ---- Gathers and bounds, for AVX-512 as well ---- */

/* Of n >= 4 numbers; the last vector overlaps the one before. */
static inline void bounds_along(const double *x, int64_t n, double *lo, double *hi)
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

void bh_bounds_avx2(const bh_targets *targets, double lo[3], double hi[3])
{
    const double *const of[3] = {targets->x, targets->y, targets->z};

    for (int k = 0; k < 3; k++) {
        const double *x = of[k];
        const int64_t n = targets->n, last = n - 1;
        const double few[4] = {x[0], x[last < 1 ? last : 1], x[last < 2 ? last : 2], x[last < 3 ? last : 3]};
        bounds_along(n < 4 ? few : x, n < 4 ? 4 : n, &lo[k], &hi[k]);
    }
}

/* Four of `from` and four behind them in the other half: to[i][j] = from[j][i]. */
static inline void transpose8(const __m128 from[8], __m256 to[4])
{
    __m256 row[4];

    for (int k = 0; k < 4; k++) {
        row[k] = _mm256_insertf128_ps(_mm256_castps128_ps256(from[k]), from[k + 4], 1);
    }
    const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(row[0], row[1]));
    const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(row[0], row[1]));
    const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(row[2], row[3]));
    const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(row[2], row[3]));
    to[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
    to[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
    to[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
    to[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
}

typedef struct scaling {
    __m256d shift[3], factor[3];
} scaling;

static inline scaling scaling_to(const bh_frame *frame)
{
    const double l = frame->per_length, q = 0.25 * frame->per_mass * l * l;
    const __m256d none = _mm256_setzero_pd();
    return (scaling){{_mm256_setr_pd(0, frame->shift[0], frame->shift[1], frame->shift[2]), none, none},
                     {_mm256_setr_pd(frame->per_mass, l, l, l), _mm256_setr_pd(0, q, q, q),
                      _mm256_setr_pd(q, q, q, -q * frame->eps2)}};
}

static inline void load_columns(const bh_cell *cell, const int64_t *number, const scaling *by, __m256 column[12])
{
    for (int part = 0; part < 3; part++) {
        __m128 row[8];
        for (int k = 0; k < 8; k++) {
            const __m256d numbers = _mm256_loadu_pd(moments_of(cell, number[k]) + 4 * part);
            row[k] = _mm256_cvtpd_ps(_mm256_fmadd_pd(numbers, by->factor[part], by->shift[part]));
        }
        transpose8(row, column + 4 * part);
    }
}

static inline __m256 magnitude(__m256 value)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), value);
}

static inline bool all_at_most(__m256 value, float limit)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(value, _mm256_set1_ps(limit), _CMP_LE_OQ)) == 0xff;
}

static inline bool all_at_least(__m256 value, float limit)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(value, _mm256_set1_ps(limit), _CMP_GE_OQ)) == 0xff;
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
           all_at_least(seen->least, (float)frame->least);
}

void bh_put_bodies_mixed_avx2(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                              int64_t n, bool *fits)
{
    bh_bodies_mixed *b = &block->bodies_mixed;
    float *const to[12] = {b->m, b->x, b->y, b->z, NULL, b->qxx, b->qxy, b->qxz, b->qyy, b->qyz, b->qzz, b->trace};
    const scaling by = scaling_to(frame);
    const VECTOR none = V(setzero)(), all = V(set1)(INFINITY);
    extremes seen = {none, all, none, all};
    int64_t room[LANES];

    for (int64_t i = 0; i < n || i % BH_BLOCK_LANES != 0; i += LANES) {
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
    for (int64_t i = n; i % BH_BLOCK_LANES != 0; i++) {
        b->m[i] = b->qxx[i] = b->qxy[i] = b->qxz[i] = b->qyy[i] = b->qyz[i] = b->qzz[i] = b->trace[i] = 0;
    }
    *fits = *fits && fit(&seen, frame);
    for (int64_t i = 0; *fits && i < n && !all_at_least(seen.least_mass, BH_MIXED_LEAST_MASS); i++) {
        *fits = bh_mixed_mass(*moments_of(cell, number[i]) * frame->per_mass);
    }
}

/* to[i][j] = from[j][i]. */
static inline void transpose4(const __m256d from[4], __m256d to[4])
{
    const __m256d a = _mm256_unpacklo_pd(from[0], from[1]), b = _mm256_unpackhi_pd(from[0], from[1]);
    const __m256d c = _mm256_unpacklo_pd(from[2], from[3]), d = _mm256_unpackhi_pd(from[2], from[3]);

    to[0] = _mm256_permute2f128_pd(a, c, 0x20);
    to[1] = _mm256_permute2f128_pd(b, d, 0x20);
    to[2] = _mm256_permute2f128_pd(a, c, 0x31);
    to[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

void bh_put_bodies_avx2(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number, int64_t n,
                        bool *fits)
{
    bh_bodies *b = &block->bodies;
    double *const to[12] = {b->m, b->x, b->y, b->z, NULL, b->qxx, b->qxy, b->qxz, b->qyy, b->qyz, b->qzz, b->trace};
    const __m256d factor[3] = {_mm256_set1_pd(1), _mm256_setr_pd(1, 2, 2, 2),
                               _mm256_setr_pd(2, 2, 2, -2 * frame->eps2)};
    int64_t room[4];

    (void)fits;
    for (int64_t i = 0; i < n || i % 8 != 0; i += 4) {
        const int64_t *of = numbers_of(number, i, n, 4, room);

        send_for_moments(cell, number, i, n, 4);
        for (int part = 0; part < 3; part++) {
            __m256d row[4], column[4];
            for (int k = 0; k < 4; k++) {
                row[k] = _mm256_mul_pd(_mm256_loadu_pd(moments_of(cell, of[k]) + 4 * part), factor[part]);
            }
            transpose4(row, column);
            for (int k = part == 1; k < 4; k++) {
                _mm256_store_pd(to[4 * part + k] + i, column[k]);
            }
        }
    }
    for (int64_t i = n; i % 8 != 0; i++) {
        b->m[i] = b->qxx[i] = b->qxy[i] = b->qxz[i] = b->qyy[i] = b->qyz[i] = b->qzz[i] = b->trace[i] = 0;
    }
}

const bh_kernel_row bh_kernel_avx2[2] = {
    {"avx2", BH_DOUBLE, runs_here, bh_put_bodies_avx2, put_points_double, bodies_double, points_double, bh_bounds_avx2},
    {"avx2", BH_MIXED, runs_here, bh_put_bodies_mixed_avx2, put_points_mixed, bodies_mixed, points_mixed,
     bh_bounds_avx2},
};
