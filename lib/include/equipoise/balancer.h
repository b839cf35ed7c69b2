/* SPDX-License-Identifier: BSD-3-Clause */
/** \file balancer.h
 * \brief The balancer, one object that keeps an N-body code balanced; comparisons of methods; message costs.
 *
 * The code lists the owners of its interactions (problem.h) and, after each step, reports the cost of its forces. The
 * balancer fits a cost model to the reports, keeps the present map, decides when a new map pays off, and makes it by
 * any method of the table or by `auto`. If the code supports several granularities of owners, it uses the best:
 *
 *     eqp_balancer_create(comm, &problem, &options, &balancer, &message);
 *     for (step ...) {
 *         eqp_balancer_advise(balancer, left, &advice, &message);
 *         if (advice.changed) move_owners(advice.placement);
 *         forces(eqp_balancer_map(balancer));
 *         eqp_balancer_record(balancer, &work, &step);
 *     }
 *
 * A collective call fails on all ranks or on none, with the same code; after a failure the old map stays in force.
 * Nothing is printed. Several balancers may share a communicator. */
#ifndef EQUIPOISE_BALANCER_H
#define EQUIPOISE_BALANCER_H

#include <equipoise/balance.h>
#include <equipoise/policy.h>
#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A connection to ranks or a thread that make maps (more/lazy.h). */
typedef struct eqp_lazy eqp_lazy;

/** One method at one number of parts. */
typedef struct eqp_compared {
    const char *method;                    /**< method as written (borrowed from the choices) */
    char chosen[EQP_WORD_SIZE];            /**< method chosen by `auto`; "" for any other method */
    int parts;                             /**< number of parts */
    int64_t units;                         /**< assigned items */
    int64_t split_owners;                  /**< owners shared by several parts */
    double sample_rate;                    /**< units per interaction; 0: whole owners were assigned */
    double balance_seconds;                /**< largest CPU seconds of a rank for survey, units, assignment, and the
                                                traces that improved the map */
    double imbalance_next;                 /**< imbalance of the same assignment after the next step; NaN: unknown */
    eqp_evaluated evaluated;               /**< modelled step: eqp_evaluation_cycle() of `phase` */
    eqp_cycle_turns phases;                /**< phases of a cycle; a step is then a cycle */
    eqp_cycle cycle;                       /**< balance of the loads in the phases */
    eqp_evaluated phase[EQP_CYCLE_PHASES]; /**< [phases.n] one turn of each phase */
    double step_next;                      /**< seconds of the next step with the same assignment; NaN: unknown */
    int grain; /**< granularity of the owners (problem.h) that gives this method its shortest step */
} eqp_compared;

/** Measures *network on the ranks of a communicator. alpha and beta: messages of six sizes, from 0 bytes to 1 MiB,
 * bounce between pairs of ranks, all pairs at the same time; on several nodes, only pairs of ranks on different nodes
 * count. The median over round trips, then over pairs, gives one time per size; alpha and beta are the line with the
 * smallest sum of relative deviations. reduce, gather and gather_byte come from an allreduce and from allgathers of
 * several sizes in the same way. All times are wall seconds, so they mean little if ranks share a core. On one rank
 * nothing can be measured, and *network is unchanged. `node` is always unchanged. Collective, some milliseconds, the
 * same result on all ranks.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI; *network is unchanged then */
int eqp_network_measure(MPI_Comm comm, eqp_network *network);

/** The balancer of an N-body code. */
typedef struct eqp_balancer eqp_balancer;

/** Source of the ranks' shares of the work. */
typedef enum eqp_share_kind {
    EQP_SHARE_EQUAL,    /**< equal shares */
    EQP_SHARE_SPEEDS,   /**< declared speeds */
    EQP_SHARE_MEASURED, /**< one speed per rank, measured since the last map */
    EQP_SHARE_MODEL     /**< a model that learns from all maps so far */
} eqp_share_kind;

/** Each rank's share of the work. Work is measured in seconds of the cost model, which is the same for all ranks; a
 * rank's share is proportional to its relative speed, so that all ranks take equally long. */
