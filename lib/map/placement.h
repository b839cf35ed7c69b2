/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns the parts of owners and units into a map known to all ranks, and the placements of the owners at home. */
#ifndef MAP_PLACEMENT_H
#define MAP_PLACEMENT_H

#include "map/work_units.h"

#include <equipoise/problem.h>

#include <mpi.h>
#include <stdint.h>

/* The result of an assignment. All arrays are borrowed. */
typedef struct eqp__assigned {
    int nparts;
    const int *part;     /* part of every owner, or, if there are units, of every unit */
    const int *home;     /* [owners] homes, without units; NULL: the part. An owner whose units are computed by several
                            parts lives with one of them */
    int nphases;         /* 0, or without units: */
    const int *phased;   /* [owners][nphases] parts by phase, instead of `part` */
    const double *loads; /* where shared owners live. NULL: consecutive ones together if possible, else with the part
                          * that has most of their work. [nparts]: with the part of least load, in any unit, the same
                          * on all ranks */
} eqp__assigned;

/* Makes the table of shared owners (*made) and the placements: [nhome] of the owners at home on this rank, in the
 * order of at_home, owned by the caller. The same on all ranks except for the arrays of owners. Collective; on error
 * neither is made. */
int eqp__placements_make(MPI_Comm comm, const eqp_owners *owners, const eqp_work_units *units,
                         const eqp__assigned *assigned, int64_t nhome, eqp_map **made, eqp_placement **placements);

/* The rank that knows an owner's placement, and the owner's index there. */
typedef struct eqp__address {
    int rank;
    int64_t at_home;
} eqp__address;

/* Fetches placements from the ranks that know them; without messages if each rank knows its own. code: of this rank
 * so far. known: [nknown] of this rank, with homes; placement: [n]. EQP_ERR_DATA for an index that a rank does not
 * have. Collective. */
int eqp__placements_fetch(MPI_Comm comm, int code, int64_t n, const eqp__address *address, int64_t nknown,
                          const eqp_placement *known, eqp_placement *placement);

#endif
