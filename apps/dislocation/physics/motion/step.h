/* SPDX-License-Identifier: BSD-3-Clause */
/* Time integration without the forces: arithmetic over arrays of vectors, and the choice of the time step. Lengths in
 * b, times in s. Positions are not folded: the caller takes x1 - x0 as the way that a node went.
 *
 * Trapezoid: x1 = x0 + dt/2 (v0 + v1), where v1 belongs to x1. A step is
 *
 *     code = dd_stepper_begin(&stepper, largest v0);
 *     dd_step_guess(&stepper, n, v0, last v0, v);
 *     dd_step_predict(n, x0, v, stepper.dt, x1);
 *     for (;;) {
 *         v1 = velocities at x1
 *         const double dt = stepper.dt;
 *         dd_stepper_judge(&stepper, dd_step_error(n, x0, v0, x1, v1, dt), dd_step_way(n, v0, v1, dt), &verdict)
 *         ACCEPT: x1 and v1 are the new state, done
 *         CORRECT: dd_step_correct(n, x0, v0, v1, dt, x1) and once more
 *         RETRY: dd_step_predict() with the new, smaller stepper.dt and once more
 *     }
 *
 * Euler: dd_stepper_begin() sets dt such that no node goes farther than rtol; x1 = x0 + dt v0 is the new state. The
 * same loop works: judge accepts at once, whatever the error.
 *
 * On many ranks the largest velocity, the error and the way are maxima over all of them; then all have the same
 * verdict. */
#ifndef DD_STEP_H
#define DD_STEP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum dd_step_method { DD_TRAPEZOID, DD_EULER } dd_step_method;

/* Constants of a run. */
typedef struct dd_step_rule {
    dd_step_method method;
    double rtol;         /* largest error (trapezoid) or way (Euler) of a node per step, b, > 0 */
    double way_max;      /* largest way of a node per step (trapezoid), b, > 0 */
    double dt_max;       /* s, > 0 */
    double dt_min;       /* s, >= 0: below it a run is stuck */
    double grow, shrink; /* factors of dt after a step without corrections, >= 1, and before a retry, in (0, 1) */
    int corrections;     /* most per try, >= 0 */
} dd_step_rule;

/* dtIncrementFact 1.2, dtDecrementFact 0.5, two evaluations per try at most: ParaDiS' defaults. */
#define DD_STEP_RULE_DEFAULTS                                                                                          \
    {                                                                                                                  \
        DD_TRAPEZOID, 10.0, INFINITY, 1e-7, 1e-25, 1.2, 0.5, 1                                                         \
    }

typedef enum dd_verdict { DD_STEP_ACCEPT, DD_STEP_CORRECT, DD_STEP_RETRY } dd_verdict;

/* Plain data, the same on all ranks; a restart needs dt only. */
typedef struct dd_stepper {
    dd_step_rule rule;
    double dt;     /* of the current try; after ACCEPT of the next step */
    int corrected; /* corrections of this try */
    bool cut;      /* this step was tried before: dt does not grow, nor after a correction */
    double done;   /* length of the last accepted step; 0: none */
} dd_stepper;

/* dt <= 0: dt_max. */
void dd_stepper_init(dd_stepper *stepper, const dd_step_rule *rule, double dt);

/* Begins a step. \param[in] largest largest |v| of all nodes, b/s. EQP_OK, EQP_ERR_DATA if it is not finite. */
int dd_stepper_begin(dd_stepper *stepper, double largest);

/* Judges a try by its error and way (NaN counts as too large). EQP_ERR_STATE if dt would fall below dt_min; stepper and
 * verdict are then unchanged. */
int dd_stepper_judge(dd_stepper *stepper, double error, double way, dd_verdict *verdict);

/* Positions and velocities: [3 n], x y z of each node (borrowed). */

/* Velocities of a prediction: the mean of the present velocities and those at the begin of the last step, as in
 * ParaDiS; v0 if the latter are 0 0 0 (no last step) and in the Euler method. */
void dd_step_guess(const dd_stepper *stepper, int64_t n, const double *v0, const double *last, double *v);
/* x1 = x0 + dt v. */
void dd_step_predict(int64_t n, const double *x0, const double *v, double dt, double *x1);
/* x1 = x0 + dt/2 (v0 + v1). */
void dd_step_correct(int64_t n, const double *x0, const double *v0, const double *v1, double dt, double *x1);
/* Largest component of x1 - x0 - dt/2 (v0 + v1); 0 without nodes, infinite if a component is NaN. */
double dd_step_error(int64_t n, const double *x0, const double *v0, const double *x1, const double *v1, double dt);
/* Largest |dt/2 (v0 + v1)|, likewise. */
double dd_step_way(int64_t n, const double *v0, const double *v1, double dt);
/* Largest |v|; 0 without nodes, infinite if one is NaN. */
double dd_step_largest(int64_t n, const double *v);

#endif