typedef struct eqp_share_options {
    eqp_share_kind kind;          /**< source of the shares */
    const eqp_speed_model *model; /**< for EQP_SHARE_MODEL (borrowed), such as eqp_speeds_model(); else NULL */
    int nspeeds;                  /**< for EQP_SHARE_SPEEDS, a divisor of the number of ranks; else 0 */
    double *speed;                /**< [nspeeds] relative speeds > 0, mean 1, repeated over the ranks; NULL without */
} eqp_share_options;

/** Hard limits on the memory of ranks. A map that exceeds them, by exact evaluation, is not used. The need is that of
 * the problem's `memory`, or the memory used in making maps if that exceeds the message buffers. Zeros: no limits. */
typedef struct eqp_capacities {
    int n;               /**< a divisor of the number of ranks (in a comparison: any number); 0: none */
    const double *bytes; /**< [n] finite, > 0, repeated over the ranks; NULL without */
    double of_mean;      /**< > 0: each rank's capacity as a multiple of the mean need; only with n = 0 */
} eqp_capacities;

/** Options of a balancer, the same on all ranks. Initialize with eqp_balancer_options_init(). */
typedef struct eqp_balancer_options {
    size_t size;               /**< set by eqp_balancer_options_init() */
    eqp_choice method;         /**< eqp_choice_parse(); `auto` */
    double imbalance_tol;      /**< target imbalance, >= 0; 0.02 */
    double fresh_tol;          /**< target imbalance of a new map, to leave room for ageing; 0: imbalance_tol */
    double assign_tol;         /**< imbalance at which the assignment of work units may stop; 0: fresh_tol */
    uint64_t seed;             /**< seed of all random choices */
    eqp_policy_options policy; /**< when a map is renewed */
    eqp_share_options share;   /**< each rank's share of the work (its speeds are borrowed) */
    bool plan_auto;            /**< true: use the cheapest exchange plan for each map; false: use `plan` */
    eqp_exchange_plan plan;    /**< exchange plan without plan_auto */
    eqp_network network;       /**< message costs */
    bool network_measure;      /**< measure message costs before comparing maps */
    bool calibrate;   /**< if measured loads of ranks deviate from the model, scale the weights by the measurement
                           when a map is made; default true. Not used with measured shares, nor in maps that are
                           tried before they are used */
    bool handed_out;  /**< ranks take work from each other within a step, so measured loads do not describe the map */
    eqp_lazy *lazy;   /**< connection to ranks or a thread that make maps during the run (more/lazy.h), for the ranks of
                         this balancer; the code's owners must then carry labels (problem.h). NULL: none (borrowed) */
    bool fixed_costs; /**< use the problem's nominal costs instead of measured ones: maps of the same state are then the
                           same in every run, on any machine and any number of measuring ranks */
    eqp_clock clock;  /**< clock for the cost of trying a map, which `auto` weighs against steps; useful if the
                           problem's functions run on a device. Default: CPU seconds of the calling thread. Ranks may
                           use different clocks. The caller measures all other seconds, with any clock */
    eqp_capacities capacities; /**< memory of the ranks (copied but for its array, which is borrowed) */
} eqp_balancer_options;

/** Sets all options to their defaults. size: sizeof(eqp_balancer_options). Local.
 * \return EQP_OK, EQP_ERR_ARGUMENT for an invalid size */
int eqp_balancer_options_init(eqp_balancer_options *options, size_t size);

/** Makes a balancer. Collective.
 * \param[in]  comm      any intracommunicator; duplicated
 * \param[in]  problem   the code (copied; memory that it points to is borrowed)
 * \param[in]  options   (copied)
 * \param[out] balancer  owned by the caller: eqp_balancer_free(); unchanged on error
 * \param[out] message   the error in one line; NULL: no message
 * \return EQP_OK; EQP_ERR_ARGUMENT for values that are invalid or differ between ranks; EQP_ERR_MEMORY; EQP_ERR_MPI */
int eqp_balancer_create(MPI_Comm comm, const eqp_problem *problem, const eqp_balancer_options *options,
                        eqp_balancer **balancer, eqp_message *message);

/** Frees a balancer. Collective; NULL on all ranks is legal. */
void eqp_balancer_free(eqp_balancer *balancer);

