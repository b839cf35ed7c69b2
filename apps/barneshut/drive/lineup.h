/* SPDX-License-Identifier: BSD-3-Clause */
/* Surveyed groups, brought into curve order over the ranks: what a map is made of. Only what was learnt about a group
 * travels, not the group. */
#ifndef BH_LINEUP_H
#define BH_LINEUP_H

#include "survey.h"

#include <equipoise/units.h>
#include <mpi.h>

/* The groups that this rank speaks for while a map is made: those of its stretch of the curve. */
typedef struct bh_owners {
    int64_t n;
    bh_surveyed *group; /* [n] in curve order; of groups that ranks share, put together */
    int64_t *id;        /* [n] place along the curve, over all ranks */
    int64_t *count;     /* [n] interactions */
    double *weight;     /* [n] nanoseconds by the nominal costs */
    double *seconds;    /* [n] predicted from the measured costs */
    int64_t *pin_first; /* [n + 1] */
    int64_t *pin;
    int64_t *tile_first;   /* [n + 1]; owners that were surveyed with their tiles have any */
    double *tile_centroid; /* [tiles][3] */
    double *tile_weight;   /* [tiles] */
    int64_t *tile_pin;     /* [tiles] */
} bh_owners;

/* Brings the ranks' surveys together. keys [nkeys], ascending: of this rank's groups, to deal out the curve by. Adds
 * the bytes sent to other ranks to *bytes. Collective; owners is to be freed in any case. */
int bh_owners_line_up(MPI_Comm comm, const bh_survey *survey, const app_costs *costs, int64_t nkeys,
                      const uint64_t *keys, bh_owners *owners, int64_t *bytes);
void bh_owners_free(bh_owners *owners);

/* eqp_enumerate_fn over the tiles of an owner that was surveyed with them; user is the bh_owners. An owner without
 * tiles is one interaction at its own centre. */
int bh_owners_enumerate(void *user, int64_t owner, eqp_sink *sink);

#endif
