/* SPDX-License-Identifier: BSD-3-Clause */
/* What is around a loop on real ranks: the process, its command line, errors, exit status. */
#ifndef LOOP_PROGRAM_H
#define LOOP_PROGRAM_H

#include "options.h"

#include <mpi.h>

typedef struct loop_program {
    const app_command_line *line;
    void *settings; /* of line->values_size bytes */
    /* Collective; fails on all ranks or on none. */
    int (*run)(MPI_Comm comm, const void *settings, eqp_message *message);
} loop_program;

/* From MPI_Init to MPI_Finalize. Returns the exit status: 0, 2 for bad input, 1 for other trouble; what is wrong is one
 * line of rank 0 on stderr. world: MPI_COMM_WORLD. */
int loop_program_main(const loop_program *program, MPI_Comm world, int argc, char **argv);

/* EQP_OK; or EQP_ERR_UNKNOWN with a message, if no method of schedule.h has that name. */
int loop_program_check_method(const char *name, eqp_message *message);

#endif
