/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a balanced run and the maps made of it; shared by late maps and the calls of <equipoise/balancer.h>. */
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

/* After n unsuccessful trials in a row, other granularities are skipped for 2^n - 1 maps, n at most this, as losing
 * candidates of `auto` are. */
enum { EQP__GRAIN_LOST = 6 };

/* What a restart file holds of a run besides its objects. */
typedef struct eqp__kept_run {
    int64_t has_map;                /* true if the present map has computed forces */
    int64_t kept;                   /* true if `auto` kept the present map at the last action */
    int64_t action;                 /* eqp_policy_action since the last step */
    int64_t grain;                  /* granularity of the present owners */
    int64_t grain_lost, grain_rest; /* consecutive unsuccessful trials of other granularities; new maps left without
                                     * such trials */
    int64_t clock;                  /* steps recorded */
    int64_t repaired;               /* repairs since the last offer or new map */
    int64_t late;                   /* steps by which the last late map was late; 0: none has arrived */
    double inline_seconds;          /* of the slowest rank, for the last map made in line */
    double take_seconds;            /* the same for the last late map */
    double memory_made; /* largest used fraction of a capacity when the present map was made or last checked */
} eqp__kept_run;

struct eqp_balancer {
    MPI_Comm comm;            /* owned */
    int rank, nranks, nparts; /* one part per rank, except where maps are made for another application */
    eqp_problem problem;
    eqp_balancer_options options;
    eqp_work_model model;
    double nominal[EQP_COST_KINDS];
    eqp_costs costs;
    eqp_overheads overheads;
    eqp_part_memory bounds; /* memory that ranks need and have */
    double own_bytes;       /* bytes needed for making maps on this rank, as far as known */
    eqp_policy policy;
    eqp_rank_noise noise;     /* noise of the loads whose maximum the policy gets */
    int64_t left;             /* remaining steps as last given; agreed on with the next step */
    eqp_hindsight *hindsight; /* of the steps so far */
    eqp_hindsight_step first; /* with in_part: a first step without busy seconds, not yet in hindsight */
    bool in_part;
    eqp_rank_shares *shares;      /* fraction of the work for each rank */
    eqp_feedback_steps *feedback; /* of `feedback`, else NULL */
    eqp_calibration calibration;
    eqp_map *map;
    eqp_placement *placement; /* of the last map made */
    eqp_exchange_plan plan;
    eqp_rank_row *row;       /* [ranks] of the last step */
    eqp_units_totals totals; /* of all owners when the last map was made */
    eqp_survey survey;       /* of the last evaluation, if taken; input of a new map */
    eqp_survey names;        /* memory for the names of owners at home */
    bool surveying, surveyed;
    double map_seconds;          /* CPU seconds that this rank spent on maps since the last step */
    bool unpaid;                 /* true if the present map was made before a restart, so its cost is unknown */
    double lost_load, lost_work; /* wait in the phases of the last step beyond that of the rank with the largest total,
                                  * in seconds, measured and by the cost model */
    eqp_auto_memory memory;      /* of `auto` */
    eqp__kept_run run;
    int64_t born;        /* clock when the owners of the present map were surveyed */
    int64_t offered;     /* clock of the last offer of a late map */
    int64_t noffered;    /* owners at home at that offer */
    eqp_lazy_phase news; /* of all ranks */
    bool surveys;        /* true if the application takes surveys while it computes forces */
    eqp_step now;        /* the last step, with the description of the present map */
};

/* run.c: fingerprints of a method and of a choice. Local. */
int64_t eqp__print_method(int64_t print, const eqp_method *method);
int64_t eqp__print_choice(int64_t print, const eqp_choice *choice);

/* True if a repair can move a few owners: no owner is shared, and the method uses weights. Local. */
bool eqp__can_repair(const eqp_balancer *b);

/* Frees the contents of a survey, unless maps are offered all the time. Local. */
void eqp__balancer_forget(const eqp_balancer *b, eqp_survey *survey);

/* The owners at home on this rank: sorted curve keys, and the rank that computes each of them now. */
typedef struct eqp_names {
    int64_t n;
    uint64_t *key;          /* [n] owned */
    eqp_placement *present; /* [n] owned */
    int64_t *label;         /* [n] label of each owner from the last offer; 0: none. Owned; NULL: unknown */
} eqp_names;

/* names: must be freed in any case. Collective. */
int eqp__take_names(eqp_balancer *b, eqp_names *names);
void eqp__names_free(eqp_names *names);
void eqp__names_sort(eqp_names *names); /* the keys */

/* Makes the problem create its owners in that granularity. names: of the old owners; replaced. Collective. */
int eqp__take_grain(eqp_balancer *b, int grain, eqp_names *names);

/* make.c */

/* Opens the problem for a survey, and asks for the cost of shared sources; must be closed in any case. Collective. */
int eqp__open_problem(eqp_balancer *b, bool traced, eqp_map_options *options);
void eqp__close_problem(const eqp_balancer *b);

/* Surveys the owners unless they are known, and asks for the overhead of parts. detail: to keep of owners; NULL:
 * whatever the method needs. base: [parts] or NULL, owned by the caller. Collective. */
int eqp__ask_problem(eqp_balancer *b, eqp_map_options *options, const eqp_survey_detail *detail, double **base);

/* A new map; everything but the costs is owned. */
typedef struct eqp_new_map {
    eqp_map *map; /* NULL: the present map is kept */
    eqp_placement *placement;
    eqp_map_made made;
} eqp_new_map;

void eqp__new_map_free(eqp_new_map *found);

/* Owners in curve order, from the present survey or a new one. base: [parts] or NULL, owned by the caller; owners:
 * must be freed in any case. Adds to *bytes. Collective. */
int eqp__line_up(eqp_balancer *b, const eqp_names *home, eqp_map_options *options, double **base, eqp_owners *owners,
                 int64_t *bytes);

/* Options for repairing a map made with these options. */
eqp_map_options eqp__repairing(const eqp_map_options *options);

/* Moves few owners of the present map; *found stays empty if that does not reach the tolerance. Collective. */
int eqp__repair(eqp_balancer *b, const eqp_names *home, const eqp_map_options *options, eqp_new_map *found,
                int64_t *bytes, eqp_message *message);

/* True if `auto` repeats the last method because no trials are allowed. lives: of maps. */
bool eqp__makes_again(const eqp_balancer *b, const eqp_lives *lives);

/* True for `auto` and for maps that are traced before use. */
bool eqp__map_options_by_trial(const eqp_map_options *options);

/* True if the next map is tried before use, by its method or in several granularities, and trials have not used up
 * their share of the run. lives: of maps. */
bool eqp__tries(const eqp_balancer *b, const eqp_map_options *options, const eqp_lives *lives);

/* Makes a new map by a method that needs only the survey; eqp__make_new() by any method, for such lives. Collective. */
int eqp__make_by_method(eqp_balancer *b, const eqp_names *home, eqp_map_options *options, eqp_new_map *found,
                        int64_t *bytes, eqp_message *message);

/* home: replaced if the map is for owners of another granularity. */
int eqp__make_new(eqp_balancer *b, eqp_names *home, eqp_map_options *options, const eqp_lives *lives,
                  eqp_new_map *found, int64_t *bytes, eqp_message *message);

#endif
