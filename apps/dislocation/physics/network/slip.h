/* SPDX-License-Identifier: BSD-3-Clause */
/* The area that an operation on a patch sweeps. Of the segments before and after it those that differ bound a surface:
 * Burgers vectors are conserved at every node, so the sum over segments of b (x) A, A the triangle of a segment and
 * any one point, old ones minus new ones, is that of the surface whatever the point. Segments are straight, so it is
 * exact. The sense is that of dd_swept_area(). */
#ifndef DD_SLIP_H
#define DD_SLIP_H

#include "patch.h"

/* Owner first. */
typedef struct dd_slip_segment {
    dd_tag tag[2];
    double burgers[3], x[2][3];
} dd_slip_segment;

/* Room for the segments of a patch before and after, which operations can share. Zero it before use. */
typedef struct dd_slip {
    int64_t nold, n, room;
    dd_slip_segment *segment; /* [n]: nold of before, then those of after; owned */
    double (*place)[2][3];    /* [n] their ends around the first one's, without jumps at the box's faces; owned */
    int64_t *queue;           /* [n] owned */
    int64_t place_room, queue_room;
} dd_slip;

void dd_slip_free(dd_slip *slip);

/* Notes the segments between nodes of a patch, before an operation. EQP_OK or EQP_ERR_MEMORY. */
int dd_slip_begin(dd_slip *slip, dd_patch *patch);

/* After the operation: area[3 i + j] += sum of b_i A_j, in b^3. No segment and no way of a node may reach half through
 * a periodic box. EQP_OK or EQP_ERR_MEMORY, and area is unchanged. O(arms^2). */
int dd_slip_end(dd_slip *slip, dd_patch *patch, double area[9]);

#endif
