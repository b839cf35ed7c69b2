/* SPDX-License-Identifier: BSD-3-Clause */
/* From the parts of owners and units to a map known to all ranks, and the placements of the owners at home. */
#ifndef MAP_PLACEMENT_H
#define MAP_PLACEMENT_H

#include "map/work_units.h"

#include <equipoise/problem.h>

#include <mpi.h>
#include <stdint.h>

/* The result of an assignment. All arrays are borrowed. */
typedef struct eqp__assigned {
    int nparts;
    const int *part;     /* part of every owner, or of every unit if there are any */
    const int *home;     /* [owners] homes, without units; NULL: the part. An owner whose units are computed by several
                            parts lives with one of them */
    int nphases;         /* 0, or without units: */
    const int *phased;   /* [owners][nphases] parts by phase, instead of `part` */
    const double *loads; /* NULL: shared owners along the curve live together as far as they can, else with who has most
                            of them; or [nparts] what each part has to do, in any unit, the same on all ranks: they live
                            with who has least */
} eqp__assigned;

/* *made gets the table of shared owners; placements: one for each of the nhome owners whose home is this rank, in the
 * order of their numbers (at_home), owned by the caller. The same on all ranks but for the arrays of owners.
 * Collective; on error neither is made. */
int eqp__placements_make(MPI_Comm comm, const eqp_owners *owners, const eqp_work_units *units,
                         const eqp__assigned *assigned, int64_t nhome, eqp_map **made, eqp_placement **placements);

/* The owner whose placement is requested: the rank that knows it, and its number there. */
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
