/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/comm.h
 * \brief Collective calls: agree, add up, send, gather.
 *
 * Every function is collective over its communicator unless it says otherwise, and fails on all ranks or on none: the
 * ranks agree on invalid arguments and on failed allocations, and all return the code of the lowest failing rank. The
 * exception is #EQP_ERR_MPI, after which the communicator must not be used.
 *
 * An argument "the same on all ranks" is compared in the reduction that agrees on the code: if one rank passes another
 * value, all ranks return #EQP_ERR_ARGUMENT. All other arguments may differ between ranks. A pointer may be NULL only
 * if its description says so or its array has no elements. The communicator must be the same on all ranks, too, but
 * cannot be compared: MPI_COMM_NULL is #EQP_ERR_ARGUMENT on its rank alone and at once, while the other ranks wait
 * until that rank calls with their communicator.
 *
 * Pass a communicator of eqp_comm_create(), so that the messages of these functions cannot match the application's.
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
 * Otherwise all ranks return the code of the lowest rank that failed by itself, and its message. A rank that stopped
 * only because another one failed passes #EQP_ERR_REMOTE, which is returned only if no rank passes a different code.
 * Collective.
 * \param[in]     code     this rank's code
 * \param[in,out] message  this rank's message; on failure the failing rank's, on success unchanged. May be NULL on any
 *                         rank */
int eqp_agree(MPI_Comm comm, int code, eqp_message *message);

/** Starts to add up the bytes sent to each rank by routes, messengers and eqp_send_sparse() on this communicator and on
 * its later duplicates. Collective calls of MPI, the remaining calls of this header, and data in shared memory do not
 * count. Local.
 * \param[in] comm   not MPI_COMM_NULL
 * \param[in] bytes  [ranks] added to; borrowed while any of these communicators is in use; NULL: stop
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_traffic_watch(MPI_Comm comm, int64_t *bytes);

/** The sums of eqp_traffic_watch(), [ranks]; NULL if none are kept. Local. */
const int64_t *eqp_traffic_watched(MPI_Comm comm);

/** eqp_agree(), minima and sums in one allreduce, for steps that need several of them. Collective.
 * \param[in]     code   this rank's code
 * \param[in]     nlows  at most EQP_MEET_LOWS, the same on all ranks
 * \param[in,out] low    [nlows] of this rank, no NaN; then the minima over all ranks (pass -x for a maximum); unchanged
 *                       on error
 * \param[in]     nsums  at most EQP_MEET_SUMS, the same on all ranks
 * \param[in,out] sum    [nsums] of this rank; then of all ranks, the same bits on all; unchanged on error
 * \return a code as of eqp_agree(), or EQP_ERR_ARGUMENT, EQP_ERR_MPI on all ranks */
int eqp_meet(MPI_Comm comm, int code, int nlows, double *low, int nsums, double *sum);

/** Tests that all ranks passed the same number: EQP_OK or EQP_ERR_ARGUMENT on all. Collective, one small allreduce. */
int eqp_agree_same(MPI_Comm comm, int64_t value);

/** A hash of data that must be equal on all ranks, for eqp_agree_same(). Local, O(n).
 * \param[in] print  the fingerprint of the data before these; 0 at first
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

/** The number of elements that a plan brings from each rank. The plan's nranks must be the size of the communicator.
 * Collective.
 * \param[out] recv_count  [ranks] elements from each rank
 * \param[out] nrecv       their sum; may be NULL */
int eqp_move_counts(MPI_Comm comm, const eqp_move_plan *plan, int64_t *recv_count, int64_t *nrecv);

/** Sends one array along a plan; call it for every array of the items. Elements arrive by sending rank, then in the
 * sender's order, so items in curve order that move in curve order stay so. Collective.
 * \param[in]  plan          this rank's
 * \param[in]  recv_count    [ranks] of eqp_move_counts() (borrowed)
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  send          [n] elements in item order (borrowed)
 * \param[out] recv          [nrecv] elements */
int eqp_move_apply(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                   const void *send, void *recv);

/** Sends one array back along a plan, to the original ranks and places: the inverse of eqp_move_apply(), with the same
 * arguments. Collective.
 * \param[in]  send  [nrecv] elements in arrival order (borrowed)
 * \param[out] recv  [n] elements in item order */
int eqp_move_return(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                    const void *send, void *recv);

