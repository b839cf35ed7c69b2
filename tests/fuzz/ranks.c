/* SPDX-License-Identifier: BSD-3-Clause */
/* For targets that call what is collective, on one rank. */
#include "fuzz.h"

#include <mpi.h>

/* Memory that Open MPI holds until the end is no leak of ours, and its plugins are unloaded when the detector runs,
 * so that no suppression can name them. NULL without LeakSanitizer. */
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