/** Advice before a step. */
typedef struct eqp_advice {
    eqp_policy_action action;       /**< action taken on the map */
    bool changed;                   /**< true if owners must move */
    const eqp_placement *placement; /**< [owners that live here] by at_home, if changed, else NULL; borrowed until the
                                         next call */
    int64_t nplacements;            /**< owners that live here, if changed, else 0 */
    int64_t bytes;                  /**< bytes that this rank sent to make the map */
} eqp_advice;

/** Makes the maps of a code's balancer on dedicated ranks until the code leaves: eqp_lazy_serve() for the offers of a
 * balancer. Called on all balancing ranks; they need no other knowledge of the code. Local except for that call.
 * \param[in] lazy  from eqp_lazy_split()
 * \param[in] own   the code's own methods, as in its problem; NULL: none (borrowed)
 * \return as eqp_lazy_serve() */
int eqp_balancer_serve(eqp_lazy *lazy, const eqp_methods *own);

/** True if eqp_balancer_advise() will do more than keep the map before the next step. Local, the same on all ranks.
 * NULL: false. */
bool eqp_balancer_due(const eqp_balancer *balancer);

/** Repairs or renews the map if that is due; otherwise it does not communicate. If a repair does not reach the
 * tolerance, a new map is made. With options.lazy the work is offered to the balancing ranks instead; a call some steps
 * later takes their map and repairs it by the work of the last step. Collective; call it before a step, with owners at
 * their present homes.
 * \param[in]  balancer  the balancer
 * \param[in]  left      remaining steps of the run, the same on all ranks: the gain of a map grows with its use. If
 *                       nothing is due, a difference between ranks is reported when the step is recorded
 * \param[out] advice    the advice
 * \param[out] message   the error in one line; NULL: no message
 * \return EQP_OK, a code of the problem's functions or of eqp_balance() */
int eqp_balancer_advise(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message);

/** Makes a new map even if none is due; never repairs. As eqp_balancer_advise(). */
int eqp_balancer_renew(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message);

/** Makes a first map before any work is known: equally many particles along the curve. The next map need not start from
 * it. As eqp_balancer_renew(). */
int eqp_balancer_begin(eqp_balancer *balancer, eqp_advice *advice, eqp_message *message);

/** A survey to fill during this step's force computation, where it costs little, if a map may be due after the step.
 * Fill it as problem.survey does for EQP_SURVEY_WORK, before recording the step. There is no survey before the first
 * recorded step, for methods that try maps (`auto`), and if no map is due. Local; the same on all ranks.
 * \return borrowed until the step is recorded; NULL: no survey is needed */
eqp_survey *eqp_balancer_survey(eqp_balancer *balancer);

/** One rank's row in the report of a step. All members are doubles; a caller's struct may begin with it. */
typedef struct eqp_rank_row {
    double load;         /**< CPU seconds in forces */
    double predicted;    /**< set by the balancer: seconds of the same work by the cost model, at the rank's speed */
    double work;         /**< set by the balancer: seconds of that work by the cost model, for any rank */
    double next;         /**< set by the balancer: seconds of the last evaluation's work, by the costs fitted
                              after this step */
    double speed;        /**< set by the balancer: relative speed that the present map is based on */
    double particles;    /**< particles on the rank */
    double targets;      /**< particles for which it computed forces */
    double interactions; /**< interactions that it computed */
    double helped;       /**< pieces of other ranks' loops that it computed */
    double ghosts;       /**< remote particles and cells that it needed */
    double bytes_sent;   /**< bytes that it sent */
    double bytes_moved;  /**< part of bytes_sent: owners, or particles, on the way to new homes */
    double last_messages_sent;     /**< in the last evaluation of the forces, by the exchange plan: the number
                                        that a comparison predicts */
    double last_messages_received; /**< in the last evaluation */
    double last_bytes_sent;        /**< in the last evaluation */
    double last_bytes_received;    /**< in the last evaluation */
    double migrated;               /**< owners, or particles, that left it */
    double exchange_seconds;       /**< CPU seconds in sending the data that forces need, and forces */
    double balance_seconds;        /**< CPU seconds in making a map and moving homes; if 0, the balancer sets it to the
                                        seconds it spent in making maps since the last step */
    double busy_seconds;           /**< CPU seconds of the step without balance_seconds and without waiting
                                        (eqp_busy_seconds()); 0: unknown */
    double overhead;               /**< set by the balancer: predicted busy_seconds minus `predicted` */
    double memory; /**< set by the balancer: bytes that it needs, as eqp_capacities; 0 without the problem's `memory` */
} eqp_rank_row;

