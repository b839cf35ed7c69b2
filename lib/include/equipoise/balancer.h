/* SPDX-License-Identifier: BSD-3-Clause */
/** \file balancer.h
 * \brief What a map comes to that nobody has used yet: rows of a comparison, and what messages cost here.
 *
 * One object that keeps an N-body code balanced.
 *
 * The code says who the owners of its interactions are (problem.h) and, after each step, what its forces have cost. The
 * balancer fits costs to that, keeps the present map, knows when a new one is worth it, and makes it by any method of
 * the table or by `auto`; where owners can be made in several granularities, by the best of these:
 *
 *     eqp_balancer_create(comm, &problem, &options, &balancer, &message);
 *     for (step ...) {
 *         eqp_balancer_advise(balancer, left, &advice, &message);
 *         if (advice.changed) move_owners(advice.placement);
 *         forces(eqp_balancer_map(balancer));
 *         eqp_balancer_record(balancer, &work, &step);
 *     }
 *
 * All that is collective fails on all ranks or on none, with the same code, and then the old map is in force. Nothing
 * is printed. Several balancers may live on one communicator, or on several. */
#ifndef EQUIPOISE_BALANCER_H
#define EQUIPOISE_BALANCER_H

#include <equipoise/balance.h>
#include <equipoise/policy.h>
#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A connection with ranks or a thread that make maps (more/lazy.h). */
typedef struct eqp_lazy eqp_lazy;

/** One method at one number of parts. */
typedef struct eqp_compared {
    const char *method;         /**< as written (borrowed from the choices) */
    char chosen[EQP_WORD_SIZE]; /**< by `auto`; "" for any other method */
    int parts;                  /**< number of parts */
    int64_t units;              /**< items that were assigned */
    int64_t split_owners;       /**< owners that several parts share */
    double sample_rate;         /**< units per interaction; 0: owners were assigned whole */
    double balance_seconds;     /**< CPU seconds of the rank that needed most, for survey, units, assignment, and the
                                     traces by which a map was made again */
    double imbalance_next;      /**< of the same assignment after the next step; NaN: not known */
    eqp_evaluated evaluated;    /**< modelled step: eqp_evaluation_cycle() of `phase` */
    eqp_cycle_turns phases;     /**< of a cycle, which a step is then */
    eqp_cycle cycle;            /**< how even loads are in them */
    eqp_evaluated phase[EQP_CYCLE_PHASES]; /**< [phases.n] one turn of each */
    double step_next;                      /**< seconds of the next step with the same assignment; NaN: not known */
    int grain; /**< of the owners: the problem's granularity (problem.h) with which this method's step is shortest */
} eqp_compared;

/** Measures *network between the ranks at hand. alpha and beta: messages of six sizes, from none to 1 MiB, go to and
 * fro between pairs of ranks, all pairs at the same time; pairs are of two nodes where ranks are on several, and only
 * those of two nodes count then. The medians of round trips, then of pairs, give the line with the smallest sum of
 * relative deviations. reduce, gather and gather_byte likewise from an allreduce and from allgathers of several sizes.
 * These are wall seconds, the only ones a message has; on ranks that share a core they say little. On one rank nothing
 * can be measured, and *network stays. `node` always stays. Collective, some milliseconds, the same result on all
 * ranks.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI; *network is unchanged then */
int eqp_network_measure(MPI_Comm comm, eqp_network *network);

/** An N-body code's balance. */
typedef struct eqp_balancer eqp_balancer;

/** What says how much work each rank is to get. */
typedef enum eqp_share_kind {
    EQP_SHARE_EQUAL,    /**< all alike */
    EQP_SHARE_SPEEDS,   /**< as declared */
    EQP_SHARE_MEASURED, /**< by what ranks took for their work since the last map: a constant for each */
    EQP_SHARE_MODEL     /**< by a model that learns from all maps so far */
} eqp_share_kind;

/** How much work each rank is to get. Work is in seconds by the cost model, the same for all ranks; a rank's relative
 * speed says how much of it is to take as long as elsewhere. */
