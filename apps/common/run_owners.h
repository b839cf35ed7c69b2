/* SPDX-License-Identifier: BSD-3-Clause */
/* What is learnt about the owners of interactions while forces are computed, brought into curve order over the ranks:
 * what a new map is made of. Only what was learnt about an owner travels, not the owner. */
#ifndef APP_RUN_OWNERS_H
#define APP_RUN_OWNERS_H

#include "run_costs.h"

#include <equipoise/balance.h>
#include <equipoise/units.h>

#include <mpi.h>

/* How much is kept of each owner. Whatever is not, costs nothing. */
typedef struct app_survey_detail {
    double heavy;       /* nominal nanoseconds from which an owner keeps its tiles; INFINITY: none does */
    uint64_t pin_below; /* ids whose eqp_pin_key() is smaller are sampled as pins; 0: none */
    const double *cost; /* seconds of each kind of work that tiles are weighed by; NULL: the nominal ones */
} app_survey_detail;

/* What a tile touches beside its owner. */
#define APP_TILE_PINS 2

/* A piece of a heavy owner's interactions that stays together. */
typedef struct app_tile {
    double centroid[3];         /* measured from the owner */
    double weight;              /* nominal nanoseconds */
    int64_t pin[APP_TILE_PINS]; /* -1: none, or not below detail.pin_below */
} app_tile;

/* An owner, as far as a rank computes it. */
typedef struct app_owner {
    uint64_t key; /* along the curve */
    int64_t id;   /* with the key: which owner it is */
    int64_t pin;  /* what others have as a pin where they touch it; -1: they name something else */
    int32_t particles, home;
    int64_t at_home; /* its number there */
    int64_t bytes;   /* that move with it */
    int64_t tag;     /* who computes it by the present map, see map.h */
    double centre[3];
    int64_t count[EQP_COST_KINDS]; /* work of each kind */
    int64_t interactions;          /* tiles, and one for what belongs to none */
    int64_t npins, ntiles;         /* in the survey */
} app_owner;

/* Owners with their lists one after another. Zeros are an empty one. */
typedef struct app_survey {
    app_survey_detail detail;
    int64_t n, capacity;
    app_owner *owner; /* [n] */
    int64_t npins, pin_capacity;
    int64_t *pin; /* [npins] */
    int64_t ntiles, tile_capacity;
    app_tile *tile;                  /* [ntiles] */
    int64_t pins_taken, tiles_taken; /* belong to owners; those behind them wait for the next */
} app_survey;

/* Frees the memory; the survey is then empty. */
void app_survey_free(app_survey *survey);
/* Forgets the owners, keeps the memory; what is taken in next is kept in that detail. */
void app_survey_clear(app_survey *survey, const app_survey_detail *detail);
/* Pins and tiles are added first, then the owner that they all belong to, which is told here how many there are. EQP_OK
 * or EQP_ERR_MEMORY. */
int app_survey_add_pin(app_survey *survey, int64_t pin);
/* Room behind the pins for so many more, for those who write them there by themselves. */
int app_survey_reserve_pins(app_survey *survey, int64_t more);
int app_survey_add_tile(app_survey *survey, const app_tile *tile);
int app_survey_add_owner(app_survey *survey, const app_owner *owner);

/* How the work of ranks that share an owner adds up, kind by kind. */
typedef struct app_work_model {
    int nkinds;
    const double *nominal; /* [nkinds] seconds */
    unsigned once;         /* bit k: sharers each do kind k, a single rank would do it once */
} app_work_model;

/* The model with what was measured instead of the nominal costs, once that is known (borrowed from costs): what a part
 * of an owner weighs must be in the proportion of what it costs. */
app_work_model app_work_model_measured(const app_work_model *model, const app_costs *costs);

/* Nanoseconds of so much work. */
double app_work_weight(const app_work_model *model, const int64_t *count);

/* The owners that this rank speaks for while a map is made: those of its stretch of the curve. */
typedef struct app_owners {
    int64_t n;
    app_owner *owner;   /* [n] in curve order; of owners that ranks share, put together */
    int64_t *id;        /* [n] place along the curve, over all ranks */
    int64_t *own_pin;   /* [n] its pin, or its place where it has none */
    int64_t *count;     /* [n] interactions */
    double *weight;     /* [n] nanoseconds by the nominal costs */
    double *again;      /* [n] of the weight, what every rank that shares it does again */
    double *seconds;    /* [n] predicted from the measured costs */
    int64_t *pin_first; /* [n + 1] */
    int64_t *pin;
    int64_t *tile_first;   /* [n + 1]; owners that were surveyed with their tiles have any */
    double *tile_centroid; /* [tiles][3] */
    double *tile_weight;   /* [tiles] */
    int64_t *tile_pin;     /* [tiles][APP_TILE_PINS] */
} app_owners;

/* Brings the ranks' surveys together. keys [nkeys], ascending: of this rank's owners, to deal out the curve by. Adds
 * the bytes sent to other ranks to *bytes. Collective; owners is to be freed in any case. */
int app_owners_line_up(MPI_Comm comm, const app_survey *survey, const app_work_model *model, const app_costs *costs,
                       int64_t nkeys, const uint64_t *keys, app_owners *owners, int64_t *bytes);
void app_owners_free(app_owners *owners);

/* eqp_enumerate_fn over the tiles of an owner that was surveyed with them; user is the app_owners. An owner without
 * tiles is one interaction at its own centre. */
int app_owners_enumerate(void *user, int64_t owner, eqp_sink *sink);

#endif
