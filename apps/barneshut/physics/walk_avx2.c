/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a walk with AVX2: a family in two registers. The operations are those of walk_plain.c in the same order,
 * never fused. */
#include "walker.h"

#ifdef BH_WALK_X86
#include <immintrin.h>

#define BH_TARGET __attribute__((target("avx2,popcnt,bmi,bmi2")))
#include "walk_one.h"

typedef const bh__walker *criterion;

static inline criterion criterion_of(const bh__walker *w)
{
    return w;
}

BH_TARGET static inline __m256d off_bounds(const double *com, double lo, double hi)
{
    const __m256d at = _mm256_load_pd(com);
    const __m256d below = _mm256_sub_pd(_mm256_set1_pd(lo), at), above = _mm256_sub_pd(at, _mm256_set1_pd(hi));
    const __m256d d = _mm256_max_pd(_mm256_max_pd(below, above), _mm256_setzero_pd());

    return _mm256_mul_pd(d, d);
}

/* The lanes farther from the group than `sides` plus the cell's offset. */
BH_TARGET static inline unsigned beyond(__m256d d2, double sides, const double *offset)
{
    const __m256d reach = _mm256_add_pd(_mm256_set1_pd(sides), _mm256_load_pd(offset));

    return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(d2, _mm256_mul_pd(reach, reach), _CMP_GT_OQ));
}

/* The lanes of four children from `first` on that may act as one body; *doubtful: lanes among these that may be too
 * near.
 */
BH_TARGET static inline unsigned far_half(const bh__walker *w, bool relative, const bh_family *family, int first,
                                          unsigned *doubtful)
{
    const double *lo = w->group->lo, *hi = w->group->hi, side = w->side[family->level];
    const __m256d x2 = off_bounds(family->x + first, lo[0], hi[0]);
    const __m256d y2 = off_bounds(family->y + first, lo[1], hi[1]);
    const __m256d d2 = _mm256_add_pd(_mm256_add_pd(x2, y2), off_bounds(family->z + first, lo[2], hi[2]));

    if (!relative) {
        return beyond(d2, side * w->reciprocal, family->offset + first) << first;
    }
    const __m256d sides = _mm256_set1_pd(side);
    const __m256d mass = _mm256_mul_pd(_mm256_set1_pd(w->G), _mm256_load_pd(family->mass + first));
    const __m256d strong = _mm256_mul_pd(_mm256_mul_pd(mass, sides), sides);
    const __m256d weak = _mm256_mul_pd(_mm256_mul_pd(_mm256_set1_pd(w->strength), d2), d2);
    const unsigned far = (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(strong, weak, _CMP_LT_OQ));
    *doubtful |= (far & ~beyond(d2, BH_GUARD_REACH * side, family->offset + first)) << first;
    return far << first;
}

BH_TARGET static inline unsigned far_lanes(const criterion *c, bool relative, const bh_family *family)
{
    unsigned doubtful = 0, far = far_half(*c, relative, family, 0, &doubtful);

    if (family->nchild > 4) {
        far |= far_half(*c, relative, family, 4, &doubtful);
    }
    doubtful &= family->bodies;
    return doubtful != 0 ? far & ~(doubtful & bh__beside_lanes(*c, family)) : far;
}

typedef struct distances {
    __m256d low, high;
} distances;

BH_TARGET static inline __m256d half_distances(const bh__planes *planes, int first, const double at[3])
{
    const __m256d x = _mm256_mul_pd(_mm256_loadu_pd(planes->normal[0] + first), _mm256_set1_pd(at[0]));
    const __m256d y = _mm256_mul_pd(_mm256_loadu_pd(planes->normal[1] + first), _mm256_set1_pd(at[1]));
    const __m256d z = _mm256_mul_pd(_mm256_loadu_pd(planes->normal[2] + first), _mm256_set1_pd(at[2]));

    return _mm256_sub_pd(_mm256_add_pd(_mm256_add_pd(x, y), z), _mm256_loadu_pd(planes->away + first));
}

BH_TARGET static inline distances distances_of(const bh__planes *planes, const double at[3])
{
    return (distances){half_distances(planes, 0, at), half_distances(planes, 4, at)};
}

BH_TARGET static inline bool any_above(distances d, double factor, const double *limit)
{
    const __m256d f = _mm256_set1_pd(factor);
    const __m256d low = _mm256_cmp_pd(d.low, _mm256_mul_pd(f, _mm256_loadu_pd(limit)), _CMP_GT_OQ);
    const __m256d high = _mm256_cmp_pd(d.high, _mm256_mul_pd(f, _mm256_loadu_pd(limit + 4)), _CMP_GT_OQ);

    return _mm256_movemask_pd(_mm256_or_pd(low, high)) != 0;
}

#include "walk_steps.h"

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

const bh__walk_row bh__walk_avx2 = {"avx2", has_avx2, step_open, step_collect, step_drop, step_reach};
#else
typedef int bh__no_avx2; /* a file is never empty */
#endif
