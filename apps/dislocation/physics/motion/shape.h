/* SPDX-License-Identifier: BSD-3-Clause */
/* The outlines of generated objects. */
#ifndef DD_SHAPE_H
#define DD_SHAPE_H

#include "generate.h"

#define DD_SHAPE_LEGS 64 /* at most */

/* A polygon line of nlegs straight legs from corner[j] to corner[j + 1], not folded into the box. Where it is closed
 * the last corner is the first one or a periodic image of it. */
typedef struct dd__outline {
    double burgers[3]; /* length 1, for the sense from corner 0 to corner 1 */
    double corner[DD_SHAPE_LEGS + 1][3];
    double normal[DD_SHAPE_LEGS][3];
} dd__outline;

typedef struct dd__shape {
    bool closed; /* else both ends are pinned */
    /* Legs, and the length of the longest leg that an object can have. */
    void (*size)(const dd_generator *generator, int *nlegs, double *longest);
    /* Largest extent of an object in units of the box's edge; objects that close through the box need no check. */
    double (*extent)(const dd_generator *generator);
    int least_pieces; /* per leg */
    void (*make)(const dd_generator *generator, uint64_t object, dd__outline *outline);
} dd__shape;

extern const dd__shape dd__frank_read, dd__loops, dd__lines, dd__chains;

/* Places of the kinds' own keys. */
enum { DD_KEY_LENGTH = DD_KEY_OWN, DD_KEY_ANGLE };   /* frank-read */
enum { DD_KEY_RADIUS = DD_KEY_OWN, DD_KEY_SIDES };   /* loops */
enum { DD_KEY_ALONG = DD_KEY_OWN };                  /* lines */
enum { DD_KEY_CORNERS = DD_KEY_OWN, DD_KEY_SPREAD }; /* chains */

#endif
