/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs that are handed out during an evaluation, on top of any map: a rank computes what the map assigns; ranks that
 * are done take iterations that other ranks have not begun, with the segments these need. */
#ifndef DD_STEALING_H
#define DD_STEALING_H

#include "accounts.h"

#include <equipoise/more/loops.h>

#include <mpi.h>

/* A loop for dd_evaluator::loop, which learns the speeds of the ranks. rules: NULL: the defaults (copied). Collective.
 */
int dd_loop_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                   eqp_loop **loop);

/* Computes all pairs by the evaluator's loop. Remote segments must be complete. For the same ranks and map, forces have
 * the same bits whichever rank computes which pairs. Time and work are booked where pairs are computed, the accounts of
 * owners at their owners; evaluator->helped is set. computed: this rank's code so far. The same code on all ranks.
 * Collective. */
int dd_hand_out(dd_batches *batches, const dd_domain *domain, dd_stage *stage, int computed);

#endif
