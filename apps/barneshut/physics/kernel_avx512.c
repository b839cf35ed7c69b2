/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows for AVX-512 (F, DQ, VL). */
#include "kernel.h"

#include "kernel_gather.h"

#include <immintrin.h>
#include <math.h>

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#define REAL double
#define VECTOR __m512d
#define LANES 8
#define V(op) _mm512_##op##_pd
#define POINTS points
#define BODIES bodies
#define MAY_BE_BARE true
#define POINT_TARGETS 4
#define BODY_TARGETS 2
#define NAME(what) what##_double

/* An estimate of 14 bits, then one step of third order: with h = 1/2 - s2 r^2, r = estimate of 1 / sqrt(2 s2), the
 * exact value is r / sqrt(1 - 2 h) = r (1 + h + 3/2 h^2 + 5/2 h^3 + ...), and 35/8 h^4 < 2^-53. */
static inline __m512d improved(__m512d s2, __m512d r)
{
    const __m512d h = _mm512_fnmadd_pd(_mm512_mul_pd(s2, r), r, _mm512_set1_pd(0.5));
    const __m512d c = _mm512_fmadd_pd(_mm512_set1_pd(2.5), h, _mm512_set1_pd(1.5));
    const __m512d series = _mm512_fmadd_pd(c, h, _mm512_set1_pd(1));
    return _mm512_fmadd_pd(_mm512_mul_pd(r, h), series, r);
}

static inline __m512d inverse_double(__m512d s2)
{
    return improved(s2, _mm512_rsqrt14_pd(_mm512_add_pd(s2, s2)));
}

static inline __m512d inverse_bare_double(__m512d s2)
{
    const __mmask8 apart = _mm512_cmp_pd_mask(s2, _mm512_set1_pd(BH_LEAST_SQUARE), _CMP_GT_OQ);
    return improved(s2, _mm512_maskz_rsqrt14_pd(apart, _mm512_add_pd(s2, s2)));
}

static inline __m256d sum4_double(__m512d a, __m512d b, __m512d c, __m512d d)
{
    const __m512d ab = _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xee));
    const __m512d cd = _mm512_add_pd(_mm512_shuffle_f64x2(c, d, 0x44), _mm512_shuffle_f64x2(c, d, 0xee));
    const __m512d all = _mm512_add_pd(_mm512_shuffle_f64x2(ab, cd, 0x88), _mm512_shuffle_f64x2(ab, cd, 0xdd));
    const __m512d twice = _mm512_add_pd(all, _mm512_permute_pd(all, 0x55));
    return _mm512_castpd512_pd256(_mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 0, 0, 0, 0), twice));
}

#include "kernel_simd.h"
#undef REAL
#undef VECTOR
#undef LANES
#undef V
#undef POINTS
#undef BODIES
#undef MAY_BE_BARE
#undef POINT_TARGETS
#undef BODY_TARGETS
#undef NAME

#define REAL float
#define VECTOR __m512
#define LANES 16
#define V(op) _mm512_##op##_ps
#define POINTS points_mixed
#define BODIES bodies_mixed
#define MAY_BE_BARE false
#define POINT_TARGETS 4
#define BODY_TARGETS 2
#define NAME(what) what##_mixed

/* One Newton step: 3/2 2^-28. */
static inline __m512 inverse_mixed(__m512 s2)
{
    const __m512 r = _mm512_rsqrt14_ps(_mm512_add_ps(s2, s2));
    return _mm512_mul_ps(r, _mm512_fnmadd_ps(_mm512_mul_ps(s2, r), r, _mm512_set1_ps(1.5f)));
}

static inline __m512 inverse_bare_mixed(__m512 s2)
{
    return inverse_mixed(s2);
}

static inline __m256d sum4_mixed(__m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    const __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    const __m512 all = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    const __m512 twice = _mm512_add_ps(all, _mm512_permute_ps(all, 0x4e));
    const __m512 sum = _mm512_add_ps(twice, _mm512_permute_ps(twice, 0xb1));
    return _mm256_cvtps_pd(_mm512_castps512_ps128(
        _mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), sum)));
}

#include "kernel_simd.h"

