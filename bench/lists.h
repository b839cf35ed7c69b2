/* SPDX-License-Identifier: BSD-3-Clause */
/* Interaction lists for benches that visit every interaction several times. */
#ifndef BENCH_LISTS_H
#define BENCH_LISTS_H

#include <stdint.h>

typedef struct bench_point {
    double x[3];
} bench_point;

/* An owner has items, an item meets sources. A particle is its own item; a node has the segments that it owns. */
typedef struct bench_lists {
    int64_t nowners, nitems, nsources, ninteractions, room;
    int64_t *id;         /* [nowners] */
    int64_t *item_first; /* [nowners + 1] */
    bench_point *owner;  /* [nowners] */
    bench_point *item;   /* [nitems] */
    int64_t *first;      /* [nitems + 1] into meets */
    int32_t *meets;      /* [ninteractions] sources */
    bench_point *source; /* [nsources] */
    double box[3];       /* edges where it is periodic, 0 elsewhere */
    double cutoff;       /* the radius that was chosen; 0: none */
} bench_lists;

/* Errors end the program.
 *
 * Particles of a generator of barneshut in the order of the curve, each with a list of its own: of cells and particles
 * with an opening angle, or, with theta 0, of all particles within a radius that is chosen so that there are `wanted`
 * on average. */
void bench_list_particles(const char *generator, double theta, double wanted, bench_lists *lists);

/* Nodes of a ParaDiS network in the order of the curve, each with the segments that it owns: pairs of segments in a
 * cell or in neighbouring ones, each once, with as many cells as come next to `wanted` pairs per node. */
void bench_list_segments(const char *path, double wanted, bench_lists *lists);

void bench_lists_free(bench_lists *lists);

/* Particles of a generator, or places and masses of a snapshot: their number, and x y z vx vy vz m, each for free(). */
int64_t bench_load_particles(const char *text, double *column[7]);

/* Shared by all makers of lists: the arrays, one more interaction of the last item, a difference of coordinates by
 * the nearest periodic image. */
void bench_lists_make(bench_lists *lists, int64_t nowners, int64_t nitems, int64_t nsources);
void bench_meet(bench_lists *lists, int64_t source);
double bench_nearest(double d, double box);

#endif
