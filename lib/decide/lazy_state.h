/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocol of maps made while the run goes on. Pure. */
#ifndef EQUIPOISE_DECIDE_LAZY_STATE_H
#define EQUIPOISE_DECIDE_LAZY_STATE_H

#include <equipoise/policy.h>

#include <stdbool.h>
#include <stdint.h>

/** Events of an application rank. All events except EQP_LAZY_ON_ANSWER occur on all ranks between the same two steps.
 */
typedef enum eqp_lazy_event {
    EQP_LAZY_ON_OFFER,    /**< a map is needed */
    EQP_LAZY_ON_STEP,     /**< a step was computed: a stopping point */
    EQP_LAZY_ON_ANSWER,   /**< this rank's part of the map has arrived */
    EQP_LAZY_ON_ALL_HAVE, /**< every rank is known to have its part; at a stopping point */
    EQP_LAZY_ON_DEAD,     /**< the balancing ranks do not answer any more */
    EQP_LAZY_ON_TAKE,     /**< the map was taken */
    EQP_LAZY_ON_LEAVE     /**< the application ends */
} eqp_lazy_event;

#define EQP_LAZY_EVENTS 7

/** State of an application rank (Pearce 2014, figures 5.7 to 5.9): plain data. It begins as {.wait = ..., .delay =
 * ...}, of which at least one is -1. */
typedef struct eqp_lazy_state {
    eqp_lazy_phase phase;
    int64_t wait;  /**< most steps after an offer before the rank waits for the answer: 0 waits at once (in line), -1
                      never  waits (asynchronous) */
    int64_t delay; /**< the map is taken exactly this many steps after the offer, so that a run can be repeated; 0: at
                      once; -1: as soon as all ranks have it */
    int64_t steps; /**< steps since the offer */
    bool has;      /**< true if this rank's part of the map has arrived */
    bool waiting;  /**< true if no step may be computed before ON_ALL_HAVE or ON_DEAD */
    bool dead;     /**< true if the balancing ranks were lost after the map had arrived */
} eqp_lazy_state;

/** True if the map must be taken before the next step. */
bool eqp__lazy_due(const eqp_lazy_state *state);

/** Processes one event:
 * - An offer while another one is pending, or after the balancing ranks were lost or dismissed, has no effect; nor have
 *   an answer without a pending offer and late events of a past offer.
 * - A map is taken once: ON_TAKE without a map that is due is an error; so are a step while a map is due or the rank
 *   waits, and ON_ALL_HAVE without this rank's own answer.
 * - A map that has arrived is taken even if the balancing ranks are lost.
 * - ON_LEAVE ends the protocol from every state.
 *
 * Local, O(1), deterministic. Returns EQP_OK, or EQP_ERR_STATE for an error as listed above, with the state unchanged.
 */
int eqp__lazy_next(eqp_lazy_state *state, eqp_lazy_event event);

#endif
