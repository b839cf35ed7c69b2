/* SPDX-License-Identifier: BSD-3-Clause */
/* KD_LANES numbers at once, in plain C and with AVX2, with the same results to the last bit. kdtree.c includes this
 * file. */

typedef struct block_plain {
    double x[KD_LANES];
} block_plain;

/* Squared distances of the `size` points of a leaf's block; the remaining lanes are undefined. The loops have constant
 * lengths, so that the compiler can use the baseline vectors of the architecture. */
KD_INLINE block_plain distances_plain(const double *column, int32_t size, const double *query, const int dim)
{
    block_plain sum = {{0}};

    for (int d = 0; d < dim; d++, column += size) {
        for (int i = 0; i < KD_LANES; i++) {
            const double away = column[i] - query[d];
            sum.x[i] += away * away;
        }
    }
    return sum;
}

/* The smallest of the first `size` lanes. */
KD_INLINE double least_of_plain(const block_plain *block, int32_t size)
{
    double least = block->x[0];

    for (int i = 1; i < size; i++) {
        least = block->x[i] < least ? block->x[i] : least;
    }
    return least;
}

/* The lanes that do not exceed a limit, as bits. */
KD_INLINE unsigned up_to_plain(const block_plain *block, double limit)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < KD_LANES; i++) {
        bits |= (unsigned)(block->x[i] <= limit) << i;
    }
    return bits;
}

KD_INLINE void store_plain(const block_plain *block, double *x)
{
    memcpy(x, block->x, sizeof block->x);
}

#if defined(KD_HAVE_AVX2)
typedef struct block_avx2 {
    __m256d part[2];
} block_avx2;

KD_TARGET_AVX2 KD_INLINE __m256d squares_avx2(const double *column, double place)
{
    const __m256d away = _mm256_sub_pd(_mm256_loadu_pd(column), _mm256_set1_pd(place));

    return _mm256_mul_pd(away, away);
}

KD_TARGET_AVX2 KD_INLINE block_avx2 distances_avx2(const double *column, int32_t size, const double *query,
                                                   const int dim)
{
    block_avx2 sum;

    for (int p = 0; p < 2; p++) {
        sum.part[p] = squares_avx2(column + 4 * p, query[0]);
        for (int d = 1; d < dim; d++) {
            sum.part[p] = _mm256_add_pd(sum.part[p], squares_avx2(column + (ptrdiff_t)d * size + 4 * p, query[d]));
        }
    }
    return sum;
}

KD_TARGET_AVX2 KD_INLINE double least_of_avx2(const block_avx2 *block, int32_t size)
{
    static const int64_t lane[KD_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    __m256d least = _mm256_set1_pd(INFINITY);

    for (int p = 0; p < 2; p++) {
        const __m256i number = _mm256_loadu_si256((const __m256i *)(const void *)&lane[4 * p]);
        const __m256d is_point = _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_set1_epi64x(size), number));
        least = _mm256_blendv_pd(least, _mm256_min_pd(least, block->part[p]), is_point);
    }
    const __m128d two = _mm_min_pd(_mm256_castpd256_pd128(least), _mm256_extractf128_pd(least, 1));
    return _mm_cvtsd_f64(_mm_min_sd(two, _mm_unpackhi_pd(two, two)));
}

KD_TARGET_AVX2 KD_INLINE unsigned up_to_avx2(const block_avx2 *block, double limit)
{
    unsigned bits = 0;

    for (int p = 0; p < 2; p++) {
        bits |= (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(block->part[p], _mm256_set1_pd(limit), _CMP_LE_OQ)) << 4 * p;
    }
    return bits;
}

KD_TARGET_AVX2 KD_INLINE void store_avx2(const block_avx2 *block, double *x)
{
    _mm256_storeu_pd(x, block->part[0]);
    _mm256_storeu_pd(x + 4, block->part[1]);
}
#endif
