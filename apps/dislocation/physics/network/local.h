/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal: forces of the segments around a node on themselves and on each other, for operations that ask how the force
 * on a node changes with its place. */
#ifndef DD_LOCAL_H
#define DD_LOCAL_H

#include "elastic/segment.h"
#include "node.h"

/* Arms and a junction. */
#define DD_LOCAL_SEGMENTS (DD_MOST_ARMS + 1)

dd_segment dd__segment(const double from[3], const double to[3], const double burgers[3]);

/* force: [n] on both ends of each, by the kernel that is the same everywhere. n <= DD_LOCAL_SEGMENTS. */
void dd__local_forces(const dd_medium *medium, int n, const dd_segment *segment, double (*force)[6]);

#endif
