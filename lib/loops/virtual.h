/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine of a simulation: virtual time, stalls, and whose turn it is. */
#ifndef EQUIPOISE_SCHEDULE_VIRTUAL_H
#define EQUIPOISE_SCHEDULE_VIRTUAL_H

#include <equipoise/schedule.h>

/* Stalls by rank, in order, those that touch made one. */
typedef struct eqp__stalls {
    eqp_schedule_stall *stall;
    int64_t *first; /* [nranks + 1] of each rank */
} eqp__stalls;

/* EQP_OK, EQP_ERR_ARGUMENT for a rank or time out of range, EQP_ERR_MEMORY; free also what failed. */
int eqp__stalls_create(const eqp_schedule_machine *machine, int nranks, eqp__stalls *stalls);
void eqp__stalls_free(eqp__stalls *stalls);

/* When a rank that begins at `begin` has worked for `work` seconds; and how long it has worked at `now` >= begin.
 * `from`: none of its stalls before this one lasts beyond `begin`; eqp__stalls_from() finds it, looking forward from
 * there. */
int64_t eqp__stalls_from(const eqp__stalls *stalls, int rank, int64_t from, double begin);
double eqp__stalls_end(const eqp__stalls *stalls, int rank, int64_t from, double begin, double work);
double eqp__stalls_worked(const eqp__stalls *stalls, int rank, int64_t from, double begin, double now);

/* Ranks by the time of their next event, equal ones by their number: a binary heap that knows where each rank is. */
typedef struct eqp__turns {
    int n;
    int *rank;    /* [n] the heap */
    int *place;   /* [nranks] in it; -1: not there */
    double *time; /* [nranks] */
} eqp__turns;

/* All ranks, at time 0; free also what failed. EQP_OK or EQP_ERR_MEMORY. */
int eqp__turns_create(int nranks, eqp__turns *turns);
void eqp__turns_free(eqp__turns *turns);

/* A rank that is there gets another time; is there no more; or is there again. O(log nranks). */
void eqp__turns_set(eqp__turns *turns, int rank, double time);
void eqp__turns_remove(eqp__turns *turns, int rank);
void eqp__turns_add(eqp__turns *turns, int rank, double time);

#endif
