/* SPDX-License-Identifier: BSD-3-Clause */
/* What all plots have in common: a script for gnuplot in a folder, what stands in it, and gnuplot itself. */
#ifndef APP_PLOT_DRAW_H
#define APP_PLOT_DRAW_H

#include <equipoise/error.h>

#include <stdio.h>

/* A name for the legend, quoted: on one line of UTF-8, and of a length that leaves room for the plot. */
void app__plot_label(FILE *stream, const char *text);

/* The colour of label i of n, as 0xRRGGBB: a method keeps its own whatever it is compared with. */
unsigned app__plot_color(int n, const char *const *label, int i);

/* A script and the images that it draws. gnuplot executes what some names of files begin with, so a script holds its
 * data, no name of a file but those of its images, and users' words only as labels. It opens image number i by
 * target(i, name): inside dir that is the name, and where we have it drawn a descriptor. */
#define APP_PLOT_TARGET "target(i, name) = exists('first') ? sprintf('/dev/fd/%d', first + i) : name\n"
typedef struct app_plot {
    const char *dir;
    const char *script;                         /* name in dir */
    const char *const *image;                   /* names in dir, at most 8, .png or .svg; ends with NULL */
    int (*put)(FILE *stream, const void *user); /* writes the script: EQP_OK or a code */
    const void *user;
} app_plot;

/* Writes the script into dir, and has gnuplot draw the images, for which it waits. Each file is written beside and
 * renamed when it is whole; an error leaves the old one. EQP_OK; EQP_ERR_UNKNOWN where there is no gnuplot (the script
 * is there); EQP_ERR_IO where a file cannot be written or gnuplot fails; EQP_ERR_MEMORY; or what `put` returned. The
 * message is one line for stderr. */
int app__plot_make(const app_plot *plot, eqp_message *message);

#endif
