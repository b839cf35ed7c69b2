/* SPDX-License-Identifier: BSD-3-Clause */
/* Expected cost of a map over its life: a fresh step, ageing, number of steps. Pure functions. */
#ifndef DECIDE_OUTLOOK_H
#define DECIDE_OUTLOOK_H

#include <stdbool.h>
#include <stdint.h>

/* Ages are grouped: 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 steps and more. */
enum { EQP__AGES = 6 };

/* Increase of the step time with maps of one kind over the same maps when fresh, in units of an even step. Zeros:
 * unknown. */
typedef struct eqp_ageing {
    double rise[EQP__AGES];   /* mean */
    double weight[EQP__AGES]; /* samples; older ones count less */
} eqp_ageing;

/* Adds a sample; dropped unless age >= 1 and the rise is finite. O(1). */
void eqp__ageing_learn(eqp_ageing *ageing, int64_t age, double rise);

bool eqp__ageing_known(const eqp_ageing *ageing);

/* Expected rises at all ages, >= 0. Ages without samples use `usual` (maps of all kinds, or NULL), scaled by the
 * known ages of this kind; without `usual` they grow with the square root of the age. */
void eqp__ageing_expect(const eqp_ageing *ageing, const eqp_ageing *usual, double rise[EQP__AGES]);

/* A map's expected costs in seconds. */
typedef struct eqp_prospect {
    double step;              /* a step with the map as it is now */
    double even;              /* an even step, the unit of rises */
    double paid;              /* price of making the map; 0 if it exists */
    double price;             /* price of the next map, made when ageing has cost as much */
    int64_t age;              /* steps since the map was made */
    const eqp_ageing *ageing; /* of its kind (borrowed) */
} eqp_prospect;

typedef struct eqp_lives {
    double usual;            /* steps, > 0, if nothing else is known */
    double most;             /* steps left in the run, > 0 */
    bool by_loss;            /* the policy makes a new map once ageing has cost the price of a map */
    const eqp_ageing *known; /* of maps of all kinds, or NULL (borrowed) */
} eqp_lives;

/* Expected life in steps, > 0. */
double eqp__prospect_life(const eqp_lives *lives, const eqp_prospect *of);

/* Mean seconds per step, including the price of the map. */
double eqp__prospect_cost(const eqp_lives *lives, const eqp_prospect *of);

/* Index of the map with the shortest next step, or present step if the next one is NaN (unknown); the first of
 * equals. For maps of unknown life, that approximates the mean over three steps of steady ageing. n >= 1. */
int eqp__outlook_pick(int n, const double *step, const double *next);

/* Seconds left for trials: a fraction of the run so far and of the expected life, minus the seconds spent. May be
 * negative. */
double eqp__trials_left(double run, double life, double spent);

#endif
