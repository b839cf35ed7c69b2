/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners of interactions, as learned while forces are computed, in curve order over the ranks: the input of a new
 * map. Only information about owners travels, not the owners. */
#ifndef MAP_OWNERS_H
#define MAP_OWNERS_H

#include "map/survey.h"

#include <equipoise/units.h>

#include <mpi.h>

/* The owners in this rank's range of the curve while a map is made. */
typedef struct eqp_owners {
    int64_t n;
    eqp_owner *owner;       /* [n] in curve order; shares of all ranks added up */
    int64_t *id;            /* [n] place along the curve, over all ranks */
    int64_t *own_pin;       /* [n] its pin, or its place if it has none */
    int64_t *count;         /* [n] interactions */
    double *weight;         /* [n] nanoseconds by the nominal costs */
    double *again;          /* [n] part of the weight that every sharer repeats */
    double *seconds;        /* [n] predicted from the measured costs */
    eqp_cycle_turns phases; /* cycle of the loads; n 0: one phase */
    double *phase;          /* [n][phases.n] seconds of one turn of each phase; NULL with one phase */
    int64_t *pin_first;     /* [n + 1] */
    int64_t *pin;
    int64_t *tile_first;   /* [n + 1]; only owners surveyed with tiles have any */
    double *tile_centroid; /* [tiles][3] */
    double *tile_weight;   /* [tiles] */
    int64_t *tile_pin;     /* [tiles][EQP_TILE_PINS] */
} eqp_owners;

/* Brings the surveys of all ranks together, in curve order. keys [nkeys], ascending: of this rank's owners; they
 * divide the curve. Adds the bytes sent to other ranks to *bytes. Collective; owners must be freed in any case. */
int eqp__owners_line_up(MPI_Comm comm, const eqp_survey *survey, const eqp_work_model *model, const eqp_costs *costs,
                        int64_t nkeys, const uint64_t *keys, eqp_owners *owners, int64_t *bytes);
void eqp__owners_free(eqp_owners *owners);

double eqp__owners_bytes(const eqp_owners *owners);

/* Allocates room; n stays 0. phases: n 0 or several. owners: zeros; must be freed in any case. EQP_OK or
 * EQP_ERR_MEMORY. Local. */
int eqp__owners_create(int64_t n, int64_t npins, int64_t ntiles, const eqp_cycle_turns *phases, eqp_owners *owners);

/* The same for the surveys of all ranks in one. owners: zeros; must be freed in any case. Local. */
int eqp__owners_line_up_alone(const eqp_survey *survey, const eqp_work_model *model, const eqp_costs *costs,
                              eqp_owners *owners);

/* owners_join.c: moves all owners of an interval (eqp_units_intervals(), [owners->n]) to the first rank that has one
 * of them, so that units are whole and do not depend on the ranks. Owners stay in curve order. An interval has the
 * weight of a unit, but any number of owners. Collective; unchanged on error. */
int eqp__owners_join(MPI_Comm comm, const int64_t *interval, eqp_owners *owners);

/* eqp_enumerate_fn over the tiles of an owner surveyed with them; user: the eqp_owners. An owner without tiles is
 * one interaction at its own centre. */
int eqp__owners_enumerate(void *user, int64_t owner, eqp_sink *sink);

/* The same with weight 1 for every tile, and for the remainder. */
int eqp__owners_enumerate_alike(void *user, int64_t owner, eqp_sink *sink);

#endif
