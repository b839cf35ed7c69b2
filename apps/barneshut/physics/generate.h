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

#include <equipoise/base.h>

#include <stdbool.h>
#include <stdint.h>

#define BH_GENERATOR_KEYS 6 /* at most, n included */

/* A key of a kind: `KIND:name=value`. */
typedef struct bh_generator_key {
    const char *name;
    double value, least, most; /* default and range, both ends allowed */
    bool whole;                /* no fractions */
    const char *help;
} bh_generator_key;

typedef struct bh_generator_kind {
    const char *name, *help;
    const struct bh__model *model; /* how it is made; private */
    int nkeys;
    bh_generator_key key[BH_GENERATOR_KEYS]; /* key[0] is n, the number of particles */
} bh_generator_kind;

/* What to generate; `kind` is a row of the table and value[j] belongs to its key[j]. */
typedef struct bh_generator {
    const bh_generator_kind *kind;
    double value[BH_GENERATOR_KEYS];
    uint64_t seed;
    bool seeded; /* the text said seed=; otherwise seed is 0 and the caller may set it */
} bh_generator;

/* The table of kinds, for help texts and tests; static storage. */
const bh_generator_kind *bh_generator_table(int *nkinds);

/* Reads `KIND[:key=value,...]`; every kind also knows seed=. What is not said has the table's default. On error the
 * generator is unchanged and message (may be NULL) says what is wrong: EQP_ERR_UNKNOWN for a kind or key that does not
 * exist, EQP_ERR_ARGUMENT for a value that is no number or out of range, or a key that stands twice. */
int bh_generator_parse(const char *text, bh_generator *generator, eqp_message *message);

/* Number of particles. */
int64_t bh_generator_count(const bh_generator *generator);

/* Particles [first, first + n): x, y, z, vx, vy, vz, m [n]. O(n), and O(haloes) for clusters. EQP_ERR_ARGUMENT for a
 * slice that is not inside [0, count) or values out of range, EQP_ERR_MEMORY; the arrays are unchanged then. */
int bh_generate(const bh_generator *generator, int64_t first, int64_t n, double *x, double *y, double *z, double *vx,
                double *vy, double *vz, double *m);

#endif
