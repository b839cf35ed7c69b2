/* SPDX-License-Identifier: BSD-3-Clause */
/* KD_LANES numbers at once, in plain C. The loops have constant lengths, so that the compiler can use the baseline
 * vectors of the architecture. kdtree_one.h includes this file. */

typedef struct KD_BLOCK {
    KD_REAL x[KD_LANES];
} KD_BLOCK;

/* Squared distances of the `size` points of a leaf's block; the remaining lanes are undefined. */
KD_INLINE KD_BLOCK KD_ISA(distances)(const KD_REAL *column, int32_t size, const KD_REAL *query, const int dim)
{
    KD_BLOCK sum = {{0}};

    for (int d = 0; d < dim; d++, column += size) {
        for (int i = 0; i < KD_LANES; i++) {
            const KD_REAL away = column[i] - query[d];
            sum.x[i] += away * away;
        }
    }
    return sum;
}

/* The smallest of the first `size` lanes. */
KD_INLINE KD_REAL KD_ISA(least_of)(const KD_BLOCK *block, int32_t size)
{
    KD_REAL least = block->x[0];

    for (int i = 1; i < size; i++) {
        least = block->x[i] < least ? block->x[i] : least;
    }
    return least;
}

/* The lanes that do not exceed a limit, as bits. */
KD_INLINE unsigned KD_ISA(up_to)(const KD_BLOCK *block, KD_REAL limit)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < KD_LANES; i++) {
        bits |= (unsigned)(block->x[i] <= limit) << i;
    }
    return bits;
}

KD_INLINE void KD_ISA(store)(const KD_BLOCK *block, KD_REAL *x)
{
    memcpy(x, block->x, sizeof block->x);
}
