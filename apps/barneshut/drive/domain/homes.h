/* SPDX-License-Identifier: BSD-3-Clause */
/* Homes: which rank stores the particles of which interval of the key range. A rank may own many intervals, so that the
 * home of a particle can follow any assignment, not only contiguous ones. Every rank has the whole list. */
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

/* A key where a run of particles of one home begins. */
typedef struct bh_home_run {
    uint64_t begin;
    int64_t rank;
} bh_home_run;

/* Takes at least one run, in any order; of runs that begin at one key the last given wins; the first run is stretched
 * down to key 0. Replaces the homes. */
int bh_homes_set(bh_homes *homes, int64_t n, const bh_home_run *runs);

/* Makes `homes`, which is initialised, the same as `from`. */
int bh_homes_copy(bh_homes *homes, const bh_homes *from);

/* The interval that holds a key, and its rank. O(log n). */
int64_t bh_homes_find(const bh_homes *homes, uint64_t key);
int bh_homes_rank(const bh_homes *homes, uint64_t key);

/* The intervals of one rank; the caller frees *interval. */
int bh_homes_intervals(const bh_homes *homes, int rank, int *n, bh_interval **interval);

/* Moves every boundary down to the start of the largest octree cell around it that has at most `limit` particles, so
 * that no such cell (no leaf, no target group) is shared by two ranks. keys [n] of this rank's particles, ascending;
 * they need not be at home yet. code: of this rank so far; if one rank has failed all do, with EQP_ERR_REMOTE on the
 * rest. Collective: one allreduce; every rank must hold the same homes. O(boundaries x levels) per
 * rank. */
int bh_homes_snap(bh_homes *homes, MPI_Comm comm, int code, int64_t n, const uint64_t *keys, int64_t limit);

#endif
