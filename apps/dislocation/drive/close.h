/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments that come so close that they may touch. */
#ifndef DD_CLOSE_H
#define DD_CLOSE_H

#include "stage.h"

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

/* Midpoints and half lengths of many segments, column by column. */
typedef struct dd_balls {
    const double *x[3], *half;
} dd_balls;

/* Which of the segments [first, first + n) may come closer than reach to segment i: the balls around them do. near: [n]
 * their places. Returns how many. About a nanosecond each. Local.
 * box: [3] periodic edges; 0: free */
int64_t dd_close_balls(const dd_balls *balls, int64_t i, int64_t first, int64_t n, const double box[3], double reach,
                       int64_t *near);

/* All pairs of near segments that are closer than reach, as the stage has them: with positions of its last refresh, and
 * for a domain whose topology has not changed since it was created. Several ranks may find the same pair if they share
 * its owner. *closes: zeroed or a former one, whose pairs are replaced. Collective; EQP_OK or EQP_ERR_MEMORY. */
int dd_close_find(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes);

#endif
