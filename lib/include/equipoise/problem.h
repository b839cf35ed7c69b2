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
 * the map moves with it; or one rank computes all of them, a different one in each phase of a cycle (survey.h). A code
 * that reads the tags of a phase with eqp_map_tag_in() computes such owners on that phase's rank; any other code
 * computes them on the rank of phase 0. Every rank holds the table: some tens of bytes per work unit of a shared owner,
 * four bytes per phase of a sequence of ranks over the phases, nothing for other owners. NULL is a map without shared
 * owners. Source: O. Pearce, Load Balancing Scientific Applications, 2014, section 4.1 (Algorithm 8).
 *
 * *Evaluation.* Loads of all parts and the blocks that they exchange, filled by the code's `trace`. A *block* is data
 * that travels as one (the particles of a leaf, the children of a cell, the segments of a grid cell). It lives at its
 * *home*, one part, and other parts need it. A *plan* is a route for the blocks. `stages`: directly; in two
 * stages of about sqrt(P), so that a part sends and receives at most about 2 sqrt(P) messages instead of up to P - 1;
 * or in log2 P stages. `broadcast` D: *hot* blocks, needed by more than P/D parts other than their home, go to all by
 * an allgather and come back by a reduce-scatter. `node` R: every R consecutive parts share memory, so a block is sent
 * once for all of them; P must be a multiple of R.
 *
 * All functions of this header are local. */
#ifndef EQUIPOISE_PROBLEM_H
#define EQUIPOISE_PROBLEM_H

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A balancing method, the library's or the code's own (balance.h). */
typedef struct eqp_method eqp_method;

/** A code's own methods (balance.h). */
typedef struct eqp_methods eqp_methods;

#define EQP_MEET_SUMS 32 /**< largest number of sums in a step's reduction */
#define EQP_MEET_LOWS 12 /**< largest number of minima in a step's reduction */

/** Message costs. */
typedef struct eqp_network {
    double alpha;       /**< seconds per message, >= 0 */
    double beta;        /**< seconds per byte, >= 0 */
    int node;           /**< parts that share memory, >= 1 */
    double reduce;      /**< seconds per level of an allreduce of a few bytes, ceil(log2 P) levels; 0: as alpha */
    double gather;      /**< seconds per level of an allgather, ceil(log2 P) levels; 0: as alpha */
    double gather_byte; /**< seconds per byte that a part receives in an allgather; 0: as beta */
} eqp_network;

/** 2 microseconds, 1 GB/s, no shared memory; a collective call costs its messages. */
#define EQP_NETWORK_DEFAULTS                                                                                           \
    {                                                                                                                  \
        2e-6, 1e-9, 1, 0, 0, 0                                                                                         \
    }

/** Number of stages in which blocks travel. */
typedef enum eqp_stages {
    EQP_STAGES_DIRECT, /**< one: directly to the parts that need the block */
    EQP_STAGES_TWO,    /**< two, of about sqrt(P) */
    EQP_STAGES_LOG     /**< ceil(log2 P) */
} eqp_stages;

/** Route of the blocks. */
typedef struct eqp_exchange_plan {
    eqp_stages stages; /**< stages of blocks that are not broadcast */
    int broadcast;     /**< blocks needed by more than parts / broadcast other parts go to all; 0: no broadcast */
    int node;          /**< number of parts that share memory and receive a block once; 1: no sharing */
} eqp_exchange_plan;

/** One stage, no broadcast, no shared memory. */
#define EQP_EXCHANGE_PLAN_DEFAULTS                                                                                     \
    {                                                                                                                  \
        EQP_STAGES_DIRECT, 0, 1                                                                                        \
    }

/** Overheads of a step in addition to the loads and the exchange: CPU seconds that a map does not distribute, and
 * collective calls. Zeros: no overhead. */
typedef struct eqp_overhead {
    double held;    /**< seconds per element held by a part: motion, trees, sums; >= 0 */
    double ghost;   /**< seconds per received ghost; >= 0 */
    double byte;    /**< seconds per sent byte: finding and packing the data; >= 0 */
    double part;    /**< seconds of every part; >= 0 */
    int calls;      /**< reductions and barriers, blocking or not */
    int gathers;    /**< allgathers in addition to those of the phases and of common data */
    int gathered;   /**< total bytes that every part contributes to these allgathers; 0 without them */
    int handshakes; /**< messages that announce each message: alpha each */
} eqp_overhead;

