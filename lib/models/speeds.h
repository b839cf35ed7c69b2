/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of all ranks, for dividing work. */
#ifndef EQUIPOISE_SHARE_SPEEDS_H
#define EQUIPOISE_SHARE_SPEEDS_H

#include "models/curve.h"

#include <stdint.h>

/** Changes the number of items; the points stay. Returns EQP_OK or EQP_ERR_ARGUMENT. */
int eqp__speeds_resize(eqp_speeds *speeds, double n);

/** Adds a measurement to one rank's model. A point of the same size is replaced; beyond EQP_SPEEDS_POINTS points
 * the oldest is dropped. A size of 0 in 0 seconds is ignored. Local, O(EQP_SPEEDS_POINTS).
 * \param[in] rank     from 0
 * \param[in] size     items that the rank computed: 0, or from EQP_SPEEDS_SMALLEST to EQP_SPEEDS_ITEMS
 * \param[in] seconds  time of these items, > 0 for size > 0
 * \return EQP_OK, EQP_ERR_ARGUMENT for a rank or a size out of its range, EQP_ERR_DATA for seconds that are negative,
 *         not finite, or zero for a nonzero size, or for a speed beyond EQP_SPEEDS_FASTEST; the model is
 *         unchanged on error */
int eqp__speeds_add(eqp_speeds *speeds, int rank, double size, double seconds);

/** A rank's modelled speed. A rank without points is assumed as fast as the mean of the other ranks' newest points.
 * Before the first and beyond the last point speed is constant. Piecewise models pass through the newest point; an
 * older point that violates the shape together with newer ones is moved as little as possible. If speed falls by more
 * than a third from one point to the next, a plateau on either side is extended by a quarter of the interval, or by an
 * eighth if the other side slopes: the next shares then bisect the interval that contains the cliff. Local,
 * O(EQP_SPEEDS_POINTS^2), plus O(nranks) for a rank without points.
 * \param[in]  size   items, >= 0
 * \param[out] speed  items per second, > 0; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_STATE if no rank has a point */
int eqp__speeds_speed(const eqp_speeds *speeds, int rank, double size, double *speed);

/** Sizes that take the same time on every rank by the models: Clarke 2011, eq. 1, by bisection of the lines through the
 * origin. Without a point on any rank they are equal. If a spline's time does not grow with size, one rank may finish
 * early. Local, deterministic, O(nranks EQP_SPEEDS_POINTS^2).
 * \param[out] size  [nranks] items, > 0 unless n is 0, with sum n up to rounding; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY */
int eqp__speeds_divide(const eqp_speeds *speeds, double *size);

/** Rounds sizes to whole shares that add up exactly: each is rounded down, then the largest remainders get one item
 * more, lower ranks first if remainders are equal (Hamilton's method; Clarke 2011, section 6.1). Every share differs
 * from its quota n size / (sum of sizes) by less than one. Local, O(nranks log nranks).
 * \param[in]  n       items, from 0 to EQP_SPEEDS_ITEMS
 * \param[in]  nranks  >= 1
 * \param[in]  size    [nranks] proportions, >= 0 (borrowed)
 * \param[out] share   [nranks] >= 0, their sum is n; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for nranks or n out of its range, EQP_ERR_DATA for a size that is negative or not
 *         finite, or if all are 0 and n is not, EQP_ERR_MEMORY */
int eqp__speeds_round(int64_t n, int nranks, const double *size, int64_t *share);

typedef struct eqp__speed_points {
    int n;
    eqp__speed_point point[EQP_SPEEDS_POINTS];
} eqp__speed_points;

struct eqp_speeds {
    eqp_speeds_kind kind;
    int nranks;
    double n;                 /* items */
    eqp__speed_points *ranks; /* [nranks] owned */
};

/* Speed assumed for ranks without a point: the mean of the newest points of all ranks; 0: no rank has a point. */
double eqp__speeds_mean(const eqp_speeds *speeds);

/* The curve of one rank; mean: of eqp__speeds_mean(), > 0. */
void eqp__speeds_curve(const eqp_speeds *speeds, int rank, double mean, eqp__curve *curve);

/* The curves of all ranks; curve [nranks] is owned by the caller: free(). EQP_OK or EQP_ERR_MEMORY. */
int eqp__speeds_curves_create(const eqp_speeds *speeds, double mean, eqp__curve **curve);

#endif