/** One rank's record of a step. */
typedef struct eqp_work {
    size_t size;          /**< of this struct in the caller's version; 0: of version 0.2 */
    eqp_rank_row *row;    /**< first member of a struct of doubles; the balancer sets its members there */
    size_t row_bytes;     /**< size of that struct, a multiple of 8; 0: sizeof(eqp_rank_row) */
    void *rows;           /**< [ranks] gets the rows of all ranks; NULL: not needed */
    const int64_t *count; /**< [kinds] work of the step */
    const int64_t *last;  /**< [kinds] work of the last of several evaluations in the step; NULL: `count` */
    int64_t evaluations;  /**< force evaluations in this step; 0: one */
    eqp_timings *timings; /**< batches of the work with their seconds, cleared here; NULL: the step is one batch */
    bool moved;           /**< true if the caller changed the map by itself before this step */
    int nphases; /**< phases if the step is a cycle (survey.h), at most EQP_CYCLE_PHASES, the same on all ranks;
                    0 and 1: one */
    const double *phase_load;   /**< [nphases] CPU seconds in forces in all turns of each; may be NULL with one */
    const int64_t *phase_count; /**< [nphases][kinds] work of all turns of each; may be NULL with one */
    int code;    /**< EQP_OK, or this rank's error in the step: all ranks then return it and record nothing */
    int nsums;   /**< at most EQP_MEET_SUMS, the same on all ranks */
    int nlows;   /**< at most EQP_MEET_LOWS, the same on all ranks */
    double *sum; /**< [nsums] in: this rank's values; out: sums over all ranks, bitwise the same on all */
    double *low; /**< [nlows] in: this rank's values, no NaN; out: minima over all ranks */
} eqp_work;

/** An empty record: `eqp_work work = eqp_work_defaults();` Local. */
static inline eqp_work eqp_work_defaults(void)
{
    eqp_work work;

    memset(&work, 0, sizeof work);
    work.size = sizeof work;
    return work;
}

/** Statistics of a step over all ranks, the same on all ranks. */
typedef struct eqp_step {
    size_t size;                /**< of this struct in the caller's version; 0: of version 0.2 */
    int64_t step;               /**< set by the caller */
    double time;                /**< set by the caller */
    bool rebalanced;            /**< before the step a new map was computed or the present one was repaired */
    double imbalance_predicted; /**< largest predicted time over the time of an even division, - 1; with several
                                     phases, of the sum of the largest times of the phases */
    double imbalance_measured;  /**< imbalance of measured CPU seconds in forces */
    double imbalance_promised;  /**< imbalance that the balancer predicted for the present map when it made it */
    double imbalance_work;      /**< imbalance of the present work, by the cost model */
    double load_max;            /**< CPU seconds; with several phases, the sum of the phases' largest loads */
    double load_mean;           /**< CPU seconds */
    double exchange_seconds;    /**< largest of all ranks */
    double balance_seconds;     /**< largest of all ranks */
    double step_measured;       /**< largest busy_seconds of all ranks; 0 if a rank does not give them */
    double step_predicted;      /**< largest predicted + overhead of all ranks, scaled by the excess of the busiest rank
                                     in earlier steps; 0 if a rank does not give busy_seconds */
    double memory_max;          /**< bytes that a rank needs, as eqp_capacities; 0 without the problem's `memory` */
    double memory_use;          /**< largest need of a rank over its capacity; 0 without capacities */
    int nphases;                /**< phases if the step is a cycle; else 1 */
    double cycle_efficiency;    /**< 1 / (1 + imbalance_measured) */
    double phase_measured[EQP_CYCLE_PHASES];  /**< imbalance of each phase's CPU seconds in forces, then zeros */
    double phase_predicted[EQP_CYCLE_PHASES]; /**< imbalance of each phase's predicted times */
    int64_t interactions;                     /**< sum of the rows */
    int64_t units;                            /**< items of the present map */
    int64_t split_owners;                     /**< owners shared by several ranks */
    int64_t migrated;                         /**< sum of the rows */
    int64_t ghosts_total;                     /**< sum of the rows */
    int64_t ghosts_max;                       /**< largest of the rows */
    int64_t bytes_sent;                       /**< sum of the rows */
    int64_t bytes_moved;                      /**< sum of the rows */
    int64_t bytes_total;                      /**< sum of last_bytes_sent of the rows */
    int64_t bytes_max;                        /**< largest last_bytes_sent or last_bytes_received of the rows */
    int64_t messages_max;                     /**< largest last_messages_sent or last_messages_received of the rows */
    int64_t handed;                           /**< loop pieces computed on a rank other than the map's */
    double calibration; /**< largest change of a weight by measured loads when the present map was made, a
                             fraction; 0: none */
    double correlation; /**< rank correlation of predicted and measured seconds of a rank's timed batches, mean over the
                           ranks by batches */
    eqp_sizes unit_sizes;     /**< sizes of the units of the last map that assigned units */
    int64_t map_age;          /**< steps since the survey of the present map: 0 in the first step with a map made before
                                  it, more with one made during the run (more/lazy.h) */
    eqp_lazy_phase lazy;      /**< state of the offer after the step */
    eqp_policy_action action; /**< action taken on the map before the step */
    char chosen[EQP_WORD_SIZE]; /**< by `auto`: the method of the present map */
    char why[192];              /**< reason for a repair, a new map, or for rejecting a computed map; else empty */
} eqp_step;

