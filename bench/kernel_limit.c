/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-written for each instruction set, independent of the measured kernels: fewest operations of the formulas,
 * several targets at a time, no gather, no remainders, no sources at distance 0. */
#include "kernel_limit.h"

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* One loop for NT targets at a time: PAIR or CELL of vectors V of W numbers R. */
#define LOOP(TARGET, NAME, BODY, NT, V, R, W, OP, FMA, FNMA, INVERSE, SUM, N, SOURCE, AT)                              \
    __attribute__((target(TARGET))) static void NAME(limit_data *data, double eps2)                                    \
    {                                                                                                                  \
        const V soft = OP(set1)((R)eps2);                                                                              \
        for (int t = 0; t < LIMIT_TARGETS; t += NT) {                                                                  \
            V tx[NT], ty[NT], tz[NT], sx[NT], sy[NT], sz[NT], sp[NT];                                                  \
            for (int j = 0; j < NT; j++) {                                                                             \
                tx[j] = OP(set1)(data->AT[0][t + j]), ty[j] = OP(set1)(data->AT[1][t + j]);                            \
                tz[j] = OP(set1)(data->AT[2][t + j]);                                                                  \
                sx[j] = sy[j] = sz[j] = sp[j] = OP(setzero)();                                                         \
            }                                                                                                          \
            for (int i = 0; i < N; i += W) {                                                                           \
                const V x = OP(load)(data->SOURCE[0] + i), y = OP(load)(data->SOURCE[1] + i);                          \
                const V z = OP(load)(data->SOURCE[2] + i), m = OP(load)(data->SOURCE[3] + i);                          \
                V dx[NT], dy[NT], dz[NT], w[NT];                                                                       \
                for (int j = 0; j < NT; j++) {                                                                         \
                    dx[j] = OP(sub)(x, tx[j]), dy[j] = OP(sub)(y, ty[j]), dz[j] = OP(sub)(z, tz[j]);                   \
                    w[j] = FMA(dx[j], dx[j], FMA(dy[j], dy[j], FMA(dz[j], dz[j], soft)));                              \
                }                                                                                                      \
                for (int j = 0; j < NT; j++) {                                                                         \
                    w[j] = INVERSE(w[j]);                                                                              \
                }                                                                                                      \
                BODY(NT, V, OP, FMA, FNMA, SOURCE)                                                                     \
            }                                                                                                          \
            for (int j = 0; j < NT; j++) {                                                                             \
                data->field[0][t + j] += SUM(sx[j]);                                                                   \
                data->field[1][t + j] += SUM(sy[j]);                                                                   \
                data->field[2][t + j] += SUM(sz[j]);                                                                   \
                data->field[3][t + j] += SUM(sp[j]);                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }

#define PAIR(NT, V, OP, FMA, FNMA, SOURCE)                                                                             \
    for (int j = 0; j < NT; j++) {                                                                                     \
        const V p = OP(mul)(m, w[j]), f = OP(mul)(p, OP(mul)(w[j], w[j]));                                             \
        sp[j] = OP(add)(sp[j], p);                                                                                     \
        sx[j] = FMA(f, dx[j], sx[j]), sy[j] = FMA(f, dy[j], sy[j]), sz[j] = FMA(f, dz[j], sz[j]);                      \
    }

#define MOMENT(OP, SOURCE, k) OP(load)(data->SOURCE[k] + i)
#define CELL(NT, V, OP, FMA, FNMA, SOURCE)                                                                             \
    for (int j = 0; j < NT; j++) {                                                                                     \
        const V xx = MOMENT(OP, SOURCE, 4), xy = MOMENT(OP, SOURCE, 5), xz = MOMENT(OP, SOURCE, 6);                    \
        const V yy = MOMENT(OP, SOURCE, 7), yz = MOMENT(OP, SOURCE, 8), zz = MOMENT(OP, SOURCE, 9);                    \
        const V qx = FMA(xz, dz[j], FMA(xy, dy[j], OP(mul)(xx, dx[j])));                                               \
        const V qy = FMA(yz, dz[j], FMA(yy, dy[j], OP(mul)(xy, dx[j])));                                               \
        const V qz = FMA(zz, dz[j], FMA(yz, dy[j], OP(mul)(xz, dx[j])));                                               \
        const V q = FMA(dx[j], qx, FMA(dy[j], qy, FMA(dz[j], qz, MOMENT(OP, SOURCE, 10))));                            \
        const V w2 = OP(mul)(w[j], w[j]), w3 = OP(mul)(w2, w[j]), w5 = OP(mul)(w3, w2);                                \
        const V g = OP(mul)(q, OP(mul)(w2, w2)), f = OP(mul)(w3, FMA(OP(set1)(5), g, m));                              \
        sp[j] = FMA(w[j], OP(add)(m, g), sp[j]);                                                                       \
        sx[j] = FNMA(w5, qx, FMA(f, dx[j], sx[j])), sy[j] = FNMA(w5, qy, FMA(f, dy[j], sy[j]));                        \
        sz[j] = FNMA(w5, qz, FMA(f, dz[j], sz[j]));                                                                    \
    }

#define SHAPES(TARGET, NAME, V, R, W, OP, FMA, FNMA, INVERSE, SUM, SOURCE, AT)                                         \
    LOOP(TARGET, NAME##_pair1, PAIR, 1, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES, SOURCE, AT)               \
    LOOP(TARGET, NAME##_pair2, PAIR, 2, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES, SOURCE, AT)               \
    LOOP(TARGET, NAME##_pair3, PAIR, 3, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES, SOURCE, AT)               \
    LOOP(TARGET, NAME##_pair4, PAIR, 4, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES, SOURCE, AT)               \
    LOOP(TARGET, NAME##_cell1, CELL, 1, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES / 2, SOURCE, AT)           \
    LOOP(TARGET, NAME##_cell2, CELL, 2, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES / 2, SOURCE, AT)           \
    LOOP(TARGET, NAME##_cell3, CELL, 3, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES / 2, SOURCE, AT)           \
    LOOP(TARGET, NAME##_cell4, CELL, 4, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES / 2, SOURCE, AT)
#define ALL(PREFIX, KIND)                                                                                              \
    {                                                                                                                  \
        PREFIX##_##KIND##1, PREFIX##_##KIND##2, PREFIX##_##KIND##3, PREFIX##_##KIND##4                                 \
    }
#define ROW(PREFIX)                                                                                                    \
    {                                                                                                                  \
#PREFIX, PREFIX##_runs, {ALL(PREFIX##_double, pair), ALL(PREFIX##_single, pair) },                             \
        {                                                                                                              \
            ALL(PREFIX##_double, cell), ALL(PREFIX##_single, cell)                                                     \
        }                                                                                                              \
    }

/* SSE2, as compiled from plain C: no fused operations, no useful estimate of 1 / sqrt. */
#define SSE2D(op) _mm_##op##_pd
#define SSE2S(op) _mm_##op##_ps
#define SSE2D_FMA(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define SSE2D_FNMA(a, b, c) _mm_sub_pd(c, _mm_mul_pd(a, b))
#define SSE2S_FMA(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define SSE2S_FNMA(a, b, c) _mm_sub_ps(c, _mm_mul_ps(a, b))
#define SSE2D_INVERSE(s2) _mm_div_pd(_mm_set1_pd(1), _mm_sqrt_pd(s2))
#define SSE2S_INVERSE(s2) _mm_div_ps(_mm_set1_ps(1), _mm_sqrt_ps(s2))
#define SSE2D_SUM(v) (_mm_cvtsd_f64(v) + _mm_cvtsd_f64(_mm_unpackhi_pd(v, v)))

static inline double sse2s_sum(__m128 v)
{
    float lane[4];

    _mm_storeu_ps(lane, v);
    return (double)((lane[0] + lane[1]) + (lane[2] + lane[3]));
}

static bool plain_runs(void)
{
    return true;
}

SHAPES("sse2", plain_double, __m128d, double, 2, SSE2D, SSE2D_FMA, SSE2D_FNMA, SSE2D_INVERSE, SSE2D_SUM, source, target)
SHAPES("sse2", plain_single, __m128, float, 4, SSE2S, SSE2S_FMA, SSE2S_FNMA, SSE2S_INVERSE, sse2s_sum, source_single,
       target_single)

#define AVX2 "avx2,fma"
#define AVX2D(op) _mm256_##op##_pd
#define AVX2S(op) _mm256_##op##_ps

/* From the single-precision estimate, whose range suffices here: r (1 + e/2 + 3/8 e^2 + 5/16 e^3 + 35/128 e^4). */
__attribute__((target(AVX2))) static inline __m256d avx2d_inverse(__m256d s2)
{
    const __m256d r = _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(s2)));
    const __m256d e = _mm256_fnmadd_pd(_mm256_mul_pd(s2, r), r, _mm256_set1_pd(1));
    const __m256d c3 = _mm256_fmadd_pd(_mm256_set1_pd(35. / 128), e, _mm256_set1_pd(5. / 16));
    const __m256d c2 = _mm256_fmadd_pd(c3, e, _mm256_set1_pd(3. / 8));
    return _mm256_fmadd_pd(_mm256_mul_pd(r, e), _mm256_fmadd_pd(c2, e, _mm256_set1_pd(1. / 2)), r);
}

/* 2 / sqrt(s2). */
__attribute__((target(AVX2))) static inline __m256 avx2s_inverse(__m256 s2)
{
    const __m256 r = _mm256_rsqrt_ps(s2);
    return _mm256_mul_ps(r, _mm256_fnmadd_ps(_mm256_mul_ps(s2, r), r, _mm256_set1_ps(3)));
}

__attribute__((target(AVX2))) static inline double avx2d_sum(__m256d v)
{
    return SSE2D_SUM(_mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1)));
}

__attribute__((target(AVX2))) static inline double avx2s_sum(__m256 v)
{
    return sse2s_sum(_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
}

static bool avx2_runs(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

SHAPES(AVX2, avx2_double, __m256d, double, 4, AVX2D, _mm256_fmadd_pd, _mm256_fnmadd_pd, avx2d_inverse, avx2d_sum,
       source, target)
SHAPES(AVX2, avx2_single, __m256, float, 8, AVX2S, _mm256_fmadd_ps, _mm256_fnmadd_ps, avx2s_inverse, avx2s_sum,
       source_single, target_single)

#define AVX512 "avx512f,avx512dq,avx512vl,fma"
#define AVX512D(op) _mm512_##op##_pd
#define AVX512S(op) _mm512_##op##_ps

/* r (1 + e/2 + 3/8 e^2 + 5/16 e^3). */
__attribute__((target(AVX512))) static inline __m512d avx512d_inverse(__m512d s2)
{
    const __m512d r = _mm512_rsqrt14_pd(s2);
    const __m512d e = _mm512_fnmadd_pd(_mm512_mul_pd(s2, r), r, _mm512_set1_pd(1));
    const __m512d c2 = _mm512_fmadd_pd(_mm512_set1_pd(5. / 16), e, _mm512_set1_pd(3. / 8));
    return _mm512_fmadd_pd(_mm512_mul_pd(r, e), _mm512_fmadd_pd(c2, e, _mm512_set1_pd(1. / 2)), r);
}

/* 2 / sqrt(s2). */
__attribute__((target(AVX512))) static inline __m512 avx512s_inverse(__m512 s2)
{
    const __m512 r = _mm512_rsqrt14_ps(s2);
    return _mm512_mul_ps(r, _mm512_fnmadd_ps(_mm512_mul_ps(s2, r), r, _mm512_set1_ps(3)));
}

static bool avx512_runs(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

SHAPES(AVX512, avx512_double, __m512d, double, 8, AVX512D, _mm512_fmadd_pd, _mm512_fnmadd_pd, avx512d_inverse,
       _mm512_reduce_add_pd, source, target)
SHAPES(AVX512, avx512_single, __m512, float, 16, AVX512S, _mm512_fmadd_ps, _mm512_fnmadd_ps, avx512s_inverse,
       (double)_mm512_reduce_add_ps, source_single, target_single)

const limit_row limit_table[] = {ROW(plain), ROW(avx2), ROW(avx512)};
const int limit_table_size = 3;
#else
const limit_row limit_table[] = {{NULL, NULL, {{NULL}}, {{NULL}}}};
const int limit_table_size = 0;
#endif
