/* SPDX-License-Identifier: BSD-3-Clause */
/* Hypergraph of work units and their shared pins. Source: Pearce 2014, section 4.1.2 and Algorithm 7. */
#include "methods/frame/hypergraph.h"
#include "base/internal.h"

#include <string.h>

typedef struct pin {
    int64_t id;
    int64_t vertex;
} pin;

/* Up to this many pins are sorted by insertion. */
#define FEW_PINS 24

/* A distribution has at most 2^BUCKET_BITS buckets, so that the write positions of all buckets stay in the cache. */
#define BUCKET_BITS 10

static void insert_pins(int64_t n, const pin *from, pin *to)
{
    for (int64_t i = 0; i < n; i++) {
        pin p = from[i];
        int64_t at = i;
        for (; at > 0 && to[at - 1].id > p.id; at--) {
            to[at] = to[at - 1];
        }
        to[at] = p;
    }
}

/* Logarithm of the number of buckets: four to eight pins per bucket if ids are spread evenly. */
static int bucket_bits(int64_t n)
{
    int bits = 1;

    while (bits < BUCKET_BITS && n >> (bits + 3) > 0) {
        bits++;
    }
    return bits;
}

/* Bucket number of an id: the highest bits in which ids differ. */
typedef struct digits {
    int shift;
    uint64_t mask;
} digits;

static digits digits_of(int64_t n, uint64_t differ)
{
    int bits = bucket_bits(n), top = 0;

    while (top < 63 && differ >> top > 1) {
        top++;
    }
    return (digits){.shift = top + 1 > bits ? top + 1 - bits : 0, .mask = ((uint64_t)1 << bits) - 1};
}

static int64_t bucket_of(digits d, int64_t id)
{
    return (int64_t)((uint64_t)id >> d.shift & d.mask);
}

/* Turns counts into the first positions of the buckets. */
static void add_up(digits d, int64_t *place)
{
    int64_t sum = 0;

    for (uint64_t k = 0; k <= d.mask; k++) {
        int64_t count = place[k];
        place[k] = sum;
        sum += count;
    }
}

/* Stable radix sort by id, from the highest differing bits downward. Hashed ids need two distributions, and all but the
 * first work in the cache. here: input; the result goes to `there` if to_there, else to `here`; both are overwritten.
 * Every level settles at least two bits of the id, so the recursion has at most about thirty levels. */
static void sort_pins(int64_t n, pin *here, pin *there, bool to_there)
{
    int64_t place[1 << BUCKET_BITS];
    uint64_t differ = 0;

    if (n <= FEW_PINS) {
        insert_pins(n, here, to_there ? there : here);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        differ |= (uint64_t)(here[i].id ^ here[0].id);
    }
    if (differ == 0) {
        if (to_there) {
            memcpy(there, here, (size_t)n * sizeof *here);
        }
        return;
    }
    const digits d = digits_of(n, differ);
    memset(place, 0, (size_t)(d.mask + 1) * sizeof *place);
    for (int64_t i = 0; i < n; i++) {
        place[bucket_of(d, here[i].id)]++;
    }
    add_up(d, place);
    for (int64_t i = 0; i < n; i++) {
        there[place[bucket_of(d, here[i].id)]++] = here[i];
    }
    for (int64_t start = 0, k = 0; start < n; start = place[k++]) {
        if (place[k] > start) {
            sort_pins(place[k] - start, there + start, here + start, !to_there);
        }
    }
}

/* Distributes the units' pins into buckets of ascending ids, by unit in each bucket. end: end of each bucket. */
static digits deal_pins(int64_t n, const int64_t *pin_first, const int64_t *pins, pin *dealt, int64_t *end)
{
    const int64_t npins = n > 0 ? pin_first[n] : 0;
    uint64_t differ = 0;

    for (int64_t k = 0; k < npins; k++) {
        differ |= (uint64_t)(pins[k] ^ pins[0]);
    }
    const digits d = digits_of(npins, differ);
    memset(end, 0, (size_t)(d.mask + 1) * sizeof *end);
    for (int64_t k = 0; k < npins; k++) {
        end[bucket_of(d, pins[k])]++;
    }
    add_up(d, end);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = pin_first[i]; k < pin_first[i + 1]; k++) {
            dealt[end[bucket_of(d, pins[k])]++] = (pin){pins[k], i};
        }
    }
    return d;
}

