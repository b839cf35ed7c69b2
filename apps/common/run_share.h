/* SPDX-License-Identifier: BSD-3-Clause */
/* How much work each part is to get: --share equal|speeds:S,...|measured|model[:KIND]. Work is in seconds by the cost
 * model, the same for all ranks; a part's relative speed says how much of it is to take as long as elsewhere. */
#ifndef APP_RUN_SHARE_H
#define APP_RUN_SHARE_H

#include "run_step.h"

#include <equipoise/schedule.h>
#include <equipoise/speeds.h>

#include <stdbool.h>

/* Relative speeds of any number of parts, mean 1: part p has that of p modulo n. Borrowed. Zeros: all are alike. */
typedef struct app_speeds {
    int n;
    const double *of; /* [n] */
} app_speeds;

static inline double app_speed_of(app_speeds speeds, int part)
{
    return speeds.n > 0 ? speeds.of[part % speeds.n] : 1.0;
}

/* How far loads (seconds of work, [nparts]) are from what parts of those speeds should have: largest load / speed over
 * mean load, - 1; 0 without load. */
double app_speeds_imbalance(app_speeds speeds, int nparts, const double *load);

typedef enum app_share_kind {
    APP_SHARE_EQUAL,
    APP_SHARE_SPEEDS,   /* as declared */
    APP_SHARE_MEASURED, /* by what ranks took for their work since the last map: a constant for each (eqp_speeds) */
    APP_SHARE_MODEL     /* by speed functions that are learned from all maps so far */
} app_share_kind;

typedef struct app_share_choice {
    app_share_kind kind;
    eqp_speeds_kind model; /* of APP_SHARE_MODEL; piecewise unless said otherwise */
    int nspeeds;           /* of APP_SHARE_SPEEDS, else 0 */
    double *speed;         /* [nspeeds] owned, mean 1 */
} app_share_choice;

/* Reads the word of --share. EQP_OK; EQP_ERR_ARGUMENT with what is wrong in the message (may be NULL), EQP_ERR_MEMORY;
 * *choice is unchanged then. Free with app_share_choice_free(). */
int app_share_parse(const char *text, app_share_choice *choice, eqp_message *message);
void app_share_choice_free(app_share_choice *choice);

/* What is declared; nothing where speeds are to be learnt. */
static inline app_speeds app_share_declared(const app_share_choice *choice)
{
    return (app_speeds){choice->nspeeds, choice->speed};
}

/* Whether declared speeds stand for so many parts: they are repeated, but whole. EQP_OK or EQP_ERR_ARGUMENT with a
 * message. */
int app_share_check(const app_share_choice *choice, int64_t nparts, eqp_message *message);

/* What the shares of a run's ranks follow from. */
typedef struct app_shares app_shares;

/* choice: borrowed. automatic: the policy leaves it open when maps are made. Local, O(ranks). EQP_OK, EQP_ERR_ARGUMENT
 * with a message that begins with the program's name for speeds that do not fit the ranks, EQP_ERR_MEMORY. */
int app_shares_create(const char *program, const app_share_choice *choice, bool automatic, int nranks,
                      app_shares **shares, eqp_message *message);
void app_shares_free(app_shares *shares);

/* Takes in a step: rows [nranks] of row_bytes each that begin with an app_rank_row, of so many evaluations of the
 * forces together (a size is the work of one). What says nothing (no work, a time that is none) is left out. Local. */
void app_shares_learn(app_shares *shares, int64_t evaluations, const void *rows, size_t row_bytes);

/* Whether speeds turn out to be others than those of the present map by more than a tenth, so that a map is to be made
 * before the next step whatever the policy says, which takes what the first map has reached for all that can be. After
 * ten maps in a row it takes longer and longer. Never where the policy is not automatic. */
bool app_shares_want(const app_shares *shares);

/* New speeds for the next map, by what was learnt. Local; EQP_OK or EQP_ERR_MEMORY, and the speeds stay. */
int app_shares_renew(app_shares *shares);

/* Relative speeds of the ranks that the last renewal has found: those of the present map. Borrowed until the next. */
app_speeds app_shares_speeds(const app_shares *shares);

/* The rules of a run's loops, with declared speeds as weights of the methods that have any (borrowed). */
eqp_schedule_options app_shares_rules(const app_shares *shares, const eqp_schedule_options *rules);

/* Sets work, speed and predicted of a rank's row: seconds of its work by the cost model. */
void app_shares_fill_row(const app_shares *shares, int rank, double work, app_rank_row *row);

#endif
