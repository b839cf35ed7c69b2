/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of the force, behind one table: a row is one instruction set in one precision. */
#ifndef BH_KERNEL_H
#define BH_KERNEL_H

#include "force.h"

#include <stdbool.h>
#include <stdint.h>

/* Sources in a block: a block of either kind takes at most 23 KiB, so that it stays in the L1 cache for all targets. */
#define BH_BLOCK_POINTS 512
#define BH_BLOCK_BODIES 256

/* Vectors may be written beyond the last source of a block by this many. */
#define BH_BLOCK_SLACK 16

/* Squared (softened) distances up to this count as 0: it keeps 1/s^3 finite when eps is 0. */
#define BH_LEAST_SQUARE 1e-180

#define BH_ROOT_TWO 1.4142135623730951

/* Limits of single precision in a frame's units: coordinates of targets and sources, and masses (0 is allowed); moments
 * follow from both. With these and the frame's least distance every factor of an interaction stays between
 * 2^-120 and 2^120. */
#define BH_MIXED_MOST_LENGTH 0x1p14f
#define BH_MIXED_LEAST_MASS 0x1p-70f
#define BH_MIXED_MOST_MASS 0x1p14f

#define BH_BLOCK_OF(real, points, bodies)                                                                              \
    typedef struct points {                                                                                            \
        real x[BH_BLOCK_POINTS + BH_BLOCK_SLACK], y[BH_BLOCK_POINTS + BH_BLOCK_SLACK];                                 \
        real z[BH_BLOCK_POINTS + BH_BLOCK_SLACK], m[BH_BLOCK_POINTS + BH_BLOCK_SLACK];                                 \
    } points;                                                                                                          \
    typedef struct bodies {                                                                                            \
        real x[BH_BLOCK_BODIES], y[BH_BLOCK_BODIES], z[BH_BLOCK_BODIES], m[BH_BLOCK_BODIES];                           \
        real qxx[BH_BLOCK_BODIES], qxy[BH_BLOCK_BODIES], qxz[BH_BLOCK_BODIES];                                         \
        real qyy[BH_BLOCK_BODIES], qyz[BH_BLOCK_BODIES], qzz[BH_BLOCK_BODIES];                                         \
        real trace[BH_BLOCK_BODIES];                                                                                   \
    } bodies

/* Particles, and cells as monopole and traceless quadrupole. Each row chooses the factors that its moments carry. */
BH_BLOCK_OF(double, bh_points, bh_bodies);
BH_BLOCK_OF(float, bh_points_mixed, bh_bodies_mixed);

/* Room for a block of any row; mixed rows gather particles as they are first. */
typedef struct bh_block {
    _Alignas(64) union {
        _Alignas(64) bh_points points;
        _Alignas(64) bh_bodies bodies;
        _Alignas(64) bh_bodies_mixed bodies_mixed;
    };
    _Alignas(64) bh_points_mixed points_mixed;
} bh_block;

/* Targets and where their field is added. */
typedef struct bh_targets {
    int64_t n;
    const double *x, *y, *z;
    double *ax, *ay, *az, *pot;
} bh_targets;

/* In which units a row computes: a coordinate x becomes x per_length + shift, a mass m per_mass. Double precision takes
 * them as they are. Mixed precision has the middle of the targets' bounds at 0 and a power of two for per_length, so
 * that the product is exact and a source at a target stays there. */
typedef struct bh_frame {
    double eps2;                    /* in the frame's units, as all below */
    double acceleration, potential; /* factors of the sums; G is in them */
    bool bare;                      /* eps2 is so small that a source may be at distance 0 */
    bool pairs_in_double;           /* mixed: single precision cannot tell particles apart that matter */
    double cutoff2;                 /* particles whose squared distance is this or more do not act; 0: all do */
    double per_length, per_mass;    /* 1 / units */
    double shift[3];
    double half[3]; /* mixed: of the targets' bounds */
    double least;   /* mixed: how far cells must be outside of them; -INFINITY for any distance */
} bh_frame;

/* Where a block ends among the runs of a list. */
typedef struct bh_cursor {
    int64_t run, offset;
} bh_cursor;

/* put_bodies: n cells of the tree into a block from its begin (n <= BH_BLOCK_BODIES).
 * put_points: particles from `at` on until the list or the block ends; `at` moves behind them; returns their number.
 * Both fill the last vector up with sources without mass whose distance does no harm. In mixed precision `fits` becomes
 * false where a value is out of what single precision holds; the block is not to be used then. Double precision leaves
 * `fits` alone. bodies, points: add the field of n sources of such a block. Sums are added up block by block, so that
 * they follow from the list and, for mixed precision, the number and the bounds of the targets; never from their order.
 * bounds: of at least one target along each axis. */
typedef struct bh_kernel_row {
    const char *name;
    bh_precision precision;
    bool (*runs_here)(void);
    void (*put_bodies)(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number, int64_t n,
                       bool *fits);
    int64_t (*put_points)(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                          bh_cursor *at, bool *fits);
    void (*bodies)(const bh_block *block, int64_t n, const bh_frame *frame, const bh_targets *targets);
    void (*points)(const bh_block *block, int64_t n, const bh_frame *frame, const bh_targets *targets);
    void (*bounds)(const bh_targets *targets, double lo[3], double hi[3]);
} bh_kernel_row;

/* Ascending in speed, the two precisions of a name side by side, double first. "plain" is first and runs everywhere. */
extern const bh_kernel_row *const bh_kernel_table[];
extern const int bh_kernel_table_size;

extern const bh_kernel_row bh_kernel_plain[2], bh_kernel_avx2[2], bh_kernel_avx512[2];

/* True if single precision can hold a mass in a frame's units. */
static inline bool bh_mixed_mass(double m)
{
    return m == 0 || (m >= (double)BH_MIXED_LEAST_MASS && m <= (double)BH_MIXED_MOST_MASS);
}

#endif
