/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments that come so close that they may touch. */
#ifndef DD_CLOSE_H
#define DD_CLOSE_H

#include "../stage/stage.h"

/* Two segments without a common node, by the tags of their ends: the lower of the two first, in each its owner. */
typedef struct dd_close {
    dd_tag tag[4];
    int home[4]; /* of the four nodes */
} dd_close;

typedef struct dd_closes {
    int64_t n, room;
    dd_close *pair; /* owned */
} dd_closes;

void dd_closes_free(dd_closes *closes);

/* All pairs of near segments that are closer than reach, as the stage has them: with positions of its last refresh, and
 * for a domain whose topology has not changed since it was created. Several ranks may find the same pair if they share
 * its owner. *closes: zeroed or a former one, whose pairs are replaced. O(segments + pairs) where segments
 * are short. Collective; EQP_OK, or a code of this rank, which the others need not have. */
int dd_close_find(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes);

#endif
