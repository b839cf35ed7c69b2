/* SPDX-License-Identifier: BSD-3-Clause */
/* The one home of the defaults of the tree code; plain numbers, so that help texts can quote them.
 *
 * They were chosen with bench/bench_force against direct summation, from a grid of opening angles, leaf and group
 * sizes. Wanted: a median relative error of the accelerations of at most 5e-4 and a 99th percentile of at most 2e-3 for
 * a Plummer sphere of 100,000 particles with softening 0.01, wherever it lies in the root cube. Measured with theta
 * 0.6: 2.8e-4 and 1.1e-3 to 1.6e-3, depending on the scale length. 0.65 is a seventh cheaper and misses the percentile;
 * 0.62 lies between them with less room. Leaves of 8 to 32 and groups of 32 to 64 cost the same within a few percent;
 * small groups are easier to balance. */
#ifndef BH_DEFAULTS_H
#define BH_DEFAULTS_H

#define BH_DEFAULT_THETA 0.6     /* geometric criterion */
#define BH_DEFAULT_ALPHA 0.005   /* relative criterion: 3.5e-4 and 1.1e-3 on that sphere at 0.6 times the cost */
#define BH_DEFAULT_LEAF_SIZE 16  /* particles in a leaf, at most */
#define BH_DEFAULT_GROUP_SIZE 32 /* targets in a group, at most */

#endif
