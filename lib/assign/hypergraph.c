/* SPDX-License-Identifier: BSD-3-Clause */
/* Work units and what they share. Source: Pearce 2014, section 4.1.2 and Algorithm 7. */
#include <equipoise/assign.h>
#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct eqp_hypergraph {
    int64_t nvertices, nedges, npins;
    double *vertex_weight, *edge_weight;
    int64_t *edge_id, *edge_first, *edge_vertex, *vertex_first, *vertex_edge;
};

typedef struct pin {
    int64_t id;
    int64_t vertex;
} pin;

/* Stable radix sort by id, as many bytes as the ids have. Pins come by vertex, so they end ordered by (id, vertex).
 * Returns the array that holds the result. */
static pin *sort_pins(int64_t n, pin *a, pin *b)
{
    uint64_t all = 0;

    for (int64_t i = 0; i < n; i++) {
        all |= (uint64_t)a[i].id;
    }
    for (int shift = 0; shift < 64 && all >> shift; shift += 8) {
        int64_t place[256] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            place[(uint64_t)a[i].id >> shift & 255]++;
        }
        for (int k = 0; k < 256; k++) {
            int64_t count = place[k];
            place[k] = sum;
            sum += count;
        }
        for (int64_t i = 0; i < n; i++) {
            b[place[(uint64_t)a[i].id >> shift & 255]++] = a[i];
        }
        pin *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

/* Drops repeated pins and the pins of ids that only one vertex names; returns the pins kept, counts the edges. */
static int64_t keep_shared(int64_t n, pin *p, int64_t *nedges)
{
    int64_t kept = 0;

    *nedges = 0;
    for (int64_t i = 0; i < n;) {
        int64_t id = p[i].id, start = kept;
        for (; i < n && p[i].id == id; i++) {
            if (kept == start || p[kept - 1].vertex != p[i].vertex) {
                p[kept++] = p[i];
            }
        }
        if (kept - start < 2) {
            kept = start;
        } else {
            ++*nedges;
        }
    }
    return kept;
}

static int graph_allocate(eqp_hypergraph *g)
{
    int code;

    if ((code = eqp_array_create(&g->vertex_weight, g->nvertices, sizeof(double))) ||
        (code = eqp_array_create(&g->edge_weight, g->nedges, sizeof(double))) ||
        (code = eqp_array_create(&g->edge_id, g->nedges, sizeof(int64_t))) ||
        (code = eqp_array_create(&g->edge_first, g->nedges + 1, sizeof(int64_t))) ||
        (code = eqp_array_create(&g->edge_vertex, g->npins, sizeof(int64_t))) ||
        (code = eqp_array_create(&g->vertex_first, g->nvertices + 1, sizeof(int64_t))) ||
        (code = eqp_array_create(&g->vertex_edge, g->npins, sizeof(int64_t)))) {
        return code;
    }
    return EQP_OK;
}

/* Both directions from pins ordered by (id, vertex). */
static void graph_fill(eqp_hypergraph *g, const pin *p)
{
    int64_t e = -1;

    for (int64_t i = 0; i < g->npins; i++) {
        if (i == 0 || p[i].id != p[i - 1].id) {
            e++;
            g->edge_id[e] = p[i].id;
            g->edge_weight[e] = 1;
            g->edge_first[e] = i;
        }
        g->edge_vertex[i] = p[i].vertex;
        g->vertex_first[p[i].vertex + 1]++;
    }
    g->edge_first[g->nedges] = g->npins;
    for (int64_t v = 0; v < g->nvertices; v++) {
        g->vertex_first[v + 1] += g->vertex_first[v];
    }
    for (e = 0; e < g->nedges; e++) {
        for (int64_t i = g->edge_first[e]; i < g->edge_first[e + 1]; i++) {
            g->vertex_edge[g->vertex_first[g->edge_vertex[i]]++] = e;
        }
    }
    memmove(g->vertex_first + 1, g->vertex_first, (size_t)g->nvertices * sizeof *g->vertex_first);
    g->vertex_first[0] = 0;
}

static int units_check(int64_t n, const double *weight, const int64_t *pin_first, const int64_t *pins)
{
    if (n < 0 || (n > 0 && (!pin_first || pin_first[0] != 0))) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t i = 0; i < n; i++) {
        if (pin_first[i + 1] < pin_first[i] || (weight && (!(weight[i] >= 0) || !isfinite(weight[i])))) {
            return EQP_ERR_ARGUMENT;
        }
    }
    if (n > 0 && pin_first[n] > 0 && !pins) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t k = 0; n > 0 && k < pin_first[n]; k++) {
        if (pins[k] < 0) {
            return EQP_ERR_ARGUMENT;
        }
    }
    return EQP_OK;
}

