/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of particles that a stranger's file may hold, as files: the extremes that a tree code must survive. */
#ifndef TESTS_HARD_SCENES_H
#define TESTS_HARD_SCENES_H

#include <stdint.h>
#include <stdio.h>

enum {
    HARD_FLOATS = 1,   /* GADGET format 1 with single precision; otherwise text with all digits */
    HARD_SAME_IDS = 2, /* every id is 7 (GADGET only); otherwise the text has none and the file's are 1 to n */
    HARD_BOX = 4,      /* the header names a periodic box of edge 2 (GADGET only) */
    HARD_STIFF = 8     /* the step that is chosen from the largest acceleration is too long to conserve energy */
};

typedef struct hard_scene {
    const char *name;
    int64_t n;
    unsigned flags;
    /* Particle i of n: mass, position, velocity. */
    void (*place)(int64_t i, int64_t n, double *m, double x[3], double v[3]);
} hard_scene;

extern const hard_scene hard_scenes[];
extern const int hard_scenes_count;

/* Writes the scene to a new file. 1, or 0 if it cannot be written. */
int hard_scene_write(const hard_scene *scene, FILE *file);

#endif
