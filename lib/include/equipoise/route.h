/* SPDX-License-Identifier: BSD-3-Clause */
/** \file route.h
 * \brief Exchange plans carried out with MPI: blocks from their homes to the ranks that need them, and contributions
 * back.
 *
 * Inspector and executor: eqp_route_create() tells every rank what it will send, forward and keep; then blocks travel
 * as often as they change. The route counts what it sends; eqp_exchange_count() of <equipoise/exchange.h> predicts the
 * same numbers. Plans, stages, lanes and hot blocks are those of exchange.h, with ranks as parts. */
#ifndef EQUIPOISE_ROUTE_H
#define EQUIPOISE_ROUTE_H

#include <equipoise/base.h>
#include <equipoise/exchange.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Ways of a set of blocks over the ranks of a communicator. */
typedef struct eqp_route eqp_route;

/** The blocks that live on this rank (all borrowed for the call). */
typedef struct eqp_route_blocks {
    int64_t n;            /**< blocks */
    const int64_t *id;    /**< [n] numbers that the receivers are told; any */
    const int64_t *bytes; /**< [n] >= 0 */
    const int64_t *first; /**< [n + 1] into rank */
    const int *rank;      /**< ranks that need each, ascending; this rank among them costs nothing and gets nothing */
} eqp_route_blocks;

/** What arrives here (borrowed from the route). By home, then in the order in which the home gave its blocks: the same
 * for every plan. Blocks that others broadcast are listed only if this rank is among those who need them. */
typedef struct eqp_route_view {
    int64_t n;             /**< blocks that arrive */
    const int64_t *id;     /**< [n] */
    const int *home;       /**< [n] */
    const int64_t *bytes;  /**< [n] */
    const int64_t *offset; /**< [n] of each in what eqp_route_finish() gives */
} eqp_route_view;

/** What this rank has sent and received with a route, by eqp_exchange_count()'s rules, of the last completed trip. */
typedef struct eqp_route_counts {
    int64_t messages_sent, messages_received, bytes_sent, bytes_received;
} eqp_route_counts;

/** Plans. Collective. With `node` R > 1 the communicator's ranks p R to p R + R - 1 must be able to share memory
 * (MPI_Comm_split_type) and R must divide the ranks, else EQP_ERR_ARGUMENT on all ranks; use eqp_route_fit().
 * \param[in]  comm   borrowed until the route is freed; an eqp_comm_create() communicator
 * \param[out] route  owned by the caller; eqp_route_free(), collective where node > 1
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks */
int eqp_route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, eqp_route **route);

/** Frees; NULL is legal. Collective for plans with node > 1 (all ranks or none pass NULL). */
void eqp_route_free(eqp_route *route);

/** The plan as it can be carried out here: `node` becomes the largest number not above it that divides the ranks and
 * whose groups of consecutive ranks all share memory. Collective. */
int eqp_route_fit(MPI_Comm comm, eqp_exchange_plan *plan);

/** What arrives. Local. */
eqp_route_view eqp_route_arrivals(const eqp_route *route);

/** Sends blocks out; returns while they travel. Collective in order, no waiting for others.
 * \param[in]  data  this rank's blocks one after another, without gaps, in their order (borrowed until
 *                   eqp_route_finish()) */
int eqp_route_start(eqp_route *route, const void *data);

/** Moves things on, if anything has arrived: call it now and then between start and finish, where there are several
 * stages. Local. */
int eqp_route_progress(eqp_route *route);

/** Waits until all that this rank needs is here. Collective.
 * \param[out] received  block i at received + offset[i]; borrowed from the route until its next start or its end */
int eqp_route_finish(eqp_route *route, const void **received);

/** Brings contributions back, which are doubles, and adds them up at home; starts and returns while they travel. Blocks
 * must have whole doubles. Every rank that needs a block contributes to it.
 * \param[in]  mine  contributions at the offsets of eqp_route_arrivals(), in bytes (borrowed until the finish) */
int eqp_route_back_start(eqp_route *route, const void *mine);

/** Waits for the contributions to this rank's blocks.
 * The order of the additions follows from plan and ranks alone.
 * \param[out] sum  sums of this rank's blocks, without this rank's own, one after another as given to eqp_route_start();
 *                  blocks that nobody contributes to are 0 */
int eqp_route_back_finish(eqp_route *route, double *sum);

/** Counts of the last trip out or back. Local. */
eqp_route_counts eqp_route_last_counts(const eqp_route *route);

#ifdef __cplusplus
}
#endif
#endif