/* Eight vectors of eight: to[i][j] = from[j][i]. */
static inline void transpose8(const __m512d from[8], __m512d to[8])
{
    __m512d a[8], b[8];

    for (int k = 0; k < 8; k += 2) { /* within lanes: columns 2 l and 2 l + 1 of rows k, k + 1 */
        a[k] = _mm512_unpacklo_pd(from[k], from[k + 1]);
        a[k + 1] = _mm512_unpackhi_pd(from[k], from[k + 1]);
    }
    for (int k = 0; k < 2; k++) {
        b[k] = _mm512_shuffle_f64x2(a[k], a[k + 2], 0x88);
        b[k + 2] = _mm512_shuffle_f64x2(a[k], a[k + 2], 0xdd);
        b[k + 4] = _mm512_shuffle_f64x2(a[k + 4], a[k + 6], 0x88);
        b[k + 6] = _mm512_shuffle_f64x2(a[k + 4], a[k + 6], 0xdd);
    }
    for (int k = 0; k < 2; k++) {
        to[k] = _mm512_shuffle_f64x2(b[k], b[k + 4], 0x88);
        to[k + 4] = _mm512_shuffle_f64x2(b[k], b[k + 4], 0xdd);
        to[k + 2] = _mm512_shuffle_f64x2(b[k + 2], b[k + 6], 0x88);
        to[k + 6] = _mm512_shuffle_f64x2(b[k + 2], b[k + 6], 0xdd);
    }
}

static void put_bodies_double(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                              int64_t n, bool *fits)
{
    static const bh_moments nothing = {0};
    bh_bodies *to = &block->bodies;
    const __m512d first_factor = _mm512_setr_pd(1, 1, 1, 1, 1, 2, 2, 2);
    const __m256d last_factor = _mm256_setr_pd(2, 2, 2, -2 * frame->eps2);

    (void)fits;
    for (int64_t i = 0; i < n; i += 8) {
        const double *from[8];
        __m512d first[8], last[4], column[8];

        find_moments(cell, number, i, n, 8, &nothing, from);
        for (int k = 0; k < 8; k++) {
            first[k] = _mm512_mul_pd(_mm512_loadu_pd(from[k]), first_factor);
        }
        transpose8(first, column);
        _mm512_store_pd(to->m + i, column[0]);
        _mm512_store_pd(to->x + i, column[1]);
        _mm512_store_pd(to->y + i, column[2]);
        _mm512_store_pd(to->z + i, column[3]);
        _mm512_store_pd(to->qxx + i, column[5]);
        _mm512_store_pd(to->qxy + i, column[6]);
        _mm512_store_pd(to->qxz + i, column[7]);
        /* Rows 0 and 4, 1 and 5, ...: the lanes below then come out in order. */
        const __m512d both = _mm512_insertf64x4(_mm512_castpd256_pd512(last_factor), last_factor, 1);
        for (int k = 0; k < 4; k++) {
            last[k] = _mm512_mul_pd(both, _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(from[k] + 8)),
                                                             _mm256_loadu_pd(from[k + 4] + 8), 1));
        }
        const __m512d ab_even = _mm512_unpacklo_pd(last[0], last[1]), ab_odd = _mm512_unpackhi_pd(last[0], last[1]);
        const __m512d cd_even = _mm512_unpacklo_pd(last[2], last[3]), cd_odd = _mm512_unpackhi_pd(last[2], last[3]);
        const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        const __m512i back = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        _mm512_store_pd(to->qyy + i, _mm512_permutex2var_pd(ab_even, front, cd_even));
        _mm512_store_pd(to->qyz + i, _mm512_permutex2var_pd(ab_odd, front, cd_odd));
        _mm512_store_pd(to->qzz + i, _mm512_permutex2var_pd(ab_even, back, cd_even));
        _mm512_store_pd(to->trace + i, _mm512_permutex2var_pd(ab_odd, back, cd_odd));
    }
}

