/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs of an owner that several ranks share: each rank computes those nearest to its centroids. */
#ifndef DD_SHARE_H
#define DD_SHARE_H

#include "evaluate.h"

/* Centroid of a pair of local segments, measured from the first one's owner: the mean of their midpoints (Pearce 2014,
 * section 4.1.1). */
void dd_pair_centroid(const dd_domain *domain, const dd_segment *first, const dd_segment *second, double centroid[3]);

/* Centroid of the interactions of an owner at x with all segments of a cell, measured from the owner: half the way to
 * the middle of that cell. One rank does them all, the one that the map says of it. */
void dd_share_centroid(const dd_domain *domain, const dd_grid *grid, const double x[3], int64_t cell,
                       double centroid[3]);

/* Computes this rank's pairs of a target and adds what was done to *counts. Local. EQP_OK or EQP_ERR_MEMORY. */
int dd_share_pairs(dd_evaluator *evaluator, const dd_domain *domain, const dd_stage *stage, const app_map *map,
                   const dd_target *target, int64_t cell, dd_counts *counts);

#endif
