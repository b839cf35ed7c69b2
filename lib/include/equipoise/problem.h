/* SPDX-License-Identifier: BSD-3-Clause */
/** \file problem.h
 * \brief An N-body code as the balancer (balancer.h) sees it: a struct of callbacks, the map, and the evaluation of
 * maps.
 *
 * *Problem.* Only `survey` is required. Each further callback enables a feature: `trace` exact evaluation, `base` work
 * that no map assigns, `advance` a look at the next positions. All functions get `user`. They are called on all ranks
 * of the balancer's communicator, in the same order, so they may communicate. Each may fail on some ranks only: the
 * ranks then agree on the code, and all of them return it.
 *
 * *Map.* The interaction-to-rank map says which rank, or part, computes an interaction. Every owner of interactions
 * carries a tag. A tag >= 0 is the rank that computes all of its interactions. A tag < 0 names an entry of the table of
 * shared owners: each of their interactions goes to the rank of the nearest centroid, measured from the owner so that
 * the map moves with it; or another rank computes all of them in each phase of a cycle (survey.h). A code that reads
 * tags of one phase with eqp_map_tag_in() computes such owners where that phase wants them; any other code computes
 * them by phase 0. Every rank holds the table: some tens of bytes per work unit of a shared owner, four bytes per phase
 * of a way through the phases, nothing for other owners. NULL is a map without shared owners. Source: O. Pearce, Load
 * Balancing Scientific Applications, 2014, section 4.1 (Algorithm 8).
 *
 * *Evaluation.* Loads of all parts and the blocks that they exchange, filled by the code's `trace`. A *block* is data
 * that travels as one (the particles of a leaf, the children of a cell, the segments of a grid cell). It lives at its
 * *home*, one part, and other parts need it. A *plan* says by which ways blocks travel. `stages`: directly; in two
 * stages of about sqrt(P), so that a part sends and receives at most about 2 sqrt(P) messages instead of up to P - 1;
 * or in log2 P stages. `broadcast` D: *hot* blocks, needed by more than P/D parts other than their home, go to all by
 * an allgather and come back by a reduce-scatter. `node` R: every R consecutive parts share memory, so a block is sent
 * once for all of them; P must be a multiple of R.
 *
 * Nothing here communicates. */
#ifndef EQUIPOISE_PROBLEM_H
#define EQUIPOISE_PROBLEM_H

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A row of the table of methods, and rows of a code's own (balance.h). */
typedef struct eqp_method eqp_method;

/** Methods of a code's own (balance.h). */
typedef struct eqp_methods eqp_methods;

#define EQP_MEET_SUMS 32 /**< most sums that a step's reduction carries */
#define EQP_MEET_LOWS 12 /**< most minima that it carries */

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

/** Adds load to a part, seconds >= 0. Local, O(1). EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA, EQP_ERR_OVERFLOW. */
int eqp_evaluation_load(eqp_evaluation *evaluation, int part, double seconds);

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

/** How even the phases of a cycle are. */
typedef struct eqp_cycle {
    double efficiency; /**< sum over the phases of times x mean load / sum of times x largest load / (nparts x share);
                            1 where nothing has load */
    double worst;      /**< largest imbalance of a phase */
    int worst_phase;   /**< the phase that has it (the lowest of several) */
    double imbalance[EQP_CYCLE_PHASES]; /**< of each phase; 0 where a phase has no load, and beyond the phases */
} eqp_cycle;

/** The table of shared owners. */
typedef struct eqp_map eqp_map;

/** What the home of an owner is told: who computes it, and where it should live. */
typedef struct eqp_placement {
    int64_t tag; /**< see above */
    int home;    /**< rank, or part: the one that computes it, or one of those that share it */
} eqp_placement;

/** Makes a map.
 * \param[in]  nshared   shared owners, >= 0; the tag of the i-th is -1 - i
 * \param[in]  nunits    [nshared] work units of each, >= 1
 * \param[in]  centroid  [sum of nunits][3] of each unit, measured from the owner, finite
 * \param[in]  rank      [sum of nunits] that computes it, >= 0
 * \param[out] map       owned by the caller: eqp_map_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for a number that is none, EQP_ERR_MEMORY */
int eqp_map_create(int64_t nshared, const int64_t *nunits, const double *centroid, const int *rank, eqp_map **map);

