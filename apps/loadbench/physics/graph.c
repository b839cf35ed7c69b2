/* SPDX-License-Identifier: BSD-3-Clause */
#include "graph.h"

#include <equipoise/more/base.h>
#include <equipoise/more/curve.h>
#include <equipoise/more/random.h>

#include <stdlib.h>
#include <string.h>

#define MOST_VERTICES 4194304

/* First random streams of edges and starts; points use lower ones. */
#define STREAM_EDGES (UINT64_C(1) << 40)
#define STREAM_STARTS (UINT64_C(1) << 41)

#define KEYS                                                                                                           \
    [LB_KEY_N] = {"n", 8000, 1, MOST_VERTICES, true, "number of vertices"},                                            \
    [LB_KEY_EDGE] = {"edge", 1, 1, 1000, true, "weights of edges are drawn from 1 to this one"}

static const app_recipe_kind kinds[] = {
    {"grid", "structured mesh of cubes: a vertex has up to six neighbours", &lb__grid, 2, {KEYS}},
    {"triangles",
     "unstructured mesh of triangles in a plane: jittered points, diagonals drawn, finer towards one side",
     &lb__triangles,
     3,
     {KEYS, [LB_KEY_OWN] = {"grading", 2, 1, 4, false, "x is raised to this power; 1: even"}}},
    {"octree",
     "about n cubes refined towards a sphere; cubes at a change of size have more neighbours",
     &lb__octree,
     3,
     {KEYS, [LB_KEY_OWN] = {"growth", 0.25, 0.05, 2, false, "edge of a cube per distance from the sphere"}}},
    {"particles",
     "particles, half of them in eight clumps; neighbours are nearer than a cutoff, and work is pairs",
     &lb__particles,
     4,
     {KEYS, [LB_KEY_OWN] = {"pairs", 4, 0.5, 32, false, "neighbours of a particle if all were spread evenly"},
      [LB_KEY_OWN + 1] = {"clump", 0.1, 0.03, 1, false, "radius of a clump"}}},
};

const app_recipes lb_generators = {"graphs", (int)(sizeof kinds / sizeof kinds[0]), kinds};

int lb_generator_parse(const char *text, lb_generator *generator, eqp_message *message)
{
    return app_recipe_parse(&lb_generators, text, generator, message);
}

int lb__mesh_point(lb__mesh *mesh, double x, double y, double z)
{
    const int code = eqp_array_reserve(&mesh->centre, &mesh->room, mesh->n + 1, sizeof *mesh->centre);

    if (code == EQP_OK) {
        mesh->centre[mesh->n][0] = x;
        mesh->centre[mesh->n][1] = y;
        mesh->centre[mesh->n][2] = z;
        mesh->n++;
    }
    return code;
}

int lb__mesh_pair(lb__mesh *mesh, int64_t a, int64_t b)
{
    int code;

    EQP_CHECK(mesh->npairs == LB__MOST_PAIRS ? EQP_ERR_OVERFLOW : EQP_OK);
    code = eqp_array_reserve(&mesh->pair, &mesh->pair_room, mesh->npairs + 1, sizeof *mesh->pair);
    if (code == EQP_OK) {
        mesh->pair[mesh->npairs][0] = (int32_t)a;
        mesh->pair[mesh->npairs][1] = (int32_t)b;
        mesh->npairs++;
    }
    return code;
}

typedef struct keyed {
    uint64_t key;
    int64_t point;
} keyed;

static int by_key(const void *left, const void *right)
{
    const keyed *a = left, *b = right;

    return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : (a->point > b->point) - (a->point < b->point);
}

/* Orders points along the curve; number [n]: the vertex of each point. */
static int number_points(const lb__mesh *mesh, lb_graph *graph, int64_t *number)
{
    const double corner[3] = {0, 0, 0};
    keyed *order = NULL;
    int code = eqp_array_create(&order, mesh->n, sizeof *order);

    for (int64_t i = 0; i < mesh->n && code == EQP_OK; i++) {
        const double *c = mesh->centre[i];
        order[i].point = i;
        code = eqp_hilbert_keys(1, &c[0], &c[1], &c[2], corner, 1.0, &order[i].key);
    }
    EQP_TRY(code);
    qsort(order, (size_t)mesh->n, sizeof *order, by_key);
    for (int64_t v = 0; v < mesh->n; v++) {
        number[order[v].point] = v;
        graph->key[v] = order[v].key;
        memcpy(graph->centre[v], mesh->centre[order[v].point], sizeof graph->centre[v]);
    }
done:
    free(order);
    return code;
}

