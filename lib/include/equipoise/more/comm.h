/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/comm.h
 * \brief Collective calls: agree, add up, send, gather.
 *
 * Every function is collective over its communicator unless it says otherwise, and fails on all ranks or on none: bad
 * arguments and lack of memory are agreed on before any data travel, and all ranks return the code of the lowest
 * failing rank. The one exception is #EQP_ERR_MPI, after which the communicator must not be used.
 *
 * An argument "the same on all ranks" is compared by the reduction that agrees on the code: if one rank passes another
 * value, all ranks return #EQP_ERR_ARGUMENT. Every other argument is a rank's own. A pointer is NULL only where that is
 * said, or for an array of no elements. The communicator itself must be the same on all ranks, too, but nothing can
 * compare it: MPI_COMM_NULL is #EQP_ERR_ARGUMENT for its caller alone and at once, and the other ranks wait until that
 * rank makes the call with theirs.
 *
 * Give these functions a communicator of eqp_comm_create(), so that their messages cannot meet the application's.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_COMM_H
#define EQUIPOISE_MORE_COMM_H

#include <equipoise/error.h>
#include <equipoise/more/move.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Duplicates a communicator and makes its errors return instead of aborting. Collective.
 * \param[out] own  owned by the caller; eqp_comm_free()
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MPI on all ranks */
int eqp_comm_create(MPI_Comm comm, MPI_Comm *own);

/** Frees a communicator of eqp_comm_create() and sets it to MPI_COMM_NULL, which is legal to free, as is NULL.
 * Collective. */
void eqp_comm_free(MPI_Comm *own);

/** Makes all ranks return the same code. If every rank passes EQP_OK it costs one small allreduce and returns EQP_OK.
 * Else all ranks return the code of the lowest rank that failed by itself, and its message. A rank that stopped only
 * because another one failed passes #EQP_ERR_REMOTE: that code is returned only if nobody knows a better one.
 * Collective.
 * \param[in]     code     this rank's code
 * \param[in,out] message  this rank's message; on failure the failing rank's, on success unchanged. NULL: not wanted;
 * the ranks may differ in that */
int eqp_agree(MPI_Comm comm, int code, eqp_message *message);

/** From now on the bytes of messages to each rank are added up: those of routes and messengers, on this communicator
 * and on all that are duplicated from it afterwards. Collective calls of MPI are not counted, eqp_send_records() among
 * them, nor is what passes through memory that ranks share. Local.
 * \param[in] comm   not MPI_COMM_NULL
 * \param[in] bytes  [ranks] added to; borrowed as long as any of these communicators is used; NULL: nobody watches
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_traffic_watch(MPI_Comm comm, int64_t *bytes);

/** The sums of eqp_traffic_watch(), [ranks]; NULL: nobody watches. Local. */
const int64_t *eqp_traffic_watched(MPI_Comm comm);

/** eqp_agree(), minima and sums in one allreduce, for what a step has to find out together. Collective.
 * \param[in]     code   this rank's code
 * \param[in]     nlows  at most EQP_MEET_LOWS, the same on all ranks
 * \param[in,out] low    [nlows] of this rank, no NaN; then the least of all ranks (the most of -x is minus that);
 *                       unchanged on error
 * \param[in]     nsums  at most EQP_MEET_SUMS, the same on all ranks
 * \param[in,out] sum    [nsums] of this rank; then of all ranks, the same bits on all; unchanged on error
 * \return a code as of eqp_agree(), or EQP_ERR_ARGUMENT, EQP_ERR_MPI on all ranks */
int eqp_meet(MPI_Comm comm, int code, int nlows, double *low, int nsums, double *sum);

/** Tests that all ranks passed the same number: EQP_OK or EQP_ERR_ARGUMENT on all. Collective, one small allreduce. */
int eqp_agree_same(MPI_Comm comm, int64_t value);

/** A number that stands for all that ranks are to mean alike, for eqp_agree_same(). Local, O(n).
 * \param[in] print  what came before, 0 at first
 * \param[in] n      words of 64 bits
 * \param[in] words  [n] integers or doubles (borrowed); NULL differs from all words
 * \return the fingerprint, never negative */
int64_t eqp_fingerprint(int64_t print, int64_t n, const void *words);

/** Sum over the ranks before this one, and over all. Collective.
 * \param[out] before  may be NULL
 * \param[out] total   may be NULL
 * \return EQP_OK, EQP_ERR_MPI, or EQP_ERR_OVERFLOW on all ranks */
int eqp_scan_int64(MPI_Comm comm, int64_t value, int64_t *before, int64_t *total);

/** Adds arrays over the ranks; every rank gets the same bits. Collective.
 * \param[in]     n      the same on all ranks, >= 0
 * \param[in,out] value  [n]
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MPI on all ranks */
int eqp_sum_double(MPI_Comm comm, int64_t n, double *value);

/** \copydoc eqp_sum_double */
int eqp_sum_int64(MPI_Comm comm, int64_t n, int64_t *value);

/** Collects arrays of every rank on every rank, in rank order, with 64-bit counts. Collective.
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  n             elements of this rank
 * \param[in]  send          [n] elements (borrowed)
 * \param[in]  count         [ranks] elements of each rank, the same on all ranks (borrowed)
 * \param[out] recv          [sum of count] elements */
int eqp_gather_all(MPI_Comm comm, size_t element_size, int64_t n, const void *send, const int64_t *count, void *recv);

/** Tells every rank what a migration brings it. The plan's nranks must be the size of the communicator. Collective.
 * \param[out] recv_count  [ranks] elements from each rank
 * \param[out] nrecv       their sum; may be NULL */
int eqp_move_counts(MPI_Comm comm, const eqp_move_plan *plan, int64_t *recv_count, int64_t *nrecv);

