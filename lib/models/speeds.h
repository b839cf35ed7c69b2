/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of all ranks, for dividing work. */
#ifndef EQUIPOISE_SHARE_SPEEDS_H
#define EQUIPOISE_SHARE_SPEEDS_H

#include "models/curve.h"

/* The points of one rank, oldest first. */
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

/* Root of Clarke 2011, eq. 2, by hybrj from equal sizes. size [nranks] is set where `info` becomes 1 and else
 * undefined. EQP_OK or EQP_ERR_MEMORY. */
int eqp__speeds_hybrid(int nranks, const eqp__curve *curve, double n, double *size, int *info, int *evaluations);

#endif
