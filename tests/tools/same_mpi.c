/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs at configure time, linked with MPI and Zoltan: names both and fails if Zoltan is linked with a different MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <zoltan.h>

/* The file that defines the MPI_Init visible through a handle. */
static const char *mpi_of(void *handle)
{
    Dl_info info;
    void *init = dlsym(handle, "MPI_Init");

    return init && dladdr(init, &info) ? info.dli_fname : NULL;
}

int main(int argc, char **argv)
{
    Dl_info info;
    float version;
    void *call = dlsym(RTLD_DEFAULT, "Zoltan_Initialize");
    void *zoltan = call && dladdr(call, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;

    if (zoltan) {
        const char *mpi = mpi_of(RTLD_DEFAULT);
        const char *other = mpi_of(zoltan); /* among the libraries that Zoltan is linked with */

        if (mpi && other && strcmp(mpi, other) != 0) {
            printf("Zoltan %s is linked with %s, this build with %s\n", info.dli_fname, other, mpi);
            return 1;
        }
    } else if (argc > 9) { /* never true: the libraries are linked but not called */
        MPI_Init(&argc, &argv);
        Zoltan_Initialize(argc, argv, &version);
    }
    return 0;
}
