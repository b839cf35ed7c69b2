/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/links.h"

#include "base/internal.h"

#include <equipoise/more/random.h>

/* Larger cliques are thinned out. */
#define MOST_WHOLE 128

/* In a thinned clique every item keeps 2 STRIDES edges. */
#define STRIDES 4

/* State of a pass over the items in ascending order. */
typedef struct passing {
    const eqp_hypergraph *g;
    int64_t *stride;    /* [edges][STRIDES] */
    int64_t *place;     /* [edges] position of the present item in the edge's list */
    double *weight;     /* [items] weight of the present item's edge to each item; 0: no edge */
    int64_t *neighbour; /* [items] neighbours of the present item */
    int64_t n;          /* number of neighbours */
} passing;

static int passing_open(const eqp_hypergraph *graph, uint64_t seed, passing *p)
{
    p->g = graph;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(p->stride, STRIDES * p->g->nedges), EQP__ARRAY(p->place, p->g->nedges),
                           EQP__ARRAY(p->weight, p->g->nvertices), EQP__ARRAY(p->neighbour, p->g->nvertices)));
    for (int64_t e = 0; e < p->g->nedges; e++) {
        const int64_t most = (p->g->edge_first[e + 1] - p->g->edge_first[e] - 1) / 2;
        for (int s = 0; s < STRIDES; s++) {
            p->stride[STRIDES * e + s] =
                1 + (int64_t)eqp_random_below(seed, (uint64_t)p->g->edge_id[e], (uint64_t)s, (uint64_t)most);
        }
    }
    return EQP_OK;
}

static void add(passing *p, int64_t item, double weight)
{
    if (p->weight[item] == 0 && weight > 0) {
        p->neighbour[p->n++] = item;
    }
    p->weight[item] += weight;
}

/* Adds the present item's neighbours in hyperedge e. */
static void pass_edge(passing *p, int64_t e)
{
    const int64_t *item = p->g->edge_vertex + p->g->edge_first[e];
    const int64_t k = p->g->edge_first[e + 1] - p->g->edge_first[e], at = p->place[e]++;
    const double weight = p->g->edge_weight[e] / (double)(k - 1);

    for (int64_t i = 0; i < k && k <= MOST_WHOLE; i++) {
        if (i != at) {
            add(p, item[i], weight);
        }
    }
    for (int s = 0; s < STRIDES && k > MOST_WHOLE; s++) {
        const int64_t stride = p->stride[STRIDES * e + s];
        add(p, item[(at + stride) % k], weight);
        add(p, item[(at + k - stride) % k], weight);
    }
}

/* Appends the present item's edges to the links and resets the state. */
static int take_edges(passing *p, int64_t item, int64_t room[2], eqp__links *links)
{
    const int64_t first = links->first[item], end = first + p->n;

    EQP__CHECK(eqp_array_reserve(&links->edge, &room[0], end, sizeof *links->edge));
    EQP__CHECK(eqp_array_reserve(&links->weight, &room[1], end, sizeof *links->weight));
    for (int64_t i = 0; i < p->n; i++) {
        links->edge[first + i] = p->neighbour[i];
        links->weight[first + i] = p->weight[p->neighbour[i]];
        p->weight[p->neighbour[i]] = 0;
    }
    links->first[item + 1] = end;
    p->n = 0;
    return EQP_OK;
}

int eqp__links_of_cliques(const eqp_hypergraph *graph, uint64_t seed, eqp__links *links)
{
    passing p = {.n = 0};
    int64_t room[2] = {0, 0};
    int code;

    EQP_TRY(passing_open(graph, seed, &p));
    EQP_TRY(eqp_array_create(&links->first, p.g->nvertices + 1, sizeof *links->first));
    for (int64_t v = 0; v < p.g->nvertices; v++) {
        for (int64_t i = p.g->vertex_first[v]; i < p.g->vertex_first[v + 1]; i++) {
            pass_edge(&p, p.g->vertex_edge[i]);
        }
        EQP_TRY(take_edges(&p, v, room, links));
    }
done:
    EQP__FREE(p.stride, p.place, p.weight, p.neighbour);
    return code;
}