typedef struct eqp_share_options {
    eqp_share_kind kind;          /**< what decides */
    const eqp_speed_model *model; /**< of EQP_SHARE_MODEL (borrowed), such as eqp_speeds_model(); else NULL */
    int nspeeds;                  /**< of EQP_SHARE_SPEEDS, a divisor of the number of ranks; else 0 */
    double *speed;                /**< [nspeeds] relative speeds > 0, mean 1, repeated over the ranks; NULL without */
} eqp_share_options;

/** Hard caps on the memory of ranks. No map is taken in that needs more, as evaluated exactly: by the problem's
 * `memory`, or, where that is more than messages, by what making maps has taken. Zeros: none. */
typedef struct eqp_capacities {
    int n;               /**< a divisor of the number of ranks (of a comparison: any number); 0: none */
    const double *bytes; /**< [n] finite, > 0, repeated over the ranks; NULL without */
    double of_mean;      /**< > 0: each rank has so many times what a rank needs in the mean; only with n = 0 */
} eqp_capacities;

/** How a run is balanced; the same on all ranks. To be set up by eqp_balancer_options_init(). */
typedef struct eqp_balancer_options {
    size_t size;               /**< set by eqp_balancer_options_init() */
    eqp_choice method;         /**< eqp_choice_parse(); `auto` */
    double imbalance_tol;      /**< wanted imbalance, >= 0; 0.02 */
    double fresh_tol;          /**< what a new map is to reach, so that it may age; 0: imbalance_tol */
    double assign_tol;         /**< at which the assignment of work units may stop; 0: fresh_tol */
    uint64_t seed;             /**< of everything that is random */
    eqp_policy_options policy; /**< when a map is renewed */
    eqp_share_options share;   /**< how much each rank is to get (its speeds are borrowed) */
    bool plan_auto;            /**< data travel by the plan that is cheapest for the map, else: */
    eqp_exchange_plan plan;    /**< by this one */
    eqp_network network;       /**< what messages cost */
    bool network_measure;      /**< they are measured before maps are compared */
    bool calibrate;  /**< where ranks take longer than predicted, each in its own way, weights are scaled by what
                          was measured, and a map is made for that; yes. Not where shares are measured, nor in
                          maps that are tried before they are used */
    bool handed_out; /**< work is handed out while it is done, so that loads say nothing of the map */
    eqp_lazy *lazy;  /**< who makes maps beside the run (more/lazy.h), for the ranks of this balancer; the code's owners
                        must carry labels then (problem.h). NULL: nobody (borrowed) */
    bool fixed_costs; /**< the problem's nominal costs hold, whatever is measured: then maps of the same state are the
                           same in every run, however fast a machine is and however many ranks measure */
    eqp_clock clock;  /**< what trying a map takes, which `auto` weighs against steps; its problem's functions may have
                           worked elsewhere, on a device. Usual: CPU seconds of the calling thread. Ranks may differ. All
                           other seconds the caller measures: any that a step is to be judged by */
    eqp_capacities capacities; /**< memory of the ranks (copied but for its array, which is borrowed) */
} eqp_balancer_options;

/** Sets all options to what they are if nobody says anything. size: sizeof(eqp_balancer_options). Local.
 * \return EQP_OK, EQP_ERR_ARGUMENT for a size that is none */
int eqp_balancer_options_init(eqp_balancer_options *options, size_t size);

/** Makes a balancer. Collective.
 * \param[in]  comm      any intracommunicator; duplicated
 * \param[in]  problem   the code (copied; what it points to is borrowed)
 * \param[in]  options   (copied)
 * \param[out] balancer  owned by the caller: eqp_balancer_free(); unchanged on error
 * \param[out] message   what is wrong, one line; NULL: not wanted
 * \return EQP_OK; EQP_ERR_ARGUMENT for what cannot be or differs between ranks; EQP_ERR_MEMORY; EQP_ERR_MPI */
int eqp_balancer_create(MPI_Comm comm, const eqp_problem *problem, const eqp_balancer_options *options,
                        eqp_balancer **balancer, eqp_message *message);

