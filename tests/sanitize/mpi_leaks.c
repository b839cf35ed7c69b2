/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked into every program of a build with AddressSanitizer: makes the leak detector ignore memory of MPI libraries.
 * leaks.supp lists the remaining cases. */
#include <dlfcn.h>
#include <mpi.h>
#include <sanitizer/lsan_interface.h>

/* Open MPI keeps its set-up (parameters, topology, tables of reduction operators) until exit and loses pointers to
 * some of it. Later allocations are checked, for example a forgotten communicator. */
int MPI_Init(int *argc, char ***argv)
{
    int code;

    __lsan_disable();
    code = PMPI_Init(argc, argv);
    __lsan_enable();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code;

    __lsan_disable();
    code = PMPI_Init_thread(argc, argv, required, provided);
    __lsan_enable();
    return code;
}

int MPI_Finalize(void)
{
    int code;

    __lsan_disable();
    code = PMPI_Finalize();
    __lsan_enable();
    return code;
}

/* MPI libraries unload components at the end; then the stack of a block lost by one has no symbols and no suppression
 * matches it. So components stay loaded. */
int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
