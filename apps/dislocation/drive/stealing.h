/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs that are handed out while forces are computed, on top of any map: a rank computes what the map says, and ranks
 * that are done take over what others have not begun, with the segments that they need for it. */
#ifndef DD_STEALING_H
#define DD_STEALING_H

#include "accounts.h"

#include <equipoise/more/loops.h>

#include <mpi.h>

/* A loop for dd_evaluator::loop; it learns how fast the ranks are. rules: NULL: the defaults (copied).
 * Collective. */
int dd_loop_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                   eqp_loop **loop);

/* All pairs, by the evaluator's loop. Remote segments are complete. Forces have the same bits whoever computes what,
 * for the same ranks and map. Work and time are the batches' of who computes, the accounts of owners stay where they
 * are; evaluator->helped is set. computed: this rank's code so far. The same code on all ranks. Collective. */
int dd_hand_out(dd_batches *batches, const dd_domain *domain, dd_stage *stage, int computed);

#endif
