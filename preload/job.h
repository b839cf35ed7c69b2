/* SPDX-License-Identifier: BSD-3-Clause */
/* Before MPI_Init: job and rank from the environment of launchers (Open MPI, MPICH, PMIx, Slurm), and a look at the
 * program without running it. */
#ifndef EQP_PRELOAD_JOB_H
#define EQP_PRELOAD_JOB_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EQP_JOB_RANK ((const char *[]){"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", NULL})
#define EQP_JOB_SIZE ((const char *[]){"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL})
#define EQP_JOB_NAME ((const char *[]){"PMIX_NAMESPACE", "SLURM_STEP_ID", NULL})

/* Value of the first variable of the list that is set; NULL: none. */
static inline const char *eqp__job(const char *const *names)
{
    while (*names != NULL && getenv(*names) == NULL) {
        names++;
    }
    return *names != NULL ? getenv(*names) : NULL;
}

static inline bool eqp__job_is_first(void)
{
    const char *rank = eqp__job(EQP_JOB_RANK);

    return rank == NULL || strcmp(rank, "0") == 0;
}

/* Inspects the program at `path` before `library` is preloaded into it.
 * wrong: [size] why it cannot be divided, in one line; empty: it can. note: [size] a caveat; empty: none. */
void eqp__program_look(const char *path, const char *library, char *wrong, char *note, size_t size);

#endif
