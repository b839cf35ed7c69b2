/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks handed out within an evaluation by a method of <equipoise/schedule.h>. A rank begins with its own tasks; an
 * idle rank gets bundles (<physics/bundle.h>) from the rank with most, and returns the forces. Forces have the same
 * bits on any rank: a list follows from its group and the particles, and its sums from the list. */
#ifndef BH_STEALING_H
#define BH_STEALING_H

#include "force_loop.h"

#include <equipoise/more/loops.h>

/* A loop over tasks that learns from step to step. */
typedef struct bh_stealing bh_stealing;

/* Duplicates comm. method: the same on all ranks (borrowed). rules: copied; NULL: the defaults. Collective; fails on
 * all ranks or on none, as eqp_loop_create(). */
int bh_stealing_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                       bh_stealing **stealing);

/* stealing: NULL allowed on all ranks. Collective. */
void bh_stealing_free(bh_stealing *stealing);

/* Computes all tasks of a force loop, here or on other ranks. Their essential trees must be here and their results have
 * room. All work on this rank counts in its own loop. Bundles add cells to the tree, which is the loop's; traffic: adds
 * to cells and particles. comm: as the stealing's. Collective: returns the code of the lowest rank that has failed.
 * EQP_ERR_FORMAT for bundles or results that do not fit. */
int bh_stealing_run(bh_stealing *stealing, MPI_Comm comm, bh_force_loop *forces, bh_tree *tree, bh_traffic *traffic,
                    bh_handed *handed);

#endif
