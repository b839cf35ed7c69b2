/* SPDX-License-Identifier: BSD-3-Clause */
/* The survey for the next map, filled while lists are walked for forces: each group's work, a sample of its tiles and,
 * for groups too heavy for one work unit, all tiles. Owners are groups, identified by key and part; the pin of a tile
 * is its opened cell. */
#ifndef BH_SURVEY_H
#define BH_SURVEY_H

#include "tasks.h"

#include "../../physics/walk.h"

#include <equipoise/survey.h>

/* A group's work in one substep of each phase (<physics/motion.h>). */
typedef struct bh_turns {
    int n; /* eqp_survey_phases() */
    bh_counts of[BH_RUNGS_MAX];
} bh_turns;

/* Estimates the turns from the work for all targets, as if lists for fewer targets were as long. */
void bh_survey_turns(const eqp_survey *owners, const bh_task *task, const bh_counts *all, bh_turns *turns);

/* Adds a task from its list, which was walked without keep(). */
int bh_survey_whole(eqp_survey *owners, const bh_task *task, const bh_tree *tree, const bh_list *list,
                    const bh_turns *turns);

/* Adds this rank's share of a task, from the list of its tiles. */
int bh_survey_share(eqp_survey *owners, const bh_task *task, const bh_tree *tree, const bh_list *list,
                    const bh_turns *turns);

/* Adds a group without work, for methods that need no weights. */
int bh_survey_add_group(eqp_survey *owners, const bh_group *group, int64_t tag, int64_t label, int home,
                        int64_t at_home);

#endif
