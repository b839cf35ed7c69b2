/* SPDX-License-Identifier: BSD-3-Clause */
#include "force.h"
#include "kernel.h"

#include <equipoise/error.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The exponents of units of length and mass, of G and eps, with which no product of a few of them overflows. Larger
 * values are left to the plain row, whose terms vanish where those of the vector rows become undefined. */
#define MOST_UNIT 0x1p200

/* Unit of length of mixed precision, relative to the power of two above the root cube's side: in the logarithmic middle
 * between the side and the resolution of the deepest cells. */
#define UNIT_OF_SIDE 0x1p-11

/* Single precision rounds coordinates to 2^-25 of the targets' bounds, so a distance of this share of them has a
 * relative error of at most 2^-12. */
#define LEAST_OF_BOUNDS 0x1p-12

/* Least distance, in units, that keeps (2 / s)^5 below 2^125. */
#define LEAST_DISTANCE 0x1p-24

struct bh_kernel {
    bh_block block;
    const bh_kernel_row *row;
    const bh_kernel_row *exact; /* the same in double precision */
    const bh_kernel_row *wide;  /* for numbers of any size */
};

const char *bh_kernel_list(int i, bool *runs_here)
{
    if (i < 0 || 2 * i >= bh_kernel_table_size) {
        return NULL;
    }
    if (runs_here != NULL) {
        *runs_here = bh_kernel_table[2 * i]->runs_here();
    }
    return bh_kernel_table[2 * i]->name;
}

/* Index of a name in bh_kernel_list(). */
static int choose(const char *name, int *chosen)
{
    bool any = name == NULL || strcmp(name, "auto") == 0, known = false, runs_here;
    const char *listed;

    for (int i = 0; (listed = bh_kernel_list(i, &runs_here)) != NULL; i++) {
        bool wanted = any || strcmp(listed, name) == 0;
        if (wanted && runs_here) {
            *chosen = i;
        }
        known = known || wanted;
        EQP_CHECK(wanted && !runs_here && !any ? EQP_ERR_STATE : EQP_OK);
    }
    return known ? EQP_OK : EQP_ERR_UNKNOWN;
}

int bh_kernel_create(const char *name, bh_precision precision, bh_kernel **kernel)
{
    bh_kernel *made;
    int chosen = 0, code = choose(name, &chosen);

    if (code != EQP_OK) {
        return code;
    }
    /* aligned_alloc() requires a multiple of the alignment, which sizeof is, as the alignment is a member's. */
    made = aligned_alloc(_Alignof(bh_kernel), sizeof *made);
    EQP_CHECK(made == NULL ? EQP_ERR_MEMORY : EQP_OK);
    memset(made, 0, sizeof *made);
    made->row = bh_kernel_table[2 * chosen + (precision == BH_MIXED)];
    made->exact = bh_kernel_table[2 * chosen];
    made->wide = bh_kernel_table[0];
    *kernel = made;
    return EQP_OK;
}

void bh_kernel_free(bh_kernel *kernel)
{
    free(kernel);
}

const char *bh_kernel_name(const bh_kernel *kernel)
{
    return kernel->row->name;
}

bh_precision bh_kernel_precision(const bh_kernel *kernel)
{
    return kernel->row->precision;
}

