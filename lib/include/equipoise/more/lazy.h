/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/lazy.h
 * \brief Maps that are made beside the run.
 *
 * An application offers what a map is made of and goes on. Somebody else makes the map: ranks of their own, a thread,
 * or in the end the application's own ranks. The map arrives some steps late, and the application takes it. It never
 * waits for a map unless it asked for that, and a balancer that dies costs nothing but new maps.
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
 * What is offered and answered are bytes, which mean something to the application and to `make` alone. A code that runs
 * by an eqp_balancer gives it the eqp_lazy and need not know more (balancer.h).
 *
 * Source: O. Pearce, Load Balancing Scientific Applications, 2014, sections 5.3 and 5.5 (Algorithms 9 and 10).
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_LAZY_H
#define EQUIPOISE_MORE_LAZY_H

#include <equipoise/error.h>
#include <equipoise/more/lazy_model.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Who makes maps. */
typedef enum eqp_lazy_mode {
    EQP_LAZY_NONE,      /**< the application, before it goes on */
    EQP_LAZY_AUTO,      /**< one of the others, by what is known of the run: see eqp_lazy_decide() */
    EQP_LAZY_BY_THREAD, /**< a thread beside a rank of the application, without MPI in it */
    EQP_LAZY_BY_RANKS   /**< ranks that the application gives away */
} eqp_lazy_mode;

/** How maps are made beside a run; the same on all ranks. */
typedef struct eqp_lazy_options {
    size_t size;        /**< of this struct as its caller knows it: set by eqp_lazy_options_defaults() */
    eqp_lazy_mode mode; /**< who makes maps */
    int balancers;   /**< of EQP_LAZY_BY_RANKS: ranks that are given away, >= 0; 0: the application's own ranks make the
                          map when it is offered, and keep it until it is due */
    int64_t wait;    /**< steps that the application goes on after an offer before it waits for the map, >= 0; -1: it
                          never waits */
    int64_t delay;   /**< a map is taken exactly so many steps after its offer, >= 1, however long that takes; -1: as
                          soon as all ranks have it */
    int64_t repair;  /**< what a late map's drift is met with: 0: nothing; -1: a repair where the work is over the
                          tolerance; N: as -1, and then a repair every N steps */
    double patience; /**< seconds after which an answer that is waited for, or that has never come, is given up, > 0 */
    bool spread;     /**< balancers are the last ranks of each node in turn, or a thread beside each node's first rank;
                          else the last ranks of the world, or a thread beside rank 0 */
    bool choose;     /**< a balancer (balancer.h) has each map made beside the run or in line, whatever measured seconds
                          say is cheaper; never with a delay, as such runs are to be repeated */
} eqp_lazy_options;

/** No lazy maps; never waits; repairs where needed; gives up after a minute. */
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
 * \param[out] message  what is wrong, one line; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_lazy_options_parse(const char *text, eqp_lazy_options *options, eqp_message *message);

/** Says what EQP_LAZY_AUTO comes to: the cheapest of maps in line, in a thread and by ranks, by the resource model
 * (more/lazy_model.h). The application must know how long its steps and maps take, at least roughly. Maps on some of
 * the ranks for which the others wait (EQP_LAZY_DECOUPLED) are not among them. Local.
 * \param[in]     model    the run (borrowed); `mended` is read from the options
 * \param[in]     nranks   >= 1
 * \param[in]     thread   the method can be made in a thread (its row has `assign_alone`)
 * \param[in,out] options  mode, balancers and choose are set; unchanged on error
 * \param[out]    why      one line with the seconds of each; may be NULL
 * \return EQP_OK, or a code of eqp_lazy_choose() */
int eqp_lazy_decide(const eqp_lazy_model *model, int nranks, bool thread, eqp_lazy_options *options, eqp_message *why);

/** An application's connection with those who make its maps, or theirs with the application. */
typedef struct eqp_lazy eqp_lazy;

/** Bytes on their way. */
typedef struct eqp_lazy_parcel {
    int rank;     /**< of the application: whose they are */
    size_t bytes; /**< that there are, at most INT_MAX; 0 is legal */
    void *data;   /**< [bytes] */
} eqp_lazy_parcel;

/** Makes a map of what all ranks of the application have offered. Called on all balancers, with what lower ranks
 * offered on lower balancers; may communicate between them.
 * \param[in]  user       as given
 * \param[in]  balancers  those who make maps; MPI_COMM_NULL: called alone, with the offers of all ranks, and in a thread
 *                        that must not call MPI
 * \param[in]  nranks     of the application
 * \param[in]  n          offers that this balancer has, >= 0
 * \param[in]  offer      [n] by rank, ascending (borrowed for the call)
 * \param[out] answer     [n] for the same ranks; zeros at first; data by malloc(), owned by the caller then
 * \return EQP_OK or a code, which everybody hears of instead of a map; the same on all balancers */
typedef int (*eqp_lazy_make_fn)(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                                eqp_lazy_parcel *answer);

