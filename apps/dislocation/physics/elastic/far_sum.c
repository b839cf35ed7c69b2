/* SPDX-License-Identifier: BSD-3-Clause */
/* The sum over far cells. Lanes are cells side by side along z; they stay apart until the end and no operation is
 * fused, so that every instruction set gives the same bits. */
#include "far_table.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define WITH_AVX2 1
#endif
/* Compiled once for each instruction set and number of lanes. */
#ifdef __GNUC__
#define INLINE __attribute__((__always_inline__)) static inline
#else
#define INLINE static inline
#endif

enum { AT_ONCE = 8 }; /* cells in a column that are summed together */

/* Lanes that one operation takes: compilers would otherwise turn the loops the wrong way round. */
#ifdef __GNUC__
enum { PACK = 4 };
typedef double pack __attribute__((__vector_size__(32)));
#else
enum { PACK = 1 };
typedef double pack;
#endif

/* Kernels for some lanes out of the table. */
INLINE void load_kernels(const dd_far *far, const double *table, const bool *minus, int lanes,
                         double kernel[KERNELS][MOST_LANES])
{
    for (int t = 0; t < TABLE; t++) {
        const double *from = table + t * far->offsets;
        /* A branch, as compilers otherwise transpose the loops. */
        if (minus[t]) {
            for (int i = 0; i < lanes; i++) {
                kernel[t][i] = -from[i];
            }
        } else {
            for (int i = 0; i < lanes; i++) {
                kernel[t][i] = from[i];
            }
        }
    }
    for (int u = 0; u < KERNELS - TABLE; u++) {
        const double *x = kernel[far->traced[u][0]], *y = kernel[far->traced[u][1]], *z = kernel[far->traced[u][2]];
        for (int i = 0; i < lanes; i++) {
            kernel[TABLE + u][i] = x[i] + y[i] + z[i];
        }
    }
}

INLINE void add_lanes(const dd_far *far, const double *kernel, const double *weight, int lanes,
                      double sum[DD_FAR_FIELD][MOST_LANES])
{
    for (int v = 0; v < DD_FAR_FIELD; v++) {
        const term *terms = far->terms[v];
        pack all[MOST_LANES / PACK];
        memcpy(all, sum[v], sizeof all);
        for (int t = 0; t < TERMS; t++) {
            const double *k = kernel + terms[t].kernel, *w = weight + terms[t].weight;
            for (int i = 0; i < lanes / PACK; i++) {
                pack a, b;
                memcpy(&a, k + i * PACK, sizeof a);
                memcpy(&b, w + i * PACK, sizeof b);
                all[i] += a * b;
            }
        }
        memcpy(sum[v], all, sizeof all);
    }
}

INLINE void add_block(const dd_far *far, const double *table, const bool *minus, const double *weight, int lanes,
                      double sum[DD_FAR_FIELD][MOST_LANES])
{
    double kernel[KERNELS][MOST_LANES];

    load_kernels(far, table, minus, lanes, kernel);
    add_lanes(far, kernel[0], weight, lanes, sum);
}

/* Rows of cells whose sources act. */
typedef struct rows {
    int64_t first, end;
} rows;

/* Some cells of one column, side by side along z: they share kernels and weights, which thus come from near caches. */
INLINE void sum_cells(const dd_far *far, rows of, int64_t cell, int64_t count, double (*sum)[DD_FAR_FIELD][MOST_LANES])
{
    bool minus[TABLE], half;
    int64_t at[3];

    dd_far_place(far, cell, at);
    for (int64_t row = of.first; row < of.end; row++) {
        int64_t x = row / far->n[1], y = row % far->n[1];
        /* From the source to the target; along z the table runs the other way. */
        int64_t dx = dd_far_nearest(far, 0, at[0] - x, &half), dy = dd_far_nearest(far, 1, at[1] - y, &half);
        const double *weight = dd_far_weights(far, x, y);
        for (int t = 0; t < TABLE; t++) {
            const int *power = far->power[t];
            minus[t] = ((dx < 0) * power[0] + (dy < 0) * power[1] + power[2]) % 2;
        }
        for (int64_t c = 0; c < count; c++) {
            const double *table = dd_far_table(far, llabs(dx), llabs(dy)) + far->n[2] - 1 - at[2] - c;
            int64_t z = 0;
            for (; far->nz - z >= 3 * LANES; z += 3 * LANES) {
                add_block(far, table + z, minus, weight + z, 3 * LANES, sum[c]);
            }
            if (far->nz - z == 2 * LANES) {
                add_block(far, table + z, minus, weight + z, 2 * LANES, sum[c]);
            } else if (far->nz - z == LANES) {
                add_block(far, table + z, minus, weight + z, LANES, sum[c]);
            }
        }
    }
}

static void sum_plain(const dd_far *far, rows of, int64_t cell, int64_t count, double (*sum)[DD_FAR_FIELD][MOST_LANES])
{
    sum_cells(far, of, cell, count, sum);
}

#ifdef WITH_AVX2
__attribute__((__target__("avx2"))) static void sum_avx2(const dd_far *far, rows of, int64_t cell, int64_t count,
                                                         double (*sum)[DD_FAR_FIELD][MOST_LANES])
{
    sum_cells(far, of, cell, count, sum);
}
#endif

/* At most AT_ONCE cells of one column. */
static void stress_of_few(const dd_far *far, rows of, int64_t cell, int64_t count, double *field)
{
    double sum[AT_ONCE][DD_FAR_FIELD][MOST_LANES] = {{{0}}};

#ifdef WITH_AVX2
    (__builtin_cpu_supports("avx2") ? sum_avx2 : sum_plain)(far, of, cell, count, sum);
#else
    sum_plain(far, of, cell, count, sum);
#endif
    for (int64_t c = 0; c < count; c++) {
        for (int v = 0; v < DD_FAR_FIELD; v++) {
            double all = 0;
            for (int i = 0; i < MOST_LANES; i++) {
                all += sum[c][v][i];
            }
            field[c * DD_FAR_FIELD + v] = all;
        }
    }
}

void dd_far_stress_rows(const dd_far *far, int64_t row, int64_t nrows, int64_t cell, int64_t count, double *field)
{
    const rows of = {row, row + nrows};

    while (count > 0) {
        int64_t of_column = far->n[2] - cell % far->n[2], few = count < of_column ? count : of_column;
        few = few < AT_ONCE ? few : AT_ONCE;
        stress_of_few(far, of, cell, few, field);
        field += few * DD_FAR_FIELD;
        cell += few;
        count -= few;
    }
}

void dd_far_stress_run(const dd_far *far, int64_t cell, int64_t count, double *field)
{
    dd_far_stress_rows(far, 0, far->n[0] * far->n[1], cell, count, field);
}

void dd_far_stress(const dd_far *far, int64_t cell, double field[DD_FAR_FIELD])
{
    dd_far_stress_run(far, cell, 1, field);
}