/** Frees a balancer. Collective; NULL on all ranks is legal. */
void eqp_balancer_free(eqp_balancer *balancer);

/** What is to be done before a step. */
typedef struct eqp_advice {
    eqp_policy_action action;       /**< what was done to the map */
    bool changed;                   /**< owners are to move */
    const eqp_placement *placement; /**< [owners that live here] by at_home, if changed, else NULL; borrowed until the
                                         next call */
    int64_t nplacements;            /**< owners that live here, if changed, else 0 */
    int64_t bytes;                  /**< that this rank has sent to make the map */
} eqp_advice;

/** Makes the maps of a code's balancer on ranks that were given away for that, until the code leaves: eqp_lazy_serve()
 * with what a balancer offers. On all balancing ranks; they need not know more of the code. Local but for that.
 * \param[in] lazy  of eqp_lazy_split()
 * \param[in] own   methods of the code's own, as in its problem; NULL: none (borrowed)
 * \return as eqp_lazy_serve() */
int eqp_balancer_serve(eqp_lazy *lazy, const eqp_methods *own);

/** Whether eqp_balancer_advise() will do more than keep the map before the next step. Local, the same on all ranks.
 * NULL: false. */
bool eqp_balancer_due(const eqp_balancer *balancer);

/** Repairs or renews the map if that is due; else nothing is communicated. A repair that does not reach the tolerance
 * is followed by a new map. Where maps are made beside the run, a new one is offered instead, and taken here some steps
 * later: then it is repaired by the work of the last step. Collective; before a step, with owners where they are.
 * \param[in]  balancer  the balancer
 * \param[in]  left      steps that the run still has, the same on all ranks: a map is worth as much as it is used. Where
 *                       nothing is due ranks that differ are told when they record the step
 * \param[out] advice    what to do
 * \param[out] message   what went wrong; NULL: not wanted
 * \return EQP_OK, a code of the problem's functions or of eqp_balance() */
int eqp_balancer_advise(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message);

/** Makes a new map whether it is due or not; never repairs. As eqp_balancer_advise(). */
int eqp_balancer_renew(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message);

/** A first map before anything is known of the work: equally many particles along the curve. The next one need not look
 * at it. As eqp_balancer_renew(). */
int eqp_balancer_begin(eqp_balancer *balancer, eqp_advice *advice, eqp_message *message);

/** A survey to fill while the forces of this step are computed, if the next map may be due then and is made of that: it
 * costs little then. Filled it must be when the step is recorded, as problem.survey fills it in EQP_SURVEY_WORK.
 * Local; the same on all ranks. Before the first step is recorded, by methods whose maps are tried (`auto`), and where
 * no map is to come, there is none.
 * \return borrowed until the step is recorded; NULL: none is wanted */
eqp_survey *eqp_balancer_survey(eqp_balancer *balancer);

/** What a rank did in a step: what a report shows of it. All doubles; a caller's struct may begin with it. */
typedef struct eqp_rank_row {
    double load;         /**< CPU seconds in forces */
    double predicted;    /**< set by the balancer: what the cost model says of the same work at the rank's speed */
    double work;         /**< set by the balancer: seconds of that work by the cost model, wherever it is done */
    double next;         /**< set by the balancer: seconds of the last evaluation's work, by the costs as they are
                              after this step */
    double speed;        /**< set by the balancer: relative speed by which the present map was made */
    double particles;    /**< that it holds */
    double targets;      /**< that it computed forces for */
    double interactions; /**< that it computed */
    double helped;       /**< pieces of others' loops that it computed */
    double ghosts;       /**< remote particles and cells that it needed */
    double bytes_sent;   /**< by it */
    double bytes_moved;  /**< of these, with owners, or particles, to their new homes */
    double last_messages_sent;     /**< in the last evaluation of the forces, by the plan of the exchange, as
                                        eqp_exchange_count() counts: what a comparison foretells */
    double last_messages_received; /**< likewise */
    double last_bytes_sent;        /**< likewise */
    double last_bytes_received;    /**< likewise */
    double migrated;               /**< owners, or particles, that left it */
    double exchange_seconds;       /**< CPU seconds in sending what forces need, and forces */
    double balance_seconds;        /**< CPU seconds in making a map and moving homes; 0: set by the balancer to those
                                        that it has spent in making maps since the last step */
    double busy_seconds;           /**< CPU seconds of the step but those of balance_seconds, waiting left out
                                        (eqp_busy_seconds()); 0: not known */
    double overhead;               /**< set by the balancer: what it expects of busy_seconds beside `predicted` */
    double memory; /**< set by the balancer: bytes that it needs, as eqp_capacities; 0 without the problem's `memory` */
} eqp_rank_row;

