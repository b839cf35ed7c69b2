/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects outputs and inputs of a run that are the same file. For run_places.c. */
#ifndef APP_RUN_CLASHES_H
#define APP_RUN_CLASHES_H

#include "run_files.h"

#include <stdbool.h>

/* Settings of a run that concern its files. */
typedef struct app__looking {
    const char *program;
    const app_run_settings *run;
    const app_naming *naming;
    eqp_message *message;
} app__looking;

/* Folder of a path: owned by the caller; NULL without memory. */
char *app__folder_of(const char *path);

/* Checks that no two outputs, and no output and the input, are one file. EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT
 * with a message. */
int app__check_clashes(const app__looking *l);

/* True if a restart file's name is a link to a file that the run reads or writes. */
bool app__leads_to_another(const app__looking *l, const char *name);

#endif
