/* SPDX-License-Identifier: BSD-3-Clause */
/* The one home of the defaults of the tree code; plain numbers, so that help texts can quote them.
 *
 * They were chosen with bench/bench_force against direct summation, from a grid of opening angles, leaf and group
 * sizes. Wanted: a median relative error of the accelerations of at most 5e-4 and a 99th percentile of at most 2e-3 for
 * a Plummer sphere of 100,000 particles with softening 0.01, wherever it lies in the root cube. Measured with theta
 * 0.6: 2.4e-4 and 1.0e-3 to 1.6e-3, depending on the scale length. 0.65 is a sixth cheaper and comes to 1.9e-3. Leaves
 * of 8 to 32 cost the same within a few percent. Groups of 64 take four fifths of the time of groups of 32, whose lists
 * are as long for half the targets; larger ones gain nothing and are harder to balance. docs/performance.md has what
 * they cost. */
#ifndef BH_DEFAULTS_H
#define BH_DEFAULTS_H

#define BH_DEFAULT_THETA 0.6     /* geometric criterion */
#define BH_DEFAULT_ALPHA 0.005   /* relative criterion: 3.5e-4 and 1.1e-3 on that sphere at 0.6 times the cost */
#define BH_DEFAULT_LEAF_SIZE 16  /* particles in a leaf, at most */
#define BH_DEFAULT_GROUP_SIZE 64 /* targets in a group, at most */

#endif
