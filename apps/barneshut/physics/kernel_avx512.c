/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows for AVX-512 (F, DQ, VL). */
#include "kernel.h"

#include "kernel_gather.h"

#include <immintrin.h>
#include <math.h>

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("avx512vl");
}

/* The first r of eight lanes; all if there are more. */
static inline __mmask8 first_lanes(int64_t r)
{
    return (__mmask8)((1u << (r < 0 ? 0 : r < 8 ? r : 8)) - 1);
}

static inline __m512d load_first(int64_t r, const double *x)
{
    return _mm512_maskz_loadu_pd(first_lanes(r), x);
}

#define SINGLE 0
#define VECTOR __m512d
#define LANES 8
#define V(op) _mm512_##op##_pd

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

static inline __m512d where_below_double(__m512d w, __m512d d2, __m512d cutoff2)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(d2, cutoff2, _CMP_LT_OQ), w);
}

static inline bool none_below_double(__m512d d2, __m512d cutoff2)
{
    return _mm512_cmp_pd_mask(d2, cutoff2, _CMP_LT_OQ) == 0;
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

#define SINGLE 1
#define VECTOR __m512
#define LANES 16
#define V(op) _mm512_##op##_ps

/* One Newton step: 3/2 2^-28. */
static inline __m512 inverse_mixed(__m512 s2)
{
    const __m512 r = _mm512_rsqrt14_ps(s2);
    return _mm512_mul_ps(r, _mm512_fnmadd_ps(_mm512_mul_ps(s2, r), r, _mm512_set1_ps(3)));
}

static inline __m512 where_below_mixed(__m512 w, __m512 d2, __m512 cutoff2)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(d2, cutoff2, _CMP_LT_OQ), w);
}

/* Four partial sums of each in a 128-bit lane of its own. */
static inline __m512 quarters(__m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    const __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
}

/* Of four partial sums the first and third, the second and fourth, then both. */
static inline __m256d sum4_mixed(__m512 a, __m512 b, __m512 c, __m512 d)
{
    const __m512 all = quarters(a, b, c, d), twice = _mm512_add_ps(all, _mm512_permute_ps(all, 0x4e));
    const __m512 sum = _mm512_add_ps(twice, _mm512_permute_ps(twice, 0xb1));
    return _mm256_cvtps_pd(_mm512_castps512_ps128(
        _mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), sum)));
}

#define OWN_SUM16
static inline void sum16_mixed(const __m512 x[4], const __m512 y[4], const __m512 z[4], const __m512 p[4],
                               __m256d sum[4])
{
    const __m512i turn = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512 ax = quarters(x[0], x[1], x[2], x[3]), ay = quarters(y[0], y[1], y[2], y[3]);
    const __m512 az = quarters(z[0], z[1], z[2], z[3]), ap = quarters(p[0], p[1], p[2], p[3]);
    const __m512 xy = _mm512_add_ps(_mm512_unpacklo_ps(ax, ay), _mm512_unpackhi_ps(ax, ay));
    const __m512 zp = _mm512_add_ps(_mm512_unpacklo_ps(az, ap), _mm512_unpackhi_ps(az, ap));
    const __m512 all = _mm512_add_ps(_mm512_shuffle_ps(xy, zp, 0x44), _mm512_shuffle_ps(xy, zp, 0xee));
    const __m512 turned = _mm512_permutexvar_ps(turn, all);
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(turned));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(turned, 1));
    sum[0] = _mm512_castpd512_pd256(low);
    sum[1] = _mm512_extractf64x4_pd(low, 1);
    sum[2] = _mm512_castpd512_pd256(high);
    sum[3] = _mm512_extractf64x4_pd(high, 1);
}

static inline __m512 both_halves(__m256 low, __m256 high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/* Eight numbers times factor plus shift; 0 behind the first r. */
#define PART __m256
#define PART_LANES 8
#define PV(op) _mm256_##op##_ps
static inline __m256 place_part(int64_t r, const double *x, double factor, double shift)
{
    return _mm512_cvtpd_ps(
        _mm512_maskz_fmadd_pd(first_lanes(r), load_first(r, x), _mm512_set1_pd(factor), _mm512_set1_pd(shift)));
}

static inline __m512 place_lanes(int64_t r, const double *x, double factor, double shift)
{
    return both_halves(place_part(r, x, factor, shift), place_part(r - 8, x + 8, factor, shift));
}

static inline unsigned light_part(int64_t r, __m256 m)
{
    return _mm256_mask_cmp_ps_mask(first_lanes(r), m, _mm256_set1_ps(BH_MIXED_LEAST_MASS), _CMP_NGE_UQ);
}

static inline void add_eight(int64_t r, __m256 sum, double factor, double *to)
{
    const __mmask8 lanes = first_lanes(r);
    const __m512d field = _mm512_mul_pd(_mm512_set1_pd(factor), _mm512_cvtps_pd(sum));
    _mm512_mask_storeu_pd(to, lanes, _mm512_add_pd(_mm512_maskz_loadu_pd(lanes, to), field));
}

static inline void add_lanes(int64_t r, __m512 sum, double factor, double *to)
{
    add_eight(r, _mm512_castps512_ps256(sum), factor, to);
    add_eight(r - 8, _mm512_extractf32x8_ps(sum, 1), factor, to + 8);
}

#include "kernel_simd.h"

/* Cells are gathered with AVX2, which is as fast: memory decides. */
const bh_kernel_row bh_kernel_avx512[2] = {
    {"avx512", BH_DOUBLE, runs_here, bh_put_bodies_avx2, put_points_double, bodies_double, points_double,
     bh_bounds_avx2},
    {"avx512", BH_MIXED, runs_here, bh_put_bodies_mixed_avx2, put_points_mixed, bodies_mixed, points_mixed,
     bh_bounds_avx2},
};
