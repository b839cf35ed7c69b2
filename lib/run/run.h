/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a run that is kept balanced, and the maps that are made of it: what late maps and the calls of
 * <equipoise/balancer.h> share. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "decide/noise.h"
#include "run/calibration.h"
#include "run/feedback_steps.h"
#include "run/overhead.h"
#include "run/shares.h"
#include "whatif/automatic.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* After n trials without success, up to this limit, the other granularities are skipped for 2^n - 1 maps, as losing
 * candidates of `auto` are. */
enum { EQP__GRAIN_LOST = 6 };

struct eqp_balancer {
    MPI_Comm comm;            /* owned */
    int rank, nranks, nparts; /* parts: one per rank, except where maps are made for another application */
    eqp_problem problem;
    int grain;                  /* of its owners, that is in force */
    int grain_lost, grain_rest; /* unsuccessful trials of other granularities in a row, and new maps left to skip them
                                   for */
    eqp_balancer_options options;
    eqp_work_model model;
    double nominal[EQP_COST_KINDS];
    eqp_costs costs;
    eqp_overheads overheads;
    eqp_part_memory bounds; /* memory that ranks need and have */
    double own_bytes;       /* that making maps takes on this rank, as far as that is known */
    double memory_made;     /* largest use of a capacity when the present map was made, or looked at last */
    eqp_policy policy;
    eqp_rank_noise noise;     /* of the loads that the policy is told the largest of */
    int64_t left;             /* steps that the run still has, as was said last; agreed on with the next step */
    eqp_hindsight *hindsight; /* of the steps so far */
    eqp_hindsight_step first; /* with in_part: a first step without busy seconds, not in hindsight yet */
    bool in_part;
    eqp_rank_shares *shares;      /* fraction of the work for each rank */
    eqp_feedback_steps *feedback; /* of `feedback`, else NULL */
    eqp_calibration calibration;
    eqp_map *map;
    eqp_placement *placement; /* of the map that was made last */
    eqp_exchange_plan plan;
    eqp_rank_row *row;       /* [ranks] of the last step */
    eqp_units_totals totals; /* of all owners when the last map was made */
    eqp_survey survey;       /* of the last evaluation, if it was taken: what a new map is made of */
    eqp_survey names;        /* memory for who lives here */
    bool surveying, surveyed;
    bool has_map;                /* forces were computed by the present one */
    double map_seconds;          /* CPU seconds of this rank in making maps since the last step */
    bool unpaid;                 /* the present map was made before a restart, so its cost is unknown */
    double lost_load, lost_work; /* seconds of the last step's phases beyond the rank that has most in all, measured and
                                    by the cost model */
    eqp_policy_action action;    /* since the last step */
    bool kept;                   /* `auto` kept the present map then */
    eqp_auto_memory memory;      /* of `auto` */
    /* late maps: late.h */
    int64_t clock;         /* steps that were recorded */
    int64_t born;          /* clock when the owners of the present map were surveyed */
    int64_t offered;       /* clock of the last offer */
    int64_t noffered;      /* owners that lived here then */
    int64_t repaired;      /* repairs since then, or since the last new map */
    double inline_seconds; /* of the slowest rank, of the last map that was made in line */
    double take_seconds;   /* the same of the last one that came late */
    int64_t late;          /* steps by which it did; 0: none has come */
    eqp_lazy_phase news;   /* of all ranks */
    bool surveys;          /* the code takes surveys while it computes forces */
    eqp_step now;          /* the last step, and what was said of the present map */
};

/* run.c: fingerprints of a method and of a choice. Local. */
int64_t eqp__print_method(int64_t print, const eqp_method *method);
int64_t eqp__print_choice(int64_t print, const eqp_choice *choice);

/* True if a repair can move a few owners instead of all: none is shared, and the method uses weights. Local. */
bool eqp__can_repair(const eqp_balancer *b);

/* Frees what a survey holds, unless maps are offered all the time. Local. */
void eqp__balancer_forget(const eqp_balancer *b, eqp_survey *survey);

/* The owners at home on this rank: sorted curve keys, and the rank that computes each of them now. */
typedef struct eqp_names {
    int64_t n;
    uint64_t *key;          /* [n] owned */
    eqp_placement *present; /* [n] owned */
    int64_t *label;         /* [n] that owners carry from the last offer; 0: none. Owned; NULL: not known */
} eqp_names;

/* names: to be freed in any case. Collective. */
int eqp__take_names(eqp_balancer *b, eqp_names *names);
void eqp__names_free(eqp_names *names);
void eqp__names_sort(eqp_names *names); /* the keys */

/* Has the owners made in that granularity. names: theirs, replaced then. Collective. */
int eqp__take_grain(eqp_balancer *b, int grain, eqp_names *names);

/* make.c */

/* Opens the problem for a survey, and asks for what it knows of sources that parts share; to be closed in any case.
 * Collective. */
int eqp__open_problem(eqp_balancer *b, bool traced, eqp_map_options *options);
void eqp__close_problem(const eqp_balancer *b);

/* Surveys the owners unless they are known, and asks for the overhead of parts. detail: how much to keep of owners;
 * NULL: whatever the method needs. base: [parts] or NULL, owned by the caller. Collective. */
int eqp__ask_problem(eqp_balancer *b, eqp_map_options *options, const eqp_survey_detail *detail, double **base);

/* The map that was made; everything but the costs is owned. */
typedef struct eqp_new_map {
    eqp_map *map; /* NULL: the present one is kept */
    eqp_placement *placement;
    eqp_map_made made;
} eqp_new_map;

void eqp__new_map_free(eqp_new_map *found);

/* Owners in curve order, by the survey that there is or by one that is taken. base: [parts] or NULL, owned by the
 * caller; owners: to be freed in any case. Adds to *bytes. Collective. */
int eqp__line_up(eqp_balancer *b, const eqp_names *home, eqp_map_options *options, double **base, eqp_owners *owners,
                 int64_t *bytes);

/* How a map is repaired that is made so. */
eqp_map_options eqp__repairing(const eqp_map_options *options);

/* The present map with few owners moved; *found stays empty where that does not reach the tolerance. Collective. */
int eqp__repair(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, eqp_new_map *found,
                int64_t *bytes, eqp_message *message);

/* True if `auto` repeats the last method because no trials are allowed. lives: of maps. */
bool eqp__makes_again(const eqp_balancer *b, const eqp_lives *lives);

/* `auto`, or a map that is traced before it is used. */
bool eqp__map_options_by_trial(const eqp_map_options *options);

/* True if the next map is tried before it is used, by its method or in several granularities, and trials have not used
 * up their share of the run. lives: of maps. */
bool eqp__tries(const eqp_balancer *b, const eqp_map_options *options, const eqp_lives *lives);

/* A new map by a method that takes the survey alone; by any, for such lives. Collective. */
int eqp__make_by_method(eqp_balancer *b, const eqp_names *home, eqp_map_options *options, eqp_new_map *found,
                        int64_t *bytes, eqp_message *message);

/* home: replaced where the map is for owners of another granularity. */
int eqp__make_new(eqp_balancer *b, eqp_names *home, eqp_map_options *options, const eqp_lives *lives,
                  eqp_new_map *found, int64_t *bytes, eqp_message *message);

#endif
