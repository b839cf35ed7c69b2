/* SPDX-License-Identifier: BSD-3-Clause */
/** \file whatif.h
 * \brief What a map comes to that nobody has used yet: rows of a comparison, and what messages cost here. */
#ifndef EQUIPOISE_WHATIF_H
#define EQUIPOISE_WHATIF_H

#include <equipoise/choice.h>
#include <equipoise/cycle.h>
#include <equipoise/exchange.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
