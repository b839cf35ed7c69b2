/* SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>

#include "cost/elements.h"
#include "failing_malloc.h"
#include "unit.h"

#include <equipoise/error.h>

enum { MOST = 400, MOST_PARTS = 9, MOST_EDGES = 16 * MOST };

typedef struct pair {
    int a, b;
    double weight;
} pair;

typedef struct world {
    eqp_elements e;
    double weight[MOST], edge_weight[MOST_EDGES];
    int part[MOST];
    int64_t first[MOST + 1], edge[MOST_EDGES];
} world;

static world w;

/* Lists every pair at both ends. */
static void set_edges(int64_t n, int npairs, const pair *pairs)
{
    int64_t at = 0;

    for (int64_t i = 0; i < n; i++) {
        w.first[i] = at;
        for (int k = 0; k < npairs; k++) {
            if (pairs[k].a == i || pairs[k].b == i) {
                w.edge[at] = pairs[k].a == i ? pairs[k].b : pairs[k].a;
                w.edge_weight[at++] = pairs[k].weight;
            }
        }
    }
    w.first[n] = at;
    w.e = (eqp_elements){n, w.weight, w.part, w.first, w.edge, w.edge_weight};
}

/* Process 0 in figure 3.1 of the thesis: 7 elements with work 16, and 4 channels of weight 6 to process
 * 1. */
TEST(figure_3_1_of_the_thesis)
{
    static const double weight[] = {1, 2, 2, 3, 3, 4, 1, 2, 2, 1, 5};
    static const int part[] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2};
    static const pair pairs[] = {{0, 1, 1}, {1, 2, 2}, {2, 3, 1}, {3, 4, 4}, {4, 5, 1}, {5, 6, 1}, {3, 7, 2},
                                 {4, 7, 1}, {4, 8, 2}, {5, 9, 1}, {7, 8, 3}, {8, 9, 1}, {9, 10, 7}};
    eqp_part_graph *graph = NULL;

    memcpy(w.weight, weight, sizeof weight);
    memcpy(w.part, part, sizeof part);
    set_edges(11, 13, pairs);
    assert_ok(eqp__part_graph_create(&w.e, 3, &graph));
    const eqp_part_graph g = *graph;
    assert_int_equal(g.nparts, 3);
    assert_true(g.elements[0] == 7 && g.elements[1] == 3 && g.elements[2] == 1);
    assert_true(g.load[0] == 16 && g.load[1] == 5 && g.load[2] == 5);
    assert_true(g.neighbour_first[1] == 1 && g.neighbour_first[2] == 3 && g.neighbour_first[3] == 4);
    assert_true(g.neighbour[0] == 1 && g.channels[0] == 4 && g.channel_weight[0] == 6);
    assert_true(g.neighbour[1] == 0 && g.channels[1] == 4 && g.channel_weight[1] == 6);
    assert_true(g.neighbour[2] == 2 && g.channels[2] == 1 && g.channel_weight[2] == 7);
    assert_true(g.neighbour[3] == 1 && g.channels[3] == 1 && g.channel_weight[3] == 7);
    eqp__part_graph_free(graph);
}

static void make_random(int64_t n, int nparts, uint64_t seed)
{
    static pair pairs[MOST_EDGES / 2];
    const int npairs = (int)(3 * n);

    for (int64_t i = 0; i < n; i++) {
        w.weight[i] = noise(&seed);
        w.part[i] = (int)(noise(&seed) * nparts);
    }
    for (int k = 0; k < npairs; k++) {
        pairs[k] = (pair){(int)(noise(&seed) * (double)n), (int)(noise(&seed) * (double)n), noise(&seed)};
        pairs[k].b = pairs[k].a == pairs[k].b ? (pairs[k].a + 1) % (int)n : pairs[k].b;
    }
    set_edges(n, npairs, pairs);
}

/* The link of a pair of parts; zeros if there is none. */
static int64_t channels_of(const eqp_part_graph *g, int p, int q, double *weight)
{
    int64_t found = 0;

    *weight = 0;
    for (int64_t k = g->neighbour_first[p]; k < g->neighbour_first[p + 1]; k++) {
        assert_true(k == g->neighbour_first[p] || g->neighbour[k - 1] < g->neighbour[k]);
        if (g->neighbour[k] == q) {
            found = g->channels[k];
            *weight = g->channel_weight[k];
        }
    }
    return found;
}

