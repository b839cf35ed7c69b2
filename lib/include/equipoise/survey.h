/* SPDX-License-Identifier: BSD-3-Clause */
/** \file survey.h
 * \brief Times and costs of a rank, and the owners of interactions that a new map is made of.
 *
 * *Clocks.* Loads are CPU seconds without waiting: eqp_busy_seconds(). *Costs.* A step's work is counted by kind; the
 * balancer (balancer.h) fits seconds per unit of each kind. *Survey.* An owner is whatever an interaction list belongs
 * to: a particle, a group of particles, a cell, a segment. A rank adds the owners that live on it. Ranks that compute
 * parts of a shared owner each add their part, with the same key and id. Pins and tiles are added first, then the owner
 * that they belong to:
 *
 *     eqp_survey_add_pin(survey, ...)     ids that the owner touches, if below eqp_survey_pin_below()
 *     eqp_survey_add_tile(survey, ...)    its interactions, if it weighs eqp_survey_heavy() or more
 *     eqp_survey_add_phases(survey, ...)  its work in each phase of a cycle, if eqp_survey_phases() > 1
 *     eqp_survey_add_owner(survey, ...)
 *
 * *Cycle.* A phase is a substep of block time steps, or a kernel of a step: an item has a load in each. Phase k comes
 * `times[k]` times in a cycle, and all parts wait for the slowest in every phase: parts that are even over the whole
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

/** CPU seconds that the calling thread has used: what loads are measured in, since wall time lies on shared cores. */
double eqp_cpu_seconds(void);

/** CPU seconds that the calling thread has used since eqp_cpu_seconds() was `begin`; 0 where the clock has gone back,
 * as those of some virtual machines do. */
double eqp_cpu_seconds_since(double begin);

/** From here to eqp_wait_end() the calling thread waits for other ranks: CPU seconds that it spends polling are not
 * work. Pairs may be nested; the outermost counts. The library's own collective calls are marked already. Local. */
void eqp_wait_begin(void);

/** Ends the wait of the matching eqp_wait_begin(). Local. */
void eqp_wait_end(void);

/** CPU seconds of the calling thread without waiting; only differences mean something. The first call switches the
 * accounting on: each outermost wait then reads the clock twice (some 100 ns). Local. */
double eqp_busy_seconds(void);

/** Seconds of a clock that only goes forward; its zero means nothing. */
double eqp_wall_seconds(void);

/** A clock of the caller's, for what a library measures itself: of a device, or of nothing but a test. Loads that a
 * caller measures are plain numbers of seconds, whatever clock they come from. Only differences mean something. All
 * zeros: the clock that is usual where it is asked for. */
typedef struct eqp_clock {
    double (*seconds)(void *user); /**< may be called by any thread that calls the library; NULL: as usual */
    void *user;                    /**< handed to it (borrowed) */
} eqp_clock;

/** Most kinds of interactions that a cost model tells apart. */
#define EQP_COST_KINDS 8

/** Costs of the kinds. */
typedef struct eqp_cost_fit {
    int nkinds;                  /**< as in the sums */
    double cost[EQP_COST_KINDS]; /**< CPU seconds per interaction, >= 0; 0 for a kind that was never seen */
    bool seen[EQP_COST_KINDS];   /**< whether any sample held the kind */
    double rmse;                 /**< absolute weighting: root mean squared error over the mean seconds of a sample;
                                      relative: root mean squared relative error. A fraction. Digits below 1e-8 are
                                      rounding. */
    double samples;              /**< samples that went in: a count */
    double factor;               /**< of the costs that eqp_cost_fit_near() expects, as the samples fit them best: those
                                      of kinds that were never seen are likely that many times what was expected. 0
                                      where nothing was */
} eqp_cost_fit;

/** The model's CPU seconds for some interactions. Local, O(nkinds).
 * \param[in] fit    costs (borrowed)
 * \param[in] count  [nkinds] interactions of each kind (borrowed) */
double eqp_cost_fit_predict(const eqp_cost_fit *fit, const int64_t *count);

/** Batches of work and the CPU seconds that they took: what costs are fitted to. */
typedef struct eqp_timings eqp_timings;

/** An empty list. Local.
 * \param[in]  nkinds   1 to EQP_COST_KINDS
 * \param[out] timings  owned by the caller: eqp_timings_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_timings_create(int nkinds, eqp_timings **timings);

/** Frees a list; NULL is legal. */
void eqp_timings_free(eqp_timings *timings);

/** Adds a batch. Local.
 * \param[in] timings  the list; NULL: nobody wants to know, and nothing happens
 * \param[in] count    [nkinds] work of each kind (copied)
 * \param[in] seconds  CPU seconds
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_timings_add(eqp_timings *timings, const int64_t *count, double seconds);

/** Forgets all batches; NULL is legal. */
void eqp_timings_clear(eqp_timings *timings);

/** How fast ranks are, as learned from what they took: a model's functions, all local. libequipoise-models has some,
 * eqp_speeds_model(); a code may have its own. Every rank has all of a model, and tells it the same. */
