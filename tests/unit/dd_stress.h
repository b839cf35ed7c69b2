/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DD_STRESS_H
#define DD_STRESS_H

#include "elastic/pairs.h"

/* The non-singular stress of a straight segment at x, boxes ignored: xx yy zz yz zx xy, in the unit of mu. A segment's
 * alone is defined up to terms that vanish for closed loops; this is the one that the forces between segments come
 * from. Source: Cai et al., J. Mech. Phys. Solids 54 (2006) 561. */
void dd_stress_of_segment(const dd_medium *medium, const dd_segment *segment, const double x[3], double stress[6]);

#endif
