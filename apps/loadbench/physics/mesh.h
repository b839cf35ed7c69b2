/* SPDX-License-Identifier: BSD-3-Clause */
/* How the kinds of graphs are made: points and pairs of them, in any order. */
#ifndef LB_MESH_H
#define LB_MESH_H

#include "graph.h"

/* Places of the keys in a recipe. */
enum { LB_KEY_N, LB_KEY_EDGE, LB_KEY_OWN };

#define LB__MOST_PAIRS (INT64_C(1) << 27)

typedef struct lb__mesh {
    int64_t n, room;
    double (*centre)[3]; /* [n] in the unit cube */
    int64_t npairs, pair_room;
    int32_t (*pair)[2]; /* [npairs] each edge once */
} lb__mesh;

/* EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW. */
int lb__mesh_point(lb__mesh *mesh, double x, double y, double z);
int lb__mesh_pair(lb__mesh *mesh, int64_t a, int64_t b);

/* A kind. The mesh is empty at first; the caller frees it, also after an error. */
typedef struct lb__kind {
    int (*make)(const lb_generator *generator, lb__mesh *mesh);
    bool by_pairs; /* the work of a vertex is proportional to 1 + its edges; else all have the same */
} lb__kind;

extern const lb__kind lb__grid, lb__triangles, lb__octree, lb__particles;

#endif
