/* SPDX-License-Identifier: BSD-3-Clause */
/* Small hand-made dislocation networks, runs with checks after every step, and their measures. */
#ifndef DD_EXPERIMENT_H
#define DD_EXPERIMENT_H

#include "simulation.h"

#include <stdio.h>

/* On this rank. */
extern int dd_failures;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            dd_failures++;                                                                                             \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fprintf(stderr, "\n");                                                                                     \
        }                                                                                                              \
    } while (0)

#define DD_SCENE_NODES 64

/* Lines of nodes one after the other; a closed one comes back to its first node, the ends of an open one are pinned. */
typedef struct dd_scene {
    double box;
    int n;
    double x[DD_SCENE_NODES][3];
    int next[DD_SCENE_NODES], previous[DD_SCENE_NODES]; /* -1: none */
    double burgers[DD_SCENE_NODES][3];                  /* for the sense of the line */
    double normal[DD_SCENE_NODES][3];
} dd_scene;

/* A straight line with pinned ends. */
void dd_scene_line(dd_scene *s, const double from[3], const double to[3], int pieces, const double burgers[3],
                   const double normal[3]);
/* In the plane z = 0 about the origin, clockwise: with b along x a positive stress zx makes it grow. */
void dd_scene_loop(dd_scene *s, double radius, int sides, const double burgers[3]);

typedef struct dd_experiment {
    MPI_Comm comm;
    char path[256], words[1024];
    dd_settings settings;
    dd_simulation sim;
    eqp_message message;
    bool runs;
} dd_experiment;

/* Starts a run of a data file with these options; runs is false where that fails. Collective, as all of these. */
void dd_experiment_begin(dd_experiment *e, MPI_Comm comm, const char *path, const char *options);
/* The same of a scene, for which it writes a file that goes as soon as it was read. */
void dd_experiment_of(dd_experiment *e, MPI_Comm comm, const dd_scene *s, const char *options);
void dd_experiment_end(dd_experiment *e);
/* A step, and dd_check_sound() of the network after it. false: it failed, and the run has ended. */
bool dd_experiment_step(dd_experiment *e);

/* A segment as seen from one of its ends. */
typedef struct dd_seen {
    dd_tag from, to;
    int constraint; /* of from */
    double x[3], way[3], burgers[3], normal[3];
} dd_seen;

/* The whole network on every rank, each segment from both its ends. To be freed. */
dd_seen *dd_all_segments(const dd_simulation *sim, int64_t *n);
/* Lines that hang together, of which none is pinned: nodes of the largest such, 0: none. Local. */
int64_t dd_free_loop(const dd_seen *all, int64_t n);

#endif