/** An empty report: `eqp_step step = eqp_step_defaults();` Local. */
static inline eqp_step eqp_step_defaults(void)
{
    eqp_step step;

    memset(&step, 0, sizeof step);
    step.size = sizeof step;
    return step;
}

/** Records a step: fits costs, learns speeds, updates the policy. Collective: one allreduce, which also carries the
 * caller's own sums, minima and code, and one allgather of the rows. No other call blocks, so a step needs no further
 * call just to agree on values.
 * \param[in]     balancer  the balancer
 * \param[in,out] work      record of this rank
 * \param[out]    step      all members except `step` and `time`; NULL: not needed
 * \return EQP_OK; EQP_ERR_DATA for invalid loads or counts; EQP_ERR_ARGUMENT; EQP_ERR_MEMORY; EQP_ERR_MPI;
 *         work->code of a rank; on all ranks */
int eqp_balancer_record(eqp_balancer *balancer, const eqp_work *work, eqp_step *step);

/** Cost of the schedule of maps so far, compared with the best schedule. Covers the steps
 * recorded by this balancer, not steps before a restart. A first step without busy_seconds gets the length of the
 * next step if that has them. Local; the same on all ranks.
 * \param[in]  balancer  the balancer
 * \param[out] regret    unchanged on error; NULL: not needed
 * \param[out] n         rows of the best schedule; NULL: not needed
 * \param[out] schedule  [*n] the best schedule, step by step, owned by the caller: free(); NULL: not needed
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW */
int eqp_balancer_regret(const eqp_balancer *balancer, eqp_regret *regret, int64_t *n, eqp_hindsight_stretch **schedule);

/** Packs the balancer's state for a restart file: costs, the state of the policy and of `auto`, speeds, noise, the
 * predicted imbalance, the map's table of shared owners. Not included: the state of a speed model, a pending offer for
 * a lazy map, and the assignment of owners, which their tags hold. The bytes are the same on all ranks, so one rank may
 * write them; they end with a checksum. Local.
 * \param[in]  balancer  the balancer
 * \param[out] size      bytes
 * \param[out] bytes     [*size] owned by the caller: free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_balancer_pack(const eqp_balancer *balancer, size_t *size, void **bytes);

/** Restores packed state, after eqp_balancer_create() for the same kinds of work. Maps are then made when they would
 * have been made without the restart, and the remaining length of the run is kept until eqp_balancer_advise() gives a
 * new one. With a different number of ranks or method only the costs are restored, and a map is due. A problem with
 * several granularities continues with the one in force at packing, or with 0 if only the costs are restored. Every
 * rank passes the same bytes. They are valid for this kind of machine and this version of the library. Local.
 * \param[in] balancer  unchanged on error
 * \param[in] size      bytes
 * \param[in] bytes     [size]
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_FORMAT for bytes that are damaged or not from a balancer, EQP_ERR_MEMORY */
int eqp_balancer_unpack(eqp_balancer *balancer, size_t size, const void *bytes);

