/* SPDX-License-Identifier: BSD-3-Clause */
/** \file exchange.h
 * \brief How data travels: who needs which block, by which plan it gets there, and what that costs. No MPI.
 *
 * A *block* is data that travels as one (the particles of a leaf, the children of a cell, the segments of a cell of a
 * grid). It lives at its *home*, one part, and other parts need it. Data go *out*, from the home to all who need it, or
 * come *back*, from all who have a contribution to the home, where they are added up. What comes back takes the ways of
 * what goes out, backwards, and is added up wherever two ways meet.
 *
 * A *plan* says by which ways. `stages`: directly; in two stages of about sqrt(P), so that a part sends and receives at
 * most about 2 sqrt(P) messages instead of up to P - 1; or in log2 P stages. On its way a block travels once for all
 * parts behind the same next stop. `broadcast` D: *hot* blocks, which more than P/D parts other than their home need,
 * go to all by an allgather (come back by a reduce-scatter). `node` R: every R consecutive parts share memory, so that
 * a block is sent once for all of them: part p is lane p mod R of node p / R, every lane is a network of its own, and a
 * block travels in the lane of its home, to the nodes of those who need it. Whether it is hot is a matter of parts, not
 * of nodes. P must be a multiple of R. */
#ifndef EQUIPOISE_EXCHANGE_H
#define EQUIPOISE_EXCHANGE_H

#include <equipoise/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What messages cost. */
typedef struct eqp_network {
    double alpha;       /**< seconds per message, >= 0 */
    double beta;        /**< seconds per byte, >= 0 */
    int node;           /**< parts that share memory, >= 1 */
    double reduce;      /**< seconds per level of a reduction to all of few bytes, ceil(log2 P) levels; 0: as alpha */
    double gather;      /**< seconds per level of an allgather, ceil(log2 P) levels; 0: as alpha */
    double gather_byte; /**< seconds per byte that an allgather brings a part; 0: as beta */
} eqp_network;

/** 2 microseconds, 1 GB/s, nobody shares memory, collective calls are made of messages. */
#define EQP_NETWORK_DEFAULTS                                                                                           \
    {                                                                                                                  \
        2e-6, 1e-9, 1, 0, 0, 0                                                                                         \
    }

/** In how many stages blocks travel. */
typedef enum eqp_stages {
    EQP_STAGES_DIRECT, /**< one: straight to whoever needs it */
    EQP_STAGES_TWO,    /**< two, of about sqrt(P) */
    EQP_STAGES_LOG     /**< ceil(log2 P) */
} eqp_stages;

/** How blocks travel. */
typedef struct eqp_exchange_plan {
    eqp_stages stages; /**< of blocks that are not broadcast */
    int broadcast;     /**< blocks that more than parts / broadcast others need go to all; 0: none does */
    int node;          /**< parts that share memory and get a block once for all; 1: none do */
} eqp_exchange_plan;

/** Directly, no broadcast, no shared memory. */
#define EQP_EXCHANGE_PLAN_DEFAULTS                                                                                     \
    {                                                                                                                  \
        EQP_STAGES_DIRECT, 0, 1                                                                                        \
    }

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

/** Counts one phase by one plan: exactly what eqp_route of <equipoise/route.h> sends. Adds to all arrays of *traffic; a
 * NULL array is not wanted. A message counts where at least one block travels, blocks of no bytes included. In an
 * allgather or reduce-scatter of hot blocks every part has ceil(log2 N) messages out and in (N: parts, or nodes) and
 * receives the bytes of all hot blocks (of its lane) but its own ones; what it sends counts as much as it receives. It
 * is one more stage; a lane that has no hot blocks skips it.
 * Local, O(needs x stages), deterministic. At most 2^55 bytes of blocks times parts, and 2^61 in *traffic before.
 * \return EQP_OK, EQP_ERR_ARGUMENT (no divisor of the parts, a part out of range), EQP_ERR_MEMORY, EQP_ERR_OVERFLOW */
int eqp_exchange_count(const eqp_phase *phase, int nparts, const eqp_exchange_plan *plan, const eqp_network *network,
                       const eqp_traffic *traffic);

/** What each part gives to an allgather whose result everybody keeps, such as the top of a tree. Adds to *traffic:
 * ceil(log2 P) messages out and in, and received (and counted as sent) all bytes but its own; nothing where nobody
 * gives a byte. Local, O(nparts).
 * \param[in]  bytes  [nparts] >= 0 (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_OVERFLOW as eqp_exchange_count() */
int eqp_exchange_count_all(const int64_t *bytes, int nparts, const eqp_network *network, const eqp_traffic *traffic);

/** Chooses homes so that no part sends much: every block stays or goes to one of the parts that need it. Blocks are
 * dealt in several orders (most needed first, fewest first, as they come; heaviest first), each to the part that has
 * least to send so far, once all of them and once only those whose given home has its share already, and the best
 * result is kept: the one with the smallest largest time of a part by the cheapest of eqp_exchange_plans(). The homes
 * given are one of the candidates, so that the result is never worse by that measure; blocks that nobody needs stay.
 * Local, O(orders x plans x needs), deterministic.
 * \param[in]      nblocks,bytes,first,part  as in eqp_phase, out; all NULL without blocks, part NULL without needs
 * \param[in]      fixed  [nblocks] bytes that `owner` has to send to the home of the block if that is another part; of 0
 *                        nothing is sent; NULL: 0 each (borrowed)
 * \param[in]      owner  [nblocks] part that computes most for the block; NULL: the home given (borrowed)
 * \param[in,out]  home   [nblocks] 0 to nparts - 1; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW as eqp_exchange_count() */
