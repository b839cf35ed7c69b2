/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time of a simulation: stalls, and the order of events. */
#ifndef EQUIPOISE_SCHEDULE_VIRTUAL_H
#define EQUIPOISE_SCHEDULE_VIRTUAL_H

#include <equipoise/more/loops.h>

/* Stalls by rank, in order of time, adjacent ones merged. */
typedef struct eqp__stalls {
    eqp_schedule_stall *stall;
    int64_t *first; /* [nranks + 1] first stall of each rank */
} eqp__stalls;

/* EQP_OK, EQP_ERR_ARGUMENT for a rank or time out of range, EQP_ERR_MEMORY. Free the result also on error. */
int eqp__stalls_create(const eqp_schedule_machine *machine, int nranks, eqp__stalls *stalls);
void eqp__stalls_free(eqp__stalls *stalls);

/* The time at which a rank that starts at `begin` has worked for `work` seconds; and its working time until `now` >=
 * begin. `from`: first stall that ends after `begin`, which eqp__stalls_from() finds, searching forward. */
int64_t eqp__stalls_from(const eqp__stalls *stalls, int rank, int64_t from, double begin);
double eqp__stalls_end(const eqp__stalls *stalls, int rank, int64_t from, double begin, double work);
double eqp__stalls_worked(const eqp__stalls *stalls, int rank, int64_t from, double begin, double now);

/* Ranks by the time of their next event, ties by rank: a binary heap with the position of each rank. */
typedef struct eqp__turns {
    int n;
    int *rank;    /* [n] the heap */
    int *place;   /* [nranks] position in the heap; -1: none */
    double *time; /* [nranks] */
} eqp__turns;

/* All ranks at time 0. EQP_OK or EQP_ERR_MEMORY. Free the result also on error. */
int eqp__turns_create(int nranks, eqp__turns *turns);
void eqp__turns_free(eqp__turns *turns);

/* Changes the time of a rank; removes it; adds it again. O(log nranks). */
void eqp__turns_set(eqp__turns *turns, int rank, double time);
void eqp__turns_remove(eqp__turns *turns, int rank);
void eqp__turns_add(eqp__turns *turns, int rank, double time);

#endif
