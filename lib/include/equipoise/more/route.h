/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/route.h
 * \brief Exchange plans carried out with MPI: blocks travel from their homes to the ranks that need them, and
 * contributions travel back.
 *
 * Inspector and executor: eqp_route_create() determines what every rank will send, forward and keep. Then blocks travel
 * as often as they change, without their descriptions. A route counts its messages and bytes; eqp_exchange_count() of
 * <equipoise/more/whatif.h> predicts the same numbers. Plans, stages, lanes and hot blocks are those of more/whatif.h,
 * with ranks as parts.
 *
 * A trip, out or back, consists of a start and a finish. All ranks make the same trips in the same order, and a route
 * makes one at a time. *Routes whose trips overlap need different communicators*, such as two of eqp_comm_create() that
 * the program keeps; routes that take turns share one. A route may be created, and other calls of more/comm.h may be
 * made, during a trip of another route.
 *
 * Codes travel with the data, so that a step needs no call just to agree on one. Pass a failure before the route in
 * eqp_route_blocks.code, and one before a trip to eqp_route_give_up(). A failed allocation of the inspector is reported
 * by the first start.
 *
 * The first start of a route waits until all ranks have created it. If one could not, every start returns that code on
 * all ranks, and no trip is made. Otherwise a start does not wait, and so returns EQP_ERR_ARGUMENT on its rank alone.
 * The trip is made all the same, and its finish returns the code on all ranks: *call finish after a failed start, too*,
 * or eqp_route_free(). The codes are combined in a nonblocking allreduce. Calls out of turn, such as a start during a
 * trip or a finish without one, return EQP_ERR_STATE on their rank and do nothing; a NULL route is EQP_ERR_ARGUMENT on
 * its rank. After EQP_ERR_MPI neither the route nor its communicator can be used.
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

/** A planned, persistent exchange of a set of blocks over the ranks of a communicator. */
typedef struct eqp_route eqp_route;

/** The blocks of this rank (all borrowed for the call; all NULL if it has none). */
typedef struct eqp_route_blocks {
    int64_t n;            /**< blocks */
    const int64_t *id;    /**< [n] any numbers; receivers get them */
    const int64_t *bytes; /**< [n] >= 0 */
    const int64_t *first; /**< [n + 1] into rank */
    const int *rank;      /**< ranks that need each, ascending; this rank may be listed, without effect */
    bool back;            /**< allocate the sums of trips back with the route; the same on all ranks */
    int code;             /**< this rank's code so far; if it is not EQP_OK, all ranks return it */
} eqp_route_blocks;

/** The blocks that arrive at this rank (borrowed from the route): by home, then in the home's order, without gaps. The
 * order is the same for every plan. Broadcast blocks are listed only if this rank needs them. */
typedef struct eqp_route_view {
    int64_t n;             /**< arriving blocks */
    const int64_t *id;     /**< [n] */
    const int *home;       /**< [n] */
    const int64_t *bytes;  /**< [n] */
    const int64_t *offset; /**< [n] of each in the array of eqp_route_finish() */
} eqp_route_view;

/** Messages and bytes of this rank in the last completed trip, by the rules of eqp_exchange_count(): a message cut into
 * pieces counts once, and reads from the memory of a node's ranks do not count. */
typedef struct eqp_route_counts {
    int64_t messages_sent;     /**< to other ranks */
    int64_t messages_received; /**< from other ranks */
    int64_t bytes_sent;        /**< in them */
    int64_t bytes_received;    /**< in them */
} eqp_route_counts;

/** Creates a route: descriptions of the blocks travel once from stop to stop. Partners find each other without an
 * all-to-all. Collective.
 * Time: per stage one message for each next stop, with 32 bytes and the further ranks of each block, and a nonblocking
 * allreduce; with `broadcast` an allgather of 32 bytes and a bit per rank for each hot block; with node > 1 two
 * communicators and a window. Memory: the blocks sent and received at each stage, and 32 bytes for each block in a
 * message. With `node` R > 1 the ranks p R to p R + R - 1 must share memory (MPI_Comm_split_type) and R must divide the
 * number of ranks, otherwise EQP_ERR_ARGUMENT on all ranks: use eqp_route_fit().
 * \param[in]  comm    borrowed until the route is freed; an eqp_comm_create() communicator
 * \param[in]  plan    the same on all ranks (copied)
 * \param[in]  blocks  of this rank; receivers need not know their ids and sizes
 * \param[out] route   owned by the caller; eqp_route_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI or blocks->code on all ranks. A failed
 *         allocation after the last agreement is reported by the first start */
