/* SPDX-License-Identifier: BSD-3-Clause */
/* Elastic forces between straight dislocation segments: isotropic and non-singular (Cai, Arsenlis, Weinberger, Bulatov,
 * J. Mech. Phys. Solids 54 (2006) 561; Arsenlis et al., Modelling Simul. Mater. Sci. Eng. 15 (2007) 553). */
#ifndef DD_PAIRS_H
#define DD_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/* Lengths are in units of the Burgers magnitude b, the shear
 * modulus in any unit of stress [S]: forces come in [S] b^2, energies in [S] b^3. */

/* An isotropic medium and its boundaries. */
typedef struct dd_medium {
    double mu;     /* shear modulus, > 0 */
    double nu;     /* Poisson's ratio, -1 < nu < 0.5 */
    double a;      /* core radius, > 0 */
    double core;   /* factor of the core energy, in the unit of mu; mu/4pi ln(a/0.1) by default */
    double box[3]; /* edges of a periodic box; 0: free in that direction */
} dd_medium;

/* burgers belongs to the sense from x1 to x2. */
typedef struct dd_segment {
    double x1[3], x2[3], burgers[3];
} dd_segment;

/* Segments by column, for vector loads. Columns are readable (and forces writable) for DD_LANES places beyond the last
 * segment. */
#define DD_LANES 8
typedef struct dd_columns {
    double *at[9];    /* x1 y1 z1, x2 y2 z2, burgers x y z */
    double *force[6]; /* on the first ends x y z, on the second ends x y z: kernels add */
} dd_columns;

/* Consecutive segments of the columns. */
typedef struct dd_run {
    int64_t first, n;
} dd_run;

/* Computed pairs; near-parallel pairs use another formula and take several times the time. */
typedef struct dd_pair_counts {
    int64_t general, parallel;
} dd_pair_counts;

/* Adds the forces between one target and runs of sources: on the target's two ends to force[0..5], on the
 * sources' ends to sources->force[0..5][first ..]; in the unit of mu times the square of the unit of length.
 * Each source is taken at the periodic image whose midpoint is nearest to the target's, direction by direction. The
 * target is not among the sources, no source is in two runs; segments that share a node are ordinary pairs. Lengths
 * are > 0. Deterministic: a pair's forces do not depend on the other sources, and the order of the sums follows from
 * the runs alone.
 * \param[in,out] counts the computed pairs are added; the same for every instruction set */
typedef void (*dd_pairs_fn)(const dd_medium *medium, const dd_segment *target, const dd_columns *sources, int nruns,
                            const dd_run *runs, double force[6], dd_pair_counts *counts);

typedef enum dd_isa { DD_ISA_AUTO, DD_ISA_PLAIN, DD_ISA_AVX2, DD_ISA_AVX512 } dd_isa;
#define DD_ISAS 4

/* "auto", "plain", "avx2", "avx512"; NULL for any other value. */
const char *dd_isa_name(dd_isa isa);

/** The kernel for an instruction set; DD_ISA_AUTO: the fastest that this CPU has.
 * \param[out] fn     unchanged on error
 * \param[out] chosen which it is, not DD_ISA_AUTO; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT for an unknown number, EQP_ERR_STATE if the CPU or the build does not have it */
int dd_pairs_choose(dd_isa isa, dd_pairs_fn *fn, dd_isa *chosen);

/* Sets the forces of one pair by a kernel: on both ends of a, then of b. Returns true if it counts as parallel. */
bool dd_pair_force(dd_pairs_fn fn, const dd_medium *medium, const dd_segment *a, const dd_segment *b, double force[12]);

/* True if a pair counts as parallel, with exactly the kernels' decision. */
bool dd_pairs_parallel(const dd_medium *medium, const dd_segment *target, const dd_segment *source);

/* Kernels, for callers with their own choice. */
extern const dd_pairs_fn dd_pairs_plain, dd_pairs_avx2, dd_pairs_avx512;

/* ---- Forces on a segment that do not depend on any other one: of its own stress, its core, the applied stress. In the
 * unit of mu times b^2, on the first end in [0..2], on the second in [3..5]. */

/* Sets the elastic self force of a straight segment, without the core: that of its own non-singular stress
 * (Arsenlis et al., Modelling Simul. Mater. Sci. Eng. 15 (2007) 553). */
void dd_self_elastic(const dd_medium *medium, const dd_segment *segment, double force[6]);

/* Sets the elastic self force plus that of the energy core * (bs^2 + be^2 / (1 - nu)) per length, bs and be the screw
 * and edge parts of the Burgers vector. */
void dd_self_force(const dd_medium *medium, const dd_segment *segment, double force[6]);

/* Sets the Peach-Koehler force of a uniform stress (xx yy zz yz zx xy, in the unit of mu), half of it at each end. */
void dd_peach_koehler(const double stress[6], const dd_segment *segment, double force[6]);

#endif
