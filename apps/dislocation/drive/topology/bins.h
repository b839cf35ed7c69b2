/* SPDX-License-Identifier: BSD-3-Clause */
/* Balls sorted into bins, to find the ones near a given ball. */
#ifndef DD_BINS_H
#define DD_BINS_H

#include "../domain.h"

/* Columns of balls. */
typedef struct dd_balls {
    int64_t n;
    double *x[3], *radius; /* [n] */
} dd_balls;

typedef struct dd_bins {
    int64_t n[3];
    double low[3], edge[3], box[3];
    double reach;
    int64_t *first; /* [bins + 1] */
    int64_t *place; /* [balls.n] index among the given balls */
    double *memory;
    dd_balls balls; /* by bin, then by place */
} dd_bins;

/* Sorts balls (borrowed) into bins so wide that two balls nearer than reach to each other lie in bins that touch. O(n).
 * EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_bins_create(const dd_domain *domain, const dd_balls *balls, double reach, dd_bins *bins);
void dd_bins_free(dd_bins *bins);

/* Lists the indices of all balls, the ball itself included, nearer than reach to one at x; positions by the nearest
 * periodic image. near: [n + 1]. Returns their number. O(balls in 27 bins). */
int64_t dd_bins_near(const dd_bins *bins, const double x[3], double radius, int64_t *near);

#endif
