/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DD_STRESS_H
#define DD_STRESS_H

#include "elastic/pairs.h"

/* Non-singular stress of a straight segment at x, in units of mu: xx yy zz yz zx xy, without periodic images. A single
 * segment's stress is defined up to terms that vanish for closed loops; this form is that of the segment forces.
 * Source: Cai et al., J. Mech. Phys. Solids 54 (2006) 561. */
void dd_stress_of_segment(const dd_medium *medium, const dd_segment *segment, const double x[3], double stress[6]);

#endif