/** What a rank did in a step. */
typedef struct eqp_work {
    eqp_rank_row *row;    /**< first member of a struct of doubles; what the balancer sets is set there */
    size_t row_bytes;     /**< of that struct, a multiple of 8; 0: of an eqp_rank_row */
    void *rows;           /**< [ranks] those of all ranks; NULL: not wanted */
    const int64_t *count; /**< [kinds] work of the step */
    const int64_t *last;  /**< [kinds] work of the last evaluation, where a step has several; NULL: `count` */
    int64_t evaluations;  /**< of the forces in this step; 0: one */
    eqp_timings *timings; /**< batches of it with their seconds, cleared here; NULL: the step is one batch */
    bool moved;           /**< the caller has renewed the division by itself before this step */
    int nphases; /**< phases of the cycle (survey.h) that the step was, at most EQP_CYCLE_PHASES, the same on all ranks;
                    0 and 1: one */
    const double *phase_load;   /**< [nphases] CPU seconds in forces in all turns of each; may be NULL with one */
    const int64_t *phase_count; /**< [nphases][kinds] work of all turns of each; may be NULL with one */
    int code;    /**< EQP_OK, or why this rank has failed in the step: all ranks return it, and nothing is taken in */
    int nsums;   /**< at most EQP_MEET_SUMS, the same on all ranks */
    int nlows;   /**< at most EQP_MEET_LOWS, the same on all ranks */
    double *sum; /**< [nsums] of this rank; then of all ranks, by the call's own reduction, the same bits on all */
    double *low; /**< [nlows] of this rank, no NaN; then the least of all ranks */
} eqp_work;

/** A step over all ranks; the same on all of them. */
typedef struct eqp_step {
    int64_t step;               /**< the caller's */
    double time;                /**< the caller's */
    bool rebalanced;            /**< a map was looked for before the step, or the present one was repaired */
    double imbalance_predicted; /**< largest time by the cost model over that of an even division, - 1; of several
                                     phases, the sum of the largest times of each */
    double imbalance_measured;  /**< of CPU seconds in forces, likewise */
    double imbalance_promised;  /**< by the balancer when it made the present map */
    double imbalance_work;      /**< of the work as it is now, by the cost model */
    double load_max;            /**< CPU seconds; of several phases, the sum of the largest of each */
    double load_mean;           /**< CPU seconds */
    double exchange_seconds;    /**< of the largest rank */
    double balance_seconds;     /**< of the largest rank */
    double step_measured;       /**< busy_seconds of the largest rank; 0 where a rank does not know them */
    double step_predicted;      /**< of the largest rank: predicted and overhead, times what the busiest rank has taken
                                     beyond that, by what earlier steps have shown; 0 likewise */
    double memory_max;          /**< bytes that a rank needs, as eqp_capacities; 0 without the problem's `memory` */
    double memory_use;          /**< largest need of a rank over its capacity; 0 without capacities */
    int nphases;                /**< of the cycle that the step was; 1: one */
    double cycle_efficiency;    /**< 1 / (1 + imbalance_measured) */
    double phase_measured[EQP_CYCLE_PHASES];  /**< imbalance of CPU seconds in forces of each phase; 0 beyond them */
    double phase_predicted[EQP_CYCLE_PHASES]; /**< of times by the cost model */
    int64_t interactions;                     /**< sum of the rows */
    int64_t units;                            /**< items of the present map */
    int64_t split_owners;                     /**< owners that ranks share */
    int64_t migrated;                         /**< sum of the rows */
    int64_t ghosts_total;                     /**< sum of the rows */
    int64_t ghosts_max;                       /**< of the rows */
    int64_t bytes_sent;                       /**< sum of the rows */
    int64_t bytes_moved;                      /**< sum of the rows */
    int64_t bytes_total;                      /**< sum of last_bytes_sent of the rows */
    int64_t bytes_max;                        /**< largest last_bytes_sent or last_bytes_received of the rows */
    int64_t messages_max;                     /**< largest last_messages_sent or last_messages_received of the rows */
    int64_t handed;                           /**< pieces of loops that were computed by others than the map says */
    double calibration; /**< largest change of a weight by measured loads when the present map was made, a
                             fraction; 0: none */
    double correlation; /**< rank correlation of predicted and measured seconds of a rank's timed batches, mean over the
                           ranks by batches */
    eqp_sizes unit_sizes;     /**< of the last map by units */
    int64_t map_age;          /**< steps since the owners of the present map were surveyed: 0 in the first step with one
                                  that was made in time, more with one that came late */
    eqp_lazy_phase lazy;      /**< how the offer stands after the step */
    eqp_policy_action action; /**< what was done to the map before the step */
    char chosen[EQP_WORD_SIZE]; /**< by `auto`: the method of the present map */
    char why[192]; /**< why it was repaired or renewed, or kept when a new one was looked for; else empty */
} eqp_step;

