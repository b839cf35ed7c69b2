/* SPDX-License-Identifier: BSD-3-Clause */
/** \file survey.h
 * \brief What a rank says of the owners of interactions, for a new map to be made of.
 *
 * An owner is whatever an interaction list belongs to: a particle, a group of particles, a cell, a segment. A rank adds
 * the owners that live with it; and of owners that several ranks compute, each of these adds what it has computed, with
 * the same key and id. Pins and tiles are added first, then the owner that they belong to:
 *
 *     eqp_survey_add_pin(survey, ...)     what it touches, as far as eqp_survey_pin_below() wants to know
 *     eqp_survey_add_tile(survey, ...)    its interactions, if it weighs eqp_survey_heavy() or more
 *     eqp_survey_add_phases(survey, ...)  how its work is divided over a cycle, if eqp_survey_phases() > 1
 *     eqp_survey_add_owner(survey, ...)
 *
 * A survey is opened by the balancer (balancer.h), which says how much is kept. All of this is local. */
#ifndef EQUIPOISE_SURVEY_H
#define EQUIPOISE_SURVEY_H

#include <equipoise/load.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    uint64_t key;                  /**< along a space-filling curve: what is near has near keys */
    int64_t id;                    /**< with the key: which owner it is */
    int64_t pin;                   /**< what others have as a pin where they touch it; -1: they name something else */
    int32_t particles;             /**< in it */
    int32_t home;                  /**< rank that it lives on */
    int64_t at_home;               /**< its number there: 0 to owners that live there - 1 */
    int64_t bytes;                 /**< that move with it */
    int64_t tag;                   /**< who computes it by the present map, see map.h; before there is any: its home */
    int64_t label;                 /**< that it carries, where labels were given out (problem.h); 0: none */
    double centre[3];              /**< position */
    int64_t count[EQP_COST_KINDS]; /**< work of each kind: what this rank does for it, in a whole cycle (cycle.h) */
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

/** Phases of the cycle (cycle.h) that loads are wanted of: 1, or what eqp_problem.cycle said.
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