/** Memory model of a part, based on the contents that an evaluation knows. Zeros: no memory. */
typedef struct eqp_memory {
    double fixed; /**< bytes of every part; >= 0 */
    double held;  /**< bytes per element held by a part; >= 0 */
    double ghost; /**< bytes per received ghost; >= 0 */
    double byte;  /**< buffer bytes per byte sent or received; >= 0 */
} eqp_memory;

/** Largest number of phases of an evaluation. */
#define EQP_PHASES_MAX 8

/** Loads and exchanges of all parts for one map. Filled as a stream. */
typedef struct eqp_evaluation eqp_evaluation;

/** Evaluation of a map with one exchange plan. */
typedef struct eqp_evaluated {
    double load_max;      /**< seconds, at the parts' speeds */
    double load_mean;     /**< seconds */
    double imbalance;     /**< load_max / load_mean - 1; 0 without load */
    int64_t ghosts_total; /**< elements of blocks sent in phases with `ghosts`, counted once per part that needs them
                               and is not their home */
    int64_t ghosts_max;   /**< largest number of ghosts of a part */
    int neighbours_max;   /**< largest number of neighbours of a part: the parts whose blocks it needs or contributes
                               to, or the parts that do so with its blocks; over all phases, for any plan */
    int64_t messages_max; /**< most messages that a part sends or receives over all phases, allgathers included */
    int64_t bytes_total;  /**< bytes sent by all parts */
    int64_t bytes_max;    /**< most bytes that a part sends or receives */
    double step_seconds;  /**< largest over the parts of load + overhead + seconds of all phases and of common data -
                               hidden seconds; see docs/compare.md */
    double step_seconds_ideal; /**< load_mean plus the mean overhead of the elements held */
    double exchange_seconds;   /**< of the slowest part, which determines step_seconds: its messages and its share of
                                    collective calls */
    double hidden_seconds;     /**< part of exchange_seconds that overlaps computation and does not lengthen the step */
    double overhead_seconds;   /**< CPU seconds of the slowest part in addition to its load */
    double memory_max;         /**< largest need of a part in bytes, by eqp_evaluation_memory(); 0 without a model */
    double memory_mean;        /**< mean need of a part in bytes */
    double memory_use;      /**< largest ratio of a part's need to its capacity: above 1 the map does not fit; 0 without
                                 capacities */
    eqp_exchange_plan plan; /**< the plan */
} eqp_evaluated;

/** Adds load to a part, seconds >= 0. Local, O(1). EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA, EQP_ERR_OVERFLOW. */
int eqp_evaluation_load(eqp_evaluation *evaluation, int part, double seconds);

/** Declares that some seconds of a part's load do not need a phase's data and run during its exchange: they hide at
 * most that many of the phase's seconds. Each second counts for one phase only. The load itself is added by
 * eqp_evaluation_load(). Adds up. Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA, EQP_ERR_OVERFLOW */
int eqp_evaluation_meanwhile(eqp_evaluation *evaluation, int phase, int part, double seconds);

/** Adds to the number of elements that a part holds. Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_OVERFLOW */
int eqp_evaluation_held(eqp_evaluation *evaluation, int part, int64_t elements);

/** Adds to the bytes that a part contributes to an allgather of all parts. Local, O(1).
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_OVERFLOW */
int eqp_evaluation_common(eqp_evaluation *evaluation, int part, int64_t bytes);

/** Declares a block of a phase, in any order, before or after its needs; a repetition must have the same values. A
 * needed block that was never declared is an error at the end. Local, amortised O(1).
 * \param[in]  block     any number, such as the key of a cell
 * \param[in]  bytes     message bytes of the block
 * \param[in]  elements  particles or cells in the block, for counting ghosts
 * \param[in]  home      part on which the block lives
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, or EQP_ERR_DATA for a block declared before with other values */
int eqp_evaluation_block(eqp_evaluation *evaluation, int phase, int64_t block, int64_t bytes, int64_t elements,
                         int home);

/** Declares that a part needs a block, or contributes to it. Repetitions do not count. Local, amortised O(log).
 * Memory O(different needs), 8 to 16 bytes each.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_evaluation_need(eqp_evaluation *evaluation, int phase, int64_t block, int part);

/** Balance of the phases of a cycle. */
typedef struct eqp_cycle {
    double efficiency; /**< sum over the phases of times x mean load / sum of times x largest load / (nparts x share);
                            1 without load */
    double worst;      /**< largest imbalance of a phase */
    int worst_phase;   /**< phase with that imbalance (the lowest if there are several) */
    double imbalance[EQP_CYCLE_PHASES]; /**< of each phase, 0 for a phase without load, then zeros */
} eqp_cycle;

/** The table of shared owners. */
typedef struct eqp_map eqp_map;

