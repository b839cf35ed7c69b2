/* SPDX-License-Identifier: BSD-3-Clause */
/* The nearest of an owner's centroids, for one point or many. */
#include "units_internal.h"
#include "versions.h"

#include <math.h>
#include <string.h>

/* Points searched at a time, and the number of centroids up to which this is faster than the tree. */
#define BLOCK 32
#define BLOCK_CELLS 384

static inline int64_t nearest_linear(int dim, int64_t n, const double *centroid, const double *point)
{
    int64_t best = 0;
    double least = INFINITY;

    for (int64_t c = 0; c < n; c++) {
        double sum = 0;
        for (int d = 0; d < dim; d++) {
            double x = centroid[c * dim + d] - point[d];
            sum += x * x;
        }
        if (sum < least) {
            least = sum;
            best = c;
        }
    }
    return best;
}

int64_t eqp__cells_nearest(int dim, int64_t n, const double *centroid, const eqp_kdtree *tree, const double *point)
{
    int64_t best = 0;

    if (tree) {
        /* only a point that is not finite fails, and has no nearest cell */
        return eqp_kdtree_nearest(tree, point, &best, NULL) == EQP_OK ? best : 0;
    }
    /* The compiler unrolls the common case. */
    return dim == 3 ? nearest_linear(3, n, centroid, point) : nearest_linear(dim, n, centroid, point);
}

/* BLOCK points in three dimensions, with sums in the same order as nearest_linear(). */
EQP__VERSIONS("avx2", "default")
static void nearest_block(int64_t n, const double *centroid, const double *point, int64_t *cell)
{
    double x[BLOCK], y[BLOCK], z[BLOCK], least[BLOCK];
    int64_t best[BLOCK];

    for (int i = 0; i < BLOCK; i++) {
        x[i] = point[3 * i];
        y[i] = point[3 * i + 1];
        z[i] = point[3 * i + 2];
        least[i] = INFINITY;
        best[i] = 0;
    }
    for (int64_t c = 0; c < n; c++) {
        const double cx = centroid[3 * c], cy = centroid[3 * c + 1], cz = centroid[3 * c + 2];
        for (int i = 0; i < BLOCK; i++) {
            const double dx = cx - x[i], dy = cy - y[i], dz = cz - z[i];
            const double sum = dx * dx + dy * dy + dz * dz;
            const int64_t closer = -(int64_t)(sum < least[i]); /* all bits or none, without a branch */
            best[i] ^= (best[i] ^ c) & closer;
            least[i] = sum < least[i] ? sum : least[i];
        }
    }
    memcpy(cell, best, sizeof best);
}

void eqp__cells_nearest_all(int dim, int64_t n, const double *centroid, const eqp_kdtree *tree, int64_t npoints,
                            const double *point, int64_t *cell)
{
    int64_t i = 0;

    for (; dim == 3 && n <= BLOCK_CELLS && i + BLOCK <= npoints; i += BLOCK) {
        nearest_block(n, centroid, point + 3 * i, cell + i);
    }
    for (; i < npoints; i++) {
        cell[i] = eqp__cells_nearest(dim, n, centroid, tree, point + i * dim);
    }
}

int eqp__cells_tree(int dim, int64_t n, const double *centroid, eqp_kdtree **tree)
{
    *tree = NULL;
    return n > EQP__LINEAR_CELLS ? eqp_kdtree_create(n, dim, centroid, NULL, tree) : EQP_OK;
}
