/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the preloaded library: the application's world, and the time that it spends in MPI. */
#ifndef EQP_PRELOAD_WORLD_H
#define EQP_PRELOAD_WORLD_H

#include <equipoise/lazy_run.h>

#include <mpi.h>
#include <stdbool.h>

/* What the program finds in the place of MPI's own; all else is hidden. */
#define EQP_WRAPPER __attribute__((visibility("default")))
#define EQP_ALIAS(name, wrapper) extern EQP_WRAPPER __typeof__(wrapper) name __attribute__((alias(#wrapper)));

/* The ranks of the application; MPI_COMM_WORLD until there are others. Not written to between the beginning of MPI and
 * its end. */
extern MPI_Comm eqp__app;
/* MPI_COMM_WORLD and eqp__app as Fortran knows them. */
extern MPI_Fint eqp__fortran_world, eqp__fortran_app;
/* Ranks that were given away. */
extern int eqp__balancers;
/* The way to them; NULL where there is none. */
extern eqp_lazy *eqp__lazy;
/* Whether CPU seconds are measured: where a report is wanted, from MPI_Init to MPI_Finalize. */
extern bool eqp__measures;

/* The communicator that is meant. */
static inline MPI_Comm eqp__comm(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? eqp__app : comm;
}

static inline MPI_Fint eqp__fortran_comm(const MPI_Fint *comm)
{
    return *comm == eqp__fortran_world ? eqp__fortran_app : *comm;
}

/* MPI has begun, for which `code` is the answer: divides the world. Returns `code`, and on the application's ranks
 * only. */
int eqp__enter(int code);

/* MPI is about to end: lets the balancers go and writes the report. false: they do not answer, and MPI cannot end. */
bool eqp__leave(void);

/* An attribute of MPI_COMM_WORLD that MPI itself has set. */
bool eqp__is_predefined(int keyval);

/* Places for processes, without those that were given away. */
int eqp__universe(int places);

/* One line on standard error. */
void eqp__say(const char *format, ...) EQP_PRINTF(1, 2);

/* One line by the first rank that was started, and the end with status 2. Before or after MPI has begun. */
_Noreturn void eqp__refuse(const char *format, ...) EQP_PRINTF(1, 2);

/* A call of the program into MPI begins and ends. A collective call over all ranks (`comm`; MPI_COMM_NULL: it is none)
 * ends a step, unless MPI_Pcontrol does. */
void eqp__mpi_begins(MPI_Comm comm);
void eqp__mpi_ends(void);

/* MPI_Pcontrol(level): a step ends here, and from the first such call on only here. Level 0: time does not count. */
void eqp__step_ends(int level);

/* Begins to measure for the report `path` of the ranks of eqp__app. */
void eqp__measure_begin(const char *path);

/* Writes it. Collective over eqp__app. */
void eqp__measure_end(void);

/* MPI_Pcontrol with a level of <equipoise/pcontrol.h>, and what follows it. */
void eqp__door(int level, void *records);

/* Prepares it for maps by this method; balancers stay in it as long as the application runs. */
void eqp__door_open(const char *method);

#endif
