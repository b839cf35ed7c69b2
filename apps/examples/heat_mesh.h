/* SPDX-License-Identifier: BSD-3-Clause */
/* A triangulated cylinder: who is whose neighbour, and how much each counts. */
#ifndef HEAT_MESH_H
#define HEAT_MESH_H

#include <equipoise/base.h>

/* Nodes in rings, from one end to the other. Their places are shaken and the diagonals between them are drawn, so that
 * a node has 3 to 8 neighbours. */
typedef struct heat_mesh {
    int64_t n;          /* nodes */
    int64_t ring;       /* of them in a ring; the first and the last ring have fixed temperatures */
    int64_t *first;     /* [n + 1] of each node's neighbours */
    int64_t *neighbour; /* [first[n]] */
    double *weight;     /* [first[n]] 1 / distance, over the sum of these: they sum to 1 for each node */
} heat_mesh;

/* ring >= 3 nodes around, rings >= 2. The same on every machine that computes sines alike. Free it, also after a
 * failure. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW. */
int heat_mesh_create(int64_t ring, int64_t rings, uint64_t seed, heat_mesh *mesh);
void heat_mesh_free(heat_mesh *mesh);

#endif
