/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners that ranks share. The interactions of such an owner with all segments of one source cell go to one rank: it is
 * looked up once for each of its source cells, a rank needs the segments of those cells only that it is given, and
 * hands whole runs of them to the kernel. */
#ifndef DD_SHARE_H
#define DD_SHARE_H

#include "grid.h"

#include <equipoise/problem.h>

/* What one rank computes of an owner. */
typedef struct dd_share {
    dd_tag owner;
    int64_t cell;    /* that the owner lies in */
    int64_t at_home; /* its place there */
    int64_t split;   /* its place in the map's table */
    int64_t bytes;   /* that move with it */
    int32_t home;
    uint32_t sources; /* bit i: the i-th of the cell's dd_grid_sources() */
} dd_share;

typedef struct dd_shares {
    int64_t n;
    dd_share *share; /* [n] that this rank computes, by cell, then by owner; owned */
    int64_t nsent;
    dd_share *sent; /* [nsent] of own nodes, to whoever computes them; owned */
    int *sent_to;   /* [nsent] ranks; owned */
} dd_shares;

/* Centroid of the interactions of an owner with all segments of a source cell, measured from the owner: half the way
 * from the middle of its own cell to that of the other. As long as it stays in its cell nothing changes, however it
 * moves; and steps back are a little shorter than steps ahead, and directions a little different, so that no two cells
 * are as near to a third. Local. */
void dd_share_centroid(const dd_grid *grid, int64_t own, int64_t cell, double centroid[3]);

/* Which rank computes the interactions of an owner in a cell with each of dd_grid_sources(). Returns how many these
 * are. Local. */
int dd_share_ranks(const dd_grid *grid, const eqp_map *map, int64_t split, int64_t cell, int ranks[DD_GRID_SOURCES]);

/* Tells all who share an owner what they compute of it: homes say so, from the nodes' present positions, so that all
 * agree. *shares is zeroed. code: of this rank so far; returned is one of a rank, which the others need not have.
 * Collective; the caller frees it in any case. */
int dd_shares_find(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const eqp_map *map, int code,
                   dd_shares *shares);
void dd_shares_free(dd_shares *shares);

#endif
