/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/lazy.h
 * \brief Maps made while the run goes on.
 *
 * An application offers the input of a map and continues. Dedicated ranks, a thread, or, in the simplest case, the
 * application's own ranks make the map. The map arrives some steps late, and the application takes it. It never waits
 * for a map unless an option says so, and if a balancer dies the run only loses further maps.
 *
 *     eqp_lazy_split(MPI_COMM_WORLD, &options, &mine, &lazy, &message);
 *     if (eqp_lazy_serves(lazy)) {
 *         eqp_lazy_serve(lazy, make, user);
 *     } else {
 *         for (step ...) {
 *             eqp_lazy_poll(lazy, step, &news);
 *             if (news == EQP_LAZY_READY) { eqp_lazy_take(lazy, &answer); ... }
 *             if (news == EQP_LAZY_IDLE) eqp_lazy_offer(lazy, step, &offer);
 *             ... a step on `mine`
 *         }
 *     }
 *     eqp_lazy_leave(&lazy, &lost);
 *
 * Offers and answers are bytes that only the application and `make` interpret. A code with an eqp_balancer passes the
 * eqp_lazy to it and needs no other function of this header (balancer.h).
 *
 * Source: O. Pearce, Load Balancing Scientific Applications, 2014, sections 5.3 and 5.5 (Algorithms 9 and 10).
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_LAZY_H
#define EQUIPOISE_MORE_LAZY_H

#include <equipoise/error.h>
#include <equipoise/policy.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Place where maps are made. */
typedef enum eqp_lazy_mode {
    EQP_LAZY_NONE,      /**< on the application's ranks, which wait for the map */
    EQP_LAZY_AUTO,      /**< chosen from data of the run: see eqp_lazy_decide() */
    EQP_LAZY_BY_THREAD, /**< in a thread of an application rank, without MPI calls */
    EQP_LAZY_BY_RANKS   /**< on dedicated ranks */
} eqp_lazy_mode;

/** Options of lazy maps, the same on all ranks. */
typedef struct eqp_lazy_options {
    size_t size;        /**< size of this struct in the caller's version: set by eqp_lazy_options_defaults() */
    eqp_lazy_mode mode; /**< place where maps are made */
    int balancers;  /**< for EQP_LAZY_BY_RANKS: number of dedicated ranks, >= 0; 0: the application's own ranks make the
                         map at the offer and keep it until it is due */
    int64_t wait;   /**< steps computed after an offer before the application waits for the map, >= 0; -1: it never
                         waits */
    int64_t delay;  /**< take a map exactly this many steps after its offer, >= 1, and wait if necessary; -1: as soon as
                         all ranks have it */
    int64_t repair; /**< repair of a late map: 0: never; -1: when taken, if the work imbalance exceeds the tolerance; N:
                         as -1, and then every N steps */
    double patience; /**< seconds after which the application gives up an outstanding answer, > 0 */
    bool spread; /**< true: balancers are the last ranks of each node in turn, or a thread of each node's first rank;
                      false: the last ranks of the world, or a thread of rank 0 */
    bool choose; /**< a balancer (balancer.h) makes each map lazily or in line, whichever is cheaper by measured
                      seconds; ignored with `delay`, since such runs must be reproducible */
} eqp_lazy_options;

/** Default options: no lazy maps, no waiting, repair if needed, patience of one minute. */
static inline eqp_lazy_options eqp_lazy_options_defaults(void)
{
    eqp_lazy_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.wait = -1;
    options.delay = -1;
    options.repair = -1;
    options.patience = 60.0;
    return options;
}

/** Reads `none`, `auto`, `thread` or a number of ranks, then options as in
 * `2:wait=K,delay=K,repair=auto|never|N,patience=S,spread=node|last`. Local.
 * \param[out] options  unchanged on error
 * \param[out] message  the error in one line; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_lazy_options_parse(const char *text, eqp_lazy_options *options, eqp_message *message);

/** Seconds on n ranks: fixed + divided / n + per_rank n, each >= 0. */
typedef struct eqp_seconds_fit {
    double fixed;    /**< independent of the ranks */
    double divided;  /**< total work that the ranks share */
    double per_rank; /**< added per rank */
} eqp_seconds_fit;

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
    int64_t steps;        /**< t: remaining steps of the run, >= 1 */
    bool spare;           /**< true if there is a core for a thread that makes maps */
    bool mended; /**< true: a late map is repaired when taken and counts as fresh; false: its age is its delay */
} eqp_lazy_model;

/** Resolves EQP_LAZY_AUTO: the cheapest of maps in line, in a thread and on dedicated ranks, by the resource model
 * (Pearce 2014, section 5.4). The application must know the times of its steps and maps, at least roughly. Local.
 * \param[in]     model    the run (borrowed); `mended` is read from the options
 * \param[in]     nranks   >= 1
 * \param[in]     thread   true if a thread can run the method (its row has `assign_alone`)
 * \param[in,out] options  mode, balancers and choose are set; unchanged on error
 * \param[out]    why      one line with the seconds of each choice; may be NULL
 * \return EQP_OK; EQP_ERR_ARGUMENT for impossible ranks or steps; EQP_ERR_DATA for a number that is negative or not finite */
int eqp_lazy_decide(const eqp_lazy_model *model, int nranks, bool thread, eqp_lazy_options *options, eqp_message *why);

/** The connection between an application and its balancers, on either side. */
typedef struct eqp_lazy eqp_lazy;

