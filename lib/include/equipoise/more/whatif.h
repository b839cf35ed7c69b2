/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/whatif.h
 * \brief Exchange plans and evaluations: the parts that need each block, its route, and the cost of the exchange. No
 * MPI.
 *
 * Data go *out*, from the home of a block to all parts that need it, or come *back*, from all contributing parts to the
 * home, which adds up the contributions. Data that come back take the outward routes in reverse and are added up where
 * two routes meet. At each stage a block travels once for all parts behind the same next stop. With shared memory, part
 * p is lane p mod R of node p / R, every lane is a separate network, and a block travels in the lane of its home to the
 * nodes of the parts that need it. A block is hot by its number of parts, not of nodes. Plans: problem.h.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_WHATIF_H
#define EQUIPOISE_MORE_WHATIF_H

#include <equipoise/problem.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Buffer size for the name of any plan. */
#define EQP_EXCHANGE_NAME_SIZE 48

/** Writes `direct`, `two-stage` or `log`, followed by `+broadcast/D` and `+node/R` if they apply. Local. */
void eqp_exchange_plan_name(const eqp_exchange_plan *plan, char name[EQP_EXCHANGE_NAME_SIZE]);

/** Parses such a name. Local.
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_UNKNOWN with *plan unchanged */
int eqp_exchange_plan_parse(const char *name, eqp_exchange_plan *plan);

/** Largest number of plans of eqp_exchange_plans(). */
#define EQP_EXCHANGE_PLANS_MAX 18

/** Lists the plans worth trying for a number of parts and a network: every number of stages with broadcast 0, 4 and 16,
 * each with and without shared memory if `node` > 1 divides the parts. plan: [EQP_EXCHANGE_PLANS_MAX]. Simpler plans
 * come first; of plans that coincide for few parts only the simplest is listed. Local. Returns the number of plans, at
 * least 1, or EQP_ERR_ARGUMENT unless there are 1 to 65,536 parts. */
int eqp_exchange_plans(int nparts, const eqp_network *network, eqp_exchange_plan *plan);

/** The needs of the parts: a set of (block, part), filled as a stream, in any order, with repetitions. */
typedef struct eqp_needs eqp_needs;

/** The set ordered by blocks (borrowed from it). Only blocks needed by at least one part are listed. */
typedef struct eqp_needs_view {
    int64_t nblocks;      /**< number of needed blocks */
    const int64_t *block; /**< [nblocks] their numbers, ascending */
    const int64_t *first; /**< [nblocks + 1] into part */
    const int *part;      /**< [first[nblocks]] parts that need each block, ascending */
} eqp_needs_view;

/** \param[in]  nparts  1 to 65,536
 * \param[out] needs   owned by the caller; eqp_needs_free() */
int eqp_needs_create(int nparts, eqp_needs **needs);

/** Adds n needs. Local; amortised O(n log) with a filter for repetitions; memory O(different needs), 8 to 16 bytes each
 * and at most 8 more while it grows, for any number of repetitions. After EQP_ERR_MEMORY some of the needs were added;
 * all may be added again.
 * \param[in]  block  [n] numbers, 0 to 2^47 - 1 (borrowed)
 * \param[in]  part   [n] (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_needs_add(eqp_needs *needs, int64_t n, const int64_t *block, const int *part);

/** Sorts the needs and returns the arrays, which stay valid until more are added. Local.
 * \return EQP_OK or EQP_ERR_MEMORY */
int eqp_needs_view_get(eqp_needs *needs, eqp_needs_view *view);

/** Frees; NULL is legal. */
void eqp_needs_free(eqp_needs *needs);

/** One phase of an exchange: blocks, their homes and sizes, and the parts that need them or contribute to them. */
typedef struct eqp_phase {
    int back;             /**< 0: out; 1: back */
    int64_t nblocks;      /**< blocks */
    const int64_t *bytes; /**< [nblocks] >= 0 (borrowed) */
    const int *home;      /**< [nblocks] part (borrowed) */
    const int64_t *first; /**< [nblocks + 1] into part (borrowed) */
    const int *part; /**< parts that need or contribute to each block, ascending; its home may be listed at no cost */
} eqp_phase;

/** Traffic of every part in one phase. */
typedef struct eqp_traffic {
    int64_t *messages_sent;     /**< [nparts] */
    int64_t *messages_received; /**< [nparts] */
    int64_t *bytes_sent;        /**< [nparts] */
    int64_t *bytes_received;    /**< [nparts] */
    double *seconds; /**< [nparts] sum over the stages of alpha max(messages) + beta max(bytes), of sent and received;
                          the seconds of an allgather if a stage is one */
    double *memory;  /**< [nparts] bytes that each part needs by eqp_evaluation_memory(); filled only by
                          eqp_evaluation_by_plan() */
} eqp_traffic;

/** Counts one phase by one plan: exactly what eqp_route of <equipoise/more/route.h> sends. Adds to all arrays of
 * *traffic; NULL arrays are skipped. A message counts if it has at least one block, even one of 0 bytes.
 * In an allgather or reduce-scatter of hot blocks every part has ceil(log2 N) messages out and in (N: parts, or nodes)
 * and receives the bytes of all hot blocks (of its lane) except its own; sent bytes are counted as received bytes.
 * It is one more stage; a lane without hot blocks skips it. Local, O(needs x stages), deterministic. At most 2^55
 * bytes of blocks times parts, and 2^61 in *traffic before.
 * \return EQP_OK, EQP_ERR_ARGUMENT (no divisor of the parts, a part out of range), EQP_ERR_MEMORY, EQP_ERR_OVERFLOW */
int eqp_exchange_count(const eqp_phase *phase, int nparts, const eqp_exchange_plan *plan, const eqp_network *network,
                       const eqp_traffic *traffic);

