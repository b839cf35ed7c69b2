/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stage's planning and its journeys have in common. */
#ifndef DD_STAGE_PARTS_H
#define DD_STAGE_PARTS_H

#include "stage.h"

/* What travels of a segment at a time: its ends, the forces on them, or once what does not change. */
typedef struct dd_six {
    double of[6];
} dd_six;

/* The place of a block's segments in what arrives or goes back. */
static inline const dd_six *dd_stage_block(const eqp_route_view *view, const void *received, int64_t block)
{
    return (const dd_six *)((const char *)received + view->offset[block]);
}

/* Own segments into the columns, as they are now. Local. */
void dd_stage_place_own(const dd_domain *domain, const dd_halo *halo, const dd_stage *stage);

#endif
