/* SPDX-License-Identifier: BSD-3-Clause */
/* --lazy auto: who makes maps, by what is known before the input is read. */
#ifndef APP_BESIDE_H
#define APP_BESIDE_H

#include "run_settings.h"

#include <mpi.h>

/* Rough costs of an app's step. All 0: unknown, and `--lazy auto` becomes `none`. */
typedef struct app_pace {
    double seconds; /* CPU seconds that a step takes for each particle */
    double owners;  /* of interactions for each particle */
    double each;    /* particles per unit of `n` in --generate; 0: unknown */
} app_pace;

/* Where run->lazy is `auto`, sets who makes maps, and why in run->lazy_why. Collective over the ranks that start; the
 * same on all. EQP_OK, or a code of eqp_lazy_decide(). */
int app_beside_decide(MPI_Comm world, const app_pace *pace, app_run_settings *run);

#endif
