/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/route.h
 * \brief Exchange plans carried out with MPI: blocks from their homes to the ranks that need them, and contributions
 * back.
 *
 * Inspector and executor: eqp_route_create() tells every rank what it will send, forward and keep; then blocks travel
 * as often as they change, without a word about who they are. The route counts what it sends; eqp_exchange_count() of
 * <equipoise/more/whatif.h> predicts the same numbers. Plans, stages, lanes and hot blocks are those of more/whatif.h,
 * with ranks as parts.
 *
 * A trip is a start and a finish, out or back. All ranks make the same trips in the same order, and a route makes one
 * at a time. *Routes whose trips overlap need communicators of their own*, such as two of eqp_comm_create() that the
 * program keeps; routes that take turns share one. Making a route and other calls of more/comm.h are fine while another
 * route travels.
 *
 * Codes travel with the data, so that no call of a step has to meet only to agree on one: what a rank has met before
 * goes into eqp_route_blocks.code or eqp_route_give_up(), and what memory it lacked for its part of a route into the
 * first start.
 *
 * The first start of a route waits until all ranks have made theirs, and where one could not every start returns that
 * code on all ranks, and no trip is made. Else a start waits for nobody, so it tells a wrong argument to its caller
 * alone. But the trip is made, and its finish returns that code on all ranks: *after a start that failed call finish
 * all the same*, or eqp_route_free(). The ranks' codes meet in an allreduce that travels beside the data. Calls out of
 * turn are EQP_ERR_STATE for their caller, and nothing happens: a start during a trip, a finish without one. A route
 * that is NULL is EQP_ERR_ARGUMENT for its caller, too. After EQP_ERR_MPI neither the route nor its communicator can be
 * used.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_ROUTE_H
#define EQUIPOISE_MORE_ROUTE_H

#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ways of a set of blocks over the ranks of a communicator. */
typedef struct eqp_route eqp_route;

/** The blocks that live on this rank (all borrowed for the call; all NULL where there are none). */
typedef struct eqp_route_blocks {
    int64_t n;            /**< blocks */
    const int64_t *id;    /**< [n] numbers that the receivers are told; any */
    const int64_t *bytes; /**< [n] >= 0 */
    const int64_t *first; /**< [n + 1] into rank */
    const int *rank;      /**< ranks that need each, ascending; this rank among them costs nothing and gets nothing */
    bool back; /**< contributions will come back: memory for their sums is made with the route; the same on all
                    ranks */
    int code;  /**< EQP_OK, or why this rank has no blocks to tell of: all ranks return it then */
} eqp_route_blocks;

/** What arrives here (borrowed from the route). By home, then in the order in which the home gave its blocks, without
 * gaps: the same for every plan. Blocks that others broadcast are listed only if this rank needs them. */
typedef struct eqp_route_view {
    int64_t n;             /**< blocks that arrive */
    const int64_t *id;     /**< [n] */
    const int *home;       /**< [n] */
    const int64_t *bytes;  /**< [n] */
    const int64_t *offset; /**< [n] of each in what eqp_route_finish() gives */
} eqp_route_view;

/** What this rank has sent and received in the last completed trip, by eqp_exchange_count()'s rules: a message that is
 * too large for MPI counts once, and what ranks of a node read from each other does not count. */
typedef struct eqp_route_counts {
    int64_t messages_sent;     /**< to other ranks */
    int64_t messages_received; /**< from other ranks */
    int64_t bytes_sent;        /**< in them */
    int64_t bytes_received;    /**< in them */
} eqp_route_counts;

/** Plans: every rank tells the next stop of each of its blocks, those tell theirs, and so on. Partners find each other
 * without an all-to-all. Collective.
 * Time: one message with 32 bytes and the ranks behind it per block and next stop, and an allreduce that blocks nobody
 * per stage; with `broadcast` an allgather of 32 bytes and a bit per rank for each hot block; with node > 1 two
 * communicators and a window. Memory: what is sent and what arrives at each stage, 32 bytes for each block in a
 * message. With `node` R > 1 the ranks p R to p R + R - 1 must be able to share memory (MPI_Comm_split_type) and R must
 * divide the number of ranks, else EQP_ERR_ARGUMENT on all ranks: use eqp_route_fit().
 * \param[in]  comm    borrowed until the route is freed; an eqp_comm_create() communicator
 * \param[in]  plan    the same on all ranks (copied)
 * \param[in]  blocks  of this rank; ids and sizes need not be known to others
 * \param[out] route   owned by the caller; eqp_route_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI or blocks->code on all ranks. A lack
 *         of memory that shows after the ranks have met is told by the first start; nothing arrives then */
