/* SPDX-License-Identifier: BSD-3-Clause */
/* Late maps: dedicated ranks or a thread make a map while the run goes on. A balancer offers its owners, takes the
 * map some steps later, and repairs it by the work of the last step. All functions here do nothing for a balancer
 * without `options.lazy`. */
#ifndef EQUIPOISE_LATE_LATE_H
#define EQUIPOISE_LATE_LATE_H

#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* Hosts the thread that makes maps. EQP_ERR_ARGUMENT, with a message, if maps cannot be made late. Local. */
int eqp__late_host(eqp_balancer *b, eqp_message *message);

/* The call that is due before the next step. wanted: action of the policy, replaced while maps are made late. Local,
 * the same on all ranks. */
typedef enum eqp__late_due { EQP__LATE_NOTHING, EQP__LATE_OFFER, EQP__LATE_TAKE } eqp__late_due;
eqp__late_due eqp__late_is_due(const eqp_balancer *b, eqp_policy_action *wanted);

/* True if a late map needs a survey of the coming step, with this detail (else unchanged). Local, the same on all
 * ranks. */
bool eqp__late_surveys(const eqp_balancer *b, const eqp_map_options *options, eqp_survey_detail *detail);

/* Makes the call that is due. An offer lists the present owners; life: expected steps of the map. A take sets
 * `found` to the map that has arrived; without one it stays empty and `why` gives the reason. Collective. */
int eqp__late_act(eqp_balancer *b, eqp__late_due due, eqp_map_options *options, double life, const eqp_names *home,
                  eqp_new_map *found, int64_t *bytes, eqp_message *message);

/* State of the offer after a step, for a minimum over the ranks, and that minimum. Local. */
int64_t eqp__late_look(eqp_balancer *b);
void eqp__late_hear(eqp_balancer *b, int64_t least);

#endif
