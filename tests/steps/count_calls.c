/* SPDX-License-Identifier: BSD-3-Clause */
/* Preload: counts a program's MPI calls and writes them from rank 0 to the file COUNT_CALLS at exit: a line for
 * blocking collectives, one for nonblocking ones, one for messages. */
#include "counted_calls.h"

#include <stdio.h>
#include <stdlib.h>

int MPI_Finalize(void)
{
    const char *path = getenv("COUNT_CALLS");
    int rank = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *file = rank == 0 && path != NULL ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "%ld\n%ld\n%ld\n", counted_blocking, counted_others, counted_messages);
        (void)fclose(file);
    }
    return PMPI_Finalize();
}
