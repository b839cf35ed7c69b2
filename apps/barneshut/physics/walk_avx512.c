/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a walk with AVX-512: a family's eight children in one register. The operations are those of
 * walk_plain.c in the same order, never fused. */
#include "walker.h"

#ifdef BH_WALK_X86
#include <immintrin.h>

#define BH_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,popcnt,bmi,bmi2")))

typedef struct criterion {
    const bh__walker *w;
    __m512d lo[3], hi[3], G, strength;
} criterion;

BH_TARGET static inline criterion criterion_of(const bh__walker *w)
{
    criterion c = {.w = w, .G = _mm512_set1_pd(w->G), .strength = _mm512_set1_pd(w->strength)};

    for (int k = 0; k < 3; k++) {
        c.lo[k] = _mm512_set1_pd(w->group->lo[k]);
        c.hi[k] = _mm512_set1_pd(w->group->hi[k]);
    }
    return c;
}

BH_TARGET static inline __m512d off_bounds(const double *com, __m512d lo, __m512d hi)
{
    const __m512d at = _mm512_load_pd(com), below = _mm512_sub_pd(lo, at), above = _mm512_sub_pd(at, hi);
    const __m512d d = _mm512_max_pd(_mm512_max_pd(below, above), _mm512_setzero_pd());

    return _mm512_mul_pd(d, d);
}

/* The lanes farther from the group than `sides` plus the cell's offset. */
BH_TARGET static inline unsigned beyond(__m512d d2, double sides, const bh_family *family)
{
    const __m512d reach = _mm512_add_pd(_mm512_set1_pd(sides), _mm512_load_pd(family->offset));

    return _mm512_cmp_pd_mask(d2, _mm512_mul_pd(reach, reach), _CMP_GT_OQ);
}

BH_TARGET static inline unsigned far_lanes(const criterion *c, bool relative, const bh_family *family)
{
    const double side = c->w->side[family->level];
    const __m512d x2 = off_bounds(family->x, c->lo[0], c->hi[0]), y2 = off_bounds(family->y, c->lo[1], c->hi[1]);
    const __m512d d2 = _mm512_add_pd(_mm512_add_pd(x2, y2), off_bounds(family->z, c->lo[2], c->hi[2]));

    if (!relative) {
        return beyond(d2, side * c->w->reciprocal, family);
    }
    const __m512d sides = _mm512_set1_pd(side), mass = _mm512_mul_pd(c->G, _mm512_load_pd(family->mass));
    const __m512d strong = _mm512_mul_pd(_mm512_mul_pd(mass, sides), sides);
    const __m512d weak = _mm512_mul_pd(_mm512_mul_pd(c->strength, d2), d2);
    const unsigned far = _mm512_cmp_pd_mask(strong, weak, _CMP_LT_OQ) & family->bodies;
    const unsigned doubtful = far & ~beyond(d2, BH_GUARD_REACH * side, family);
    return __builtin_expect(doubtful != 0, 0) ? far & ~(doubtful & bh__beside_lanes(c->w, family)) : far;
}

BH_TARGET static inline void put_open(int32_t *to, const bh_family *family, unsigned lanes)
{
    const __m256i below = _mm256_load_si256((const __m256i *)family->below);

    _mm256_storeu_si256((__m256i *)to, _mm256_maskz_compress_epi32((__mmask8)lanes, below));
}

BH_TARGET static inline void put_chain(int32_t *to, int32_t first)
{
    const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    _mm256_storeu_si256((__m256i *)to, _mm256_add_epi32(_mm256_set1_epi32(first), steps));
}

BH_TARGET static inline void put_numbers(int64_t *to, int64_t first, unsigned lanes)
{
    const __m512i steps = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i numbers = _mm512_add_epi64(_mm512_set1_epi64(first), steps);

    /* Compressed in a register and stored whole: compressing stores are slow on some processors. */
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi64((__mmask8)lanes, numbers));
}

BH_TARGET static inline void put_values(int64_t *to, const int32_t *values, unsigned lanes)
{
    const __m256i few = _mm256_maskz_compress_epi32((__mmask8)lanes, _mm256_load_si256((const __m256i *)values));

    _mm512_storeu_si512(to, _mm512_cvtepi32_epi64(few));
}

typedef __m512d distances;

BH_TARGET static inline distances distances_of(const bh__planes *planes, const double at[3])
{
    const __m512d x = _mm512_mul_pd(_mm512_loadu_pd(planes->normal[0]), _mm512_set1_pd(at[0]));
    const __m512d y = _mm512_mul_pd(_mm512_loadu_pd(planes->normal[1]), _mm512_set1_pd(at[1]));
    const __m512d z = _mm512_mul_pd(_mm512_loadu_pd(planes->normal[2]), _mm512_set1_pd(at[2]));

    return _mm512_sub_pd(_mm512_add_pd(_mm512_add_pd(x, y), z), _mm512_loadu_pd(planes->away));
}

BH_TARGET static inline bool any_above(distances d, double factor, const double *limit)
{
    const __m512d limits = _mm512_mul_pd(_mm512_set1_pd(factor), _mm512_loadu_pd(limit));

    return _mm512_cmp_pd_mask(d, limits, _CMP_GT_OQ) != 0;
}

#include "walk_steps.h"

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
}

const bh__walk_row bh__walk_avx512 = {"avx512", has_avx512, step_open, step_collect, step_drop, step_reach};
#else
typedef int bh__no_avx512; /* a file is never empty */
#endif
