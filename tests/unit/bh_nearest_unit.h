/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank of a tile by a search through all units: the reference for walks of shared groups. */
#ifndef BH_NEAREST_UNIT_H
#define BH_NEAREST_UNIT_H

#include <math.h>

#include "walk.h"

/* The rank of the nearest unit, of equally near ones the first. */
static inline int bh_nearest_rank(const bh_sharing *sharing, const double centre[3])
{
    double least = INFINITY;
    int rank = -1;

    for (int64_t u = 0; u < sharing->n; u++) {
        double d2 = 0;
        for (int k = 0; k < 3; k++) {
            const double d = sharing->centroid[3 * u + k] - 0.5 * (centre[k] - sharing->centre[k]);
            d2 += d * d;
        }
        rank = d2 < least ? sharing->rank[u] : rank;
        least = d2 < least ? d2 : least;
    }
    return rank;
}

#endif
