/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows for AVX2 with FMA. */
#include "kernel.h"

#include "kernel_gather.h"

#include <immintrin.h>
#include <math.h>

static bool runs_here(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define REAL double
#define VECTOR __m256d
#define LANES 4
#define V(op) _mm256_##op##_pd
#define POINTS points
#define BODIES bodies
#define MAY_BE_BARE true
#define POINT_TARGETS 2
#define BODY_TARGETS 1
#define NAME(what) what##_double

/* There is no estimate of 1 / sqrt in double precision, and sqrt with a division takes longer than this. Half of the
 * bits, taken from a constant, make a number within 7 % (Lomont 2003); a quadratic in z = s2 r^2, whose greatest error
 * over the range of z is least (Remez), brings it within 1.6e-5; one step of third order does the rest: with h = 1/2 -
 * z the exact value is r / sqrt(1 - 2 h) = r (1 + h + 3/2 h^2 + 5/2 h^3 + ...), and 35/8 h^4 < 2^-60. */
static inline __m256d inverse_double(__m256d s2)
{
    const __m256i half = _mm256_srli_epi64(_mm256_castpd_si256(s2), 1);
    const __m256d guess = _mm256_castsi256_pd(_mm256_sub_epi64(_mm256_set1_epi64x(0x5fdc090000000000), half));
    const __m256d z = _mm256_mul_pd(_mm256_mul_pd(s2, guess), guess);
    const __m256d line = _mm256_fmadd_pd(_mm256_set1_pd(2.633152288367137), z, _mm256_set1_pd(-3.506330706392242));
    const __m256d r = _mm256_mul_pd(guess, _mm256_fmadd_pd(line, z, _mm256_set1_pd(2.099260632151209)));
    const __m256d h = _mm256_fnmadd_pd(_mm256_mul_pd(s2, r), r, _mm256_set1_pd(0.5));
    const __m256d c = _mm256_fmadd_pd(_mm256_set1_pd(2.5), h, _mm256_set1_pd(1.5));
    const __m256d series = _mm256_fmadd_pd(c, h, _mm256_set1_pd(1));
    return _mm256_fmadd_pd(_mm256_mul_pd(r, h), series, r);
}

static inline __m256d inverse_bare_double(__m256d s2)
{
    return _mm256_and_pd(inverse_double(s2), _mm256_cmp_pd(s2, _mm256_set1_pd(BH_LEAST_SQUARE), _CMP_GT_OQ));
}

static inline __m256d sum4_double(__m256d a, __m256d b, __m256d c, __m256d d)
{
    const __m256d ab = _mm256_hadd_pd(a, b), cd = _mm256_hadd_pd(c, d);
    return _mm256_add_pd(_mm256_blend_pd(ab, cd, 0xc), _mm256_permute2f128_pd(ab, cd, 0x21));
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
#define VECTOR __m256
#define LANES 8
#define V(op) _mm256_##op##_ps
#define POINTS points_mixed
#define BODIES bodies_mixed
#define MAY_BE_BARE false
#define POINT_TARGETS 2
#define BODY_TARGETS 1
#define NAME(what) what##_mixed

/* An estimate within 1.5 2^-12 and one Newton step: 2e-7. */
static inline __m256 inverse_mixed(__m256 s2)
{
    const __m256 r = _mm256_rsqrt_ps(_mm256_add_ps(s2, s2));
    return _mm256_mul_ps(r, _mm256_fnmadd_ps(_mm256_mul_ps(s2, r), r, _mm256_set1_ps(1.5f)));
}

static inline __m256 inverse_bare_mixed(__m256 s2)
{
    return inverse_mixed(s2);
}

static inline __m256d sum4_mixed(__m256 a, __m256 b, __m256 c, __m256 d)
{
    const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm256_cvtps_pd(_mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
}

#include "kernel_simd.h"

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

static void put_bodies_double(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                              int64_t n, bool *fits)
{
    static const bh_moments nothing = {0};
    bh_bodies *b = &block->bodies;
    double *const to[12] = {b->m, b->x, b->y, b->z, NULL, b->qxx, b->qxy, b->qxz, b->qyy, b->qyz, b->qzz, b->trace};
    const __m256d factor[3] = {_mm256_set1_pd(1), _mm256_setr_pd(1, 2, 2, 2),
                               _mm256_setr_pd(2, 2, 2, -2 * frame->eps2)};

    (void)fits;
    for (int64_t i = 0; i < n; i += 4) {
        const double *from[4];

        find_moments(cell, number, i, n, 4, &nothing, from);
        for (int part = 0; part < 3; part++) {
            __m256d row[4], column[4];
            for (int k = 0; k < 4; k++) {
                row[k] = _mm256_mul_pd(_mm256_loadu_pd(from[k] + 4 * part), factor[part]);
            }
            transpose4(row, column);
            for (int k = part == 1; k < 4; k++) {
                _mm256_store_pd(to[4 * part + k] + i, column[k]);
            }
        }
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

/* Lane by lane: the largest coordinate, moment and mass, the least distance from the targets' bounds; and the least
 * mass that is not 0, in double precision as single may take it for 0. */
typedef struct extremes {
    __m256 length, moment, mass, least;
    __m256d least_mass;
} extremes;

static inline extremes nothing_seen(void)
{
    const __m256 none = _mm256_setzero_ps();
    return (extremes){none, none, none, _mm256_set1_ps(INFINITY), _mm256_set1_pd(INFINITY)};
}

static inline __m256 magnitude(__m256 value)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), value);
}

static inline void see(__m256 *most, __m256 value)
{
    *most = _mm256_max_ps(*most, magnitude(value));
}

static inline void see_masses(extremes *seen, __m256d m)
{
    const __m256d none = _mm256_cmp_pd(m, _mm256_setzero_pd(), _CMP_EQ_OQ);
    const __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), m);
    seen->least_mass = _mm256_min_pd(seen->least_mass, _mm256_blendv_pd(size, _mm256_set1_pd(INFINITY), none));
}

