/* SPDX-License-Identifier: BSD-3-Clause */
/* Late maps, as a balancer uses them: dedicated ranks or a thread make a map while the run goes on. A balancer offers
 * its owners, takes the map some steps later, and repairs it by the work of the last step. All functions here do
 * nothing for a balancer without `options.lazy`. */
#ifndef EQUIPOISE_LATE_LATE_H
#define EQUIPOISE_LATE_LATE_H

#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* Checks that maps can be made late, and hosts the thread that makes them: EQP_OK, or EQP_ERR_ARGUMENT with a message.
 * Local. */
int eqp__late_host(eqp_balancer *b, eqp_message *message);

/* The call that is due before the next step. wanted: in, the action of the policy; out, the action that replaces it
 * while maps are made elsewhere. Local, the same on all ranks. */
typedef enum eqp__late_due { EQP__LATE_NOTHING, EQP__LATE_OFFER, EQP__LATE_TAKE } eqp__late_due;
eqp__late_due eqp__late_is_due(const eqp_balancer *b, eqp_policy_action *wanted);

/* True if a late map needs a survey of the coming step; detail: of that survey, else unchanged. Local, the same on all
 * ranks. */
bool eqp__late_surveys(const eqp_balancer *b, const eqp_map_options *options, eqp_survey_detail *detail);

/* Makes the call that is due. An offer lists the owners as they are; life: expected steps of the map. A take sets
 * `found` to the map that has arrived; it stays empty if there is none, and `why` gives the reason. Collective. */
int eqp__late_act(eqp_balancer *b, eqp__late_due due, eqp_map_options *options, double life, const eqp_names *home,
                  eqp_new_map *found, int64_t *bytes, eqp_message *message);

/* State of the offer after a step, for a minimum over the ranks, and that minimum. Local. */
int64_t eqp__late_look(eqp_balancer *b);
void eqp__late_hear(eqp_balancer *b, int64_t least);

#endif
