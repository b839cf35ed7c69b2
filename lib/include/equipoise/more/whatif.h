/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/whatif.h
 * \brief Exchange plans and evaluations: which part needs which block, by which plan it gets there, and what that
 * costs. No MPI.
 *
 * Data go *out*, from the home of a block to all parts that need it, or come *back*, from all parts that contribute to
 * the home, where contributions are added up. What comes back takes the ways of what goes out, backwards, and is added
 * up wherever two ways meet. On its way a block travels once for all parts behind the same next stop. With shared
 * memory, part p is lane p mod R of node p / R, every lane is a network of its own, and a block travels in the lane of
 * its home to the nodes of the parts that need it. Parts, not nodes, decide if a block is hot. Plans: problem.h.
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

/** Room for the name of any plan. */
#define EQP_EXCHANGE_NAME_SIZE 48

/** Writes `direct`, `two-stage` or `log`, followed by `+broadcast/D` and `+node/R` where they apply. Local. */
void eqp_exchange_plan_name(const eqp_exchange_plan *plan, char name[EQP_EXCHANGE_NAME_SIZE]);

/** Reads such a name. Local.
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_UNKNOWN with *plan unchanged */
int eqp_exchange_plan_parse(const char *name, eqp_exchange_plan *plan);

/** Largest number of plans that are worth trying. */
#define EQP_EXCHANGE_PLANS_MAX 18

/** Plans that are worth trying for so many parts on a network: every number of stages with broadcast 0, 4 and 16, and
 * each with and without shared memory where `node` > 1 divides the parts. plan: [EQP_EXCHANGE_PLANS_MAX]. The simplest
 * come first, and where parts are so few that two are the same only the simpler one is there. Local. Returns how many,
 * at least 1, or EQP_ERR_ARGUMENT unless there are 1 to 65,536 parts. */
int eqp_exchange_plans(int nparts, const eqp_network *network, eqp_exchange_plan *plan);

/** Who needs which block: a set of (block, part) that is filled as a stream, in any order, with repetitions. */
typedef struct eqp_needs eqp_needs;

/** The set by blocks (borrowed from it). Only blocks that somebody needs are listed. */
typedef struct eqp_needs_view {
    int64_t nblocks;      /**< blocks that are needed by anyone */
    const int64_t *block; /**< [nblocks] their numbers, ascending */
    const int64_t *first; /**< [nblocks + 1] into part */
    const int *part;      /**< [first[nblocks]] who needs each, ascending */
} eqp_needs_view;

/** \param[in]  nparts  1 to 65,536
 * \param[out] needs   owned by the caller; eqp_needs_free() */
int eqp_needs_create(int nparts, eqp_needs **needs);

/** Adds n needs. Local; amortised O(n log) with a filter for repetitions; memory O(different needs), 8 to 16 bytes each
 * and at most 8 more while it grows, whatever the number of repetitions. After EQP_ERR_MEMORY some of them are in; all
 * may be added again.
 * \param[in]  block  [n] numbers, 0 to 2^47 - 1 (borrowed)
 * \param[in]  part   [n] (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_needs_add(eqp_needs *needs, int64_t n, const int64_t *block, const int *part);

/** Sorts what was added and gives the arrays, which stay valid until more is added. Local.
 * \return EQP_OK or EQP_ERR_MEMORY */
int eqp_needs_view_get(eqp_needs *needs, eqp_needs_view *view);

/** Frees; NULL is legal. */
void eqp_needs_free(eqp_needs *needs);

/** One phase of an exchange: blocks, where they live, how large they are, and who needs them or contributes to them. */
typedef struct eqp_phase {
    int back;             /**< 0: out; 1: back */
    int64_t nblocks;      /**< blocks */
    const int64_t *bytes; /**< [nblocks] >= 0 (borrowed) */
    const int *home;      /**< [nblocks] part (borrowed) */
    const int64_t *first; /**< [nblocks + 1] into part (borrowed) */
    const int *part;      /**< parts that need it or contribute, ascending; its home among them costs nothing */
} eqp_phase;

/** What every part sends and receives in one phase. */
typedef struct eqp_traffic {
    int64_t *messages_sent;     /**< [nparts] */
    int64_t *messages_received; /**< [nparts] */
    int64_t *bytes_sent;        /**< [nparts] */
    int64_t *bytes_received;    /**< [nparts] */
    double *seconds; /**< [nparts] sum over the stages of alpha max(messages) + beta max(bytes), of sent and received;
                          those of an allgather where a stage is one */
    double *memory;  /**< [nparts] bytes that each part needs by eqp_evaluation_memory(): by eqp_evaluation_by_plan()
                          only */
} eqp_traffic;

/** Counts one phase by one plan: exactly what eqp_route of <equipoise/more/route.h> sends. Adds to all arrays of
 * *traffic; a NULL array is not wanted. A message counts where at least one block travels, blocks of no bytes included.
 * In an allgather or reduce-scatter of hot blocks every part has ceil(log2 N) messages out and in (N: parts, or nodes)
 * and receives the bytes of all hot blocks (of its lane) but its own ones; what it sends counts as much as it receives.
 * It is one more stage; a lane that has no hot blocks skips it. Local, O(needs x stages), deterministic. At most 2^55
 * bytes of blocks times parts, and 2^61 in *traffic before.
 * \return EQP_OK, EQP_ERR_ARGUMENT (no divisor of the parts, a part out of range), EQP_ERR_MEMORY, EQP_ERR_OVERFLOW */
int eqp_exchange_count(const eqp_phase *phase, int nparts, const eqp_exchange_plan *plan, const eqp_network *network,
                       const eqp_traffic *traffic);