/** Placement of an owner, told to its home: the rank that computes it and the rank on which it should live. */
typedef struct eqp_placement {
    int64_t tag; /**< tag of the owner, as described above */
    int home;    /**< rank, or part: the one that computes it, or one of the ranks that share it */
} eqp_placement;

/** Makes a map.
 * \param[in]  nshared   shared owners, >= 0; the tag of the i-th is -1 - i
 * \param[in]  nunits    [nshared] work units of each, >= 1
 * \param[in]  centroid  [sum of nunits][3] of each unit, measured from the owner, finite
 * \param[in]  rank      [sum of nunits] rank that computes each unit, >= 0
 * \param[out] map       owned by the caller: eqp_map_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for an invalid number, EQP_ERR_MEMORY */
int eqp_map_create(int64_t nshared, const int64_t *nunits, const double *centroid, const int *rank, eqp_map **map);

/** Frees a map; NULL is legal. */
void eqp_map_free(eqp_map *map);

/** Number of entries in the table: owners shared by several ranks, divided by position, then entries with one rank per
 * phase. map may be NULL: 0. */
int64_t eqp_map_shared(const eqp_map *map);

/** Number of entries with one rank per phase.
 * \param[in]  map      may be NULL
 * \param[out] nphases  0 without such entries; may be NULL
 * \param[out] rank     [*nphases] for each entry: borrowed from the map; may be NULL */
int64_t eqp_map_phased(const eqp_map *map, int *nphases, const int **rank);

/** The tag of an owner in one phase: the rank of that phase if the entry has one rank per phase, else the same tag.
 * O(1).
 * \param[in] map    may be NULL
 * \param[in] phase  >= 0 */
int64_t eqp_map_tag_in(const eqp_map *map, int64_t tag, int phase);

/** The rank of an interaction. O(1) for whole owners, one search for shared ones.
 * \param[in] map       may be NULL
 * \param[in] tag       of the owner
 * \param[in] centroid  [3] of the interaction, measured from the owner; may be NULL for whole owners
 * \return the rank; -1 for a tag that is not in the map */
int eqp_map_rank(const eqp_map *map, int64_t tag, const double *centroid);

/** The rank for work at the owner's own position; owners with tag >= 0 have a single rank. As eqp_map_rank(). */
int eqp_map_own_rank(const eqp_map *map, int64_t tag);

/** The ranks that compute interactions of an owner, ascending and distinct.
 * \param[in]  map     may be NULL
 * \param[in]  tag     of the owner
 * \param[in]  nranks  room in `ranks`: one more than units of the owner, or the number of ranks, whichever is less
 * \param[out] ranks   [nranks]
 * \return number of ranks; -1 for a tag that is not in the map, or if `ranks` is too short */
int eqp_map_ranks(const eqp_map *map, int64_t tag, int nranks, int *ranks);

/** The work units of a shared owner (tag < 0, the same in all phases). Of units at equal distance eqp_map_rank() takes
 * the first in this order. O(1).
 * \param[in]  map       the map
 * \param[in]  tag       of the owner
 * \param[out] centroid  [n][3] measured from the owner; borrowed from the map
 * \param[out] rank      [n] rank of each; borrowed from the map
 * \return n; 0 for a tag that names no shared owner */
int64_t eqp_map_units(const eqp_map *map, int64_t tag, const double **centroid, const int **rank);

/** Contents of a survey. */
typedef enum eqp_survey_kind {
    EQP_SURVEY_NAMES, /**< owners that live here, with their tags; no work, pins or tiles */
    EQP_SURVEY_WORK   /**< also their work, with the pins and tiles that the survey asks for */
} eqp_survey_kind;

