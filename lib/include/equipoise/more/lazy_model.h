/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/lazy_model.h
 * \brief Resource model and protocol of maps made while the run goes on. Pure.
 *
 * The resource model follows chapter 5.4 of Pearce 2014, the protocol its chapter 5.5 (figures 5.7 to 5.9). No function
 * communicates or reads a clock.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_LAZY_MODEL_H
#define EQUIPOISE_MORE_LAZY_MODEL_H

#include <equipoise/error.h>
#include <equipoise/policy.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Seconds on n ranks: fixed + divided / n + per_rank n, each >= 0. */
typedef struct eqp_seconds_fit {
    double fixed;    /**< independent of the ranks */
    double divided;  /**< total work that the ranks share */
    double per_rank; /**< added per rank */
} eqp_seconds_fit;

/** Ways to make a map. */
typedef enum eqp_lazy_kind {
    EQP_LAZY_INLINE,    /**< on all ranks, which wait for it ("standard") */
    EQP_LAZY_DECOUPLED, /**< on some of the ranks, and all wait for it */
    EQP_LAZY_BESIDE,    /**< on dedicated ranks, while the application continues ("asynchronous") */
    EQP_LAZY_THREAD     /**< on one core that the application does not use, while it continues */
} eqp_lazy_kind;

/** Number of values of eqp_lazy_kind. */
#define EQP_LAZY_KINDS 4

/** Largest number of ranks in the model. */
#define EQP_LAZY_RANKS_MAX 1048576

/** An application and its maps. */
typedef struct eqp_lazy_model {
    eqp_seconds_fit step; /**< f: seconds of a balanced step, on the application's ranks */
    eqp_seconds_fit map;  /**< g: seconds of making a map, on the ranks that make it */
    eqp_seconds_fit talk; /**< h: seconds of sending the work to the balancing ranks and the map back, as a function of
                             application ranks per balancing rank */
    double own;           /**< seconds of an application rank that does not wait: offer, take and repair */
    double imbalance;     /**< alpha: imbalance of a step before the map arrives, a fraction >= 0 */
    double drift;         /**< i: growth of the step time per step as a map ages, a fraction >= 0 */
    double tolerance; /**< as printed: imbalance at which the next map is due, a fraction >= 0; the paper's tol is 1 +
                         tolerance */
    int64_t steps;    /**< t': remaining steps of the run, >= 1 */
    bool spare;       /**< true if there is a core for EQP_LAZY_THREAD */
    bool mended;      /**< true: a late map is repaired when taken and counts as fresh; false: its age is its delay */
    bool as_printed;  /**< true: use equations 5.2 to 5.5 as printed */
} eqp_lazy_model;

/** Result of eqp_lazy_choose(). */
typedef struct eqp_lazy_choice {
    eqp_lazy_kind kind;             /**< the cheapest kind; if several are equal, the first in the list */
    int64_t steps;                  /**< number of steps counted: t', as printed t (5.3) */
    double seconds[EQP_LAZY_KINDS]; /**< seconds of these steps, at each kind's best; INFINITY: not possible */
    int balancers[EQP_LAZY_KINDS];  /**< ranks that make the map in that case, the smallest number if several are equal;
                                         the thread counts as one; 0: not possible */
    int64_t late[EQP_LAZY_KINDS];   /**< steps until the map arrives in that case; 0 if all ranks wait for it, or not
                                         possible */
    int64_t every[EQP_LAZY_KINDS];  /**< steps between maps in that case; equal to `steps`: the present map is kept */
} eqp_lazy_choice;

