/* SPDX-License-Identifier: BSD-3-Clause */
/** \file problem.h
 * \brief What an N-body code tells the balancer (balancer.h) of itself: a struct of callbacks.
 *
 * Only `survey` is needed. Every further callback buys something: `trace` exact evaluation, `base` work that no map
 * assigns, `advance` a look at the next positions. All functions get `user`. They are called on all ranks of the
 * balancer's communicator, in the same order, so that they may communicate; and each may fail on some ranks only: the
 * ranks then agree, and all of them go back. */
#ifndef EQUIPOISE_PROBLEM_H
#define EQUIPOISE_PROBLEM_H

#include <equipoise/choice.h>
#include <equipoise/cycle.h>
#include <equipoise/exchange.h>
#include <equipoise/map.h>
#include <equipoise/survey.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    double branch; /**< what it costs each part that a cell of the octree of keys (curve.h) is divided into one part
                      more than it must be, in units of what a pin costs a part that lacks it, >= 0: every part learns
                      where the owners of such cells live. `hypergraph` then keeps owners of a cell together. 0:
                      nothing, and keys may be anything */
    const eqp_methods *own; /**< methods of its own; NULL: none. Those without `assign` are carried out below */
    bool apart;     /**< owners may live elsewhere than where they are computed whole: `homes=curve` and `maps=phase`
                       (choice.h) are possible, and `auto` tries the latter */
    bool estimates; /**< the totals of the last survey are good enough to know what the next one must keep: where work
                       units are made a survey is then taken once, not twice */

    /** Says what the phases of a cycle are from now on (cycle.h): asked before owners are surveyed for a map, or while
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
