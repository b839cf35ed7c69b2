/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a run was made, when, and of what: a report that is found again years later says so itself. */
#ifndef APP_PROVENANCE_H
#define APP_PROVENANCE_H

#include <mpi.h>

typedef struct app_provenance {
    char host[256];                           /* of the calling process */
    char date[24];                            /* now, ISO 8601 in UTC: 2026-11-26T13:02:15Z */
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING]; /* the first line of what the MPI library says of itself */
    const char *compiler;                     /* name and version; static */
    const char *commit;                       /* `git describe` of the source tree, or "unknown"; static */
} app_provenance;

/* Unavailable values are "unknown". Local; MPI need not be initialized. */
app_provenance app_provenance_take(void);

#endif
