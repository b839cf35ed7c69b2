/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_CYCLE_H
#define EQUIPOISE_METHODS_FRAME_CYCLE_H

/* EQP_ERR_ARGUMENT unless there are 1 to EQP_CYCLE_PHASES phases that come finite numbers of times > 0 (NULL: once). */
int eqp__phases_check(int nphases, const double *times);

/* How often phase k comes. */
static inline double eqp__times(const double *times, int k)
{
    return times ? times[k] : 1.0;
}

#endif
