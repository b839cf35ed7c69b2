/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked into every program of a build with AddressSanitizer, so that its leak detector looks at our memory and not at
 * that of an MPI library. leaks.supp has the little that cannot be said here. */
#include <dlfcn.h>
#include <mpi.h>
#include <sanitizer/lsan_interface.h>

/* Open MPI keeps what it sets up at the start (parameters, the tree of the machine, tables of reduction operators)
 * until the process ends, and loses the pointers to some of it. What is allocated between the two, a communicator that
 * we forget for example, is still watched. */
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

/* MPI libraries load components at run time and unload them at the end: a block that one of them lost could then no
 * longer be told from one of ours, as the addresses in its stack belong to nothing any more. So components stay. */
int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
