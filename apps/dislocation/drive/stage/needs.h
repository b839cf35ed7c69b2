/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells whose segments each rank needs. */
#ifndef DD_NEEDS_H
#define DD_NEEDS_H

#include "share.h"

typedef struct dd_needs {
    int64_t nwords;
    uint64_t *bits; /* [ranks][nwords] a bit for each cell; owned */
    uint64_t *mine; /* [nwords] this rank's; owned */
    MPI_Request request;
} dd_needs;

/* Allocates memory. Local; the caller frees it in any case. */
int dd_needs_open(const dd_domain *domain, const dd_grid *grid, dd_needs *needs);

/* A rank needs, for owners that it computes whole, their cells and the forward neighbours; for owners that it shares,
 * the source cells assigned to it and the part of the owner's cell that lives at the owner's home, which only the home
 * knows; and the cells whose moments it sums: home [cells] as in a dd_field, or NULL. Ranks tell each other between
 * begin and end without waiting before the end. Collective. */
int dd_needs_begin(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const dd_shares *shares,
                   dd_needs *needs);
int dd_needs_end(const dd_grid *grid, const dd_shares *shares, const int *home, dd_needs *needs);
void dd_needs_free(dd_needs *needs);

/* True if a rank needs the segments of a cell that live here. Local. */
bool dd_needs_has(const dd_needs *needs, int rank, int64_t cell);

#endif