/* Only the lanes of least_mass from 0 to masses - 1 are of masses. */
static inline bool fit(const extremes *seen, int masses, const bh_frame *frame)
{
    float length[8], moment[8], mass[8], least[8];
    double least_mass[4];
    bool fits = true;

    _mm256_storeu_ps(length, seen->length);
    _mm256_storeu_ps(moment, seen->moment);
    _mm256_storeu_ps(mass, seen->mass);
    _mm256_storeu_ps(least, seen->least);
    _mm256_storeu_pd(least_mass, seen->least_mass);
    for (int k = 0; k < 8; k++) {
        fits = fits && length[k] <= BH_MIXED_MOST_LENGTH && moment[k] <= BH_MIXED_MOST_MOMENT &&
               mass[k] <= BH_MIXED_MOST_MASS && (double)least[k] >= frame->least;
    }
    for (int k = 0; k < masses; k++) {
        fits = fits && least_mass[k] >= (double)BH_MIXED_LEAST_MASS;
    }
    return fits;
}

static inline void see_bodies(extremes *seen, const bh_frame *frame, const __m256 column[12])
{
    __m256 outside = _mm256_set1_ps(-INFINITY);

    see(&seen->mass, column[0]);
    for (int k = 0; k < 3; k++) {
        see(&seen->length, column[1 + k]);
        outside =
            _mm256_max_ps(outside, _mm256_sub_ps(magnitude(column[1 + k]), _mm256_set1_ps((float)frame->half[k])));
    }
    seen->least = _mm256_min_ps(seen->least, outside);
    for (int k = 5; k < 12; k++) {
        see(&seen->moment, column[k]);
    }
}

