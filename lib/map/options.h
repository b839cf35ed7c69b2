/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a map: a method as named by a word (<equipoise/balance.h>), and further input. */
#ifndef MAP_OPTIONS_H
#define MAP_OPTIONS_H

#include <equipoise/balance.h>
#include <equipoise/problem.h>

#include <stdbool.h>

/* Relative speeds of any number of parts, mean 1: part p has speed p mod n. Borrowed. Zeros: all equal. */
typedef struct eqp_part_speeds {
    int n;
    const double *of; /* [n] */
} eqp_part_speeds;

static inline double eqp_part_speed(eqp_part_speeds speeds, int part)
{
    return speeds.n > 0 ? speeds.of[part % speeds.n] : 1.0;
}

/* Memory that parts need and have: part p has bytes[p mod n], or every part has of_mean times the mean need.
 * Borrowed. Zeros: no limits are known. */
typedef struct eqp_part_memory {
    bool known;       /* the need is known; otherwise the bytes of the items count */
    eqp_memory model; /* of the need */
    int n;
    const double *bytes; /* [n] */
    double of_mean;      /* used if n is 0 */
} eqp_part_memory;

static inline bool eqp__memory_is_capped(const eqp_part_memory *memory)
{
    return memory->n > 0 || memory->of_mean > 0;
}

typedef struct eqp_map_options {
    const eqp_method *method;
    int nparts;              /* number of parts; 0: one per rank */
    const double *base;      /* [parts] seconds that each part takes in addition to its items; NULL: none (borrowed) */
    const double *part_load; /* [parts] measured seconds of the present parts, for `feedback`; NULL: use the weights
                                (borrowed) */
    const double *factor;    /* [ranks] factors on the weights of each present part's items; NULL: 1 (borrowed) */
    eqp_part_speeds speeds;
    eqp_part_memory memory;
    double imbalance_tol; /* requested; decides the size of units */
    double assign_tol;    /* tolerance for the assignment of units; 0: imbalance_tol */
    uint64_t seed;
    double branch;          /* cost of a branch of the octree of keys for every part, in missing pins; 0: any keys */
    double aspect;          /* cost of a shared source relative to a shared target; 0: unknown */
    eqp_choice_options how; /* options of the word, apart from the method */
    eqp_settings settings;  /* of the method's own options */
} eqp_map_options;

/* True if the method uses counted work as weights. */
bool eqp__method_weighs(const eqp_method *method);

/* True if work units are assigned instead of whole owners. */
bool eqp__map_options_wants_units(const eqp_map_options *options);

bool eqp__map_options_wants_pins(const eqp_map_options *options);

/* True if a map needs more than the survey of its owners: a trace of its cost, or of several maps. */
bool eqp__map_options_wants_trial(const eqp_map_options *options);

/* The options of a run with the method and options of a word. */
eqp_map_options eqp__map_options_with(const eqp_map_options *run, const eqp_choice *choice);

#endif