int eqp_homes_choose(int64_t nblocks, const int64_t *bytes, const int64_t *first, const int *part, const int64_t *fixed,
                     const int *owner, int nparts, const eqp_network *network, int *home);

/** What a step takes beside the loads and the ways of the data: CPU seconds outside what a map deals out, and meetings
 * of all parts. Zeros are none. */
typedef struct eqp_overhead {
    double held;    /**< seconds per element that a part holds: motion, trees, sums; >= 0 */
    double ghost;   /**< seconds per ghost that it gets; >= 0 */
    double byte;    /**< seconds per byte that it sends: what is to travel is found and packed; >= 0 */
    double part;    /**< seconds of every part; >= 0 */
    int calls;      /**< reductions and barriers, blocking or not */
    int gathers;    /**< allgathers besides those of the phases and of what is common */
    int gathered;   /**< bytes that every part gives to these in all; 0 without them */
    int handshakes; /**< messages that announce each message: alpha each */
} eqp_overhead;

/** What a part needs in memory, as far as an evaluation knows what it holds. Zeros are nothing. */
typedef struct eqp_memory {
    double fixed; /**< bytes of every part; >= 0 */
    double held;  /**< bytes per element that a part holds; >= 0 */
    double ghost; /**< bytes per ghost that it gets; >= 0 */
    double byte;  /**< bytes per byte that it sends or receives: of buffers; >= 0 */
} eqp_memory;

/** Largest number of phases of an evaluation. */
#define EQP_PHASES_MAX 8

/** An assignment as its parts see it: what each has to do and to exchange. Filled as a stream. */
typedef struct eqp_evaluation eqp_evaluation;

/** What a plan makes of it. */
typedef struct eqp_evaluated {
    double load_max;           /**< seconds, at the parts' speeds */
    double load_mean;          /**< seconds */
    double imbalance;          /**< of the loads: load_max / load_mean - 1; 0 without load */
    int64_t ghosts_total;      /**< elements of blocks that go out in phases with `ghosts`, counted once per part that
                                    needs them away from home */
    int64_t ghosts_max;        /**< of the part with most */
    int neighbours_max;        /**< most other parts whose blocks one part needs or contributes to, or that do so with
                                    one part's blocks; over all phases, whatever the plan */
    int64_t messages_max;      /**< most messages that a part sends or receives over all phases, allgathers included */
    int64_t bytes_total;       /**< bytes sent by all */
    int64_t bytes_max;         /**< of the part that sends or receives most */
    double step_seconds;       /**< largest over the parts of load + overhead + seconds of all phases and of what is
                                    common - what of them is hidden; see docs/compare.md */
    double step_seconds_ideal; /**< load_mean, and what the elements held cost a part in the mean */
    double exchange_seconds; /**< of the part that step_seconds is of: its messages and its share of collective calls */
    double hidden_seconds;   /**< of these, those in which it computes: they do not make its step longer */
    double overhead_seconds; /**< CPU seconds of that part beside its load */
    double memory_max;       /**< bytes of the part that needs most, by eqp_evaluation_memory(); 0 without */
    double memory_mean;      /**< bytes of a part in the mean */
    double memory_use;       /**< largest need of a part over its capacity: above 1 the map does not fit; 0 where there
                                  are no capacities */
    eqp_exchange_plan plan;  /**< the plan */
} eqp_evaluated;

/** \param[in]  nparts   1 to 65,536
 * \param[in]  nphases  0 to EQP_PHASES_MAX
 * \param[in]  back     [nphases] 0: out, 1: back (copied)
 * \param[in]  ghosts   [nphases] whether what goes out in it counts as ghosts (copied)
 * \param[out] evaluation  owned by the caller; eqp_evaluation_free() */
int eqp_evaluation_create(int nparts, int nphases, const int *back, const int *ghosts, eqp_evaluation **evaluation);

/** Frees; NULL is legal. */
void eqp_evaluation_free(eqp_evaluation *evaluation);

/** Adds load to a part, seconds >= 0. Local, O(1). EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA, EQP_ERR_OVERFLOW. */
int eqp_evaluation_load(eqp_evaluation *evaluation, int part, double seconds);

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

/** Says that so many seconds of a part's load need nothing of a phase and are computed while it is under way: as many
 * of its seconds are hidden at most. Counts for one phase; load it is only by eqp_evaluation_load(). Adds up. Local,
 * O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA, EQP_ERR_OVERFLOW */
int eqp_evaluation_meanwhile(eqp_evaluation *evaluation, int phase, int part, double seconds);

/** Says that a part holds so many elements more. Adds up. Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_OVERFLOW */
int eqp_evaluation_held(eqp_evaluation *evaluation, int part, int64_t elements);

/** Says that a part gives so many bytes to an allgather that all parts take part in. Adds up. Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_OVERFLOW */
int eqp_evaluation_common(eqp_evaluation *evaluation, int part, int64_t bytes);

/** Declares a block of a phase, in any order, before or after its needs; again only with the same values. A block that
 * is needed, but was never declared, is an error at the end. Local, amortised O(1).
 * \param[in]  block     any number, such as the key of a cell
 * \param[in]  bytes     that travel for it
 * \param[in]  elements  particles or cells in it, for counting ghosts
 * \param[in]  home      part that it lives on
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, or EQP_ERR_DATA for a block that was declared otherwise */
int eqp_evaluation_block(eqp_evaluation *evaluation, int phase, int64_t block, int64_t bytes, int64_t elements,
                         int home);

/** Says that a part needs a block, or contributes to it. Repetitions do not count. Local, amortised O(log).
 * Memory O(different needs), see eqp_needs_add().
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_evaluation_need(eqp_evaluation *evaluation, int phase, int64_t block, int part);

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
