/* SPDX-License-Identifier: BSD-3-Clause */
/* Elastic forces between straight dislocation segments: isotropic and non-singular (Cai, Arsenlis, Weinberger, Bulatov,
 * J. Mech. Phys. Solids 54 (2006) 561; Arsenlis et al., Modelling Simul. Mater. Sci. Eng. 15 (2007) 553). */
#ifndef DD_PAIRS_H
#define DD_PAIRS_H

#include "segment.h"

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

/* "auto", "plain", "avx2", "avx512"; NULL for any other number. */
const char *dd_isa_name(dd_isa isa);

/** \param[out] isa of a name; NULL means "auto"; unchanged on error
 * \return EQP_OK or EQP_ERR_UNKNOWN */
int dd_isa_named(const char *name, dd_isa *isa);

/** The kernel for an instruction set; DD_ISA_AUTO: the fastest that this CPU has.
 * \param[out] fn     unchanged on error
 * \param[out] chosen which it is, not DD_ISA_AUTO; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT for an unknown number, EQP_ERR_STATE if the CPU or the build does not have it */
int dd_pairs_choose(dd_isa isa, dd_pairs_fn *fn, dd_isa *chosen);

/* True if a pair counts as parallel, exactly as the kernels decide. */
bool dd_pairs_parallel(const dd_medium *medium, const dd_segment *target, const dd_segment *source);

/* The kernels, for code that chooses itself. */
extern const dd_pairs_fn dd_pairs_plain, dd_pairs_avx2, dd_pairs_avx512;

#endif