/** Counts an allgather whose result every part keeps, such as the top of a tree. Adds to *traffic: ceil(log2 P)
 * messages out and in, and all bytes except the part's own as received and as sent; nothing if the total is 0 bytes.
 * Local, O(nparts).
 * \param[in]  bytes  [nparts] >= 0 (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_OVERFLOW as eqp_exchange_count() */
int eqp_exchange_count_all(const int64_t *bytes, int nparts, const eqp_network *network, const eqp_traffic *traffic);

/** \param[in]  nparts   1 to 65,536
 * \param[in]  nphases  0 to EQP_PHASES_MAX
 * \param[in]  back     [nphases] 0: out, 1: back (copied)
 * \param[in]  ghosts   [nphases] nonzero if outgoing blocks of the phase count as ghosts (copied)
 * \param[out] evaluation  owned by the caller; eqp_evaluation_free() */
int eqp_evaluation_create(int nparts, int nphases, const int *back, const int *ghosts, eqp_evaluation **evaluation);

/** Frees; NULL is legal. */
void eqp_evaluation_free(eqp_evaluation *evaluation);

/** Sets the speeds of the parts: with speed 2 a load takes half its seconds. Loads stay as they were added; from now on
 * `load_max`, `step_seconds` and `imbalance` refer to load / speed, and `load_mean` is the time of an even division:
 * the sum of loads over the sum of speeds. Local, O(nparts).
 * \param[in] speed  [nparts] finite and > 0, relative to their mean (copied); NULL: all equal
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for a speed out of its range; unchanged on error */
int eqp_evaluation_speeds(eqp_evaluation *evaluation, const double *speed);

/** Sets the overhead of a step in addition to loads and phases; default none. Speeds apply to it as to loads. Not
 * packed. Local, O(1).
 * \param[in] overhead  (copied); NULL: none
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for costs or counts out of their range; unchanged on error */
int eqp_evaluation_overhead(eqp_evaluation *evaluation, const eqp_overhead *overhead);

/** Sets the memory model and the capacities of the parts; default none. Not packed. Local, O(nparts).
 * \param[in] memory    (copied); NULL: none
 * \param[in] capacity  [nparts] bytes of each part, finite, > 0 (copied); NULL: unknown
 * \param[in] of_mean   capacity of every part as a multiple of the mean need, finite, > 0; 0: not used. Must be 0 with
 *                      `capacity`
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for numbers out of their range, EQP_ERR_MEMORY; unchanged on error */
int eqp_evaluation_memory(eqp_evaluation *evaluation, const eqp_memory *memory, const double *capacity, double of_mean);

/** The loads so far: [nparts], borrowed. Local. */
const double *eqp_evaluation_loads(const eqp_evaluation *evaluation);

/** Evaluates one plan. If `traffic` is not NULL, it also adds every part's traffic to its arrays; `seconds` then
 * include overhead and exclude hidden seconds. Local, O(needs x stages). The evaluation may be extended afterwards.
 * EQP_ERR_OVERFLOW as eqp_exchange_count().
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_UNKNOWN for a needed block that was not declared */
int eqp_evaluation_by_plan(eqp_evaluation *evaluation, const eqp_network *network, const eqp_exchange_plan *plan,
                           const eqp_traffic *traffic, eqp_evaluated *result);

/** Evaluates the cheapest of eqp_exchange_plans(). Local.  \return as eqp_evaluation_by_plan() */
int eqp_evaluation_best(eqp_evaluation *evaluation, const eqp_network *network, eqp_evaluated *result);

/** Evaluates a cycle of phases, given an evaluation of one turn of each; all parts wait for each other at the end of
 * every turn. All phases use the same plan. Local.
 * \param[in]     nphases     >= 1
 * \param[in]     times       [nphases] number of times each phase occurs in a cycle, finite, > 0 (borrowed)
 * \param[in,out] evaluation  [nphases] with the same number of parts; sorted if necessary
 * \param[in]     network     message costs
 * \param[in]     plan        the plan; NULL: the plan of eqp_exchange_plans() with the shortest cycle
 * \param[out]    turn        [nphases] one turn of each; NULL: not needed
 * \param[out]    result      the cycle: seconds, loads, ghosts_total and bytes_total are sums over its turns (load_max:
 *                            of the largest load in each), and imbalance follows from them; ghosts_max,
 *                            neighbours_max, messages_max, bytes_max and the memory members are the largest of a turn
 * \return as eqp_evaluation_by_plan(), EQP_ERR_OVERFLOW for sums that overflow */
int eqp_evaluation_cycle(int nphases, const double *times, eqp_evaluation *const *evaluation,
                         const eqp_network *network, const eqp_exchange_plan *plan, eqp_evaluated *turn,
                         eqp_evaluated *result);

/** Packs the evaluation into bytes, for eqp_evaluation_merge() on another rank. *bytes: owned by the caller, free().
 * Equal evaluations give equal bytes, however they were filled; the bytes end with a checksum. Local, O(needs + blocks
 * log blocks).
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_evaluation_pack(eqp_evaluation *evaluation, size_t *size, void **bytes);

/** Adds a packed evaluation: loads, overlapped seconds, elements held and common bytes add up; blocks and needs are
 * merged. A block declared in both must be the same in both. Local.
 * \return EQP_OK; EQP_ERR_FORMAT for bytes that are damaged or not from an evaluation, EQP_ERR_ARGUMENT for other
 * parts or phases, EQP_ERR_DATA for blocks that differ, all with nothing changed; or EQP_ERR_MEMORY, after which the
 * same bytes may be merged again */
int eqp_evaluation_merge(eqp_evaluation *evaluation, size_t size, const void *bytes);

#ifdef __cplusplus
}
#endif
#endif
