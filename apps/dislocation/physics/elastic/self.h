/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces on a segment that do not depend on any other one: of its own stress, its core, the applied stress. In the unit
 * of mu times b^2, on the first end in [0..2], on the second in [3..5]. */
#ifndef DD_SELF_H
#define DD_SELF_H

#include "segment.h"

/* Sets the elastic self force of a straight segment, without the core: that of its own non-singular stress
 * (Arsenlis et al., Modelling Simul. Mater. Sci. Eng. 15 (2007) 553). */
void dd_self_elastic(const dd_medium *medium, const dd_segment *segment, double force[6]);

/* Sets the elastic self force plus that of the energy core * (bs^2 + be^2 / (1 - nu)) per length, bs and be the screw
 * and edge parts of the Burgers vector. */
void dd_self_force(const dd_medium *medium, const dd_segment *segment, double force[6]);

/* Sets the Peach-Koehler force of a uniform stress: xx yy zz yz zx xy, in the unit of mu. Half of it at either end. */
void dd_peach_koehler(const double stress[6], const dd_segment *segment, double force[6]);

#endif
