/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of the preloaded library: the application's world, and its time in MPI. */
#ifndef EQP_PRELOAD_WORLD_H
#define EQP_PRELOAD_WORLD_H

#include <equipoise/more/base.h>
#include <equipoise/more/lazy.h>

#include <mpi.h>
#include <stdbool.h>

/* Exported, in place of MPI's symbols; all other symbols are hidden. */
#define EQP_WRAPPER __attribute__((visibility("default")))
#define EQP_ALIAS(name, wrapper) extern EQP_WRAPPER __typeof__(wrapper) name __attribute__((alias(#wrapper)));

/* The application's ranks; MPI_COMM_WORLD before the division. Constant between MPI_Init and MPI_Finalize. */
extern MPI_Comm eqp__app;
/* Fortran handles of MPI_COMM_WORLD and eqp__app. */
extern MPI_Fint eqp__fortran_world, eqp__fortran_app;
extern int eqp__balancers;
/* Connection to the balancers; NULL: none. */
extern eqp_lazy *eqp__lazy;
/* True while CPU seconds are measured: from MPI_Init to MPI_Finalize, if a report was requested. */
extern bool eqp__measures;

static inline MPI_Comm eqp__comm(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? eqp__app : comm;
}

static inline MPI_Fint eqp__fortran_comm(const MPI_Fint *comm)
{
    return *comm == eqp__fortran_world ? eqp__fortran_app : *comm;
}

/* Divides the world after MPI_Init returned `code`. Returns `code`, on the application's ranks only. */
int eqp__enter(int code);

/* Call before MPI_Finalize: dismisses the balancers and writes the report. false: they do not answer, and MPI cannot
 * end. */
bool eqp__leave(void);

/* True for a predefined attribute of MPI_COMM_WORLD. */
bool eqp__is_predefined(int keyval);

/* Universe size without the balancers. */
int eqp__universe(int places);

void eqp__say(const char *format, ...) EQP_PRINTF(1, 2);

/* Prints one line on the first rank and exits with status 2. Before or after MPI_Init. */
_Noreturn void eqp__refuse(const char *format, ...) EQP_PRINTF(1, 2);

/* Called around each MPI call of the program. A collective call over all ranks (`comm`; MPI_COMM_NULL: not collective)
 * ends a step, unless MPI_Pcontrol does. */
void eqp__mpi_begins(MPI_Comm comm);
void eqp__mpi_ends(void);

/* MPI_Pcontrol(level) ends a step; after the first such call nothing else does. Level 0 stops the measurement. */
void eqp__step_ends(int level);

/* Starts to measure the ranks of eqp__app for the report `path`. */
void eqp__measure_begin(const char *path);

/* Writes the report. Collective over eqp__app. */
void eqp__measure_end(void);

/* MPI_Pcontrol with a level of <equipoise/more/pcontrol.h> and its arguments. */
void eqp__door(int level, void *records);

/* Prepares maps by this method. On balancers, returns when the application ends. */
void eqp__door_open(const char *method);

#endif
