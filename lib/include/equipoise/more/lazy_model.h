/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/lazy_model.h
 * \brief Maps that are made beside the run: is that worth it, and how do both sides take turns? Pure.
 *
 * The model of resources is that of chapter 5.4 of Pearce 2014, the protocol that of its chapter 5.5 (figures 5.7 to
 * 5.9). Nothing here communicates or reads a clock.
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
    double fixed;    /**< whatever the ranks */
    double divided;  /**< of work that the ranks share */
    double per_rank; /**< that each rank adds */
} eqp_seconds_fit;

/** Where a map is made. */
typedef enum eqp_lazy_kind {
    EQP_LAZY_INLINE,    /**< on all ranks, which wait for it ("standard") */
    EQP_LAZY_DECOUPLED, /**< on some of the ranks, and all wait for it */
    EQP_LAZY_BESIDE,    /**< on ranks that do nothing else; the application goes on meanwhile ("asynchronous") */
    EQP_LAZY_THREAD     /**< on one spare core, which the application does not miss; it goes on meanwhile */
} eqp_lazy_kind;

/** Number of values of eqp_lazy_kind. */
#define EQP_LAZY_KINDS 4

/** More ranks than this are not modelled. */
#define EQP_LAZY_RANKS_MAX 1048576

/** An application and its maps. */
typedef struct eqp_lazy_model {
    eqp_seconds_fit step; /**< f: a balanced step, on its ranks */
    eqp_seconds_fit map;  /**< g: a map, on the ranks that make it */
    eqp_seconds_fit talk; /**< h: the work to those ranks and the map back, on the ratio of application ranks to them */
    double own;           /**< what a map costs an application rank that does not wait: offer, take and repair */
    double imbalance;     /**< alpha: of a step until the map comes, a fraction >= 0 */
    double drift;         /**< i: by which a step gets longer, step by step, while a map ages, a fraction >= 0 */
    double tolerance; /**< as printed: imbalance at which the next map is due, a fraction >= 0; the paper's tol is 1 +
                         this */
    int64_t steps;    /**< t': that the run still has, >= 1 */
    bool spare;       /**< there is a core for EQP_LAZY_THREAD */
    bool mended; /**< a late map is repaired when it is taken, and as good as new; else it is as old as it is late */
    bool as_printed; /**< equations 5.2 to 5.5 as printed */
} eqp_lazy_model;

/** What to do. */
typedef struct eqp_lazy_choice {
    eqp_lazy_kind kind;             /**< the cheapest one; of equals the first in the list */
    int64_t steps;                  /**< that were counted: t', as printed t (5.3) */
    double seconds[EQP_LAZY_KINDS]; /**< of these steps by each kind at its best; INFINITY where it cannot be */
    int balancers[EQP_LAZY_KINDS];  /**< ranks that make the map then, the fewest of equals; the thread counts as one; 0
                                         where it cannot be */
    int64_t late[EQP_LAZY_KINDS]; /**< steps until the map comes then; 0 where all wait for it and where it cannot be */
    int64_t every[EQP_LAZY_KINDS]; /**< steps from map to map then; all of them: the present map is kept */
} eqp_lazy_choice;

/** Chooses where maps are made, and on how many ranks (after 5.2 to 5.5). On p ranks, t = t' steps with a map every k
 * of them take S(f, c) = t f ((1 + i)^k - 1) / (i k) + (t/k - 1) c seconds, where the first step with a map lasts f and
 * a map costs the steps c. Each kind has the k that is best for it, from 1 to t - 1:
 * - inline: S(f(p), g(p)), or the present map for all t steps
 * - decoupled, 1 <= m <= p: S(f(p), g(m) + h(p/m))
 * - beside, n = p - m >= 1: S(f(n), own) with k >= u, where the map comes after u = (g(m) + h(n/m)) / ((1 + alpha)
 * f(n)) steps; a map is taken between two steps, so u is rounded up, to 1 at least. Not mended, it is u steps old then:
 *   S((1 + i)^u f(n), own). A map that comes after t - 1 steps or later is none.
 * - thread: the same with n = p and m = 1
 *
 * As printed one map is weighed, over t = min(t', t'') steps with (1 + i)^t'' = 1 + tolerance: g(p) + t f(p), decoupled
 * g(m) + h(p/m) + t f(p), beside t f(n) + u alpha f(n) with u = (g + h) / (alpha f(n)), which is never below
 * `decoupled`: a step before the map comes does not last alpha f but (1 + alpha) f. That the map is u steps old when it
 * comes is left out, too. And t'' is short where maps are dear, and none is made that early. Local,
 * O(nranks log steps), deterministic.
 * \param[in]  model   (borrowed)
 * \param[in]  nranks  p, from 1 to EQP_LAZY_RANKS_MAX
 * \param[out] choice  unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT for impossible ranks or steps; EQP_ERR_DATA for a number that is negative or not
 * finite */
int eqp_lazy_choose(const eqp_lazy_model *model, int nranks, eqp_lazy_choice *choice);

/** What happens to an application rank. All but EQP_LAZY_ON_ANSWER happens to all ranks between the same two steps. */
typedef enum eqp_lazy_event {
    EQP_LAZY_ON_OFFER,    /**< a map is wanted */
    EQP_LAZY_ON_STEP,     /**< a step was computed: a stopping point */
    EQP_LAZY_ON_ANSWER,   /**< this rank's part of the map has come */
    EQP_LAZY_ON_ALL_HAVE, /**< every rank is known to have its part; at a stopping point */
    EQP_LAZY_ON_PATIENCE, /**< the wait for an answer has become too long */
    EQP_LAZY_ON_DEAD,     /**< the balancing ranks are known to be gone */
    EQP_LAZY_ON_TAKE,     /**< the map was taken */
    EQP_LAZY_ON_LEAVE     /**< the application ends */
} eqp_lazy_event;