double bh_potential_self(double G, double m, double eps)
{
    return eps * eps > BH_LEAST_SQUARE ? -G * m * (1.0 / sqrt(eps * eps)) : 0.0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A cutoff's square in units of length. Neither 0 nor infinite in single precision: everything at distance 0 is within
 * it, and everything that fits. */
static double cutoff2_in(double cutoff, double length)
{
    if (!(cutoff > 0)) {
        return 0;
    }
    const double scaled = cutoff / length;
    return fmin(fmax(scaled * scaled, (double)FLT_MIN), (double)FLT_MAX);
}

static void frame_in_double(double G, double eps, double cutoff, bh_frame *frame)
{
    frame->eps2 = eps * eps;
    frame->acceleration = frame->potential = G;
    frame->bare = !(eps * eps > BH_LEAST_SQUARE);
    frame->pairs_in_double = true;
    frame->cutoff2 = cutoff > 0 ? fmax(cutoff * cutoff, DBL_MIN) : 0;
    frame->per_length = frame->per_mass = 1;
    for (int k = 0; k < 3; k++) {
        frame->shift[k] = frame->half[k] = 0;
    }
    frame->least = 0;
}

static bool usable_unit(double unit)
{
    return unit >= 1 / MOST_UNIT && unit <= MOST_UNIT;
}

/* Smallest power of two above x > 0, which is not denormal, and its reciprocal. */
static double power_above(double x, double *reciprocal)
{
    uint64_t bits, inverse;
    double power;

    memcpy(&bits, &x, sizeof bits);
    bits = ((bits >> 52) + 1) << 52;
    inverse = ((uint64_t)2046 << 52) - bits;
    memcpy(&power, &bits, sizeof power);
    memcpy(reciprocal, &inverse, sizeof inverse);
    return power;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Units follow from the root cube and its mass alone, so that all ranks use the same. False if these targets fit single
 * precision in no units; sources are checked when gathered. */
static bool frame_mixed(const bh_kernel_row *row, const bh_tree *tree, double G, double eps, double cutoff,
                        const bh_targets *targets, bh_frame *frame)
{
    const bool rooted = tree->root >= 0 && (tree->shared.common != NULL || tree->root < tree->ncells);
    const double side = tree->box.side, mass = rooted ? tree->cell[tree->root].moments.mass : 1;
    double lo[3], hi[3], reach = 0, reciprocal;

    if (targets->n < 1 || !usable_unit(side) || !usable_unit(mass)) {
        return false;
    }
    const double length = power_above(side, &reciprocal) * UNIT_OF_SIDE, per_length = reciprocal / UNIT_OF_SIDE;
    const double soft = fabs(eps) * per_length;
    row->bounds(targets, lo, hi);
    for (int k = 0; k < 3; k++) {
        frame->shift[k] = -(0.5 * lo[k] + 0.5 * hi[k]) * per_length;
        frame->half[k] = (0.5 * hi[k] - 0.5 * lo[k]) * per_length;
        reach = larger(reach, frame->half[k]);
    }
    if (!(reach <= 0.25 * (double)BH_MIXED_MOST_LENGTH && soft <= (double)BH_MIXED_MOST_LENGTH)) {
        return false;
    }
    const double needed = larger(reach * LEAST_OF_BOUNDS, LEAST_DISTANCE);
    frame->eps2 = soft * soft;
    frame->acceleration = G * (mass * per_length * per_length);
    frame->potential = G * (mass * per_length);
    frame->bare = false;
    frame->pairs_in_double = soft < needed;
    frame->cutoff2 = cutoff2_in(cutoff, length);
    frame->per_length = per_length;
    frame->per_mass = 1 / mass;
    frame->least = frame->pairs_in_double ? needed : -INFINITY;
    return true;
}

/* Parts of a list are computed by `row` in `frame` where possible, else by `exact` in `plain`. */
typedef struct plan {
    const bh_kernel_row *row, *exact;
    const bh_frame *frame, *plain;
} plan;

static void add_bodies(bh_block *block, const plan *by, const bh_tree *tree, const bh_list *list,
                       const bh_targets *targets)
{
    for (int64_t first = 0; first < list->ncells; first += BH_BLOCK_BODIES) {
        const int64_t n = least(list->ncells - first, BH_BLOCK_BODIES), *number = list->cell + first;
        bool fits = true;

        by->row->put_bodies(block, by->frame, tree->cell, number, n, &fits);
        if (fits) {
            by->row->bodies(block, n, by->frame, targets);
        } else {
            by->exact->put_bodies(block, by->plain, tree->cell, number, n, &fits);
            by->exact->bodies(block, n, by->plain, targets);
        }
    }
}

static void add_points(bh_block *block, const plan *by, const bh_tree *tree, const bh_list *list,
                       const bh_targets *targets)
{
    bh_cursor at = {0, 0};

    while (at.run < list->nruns) {
        bh_cursor begin = at;
        bool fits = true;
        int64_t n = by->row->put_points(block, by->frame, &tree->sources, list, &at, &fits);

        if (fits) {
            by->row->points(block, n, by->frame, targets);
        } else {
            at = begin;
            n = by->exact->put_points(block, by->plain, &tree->sources, list, &at, &fits);
            by->exact->points(block, n, by->plain, targets);
        }
    }
}

int bh_force(bh_kernel *kernel, const bh_tree *tree, const bh_list *list, double G, double eps, int64_t n,
             const double *x, const double *y, const double *z, double *ax, double *ay, double *az, double *pot)
{
    const bh_targets targets = {n, x, y, z, ax, ay, az, pot};
    const bool wide = !(tree->box.side <= MOST_UNIT && fabs(eps) <= MOST_UNIT);
    const bh_kernel_row *exact = wide ? kernel->wide : kernel->exact;
    bh_frame plain, mixed;
    const plan in_double = {exact, exact, &plain, &plain};

    EQP_CHECK(n < 0 || !isfinite(G) || !isfinite(eps) ? EQP_ERR_ARGUMENT : EQP_OK);
    frame_in_double(G, eps, list->cutoff, &plain);
    if (kernel->row->precision == BH_DOUBLE || wide ||
        !frame_mixed(kernel->row, tree, G, eps, list->cutoff, &targets, &mixed)) {
        add_bodies(&kernel->block, &in_double, tree, list, &targets);
        add_points(&kernel->block, &in_double, tree, list, &targets);
        return EQP_OK;
    }
    const plan in_mixed = {kernel->row, exact, &mixed, &plain};
    add_bodies(&kernel->block, &in_mixed, tree, list, &targets);
    add_points(&kernel->block, mixed.pairs_in_double ? &in_double : &in_mixed, tree, list, &targets);
    return EQP_OK;
}

const bh_kernel_row *const bh_kernel_table[] = {
    &bh_kernel_plain[BH_DOUBLE],  &bh_kernel_plain[BH_MIXED],
#ifdef BH_KERNEL_AVX2
    &bh_kernel_avx2[BH_DOUBLE],   &bh_kernel_avx2[BH_MIXED],
#endif
#ifdef BH_KERNEL_AVX512
    &bh_kernel_avx512[BH_DOUBLE], &bh_kernel_avx512[BH_MIXED],
#endif
};

const int bh_kernel_table_size = (int)(sizeof bh_kernel_table / sizeof bh_kernel_table[0]);
