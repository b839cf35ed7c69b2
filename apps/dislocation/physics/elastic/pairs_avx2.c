/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"
#include "pairs_near.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef __m256d vector;

#define REAL vector
#define MASK __m256d
#define LANES 4
#define LESS(a, b) _mm256_cmp_pd(a, b, _CMP_LT_OQ)
#define SELECT(mask, yes, no) _mm256_blendv_pd(no, yes, mask)
#define ONLY(bits, x) _mm256_and_pd(mask_of(bits), x)
#define BITS(mask) ((unsigned)_mm256_movemask_pd(mask))
#define WIDE(x) _mm256_set1_pd(x)
#define LOAD(p) _mm256_loadu_pd(p)
#define GATHER(p, index) gathered(p, index)
#define STORE(p, x) _mm256_storeu_pd(p, x)
#define FIRST(x) _mm256_cvtsd_f64(x)
#define SUM(x) sum_of(x)
#define ROOT(x) _mm256_sqrt_pd(x)
#define INVERSE(x) (1 / (x))
#define INVERSE_ROOT(x) inverse_root(x)
#define LOG(x) dd_log(x)
#define EXP(x) dd_exp(x)
#define ATAN2(y, x) dd_atan2(y, x)
#define ROUNDED(x) rounded(x)

static inline vector mask_of(unsigned bits)
{
    const __m256i lane = _mm256_setr_epi64x(1, 2, 4, 8);

    return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits), lane), lane));
}

static inline double sum_of(vector x)
{
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));

    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

/* Of numbers from 1e-37 to 1e38. The estimate r has 12 bits. With 1 - x r^2 = e it is r (1 + e/2 + 3/8 e^2 + 5/16 e^3 +
 * 35/128 e^4): faster than a root and a division. */
static inline vector inverse_root(vector x)
{
    const vector r = _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(x))), e = 1 - x * r * r;

    return r + r * e * (0.5 + e * (0.375 + e * (0.3125 + e * 0.2734375)));
}

/* Gather instructions are slow on many processors. */
static inline vector gathered(const double *p, const int64_t index[LANES])
{
    return _mm256_setr_pd(p[index[0]], p[index[1]], p[index[2]], p[index[3]]);
}

/* Keeps compilers from fusing a product into the following sum. */
static inline vector rounded(vector x)
{
    __asm__("" : "+x"(x));
    return x;
}

#include "pairs_elementary.h"
#include "pairs_formula.h"
#include "pairs_line.h"
#include "pairs_parallel.h"
#include "pairs_simd.h"

const dd_pairs_fn dd_pairs_avx2 = dd_pairs;
