/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's modelled speed between its points. */
#ifndef EQUIPOISE_SHARE_CURVE_H
#define EQUIPOISE_SHARE_CURVE_H

#include <equipoise/speeds.h>

#include <stdbool.h>

/* What a rank has measured: items and items per second. */
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

/* Plateaus beside a fall go on for a part of it: at most EQP__CURVE_PLATEAUS knots more, at the first falls. Knots that
 * there are stay; pieces that fall still fall, and nothing else changes but slopes of splines. */
void eqp__curve_extend_plateaus(eqp__curve *curve);

/* Speed at a size, and its derivative (slope may be NULL). */
double eqp__curve_speed(const eqp__curve *curve, double size, double *slope);

/* Time of a size, and its derivative (rate may be NULL); Clarke 2011, eq. 5. */
double eqp__curve_seconds(const eqp__curve *curve, double size, double *rate);

/* The smallest size that takes some time > 0: it grows with the time. */
double eqp__curve_size(const eqp__curve *curve, double seconds);

#endif
