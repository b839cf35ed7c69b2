/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners that another part computes in each phase of a cycle. */
#ifndef MAP_PHASED_H
#define MAP_PHASED_H

#include <equipoise/map.h>
#include <mpi.h>

/* Tags of owners whose part depends on the phase, and their entries in the map, which has none of such. part:
 * [n][nphases] of this rank's owners; placement: [n], of which the tags are set. Collective. EQP_OK, EQP_ERR_MEMORY or
 * EQP_ERR_MPI on all ranks. */
int eqp__phased_place(MPI_Comm comm, int64_t n, int nphases, const int *part, eqp_placement *placement, eqp_map *map);

#endif