/** What each part gives to an allgather whose result everybody keeps, such as the top of a tree. Adds to *traffic:
 * ceil(log2 P) messages out and in, and received (and counted as sent) all bytes but its own; nothing where nobody
 * gives a byte. Local, O(nparts).
 * \param[in]  bytes  [nparts] >= 0 (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_OVERFLOW as eqp_exchange_count() */
int eqp_exchange_count_all(const int64_t *bytes, int nparts, const eqp_network *network, const eqp_traffic *traffic);

/** \param[in]  nparts   1 to 65,536
 * \param[in]  nphases  0 to EQP_PHASES_MAX
 * \param[in]  back     [nphases] 0: out, 1: back (copied)
 * \param[in]  ghosts   [nphases] whether what goes out in it counts as ghosts (copied)
 * \param[out] evaluation  owned by the caller; eqp_evaluation_free() */
int eqp_evaluation_create(int nparts, int nphases, const int *back, const int *ghosts, eqp_evaluation **evaluation);

/** Frees; NULL is legal. */
void eqp_evaluation_free(eqp_evaluation *evaluation);

/** Says how fast the parts are: what takes a part `speed` = 2 half a load's seconds. Loads stay as they were added;
 * from now on `load_max`, `step_seconds` and `imbalance` are those of loads over speeds, `load_mean` what an even
 * division takes: all loads over all speeds. Local, O(nparts).
 * \param[in] speed  [nparts] finite and > 0, taken relative to their mean (copied); NULL: all alike
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for a speed out of its range; unchanged then */
int eqp_evaluation_speeds(eqp_evaluation *evaluation, const double *speed);

/** Says what a step costs beside loads and phases; without it that is nothing. Speeds count for it as for loads. Not
 * packed. Local, O(1).
 * \param[in] overhead  (copied); NULL: nothing
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for costs or counts out of their range; unchanged then */
int eqp_evaluation_overhead(eqp_evaluation *evaluation, const eqp_overhead *overhead);

/** Says what a part needs in memory, and what it has; without it that is nothing. Not packed. Local, O(nparts).
 * \param[in] memory    (copied); NULL: nothing
 * \param[in] capacity  [nparts] bytes that each part has, finite, > 0 (copied); NULL: not known
 * \param[in] of_mean   every part has so many times what a part needs in the mean, finite, > 0; 0: not so. With
 *                      `capacity` it is 0
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for numbers out of their range, EQP_ERR_MEMORY; unchanged then */
int eqp_evaluation_memory(eqp_evaluation *evaluation, const eqp_memory *memory, const double *capacity, double of_mean);

/** The loads so far: [nparts], borrowed. Local. */
const double *eqp_evaluation_loads(const eqp_evaluation *evaluation);

/** What one plan makes of it; if `traffic` is not NULL also what every part sends (added to its arrays), `seconds` with
 * its overhead and without what is hidden. Local, O(needs x stages). More may be added afterwards. EQP_ERR_OVERFLOW as
 * eqp_exchange_count().
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_UNKNOWN for a needed block that nobody declared */
int eqp_evaluation_by_plan(eqp_evaluation *evaluation, const eqp_network *network, const eqp_exchange_plan *plan,
                           const eqp_traffic *traffic, eqp_evaluated *result);

/** The cheapest of eqp_exchange_plans(). Local.  \return as eqp_evaluation_by_plan() */
int eqp_evaluation_best(eqp_evaluation *evaluation, const eqp_network *network, eqp_evaluated *result);

/** What a cycle of phases comes to, of which each has an evaluation of one turn, and all parts wait for one another at
 * the end of every turn. All phases travel by the same plan. Local.
 * \param[in]     nphases     >= 1
 * \param[in]     times       [nphases] how often each comes in a cycle, finite, > 0 (borrowed)
 * \param[in,out] evaluation  [nphases] of as many parts each, which are ordered if need be
 * \param[in]     network     what messages cost
 * \param[in]     plan        by which data travel; NULL: by that of eqp_exchange_plans() with the shortest cycle
 * \param[out]    turn        [nphases] one turn of each; NULL: not wanted
 * \param[out]    result      the cycle: seconds, loads, ghosts_total and bytes_total are sums over its turns (loads of
 *                            the part that has most in each), and imbalance follows from them; ghosts_max,
 *                            neighbours_max, messages_max, bytes_max and those of memory are the largest of a turn
 * \return as eqp_evaluation_by_plan(), EQP_ERR_OVERFLOW for sums that are none */
int eqp_evaluation_cycle(int nphases, const double *times, eqp_evaluation *const *evaluation,
                         const eqp_network *network, const eqp_exchange_plan *plan, eqp_evaluated *turn,
                         eqp_evaluated *result);

/** Everything as bytes, to be sent elsewhere and taken in there with eqp_evaluation_merge(). *bytes: owned by the
 * caller, free(). Equal evaluations, however they were filled, are equal bytes; they end with a checksum. Local,
 * O(needs + blocks log blocks).
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_evaluation_pack(eqp_evaluation *evaluation, size_t *size, void **bytes);

/** Adds what another evaluation packed: loads, what is computed meanwhile, elements held and
 * common bytes add up, blocks and needs join. A block
 * that both have declared must be the same in both. Local.
 * \return EQP_OK; EQP_ERR_FORMAT for bytes that are damaged or none of an evaluation's, EQP_ERR_ARGUMENT for other
 * parts or phases, EQP_ERR_DATA for blocks that differ, all with nothing changed; or EQP_ERR_MEMORY, after which the
 * same may be merged again */
int eqp_evaluation_merge(eqp_evaluation *evaluation, size_t size, const void *bytes);

#ifdef __cplusplus
}
#endif
#endif