/** Adds entries whose rank depends on the phase to a map that has none of them: ways that any number of owners may
 * take. The tag of the i-th is -1 - i - eqp_map_shared() of before.
 * \param[in] map      the map
 * \param[in] n        ways, >= 0
 * \param[in] nphases  1 to EQP_CYCLE_PHASES
 * \param[in] rank     [n][nphases] who computes in each phase, >= 0; in later phases as in the last one
 * \return EQP_OK, EQP_ERR_ARGUMENT for a number that is none and a map that has such entries, EQP_ERR_MEMORY */
int eqp_map_add_phased(eqp_map *map, int64_t n, int nphases, const int *rank);

/** Frees a map; NULL is legal. */
void eqp_map_free(eqp_map *map);

/** Entries of the table: owners that several ranks share by where interactions are, then ways through phases. map may
 * be NULL: 0. */
int64_t eqp_map_shared(const eqp_map *map);

/** Of these, ways through phases.
 * \param[in]  map      may be NULL
 * \param[out] nphases  0 where there are none; may be NULL
 * \param[out] rank     [*nphases] for each: borrowed from the map; may be NULL */
int64_t eqp_map_phased(const eqp_map *map, int *nphases, const int **rank);

/** The tag by which an owner is computed in one phase: its rank there, where that depends on the phase, else its tag.
 * O(1).
 * \param[in] map    may be NULL
 * \param[in] phase  >= 0 */
int64_t eqp_map_tag_in(const eqp_map *map, int64_t tag, int phase);

/** The rank of an interaction. O(1) for whole owners, one search for shared ones.
 * \param[in] map       may be NULL
 * \param[in] tag       of the owner
 * \param[in] centroid  [3] of the interaction, measured from the owner; may be NULL for whole owners
 * \return the rank; -1 for a tag that the map has not got */
int eqp_map_rank(const eqp_map *map, int64_t tag, const double *centroid);

/** The rank of what an owner does at its own place: its only rank, where it is whole. As eqp_map_rank(). */
int eqp_map_own_rank(const eqp_map *map, int64_t tag);

/** The ranks that compute interactions of an owner, ascending and distinct.
 * \param[in]  map     may be NULL
 * \param[in]  tag     of the owner
 * \param[in]  nranks  room in `ranks`: one more than units of the owner, or the number of ranks, whichever is less
 * \param[out] ranks   [nranks]
 * \return how many; -1 for a tag that the map has not got, or no room */
int eqp_map_ranks(const eqp_map *map, int64_t tag, int nranks, int *ranks);

/** The work units of a shared owner (tag < 0, the same in all phases), in the order in which eqp_map_rank() takes the
 * first of equally near ones. O(1).
 * \param[in]  map       the map
 * \param[in]  tag       of the owner
 * \param[out] centroid  [n][3] measured from the owner; borrowed from the map
 * \param[out] rank      [n] likewise
 * \return n; 0 for a tag that names no shared owner */
int64_t eqp_map_units(const eqp_map *map, int64_t tag, const double **centroid, const int **rank);

/** What a survey is taken for. */
typedef enum eqp_survey_kind {
    EQP_SURVEY_NAMES, /**< who the owners are that live here, and their tags: neither work nor pins nor tiles */
    EQP_SURVEY_WORK   /**< their work as well, with pins and tiles as far as the survey wants them */
} eqp_survey_kind;

