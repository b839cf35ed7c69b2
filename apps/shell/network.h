/* SPDX-License-Identifier: BSD-3-Clause */
/* --network: what messages cost, as told, as a file says, or measured at the start of the run. */
#ifndef APP_NETWORK_H
#define APP_NETWORK_H

#include <equipoise/problem.h>

#include <mpi.h>

/* Most bytes of a file that describes a network. */
#define APP_NETWORK_BYTES 4096

typedef struct app_network_choice {
    eqp_network network; /* as told; else the defaults */
    bool measure;        /* --network measure */
    char *file;          /* where what is measured goes; NULL: nowhere. Owned */
} app_network_choice;

/* Reads key=value,...; measure[:file=PATH,node=R]; or PATH[:key=value,...] of a file that has lines of keys and values,
 * of which the command line says some otherwise. EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO, EQP_ERR_MEMORY. Local. */
int app_network_parse(const char *text, app_network_choice *choice, eqp_message *message);

/* Measures if --network measure was given, and writes the file on rank 0. Collective. */
int app_network_measure(MPI_Comm comm, app_network_choice *choice, eqp_message *message);

void app_network_free(app_network_choice *choice);

#endif