static void put_bodies_mixed(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                             int64_t n, bool *fits)
{
    const bh_moments nothing = bh_nothing(frame);
    bh_bodies_mixed *b = &block->bodies_mixed;
    float *const to[12] = {b->m, b->x, b->y, b->z, NULL, b->qxx, b->qxy, b->qxz, b->qyy, b->qyz, b->qzz, b->trace};
    const double l = frame->per_length, q = 2 * frame->per_mass * l * l;
    const __m256d shift = _mm256_setr_pd(0, frame->centre[0], frame->centre[1], frame->centre[2]);
    const __m256d factor[3] = {_mm256_setr_pd(frame->per_mass, l, l, l), _mm256_setr_pd(0, q, q, q),
                               _mm256_setr_pd(q, q, q, -q * frame->eps2)};
    extremes seen = nothing_seen();

    for (int64_t i = 0; i < n; i += 8) {
        const double *from[8];
        __m128 row[8];
        __m256 column[12];

        find_moments(cell, number, i, n, 8, &nothing, from);
        for (int k = 0; k < 8; k++) {
            const __m256d numbers = _mm256_mul_pd(_mm256_sub_pd(_mm256_loadu_pd(from[k]), shift), factor[0]);
            see_masses(&seen, numbers);
            row[k] = _mm256_cvtpd_ps(numbers);
        }
        transpose8(row, column);
        for (int part = 1; part < 3; part++) {
            for (int k = 0; k < 8; k++) {
                row[k] = _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_loadu_pd(from[k] + 4 * part), factor[part]));
            }
            transpose8(row, column + 4 * part);
        }
        see_bodies(&seen, frame, column);
        for (int k = 0; k < 12; k++) {
            if (k != 4) {
                _mm256_store_ps(to[k] + i, column[k]);
            }
        }
    }
    *fits = *fits && fit(&seen, 1, frame);
}

/* The first `left` lanes, as masked loads want them. */
static inline __m256i lanes_of(int64_t left)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_setr_epi64x(0, 1, 2, 3));
}

static int64_t put_points_double(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                 bh_cursor *at, bool *fits)
{
    const double *const source[4] = {from->x, from->y, from->z, from->m};
    double *const to[4] = {block->points.x, block->points.y, block->points.z, block->points.m};
    int64_t filled = 0, first, count;

    (void)frame;
    (void)fits;
    while (bh_cursor_next(at, list, BH_BLOCK_POINTS - filled, &first, &count)) {
        prefetch_run(from, list, at->run);
        for (int64_t i = 0; i < count; i += 4) {
            const __m256i lanes = lanes_of(count - i);
            for (int k = 0; k < 4; k++) {
                _mm256_storeu_pd(to[k] + filled + i, _mm256_maskload_pd(source[k] + first + i, lanes));
            }
        }
        filled += count;
    }
    for (int k = 0; k < 4; k++) {
        _mm256_storeu_pd(to[k] + filled, _mm256_setzero_pd());
    }
    return filled;
}

static int64_t put_points_mixed(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                bh_cursor *at, bool *fits)
{
    const double *const source[4] = {from->x, from->y, from->z, from->m};
    float *const to[4] = {block->points_mixed.x, block->points_mixed.y, block->points_mixed.z, block->points_mixed.m};
    const double shift[4] = {frame->centre[0], frame->centre[1], frame->centre[2], 0};
    const double factor[4] = {frame->per_length, frame->per_length, frame->per_length, frame->per_mass};
    extremes seen = nothing_seen();
    int64_t filled = 0, first, count;

    while (bh_cursor_next(at, list, BH_BLOCK_POINTS - filled, &first, &count)) {
        prefetch_run(from, list, at->run);
        for (int64_t i = 0; i < count; i += 4) {
            const __m256i lanes = lanes_of(count - i);
            for (int k = 0; k < 4; k++) {
                __m256d d = _mm256_maskload_pd(source[k] + first + i, lanes);
                d = _mm256_mul_pd(_mm256_sub_pd(d, _mm256_set1_pd(shift[k])), _mm256_set1_pd(factor[k]));
                d = _mm256_and_pd(d, _mm256_castsi256_pd(lanes));
                const __m128 x = _mm256_cvtpd_ps(d);
                _mm_storeu_ps(to[k] + filled + i, x);
                see(k < 3 ? &seen.length : &seen.mass, _mm256_zextps128_ps256(x));
                if (k == 3) {
                    see_masses(&seen, d);
                }
            }
        }
        filled += count;
    }
    *fits = *fits && fit(&seen, 4, frame);
    for (int k = 0; k < 4; k++) {
        _mm256_storeu_ps(to[k] + filled, _mm256_setzero_ps());
    }
    return filled;
}

const bh_kernel_row bh_kernel_avx2[2] = {
    {"avx2", BH_DOUBLE, runs_here, put_bodies_double, put_points_double, bodies_double, points_double},
    {"avx2", BH_MIXED, runs_here, put_bodies_mixed, put_points_mixed, bodies_mixed, points_mixed},
};
