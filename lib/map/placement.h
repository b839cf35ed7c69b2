/* SPDX-License-Identifier: BSD-3-Clause */
/* From the parts of owners and units to a map that all ranks know, and to what the owners' homes are told. */
#ifndef MAP_PLACEMENT_H
#define MAP_PLACEMENT_H

#include "map/work_units.h"

#include <equipoise/map.h>

/* part: of every owner, or of every unit where there are any. apart: [owners] where they live, without units; NULL:
 * with their part. An owner whose units several parts compute lives with one of them. loads: NULL: owners along the
 * curve live together as far as they can, else with who has most of them; or [nparts] what each part has to do, in any
 * unit, the same on all ranks: they live with who has least. *made gets the table of split owners; placements: one for
 * each of the nhome owners whose home is this rank, in the order of their numbers (at_home), owned by the caller.
 * Collective; on error neither is made. */
int eqp__placements_make(MPI_Comm comm, const eqp_owners *owners, const eqp_work_units *units, const int *part,
                         const int *apart, int nparts, const double *loads, int64_t nhome, eqp_map **made,
                         eqp_placement **placements);

/* Whose placement is asked for: number at_home of those that a rank knows. */
typedef struct eqp__address {
    int rank;
    int64_t at_home;
} eqp__address;

/* Placements from the ranks that know them; no message goes where each rank knows its own. code: of this rank so far.
 * known: [nknown] of this rank, with homes; placement: [n]. EQP_ERR_DATA for a number that a rank has not got.
 * Collective. */
int eqp__placements_fetch(MPI_Comm comm, int code, int64_t n, const eqp__address *address, int64_t nknown,
                          const eqp_placement *known, eqp_placement *placement);

#endif