int eqp_hypergraph_create(int64_t n, const double *weight, const int64_t *pin_first, const int64_t *pins,
                          eqp_hypergraph **graph)
{
    eqp_hypergraph *g = NULL;
    pin *list = NULL, *work = NULL;
    int code = graph ? units_check(n, weight, pin_first, pins) : EQP_ERR_ARGUMENT;
    int64_t npins = code || n == 0 ? 0 : pin_first[n];

    if (code || (code = eqp_array_create(&g, 1, sizeof *g)) || (code = eqp_array_create(&list, npins, sizeof *list)) ||
        (code = eqp_array_create(&work, npins, sizeof *work))) {
        goto done;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = pin_first[i]; k < pin_first[i + 1]; k++) {
            list[k] = (pin){pins[k], i};
        }
    }
    pin *sorted = sort_pins(npins, list, work);
    g->nvertices = n;
    g->npins = keep_shared(npins, sorted, &g->nedges);
    if ((code = graph_allocate(g))) {
        goto done;
    }
    graph_fill(g, sorted);
    for (int64_t i = 0; i < n; i++) {
        g->vertex_weight[i] = weight ? weight[i] : 1;
    }
    *graph = g;
    g = NULL;
done:
    eqp_hypergraph_free(g);
    free(list);
    free(work);
    return code;
}

int eqp_hypergraph_weigh(eqp_hypergraph *graph, int64_t nids, const int64_t *id, const double *weight)
{
    if (!graph || nids < 0 || (nids > 0 && (!id || !weight))) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t i = 0; i < nids; i++) {
        if ((i > 0 && id[i - 1] >= id[i]) || !(weight[i] >= 0) || !isfinite(weight[i])) {
            return EQP_ERR_ARGUMENT;
        }
    }
    for (int64_t i = 0, e = 0; i < nids && e < graph->nedges;) {
        if (id[i] < graph->edge_id[e]) {
            i++;
        } else if (id[i] > graph->edge_id[e]) {
            e++;
        } else {
            graph->edge_weight[e++] = weight[i++];
        }
    }
    return EQP_OK;
}

eqp_hypergraph_view eqp_hypergraph_arrays(const eqp_hypergraph *g)
{
    return (eqp_hypergraph_view){.nvertices = g->nvertices,
                                 .nedges = g->nedges,
                                 .npins = g->npins,
                                 .vertex_weight = g->vertex_weight,
                                 .edge_weight = g->edge_weight,
                                 .edge_id = g->edge_id,
                                 .edge_first = g->edge_first,
                                 .edge_vertex = g->edge_vertex,
                                 .vertex_first = g->vertex_first,
                                 .vertex_edge = g->vertex_edge};
}

int eqp_hypergraph_cut(const eqp_hypergraph *graph, int nparts, const int *part, double *cut)
{
    int64_t *last_edge = NULL;
    double sum = 0;

    if (!graph || nparts < 1 || (graph->nvertices > 0 && !part) || !cut) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t v = 0; v < graph->nvertices; v++) {
        if (part[v] < 0 || part[v] >= nparts) {
            return EQP_ERR_ARGUMENT;
        }
    }
    int code = eqp_array_create(&last_edge, nparts, sizeof *last_edge);
    if (code) {
        return code;
    }
    for (int64_t e = 0; e < graph->nedges; e++) {
        int touched = 0;
        for (int64_t k = graph->edge_first[e]; k < graph->edge_first[e + 1]; k++) {
            int p = part[graph->edge_vertex[k]];
            touched += last_edge[p] != e + 1;
            last_edge[p] = e + 1;
        }
        sum += graph->edge_weight[e] * (touched - 1);
    }
    *cut = sum;
    free(last_edge);
    return EQP_OK;
}

void eqp_hypergraph_free(eqp_hypergraph *graph)
{
    if (!graph) {
        return;
    }
    free(graph->vertex_weight);
    free(graph->edge_weight);
    free(graph->edge_id);
    free(graph->edge_first);
    free(graph->edge_vertex);
    free(graph->vertex_first);
    free(graph->vertex_edge);
    free(graph);
}
