/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stage's planning and its journeys have in common. */
#ifndef DD_STAGE_PARTS_H
#define DD_STAGE_PARTS_H

#include "stage.h"

/* What travels of a segment at a time: the forces on its ends, or once what does not change. */
typedef struct dd_six {
    double of[6];
} dd_six;

/* A node that is an end of segments of a block. */
typedef struct dd_end {
    dd_tag tag;
    int64_t place; /* in the halo, where it is known */
} dd_end;

/* The ends of a block's segments, each once: what travels, in this order. Returns how many. */
int64_t dd_ends_sort(int64_t n, dd_end *ends);

/* Finds the ends of all remote segments, whose keys are known, in what arrives. EQP_OK, EQP_ERR_MEMORY, or
 * EQP_ERR_INTERNAL where something else arrives than these. Local. */
int dd_stage_find_ends(dd_stage *stage);

/* The place of a block's segments in what arrives or goes back. */
static inline const dd_six *dd_stage_block(const eqp_route_view *view, const void *received, int64_t block)
{
    return (const dd_six *)((const char *)received + view->offset[block]);
}

/* Own segments into the columns, as they are now. Local. */
void dd_stage_place_own(const dd_domain *domain, const dd_halo *halo, const dd_stage *stage);

#endif