typedef struct eqp_speed_model {
    const char *name; /**< for people and for comparing ranks */
    /** Starts a model that knows nothing. EQP_OK with *state owned by the caller, or a code. */
    int (*create)(int nranks, void **state);
    /** Rank `rank` took `seconds` > 0 for work of `size` > 0 seconds by the cost model. EQP_OK, or a code for numbers
     * that say nothing. */
    int (*add)(void *state, int rank, double size, double seconds);
    /** Sizes [nranks] with sum `total` for which all ranks take equally long. EQP_OK; EQP_ERR_ARGUMENT for a total that
     * nobody can divide, then size is unchanged; EQP_ERR_MEMORY. */
    int (*divide)(void *state, double total, double *size);
    /** Frees a model; NULL is legal. */
    void (*free)(void *state);
} eqp_speed_model;

/** Most phases of a cycle. */
#define EQP_CYCLE_PHASES 16

/** The phases of a cycle. */
typedef struct eqp_cycle_turns {
    int n;                          /**< 1 to EQP_CYCLE_PHASES */
    double times[EQP_CYCLE_PHASES]; /**< [n] how often each comes in a cycle, finite, > 0 */
} eqp_cycle_turns;

/** What a tile touches beside its owner, at most. */
#define EQP_TILE_PINS 2

/** Interactions of an owner that stay together. */
typedef struct eqp_tile {
    double centroid[3];         /**< measured from the owner's centre */
    double weight;              /**< nanoseconds: eqp_survey_weigh() of its work */
    int64_t pin[EQP_TILE_PINS]; /**< what it touches; -1: nothing, or not below eqp_survey_pin_below() */
} eqp_tile;

/** An owner, as far as a rank computes it. */
typedef struct eqp_owner {
    uint64_t key;      /**< along a space-filling curve: what is near has near keys */
    int64_t id;        /**< with the key: which owner it is */
    int64_t pin;       /**< what others have as a pin where they touch it; -1: they name something else */
    int32_t particles; /**< in it */
    int32_t home;      /**< rank that it lives on */
    int64_t at_home;   /**< its number there: 0 to owners that live there - 1 */
    int64_t bytes;     /**< that move with it */
    int64_t tag;       /**< who computes it by the present map, see problem.h; before there is any: its home */
    int64_t label;     /**< that it carries, where labels were given out (problem.h); 0: none */
    double centre[3];  /**< position */
    int64_t count[EQP_COST_KINDS]; /**< work of each kind: what this rank does for it, in a whole cycle (survey.h) */
    int64_t interactions;          /**< tiles, and one for what belongs to none */
    int64_t npins;                 /**< set by eqp_survey_add_owner() */
    int64_t ntiles;                /**< set by eqp_survey_add_owner() */
} eqp_owner;

/** Owners with their pins and tiles. */
typedef struct eqp_survey eqp_survey;

/** Nanoseconds from which an owner's tiles are wanted; INFINITY: of none. NULL: 0. */
double eqp_survey_heavy(const eqp_survey *survey);

/** Pins whose eqp_pin_key() is smaller are wanted; 0: none. NULL: 0. */
uint64_t eqp_survey_pin_below(const eqp_survey *survey);

/** Nanoseconds of so much work, as this survey weighs.
 * \param[in] survey  the survey; NULL: 0
 * \param[in] count   [kinds of work] NULL: 0 */
double eqp_survey_weigh(const eqp_survey *survey, const int64_t *count);

/** Phases of the cycle (survey.h) that loads are wanted of: 1, or what eqp_problem.cycle said.
 * \param[in] survey  the survey; NULL: 1 */
int eqp_survey_phases(const eqp_survey *survey);

/** Says how the work of the next owner is divided over a cycle. Without it each turn of each phase has the same.
 * \param[in,out] survey  the survey
 * \param[in]     load    [eqp_survey_phases()] of one turn of each phase, finite, >= 0: nanoseconds as
 *                        eqp_survey_weigh() says, of which only the proportions matter, over ranks that share the owner
 *                        as well
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_survey_add_phases(eqp_survey *survey, const double *load);

/** Room for owners, so that exactly so many are held: for those that are large. EQP_OK, EQP_ERR_ARGUMENT or
 * EQP_ERR_MEMORY. */
int eqp_survey_reserve(eqp_survey *survey, int64_t owners);

/** Adds a pin, >= 0, of the next owner. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int eqp_survey_add_pin(eqp_survey *survey, int64_t pin);

/** Room behind the pins, for those who write them there by themselves and then call eqp_survey_took_pins().
 * \param[in,out] survey  the survey
 * \param[in]     most    pins that may be written, >= 0
 * \param[out]    pin     [most] borrowed until the next call
 * \return EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY */
int eqp_survey_room_for_pins(eqp_survey *survey, int64_t most, int64_t **pin);

/** So many pins were written into that room. EQP_OK, or EQP_ERR_ARGUMENT for more than there was room for. */
int eqp_survey_took_pins(eqp_survey *survey, int64_t n);

/** Adds a tile of the next owner. EQP_OK, EQP_ERR_ARGUMENT or EQP_ERR_MEMORY. */
int eqp_survey_add_tile(eqp_survey *survey, const eqp_tile *tile);

/** Raises the weights of the tiles that wait for their owner in proportion, until they add up to at least so many
 * nanoseconds; without a tile that weighs anything nothing happens. EQP_OK or EQP_ERR_ARGUMENT. */
int eqp_survey_raise_tiles(eqp_survey *survey, double weight);

/** Adds an owner with the pins, tiles and phases that were added since the last one. EQP_OK, EQP_ERR_ARGUMENT or
 * EQP_ERR_MEMORY. */
int eqp_survey_add_owner(eqp_survey *survey, const eqp_owner *owner);

#ifdef __cplusplus
}
#endif
#endif
