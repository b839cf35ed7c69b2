/* SPDX-License-Identifier: BSD-3-Clause */
/* With T the derivatives of Ra = sqrt(R^2 + a^2), U = T_ijj.. those of its Laplacian, and e the permutation symbol, a
 * line element b_m dx_k causes the stress
 *     s_ab = mu/8pi U_i (e_ima b_m dx_b + e_imb b_m dx_a) + mu/(4pi (1 - nu)) (T_iab - d_ab U_i) e_imk b_m dx_k.
 * So everything is a sum over far cells of kernels T, U (of the offset alone) times weights (of the cell's moments
 * alone), the same 18 products for each of the 6 stresses and their 18 derivatives. */
#ifndef DD_FAR_TABLE_H
#define DD_FAR_TABLE_H

#include "far.h"

#include <stdlib.h>

enum {
    LANES = 8,
    MOST_LANES = 3 * LANES,          /* that are worked on at a time */
    FIRST_ORDER = 3,                 /* of the derivatives T in the table */
    TABLE = 10 + 15 + 21,            /* those of orders 3, 4, 5 */
    KERNELS = TABLE + 3 + 6 + 10,    /* and U of orders 1, 2, 3 */
    WEIGHTS = 6 * 3 + 6 * 6 + 3 + 6, /* on U_i, U_il, T_iab, T_ilab */
    ON_T = 6 * 3 + 6 * 6,            /* where the weights on T begin */
    TERMS = 3 + 6 + 3 + 6            /* products of one component of the field */
};

/* Places in an array of kernels [KERNELS][MOST_LANES] and of weights [WEIGHTS][nz]. */
typedef struct term {
    int64_t kernel, weight;
} term;

struct dd_far {
    dd_medium medium;
    double low[3], width[3];
    int64_t n[3], cells;
    bool periodic[3];
    int64_t columns[2];             /* |offsets| along x and y in the table */
    int64_t nz;                     /* n[2] rounded up to lanes: cells beyond n[2] have no weight */
    int64_t offsets;                /* along z in the table, from -(n[2] - 1) */
    int power[TABLE][3];            /* of each T: how often by x, y, z */
    int traced[KERNELS - TABLE][3]; /* the T whose sum is a U */
    term terms[DD_FAR_FIELD][TERMS];
    double *table;  /* [columns][columns][TABLE][offsets] */
    double *weight; /* [n[0]][n[1]][WEIGHTS][nz] */
};

/* Fills power, traced, terms and the table. */
void dd_far_fill(dd_far *far);

static inline double *dd_far_table(const dd_far *far, int64_t x, int64_t y)
{
    return far->table + (x * far->columns[1] + y) * TABLE * far->offsets;
}

static inline double *dd_far_weights(const dd_far *far, int64_t x, int64_t y)
{
    return far->weight + (x * far->n[1] + y) * WEIGHTS * far->nz;
}

static inline void dd_far_place(const dd_far *far, int64_t cell, int64_t at[3])
{
    at[0] = cell / far->n[2] / far->n[1];
    at[1] = cell / far->n[2] % far->n[1];
    at[2] = cell % far->n[2];
}

/* The nearest image of an offset in cells; *half where the one on the other side is as near. */
static inline int64_t dd_far_nearest(const dd_far *far, int d, int64_t offset, bool *half)
{
    int64_t n = far->n[d];

    *half = false;
    if (!far->periodic[d]) {
        return offset;
    }
    offset = (offset % n + n) % n;
    *half = 2 * offset == n;
    return 2 * offset > n ? offset - n : offset;
}

static inline bool dd_far_touch(const int64_t offset[3])
{
    return llabs(offset[0]) <= 1 && llabs(offset[1]) <= 1 && llabs(offset[2]) <= 1;
}

#endif