/* Symmetric in both ends. */
static int32_t edge_weight(const lb_generator *generator, int64_t a, int64_t b)
{
    const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);

    return (int32_t)(1 + eqp_random_below(generator->seed, STREAM_EDGES + low, high,
                                          (uint64_t)generator->value[LB_KEY_EDGE]));
}

static void join(const lb_generator *generator, const lb__mesh *mesh, const int64_t *number, lb_graph *graph)
{
    int64_t *const end =
        graph->first + 1; /* end of each vertex's edges so far; finally the beginning of the next vertex's */

    for (int64_t e = 0; e < 2 * mesh->npairs; e++) {
        const int64_t v = number[mesh->pair[e / 2][e % 2]];
        if (v + 1 < graph->n) {
            end[v + 1]++;
        }
    }
    for (int64_t v = 1; v < graph->n; v++) {
        end[v] += end[v - 1];
    }
    for (int64_t e = 0; e < 2 * mesh->npairs; e++) {
        const int64_t v = number[mesh->pair[e / 2][e % 2]], to = number[mesh->pair[e / 2][1 - e % 2]];
        graph->edge[end[v]++] = (lb_edge){(int32_t)to, edge_weight(generator, v, to)};
    }
}

static void weigh(const lb__kind *kind, lb_graph *graph)
{
    const double mean = 1.0 + (double)graph->first[graph->n] / (double)graph->n;

    for (int64_t v = 0; v < graph->n; v++) {
        graph->base[v] = kind->by_pairs ? (1.0 + (double)(graph->first[v + 1] - graph->first[v])) / mean : 1.0;
    }
}

int lb_graph_create(const lb_generator *generator, lb_graph *graph)
{
    lb_graph made = {.n = 0};
    lb__mesh mesh = {.n = 0};
    int64_t *number = NULL;
    int code = EQP_OK;

    EQP_TRY(app_recipe_valid(generator) ? EQP_OK : EQP_ERR_ARGUMENT);
    const lb__kind *kind = generator->kind->how;
    EQP_TRY(kind->make(generator, &mesh));
    made.n = mesh.n;
    EQP_TRY(eqp_array_create(&number, mesh.n, sizeof *number));
    EQP_TRY(eqp_array_create(&made.centre, mesh.n, sizeof *made.centre));
    EQP_TRY(eqp_array_create(&made.key, mesh.n, sizeof *made.key));
    EQP_TRY(eqp_array_create(&made.base, mesh.n, sizeof *made.base));
    EQP_TRY(eqp_array_create(&made.first, mesh.n + 1, sizeof *made.first));
    EQP_TRY(eqp_array_create(&made.edge, 2 * mesh.npairs, sizeof *made.edge));
    EQP_TRY(number_points(&mesh, &made, number));
    join(generator, &mesh, number, &made);
    weigh(kind, &made);
    *graph = made;
    made = (lb_graph){.n = 0};
done:
    lb_graph_free(&made);
    free(number);
    free(mesh.centre);
    free(mesh.pair);
    return code;
}

void lb_graph_free(lb_graph *graph)
{
    free(graph->centre);
    free(graph->key);
    free(graph->base);
    free(graph->first);
    free(graph->edge);
    *graph = (lb_graph){.n = 0};
}

int lb_start_rank(lb_start start, const lb_graph *graph, int64_t vertex, uint64_t seed, int nranks)
{
    const int slab = (int)(graph->centre[vertex][0] * nranks);

    switch (start) {
    case LB_START_SLABS:
        return slab < nranks ? slab : nranks - 1;
    case LB_START_SCATTER:
        return (int)eqp_random_below(seed, STREAM_STARTS, (uint64_t)vertex, (uint64_t)nranks);
    case LB_START_FIRST:
        return 0;
    case LB_START_CURVE:
        break;
    }
    return (int)(vertex * nranks / graph->n);
}
