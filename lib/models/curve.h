/* SPDX-License-Identifier: BSD-3-Clause */
/* Modelled speed of a rank as a function of size, from its measured points. */
#ifndef EQUIPOISE_SHARE_CURVE_H
#define EQUIPOISE_SHARE_CURVE_H

#include <equipoise/more/models.h>

#include <stdbool.h>

/* A measurement: items, and items per second. */
typedef struct eqp__speed_point {
    double size, speed;
} eqp__speed_point;

/* Knots: the points, both ends of a spline, and ends of plateaus. Before the first and beyond the last one speed is
 * constant. */
enum { EQP__CURVE_PLATEAUS = 8, EQP__CURVE_KNOTS = EQP_SPEEDS_POINTS + 2 + EQP__CURVE_PLATEAUS };
typedef struct eqp__curve {
    int n;                      /* knots, >= 1 */
    bool smooth;                /* cubics with the slopes d; else straight pieces */
    double x[EQP__CURVE_KNOTS]; /* sizes, increasing */
    double s[EQP__CURVE_KNOTS]; /* speeds, > 0 */
    double d[EQP__CURVE_KNOTS]; /* slopes, smooth curves only */
} eqp__curve;

/* The same speed at every size. */
void eqp__curve_constant(eqp__curve *curve, double speed);

/* Straight pieces through points in order of their age, oldest first, with the shape of Clarke 2011, section 5.2. */
void eqp__curve_piecewise(eqp__curve *curve, int npoints, const eqp__speed_point *point);

/* Akima's spline through points over [0, n], positive everywhere. */
void eqp__curve_akima(eqp__curve *curve, int npoints, const eqp__speed_point *point, double n);

/* Slopes of Akima's spline through the knots. */
void eqp__curve_smooth(eqp__curve *curve);

/* Extends plateaus into the falls next to them, at the first EQP__CURVE_PLATEAUS falls, by one knot each. Existing
 * knots stay, and falling pieces still fall; only slopes of splines change. */
void eqp__curve_extend_plateaus(eqp__curve *curve);

/* Speed at a size. */
double eqp__curve_speed(const eqp__curve *curve, double size);

/* Time of a size. */
static inline double eqp__curve_seconds(const eqp__curve *curve, double size)
{
    return size / eqp__curve_speed(curve, size);
}

/* The smallest size that takes `seconds` > 0; increases with it. */
double eqp__curve_size(const eqp__curve *curve, double seconds);

#endif
