/* SPDX-License-Identifier: BSD-3-Clause */
#include "pairs.h"
#include "pairs_near.h"

#include <immintrin.h>
#include <math.h>
#include <sleef.h>

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
#define STORE(p, x) _mm512_storeu_pd(p, x)
#define SUM(x) _mm512_reduce_add_pd(x)
#define ROOT(x) _mm512_sqrt_pd(x)
#define LOG(x) Sleef_logd8_u35avx512f(x)
#define EXP(x) Sleef_expd8_u10avx512f(x)
#define ATAN2(y, x) Sleef_atan2d8_u35avx512f(y, x)
#define ROUNDED(x) rounded(x)
#define BEGIN() fetch_constants()

/* SLEEF's logarithm loads one constant below a mask that is empty unless an argument is infinite. Where the page of
 * that constant is not mapped such a load does not fetch it, and takes hundreds of cycles each time: four times as long
 * for a pair. A system may unmap it whenever it likes. So one argument is infinite now and then. */
static inline void fetch_constants(void)
{
    const vector x = LOG(WIDE((double)INFINITY));

    __asm__ volatile("" : : "v"(x));
}

/* Compilers may fuse a product with the sum it goes into; not beyond this. */
static inline vector rounded(vector x)
{
    __asm__("" : "+v"(x));
    return x;
}

#include "pairs_formula.h"
#include "pairs_line.h"
#include "pairs_parallel.h"
#include "pairs_simd.h"

const dd_pairs_fn dd_pairs_avx512 = dd_pairs;