/* Appends the edges of a sorted bucket. Drops repeated pins, and ids that only one vertex has. */
static void add_edges(eqp_hypergraph *g, int64_t n, const pin *p)
{
    for (int64_t i = 0; i < n;) {
        const int64_t id = p[i].id;
        int64_t at = g->npins;
        for (; i < n && p[i].id == id; i++) {
            if (at == g->npins || g->edge_vertex[at - 1] != p[i].vertex) {
                g->edge_vertex[at++] = p[i].vertex;
            }
        }
        if (at - g->npins > 1) {
            g->edge_id[g->nedges] = id;
            g->edge_first[g->nedges++] = g->npins;
            g->npins = at;
        }
    }
    g->edge_first[g->nedges] = g->npins;
}

/* Builds all edges, in arrays of the largest possible size: untouched pages cost no memory. */
static int make_edges(eqp_hypergraph *g, int64_t n, const int64_t *pin_first, const int64_t *pins)
{
    const int64_t npins = n > 0 ? pin_first[n] : 0;
    int64_t end[1 << BUCKET_BITS], most = 0;
    pin *dealt = NULL, *work = NULL;
    digits d;
    int code;

    EQP_TRY(EQP__ARRAYS({&g->edge_id, npins / 2, sizeof(int64_t)}, {&g->edge_first, npins / 2 + 1, sizeof(int64_t)},
                        {&g->edge_vertex, npins, sizeof(int64_t)}, EQP__ARRAY(dealt, npins)));
    d = deal_pins(n, pin_first, pins, dealt, end);
    for (uint64_t k = 0; k <= d.mask; k++) {
        int64_t size = end[k] - (k > 0 ? end[k - 1] : 0);
        most = size > most ? size : most;
    }
    EQP_TRY(eqp_array_create(&work, most, sizeof *work));
    for (int64_t start = 0, k = 0; start < npins; start = end[k++]) {
        sort_pins(end[k] - start, dealt + start, work, false);
        add_edges(g, end[k] - start, dealt + start);
    }
done:
    EQP__FREE(dealt, work);
    return code;
}

static void trim(int64_t **array, int64_t n)
{
    int64_t *trimmed = realloc(*array, ((size_t)n + 1) * sizeof **array);

    *array = trimmed ? trimmed : *array;
}

/* Builds the edge list of every vertex, and the weights. */
static int make_vertices(eqp_hypergraph *g)
{
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(g->edge_weight, g->nedges), EQP__ARRAY(g->vertex_first, g->nvertices + 1),
                           EQP__ARRAY(g->vertex_edge, g->npins)));
    for (int64_t i = 0; i < g->npins; i++) {
        g->vertex_first[g->edge_vertex[i] + 1]++;
    }
    for (int64_t v = 0; v < g->nvertices; v++) {
        g->vertex_first[v + 1] += g->vertex_first[v];
    }
    for (int64_t e = 0; e < g->nedges; e++) {
        g->edge_weight[e] = 1;
        for (int64_t i = g->edge_first[e]; i < g->edge_first[e + 1]; i++) {
            g->vertex_edge[g->vertex_first[g->edge_vertex[i]]++] = e;
        }
    }
    memmove(g->vertex_first + 1, g->vertex_first, (size_t)g->nvertices * sizeof *g->vertex_first);
    g->vertex_first[0] = 0;
    return EQP_OK;
}

int eqp__hypergraph_create(int64_t n, const int64_t *pin_first, const int64_t *pins, eqp_hypergraph *graph)
{
    graph->nvertices = n;
    EQP__CHECK(make_edges(graph, n, pin_first, pins));
    trim(&graph->edge_id, graph->nedges);
    trim(&graph->edge_first, graph->nedges);
    trim(&graph->edge_vertex, graph->npins);
    return make_vertices(graph);
}

void eqp__hypergraph_weigh(eqp_hypergraph *graph, int64_t n, const eqp__pin *table)
{
    for (int64_t i = 0, e = 0; i < n && e < graph->nedges;) {
        if (table[i].id < graph->edge_id[e]) {
            i++;
        } else if (table[i].id > graph->edge_id[e]) {
            e++;
        } else {
            graph->edge_weight[e++] = table[i++].weight;
        }
    }
}

void eqp__hypergraph_free(eqp_hypergraph *graph)
{
    EQP__FREE(graph->edge_weight, graph->edge_id, graph->edge_first, graph->edge_vertex, graph->vertex_first,
              graph->vertex_edge);
}
