/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals shared by the planning and the exchanges of a stage. */
#ifndef DD_STAGE_PARTS_H
#define DD_STAGE_PARTS_H

#include "stage.h"

/* Data of a segment that travel at a time: forces on its ends, or once its constant data. */
typedef struct dd_six {
    double of[6];
} dd_six;

/* A node that is an end of segments of a block. */
typedef struct dd_end {
    dd_tag tag;
    int64_t place; /* in the halo, if known */
} dd_end;

/* Sorts the ends of a block's segments and keeps each once: the order in which they travel. Returns their number. */
int64_t dd_ends_sort(int64_t n, dd_end *ends);

/* Finds the ends of all remote segments, whose keys are known, among the received positions. EQP_OK, EQP_ERR_MEMORY, or
 * EQP_ERR_INTERNAL if they do not match. Local. */
int dd_stage_find_ends(dd_stage *stage);

/* Data of a block's segments in a received or returned buffer. */
static inline const dd_six *dd_stage_block(const eqp_route_view *view, const void *received, int64_t block)
{
    return (const dd_six *)((const char *)received + view->offset[block]);
}

/* Copies own segments into the columns at their present positions. Local. */
void dd_stage_place_own(const dd_domain *domain, const dd_halo *halo, const dd_stage *stage);

#endif
