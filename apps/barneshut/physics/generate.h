/* SPDX-License-Identifier: BSD-3-Clause */
/* Deterministic inputs: particle i is a pure function of the generator and i, so any number of ranks gets the same
 * particles by asking for slices. G = 1 and the total mass is 1 in every kind.
 *
 * Within a component (a sphere, a halo, a disc) particles 2k and 2k + 1 are mates with opposite velocities about the
 * component's own, so that no slice needs a sum over all particles and the total momentum is 0 to rounding. Mates of a
 * sphere share their radius but not their direction; mates of a disc are mirrored through its centre. The last particle
 * of an odd component rests at its centre. */
#ifndef BH_GENERATE_H
#define BH_GENERATE_H

#include "../../recipe/recipe.h"

/* Recipe of a particle set. value[0] is the number of particles for every kind. */
typedef app_recipe bh_generator;

/* The kinds, for help texts and tests. */
extern const app_recipes bh_generators;

/* See app_recipe_parse(). */
int bh_generator_parse(const char *text, bh_generator *generator, eqp_message *message);

int64_t bh_generator_count(const bh_generator *generator);

/* Particles [first, first + n): x, y, z, vx, vy, vz, m [n]. O(n), and O(haloes) for clusters. EQP_ERR_ARGUMENT for a
 * slice that is not inside [0, count) or values out of range, EQP_ERR_MEMORY; the arrays are unchanged then. */
int bh_generate(const bh_generator *generator, int64_t first, int64_t n, double *x, double *y, double *z, double *vx,
                double *vy, double *vz, double *m);

#endif