/** Sends one array along a plan; call it for every array of the items. What arrives is ordered by sending rank, else in
 * the sender's order, so that items in curve order over the ranks that move in curve order stay so. Collective.
 * \param[in]  plan          this rank's
 * \param[in]  recv_count    [ranks] of eqp_move_counts() (borrowed)
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  send          [n] elements in item order (borrowed)
 * \param[out] recv          [nrecv] elements */
int eqp_move_apply(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                   const void *send, void *recv);

/** Sends one array back along a plan, to the ranks and places it came from: the inverse of eqp_move_apply().
 * Collective, arguments as there.
 * \param[in]  send  [nrecv] elements in arrival order (borrowed)
 * \param[out] recv  [n] elements in item order */
int eqp_move_return(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv);

/** Collects arrays of lengths that nobody but their rank knows on every rank: eqp_gather_all() with the counts and the
 * memory. Collective, O(total) memory on every rank.
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  n             elements of this rank
 * \param[in]  send          [n] elements (borrowed)
 * \param[out] nrecv         elements of all ranks; unchanged on error
 * \param[out] recv          address of a pointer that gets [nrecv] elements in rank order, owned by the caller: free();
 *                           unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks */
int eqp_gather_records(MPI_Comm comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv, void *recv);

/** Sends each element to a rank of its own, once: a plan, eqp_move_counts() and eqp_move_apply() with the memory. To
 * send several arrays the same way, or anything back, make the plan yourself. Collective, O(n + nrecv + ranks).
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  n             elements of this rank
 * \param[in]  dest          [n] rank of each (borrowed)
 * \param[in]  send          [n] elements (borrowed)
 * \param[out] nrecv         elements that arrived; unchanged on error
 * \param[out] recv          address of a pointer that gets [nrecv] elements by sending rank, else in the sender's order;
 *                           owned by the caller: free(); unchanged on error
 * \return as eqp_gather_records() */
int eqp_send_records(MPI_Comm comm, size_t element_size, int64_t n, const int *dest, const void *send, int64_t *nrecv,
                     void *recv);

/** eqp_send_records() where few ranks send to few, and where what a rank has met before is not worth a meeting of its
 * own: partners find each other by non-blocking consensus, in an allreduce that blocks nobody, and codes travel in it.
 * Collective.
 * \param[in]     code  of this rank so far: where it is not EQP_OK on some rank nothing is sent and all return it
 * \param[in,out] most  a number of this rank above INT64_MIN; then the largest of all ranks, unchanged on error; NULL:
 *                      not wanted (0 for the others)
 * \return as eqp_send_records() on all ranks; but EQP_ERR_MEMORY or EQP_ERR_OVERFLOW may be this rank's alone, where it
 *         cannot hold what came: that is the code for its next collective call */
int eqp_send_sparse(MPI_Comm comm, int code, size_t element_size, int64_t n, const int *dest, const void *send,
                    int64_t *most, int64_t *nrecv, void *recv);

/** What eqp_gatherer_run() keeps from call to call. */
typedef struct eqp_gatherer eqp_gatherer;

/** An object that collects arrays of lengths that nobody but their rank knows on every rank, again and again, in one
 * allgather each time: it has room for what came last time and some more; where that is too small on any rank it grows,
 * which costs two more calls. Collective.
 * \param[in]  comm          borrowed until it is freed
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[out] gatherer      owned by the caller; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_gatherer_create(MPI_Comm comm, size_t element_size, eqp_gatherer **gatherer);

/** Frees one; NULL is legal. Local. */
void eqp_gatherer_free(eqp_gatherer *gatherer);

/** Collects arrays. Collective.
 * \param[in]  code   of this rank so far; where it is not EQP_OK on some rank all return it
 * \param[in]  n      elements of this rank
 * \param[in]  send   [n] elements (borrowed)
 * \param[in,out] most  a number of this rank; then the largest of all ranks, unchanged on error; NULL: not wanted (0 for
 *                      the others)
 * \param[out] nrecv  elements of all ranks; unchanged on error
 * \param[out] recv   address of a pointer that gets [nrecv] elements in rank order, borrowed from the gatherer until its
 *                    next call; unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI or a rank's `code`, on all ranks */
int eqp_gatherer_run(eqp_gatherer *gatherer, int code, int64_t n, const void *send, int64_t *most, int64_t *nrecv,
                     void *recv);

/** Tells whether a migration, or anything else that moves records, has lost, doubled, made up or changed any. Call it
 * before with a sum of zeros, which then gets the sum of all ranks' records; call it again whenever they have moved.
 * Collective, O(bytes), one allreduce of some hundred bytes. Neither order nor ranks matter.
 *
 * The sum is 16 bytes: how many records there are, and 64 bits that add up a hash of each. Another number of records is
 * always found; so is one id in the place of another one. Any other difference is missed with a probability of 2^-64,
 * or 2^(k - 64) where all records have come 2^k times more or less often; the hash is fixed, so this holds for data
 * that were not chosen by somebody who wants them missed.
 * \param[in]     n             records of this rank
 * \param[in]     id            [n] (borrowed)
 * \param[in]     element_size  bytes of a record that are to be compared with their id, the same on all ranks; 0: the
 *                              ids alone
 * \param[in]     record        [n] elements, padding included (borrowed); NULL where element_size is 0
 * \param[in,out] sum           zeros: gets the sum; else the sum of an earlier call, which is compared. The same on all
 *                              ranks; unchanged on error
 * \param[out]    message       how many are missing or too many, one line; NULL: not wanted
 * \return EQP_OK; EQP_ERR_DATA where records are not those of the sum; EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_verify_records(MPI_Comm comm, int64_t n, const int64_t *id, size_t element_size, const void *record,
                       uint64_t sum[2], eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