/** Divides ranks into those of the application and balancers, and connects them. EQP_LAZY_NONE, AUTO and THREAD divide
 * nothing. Collective over `world`.
 * \param[in]  world    any intracommunicator; duplicated
 * \param[in]  options  the same on all ranks
 * \param[out] mine     the ranks of the application in their order, or the balancers in theirs; owned by the caller:
 *                      eqp_comm_free(), after eqp_lazy_leave()
 * \param[out] lazy     owned by the caller: eqp_lazy_leave(); NULL with EQP_LAZY_NONE and AUTO
 * \param[out] message  what is wrong, one line; may be NULL
 * \return EQP_OK; EQP_ERR_ARGUMENT for options that cannot be or differ, or balancers that leave no rank;
 * EQP_ERR_MEMORY, EQP_ERR_MPI; on all ranks */
int eqp_lazy_split(MPI_Comm world, const eqp_lazy_options *options, MPI_Comm *mine, eqp_lazy **lazy,
                   eqp_message *message);

/** Whether this rank is a balancer. Local. NULL: false. */
bool eqp_lazy_serves(const eqp_lazy *lazy);

/** Balancers, or hosts of threads; 0: the application's own ranks. Local. lazy may be NULL: 0. */
int eqp_lazy_balancers(const eqp_lazy *lazy);

/** The options, as they were given. Local. lazy may be NULL: the defaults. */
eqp_lazy_options eqp_lazy_settings(const eqp_lazy *lazy);

/** Serves an application until it leaves. On all balancers, and on no other rank. While it waits it sleeps. Local but
 * for what `make` communicates.
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_MPI when the application cannot be reached any more; EQP_ERR_MEMORY */
int eqp_lazy_serve(eqp_lazy *lazy, eqp_lazy_make_fn make, void *user);

/** Who makes maps where there are no balancing ranks: in a thread, or on the application's own ranks. To be said before
 * the first offer; more than once is legal. Local.
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_lazy_host(eqp_lazy *lazy, eqp_lazy_make_fn make, void *user);

/** Offers what a map is made of. Never waits; copies. On all ranks of the application in the same step, or on none.
 * Local, unless the application's own ranks make the map.
 * \param[in] lazy   the connection
 * \param[in] step   the application's number of steps so far, >= 0
 * \param[in] bytes  at most INT_MAX
 * \param[in] data   [bytes] (borrowed for the call); NULL: this rank has nothing, or has failed to make it
 * \return EQP_OK; EQP_ERR_STATE while an offer is under way or the balancers are lost; EQP_ERR_ARGUMENT; EQP_ERR_MEMORY:
 * the balancers hear of nothing from this rank, and there is no map */
int eqp_lazy_offer(eqp_lazy *lazy, int64_t step, size_t bytes, const void *data);

/** The word for how an offer stands, as reports show it: `idle`, `offered`, `ready`, `lost`, `left`. Static storage. */
const char *eqp_lazy_phase_text(eqp_lazy_phase phase);

/** How the offer stands for this rank: EQP_LAZY_READY when its answer is there, or, once all ranks are known to have
 * theirs, when the map is due; EQP_LAZY_LOST when nothing more is heard. Waits only where `wait` or `delay` say so, and
 * no longer than `patience`. For applications that agree by themselves: see eqp_lazy_agreed().
 * \param[in] step  the application's number of steps so far
 * \return EQP_LAZY_IDLE without an offer and for NULL. Local */
eqp_lazy_phase eqp_lazy_look(eqp_lazy *lazy, int64_t step);

/** Tells the connection what all ranks together have seen: EQP_LAZY_LOST if any has; else EQP_LAZY_READY if all have;
 * else EQP_LAZY_OFFERED. The same on all ranks. Local.
 * \return how the offer stands for all of them: EQP_LAZY_READY when it is to be taken before the next step; NULL:
 * EQP_LAZY_IDLE */
eqp_lazy_phase eqp_lazy_agreed(eqp_lazy *lazy, eqp_lazy_phase seen);

/** How the offer stands for all ranks, by a reduction that the call before has begun: a map is known to be ready one
 * step after the last rank has got it, and no rank waits for another one. Once a step, on all ranks of the application:
 * collective.
 * \param[in]  lazy  the connection
 * \param[in]  step  the application's number of steps so far
 * \param[out] news  the same on all ranks; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_lazy_poll(eqp_lazy *lazy, int64_t step, eqp_lazy_phase *news);

/** Takes the answer of this rank. After all ranks know that it is ready. Local.
 * \param[out] answer  borrowed until the next offer
 * \return the code of `make`: then there is no answer; EQP_ERR_STATE if none is ready; EQP_ERR_ARGUMENT */
int eqp_lazy_take(eqp_lazy *lazy, eqp_lazy_parcel *answer);

/** Leaves: balancers end to serve, and what was under way is dropped. Waits no longer than `patience`, and for a
 * thread's last map. Balancers that do not answer are ended where they run on this machine. Collective over the
 * application; balancers call it after eqp_lazy_serve().
 * \param[in,out] lazy  set to NULL; may be NULL inside
 * \param[out]    lost  balancers did not answer: MPI_Finalize() would wait for them; the same on all ranks; may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_lazy_leave(eqp_lazy **lazy, bool *lost);

#ifdef __cplusplus
}
#endif
#endif