/** eqp_gather_all() for arrays whose lengths only their own rank knows, into new memory. Collective, O(total) memory on
 * every rank.
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  n             elements of this rank
 * \param[in]  send          [n] elements (borrowed)
 * \param[out] nrecv         elements of all ranks; unchanged on error
 * \param[out] recv          address of a pointer that gets [nrecv] elements in rank order, owned by the caller: free();
 *                           unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks */
int eqp_gather_records(MPI_Comm comm, size_t element_size, int64_t n, const void *send, int64_t *nrecv, void *recv);

/** Sends each element to a rank, into new memory there. Receivers need not expect anything. To send several arrays the
 * same way, or answers back, use a plan and eqp_move_apply(). Collective, O(n + nrecv + ranks): a message for each pair
 * of ranks with data, and two allreduces, one of which blocks no rank.
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[in]  n             elements of this rank
 * \param[in]  dest          [n] rank of each (borrowed)
 * \param[in]  send          [n] elements (borrowed)
 * \param[out] nrecv         elements that arrived; unchanged on error
 * \param[out] recv          address of a pointer that gets [nrecv] elements by sending rank, then in the sender's order;
 *                           owned by the caller: free(); unchanged on error
 * \return as eqp_gather_records() */
int eqp_send_records(MPI_Comm comm, size_t element_size, int64_t n, const int *dest, const void *send, int64_t *nrecv,
                     void *recv);

/** eqp_send_records() for the middle of a step, with a single nonblocking allreduce, which carries the ranks' codes.
 * Collective.
 * \param[in]     code  this rank's code so far; if any rank passes a failure, no data are sent and all ranks return it
 * \param[in,out] most  a number of this rank above INT64_MIN; then the largest of all ranks, unchanged on error; NULL:
 *                      this rank has none and counts as 0
 * \return as eqp_send_records() on all ranks, except that EQP_ERR_MEMORY or EQP_ERR_OVERFLOW may be returned on this rank
 *         alone if it cannot hold what came: pass it to the next collective call */
int eqp_send_sparse(MPI_Comm comm, int code, size_t element_size, int64_t n, const int *dest, const void *send,
                    int64_t *most, int64_t *nrecv, void *recv);

/** State of repeated gathers. */
typedef struct eqp_gatherer eqp_gatherer;

/** Creates a gatherer, which repeats eqp_gather_records() in a single allgather. It has room for the largest array so
 * far and a little more; a larger one makes it grow, which takes two more collective calls. Collective.
 * \param[in]  comm          borrowed until it is freed
 * \param[in]  element_size  bytes, >= 1, the same on all ranks
 * \param[out] gatherer      owned by the caller; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_gatherer_create(MPI_Comm comm, size_t element_size, eqp_gatherer **gatherer);

/** Frees one; NULL is legal. Local. */
void eqp_gatherer_free(eqp_gatherer *gatherer);

/** Gathers arrays. Collective.
 * \param[in]  code   this rank's code so far; if any rank passes a failure, all ranks return it
 * \param[in]  n      elements of this rank
 * \param[in]  send   [n] elements (borrowed)
 * \param[in,out] most  a number of this rank; then the largest of all ranks, unchanged on error; NULL: this rank has none
 *                      and counts as 0
 * \param[out] nrecv  elements of all ranks; unchanged on error
 * \param[out] recv   address of a pointer that gets [nrecv] elements in rank order, borrowed from the gatherer until its
 *                    next call; unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI or a rank's `code`, on all ranks */
int eqp_gatherer_run(eqp_gatherer *gatherer, int code, int64_t n, const void *send, int64_t *most, int64_t *nrecv,
                     void *recv);

/** Checks that a migration has lost, duplicated, invented or changed no record. Call it before the migration with a sum
 * of zeros, which receives the sum over all ranks' records, and again after it. The order of the records and their
 * ranks do not matter. Collective, O(bytes), one allreduce of some hundred bytes.
 *
 * The sum has 16 bytes: the number of records, and a sum of 64-bit hashes. A different number of records is always
 * found, and so is a single changed id. Any other difference is missed with a probability of 2^-64, or 2^(k - 64) if
 * all records occur 2^k times more or less often. The hash is fixed, so this does not hold against an adversary.
 * \param[in]     n             records of this rank
 * \param[in]     id            [n] (borrowed)
 * \param[in]     element_size  bytes of a record that are compared with their id, the same on all ranks; 0: the
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