/** Takes a step in: fits costs, learns speeds, tells the policy. Collective: one allreduce, in which the caller's own
 * sums, minima and code may travel, and one allgather of the rows; nothing else blocks, so that a step needs no other
 * call that only agrees on something.
 * \param[in]     balancer  the balancer
 * \param[in,out] work      of this rank
 * \param[out]    step      all but `step` and `time`; NULL: not wanted
 * \return EQP_OK; EQP_ERR_DATA for loads or counts that are none; EQP_ERR_ARGUMENT; EQP_ERR_MEMORY; EQP_ERR_MPI;
 *         work->code of a rank; on all ranks */
int eqp_balancer_record(eqp_balancer *balancer, const eqp_work *work, eqp_step *step);

/** What the schedule of maps has cost so far against the best one, by eqp_hindsight_regret(): of the steps that this
 * balancer has recorded itself, none of those before a restart. A first step without busy_seconds counts as long as the
 * next one, if that has them. Local; the same on all ranks.
 * \param[in]  balancer  the balancer
 * \param[out] regret    unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW */
int eqp_balancer_regret(const eqp_balancer *balancer, eqp_regret *regret);

/** The best schedule itself: eqp_hindsight_schedule() of the same steps. Local; the same on all ranks. */
int eqp_balancer_schedule(const eqp_balancer *balancer, int64_t *n, eqp_hindsight_stretch **schedule);

/** What the balancer knows, as bytes for a restart file: costs, the policy's memory and that of `auto`, speeds, noise,
 * promise, the map's table of shared owners; not what a model of speed as a function of size has learned, not an offer
 * of a late map, and not who computes which owner, which the owners' tags say. The same on all ranks: one of them may
 * write it. They end with a checksum. Local.
 * \param[in]  balancer  the balancer
 * \param[out] size      bytes
 * \param[out] bytes     [*size] owned by the caller: free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp_balancer_pack(const eqp_balancer *balancer, size_t *size, void **bytes);

/** Takes such bytes in, after eqp_balancer_create() for the same kinds of work: then maps are made when they would have
 * been without the restart, and the run is taken to be as long as it was to be until eqp_balancer_advise() says
 * otherwise. On another number of ranks, or by another method, only the costs are taken, and a map is due. A problem
 * with several granularities goes on with the number in force when the bytes were packed; with 0 where only the costs
 * are taken. Every rank gives the same bytes. They are of this machine and this version of the library. Local.
 * \param[in] balancer  unchanged on error
 * \param[in] size      bytes
 * \param[in] bytes     [size]
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_FORMAT for bytes that are damaged or none of a balancer's, EQP_ERR_MEMORY */
int eqp_balancer_unpack(eqp_balancer *balancer, size_t size, const void *bytes);