int eqp_route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, eqp_route **route);

/** Frees a route, after finishing its trip if one was started. NULL is legal. Collective for plans with node > 1
 * (either all ranks or none pass NULL) and during a trip, otherwise local. */
void eqp_route_free(eqp_route *route);

/** Fits a plan to the machine: reduces `node` to the largest number that divides the ranks and whose groups of
 * consecutive ranks share memory. Collective.
 * \param[in,out] plan  its node >= 1, the same on all ranks; its other members are not read; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_route_fit(MPI_Comm comm, eqp_exchange_plan *plan);

/** True if no rank has a block for another one, so that trips would move no data. Waits as the first start does and
 * returns the same on all ranks. False for NULL, and if a rank could not create the route. Collective. */
bool eqp_route_idle(eqp_route *route);

/** Waits until all ranks have created the route, as the first start does. Collective.
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks; EQP_ERR_ARGUMENT for NULL */
int eqp_route_ready(eqp_route *route);

/** Lists the arriving blocks. Local. */
eqp_route_view eqp_route_arrivals(const eqp_route *route);

/** Makes this rank start the next trip without data and with this code, which the finish returns on all ranks. Local;
 * NULL is legal.
 * \param[in] code  a failure; any other number counts as EQP_ERR_ARGUMENT */
void eqp_route_give_up(eqp_route *route, int code);

/** Starts a trip out and returns at once, except that a route's first start waits for its creation on all ranks.
 * Collective.
 * \param[in]  data  this rank's blocks one after another, without gaps, in their order (borrowed until
 *                   eqp_route_finish()); NULL if they have no bytes
 * \return EQP_OK; EQP_ERR_ARGUMENT, EQP_ERR_STATE, EQP_ERR_MPI on this rank alone; EQP_ERR_MEMORY, EQP_ERR_OVERFLOW on
 *         all ranks if one could not create the route */
int eqp_route_start(eqp_route *route, const void *data);

/** Makes progress: call it now and then between start and finish. With several stages, a rank that computes forwards
 * blocks only in this call. Local, returns at once; does nothing without a trip.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_route_progress(eqp_route *route);

/** Waits until all blocks for this rank have arrived and all ranks have started. Collective.
 * \param[out] received  block i at received + offset[i], aligned for any type if all sizes are; borrowed from the route
 *                       until its next trip out or its end; unchanged on error; may be NULL
 * \return EQP_OK; EQP_ERR_ARGUMENT on all ranks if a start had a wrong argument; EQP_ERR_STATE, EQP_ERR_MPI */
int eqp_route_finish(eqp_route *route, const void **received);

/** Starts a trip back and returns at once: contributions, which are doubles, are added up on their way. Every rank that
 * needs a block contributes to it. All blocks of all ranks must consist of whole doubles, otherwise EQP_ERR_ARGUMENT on
 * all ranks. Without eqp_route_blocks.back the first trip back allocates as much memory as arrives at each stage, and
 * waits for all ranks to do so. Collective. If EQP_ERR_ARGUMENT or EQP_ERR_MEMORY is returned on all ranks, no trip is
 * made.
 * \param[in]  mine  contributions at the offsets of eqp_route_arrivals(), in bytes, aligned for doubles (borrowed until
 *                   eqp_route_back_finish()); NULL if no block arrives
 * \return as eqp_route_start(), or EQP_ERR_MEMORY on all ranks */
int eqp_route_back_start(eqp_route *route, const void *mine);

/** Waits for the contributions to this rank's blocks. The order of the additions depends on plan and ranks only, so the
 * same trip gives the same bits again (for broadcast blocks if MPI's reduce-scatter does). Collective.
 * \param[out] sum  sums of this rank's blocks without its own contributions, one after another as in eqp_route_start();
 *                  blocks without contributions are 0; unchanged on error; may be NULL
 * \return as eqp_route_finish() */
int eqp_route_back_finish(eqp_route *route, double *sum);

/** Counts of the last trip out or back. Local. */
eqp_route_counts eqp_route_last_counts(const eqp_route *route);

#ifdef __cplusplus
}
#endif
#endif
