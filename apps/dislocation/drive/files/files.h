/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of a network's files: NAME.data and NAME.ctrl, a pair for ParaDiS and --restart; or NAME.vtp for ParaView, with
 * NAME.pvd for a series. */
#ifndef DD_FILES_H
#define DD_FILES_H

#include "../../../shell/run_files.h"

/* True if --output FILE asks for ParaView's files: its name ends in .vtp. */
bool dd_files_for_paraview(const char *path);

/* Naming of the files of --output FILE; static storage. NULL is legal. */
const app_naming *dd_files_naming(const char *path);

/* The pair for a name with or without .data. Owned by the caller; unchanged on error. EQP_OK or EQP_ERR_MEMORY. */
int dd_files_pair(const char *name, char **data, char **ctrl);

/* NAME.pvd of a series. As dd_files_pair. */
int dd_files_series(const char *path, char **pvd);

#endif
