/* SPDX-License-Identifier: BSD-3-Clause */
#include "heat_mesh.h"

#include <equipoise/random.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST_NEIGHBOURS = 8 };

typedef struct cylinder {
    int64_t ring, rings;
    uint64_t seed;
} cylinder;

static int64_t node(const cylinder *c, int64_t around, int64_t along)
{
    return along * c->ring + (around + c->ring) % c->ring;
}

/* Of the quadrilateral between two rings: whether its diagonal goes from its first corner to the opposite one. */
static bool is_rising(const cylinder *c, int64_t around, int64_t along)
{
    return eqp_random_bits(c->seed, (uint64_t)node(c, around, along), 2) & 1;
}

/* Within a quarter of the distance between nodes; the ends stay where they are. */
static void place(const cylinder *c, int64_t i, double x[3])
{
    const double step = 2.0 * 3.14159265358979323846 / (double)c->ring;
    const int64_t along = i / c->ring;
    const bool inside = along > 0 && along < c->rings - 1;
    const double shake = inside ? 0.5 * step : 0.0;
    const double angle = (double)(i % c->ring) * step + shake * (eqp_random_uniform(c->seed, (uint64_t)i, 0) - 0.5);

    x[0] = cos(angle);
    x[1] = sin(angle);
    x[2] = (double)along * step + shake * (eqp_random_uniform(c->seed, (uint64_t)i, 1) - 0.5);
}

/* Ends of the edges that begin at a node. */
static int find_neighbours(const cylinder *c, int64_t i, int64_t to[MOST_NEIGHBOURS])
{
    const int64_t a = i % c->ring, z = i / c->ring;
    int n = 0;

    to[n++] = node(c, a - 1, z);
    to[n++] = node(c, a + 1, z);
    if (z + 1 < c->rings) {
        to[n++] = node(c, a, z + 1);
        if (is_rising(c, a, z)) {
            to[n++] = node(c, a + 1, z + 1);
        }
        if (!is_rising(c, a - 1, z)) {
            to[n++] = node(c, a - 1, z + 1);
        }
    }
    if (z > 0) {
        to[n++] = node(c, a, z - 1);
        if (is_rising(c, a - 1, z - 1)) {
            to[n++] = node(c, a - 1, z - 1);
        }
        if (!is_rising(c, a, z - 1)) {
            to[n++] = node(c, a + 1, z - 1);
        }
    }
    return n;
}

static void weigh(const cylinder *c, heat_mesh *m, int64_t i)
{
    double here[3], there[3], sum = 0.0;

    place(c, i, here);
    for (int64_t k = m->first[i]; k < m->first[i + 1]; k++) {
        place(c, m->neighbour[k], there);
        m->weight[k] =
            1.0 / sqrt((here[0] - there[0]) * (here[0] - there[0]) + (here[1] - there[1]) * (here[1] - there[1]) +
                       (here[2] - there[2]) * (here[2] - there[2]));
        sum += m->weight[k];
    }
    for (int64_t k = m->first[i]; k < m->first[i + 1]; k++) {
        m->weight[k] /= sum;
    }
}

int heat_mesh_create(int64_t ring, int64_t rings, uint64_t seed, heat_mesh *mesh)
{
    const cylinder c = {ring, rings, seed};
    int64_t to[MOST_NEIGHBOURS];
    int code;

    *mesh = (heat_mesh){.n = ring * rings, .ring = ring};
    if ((code = eqp_array_create(&mesh->first, mesh->n + 1, sizeof *mesh->first)) ||
        (code = eqp_array_create(&mesh->neighbour, mesh->n * MOST_NEIGHBOURS, sizeof *mesh->neighbour)) ||
        (code = eqp_array_create(&mesh->weight, mesh->n * MOST_NEIGHBOURS, sizeof *mesh->weight))) {
        return code;
    }
    for (int64_t i = 0; i < mesh->n; i++) {
        const int count = find_neighbours(&c, i, to);
        mesh->first[i + 1] = mesh->first[i] + count;
        for (int k = 0; k < count; k++) {
            mesh->neighbour[mesh->first[i] + k] = to[k];
        }
        weigh(&c, mesh, i);
    }
    return EQP_OK;
}

void heat_mesh_free(heat_mesh *mesh)
{
    free(mesh->first);
    free(mesh->neighbour);
    free(mesh->weight);
}
