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
 * *Directory.* A distributed table of ids and the ranks that hold them.
 *
 * For codes whose particles migrate: it finds the rank that holds an id. A directory is a snapshot; create a new one
 * after a migration. A hash of the id selects the rank that keeps its entry, so that entries are spread evenly for any
 * numbering.
 *
 * *Node.* Ranks that share memory: they read each other's data in place and meet without messages.
 *
 * *Messenger.* Repeated exchange of messages of any length while the ranks compute.
 *
 * Put, send, compute, finish: eqp_messenger_put() appends to the message for a rank, eqp_messenger_send() sends all
 * messages, eqp_messenger_finish() waits for the incoming ones, eqp_messenger_came() lists them. A rank need not know
 * which ranks send to it. Partners are remembered: while every rank keeps sending to the same ranks, an exchange costs
 * one message to each partner and one nonblocking allreduce, which carries the ranks' codes. A message to a new partner
 * is acknowledged before the allreduce. A partner without data in several exchanges is dropped. Ranks that know the
 * senders, such as ranks that wait for answers, need no allreduce: eqp_messenger_answer().
 *
 * A messenger keeps its memory between exchanges. After EQP_ERR_MPI it can only be freed. Codes travel with the data,
 * as in <equipoise/more/comm.h>; apart from that the rules of <equipoise/more/comm.h> hold.
 *
 * *Keys.* Items, loads and keys that are spread over the ranks of a communicator.
 *
 * Every function is collective. The rules of <equipoise/more/comm.h> hold.
 *
 * *Plans.* Which data must follow, and from where to where: plans as plain arrays, no MPI.
 *
 * *Route.* Exchange plans carried out with MPI: blocks travel from their homes to the ranks that need them, and
 * contributions travel back.
 *
 * Inspector and executor: eqp_route_create() determines what every rank will send, forward and keep. Then blocks travel
 * as often as they change, without their descriptions. A route counts its messages and bytes; the evaluation of
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
#ifndef EQUIPOISE_MORE_COMM_H
#define EQUIPOISE_MORE_COMM_H

#include <equipoise/error.h>
#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where each of n local items goes. */
typedef struct eqp_move_plan eqp_move_plan;

/** Sorts items by destination, stably. Local, O(n + nranks), deterministic.
 * \param[in]  dest    [n] 0 to nranks - 1 (borrowed for the call)
 * \param[out] plan    owned by the caller; eqp_move_plan_free()
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp_move_plan_create(int64_t n, const int *dest, int nranks, eqp_move_plan **plan);

/** Frees; NULL is legal. */
void eqp_move_plan_free(eqp_move_plan *plan);

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
 * \param[in,out] most  a number of this rank above INT64_MIN; then the largest of all ranks. It is set on errors, too:
 *                      INT64_MIN if all ranks fail. NULL: this rank has none and counts as 0
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

/** Ranks of a communicator that share memory. */
typedef struct eqp_node eqp_node;

/** The nodes of a communicator, numbered by their lowest ranks. Arrays are borrowed from the node. */
typedef struct eqp_node_shape {
    int nnodes;        /**< of the communicator */
    int node;          /**< this rank's */
    int nranks;        /**< ranks of this node */
    int rank;          /**< this rank's place among them */
    const int *of;     /**< [ranks] the node of each rank */
    const int *place;  /**< [ranks] the place of each rank among those of its node */
    const int *first;  /**< [nnodes + 1] the ranks of node k are member[first[k]] to member[first[k + 1] - 1], */
    const int *member; /**< [ranks] ascending */
} eqp_node_shape;

/** Finds the ranks that share memory (MPI 3.1, 6.4.2: MPI_COMM_TYPE_SHARED). Collective.
 * \param[in]  comm  borrowed until the node is freed
 * \param[in]  most  ranks of a node at most, so that a computer may be several; 0: no limit; the same on all ranks
 * \param[out] node  owned by the caller; eqp_node_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI, or EQP_ERR_MEMORY where MPI gives no shared memory, on all ranks */
int eqp_node_create(MPI_Comm comm, int most, eqp_node **node);