/** An N-body code. Zeros mark features that it does not have. Borrowed for the life of the balancer. */
typedef struct eqp_problem {
    size_t size;                  /**< of this struct in the caller's version; 0: of version 0.2 */
    void *user;                   /**< passed to all functions */
    int nkinds;                   /**< kinds of work, 1 to EQP_COST_KINDS; 0: one */
    const double *nominal;        /**< [nkinds] seconds per unit of each kind, > 0; NULL: 1 each. They hold
                                     until costs were measured; from then on only their ratios matter */
    unsigned once;                /**< bit k: every rank that shares an owner repeats its work of kind k */
    int nphases;                  /**< phases of an exchange, for `trace`: see eqp_evaluation_create() */
    const int *back;              /**< [nphases] see eqp_evaluation_create(); NULL without phases */
    const int *ghosts;            /**< [nphases] see eqp_evaluation_create(); NULL without phases */
    const eqp_overhead *overhead; /**< overhead of a step in addition to work and phases: the calls and handshakes, and
                                     costs that hold until measured (eqp_rank_row.busy_seconds); NULL: unknown
                                     (copied) */
    const eqp_memory *memory; /**< memory model of a rank with a capacity (balancer.h), without the memory for making
                                 maps; NULL: the bytes of its owners (copied) */
    double branch; /**< cost to each part of dividing a cell of the octree of keys (more/curve.h) into one part more
                      than necessary, since every part learns the homes of such cells' owners; in units of the cost of a
                      missing pin, >= 0. `hypergraph` then keeps owners of a cell together. 0: no cost, and keys may be
                      arbitrary */
    const eqp_methods *own; /**< the code's own methods; NULL: none. `assign` below runs rows without `assign` */
    bool apart;     /**< whole owners may live on another rank than the one that computes them: `homes=curve` and
                       `maps=phase` (balance.h) are possible, and `auto` tries `maps=phase` */
    bool estimates; /**< the totals of the last survey predict the contents needed in the next one: with work units, one
                       survey then suffices instead of two */

    /** Gives the phases of a cycle from now on (survey.h); called before owners are surveyed for a map, or while forces
     * are computed. A step of the balancer is then a cycle: owners' work and recorded values cover all its turns. The
     * same on all ranks. Local. NULL: one phase. */
    int (*cycle)(void *user, eqp_cycle_turns *phases);

    /** Selects the phase for following traces: one turn of it at the present state. Local. NULL, with several phases:
     * maps are judged by the survey. */
    int (*turn)(void *user, int phase);

    /** Lists the owners: adds the owners that live here, and for EQP_SURVEY_WORK this rank's work for owners that live
     * elsewhere. */
    int (*survey)(void *user, eqp_survey_kind kind, eqp_survey *survey);

    /** Called before EQP_SURVEY_WORK is taken for a map; traced: maps will be traced as well. NULL: no call. */
    int (*open)(void *user, bool traced);

    /** Called after each `open`, even if the map has failed. Local. NULL: no call. */
    void (*close)(void *user);

    /** Gives the cost of a source shared by two parts, in units of a shared target, if the option of `tiles` is not
     * set. NULL: unknown. */
    int (*aspect)(void *user, double *aspect);

    /** Adds the seconds of each part's work that no map assigns, [nparts]; the same on all ranks. Local. NULL:
     * no such work. */
    void (*base)(void *user, int nparts, double *seconds);

    /** Walks all interactions, each once over all ranks, and adds to the evaluation the load of each part under a map
     * into nparts parts and the blocks that each part needs. placement: [owners that live here] by at_home; ranks of
     * map and placement are parts. The result must match a real step on nparts ranks with that map, message by message.
     * loads_only: eqp_evaluation_load() only. NULL: maps are judged by the survey. */
    int (*trace)(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation);

    /** Runs one of the code's own methods that has no `assign`: gives each owner, in curve order, a part. speed:
     * [nparts] relative speeds, mean 1. NULL: no such method. */
    int (*assign)(void *user, const eqp_method *method, int nparts, const double *speed, int64_t n,
                  const double *centre, const double *seconds, int *part);

    /** Advances the state by one step without a new map; owners keep their numbers and homes. NULL: not possible. */
    int (*advance)(void *user, eqp_message *message);

    /** Labels the owners that live here now. They are offered for a map that arrives some steps later, when owners may
     * have moved, split or merged. From now on every particle or element of an owner carries the label first + at_home,
     * which replaces any earlier label and moves with it; a new element takes the label of its origin, or 0. Later
     * surveys give each owner the label that most of its elements have. Local. NULL: no lazy maps (more/lazy.h). */
    int (*label)(void *user, int64_t first);

    int ngrains; /**< number of granularities of the owners: finer ones balance better, coarser ones cost less. The
                    first is number 0. 0 or 1: one granularity, and `grain` is not called */

    /** Rebuilds the owners in a granularity, 0 to ngrains - 1. Owners then have new numbers, homes and tags; each has
     * the tag that most of its contents had. The same granularity of the same state always gives the same owners.
     * Undoes `advance`. Not called between open and close. After a failure it is called once more, with the granularity
     * that was in force. NULL: there is one granularity. */
    int (*grain)(void *user, int grain);
} eqp_problem;

/** A code without any feature: `eqp_problem problem = eqp_problem_defaults();` Local. */
static inline eqp_problem eqp_problem_defaults(void)
{
    eqp_problem problem;

    memset(&problem, 0, sizeof problem);
    problem.size = sizeof problem;
    return problem;
}

#ifdef __cplusplus
}
#endif
#endif
