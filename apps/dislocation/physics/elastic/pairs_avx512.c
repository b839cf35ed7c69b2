/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"
#include "pairs_near.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef __m512d vector;

#define REAL vector
#define MASK __mmask8
#define LANES 8
#define LESS(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define SELECT(mask, yes, no) _mm512_mask_blend_pd(mask, no, yes)
#define ONLY(bits, x) _mm512_maskz_mov_pd((__mmask8)(bits), x)
#define BITS(mask) ((unsigned)(mask))
#define WIDE(x) _mm512_set1_pd(x)
#define LOAD(p) _mm512_loadu_pd(p)
#define GATHER(p, index) gathered(p, index)
#define STORE(p, x) _mm512_storeu_pd(p, x)
#define FIRST(x) _mm512_cvtsd_f64(x)
#define SUM(x) _mm512_reduce_add_pd(x)
#define ROOT(x) _mm512_sqrt_pd(x)
#define INVERSE(x) inverse(x)
#define INVERSE_ROOT(x) inverse_root(x)
#define LOG(x) dd_log(x)
#define EXP(x) dd_exp(x)
#define ATAN2(y, x) dd_atan2(y, x)
#define ROUNDED(x) rounded(x)

/* The estimate r has 14 bits. With 1 - x r = e it is r (1 + e + e^2 + e^3): faster than a division. */
static inline vector inverse(vector x)
{
    const vector r = _mm512_rcp14_pd(x), e = 1 - x * r;

    return r + r * (e + e * e * (1 + e));
}

/* With 1 - x r^2 = e it is r (1 + e/2 + 3/8 e^2 + 5/16 e^3). */
static inline vector inverse_root(vector x)
{
    const vector r = _mm512_rsqrt14_pd(x), e = 1 - x * r * r;

    return r + r * e * (0.5 + e * (0.375 + e * 0.3125));
}

/* Gather instructions are slow on many processors. */
static inline vector gathered(const double *p, const int64_t index[LANES])
{
    return _mm512_setr_pd(p[index[0]], p[index[1]], p[index[2]], p[index[3]], p[index[4]], p[index[5]], p[index[6]],
                          p[index[7]]);
}

/* Keeps compilers from fusing a product into the following sum. */
static inline vector rounded(vector x)
{
    __asm__("" : "+v"(x));
    return x;
}

#include "pairs_elementary.h"
#include "pairs_formula.h"
#include "pairs_line.h"
#include "pairs_parallel.h"
#include "pairs_simd.h"

const dd_pairs_fn dd_pairs_avx512 = dd_pairs;
