/* SPDX-License-Identifier: BSD-3-Clause */
/* What all plots have in common: a script for gnuplot in a folder, what stands in it, and gnuplot itself. */
#ifndef APP_PLOT_DRAW_H
#define APP_PLOT_DRAW_H

#include <equipoise/base.h>

#include <stdio.h>

/* A string of gnuplot in single quotes. */
void app__plot_quote(FILE *stream, const char *text);

/* A name for the legend, quoted: on one line, and of a length that leaves room for the plot. */
void app__plot_label(FILE *stream, const char *text);

/* The path of a file as seen from inside dir, quoted. */
void app__plot_path(FILE *stream, const char *dir, const char *path);

/* The colour of label i of n, as 0xRRGGBB: a method keeps its own whatever it is compared with. */
unsigned app__plot_color(int n, const char *const *label, int i);

/* Writes dir/name. EQP_OK; EQP_ERR_IO with a line; EQP_ERR_MEMORY. */
int app__plot_write(const char *dir, const char *name, void (*put)(FILE *stream, const void *user), const void *user,
                    eqp_message *message);

/* Has gnuplot load dir/name inside dir, and waits for it. EQP_OK; EQP_ERR_UNKNOWN where there is no gnuplot;
 * EQP_ERR_IO where it fails; EQP_ERR_MEMORY. The message is one line for stderr. */
int app__plot_draw(const char *dir, const char *name, eqp_message *message);

#endif