/** Number of values of eqp_lazy_event. */
#define EQP_LAZY_EVENTS 8

/** What an application rank has to do then. */
typedef enum eqp_lazy_action {
    EQP_LAZY_DO_NOTHING,       /**< go on */
    EQP_LAZY_DO_SEND,          /**< send the work to the balancing ranks, and go on */
    EQP_LAZY_DO_SEND_AND_WAIT, /**< send it, and compute no step before ON_ALL_HAVE, ON_PATIENCE or ON_DEAD */
    EQP_LAZY_DO_TELL,          /**< say to the other application ranks that the answer is here */
    EQP_LAZY_DO_WAIT,          /**< compute no step before ON_ALL_HAVE, ON_PATIENCE or ON_DEAD */
    EQP_LAZY_DO_TAKE,          /**< take the map before the next step, and report ON_TAKE */
    EQP_LAZY_DO_DROP,          /**< throw the answer away: nobody waits for it */
    EQP_LAZY_DO_GIVE_UP,       /**< go on with the present map; never offer again */
    EQP_LAZY_DO_DISMISS,       /**< tell the balancing ranks that they may end */
    EQP_LAZY_DO_ABANDON        /**< the same with an offer under way: its answer is not waited for */
} eqp_lazy_action;

/** An application rank's memory: plain data. Set by eqp_lazy_begin(). */
typedef struct eqp_lazy_state {
    eqp_lazy_phase phase; /**< where it stands */
    int64_t wait;         /**< as given */
    int64_t delay;        /**< as given */
    int64_t steps;        /**< since the offer */
    bool has;             /**< this rank's part of the map has come */
    bool waiting;         /**< no step may be computed */
    bool dead;            /**< the balancing ranks went while the map was there already */
} eqp_lazy_state;

/** Begins: nothing is under way. Local.
 * \param[out] state  unchanged on error
 * \param[in]  wait   most steps after an offer before the rank waits for the answer: 0 waits at once (in line), -1 never
 *                    waits (asynchronous)
 * \param[in]  delay  the map is taken exactly this many steps after the offer, so that a run can be repeated; 0: at
 *                    once; -1: as soon as all ranks have it
 * \return EQP_OK; EQP_ERR_ARGUMENT for less than -1, and for both >= 0, which exclude each other */
int eqp_lazy_begin(eqp_lazy_state *state, int64_t wait, int64_t delay);

/** One event: the next state, and what is to be done. Every pair of state and event has a result:
 * - An offer while another one is under way, or after the balancing ranks were lost or dismissed, does nothing.
 * - An answer that nobody waits for is dropped. News of a past offer does nothing.
 * - A map is taken once: ON_TAKE without a map that is due is a mistake, and so is a step while one is due or the rank
 * waits, and ON_ALL_HAVE without this rank's own answer.
 * - From every state ON_LEAVE ends.
 *
 * Local, O(1), deterministic.
 * \param[in,out] state   unchanged on error
 * \param[in]     event   what has happened
 * \param[out]    action  what is to be done; unchanged on error
 * \return EQP_OK; EQP_ERR_STATE for a mistake in the above sense; EQP_ERR_ARGUMENT for a state that cannot be or an
 * unknown event */
int eqp_lazy_next(eqp_lazy_state *state, eqp_lazy_event event, eqp_lazy_action *action);

/** Where a balancing rank stands. */
typedef enum eqp_lazy_server {
    EQP_LAZY_FREE,   /**< (0, 0) waits for work */
    EQP_LAZY_MAKING, /**< (1, 0) makes a map */
    EQP_LAZY_MADE,   /**< (1, 1) the map is on its way to the application */
    EQP_LAZY_ENDED   /**< dismissed, or alone */
} eqp_lazy_server;

/** Number of values of eqp_lazy_server. */
#define EQP_LAZY_SERVERS 4

/** What happens to a balancing rank. */
typedef enum eqp_lazy_server_event {
    EQP_LAZY_ON_WORK,      /**< the work of all application ranks is here */
    EQP_LAZY_ON_MAP,       /**< the map is made */
    EQP_LAZY_ON_SENT,      /**< it has left */
    EQP_LAZY_ON_DISMISSED, /**< the application has left */
    EQP_LAZY_ON_SILENCE    /**< the application has not been heard of for too long, or is gone */
} eqp_lazy_server_event;

/** Number of values of eqp_lazy_server_event. */
#define EQP_LAZY_SERVER_EVENTS 5

/** What a balancing rank has to do then. */
typedef enum eqp_lazy_server_action {
    EQP_LAZY_SERVE_NOTHING, /**< go on */
    EQP_LAZY_SERVE_MAKE,    /**< make the map */
    EQP_LAZY_SERVE_SEND,    /**< send the map to the application */
    EQP_LAZY_SERVE_END      /**< end; messages under way are not waited for */
} eqp_lazy_server_action;

/** The same for a balancing rank. Work that comes before the last map has left, a map of no work, and what leaves
 * without having been made are mistakes; ended, all that comes does nothing. Local, O(1), deterministic.
 * \param[in,out] server  unchanged on error
 * \param[in]     event   what has happened
 * \param[out]    action  what is to be done; unchanged on error
 * \return as eqp_lazy_next() */
int eqp_lazy_serve_next(eqp_lazy_server *server, eqp_lazy_server_event event, eqp_lazy_server_action *action);

#ifdef __cplusplus
}
#endif
#endif