/* Four by four within each 128-bit lane. */
static inline void transpose4(const __m512 from[4], __m512 to[4])
{
    const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(from[0], from[1]));
    const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(from[0], from[1]));
    const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(from[2], from[3]));
    const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(from[2], from[3]));

    to[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
    to[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
    to[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
    to[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
}

static inline __m512 both_halves(__m256 low, __m256 high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/* Lane by lane: the largest coordinate and moment, the least distance from the targets' bounds; and the least mass that
 * is not 0, in double precision as single may take it for 0: its bits minus 1, as an unsigned number (0 becomes the
 * largest). */
typedef struct extremes {
    __m512 length, moment, mass, least;
    __m512i least_mass;
} extremes;

static inline extremes nothing_seen(void)
{
    const __m512 none = _mm512_setzero_ps();
    return (extremes){none, none, none, _mm512_set1_ps(INFINITY), _mm512_set1_epi64(-1)};
}

static inline void see(__m512 *most, __m512 value)
{
    *most = _mm512_max_ps(*most, _mm512_abs_ps(value));
}

static inline void see_masses(extremes *seen, __m512d m)
{
    seen->least_mass =
        _mm512_min_epu64(seen->least_mass, _mm512_sub_epi64(_mm512_castpd_si512(m), _mm512_set1_epi64(1)));
}

static inline bool fit(const extremes *seen, __mmask8 masses, const bh_frame *frame)
{
    const __m512i least =
        _mm512_sub_epi64(_mm512_castpd_si512(_mm512_set1_pd((double)BH_MIXED_LEAST_MASS)), _mm512_set1_epi64(1));

    return _mm512_reduce_max_ps(seen->length) <= BH_MIXED_MOST_LENGTH &&
           _mm512_reduce_max_ps(seen->moment) <= BH_MIXED_MOST_MOMENT &&
           _mm512_reduce_max_ps(seen->mass) <= BH_MIXED_MOST_MASS &&
           (double)_mm512_reduce_min_ps(seen->least) >= frame->least &&
           _mm512_mask_cmplt_epu64_mask(masses, seen->least_mass, least) == 0;
}

/* mass x y z offset qxx qxy qxz of sixteen cells, in the frame's units. */
static inline void first_of_sixteen(const double *const from[16], const bh_frame *frame, double per_moment,
                                    extremes *seen, __m512 column[8])
{
    const __m512d shift = _mm512_setr_pd(0, frame->centre[0], frame->centre[1], frame->centre[2], 0, 0, 0, 0);
    const double l = frame->per_length, q = 2 * per_moment;
    const __m512d factor = _mm512_setr_pd(frame->per_mass, l, l, l, 0, q, q, q);
    __m256 row[16];
    __m512 part[4], low[4], high[4];

    for (int k = 0; k < 16; k++) {
        const __m512d numbers = _mm512_mul_pd(_mm512_sub_pd(_mm512_loadu_pd(from[k]), shift), factor);
        see_masses(seen, numbers);
        row[k] = _mm512_cvtpd_ps(numbers);
    }
    for (int k = 0; k < 4; k++) {
        part[k] = both_halves(row[k], row[k + 4]);
    }
    transpose4(part, low);
    for (int k = 0; k < 4; k++) {
        part[k] = both_halves(row[k + 8], row[k + 12]);
    }
    transpose4(part, high);
    for (int k = 0; k < 4; k++) {
        column[k] = _mm512_shuffle_f32x4(low[k], high[k], 0x88);
        column[k + 4] = _mm512_shuffle_f32x4(low[k], high[k], 0xdd);
    }
}

/* qyy qyz qzz trace of sixteen cells, in the frame's units. */
static inline void last_of_sixteen(const double *const from[16], const bh_frame *frame, double per_moment,
                                   __m512 column[4])
{
    const double q = 2 * per_moment, t = -2 * per_moment * frame->eps2;
    const __m512d factor = _mm512_setr_pd(q, q, q, t, q, q, q, t);
    __m256 pair[8];
    __m512 part[4];

    for (int k = 0; k < 8; k++) {
        const double *const *two = from + (k < 4 ? k : k + 4);
        pair[k] = _mm512_cvtpd_ps(
            _mm512_mul_pd(factor, _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(two[0] + 8)),
                                                     _mm256_loadu_pd(two[4] + 8), 1)));
    }
    for (int k = 0; k < 4; k++) {
        part[k] = both_halves(pair[k], pair[k + 4]);
    }
    transpose4(part, column);
}

static inline void see_bodies(extremes *seen, const bh_frame *frame, const __m512 first[8], const __m512 last[4])
{
    __m512 outside[3];

    for (int k = 0; k < 3; k++) {
        see(&seen->length, first[1 + k]);
        see(&seen->moment, first[5 + k]);
        see(&seen->moment, last[k]);
        outside[k] = _mm512_sub_ps(_mm512_abs_ps(first[1 + k]), _mm512_set1_ps((float)frame->half[k]));
    }
    see(&seen->moment, last[3]);
    see(&seen->mass, first[0]);
    seen->least = _mm512_min_ps(seen->least, _mm512_max_ps(outside[0], _mm512_max_ps(outside[1], outside[2])));
}

static void put_bodies_mixed(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                             int64_t n, bool *fits)
{
    const bh_moments nothing = bh_nothing(frame);
    const double per_moment = frame->per_mass * frame->per_length * frame->per_length;
    bh_bodies_mixed *to = &block->bodies_mixed;
    extremes seen = nothing_seen();

    for (int64_t i = 0; i < n; i += 16) {
        const double *from[16];
        __m512 first[8], last[4];

        find_moments(cell, number, i, n, 16, &nothing, from);
        first_of_sixteen(from, frame, per_moment, &seen, first);
        last_of_sixteen(from, frame, per_moment, last);
        see_bodies(&seen, frame, first, last);
        _mm512_store_ps(to->m + i, first[0]);
        _mm512_store_ps(to->x + i, first[1]);
        _mm512_store_ps(to->y + i, first[2]);
        _mm512_store_ps(to->z + i, first[3]);
        _mm512_store_ps(to->qxx + i, first[5]);
        _mm512_store_ps(to->qxy + i, first[6]);
        _mm512_store_ps(to->qxz + i, first[7]);
        _mm512_store_ps(to->qyy + i, last[0]);
        _mm512_store_ps(to->qyz + i, last[1]);
        _mm512_store_ps(to->qzz + i, last[2]);
        _mm512_store_ps(to->trace + i, last[3]);
    }
    *fits = *fits && fit(&seen, 1, frame); /* lane 0 had the masses */
}

/* Which lanes hold one of the `left` particles that are still to come. */
static inline __mmask8 lanes_of(int64_t left)
{
    return left >= 8 ? 0xff : (__mmask8)((1u << left) - 1);
}

static int64_t put_points_double(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                 bh_cursor *at, bool *fits)
{
    bh_points *to = &block->points;
    int64_t filled = 0, first, count;

    (void)frame;
    (void)fits;
    while (bh_cursor_next(at, list, BH_BLOCK_POINTS - filled, &first, &count)) {
        prefetch_run(from, list, at->run);
        for (int64_t i = 0; i < count; i += 8) {
            const __mmask8 lanes = lanes_of(count - i);
            _mm512_storeu_pd(to->x + filled + i, _mm512_maskz_loadu_pd(lanes, from->x + first + i));
            _mm512_storeu_pd(to->y + filled + i, _mm512_maskz_loadu_pd(lanes, from->y + first + i));
            _mm512_storeu_pd(to->z + filled + i, _mm512_maskz_loadu_pd(lanes, from->z + first + i));
            _mm512_storeu_pd(to->m + filled + i, _mm512_maskz_loadu_pd(lanes, from->m + first + i));
        }
        filled += count;
    }
    _mm512_storeu_pd(to->x + filled, _mm512_setzero_pd());
    _mm512_storeu_pd(to->y + filled, _mm512_setzero_pd());
    _mm512_storeu_pd(to->z + filled, _mm512_setzero_pd());
    _mm512_storeu_pd(to->m + filled, _mm512_setzero_pd());
    return filled;
}

/* Coordinates of the particles in `lanes` in the frame's units; 0 in the others. */
static inline __m512d places(const double *x, __mmask8 lanes, double centre, double per_length)
{
    const __m512d from = _mm512_set1_pd(centre);
    return _mm512_mul_pd(_mm512_sub_pd(_mm512_mask_loadu_pd(from, lanes, x), from), _mm512_set1_pd(per_length));
}

static int64_t put_points_mixed(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                bh_cursor *at, bool *fits)
{
    const double *const source[3] = {from->x, from->y, from->z};
    float *const to[3] = {block->points_mixed.x, block->points_mixed.y, block->points_mixed.z};
    float *const to_m = block->points_mixed.m;
    extremes seen = nothing_seen();
    int64_t filled = 0, first, count;

    while (bh_cursor_next(at, list, BH_BLOCK_POINTS - filled, &first, &count)) {
        prefetch_run(from, list, at->run);
        for (int64_t i = 0; i < count; i += 8) {
            const __mmask8 lanes = lanes_of(count - i);
            const __m512d m =
                _mm512_mul_pd(_mm512_maskz_loadu_pd(lanes, from->m + first + i), _mm512_set1_pd(frame->per_mass));
            for (int k = 0; k < 3; k++) {
                const __m512d d = places(source[k] + first + i, lanes, frame->centre[k], frame->per_length);
                const __m256 x = _mm512_cvtpd_ps(d);
                _mm256_storeu_ps(to[k] + filled + i, x);
                see(&seen.length, _mm512_zextps256_ps512(x));
            }
            see_masses(&seen, m);
            see(&seen.mass, _mm512_zextps256_ps512(_mm512_cvtpd_ps(m)));
            _mm256_storeu_ps(to_m + filled + i, _mm512_cvtpd_ps(m));
        }
        filled += count;
    }
    *fits = *fits && fit(&seen, 0xff, frame);
    for (int k = 0; k < 3; k++) {
        _mm512_storeu_ps(to[k] + filled, _mm512_setzero_ps());
    }
    _mm512_storeu_ps(to_m + filled, _mm512_setzero_ps());
    return filled;
}

const bh_kernel_row bh_kernel_avx512[2] = {
    {"avx512", BH_DOUBLE, runs_here, put_bodies_double, put_points_double, bodies_double, points_double},
    {"avx512", BH_MIXED, runs_here, put_bodies_mixed, put_points_mixed, bodies_mixed, points_mixed},
};
