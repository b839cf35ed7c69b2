/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rank needs the segments of which cells. */
#ifndef DD_NEEDS_H
#define DD_NEEDS_H

#include "share.h"

typedef struct dd_needs {
    int64_t nwords;
    uint64_t *bits; /* [ranks][nwords] a bit per cell; owned */
    uint64_t *mine; /* [nwords] this rank's; owned */
    MPI_Request request;
} dd_needs;

/* Memory for them, and nothing else. Local; the caller frees it in any case. */
int dd_needs_open(const dd_domain *domain, const dd_grid *grid, dd_needs *needs);

/* Of owners that a rank computes whole: their cells and those in front of them. Of owners that it shares: the source
 * cells that it is given; and what lives here of the owner's own cell, for the owner's sake, which only this rank
 * knows. And those of cells whose moments it adds up: home [cells] as in a dd_field, or NULL. All ranks hear of all
 * between begin and end. Collective; nobody waits before the end. */
int dd_needs_begin(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const dd_shares *shares,
                   dd_needs *needs);
int dd_needs_end(const dd_grid *grid, const dd_shares *shares, const int *home, dd_needs *needs);
void dd_needs_free(dd_needs *needs);

/* Whether a rank needs the segments of a cell that live here. Local. */
bool dd_needs_has(const dd_needs *needs, int rank, int64_t cell);

#endif
