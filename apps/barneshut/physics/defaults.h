/* SPDX-License-Identifier: BSD-3-Clause */
/* The one home of the defaults of the tree code; plain numbers and words, so that help texts can quote them.
 *
 * They come from a grid of criteria, precisions, leaf and group sizes (bench/bench_force, against direct summation).
 * Wanted: a relative error of the accelerations of at most 5e-4 in the median and 2e-3 at the 99th percentile for
 * 16,000 to 100,000 particles: generated spheres, disks and clusters, and published galaxies. The relative criterion
 * with 0.006 in mixed precision has 2.2e-4 to 3.7e-4 and 0.8e-3 to 1.5e-3 (clusters of other seeds: up to 4.5e-3), in
 * 0.35 to 0.65 times the time of an opening angle of 0.6 in double precision. An angle of 0.65 in mixed precision takes
 * a tenth to two fifths more, but for clusters a seventh less. Leaves of 8 to 32 cost the same within a few percent.
 * Groups of 128 take less time than groups of 64, at a smaller error, with every kernel but avx2 in double precision,
 * where they tie: so their size depends on nothing, and runs differ by no more than rounding from machine to machine.
 * Larger ones gain next to nothing and are harder to balance. docs/performance.md has what they cost. */
#ifndef BH_DEFAULTS_H
#define BH_DEFAULTS_H

#define BH_DEFAULT_OPENING relative
#define BH_DEFAULT_PRECISION mixed
#define BH_DEFAULT_THETA 0.6      /* geometric criterion */
#define BH_DEFAULT_ALPHA 0.006    /* relative criterion */
#define BH_DEFAULT_LEAF_SIZE 16   /* particles in a leaf, at most */
#define BH_DEFAULT_GROUP_SIZE 128 /* targets in a group, at most */

/* Sizes of groups among which --group-size auto chooses. The first one is the largest: homes that do not divide its
 * groups divide none. */
#define BH_GROUP_SIZES                                                                                                 \
    {                                                                                                                  \
        128, 64, 32, 16                                                                                                \
    }
#define BH_NGROUP_SIZES 4

#endif
