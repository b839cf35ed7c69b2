/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of MPI for targets that make collective calls. */
#include "fuzz.h"

#include <mpi.h>

/* Open MPI holds memory until exit, and its plugins are unloaded when the leak detector runs, so suppressions cannot
 * name them. NULL without LeakSanitizer. */
void __lsan_disable(void);
void __lsan_enable(void);
#pragma weak __lsan_disable
#pragma weak __lsan_enable

static int quietly(int (*call)(void))
{
    int code;

    if (__lsan_disable) {
        __lsan_disable();
    }
    code = call();
    if (__lsan_enable) {
        __lsan_enable();
    }
    return code;
}

static int initialize(void)
{
    return MPI_Init(NULL, NULL);
}

static void finalize(void)
{
    (void)quietly(MPI_Finalize);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_require(quietly(initialize) == MPI_SUCCESS);
    (void)atexit(finalize);
    return 0;
}
