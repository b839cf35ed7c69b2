/* SPDX-License-Identifier: BSD-3-Clause */
#include "shell.h"

#include "commit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef APP_COMPILER
#error "meson.build says which compiler it is"
#endif

#define UNKNOWN "unknown"

static void take_host(size_t size, char *host)
{
    if (gethostname(host, size) != 0 || host[0] == '\0') {
        snprintf(host, size, UNKNOWN);
    }
    host[size - 1] = '\0'; /* a longer name may lack its terminator */
}

static void take_date(size_t size, char *date)
{
    const time_t now = time(NULL);
    struct tm utc;

    if (now == (time_t)-1 || gmtime_r(&now, &utc) == NULL || strftime(date, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        snprintf(date, size, UNKNOWN);
    }
}

/* MPICH returns a table here, with tabs. */
static void take_mpi(char text[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length = 0;

    if (MPI_Get_library_version(text, &length) != MPI_SUCCESS || length <= 0) {
        snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, UNKNOWN);
    }
    text[MPI_MAX_LIBRARY_VERSION_STRING - 1] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    for (char *tab = text; (tab = strchr(tab, '\t')) != NULL;) {
        *tab = ' ';
    }
}

app_provenance app_provenance_take(void)
{
    app_provenance p = {.compiler = APP_COMPILER, .commit = APP_COMMIT};

    take_host(sizeof p.host, p.host);
    take_date(sizeof p.date, p.date);
    take_mpi(p.mpi);
    return p;
}
