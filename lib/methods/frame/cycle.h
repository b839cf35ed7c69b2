/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQUIPOISE_METHODS_FRAME_CYCLE_H
#define EQUIPOISE_METHODS_FRAME_CYCLE_H

/* EQP_ERR_ARGUMENT unless nphases is 1 to EQP_CYCLE_PHASES and all times are finite and > 0. times: NULL: 1 each. */
int eqp__phases_check(int nphases, const double *times);

/* Repetitions of phase k in a cycle. */
static inline double eqp__times(const double *times, int k)
{
    return times ? times[k] : 1.0;
}

#endif
