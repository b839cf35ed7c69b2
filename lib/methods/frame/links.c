/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/links.h"

#include "base/internal.h"

#include <equipoise/more/kdtree.h>

#include <string.h>

void eqp__links_free(eqp__links *links)
{
    EQP__FREE(links->first, links->edge, links->weight);
}

/* Turns edge counts, in first[i + 1] for item i, into list offsets. first[i + 1] is then the slot of item i's next
 * edge; after all edges are stored it is the end of item i's list. */
static void begin_lists(int64_t n, int64_t *first)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t count = first[i + 1];
        first[i + 1] = sum;
        sum += count;
    }
}

static void put_edge(eqp__links *links, int64_t i, int64_t j, double weight)
{
    const int64_t at[2] = {links->first[i + 1]++, links->first[j + 1]++};

    links->edge[at[0]] = j;
    links->edge[at[1]] = i;
    if (links->weight != NULL) {
        links->weight[at[0]] = links->weight[at[1]] = weight;
    }
}

int eqp__links_of_pins(const eqp_hypergraph *g, eqp__links *links)
{
    const int64_t nedges = g->npins - g->nedges;

    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(links->first, g->nvertices + 1), EQP__ARRAY(links->edge, 2 * nedges),
                           EQP__ARRAY(links->weight, 2 * nedges)));
    for (int64_t e = 0; e < g->nedges; e++) {
        for (int64_t k = g->edge_first[e] + 1; k < g->edge_first[e + 1]; k++) {
            links->first[g->edge_vertex[k - 1] + 1]++;
            links->first[g->edge_vertex[k] + 1]++;
        }
    }
    begin_lists(g->nvertices, links->first);
    for (int64_t e = 0; e < g->nedges; e++) {
        for (int64_t k = g->edge_first[e] + 1; k < g->edge_first[e + 1]; k++) {
            put_edge(links, g->edge_vertex[k - 1], g->edge_vertex[k], g->edge_weight[e]);
        }
    }
    return EQP_OK;
}

/* near[i * most + k]: the items nearest to item i, padded with -1. */
static int find_near(int64_t n, const double *point, int most, int64_t *near)
{
    eqp_kdtree *tree = NULL;
    double *distance = NULL;
    int64_t *found = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(distance, (int64_t)most + 1), EQP__ARRAY(found, (int64_t)most + 1)));
    EQP_TRY(eqp_kdtree_create(n, 3, point, NULL, &tree));
    for (int64_t i = 0; i < n; i++) {
        int64_t nfound = 0, kept = 0;
        EQP_TRY(eqp_kdtree_nearest_k(tree, point + 3 * i, (int64_t)most + 1, &nfound, found, distance));
        for (int64_t k = 0; k < nfound && kept < most; k++) {
            if (found[k] != i) {
                near[i * most + kept++] = found[k];
            }
        }
        while (kept < most) {
            near[i * most + kept++] = -1;
        }
    }
done:
    eqp_kdtree_free(tree);
    EQP__FREE(found, distance);
    return code;
}

/* Counts every edge in first[i + 1] while links->edge is NULL; stores it afterwards. */
static void walk_near(int64_t n, int most, const int64_t *near, eqp__links *links)
{
    for (int64_t i = 0; i < n; i++) {
        for (int k = -1; k < most; k++) {
            const int64_t j = k < 0 ? (i + 1 < n ? i + 1 : -1) : near[i * most + k];
            if (j >= 0 && links->edge != NULL) {
                put_edge(links, i, j, 1.0);
            } else if (j >= 0) {
                links->first[i + 1]++;
                links->first[j + 1]++;
            }
        }
    }
}

int eqp__links_of_points(int64_t n, const double *point, int most, eqp__links *links)
{
    const int wanted = point != NULL ? most : 0;
    int64_t *near = NULL, nedges = 0;
    int code;

    EQP_TRY(n > INT64_MAX / 2 / (wanted + 1) ? EQP_ERR_OVERFLOW : eqp_array_create(&near, n * wanted, sizeof *near));
    EQP_TRY(eqp_array_create(&links->first, n + 1, sizeof *links->first));
    if (wanted > 0 && n > 0) {
        EQP_TRY(find_near(n, point, wanted, near));
    }
    walk_near(n, wanted, near, links);
    for (int64_t i = 0; i < n; i++) {
        nedges += links->first[i + 1];
    }
    begin_lists(n, links->first);
    EQP_TRY(eqp_array_create(&links->edge, nedges, sizeof *links->edge));
    walk_near(n, wanted, near, links);
done:
    free(near);
    return code;
}