/** The bytes of an offer or an answer. */
typedef struct eqp_lazy_parcel {
    int rank;     /**< application rank that they belong to */
    size_t bytes; /**< number of bytes, at most INT_MAX; 0 is legal */
    void *data;   /**< [bytes] */
} eqp_lazy_parcel;

/** Makes a map from the offers of all application ranks. Called on all balancers, with the offers distributed in rank
 * order over the balancers; may communicate between them.
 * \param[in]  user       as given to eqp_lazy_serve() or eqp_lazy_host()
 * \param[in]  balancers  communicator of the balancers; MPI_COMM_NULL: a single call with the offers of all ranks, in a
 *                        thread that must not call MPI
 * \param[in]  nranks     number of application ranks
 * \param[in]  n          offers on this balancer, >= 0
 * \param[in]  offer      [n] by rank, ascending (borrowed for the call)
 * \param[out] answer     [n] for the same ranks; initially zeros; data from malloc(), then owned by the caller
 * \return EQP_OK or a code, which all ranks get instead of a map; the same on all balancers */
typedef int (*eqp_lazy_make_fn)(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                                eqp_lazy_parcel *answer);

/** Divides ranks into application ranks and balancers, and connects them. With EQP_LAZY_NONE, AUTO and THREAD all ranks
 * stay in the application. Collective over `world`.
 * \param[in]  world    any intracommunicator; duplicated
 * \param[in]  options  the same on all ranks
 * \param[out] mine     the application ranks, or the balancers, in the order of `world`; owned by the caller:
 *                      eqp_comm_free(), after eqp_lazy_leave()
 * \param[out] lazy     owned by the caller: eqp_lazy_leave(); NULL with EQP_LAZY_NONE and AUTO
 * \param[out] message  the error in one line; may be NULL
 * \return EQP_OK; EQP_ERR_ARGUMENT for invalid or differing options, or if no application rank is left;
 * EQP_ERR_MEMORY, EQP_ERR_MPI; on all ranks */
int eqp_lazy_split(MPI_Comm world, const eqp_lazy_options *options, MPI_Comm *mine, eqp_lazy **lazy,
                   eqp_message *message);

/** True if this rank is a balancer. Local. NULL: false. */
bool eqp_lazy_serves(const eqp_lazy *lazy);

/** Number of balancers, or of ranks with a thread; 0: the application's own ranks make maps. Local. lazy may be NULL:
 * 0. */
int eqp_lazy_balancers(const eqp_lazy *lazy);

/** Serves an application until it leaves. Called on all balancers and on no other rank. It sleeps while it waits. Local
 * except for the communication of `make`.
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_MPI if the application is unreachable; EQP_ERR_MEMORY */
int eqp_lazy_serve(eqp_lazy *lazy, eqp_lazy_make_fn make, void *user);

/** Sets the function that makes maps without balancing ranks: in a thread, or on the application's own ranks. Call it
 * before the first offer; repeated calls are legal. Local.
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_lazy_host(eqp_lazy *lazy, eqp_lazy_make_fn make, void *user);

/** Offers the input of a map. Never waits; copies the data. Called on all application ranks in the same step, or on
 * none. Local, unless the application's own ranks make the map.
 * \param[in] lazy   the connection
 * \param[in] step   the application's number of steps so far, >= 0
 * \param[in] bytes  at most INT_MAX
 * \param[in] data   [bytes] (borrowed for the call); NULL: this rank has no data, or failed to make them
 * \return EQP_OK; EQP_ERR_STATE while an offer is pending or the balancers are lost; EQP_ERR_ARGUMENT; EQP_ERR_MEMORY:
 * the balancers get no data from this rank, and there is no map */
int eqp_lazy_offer(eqp_lazy *lazy, int64_t step, size_t bytes, const void *data);

/** The name of a phase, for reports: `idle`, `offered`, `ready`, `lost`, `left`. Static storage. */
static inline const char *eqp_lazy_phase_text(eqp_lazy_phase phase)
{
    static const char *const text[EQP_LAZY_PHASES] = {"idle", "offered", "ready", "lost", "left"};

    return phase >= EQP_LAZY_IDLE && phase < EQP_LAZY_PHASES ? text[phase] : "unknown";
}

/** State of the offer for all ranks, from a reduction that the previous call started: a map is reported ready one step
 * after the last rank received it, and no rank waits for another one. Call once per step on all application ranks:
 * collective.
 * \param[in]  lazy  the connection
 * \param[in]  step  the application's number of steps so far
 * \param[out] news  the same on all ranks; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_lazy_poll(eqp_lazy *lazy, int64_t step, eqp_lazy_phase *news);

/** Takes the answer of this rank, after EQP_LAZY_READY for all ranks. Local.
 * \param[out] answer  borrowed until the next offer
 * \return the code of `make`: then there is no answer; EQP_ERR_STATE if no answer is ready; EQP_ERR_ARGUMENT */
int eqp_lazy_take(eqp_lazy *lazy, eqp_lazy_parcel *answer);

/** Leaves: balancers stop serving, and a pending offer is dropped. Waits no longer than `patience`, and for a thread's
 * last map. Balancers on this machine that do not answer are killed. Collective over the application; balancers call it
 * after eqp_lazy_serve().
 * \param[in,out] lazy  set to NULL; may be NULL inside
 * \param[out]    lost  true if balancers did not answer, so MPI_Finalize() would wait for them; the same on all ranks;
 *                      may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_lazy_leave(eqp_lazy **lazy, bool *lost);

#ifdef __cplusplus
}
#endif
#endif
