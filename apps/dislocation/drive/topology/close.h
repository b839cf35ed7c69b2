/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of segments so close that they may touch. */
#ifndef DD_CLOSE_H
#define DD_CLOSE_H

#include "../domain.h"
#include "../stage/stage.h"

/* Two segments without a common node, by the tags of their ends: the lower segment first, each with its owner first. */
typedef struct dd_close {
    dd_tag tag[4];
    int home[4]; /* of the four nodes */
} dd_close;

typedef struct dd_closes {
    int64_t n, room;
    dd_close *pair; /* owned */
} dd_closes;

void dd_closes_free(dd_closes *closes);

/* All pairs of near segments closer than reach, at the positions of the stage's last refresh; the topology must not
 * have changed since the stage was created. Sharers of an owner may each find the same pair. *closes: zeroed, or a
 * former list, which is replaced. O(segments + pairs) if segments are short. Collective; EQP_OK, or a code of this rank
 * alone. */
int dd_close_find(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes);

#endif
