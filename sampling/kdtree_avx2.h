/* SPDX-License-Identifier: BSD-3-Clause */
/* kdtree_plain.h for AVX2, with the same results to the last bit: KD_PARTS vectors hold the lanes. kdtree_one.h
 * includes this file. */

#define KD_PART (KD_LANES / KD_PARTS)
#define KD_EACH for (int p = 0; p < KD_PARTS; p++)

typedef struct KD_BLOCK {
    KD_VECTOR part[KD_PARTS];
} KD_BLOCK;

/* Lane numbers as floating-point bits. */
static const KD_KEY KD_STATIC(lane_bits)[KD_LANES] = {0, 1, 2, 3, 4, 5, 6, 7};

KD_TARGET KD_INLINE KD_VECTOR KD_ISA(lane_numbers)(int p)
{
    return KD_CAST(_mm256_loadu_si256((const __m256i *)(const void *)&KD_STATIC(lane_bits)[p * KD_PART]));
}

KD_TARGET KD_INLINE KD_VECTOR KD_ISA(squares)(const KD_REAL *column, KD_REAL place)
{
    const KD_VECTOR away = KD_V(sub)(KD_V(loadu)(column), KD_V(set1)(place));

    return KD_V(mul)(away, away);
}

KD_TARGET KD_INLINE KD_BLOCK KD_ISA(distances)(const KD_REAL *column, int32_t size, const KD_REAL *query, const int dim)
{
    KD_BLOCK sum;

    KD_EACH
    {
        sum.part[p] = KD_ISA(squares)(column + p * KD_PART, query[0]);
        for (int d = 1; d < dim; d++) {
            const KD_REAL *other = column + (ptrdiff_t)d * size + p * KD_PART;
            sum.part[p] = KD_V(add)(sum.part[p], KD_ISA(squares)(other, query[d]));
        }
    }
    return sum;
}

KD_TARGET KD_INLINE KD_REAL KD_ISA(least_of)(const KD_BLOCK *block, int32_t size)
{
    KD_VECTOR least = KD_V(set1)((KD_REAL)INFINITY);

    KD_EACH
    {
        const KD_VECTOR is_point = KD_CAST(KD_GREATER(KD_SET_KEY(size), KD_UNCAST(KD_ISA(lane_numbers)(p))));
        least = KD_V(blendv)(least, KD_V(min)(least, block->part[p]), is_point);
    }
    return KD_HORIZONTAL_MIN(least);
}

KD_TARGET KD_INLINE unsigned KD_ISA(up_to)(const KD_BLOCK *block, KD_REAL limit)
{
    unsigned bits = 0;

    KD_EACH
    {
        const KD_VECTOR is_wanted = KD_V(cmp)(block->part[p], KD_V(set1)(limit), _CMP_LE_OQ);
        bits |= (unsigned)KD_V(movemask)(is_wanted) << p * KD_PART;
    }
    return bits;
}

KD_TARGET KD_INLINE void KD_ISA(store)(const KD_BLOCK *block, KD_REAL *x)
{
    KD_EACH
    {
        KD_V(storeu)(x + p * KD_PART, block->part[p]);
    }
}

#undef KD_PART
#undef KD_EACH
