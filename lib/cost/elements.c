/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph of parts: loads and channels summed over the elements. Source: Pearce 2014, sections 3.1 and 3.2. */
#include "cost/elements.h"
#include "base/internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct link {
    int part;
    int64_t channels;
    double weight;
} link;

typedef struct making {
    const eqp_elements *elements;
    eqp_part_graph *graph;
    int64_t *member_first; /* [nparts + 1] into member */
    int64_t *member;       /* [n] elements by part */
    int64_t *slot;         /* [nparts] index of the present part's link to a part, or -1 */
    link *links;           /* of all parts, by part, then by neighbour */
    int64_t nlinks, capacity;
} making;

static bool has_edges(const eqp_elements *e)
{
    return e->n > 0 && e->edge_first != NULL;
}

static int open_making(const eqp_elements *e, int nparts, making *m)
{
    eqp_part_graph *g;

    m->elements = e;
    EQP__CHECK(eqp_array_create(&m->graph, 1, sizeof *m->graph));
    g = m->graph;
    g->nparts = nparts;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(g->load, nparts), EQP__ARRAY(g->elements, nparts),
                           EQP__ARRAY(g->neighbour_first, (int64_t)nparts + 1)));
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(m->member_first, (int64_t)nparts + 1), EQP__ARRAY(m->member, e->n),
                           EQP__ARRAY(m->slot, nparts)));
    for (int p = 0; p < nparts; p++) {
        m->slot[p] = -1;
    }
    return EQP_OK;
}

static int sum_elements(making *m)
{
    const eqp_elements *e = m->elements;
    eqp_part_graph *g = m->graph;
    double total = 0.0;

    for (int64_t i = 0; i < e->n; i++) {
        g->load[e->part[i]] += e->weight != NULL ? e->weight[i] : 1.0;
        g->elements[e->part[i]]++;
    }
    for (int p = 0; p < g->nparts; p++) {
        m->member_first[p + 1] = m->member_first[p] + g->elements[p];
        total += g->load[p];
    }
    for (int64_t i = 0; i < e->n; i++) {
        m->member[m->member_first[e->part[i]]++] = i;
    }
    memmove(m->member_first + 1, m->member_first, (size_t)g->nparts * sizeof *m->member_first);
    m->member_first[0] = 0;
    return isfinite(total) ? EQP_OK : EQP_ERR_OVERFLOW;
}

static int add_channel(making *m, int to, double weight)
{
    if (m->slot[to] < 0) {
        EQP__CHECK(eqp_array_reserve(&m->links, &m->capacity, m->nlinks + 1, sizeof *m->links));
        m->slot[to] = m->nlinks;
        m->links[m->nlinks++] = (link){to, 0, 0.0};
    }
    m->links[m->slot[to]].channels++;
    m->links[m->slot[to]].weight += weight;
    return EQP_OK;
}

static int by_part(const void *a, const void *b)
{
    const int x = ((const link *)a)->part, y = ((const link *)b)->part;

    return (x > y) - (x < y);
}

static int link_part(making *m, int p)
{
    const eqp_elements *e = m->elements;
    const int64_t begin = m->nlinks;

    for (int64_t k = m->member_first[p]; k < m->member_first[p + 1]; k++) {
        const int64_t i = m->member[k];
        for (int64_t j = e->edge_first[i]; j < e->edge_first[i + 1]; j++) {
            const int q = e->part[e->edge[j]];
            if (q != p) {
                EQP__CHECK(add_channel(m, q, e->edge_weight != NULL ? e->edge_weight[j] : 1.0));
            }
        }
    }
    if (m->nlinks > begin) {
        qsort(m->links + begin, (size_t)(m->nlinks - begin), sizeof *m->links, by_part);
    }
    for (int64_t k = begin; k < m->nlinks; k++) {
        m->slot[m->links[k].part] = -1;
    }
    m->graph->neighbour_first[p + 1] = m->nlinks;
    return EQP_OK;
}

static int64_t find_link(const making *m, int from, int to)
{
    int64_t low = m->graph->neighbour_first[from], high = m->graph->neighbour_first[from + 1];

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (m->links[middle].part < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < m->graph->neighbour_first[from + 1] && m->links[low].part == to ? low : -1;
}

/* The two sides sum the same weights in different orders; both take the lower part's sum. */
static int match_links(making *m)
{
    const eqp_part_graph *g = m->graph;
    int64_t matched = 0;

    for (int p = 0; p < g->nparts; p++) {
        for (int64_t k = g->neighbour_first[p]; k < g->neighbour_first[p + 1]; k++) {
            if (m->links[k].part > p) {
                const int64_t back = find_link(m, m->links[k].part, p);
                EQP__FAIL_IF(back < 0 || m->links[back].channels != m->links[k].channels, EQP_ERR_DATA);
                m->links[back].weight = m->links[k].weight;
                matched += 2;
            }
        }
    }
    return matched == m->nlinks ? EQP_OK : EQP_ERR_DATA;
}

static int keep_links(const making *m)
{
    eqp_part_graph *g = m->graph;

    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(g->neighbour, m->nlinks), EQP__ARRAY(g->channels, m->nlinks),
                           EQP__ARRAY(g->channel_weight, m->nlinks)));
    for (int64_t k = 0; k < m->nlinks; k++) {
        g->neighbour[k] = m->links[k].part;
        g->channels[k] = m->links[k].channels;
        g->channel_weight[k] = m->links[k].weight;
    }
    return EQP_OK;
}

int eqp__part_graph_create(const eqp_elements *elements, int nparts, eqp_part_graph **graph)
{
    making m = {.elements = elements};
    int code;

    EQP_TRY(open_making(elements, nparts, &m));
    EQP_TRY(sum_elements(&m));
    for (int p = 0; p < nparts && has_edges(elements); p++) {
        EQP_TRY(link_part(&m, p));
    }
    EQP_TRY(match_links(&m));
    EQP_TRY(keep_links(&m));
    *graph = m.graph;
    m.graph = NULL;
done:
    eqp__part_graph_free(m.graph);
    EQP__FREE(m.member_first, m.member, m.slot, m.links);
    return code;
}

void eqp__part_graph_free(eqp_part_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    EQP__FREE(graph->load, graph->elements, graph->neighbour_first, graph->neighbour, graph->channels,
              graph->channel_weight, graph);
}
