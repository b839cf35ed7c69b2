/* SPDX-License-Identifier: BSD-3-Clause */
#include "force.h"

#include "kernel.h"

#include <equipoise/error.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64

struct bh_kernel {
    _Alignas(CACHE_LINE) bh_points points;
    _Alignas(CACHE_LINE) bh_bodies bodies;
    const bh_kernel_row *row;
};

int bh_kernel_create(bh_kernel **kernel)
{
    /* The size is a multiple of the alignment, as aligned_alloc() wants, because the alignment is a member's. */
    bh_kernel *made = aligned_alloc(CACHE_LINE, sizeof *made);

    if (made == NULL) {
        return EQP_ERR_MEMORY;
    }
    memset(made, 0, sizeof *made);
    made->row = &bh_kernel_table[0];
    *kernel = made;
    return EQP_OK;
}

void bh_kernel_free(bh_kernel *kernel)
{
    free(kernel);
}

double bh_potential_self(double G, double m, double eps)
{
    return eps * eps > BH_LEAST_SQUARE ? -G * m * (1.0 / sqrt(eps * eps)) : 0.0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Fills up the lanes behind the last source with bodies of no mass. */
static int64_t pad_points(bh_points *block, int64_t n)
{
    for (; n % BH_LANES != 0; n++) {
        block->x[n] = block->y[n] = block->z[n] = block->m[n] = 0.0;
    }
    return n;
}

static void points_of_runs(bh_kernel *kernel, const bh_tree *tree, const bh_list *list, double G, double eps2,
                           const bh_targets *targets)
{
    bh_points *block = &kernel->points;
    const bh_sources *from = &tree->sources;
    int64_t filled = 0;

    for (int64_t run = 0; run < list->nruns; run++) {
        int64_t first = list->run_first[run], left = list->run_count[run];
        while (left > 0) {
            int64_t count = least(left, BH_BLOCK_POINTS - filled);
            size_t bytes = (size_t)count * sizeof(double);
            memcpy(block->x + filled, from->x + first, bytes);
            memcpy(block->y + filled, from->y + first, bytes);
            memcpy(block->z + filled, from->z + first, bytes);
            memcpy(block->m + filled, from->m + first, bytes);
            filled += count;
            first += count;
            left -= count;
            if (filled == BH_BLOCK_POINTS) {
                kernel->row->points(block, filled, G, eps2, targets);
                filled = 0;
            }
        }
    }
    if (filled > 0) {
        kernel->row->points(block, pad_points(block, filled), G, eps2, targets);
    }
}

static void put_body(bh_bodies *block, int64_t i, const bh_moments *moments)
{
    block->x[i] = moments->com[0];
    block->y[i] = moments->com[1];
    block->z[i] = moments->com[2];
    block->m[i] = moments->mass;
    block->qxx[i] = moments->quad[0];
    block->qxy[i] = moments->quad[1];
    block->qxz[i] = moments->quad[2];
    block->qyy[i] = moments->quad[3];
    block->qyz[i] = moments->quad[4];
    block->qzz[i] = moments->quad[5];
    block->trace[i] = moments->trace;
}

static void bodies_of_cells(bh_kernel *kernel, const bh_tree *tree, const bh_list *list, double G, double eps2,
                            const bh_targets *targets)
{
    static const bh_moments nothing = {0};
    bh_bodies *block = &kernel->bodies;

    for (int64_t first = 0; first < list->ncells; first += BH_BLOCK_BODIES) {
        int64_t n = least(list->ncells - first, BH_BLOCK_BODIES);
        for (int64_t i = 0; i < n; i++) {
            put_body(block, i, &tree->cell[list->cell[first + i]].moments);
        }
        for (; n % BH_LANES != 0; n++) {
            put_body(block, n, &nothing);
        }
        kernel->row->bodies(block, n, G, eps2, targets);
    }
}

int bh_force(bh_kernel *kernel, const bh_tree *tree, const bh_list *list, double G, double eps, int64_t n,
             const double *x, const double *y, const double *z, double *ax, double *ay, double *az, double *pot)
{
    bh_targets targets = {n, x, y, z, ax, ay, az, pot};

    if (n < 0 || !isfinite(G) || !isfinite(eps)) {
        return EQP_ERR_ARGUMENT;
    }
    bodies_of_cells(kernel, tree, list, G, eps * eps, &targets);
    points_of_runs(kernel, tree, list, G, eps * eps, &targets);
    return EQP_OK;
}
