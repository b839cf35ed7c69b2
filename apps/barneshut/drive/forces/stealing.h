/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks handed out while they are computed, by a method of <equipoise/more/loops.h>: a rank begins with its own tasks;
 * who has none left gets some of whoever has most, as bundles (see <physics/bundle.h>), and sends the forces back. The
 * forces are the same to the last bit whoever computes them: a list follows from its group and the particles, and its
 * sums from the list. */
#ifndef BH_STEALING_H
#define BH_STEALING_H

#include "force_loop.h"

#include <equipoise/more/loops.h>

#include <mpi.h>

/* A loop over tasks that learns from step to step. */
typedef struct bh_stealing bh_stealing;

/* Collective over `comm`, which is duplicated; fails on all ranks or on none, as eqp_loop_create(). method: the same on
 * all ranks (borrowed). rules: NULL: the defaults (copied). */
int bh_stealing_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                       bh_stealing **stealing);

/* Collective; NULL on all ranks is legal. */
void bh_stealing_free(bh_stealing *stealing);

/* Computes all tasks of the pass, whose essential trees are here and whose results have room, here or elsewhere. What
 * this rank computes, whosever it is, counts in its pass. The tree, which is the pass's, grows by what comes with
 * bundles; traffic: adds to cells and particles. comm: as the stealing's. Collective: returns the code of the lowest
 * rank that has failed. EQP_ERR_FORMAT for bundles or results that do not fit. */
int bh_stealing_run(bh_stealing *stealing, MPI_Comm comm, bh_force_loop *pass, bh_tree *tree, bh_traffic *traffic,
                    bh_handed *handed);

#endif
