/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a balanced run and the maps made of it; shared by late maps and the calls of <equipoise/balancer.h>. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/internal.h"
#include "cost/costs.h"
#include "decide/policy.h"
#include "map/options.h"
#include "whatif/automatic.h"

#include <equipoise/balancer.h>
#include <equipoise/more/methods.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* overhead.c. CPU seconds of a step outside interactions: a cost per particle held, per ghost, per byte sent and per
 * rank, fitted to the busy seconds of steps that kept their map. */
typedef struct eqp_overheads {
    eqp_overhead nominal;
    eqp_costs costs;
    double scatter; /* sum of log(measured / expected seconds) of the busiest ranks; fades */
    double steps;   /* number of these ranks; fades */
} eqp_overheads;

/* nominal: may be NULL. EQP_OK or EQP_ERR_ARGUMENT for costs out of range. */
int eqp__overheads_init(eqp_overheads *o, const eqp_overhead *nominal);

/* The fitted costs; before the first fit, the nominal ones. */
eqp_overhead eqp__overheads_now(const eqp_overheads *o);

/* Expected CPU seconds outside interactions of the rank with this row, in a step with this many evaluations. */
double eqp__overheads_predict(const eqp_overheads *o, const eqp_rank_row *row, int64_t evaluations);

/* Fits the costs again. rows: of all ranks, of a step that kept its map; rows without busy_seconds are left out. EQP_OK
 * or EQP_ERR_DATA for seconds that are not finite. Local. Allocates nothing, since it runs after the ranks have agreed,
 * when a single rank must not fail. */
int eqp__overheads_learn(eqp_overheads *o, int nranks, const eqp_rank_row *rows, int64_t evaluations);

/* Ratio of the busiest rank's seconds to the expected ones, from earlier steps; 1 without any. With scatter, the
 * maximum over many ranks exceeds the largest of their means. */
double eqp__overheads_factor(const eqp_overheads *o);

/* Records a step: seconds of its busiest rank, and of the rank expected to be busiest; ignored unless both are > 0. */
void eqp__overheads_scatter(eqp_overheads *o, double measured, double foretold);

/* Copies to or from bytes, which must be long enough. */
typedef struct eqp__cursor {
    unsigned char *at;
    bool reads;
} eqp__cursor;

void eqp__pass(eqp__cursor *c, void *data, size_t size);

/* Sizes of a map's table: owners shared by positions of interactions, and paths through phases. */
typedef struct eqp__table_size {
    int64_t nshared, nunits, nphased, nphases;
} eqp__table_size;

eqp__table_size eqp__table_of(const eqp_map *map);
size_t eqp__table_bytes(const eqp__table_size *size);

/* True if such a table fits in `size` bytes; eqp__table_bytes() then cannot overflow. */
bool eqp__can_be_table(const eqp__table_size *size, size_t bytes);
void eqp__table_write(eqp__cursor *c, const eqp_map *map);

/* Returns EQP_ERR_FORMAT unless the table is valid for this number of ranks. */
int eqp__table_read(eqp__cursor *c, const eqp__table_size *size, int nranks, eqp_map **map);

/* calibration.c. Factors that make the next map even in seconds of a step instead of counted work. Each rank's weights
 * are scaled by its expected seconds, interactions plus overhead, over those of its interactions. If
 * measured seconds differ from these by more than noise, the cost model is wrong, and measured seconds replace the
 * expected ones.
 * The state apart from the numbers per rank, which a restart file holds: */
typedef struct eqp__kept_calibration {
    int64_t steps;   /* since the last map */
    int64_t active;  /* true if the present map was made with factors from measurements */
    int64_t scaled;  /* true if the present map was made with factors */
    int64_t in_vain; /* consecutive maps for an unpredicted imbalance that did not help */
    double uneven;   /* expected imbalance of the previous map, overhead included */
    double noise;    /* standard deviation of a rank's seconds per step, relative */
    double before;   /* unpredicted imbalance when the last map was made because of it; 0: never */
} eqp__kept_calibration;

/* Zero, except for the members set by eqp__calibration_create(). */
typedef struct eqp_calibration {
    int nranks;
    bool measures;
    double tolerance; /* acceptable imbalance */
    double *load;     /* [ranks] measured since the last map; NULL: no calibration. Owned, as are the next three */
    double *model;    /* [ranks] predicted seconds of the work in the weights */
    double *overhead; /* [ranks] expected overhead */
    double *factor;   /* [ranks] for the present map */
    double surely;    /* standard deviations beyond which a load is not noise */
    eqp__kept_calibration now;
} eqp_calibration;

/* measures: factors may come from measurements. false_alarms: probability of mistaking noise for an error of the model.
 * Local. EQP_OK or EQP_ERR_MEMORY. */
int eqp__calibration_create(int nranks, double tolerance, bool measures, double false_alarms, eqp_calibration *made);
void eqp__calibration_free(eqp_calibration *c);

/* Records a step: rows [ranks]; noise: standard deviation of a rank's seconds, relative. Local; the same on all
 * ranks. */
void eqp__calibration_learn(eqp_calibration *c, const eqp_rank_row *rows, double noise);

/* True if a new map is due because ranks exceed their predictions by different amounts: averaged over some steps, by
 * more than a twentieth of the mean and by more than noise explains. The wait doubles each time such a map does not
 * help. */
bool eqp__calibration_wants(const eqp_calibration *c);

