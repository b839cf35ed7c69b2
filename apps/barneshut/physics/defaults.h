/* SPDX-License-Identifier: BSD-3-Clause */
/* The one home of the defaults of the tree code; plain numbers, so that help texts can quote them.
 *
 * They were chosen with bench/bench_force against direct summation: the cheapest of a grid of opening angles, leaf and
 * group sizes whose accelerations have a median relative error of at most 5e-4 and a 99th percentile of at most 2e-3
 * for a Plummer sphere of 100,000 particles with softening 0.01, whatever its place in the root cube. Measured there:
 * 2.8e-4 and 1.1e-3 to 1.6e-3. theta 0.65 is a tenth cheaper and misses the percentile for some scale lengths.
 * Between groups of 32 and of 64 the cost differs by a few percent only; the smaller ones are easier to balance. */
#ifndef BH_DEFAULTS_H
#define BH_DEFAULTS_H

#define BH_DEFAULT_THETA 0.6     /* geometric criterion */
#define BH_DEFAULT_ALPHA 0.005   /* relative criterion: 3.5e-4 and 1.1e-3 on that sphere at 0.6 times the cost */
#define BH_DEFAULT_LEAF_SIZE 16  /* particles in a leaf, at most */
#define BH_DEFAULT_GROUP_SIZE 32 /* targets in a group, at most */

#endif