/** Chooses the way to make maps and the number of ranks for it (after 5.2 to 5.5). On p ranks, t = t' steps with a map
 * every k steps take S(f, c) = t f ((1 + i)^k - 1) / (i k) + (t/k - 1) c seconds: the first step with a map lasts f,
 * and each map adds c. Each kind uses its best k from 1 to t - 1:
 * - inline: S(f(p), g(p)), or the present map for all t steps
 * - decoupled, 1 <= m <= p: S(f(p), g(m) + h(p/m))
 * - beside, n = p - m >= 1: S(f(n), own) with k >= u; the map arrives after u = (g(m) + h(n/m)) / ((1 + alpha)
 * f(n)) steps; a map is taken between two steps, so u is rounded up, to at least 1. Without `mended` it is then u steps
 *   old: S((1 + i)^u f(n), own). A map that arrives after t - 1 steps or later does not count.
 * - thread: the same with n = p and m = 1
 *
 * As printed, the model counts one map over t = min(t', t'') steps with (1 + i)^t'' = 1 + tolerance: g(p) + t f(p),
 * decoupled g(m) + h(p/m) + t f(p), beside t f(n) + u alpha f(n) with u = (g + h) / (alpha f(n)), which is never below
 * `decoupled`: a step before the map arrives lasts (1 + alpha) f, not alpha f. The printed form also ignores that the
 * map is u steps old on arrival. And if maps are expensive, t'' is shorter than the best interval between maps. Local,
 * O(nranks log steps), deterministic.
 * \param[in]  model   (borrowed)
 * \param[in]  nranks  p, from 1 to EQP_LAZY_RANKS_MAX
 * \param[out] choice  unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT for impossible ranks or steps; EQP_ERR_DATA for a number that is negative or not
 * finite */
int eqp_lazy_choose(const eqp_lazy_model *model, int nranks, eqp_lazy_choice *choice);

/** Events of an application rank. All events except EQP_LAZY_ON_ANSWER occur on all ranks between the same two steps.
 */
typedef enum eqp_lazy_event {
    EQP_LAZY_ON_OFFER,    /**< a map is needed */
    EQP_LAZY_ON_STEP,     /**< a step was computed: a stopping point */
    EQP_LAZY_ON_ANSWER,   /**< this rank's part of the map has arrived */
    EQP_LAZY_ON_ALL_HAVE, /**< every rank is known to have its part; at a stopping point */
    EQP_LAZY_ON_PATIENCE, /**< the wait for an answer exceeds the patience */
    EQP_LAZY_ON_DEAD,     /**< the balancing ranks are known to be gone */
    EQP_LAZY_ON_TAKE,     /**< the map was taken */
    EQP_LAZY_ON_LEAVE     /**< the application ends */
} eqp_lazy_event;

/** Number of values of eqp_lazy_event. */
#define EQP_LAZY_EVENTS 8

/** Action that an application rank must take after an event. */
typedef enum eqp_lazy_action {
    EQP_LAZY_DO_NOTHING,       /**< go on */
    EQP_LAZY_DO_SEND,          /**< send the work to the balancing ranks and continue */
    EQP_LAZY_DO_SEND_AND_WAIT, /**< send it, and compute no step before ON_ALL_HAVE, ON_PATIENCE or ON_DEAD */
    EQP_LAZY_DO_TELL,          /**< tell the other application ranks that the answer has arrived */
    EQP_LAZY_DO_WAIT,          /**< compute no step before ON_ALL_HAVE, ON_PATIENCE or ON_DEAD */
    EQP_LAZY_DO_TAKE,          /**< take the map before the next step, and report ON_TAKE */
    EQP_LAZY_DO_DROP,          /**< discard the answer, since no offer is pending */
    EQP_LAZY_DO_GIVE_UP,       /**< continue with the present map; never offer again */
    EQP_LAZY_DO_DISMISS,       /**< tell the balancing ranks that they may end */
    EQP_LAZY_DO_ABANDON        /**< the same with a pending offer, without waiting for its answer */
} eqp_lazy_action;