/** Fits the costs to batches of work outside of steps: before the first map. Collective.
 * \param[in] balancer  the balancer
 * \param[in] timings   of this rank; NULL: none
 * \return EQP_OK, EQP_ERR_DATA, EQP_ERR_MEMORY, EQP_ERR_MPI */
int eqp_balancer_learn(eqp_balancer *balancer, const eqp_timings *timings);

/** Whether costs were measured; before, nominal ones hold. Local. NULL: false. */
bool eqp_balancer_knows_costs(const eqp_balancer *balancer);

/** The costs as they are now, for eqp_cost_fit_predict(): borrowed, changed by eqp_balancer_record() and
 * eqp_balancer_learn(). Local. NULL: NULL. */
const eqp_cost_fit *eqp_balancer_costs(const eqp_balancer *balancer);

/** The present map: borrowed until the next one. Local. NULL: NULL. */
const eqp_map *eqp_balancer_map(const eqp_balancer *balancer);

/** How data are to travel now: borrowed; a new map may change it. Local. NULL: NULL. */
const eqp_exchange_plan *eqp_balancer_plan(const eqp_balancer *balancer);

/** Relative speeds of the ranks by which the present map was made: [ranks], mean 1; borrowed until the next map. Local.
 * NULL where all are alike. */
const double *eqp_balancer_speeds(const eqp_balancer *balancer);

/** What is to be compared: maps of the state at hand into any numbers of parts. */
typedef struct eqp_comparison {
    int nchoices;                  /**< methods, >= 1 */
    const eqp_choice *choice;      /**< [nchoices] `auto` among them is chosen from the others and its own candidates */
    int ncounts;                   /**< numbers of parts, >= 1 */
    const int64_t *parts;          /**< [ncounts] each >= 1, not tied to the number of ranks */
    const eqp_network *network;    /**< what messages cost; NULL: as in the options */
    const eqp_exchange_plan *plan; /**< how data travel; NULL: by the cheapest plan of each */
    int nspeeds;                   /**< declared speeds of the parts, repeated; 0: all alike */
    const double *speed;           /**< [nspeeds] mean 1; NULL without */
    void (*on_rows)(void *user, int n, const eqp_compared *rows); /**< called on all ranks with the rows of each number
                                                                       of parts as they come, where owners have several
                                                                       granularities at the end; NULL: nobody waits */
    /** Called on all ranks with each row and its map when all is known: placement [owners that live here] by at_home,
     * whose ranks are parts; both borrowed for the call. It may communicate, and fails on all ranks or on none: then
     * eqp_balancer_compare() fails with its code. Where owners have several granularities, rows come by granularity,
     * which is in force then, and maps are made twice. NULL: nobody wants the maps. */
    int (*on_map)(void *user, const eqp_compared *row, const eqp_map *map, const eqp_placement *placement);
    void *user;                /**< passed to on_rows and on_map */
    eqp_capacities capacities; /**< memory of the parts; maps that do not fit are rows with memory_use > 1 */
} eqp_comparison;

/** Divides the state at hand into other numbers of parts, and evaluates each division; and again after problem.advance,
 * which moves the state on. Where the problem has several granularities each is tried from the same state, and a row is
 * that of the one with the shortest next step, or step where that is not known; balance_seconds are those of all. The
 * present map stays, and so does the granularity. Collective.
 * \param[in]  balancer    the balancer
 * \param[in]  comparison  what is wanted
 * \param[out] rows        [ncounts x nchoices] by parts, then by method; owned by the caller: free()
 * \param[out] message     what went wrong; NULL: not wanted
 * \return EQP_OK, EQP_ERR_ARGUMENT, a code of the problem's functions or of eqp_balance() */
int eqp_balancer_compare(eqp_balancer *balancer, const eqp_comparison *comparison, eqp_compared **rows,
                         eqp_message *message);

#ifdef __cplusplus
}
#endif
#endif
