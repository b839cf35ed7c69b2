/* SPDX-License-Identifier: BSD-3-Clause */
/* Homes: the rank that stores the particles of each interval of the key range. A rank may own many intervals, so that
 * homes can follow any assignment, not only contiguous ones. Every rank has the whole list. */
#ifndef BH_HOMES_H
#define BH_HOMES_H

#include "../../physics/tree.h"

#include <mpi.h>

typedef struct bh_homes {
    int64_t n;
    uint64_t *begin; /* [n + 1] ascending, begin[0] = 0, begin[n] = end of the key range */
    int *rank;       /* [n] owner of [begin[i], begin[i + 1]); neighbours differ */
    int64_t *count;  /* room for bh_homes_snap() */
} bh_homes;

void bh_homes_init(bh_homes *homes);
void bh_homes_free(bh_homes *homes);

/* First key of a run of particles with one home. */
typedef struct bh_home_run {
    uint64_t begin;
    int64_t rank;
} bh_home_run;

/* Replaces the homes by at least one run, in any order. The last of several runs at one key wins; the first run is
 * extended down to key 0. */
int bh_homes_set(bh_homes *homes, int64_t n, const bh_home_run *runs);

/* homes: initialised; becomes a copy. */
int bh_homes_copy(bh_homes *homes, const bh_homes *from);

/* The interval that holds a key, and its rank. O(log n). */
int64_t bh_homes_find(const bh_homes *homes, uint64_t key);
int bh_homes_rank(const bh_homes *homes, uint64_t key);

/* The intervals of one rank; the caller frees *interval. */
int bh_homes_intervals(const bh_homes *homes, int rank, int *n, bh_interval **interval);

/* Moves every boundary down to the start of the largest octree cell around it with at most `limit` particles, so that
 * no such cell (no leaf, no target group) is shared by two ranks. keys [n]: of this rank's particles, ascending; they
 * need not be at home yet. code: of this rank so far; if one rank has failed all do, with EQP_ERR_REMOTE on the rest.
 * Collective: one allreduce; every rank must hold the same homes. O(boundaries x levels) per rank. */
int bh_homes_snap(bh_homes *homes, MPI_Comm comm, int code, int64_t n, const uint64_t *keys, int64_t limit);

#endif
