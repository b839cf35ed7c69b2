/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of one or several runs: one self-contained HTML file. */
#ifndef APP_PAGE_H
#define APP_PAGE_H

#include <equipoise/error.h>

/* A run, by the folder of its report. */
typedef struct app_page_run {
    const char *label; /* heading; NULL: its method, or its folder's name if several runs have that method */
    const char *dir;   /* with report.json and loads.csv; samples.bin and traffic.csv may be absent */
} app_page_run;

/* Writes the page. Local. EQP_OK; EQP_ERR_ARGUMENT for n < 1 or a path that is a file of a run; EQP_ERR_IO,
 * EQP_ERR_FORMAT or EQP_ERR_DATA with file and mistake in the message; EQP_ERR_MEMORY. Nothing is written on error. */
int app_page_write(const char *path, int n, const app_page_run *run, eqp_message *message);

#endif