int eqp_route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, eqp_route **route);

/** Frees a route; NULL is legal. A trip on its way is ended first, as by a finish. Collective for plans with node > 1
 * (all ranks or none pass NULL) and for a route on its way, else local. */
void eqp_route_free(eqp_route *route);

/** The plan as it can be carried out here: `node` becomes the largest number not above it that divides the ranks and
 * whose groups of consecutive ranks all share memory. Collective.
 * \param[in,out] plan  its node >= 1, the same on all ranks; nothing else of it is looked at; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_route_fit(MPI_Comm comm, eqp_exchange_plan *plan);

/** Whether no rank has a block for another one, so that trips would move nothing. Waits as the first start does, and is
 * the same on all ranks: false for NULL, and where some rank could not make the route. Collective. */
bool eqp_route_idle(eqp_route *route);

/** Waits until all ranks have made the route, as the first start does, for who wants to know before it. Collective.
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks; EQP_ERR_ARGUMENT for NULL */
int eqp_route_ready(eqp_route *route);

/** What arrives. Local. */
eqp_route_view eqp_route_arrivals(const eqp_route *route);

/** This rank will start the route's next trip without data, and with this code, which the finish returns on all ranks.
 * Local; NULL is legal.
 * \param[in] code  why; a number that is no error counts as EQP_ERR_ARGUMENT */
void eqp_route_give_up(eqp_route *route, int code);

/** Sends blocks out; returns while they travel. Only the first trip of a route waits, for all ranks to have made it.
 * Collective.
 * \param[in]  data  this rank's blocks one after another, without gaps, in their order (borrowed until
 *                   eqp_route_finish()); NULL where they have no bytes
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_STATE, EQP_ERR_MPI, of this rank alone; EQP_ERR_MEMORY, EQP_ERR_OVERFLOW on
 *         all ranks where one could not make the route */
int eqp_route_start(eqp_route *route, const void *data);

/** Moves things on, if anything has arrived: call it now and then between start and finish. With several stages nothing
 * else lets blocks pass through a rank that computes. Local, returns at once; does nothing without a trip.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_route_progress(eqp_route *route);

/** Waits until all that this rank needs is here, and until all ranks have started. Collective.
 * \param[out] received  block i at received + offset[i], aligned for any type if all sizes are; borrowed from the route
 *                       until its next start or its end, trips back apart; unchanged on error. NULL: not wanted
 * \return EQP_OK; EQP_ERR_ARGUMENT on all ranks if a start had a wrong argument; EQP_ERR_STATE, EQP_ERR_MPI */
int eqp_route_finish(eqp_route *route, const void **received);

/** Brings contributions back, which are doubles, and adds them up on their way; returns while they travel. Every rank
 * that needs a block contributes to it. All blocks of all ranks must have whole doubles, else EQP_ERR_ARGUMENT on all.
 * Where the route was not made for it (eqp_route_blocks.back) its first trip back makes memory, as much as arrives at
 * each stage, and waits for all ranks to have it; others wait for nobody. Collective. Only where EQP_ERR_ARGUMENT or
 * EQP_ERR_MEMORY comes on all ranks no trip is made.
 * \param[in]  mine  contributions at the offsets of eqp_route_arrivals(), in bytes, aligned for doubles (borrowed until
 *                   eqp_route_back_finish()); NULL where nothing arrives
 * \return as eqp_route_start(), or EQP_ERR_MEMORY on all ranks */
int eqp_route_back_start(eqp_route *route, const void *mine);

/** Waits for the contributions to this rank's blocks. The order of the additions follows from plan and ranks alone: the
 * same trip gives the same bits again (for broadcast blocks if MPI's reduce-scatter does). Collective.
 * \param[out] sum  sums of this rank's blocks, without this rank's own, one after another as given to eqp_route_start();
 *                  blocks that nobody contributes to are 0; unchanged on error. NULL: not wanted
 * \return as eqp_route_finish() */
int eqp_route_back_finish(eqp_route *route, double *sum);

/** Counts of the last trip out or back. Local. */
eqp_route_counts eqp_route_last_counts(const eqp_route *route);

#ifdef __cplusplus
}
#endif
#endif