/* True if a map of this cost pays because of overhead: the present map was made without it, or with it and still leaves
 * some. The gain counts for half of the remaining steps, since the map may be replaced earlier, or, where their number
 * is unknown (INT64_MAX), for as many steps as the present map has lasted. */
bool eqp__calibration_pays(const eqp_calibration *c, int64_t left, double cost);

/* Factors for the weights of each rank's present items: [ranks], mean about 1, borrowed until the next call; NULL if
 * all would be 1. After a map with measured factors the next map gets them too, since without them it would repeat
 * the first map's error. Call it when a map is made; recording starts again. */
const double *eqp__calibration_take(eqp_calibration *c);

/* feedback_steps.c. Steps of a run by `feedback`: as long as its rule asks for them (eqp__feedback_check(), guarded);
 * then back to the best cuts so far, until the policy wants another map. */
typedef struct eqp_feedback_steps eqp_feedback_steps;

/* Creates the state; *feedback stays NULL, which makes all calls below no-ops, for a run with another method and
 * where work is handed out, since measured loads then do not describe the map. Only an automatic policy stops at its
 * imbalance_tol. Local. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int eqp__feedback_steps_create(const eqp_balancer_options *options, int nranks, eqp_feedback_steps **feedback);
void eqp__feedback_steps_free(eqp_feedback_steps *feedback);

/* Records a step: rows [ranks], the same on all ranks. rebalanced: true in the first step with a new map. Local.
 * EQP_OK, EQP_ERR_DATA for invalid loads. */
int eqp__feedback_steps_record(eqp_feedback_steps *feedback, const eqp_rank_row *rows, bool rebalanced);

/* True if feedback asks for a map before the next step, regardless of the policy. */
bool eqp__feedback_steps_wants(const eqp_feedback_steps *feedback);

/* Sets up the next map: by measured loads, so that no weights are needed, or, on the way back to the best division, by
 * the number of particles each rank had then (borrowed until the next call). */
void eqp__feedback_steps_prepare(eqp_feedback_steps *feedback, eqp_map_options *options);

/* The steps so far; a restart file holds them. */
typedef struct eqp__kept_feedback {
    int64_t phase;
    eqp_feedback_state state;
} eqp__kept_feedback;

bool eqp__feedback_steps_can_be(const eqp__kept_feedback *kept);

/* Passes the steps so far to or from `kept`, and one number per rank. */
void eqp__feedback_steps_pass(eqp_feedback_steps *feedback, int nranks, eqp__kept_feedback *kept, eqp__cursor *c);

/* True if measured seconds describe the ranks' work: all ranks have the same relative speed, and costs are not fixed
 * (eqp_balancer_options.fixed_costs). Local. */
bool eqp__rows_tell(int nranks, const eqp_rank_row *rows, bool fixed_costs);

/* shares.c. Fraction of the work for each rank: equal, declared, or measured. */
typedef struct eqp_rank_shares eqp_rank_shares;

/* choice: borrowed. automatic: the policy decides when maps are made. Local, O(ranks). EQP_OK, EQP_ERR_ARGUMENT for
 * speeds that do not fit the ranks, EQP_ERR_MEMORY. */
int eqp__rank_shares_create(const eqp_share_options *choice, bool automatic, int nranks, eqp_rank_shares **shares);
void eqp__rank_shares_free(eqp_rank_shares *shares);

/* Records a step: rows [ranks], with the work of all its evaluations (a size is the work of one). Rows without work or
 * with an invalid time are left out. Local. */
void eqp__rank_shares_learn(eqp_rank_shares *shares, int64_t evaluations, const eqp_rank_row *rows);

/* True if measured speeds differ from those of the present map by more than a tenth and by more than its granularity
 * can resolve. A map is then due before the next step, regardless of the policy; after ten such maps in a row the
 * waits grow. Always false unless the policy is automatic. */
bool eqp__rank_shares_want(const eqp_rank_shares *shares);

/* Renews the speeds for the next map from the recorded steps. Local; EQP_OK or EQP_ERR_MEMORY with unchanged speeds. */
int eqp__rank_shares_renew(eqp_rank_shares *shares);

/* Relative speeds by the last renewal, i.e. those of the present map. Borrowed until the next renewal. */
eqp_part_speeds eqp__rank_shares_speeds(const eqp_rank_shares *shares);

/* Numbers per rank in a restart file: its speed, its work and seconds since the last renewal, its last speed. */
enum { EQP__SHARE_ROWS = 4 };

/* Passes these for all ranks: [EQP__SHARE_ROWS][ranks]. Invalid numbers count as not measured. */
void eqp__rank_shares_pass(eqp_rank_shares *shares, eqp__cursor *c);

/* The remaining state, the same on all ranks; a restart file holds it. */
typedef struct eqp__kept_shares {
    int64_t maps;               /* consecutive maps made for different speeds */
    int64_t steps, evaluations; /* since the last renewal */
} eqp__kept_shares;

eqp__kept_shares *eqp__rank_shares_kept(eqp_rank_shares *shares);

/* After n unsuccessful trials in a row, other granularities are skipped for 2^n - 1 maps, n at most this, as losing
 * candidates of `auto` are. */
enum { EQP__GRAIN_LOST = 6 };

/* The plain part of a run, which a restart file holds. */
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
    double *load;            /* [ranks] of the last step, measured or counted */
    eqp_timings *own;        /* a step whose caller times no batches, as one batch */
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
