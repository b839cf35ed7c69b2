/* SPDX-License-Identifier: BSD-3-Clause */
#include "kdtree_check.h"
#include "memory.h"
#include <equipoise/more/kdtree.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The loops over axes are compiled for 2, 3 and any dimension; this needs inlining. */
#if defined(__GNUC__) && !defined(EQP_SANITIZED)
#define KD_INLINE static inline __attribute__((always_inline))
#else
#define KD_INLINE static inline
#endif

/* Above this depth a side of a cut may have a single point, which adapts best to clusters and outliers; below it, at
 * least a quarter of the points. */
#define KD_DEPTH_LOPSIDED 32
#define KD_BALANCED 4

/* Points examined at each end before misplaced ones are swapped. */
#define KD_SIDE 64

/* Points of a leaf examined together. */
#define KD_LANES 8

/* An index above those of all points. */
#define KD_NO_INDEX INT32_MAX

/* Up to this many nearest points are kept sorted; more are kept in a heap. */
#define KD_SORTED_MAX 32

typedef enum kd_wish { KD_NEAREST, KD_SEVERAL } kd_wish;

/* A range of points that will become a node. */
typedef struct kd_task {
    int32_t first;
    int32_t count;
    int32_t parent; /* node above; -1: root */
    int16_t depth;
    bool is_right;
} kd_task;

static bool options_are_valid(const eqp_kdtree_options *options, int dim)
{
    return options->size == sizeof *options && options->leaf_size >= 1 &&
           (options->stride == 0 || options->stride >= dim);
}

/* Restores a heap (largest first) after the element at `at` has become smaller. */
static void sift_index_down(int32_t *index, int32_t at, int32_t n)
{
    const int32_t value = index[at];

    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && index[child + 1] > index[child];
        if (index[child] <= value) {
            break;
        }
        index[at] = index[child];
    }
    index[at] = value;
}

static void sort_indices(int32_t *index, int32_t n)
{
    for (int32_t i = n / 2; i-- > 0;) {
        sift_index_down(index, i, n);
    }
    for (int32_t end = n; end-- > 1;) {
        const int32_t largest = index[0];
        index[0] = index[end];
        index[end] = largest;
        sift_index_down(index, 0, end);
    }
}

static inline int lowest_bit(unsigned bits)
{
#if defined(__GNUC__)
    return __builtin_ctz(bits);
#else
    int bit = 0;

    while ((bits >> bit & 1) == 0) {
        bit++;
    }
    return bit;
#endif
}

#if defined(__GNUC__) && defined(__x86_64__)
#define KD_HAVE_SSE2
#define KD_HAVE_AVX2
#include <immintrin.h>
#define KD_TARGET_AVX2 __attribute__((target("avx2")))

KD_TARGET_AVX2 KD_INLINE double min_of_4(__m256d x)
{
    const __m128d two = _mm_min_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));

    return _mm_cvtsd_f64(_mm_min_sd(two, _mm_unpackhi_pd(two, two)));
}
#endif

#define KD_SEARCH KD_STATIC(search)
#define KD_TAKE KD_STATIC(take)
#define KD_WALK KD_STATIC(walk_fn)
#define KD_WALKS KD_STATIC(walks)
#define KD_NODE KD_STATIC(node)
#define KD_BLOCK KD_ISA(block)
#define KD_FRAME KD_ISA(frame)

#define KD_REAL double
#define KD_KEY uint64_t
#define KD_TREE eqp_kdtree
#define KD_PUBLIC(name) eqp_kdtree_##name
#define KD_STATIC(name) name##_double
#define KD_ISA_PLAIN(name) name##_double_plain
#define KD_ISA_AVX2(name) name##_double_avx2
#define KD_CHECK eqp__kdtree_check
#define KD_USE eqp__kdtree_use
#define KD_PARTS 2
#define KD_VECTOR __m256d
#define KD_V(name) _mm256_##name##_pd
#define KD_CAST _mm256_castsi256_pd
#define KD_UNCAST _mm256_castpd_si256
#define KD_SET_KEY _mm256_set1_epi64x
#define KD_GREATER _mm256_cmpgt_epi64
#define KD_HORIZONTAL_MIN min_of_4
#define KD_SSE(name) _mm_##name##_pd
#define KD_SSE_VECTOR __m128d
#define KD_SSE_LANES 2
#include "kdtree_one.h"