/** Fits the costs to batches of work outside of steps, such as before the first map. Collective.
 * \param[in] balancer  the balancer
 * \param[in] timings   batches of this rank; NULL: none
 * \return EQP_OK, EQP_ERR_DATA, EQP_ERR_MEMORY, EQP_ERR_MPI */
int eqp_balancer_learn(eqp_balancer *balancer, const eqp_timings *timings);

/** True once costs were measured, in two batches of work per kind over all ranks and steps; until then the nominal
 * costs hold. Local. NULL: false. */
bool eqp_balancer_knows_costs(const eqp_balancer *balancer);

/** The present costs, for eqp_cost_fit_predict(): borrowed, changed by eqp_balancer_record() and
 * eqp_balancer_learn(). Local. NULL: NULL. */
const eqp_cost_fit *eqp_balancer_costs(const eqp_balancer *balancer);

/** The present map: borrowed until the next one. Local. NULL: NULL. */
const eqp_map *eqp_balancer_map(const eqp_balancer *balancer);

/** The present exchange plan: borrowed; a new map may change it. Local. NULL: NULL. */
const eqp_exchange_plan *eqp_balancer_plan(const eqp_balancer *balancer);

/** Relative speeds of the ranks that the present map is based on: [ranks], mean 1; borrowed until the next map. Local.
 * NULL if all ranks are equally fast. */
const double *eqp_balancer_speeds(const eqp_balancer *balancer);

/** Request for a comparison: maps of the present state into any numbers of parts. */
typedef struct eqp_comparison {
    size_t size;                /**< of this struct in the caller's version; 0: of version 0.2 */
    int nchoices;               /**< methods, >= 1 */
    const eqp_choice *choice;   /**< [nchoices] methods; `auto` chooses from the other methods and its own candidates */
    int ncounts;                /**< numbers of parts, >= 1 */
    const int64_t *parts;       /**< [ncounts] each >= 1, need not equal the number of ranks */
    const eqp_network *network; /**< message costs; NULL: as in the options */
    const eqp_exchange_plan *plan; /**< exchange plan; NULL: the cheapest plan of each map */
    int nspeeds;                   /**< declared speeds of the parts, repeated; 0: all equal */
    const double *speed;           /**< [nspeeds] mean 1; NULL without */
    void (*on_rows)(void *user, int n, const eqp_compared *rows); /**< called on all ranks with the rows of each number
                                                                       of parts as soon as they are known; at the end if
                                                                       there are several granularities; NULL: no call */
    /** Called on all ranks with each row and its map after the comparison: placement [owners that live here] by
     * at_home, whose ranks are parts; both borrowed for the call. It may communicate and must fail on all ranks or on
     * none; eqp_balancer_compare() then fails with its code. With several granularities the rows come by granularity,
     * with that granularity in force, and maps are made twice. NULL: no call. */
    int (*on_map)(void *user, const eqp_compared *row, const eqp_map *map, const eqp_placement *placement);
    void *user;                /**< passed to on_rows and on_map */
    eqp_capacities capacities; /**< memory of the parts; maps that do not fit are rows with memory_use > 1 */
} eqp_comparison;

/** No request: `eqp_comparison comparison = eqp_comparison_defaults();` Local. */
static inline eqp_comparison eqp_comparison_defaults(void)
{
    eqp_comparison comparison;

    memset(&comparison, 0, sizeof comparison);
    comparison.size = sizeof comparison;
    return comparison;
}

/** Divides the present state into each number of parts and evaluates each map, now and after problem.advance has moved
 * the state by one step. If the problem has several granularities, each is tried from the same state, and the row is
 * that of the granularity with the shortest next step (or step, if the next is unknown); balance_seconds include all of
 * them. The present map and granularity stay. Collective.
 * \param[in]  balancer    the balancer
 * \param[in]  comparison  the request
 * \param[out] rows        [ncounts x nchoices] by parts, then by method; owned by the caller: free()
 * \param[out] message     the error in one line; NULL: no message
 * \return EQP_OK, EQP_ERR_ARGUMENT, a code of the problem's functions or of eqp_balance() */
int eqp_balancer_compare(eqp_balancer *balancer, const eqp_comparison *comparison, eqp_compared **rows,
                         eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