static void check_pair(const eqp_part_graph *g, int p, int q)
{
    double weight, back, sum = 0;
    int64_t count = 0;
    const int64_t found = channels_of(g, p, q, &weight);

    for (int64_t i = 0; i < w.e.n; i++) {
        for (int64_t k = w.first[i]; k < w.first[i + 1]; k++) {
            if (p != q && w.part[i] == p && w.part[w.edge[k]] == q) {
                count++;
                sum += w.edge_weight[k];
            }
        }
    }
    assert_true(found == count);
    assert_near(weight, sum, 1e-12 * (1 + sum));
    assert_true(channels_of(g, q, p, &back) == found && back == weight);
}

TEST(sums_are_those_of_the_elements)
{
    for (int c = 0; c < 12; c++) {
        const int nparts = 1 + c % MOST_PARTS;
        double load[MOST_PARTS] = {0};
        int64_t elements[MOST_PARTS] = {0};
        eqp_part_graph *graph = NULL;

        make_random(c < 6 ? 6 : 60, nparts, (uint64_t)c);
        assert_ok(eqp__part_graph_create(&w.e, nparts, &graph));
        const eqp_part_graph g = *graph;
        for (int64_t i = 0; i < w.e.n; i++) {
            load[w.part[i]] += w.weight[i];
            elements[w.part[i]]++;
        }
        for (int p = 0; p < nparts; p++) {
            assert_near(g.load[p], load[p], 1e-12);
            assert_true(g.elements[p] == elements[p]);
            for (int q = 0; q < nparts; q++) {
                check_pair(&g, p, q);
            }
        }
        eqp__part_graph_free(graph);
    }
}

TEST(weights_and_edges_may_be_left_out)
{
    static const pair chain[] = {{0, 1, 5}, {1, 2, 5}, {1, 2, 5}, {2, 2, 5}};
    static const int part[] = {0, 0, 2};
    eqp_part_graph *graph = NULL;

    memcpy(w.part, part, sizeof part);
    set_edges(3, 4, chain);
    w.e.weight = NULL;
    w.e.edge_weight = NULL;
    assert_ok(eqp__part_graph_create(&w.e, 3, &graph));
    eqp_part_graph g = *graph;
    assert_true(g.load[0] == 2 && g.load[1] == 0 && g.load[2] == 1);
    assert_true(g.neighbour_first[1] == 1 && g.neighbour_first[2] == 1 && g.neighbour_first[3] == 2);
    assert_true(g.channels[0] == 2 && g.channel_weight[0] == 2);
    eqp__part_graph_free(graph);
    w.e.edge_first = NULL;
    assert_ok(eqp__part_graph_create(&w.e, 3, &graph));
    assert_true(graph->neighbour_first[3] == 0);
    eqp__part_graph_free(graph);
    assert_ok(eqp__part_graph_create(&(eqp_elements){0}, 2, &graph));
    assert_true(graph->elements[1] == 0);
    eqp__part_graph_free(graph);
}

static int code_of(int nparts)
{
    eqp_part_graph *graph = NULL;
    const int code = eqp__part_graph_create(&w.e, nparts, &graph);

    assert_true(code == EQP_OK || graph == NULL);
    eqp__part_graph_free(graph);
    return code;
}

/* An edge at one end only, on either side; loads without a finite sum. */
TEST(unmatched_edges_and_infinite_loads_are_refused)
{
    static const pair one[] = {{1, 2, 1}};

    for (int i = 0; i < 3; i++) {
        w.weight[i] = 1;
        w.part[i] = i / 2;
    }
    set_edges(3, 1, one);
    w.first[3] = 1;
    assert_int_equal(code_of(2), EQP_ERR_DATA);
    set_edges(3, 1, one);
    w.edge[0] = 1;
    w.first[2] = 0;
    w.first[3] = 1;
    assert_int_equal(code_of(2), EQP_ERR_DATA);
    set_edges(3, 0, NULL);
    w.weight[0] = w.weight[1] = w.weight[2] = DBL_MAX;
    assert_int_equal(code_of(2), EQP_ERR_OVERFLOW);
}

TEST(every_allocation_may_fail)
{
    SKIP_IF(!failing_malloc_works);
    make_random(40, MOST_PARTS, 3);
    eqp_part_graph *graph = NULL;
    int code;
    for (int64_t k = 0; FAILING_MALLOC(k, code = eqp__part_graph_create(&w.e, MOST_PARTS, &graph)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_null(graph);
    }
    assert_ok(code);
    eqp__part_graph_free(graph);
}
