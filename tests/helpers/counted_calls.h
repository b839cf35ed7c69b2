/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts MPI calls that may wait for another rank: blocking and nonblocking collectives, and messages sent. Calls on a
 * communicator of one rank do not count. */
#ifndef EQP_COUNTED_CALLS_H
#define EQP_COUNTED_CALLS_H

#include <mpi.h>

static long counted_blocking, counted_others, counted_messages;

static int counted_ranks(MPI_Comm comm)
{
    int n = 2; /* MPI reports an invalid communicator */

    return comm == MPI_COMM_NULL || PMPI_Comm_size(comm, &n) != MPI_SUCCESS ? 2 : n;
}

#define COUNTED(counter, name, parameters, arguments)                                                                  \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        counted_##counter += counted_ranks(comm) > 1;                                                                  \
        return PMPI_##name arguments;                                                                                  \
    }

COUNTED(blocking, Barrier, (MPI_Comm comm), (comm))
COUNTED(blocking, Bcast, (void *data, int n, MPI_Datatype type, int root, MPI_Comm comm), (data, n, type, root, comm))
COUNTED(blocking, Reduce, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
        (from, to, n, type, op, root, comm))
COUNTED(blocking, Allreduce, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (from, to, n, type, op, comm))
COUNTED(blocking, Reduce_scatter,
        (const void *from, void *to, const int n[], MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (from, to, n, type, op, comm))
COUNTED(blocking, Reduce_scatter_block,
        (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (from, to, n, type, op, comm))
COUNTED(blocking, Scan, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (from, to, n, type, op, comm))
COUNTED(blocking, Exscan, (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (from, to, n, type, op, comm))
COUNTED(blocking, Gather,
        (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other, int root, MPI_Comm comm),
        (from, n, type, to, m, other, root, comm))
COUNTED(blocking, Gatherv,
        (const void *from, int n, MPI_Datatype type, void *to, const int m[], const int at[], MPI_Datatype other,
         int root, MPI_Comm comm),
        (from, n, type, to, m, at, other, root, comm))
COUNTED(blocking, Scatter,
        (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other, int root, MPI_Comm comm),
        (from, n, type, to, m, other, root, comm))
COUNTED(blocking, Scatterv,
        (const void *from, const int n[], const int at[], MPI_Datatype type, void *to, int m, MPI_Datatype other,
         int root, MPI_Comm comm),
        (from, n, at, type, to, m, other, root, comm))
COUNTED(blocking, Allgather,
        (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other, MPI_Comm comm),
        (from, n, type, to, m, other, comm))
COUNTED(blocking, Allgatherv,
        (const void *from, int n, MPI_Datatype type, void *to, const int m[], const int at[], MPI_Datatype other,
         MPI_Comm comm),
        (from, n, type, to, m, at, other, comm))
COUNTED(blocking, Alltoall,
        (const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype other, MPI_Comm comm),
        (from, n, type, to, m, other, comm))
COUNTED(blocking, Alltoallv,
        (const void *from, const int n[], const int at[], MPI_Datatype type, void *to, const int m[], const int place[],
         MPI_Datatype other, MPI_Comm comm),
        (from, n, at, type, to, m, place, other, comm))
COUNTED(blocking, Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
COUNTED(blocking, Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
COUNTED(others, Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request))
COUNTED(others, Iallreduce,
        (const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request),
        (from, to, n, type, op, comm, request))
COUNTED(messages, Send, (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm),
        (data, n, type, to, tag, comm))
COUNTED(messages, Isend,
        (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
        (data, n, type, to, tag, comm, request))
COUNTED(messages, Issend,
        (const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
        (data, n, type, to, tag, comm, request))

#endif