/** Frees a node and its memory; NULL is legal. Collective. */
void eqp_node_free(eqp_node *node);

/** The shape, borrowed; NULL for NULL. Local. */
const eqp_node_shape *eqp_node_view(const eqp_node *node);

/** Creates memory that the ranks of the node share, in place of what an earlier call has created. It begins at a
 * cache line; its bytes are undefined. Collective over the ranks of the node.
 * \param[in]  bytes   of the node, the same on its ranks
 * \param[out] memory  address of a pointer that gets the memory, borrowed until the next call or eqp_node_free();
 *                     unchanged on error, after which there is none
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks of the node */
int eqp_node_share(eqp_node *node, int64_t bytes, void *memory);

/** Waits for the other ranks of the node; they then see what each of them wrote before. Costs no message. A rank that
 * waits here makes no progress on its messages, so first finish those that another rank of the node may wait for.
 * Collective over the ranks of the node.
 * \param[in] code  this rank's code so far
 * \return the code of the lowest rank of the node that failed by itself, on all of its ranks; EQP_ERR_REMOTE if all
 *         failures were elsewhere; EQP_ERR_ARGUMENT for NULL */
int eqp_node_meet(eqp_node *node, int code);

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

/** Ids and the ranks that hold them. */
typedef struct eqp_directory eqp_directory;

/** Creates a directory of the ids of all ranks. Collective, one exchange; time O(n log n) and memory O(n) for the n ids
 * that a rank holds or keeps; a kept id takes 16 bytes.
 * \param[in]  comm       any intracommunicator; duplicated until the directory is freed
 * \param[in]  n          ids of this rank, >= 0
 * \param[in]  id         [n] ids that this rank holds, any numbers in any order (borrowed)
 * \param[out] directory  owned by the caller; eqp_directory_free(); unchanged on error
 * \return EQP_OK, or on all ranks EQP_ERR_DATA if an id occurs twice, on one rank or on two, EQP_ERR_ARGUMENT,
 * EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI */
int eqp_directory_create(MPI_Comm comm, int64_t n, const int64_t *id, eqp_directory **directory);

/** Finds the ranks that hold ids. Collective, also for ranks without queries; one exchange there and one back. A rank
 * answers every query for the ids it keeps: time O(q log k), memory O(q) for q queries and k kept ids.
 * \param[in]  n     queries of this rank, >= 0
 * \param[in]  id    [n] any ids, also repeated (borrowed)
 * \param[out] rank  [n] rank of the directory's communicator that holds each id, -1: none; unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_MPI on all ranks */
int eqp_directory_find(eqp_directory *directory, int64_t n, const int64_t *id, int *rank);

/** Frees a directory and its communicator. Collective: all ranks pass theirs, or none does. NULL is legal. */
void eqp_directory_free(eqp_directory *directory);

/** Splits a distributed set of keys: part p gets the keys with cut[p] <= key < cut[p + 1]. Each cut stands before
 * or behind the key that holds its target, whichever is nearer, so the result is a property of the keys and does not
 * depend on the ranks; equal keys stay together, so parts can be empty. Weights that sum to zero count as 1 each. Keys
 * need not be ordered between ranks. Collective: one meeting, and an allreduce of histograms for every 11 bits by which
 * the keys differ (of more than 512 parts: for fewer bits, so that it stays below 8 MiB); O(n) local work each.
 * \param[in]  n       keys of this rank
 * \param[in]  key     [n] ascending, below UINT64_MAX (borrowed)
 * \param[in]  weight  [n] >= 0, sum over all ranks below 2^62; NULL: 1 each (borrowed); on all ranks with keys or
 *                     on none
 * \param[in]  nparts  the same on all ranks
 * \param[in]  share   [nparts] or NULL: equal; the same on all ranks (borrowed)
 * \param[out] cut     [nparts + 1] ascending; cut[0] == 0, cut[nparts] == UINT64_MAX */
int eqp_key_cuts(MPI_Comm comm, int64_t n, const uint64_t *key, const int64_t *weight, int nparts, const double *share,
                 uint64_t *cut);

