/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of all offsets, and which of them meets which weight. */
#include "far_table.h"

#include <math.h>
#include <string.h>

/* Components of a symmetric tensor. */
static const int first_of[6] = {0, 1, 2, 1, 0, 0}, second_of[6] = {0, 1, 2, 2, 2, 1};

/* The place of a derivative, px, py, pz times by x, y, z, among those of its order: x first. */
static int place_of(const int power[3])
{
    int rest = power[1] + power[2];

    return rest * (rest + 1) / 2 + power[2];
}

static int first_of_order(int order)
{
    /* All derivatives below an order q number q (q + 1) (q + 2) / 6. */
    return (order * (order + 1) * (order + 2) - FIRST_ORDER * (FIRST_ORDER + 1) * (FIRST_ORDER + 2)) / 6;
}

static int kernel_t(const int power[3])
{
    return first_of_order(power[0] + power[1] + power[2]) + place_of(power);
}

static int kernel_u(const int power[3])
{
    static const int first[4] = {0, 0, 3, 9};

    return TABLE + first[power[0] + power[1] + power[2]] + place_of(power);
}

/* One derivative of Ra: over all ways to pair equal directions, d of order q of f(R^2 / 2) is a sum of products of R
 * and f^(q - pairs). */
static double derivative(const int power[3], const double R[3], const double f[6])
{
    /* Ways to choose so many pairs out of so many. */
    static const double ways[6][3] = {{1, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 3, 0}, {1, 6, 3}, {1, 10, 15}};
    int order = power[0] + power[1] + power[2];
    double sum = 0;

    for (int i = 0; 2 * i <= power[0]; i++) {
        for (int j = 0; 2 * j <= power[1]; j++) {
            for (int k = 0; 2 * k <= power[2]; k++) {
                int pairs[3] = {i, j, k};
                double product = f[order - i - j - k];
                for (int d = 0; d < 3; d++) {
                    product *= ways[power[d]][pairs[d]];
                    for (int m = 2 * pairs[d]; m < power[d]; m++) {
                        product *= R[d];
                    }
                }
                sum += product;
            }
        }
    }
    return sum;
}

/* Derivatives for one offset into table[TABLE], `stride` apart; zeros for a near one. */
static void fill_entry(const dd_far *far, const int64_t cells[3], double *table, int64_t stride)
{
    int64_t offset[3];
    bool half[3];
    double R[3], f[6], Ra = far->medium.a * far->medium.a;

    for (int d = 0; d < 3; d++) {
        offset[d] = dd_far_nearest(far, d, cells[d], &half[d]);
        R[d] = (double)offset[d] * far->width[d];
        Ra += R[d] * R[d];
    }
    if (dd_far_touch(offset)) {
        return;
    }
    f[0] = sqrt(Ra);
    f[1] = 1 / f[0];
    for (int i = 2; i < 6; i++) {
        f[i] = -(2 * i - 3) * f[i - 1] / Ra;
    }
    for (int t = 0; t < TABLE; t++) {
        bool odd = false;
        for (int d = 0; d < 3; d++) {
            odd |= half[d] && far->power[t][d] % 2;
        }
        /* What is odd in a direction cancels between the images on both sides. */
        table[t * stride] = odd ? 0 : derivative(far->power[t], R, f);
    }
}

static void fill_table(dd_far *far)
{
    for (int64_t x = 0; x < far->columns[0]; x++) {
        for (int64_t y = 0; y < far->columns[1]; y++) {
            for (int64_t z = 1 - far->n[2]; z < far->n[2]; z++) {
                const int64_t cells[3] = {x, y, z};
                fill_entry(far, cells, dd_far_table(far, x, y) + z + far->n[2] - 1, far->offsets);
            }
        }
    }
}

static void list_powers(dd_far *far)
{
    for (int order = FIRST_ORDER - 2; order <= FIRST_ORDER; order++) {
        for (int px = order; px >= 0; px--) {
            for (int py = order - px; py >= 0; py--) {
                for (int d = 0; d < 3; d++) {
                    int power[3] = {px, py, order - px - py};
                    int u = kernel_u(power) - TABLE;
                    power[d] += 2;
                    far->traced[u][d] = kernel_t(power);
                }
            }
        }
    }
    for (int order = FIRST_ORDER; order <= FIRST_ORDER + 2; order++) {
        for (int px = order; px >= 0; px--) {
            for (int py = order - px; py >= 0; py--) {
                const int power[3] = {px, py, order - px - py};
                memcpy(far->power[kernel_t(power)], power, sizeof power);
            }
        }
    }
}

/* Which kernels meet which weights in component v of the stress, differentiated by p (-1: not). */
static void list_terms(term *terms, int v, int p)
{
    for (int on_t = 0; on_t < 2; on_t++) {
        for (int i = 0; i < 3 + 6; i++) {
            int power[3] = {0, 0, 0};
            term *entry = &terms[on_t * (3 + 6) + i];
            power[i < 3 ? i : first_of[i - 3]]++;
            if (i >= 3) {
                power[second_of[i - 3]]++;
            }
            if (p >= 0) {
                power[p]++;
            }
            if (on_t) {
                power[first_of[v]]++;
                power[second_of[v]]++;
                entry->kernel = kernel_t(power);
                entry->weight = ON_T + i;
            } else {
                entry->kernel = kernel_u(power);
                entry->weight = i < 3 ? 3 * v + i : 18 + 6 * v + i - 3;
            }
        }
    }
}

void dd_far_fill(dd_far *far)
{
    list_powers(far);
    for (int v = 0; v < DD_FAR_FIELD; v++) {
        list_terms(far->terms[v], v % 6, v / 6 - 1);
        for (int t = 0; t < TERMS; t++) {
            far->terms[v][t].kernel *= MOST_LANES;
            far->terms[v][t].weight *= far->nz;
        }
    }
    fill_table(far);
}
