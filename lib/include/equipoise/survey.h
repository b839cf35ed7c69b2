/* SPDX-License-Identifier: BSD-3-Clause */
/** \file survey.h
 * \brief Timers and cost fits of a rank, and the survey of the owners of interactions for a new map.
 *
 * *Clocks.* Loads are CPU seconds without waiting: eqp_busy_seconds(). *Costs.* A step's work is counted by kind; the
 * balancer (balancer.h) fits seconds per unit of each kind. *Survey.* An owner is an object with an interaction
 * list: a particle, a group of particles, a cell, a segment. A rank adds the owners that live on it. Each rank that
 * computes part of a shared owner adds its part, with the same key and id. Pins and tiles are added first, then their
 * owner:
 *
 *     eqp_survey_add_pin(survey, ...)     ids that the owner touches, with eqp_pin_key() below eqp_survey_pin_below()
 *     eqp_survey_add_tile(survey, ...)    its interactions, if it weighs eqp_survey_heavy() or more
 *     eqp_survey_add_phases(survey, ...)  its work in each phase of a cycle, if eqp_survey_phases() > 1
 *     eqp_survey_add_owner(survey, ...)
 *
 * *Cycle.* A phase is a substep of block time steps, or a kernel of a step: an item has a load in each. Phase k occurs
 * `times[k]` times in a cycle, and all parts wait for the slowest part in every phase: loads that balance over the
 * cycle may be uneven in every phase.
 *
 * Everything here is local. */
#ifndef EQUIPOISE_SURVEY_H
#define EQUIPOISE_SURVEY_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** CPU seconds used by the calling thread. Loads are measured in them, since wall time misleads on shared cores. */
double eqp_cpu_seconds(void);

/** CPU seconds used by the calling thread since eqp_cpu_seconds() returned `begin`; 0 if the clock has gone back, as it
 * does on some virtual machines. */
static inline double eqp_cpu_seconds_since(double begin)
{
    const double seconds = eqp_cpu_seconds() - begin;

    return seconds > 0.0 ? seconds : 0.0;
}

/** Begins a wait of the calling thread for other ranks, up to eqp_wait_end(): CPU seconds spent polling are not work.
 * Pairs may be nested; the outermost counts. The library marks its own collective calls. Local. */
void eqp_wait_begin(void);

/** Ends the wait of the matching eqp_wait_begin(). Local. */
void eqp_wait_end(void);

/** CPU seconds of the calling thread without waiting; only differences mean something. The first call switches the
 * accounting on: each outermost wait then reads the clock twice (some 100 ns). Local. */
double eqp_busy_seconds(void);

/** Seconds of a monotonic clock with an arbitrary zero. */
double eqp_wall_seconds(void);

/** A caller's clock for the library's own measurements, such as a device clock or a test clock. Only differences are
 * used. Loads measured by the caller are plain seconds from any clock. All zeros: the default clock of the option. */
typedef struct eqp_clock {
    double (*seconds)(void *user); /**< may be called by any thread that calls the library; NULL: default clock */
    void *user;                    /**< passed to `seconds` (borrowed) */
} eqp_clock;

/** Largest number of kinds of interactions in a cost model. */
#define EQP_COST_KINDS 8

/** Fitted costs of the kinds. */
typedef struct eqp_cost_fit {
    int nkinds;                  /**< number of kinds */
    double cost[EQP_COST_KINDS]; /**< CPU seconds per interaction, >= 0; 0 for a kind without samples */
    bool seen[EQP_COST_KINDS];   /**< true if any sample contained the kind */
    double rmse;                 /**< absolute weighting: root mean squared error over the mean seconds of a sample;
                                      relative: root mean squared relative error. A fraction. Digits below 1e-8 are
                                      rounding. */
    double samples;              /**< number of samples */
    double factor;               /**< best-fit ratio of the measured costs to the costs expected,
                                      an estimate for kinds without samples. 0 without expected costs */
} eqp_cost_fit;

/** CPU seconds of the given interactions by the model. Local, O(nkinds).
 * \param[in] fit    costs (borrowed)
 * \param[in] count  [nkinds] interactions of each kind (borrowed) */
double eqp_cost_fit_predict(const eqp_cost_fit *fit, const int64_t *count);

/** Batches of work with their CPU seconds: the samples of the cost fit. */
typedef struct eqp_timings eqp_timings;

/** An empty list. Local.
 * \param[in]  nkinds   1 to EQP_COST_KINDS
 * \param[out] timings  owned by the caller: eqp_timings_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_timings_create(int nkinds, eqp_timings **timings);

/** Frees a list; NULL is legal. */
void eqp_timings_free(eqp_timings *timings);

/** Adds a batch. Local.
 * \param[in] timings  the list; NULL: the call does nothing
 * \param[in] count    [nkinds] work of each kind (copied)
 * \param[in] seconds  CPU seconds
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_timings_add(eqp_timings *timings, const int64_t *count, double seconds);

/** Forgets all batches; NULL is legal. */
void eqp_timings_clear(eqp_timings *timings);

/** A model of the ranks' speeds, learned from their times: its functions, all local. libequipoise-models has such
 * models, eqp_speeds_model(); a code may have its own. Every rank holds the complete model and gives it the same data.
 */
