/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of meshes and particles: vertices carry work, edges exchange data. A graph is a pure function of its
 * generator, so that every rank can make it and keep its own part. */
#ifndef LB_GRAPH_H
#define LB_GRAPH_H

#include "../../recipe/recipe.h"

/* Parameters of a generated graph. For every kind value[0] is the number of vertices and value[1] the largest edge
 * weight. */
typedef app_recipe lb_generator;

/* The kinds, for help texts and tests. */
extern const app_recipes lb_generators;

/* One end of an edge; both of its vertices store one. */
typedef struct lb_edge {
    int32_t to, weight; /* other vertex; words sent, and strength of diffusion */
} lb_edge;

/* Vertices are numbered along a Hilbert curve. */
typedef struct lb_graph {
    int64_t n;
    double (*centre)[3]; /* [n] in the unit cube */
    uint64_t *key;       /* [n] along the curve, ascending */
    double *base;        /* [n] work of a vertex before a scenario changes it; mean 1 */
    int64_t *first;      /* [n + 1] into edge */
    lb_edge *edge;       /* [first[n]] */
} lb_graph;

/* See app_recipe_parse(). */
int lb_generator_parse(const char *text, lb_generator *generator, eqp_message *message);

/* Makes a graph. EQP_OK, EQP_ERR_ARGUMENT for values out of range, EQP_ERR_OVERFLOW for more than 2^27 edges,
 * EQP_ERR_MEMORY; *graph is unchanged on error. O(n log n). */
int lb_graph_create(const lb_generator *generator, lb_graph *graph);
void lb_graph_free(lb_graph *graph);

/* Start of a vertex, before balancing. */
#define LB_STARTS "curve|slabs|scatter|first"
typedef enum lb_start {
    LB_START_CURVE,   /* equal counts along the curve */
    LB_START_SLABS,   /* slabs of equal width */
    LB_START_SCATTER, /* random */
    LB_START_FIRST    /* all on rank 0 */
} lb_start;

/* The rank of a vertex, 0 to nranks - 1. */
int lb_start_rank(lb_start start, const lb_graph *graph, int64_t vertex, uint64_t seed, int nranks);

/* Internals of the kinds of graphs: points and pairs of them, in any order. */

/* Indices of the keys in a recipe. */
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

/* A kind. The mesh is empty at first; the caller frees it, even after an error. */
typedef struct lb__kind {
    int (*make)(const lb_generator *generator, lb__mesh *mesh);
    bool by_pairs; /* work of a vertex is proportional to 1 + its edges; else equal for all */
} lb__kind;

extern const lb__kind lb__grid, lb__triangles, lb__octree, lb__particles;

#endif