/** An N-body code. Zeros stand for what it has not got. Borrowed as long as the balancer lives. */
typedef struct eqp_problem {
    void *user;            /**< passed to all functions */
    int nkinds;            /**< kinds of work, 1 to EQP_COST_KINDS; 0: one */
    const double *nominal; /**< [nkinds] seconds that one of each takes, > 0, of which only the ratios matter; NULL:
                              equal */
    unsigned once;         /**< bit k: ranks that share an owner each do its kind k, one rank would do it once */
    int nphases;           /**< of an exchange, for `trace`: see eqp_evaluation_create() */
    const int *back;       /**< [nphases] likewise; NULL without phases */
    const int *ghosts;     /**< [nphases] likewise; NULL without phases */
    const eqp_overhead *overhead; /**< what a step takes beside work and phases: calls and handshakes as they are, costs
                                     until steps have told (eqp_rank_row.busy_seconds); NULL: nothing is known (copied)
                                   */
    const eqp_memory *memory; /**< what a rank needs in memory, where it has a capacity (balancer.h), beside what making
                                 maps takes; NULL: the bytes of its owners (copied) */
    double branch; /**< what it costs each part that a cell of the octree of keys (more/curve.h) is divided into one
                      part more than it must be, in units of what a pin costs a part that lacks it, >= 0: every part
                      learns where the owners of such cells live. `hypergraph` then keeps owners of a cell together. 0:
                      nothing, and keys may be anything */
    const eqp_methods *own; /**< methods of its own; NULL: none. Those without `assign` are carried out below */
    bool apart;     /**< owners may live elsewhere than where they are computed whole: `homes=curve` and `maps=phase`
                       (balance.h) are possible, and `auto` tries the latter */
    bool estimates; /**< the totals of the last survey are good enough to know what the next one must keep: where work
                       units are made a survey is then taken once, not twice */

    /** Says what the phases of a cycle are from now on (survey.h): asked before owners are surveyed for a map, or while
     * forces are computed. A step of the balancer is a cycle then: owners' work and what is recorded are of all its
     * turns. The same on all ranks. Local. NULL: one phase. */
    int (*cycle)(void *user, eqp_cycle_turns *phases);

    /** What is traced from now on is one turn of that phase, as it would be now. Local. NULL, with several phases: maps
     * are judged by the survey. */
    int (*turn)(void *user, int phase);

    /** Says who the owners are: adds those that live here, and in EQP_SURVEY_WORK what this rank computes of others.
     * */
    int (*survey)(void *user, eqp_survey_kind kind, eqp_survey *survey);

    /** Before EQP_SURVEY_WORK is taken for a map; traced: maps will be traced as well. NULL: nothing is to
     * be done. */
    int (*open)(void *user, bool traced);

    /** After that, whatever came of it. Local. NULL: nothing is to be done. */
    void (*close)(void *user);

    /** What a source that two parts share costs, in shared targets, where `tiles` is not told. NULL: not
     * known. */
    int (*aspect)(void *user, double *aspect);

    /** Adds the seconds of what every part does whatever the assignment, [nparts]; the same on all ranks. Local. NULL:
     * nothing. */
    void (*base)(void *user, int nparts, double *seconds);

    /** Walks all interactions, each once over all ranks, and tells the evaluation what a map into so many parts makes
     * of them: whose load they are, which blocks which part needs. placement: [owners that live here] by at_home; ranks
     * of map and placement are parts. Whatever the code does in a real step on nparts ranks with such a map must come
     * out, message by message. loads_only: eqp_evaluation_load() only. NULL: maps are judged by the survey.
     */
    int (*trace)(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation);

    /** Carries out a method of its own that has no `assign`: owners in curve order, a part for each. speed: [nparts]
     * relative speeds, mean 1. NULL: there is none. */
    int (*assign)(void *user, const eqp_method *method, int nparts, const double *speed, int64_t n,
                  const double *centre, const double *seconds, int *part);

    /** Moves everything on by one step without a new map; owners keep their numbers and homes. NULL: not
     * possible. */
    int (*advance)(void *user, eqp_message *message);

    /** Owners as they live here now are offered for a map that will come some steps later, when they may have moved,
     * been divided or been put together. Whatever an owner consists of is to carry a label from now on, wherever it
     * goes: first + at_home, instead of any other one; what is made anew takes that of what it was made from, or 0.
     * Later surveys say an owner's label by that of what it mostly consists of. Local. NULL: maps come in time only. */
    int (*label)(void *user, int64_t first);

    int ngrains; /**< granularities in which owners can be made: finer ones balance better, coarser ones cost less. It
                    begins with number 0. 0 or 1: one, and nobody asks for another */

    /** Makes the owners anew in that granularity, 0 to ngrains - 1: they have other numbers, homes and tags from now
     * on, each the tag of what it mostly consists of. The same granularity of the same state has the same owners each
     * time. What `advance` has done is taken back. Not between open and close. After a failure it is called once more,
     * with the granularity that was in force. NULL: there is one. */
    int (*grain)(void *user, int grain);
} eqp_problem;

#ifdef __cplusplus
}
#endif
#endif
