/* SPDX-License-Identifier: BSD-3-Clause */
/* Where ranks wait for others that work: asleep, as one that asks all the time takes the core of one that works. */
#ifndef EQP_TEST_MEET_H
#define EQP_TEST_MEET_H

#include <mpi.h>
#include <time.h>

/* A barrier. */
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

/* The same for all ranks of the world. */
static inline void meet(void)
{
    meet_in(MPI_COMM_WORLD);
}

#endif
