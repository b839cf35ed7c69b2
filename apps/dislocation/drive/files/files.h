/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of a network are called: NAME.data and NAME.ctrl, a pair that ParaDiS and --restart read; or NAME.vtp,
 * for ParaView, with NAME.pvd for a series of them. */
#ifndef DD_FILES_H
#define DD_FILES_H

#include "../../../shell/run_files.h"

/* Whether --output FILE asks for ParaView's files: its name ends in .vtp. */
bool dd_files_for_paraview(const char *path);

/* How the files of --output FILE are called; static storage. NULL is legal. */
const app_naming *dd_files_naming(const char *path);

/* The pair that belongs to a name with or without .data. Owned by the caller; unchanged on error. EQP_OK or
 * EQP_ERR_MEMORY. */
int dd_files_pair(const char *name, char **data, char **ctrl);

/* NAME.pvd of a series. As dd_files_pair. */
int dd_files_series(const char *path, char **pvd);

#endif
