/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers for ranks that wait while others work: they sleep, since polling would take the core of a working rank. */
#ifndef EQP_TEST_MEET_H
#define EQP_TEST_MEET_H

#include <mpi.h>
#include <time.h>

static inline void meet_in(MPI_Comm comm)
{
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    MPI_Request request;
    int done = 0;

    MPI_Ibarrier(comm, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        (void)nanosleep(&pause, NULL);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static inline void meet(void)
{
    meet_in(MPI_COMM_WORLD);
}

#endif