typedef struct eqp_speed_model {
    const char *name; /**< for messages and for comparison between ranks */
    /** Starts an untrained model. EQP_OK with *state owned by the caller, or a code. */
    int (*create)(int nranks, void **state);
    /** Adds a measurement: rank `rank` took `seconds` > 0 for work of `size` > 0 seconds by the cost model. EQP_OK, or
     * a code for unusable numbers. */
    int (*add)(void *state, int rank, double size, double seconds);
    /** Finds sizes [nranks] with sum `total` for which all ranks take equally long. EQP_OK; EQP_ERR_ARGUMENT for an
     * indivisible total, then size is unchanged; EQP_ERR_MEMORY. */
    int (*divide)(void *state, double total, double *size);
    /** Frees a model; NULL is legal. */
    void (*free)(void *state);
} eqp_speed_model;

/** Largest number of phases of a cycle. */
#define EQP_CYCLE_PHASES 16

/** The phases of a cycle. */
typedef struct eqp_cycle_turns {
    int n;                          /**< 1 to EQP_CYCLE_PHASES */
    double times[EQP_CYCLE_PHASES]; /**< [n] number of times each phase occurs in a cycle, finite, > 0 */
} eqp_cycle_turns;

/** Largest number of pins of a tile, in addition to its owner. */
#define EQP_TILE_PINS 2

/** A group of an owner's interactions that stay together. */
typedef struct eqp_tile {
    double centroid[3];         /**< measured from the owner's centre */
    double weight;              /**< nanoseconds: eqp_survey_weigh() of its work */
    int64_t pin[EQP_TILE_PINS]; /**< ids that it touches; -1: none, or not below eqp_survey_pin_below() */
} eqp_tile;

/** A rank's part of an owner. */
typedef struct eqp_owner {
    uint64_t key;                  /**< position along a space-filling curve: close owners have close keys */
    int64_t id;                    /**< identifies the owner, together with the key */
    int64_t pin;                   /**< id by which other owners' pins refer to it; -1: they use other ids */
    int32_t particles;             /**< number of its particles */
    int32_t home;                  /**< rank on which it lives */
    int64_t at_home;               /**< its number on that rank: 0 to owners that live there - 1 */
    int64_t bytes;                 /**< bytes that move with it */
    int64_t tag;                   /**< its tag in the present map, see problem.h; without a map: its home */
    int64_t label;                 /**< its label, if labels were given (problem.h); 0: none */
    double centre[3];              /**< position */
    int64_t count[EQP_COST_KINDS]; /**< work of each kind: this rank's work for it in a full cycle (survey.h) */
    int64_t interactions;          /**< number of its tiles, plus one for work outside all tiles */
    int64_t npins;                 /**< set by eqp_survey_add_owner() */
    int64_t ntiles;                /**< set by eqp_survey_add_owner() */
} eqp_owner;

/** Owners with their pins and tiles. */
typedef struct eqp_survey eqp_survey;

/** Weight in nanoseconds from which on an owner's tiles are needed; INFINITY: no tiles. NULL: 0. */
double eqp_survey_heavy(const eqp_survey *survey);

/** Upper bound of eqp_pin_key() for pins that are needed; 0: no pins. NULL: 0. */
uint64_t eqp_survey_pin_below(const eqp_survey *survey);

/** Nanoseconds of the given work, with this survey's weights.
 * \param[in] survey  the survey; NULL: 0
 * \param[in] count   [kinds of work] NULL: 0 */
double eqp_survey_weigh(const eqp_survey *survey, const int64_t *count);

/** Number of phases for which loads are needed: 1, or the number given by eqp_problem.cycle.
 * \param[in] survey  the survey; NULL: 1 */
int eqp_survey_phases(const eqp_survey *survey);

/** Gives the division of the next owner's work over a cycle. Without this call each turn of each phase has the same
 * work.
 * \param[in,out] survey  the survey
 * \param[in]     load    [eqp_survey_phases()] load of one turn of each phase, finite, >= 0: nanoseconds as in
 *                        eqp_survey_weigh(); only proportions matter, also between ranks that share the owner
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_survey_add_phases(eqp_survey *survey, const double *load);

/** Reserves memory for exactly this number of owners, to save memory in large surveys. EQP_OK, EQP_ERR_ARGUMENT or
 * EQP_ERR_MEMORY. */
int eqp_survey_reserve(eqp_survey *survey, int64_t owners);

/** Adds a pin, >= 0, of the next owner. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int eqp_survey_add_pin(eqp_survey *survey, int64_t pin);

/** Buffer for pins of the next owner, to be written by the caller and committed with eqp_survey_took_pins().
 * \param[in,out] survey  the survey
 * \param[in]     most    pins that may be written, >= 0
 * \param[out]    pin     [most] borrowed until the next call
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_survey_room_for_pins(eqp_survey *survey, int64_t most, int64_t **pin);

/** Commits n pins written into that buffer. EQP_OK, or EQP_ERR_ARGUMENT for more pins than the buffer holds. */
int eqp_survey_took_pins(eqp_survey *survey, int64_t n);

/** Adds a tile of the next owner. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int eqp_survey_add_tile(eqp_survey *survey, const eqp_tile *tile);

/** Scales the weights of the next owner's tiles up until they sum to at least `weight` nanoseconds; has no effect if
 * all weights are 0. EQP_OK or EQP_ERR_ARGUMENT. */
int eqp_survey_raise_tiles(eqp_survey *survey, double weight);

/** Adds an owner with the pins, tiles and phases that were added since the last one. EQP_OK, EQP_ERR_ARGUMENT or
 * EQP_ERR_MEMORY. */
int eqp_survey_add_owner(eqp_survey *survey, const eqp_owner *owner);

#ifdef __cplusplus
}
#endif
#endif