/** Deals keys out over the ranks, equally many to each along the ascending keys; equal keys stay together. The result
 * is a property of the keys and the number of ranks. Collective; cost and codes of eqp_key_cuts().
 * \param[in]  n     keys of this rank
 * \param[in]  key   [n] ascending, below UINT64_MAX; need not be ordered between ranks (borrowed)
 * \param[out] dest  [n] rank of each, ascending: what eqp_send_records() takes; unchanged on error */
int eqp_deal_keys(MPI_Comm comm, int64_t n, const uint64_t *key, int *dest);

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

/** Messages and bytes of this rank in the last completed trip, by the rules of an evaluation: a message cut into
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

/** Repeated exchanges between the ranks of a communicator. */
typedef struct eqp_messenger eqp_messenger;

/** Received messages (borrowed from the messenger until its next send). */
typedef struct eqp_messages_view {
    int n;                   /**< messages with at least one byte */
    const int *rank;         /**< [n] sender of each, ascending; NULL before a finish and after one that failed */
    const int64_t *bytes;    /**< [n] >= 1 */
    const void *const *data; /**< [n] aligned for any type of up to 16 bytes; NULL if this rank had no memory for it */
} eqp_messages_view;

/** \param[in]  comm       duplicated. Collective.
 * \param[out] messenger  owned by the caller; eqp_messenger_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp_messenger_create(MPI_Comm comm, eqp_messenger **messenger);

/** Frees a messenger, after finishing an exchange that was sent. NULL is legal. Collective. */
void eqp_messenger_free(eqp_messenger *messenger);

/** Appends to the next message to a rank. Local, O(bytes) on average.
 * \param[in]  to     another rank
 * \param[in]  bytes  >= 0; multiples of 8 keep everything aligned for doubles
 * \param[out] room   address of a pointer, which receives the place for the bytes; the caller writes them before the next
 *                    put for that rank; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, or EQP_ERR_STATE between send and finish */
int eqp_messenger_put(eqp_messenger *messenger, int to, int64_t bytes, void *room);

/** Sends the messages and returns at once. Collective.
 * \param[in] code  EQP_OK, or this rank's failure: it sends no data, and the finish returns the code on all ranks
 * \return EQP_OK; on this rank alone, which then sends nothing: EQP_ERR_ARGUMENT for NULL, EQP_ERR_STATE before the
 *         finish of the last send; EQP_ERR_MPI */
int eqp_messenger_send(eqp_messenger *messenger, int code);

/** eqp_messenger_send() for ranks that know who sends to them: a rank waits for its senders only. Empty messages are
 * sent too. Collective.
 * \param[in] code       EQP_OK, or this rank's failure: it sends no data, and the receivers get the code
 * \param[in] nto, to    [nto] receivers, ascending, without this rank; data for any other rank are EQP_ERR_ARGUMENT in
 *                       the finish
 * \param[in] nfrom, from [nfrom] senders, ascending, without this rank
 * \return as eqp_messenger_send(), and EQP_ERR_ARGUMENT for invalid lists */
int eqp_messenger_answer(eqp_messenger *messenger, int code, int nto, const int *to, int nfrom, const int *from);

/** Makes progress on sends and receives: call it now and then between send and finish. Local. Returns at once, except
 * when it has to drop a message because memory is short: then it waits for the rest of that message.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_messenger_progress(eqp_messenger *messenger);

/** Waits for all incoming messages. Collective.
 * \return after a send EQP_OK, or on all ranks the code of a rank, and then no messages are listed; after an answer this
 *         rank's code or that of one of its senders. EQP_ERR_MEMORY may be returned on this rank alone, if it cannot
 * hold its messages. EQP_ERR_STATE without a send; EQP_ERR_ARGUMENT, EQP_ERR_MPI */
int eqp_messenger_finish(eqp_messenger *messenger);

/** Lists the received messages. Local; an empty list for NULL and before the first finish. */
eqp_messages_view eqp_messenger_came(const eqp_messenger *messenger);

/** Messages with data that this rank sent and received in the last exchange, and their bytes. Local. */
eqp_route_counts eqp_messenger_last_counts(const eqp_messenger *messenger);

#ifdef __cplusplus
}
#endif
#endif