/** State of an application rank: plain data. Set by eqp_lazy_begin(). */
typedef struct eqp_lazy_state {
    eqp_lazy_phase phase; /**< present phase */
    int64_t wait;         /**< as given to eqp_lazy_begin() */
    int64_t delay;        /**< as given to eqp_lazy_begin() */
    int64_t steps;        /**< steps since the offer */
    bool has;             /**< true if this rank's part of the map has arrived */
    bool waiting;         /**< true if no step may be computed */
    bool dead;            /**< true if the balancing ranks were lost after the map had arrived */
} eqp_lazy_state;

/** Begins without an offer. Local.
 * \param[out] state  unchanged on error
 * \param[in]  wait   most steps after an offer before the rank waits for the answer: 0 waits at once (in line), -1
 *                    never waits (asynchronous)
 * \param[in]  delay  the map is taken exactly this many steps after the offer, so that a run can be repeated; 0: at
 *                    once; -1: as soon as all ranks have it
 * \return EQP_OK; EQP_ERR_ARGUMENT for less than -1, and for both >= 0, which exclude each other */
int eqp_lazy_begin(eqp_lazy_state *state, int64_t wait, int64_t delay);

/** Processes one event: sets the next state and the action. Every pair of state and event has a result:
 * - An offer while another one is pending, or after the balancing ranks were lost or dismissed, has no effect.
 * - An answer without a pending offer is dropped. Late events of a past offer have no effect.
 * - A map is taken once: ON_TAKE without a map that is due is an error; so are a step while a map is due or the rank
 * waits, and ON_ALL_HAVE without this rank's own answer.
 * - ON_LEAVE ends the protocol from every state.
 *
 * Local, O(1), deterministic.
 * \param[in,out] state   unchanged on error
 * \param[in]     event   the event
 * \param[out]    action  the action; unchanged on error
 * \return EQP_OK; EQP_ERR_STATE for an error as listed above; EQP_ERR_ARGUMENT for an invalid state or event */
int eqp_lazy_next(eqp_lazy_state *state, eqp_lazy_event event, eqp_lazy_action *action);

/** State of a balancing rank. */
typedef enum eqp_lazy_server {
    EQP_LAZY_FREE,   /**< (0, 0) waits for work */
    EQP_LAZY_MAKING, /**< (1, 0) makes a map */
    EQP_LAZY_MADE,   /**< (1, 1) the map is on its way to the application */
    EQP_LAZY_ENDED   /**< dismissed, or alone */
} eqp_lazy_server;

/** Number of values of eqp_lazy_server. */
#define EQP_LAZY_SERVERS 4

/** Events of a balancing rank. */
typedef enum eqp_lazy_server_event {
    EQP_LAZY_ON_WORK,      /**< the work of all application ranks has arrived */
    EQP_LAZY_ON_MAP,       /**< the map is made */
    EQP_LAZY_ON_SENT,      /**< the map was sent */
    EQP_LAZY_ON_DISMISSED, /**< the application has left */
    EQP_LAZY_ON_SILENCE    /**< the application has been silent for too long, or is gone */
} eqp_lazy_server_event;

/** Number of values of eqp_lazy_server_event. */
#define EQP_LAZY_SERVER_EVENTS 5

/** Action that a balancing rank must take after an event. */
typedef enum eqp_lazy_server_action {
    EQP_LAZY_SERVE_NOTHING, /**< go on */
    EQP_LAZY_SERVE_MAKE,    /**< make the map */
    EQP_LAZY_SERVE_SEND,    /**< send the map to the application */
    EQP_LAZY_SERVE_END      /**< end, without waiting for pending messages */
} eqp_lazy_server_action;

/** Processes one event of a balancing rank. Errors: work that arrives before the last map was sent, a map without work,
 * and a sent map that was not made. After the end no event has an effect. Local, O(1), deterministic.
 * \param[in,out] server  unchanged on error
 * \param[in]     event   the event
 * \param[out]    action  the action; unchanged on error
 * \return as eqp_lazy_next() */
int eqp_lazy_serve_next(eqp_lazy_server *server, eqp_lazy_server_event event, eqp_lazy_server_action *action);

#ifdef __cplusplus
}
#endif
#endif
