/* SPDX-License-Identifier: BSD-3-Clause */

#include "failing_malloc.h"
#include "methods/frame/links.h"
#include "unit.h"

#include <equipoise/more/random.h>

#define LINKS FREED_BY(eqp__links_free) eqp__links
#define ITEMS 40
#define IDS 30
#define MANY 300

/* Random pins with duplicates, and a weight for every id; id 0 weighs nothing. */
static eqp_hypergraph draw_pins(int64_t n, int64_t npins, double (*weight_of)(int64_t id))
{
    int64_t *first = calloc((size_t)n + 1, sizeof *first), *pin = calloc((size_t)(n * npins), sizeof *pin);
    eqp__pin table[IDS];
    eqp_hypergraph graph = {0};

    assert_true(first != NULL && pin != NULL);
    for (int64_t i = 0; i < n * npins; i++) {
        pin[i] = (int64_t)eqp_random_below(5, (uint64_t)i, 0, IDS);
    }
    for (int64_t i = 0; i <= n; i++) {
        first[i] = i * npins;
    }
    for (int64_t k = 0; k < IDS; k++) {
        table[k] = (eqp__pin){k, weight_of(k)};
    }
    assert_ok(eqp__hypergraph_create(n, first, pin, &graph));
    eqp__hypergraph_weigh(&graph, IDS, table);
    free(first);
    free(pin);
    return graph;
}

static double rising(int64_t id)
{
    return 0.5 * (double)id;
}

static double one(int64_t id)
{
    (void)id;
    return 1.0;
}

static double weight_between(const eqp__links *links, int64_t i, int64_t j)
{
    double weight = 0;
    int found = 0;

    for (int64_t e = links->first[i]; e < links->first[i + 1]; e++) {
        found += links->edge[e] == j;
        weight += links->edge[e] == j ? links->weight[e] : 0;
    }
    assert_true(found <= 1); /* one edge for all shared ids */
    return weight;
}

TEST(small_cliques_are_whole)
{
    FREED_BY(eqp__hypergraph_free) eqp_hypergraph g = draw_pins(ITEMS, 4, rising);
    LINKS links = {.first = NULL};
    double expected[ITEMS][ITEMS] = {{0}};

    for (int64_t e = 0; e < g.nedges; e++) {
        for (int64_t a = g.edge_first[e]; a < g.edge_first[e + 1]; a++) {
            for (int64_t b = g.edge_first[e]; b < g.edge_first[e + 1]; b++) {
                expected[g.edge_vertex[a]][g.edge_vertex[b]] +=
                    g.edge_weight[e] / (double)(g.edge_first[e + 1] - g.edge_first[e] - 1);
            }
        }
    }
    assert_ok(eqp__links_of_cliques(&g, 1, &links));
    for (int64_t i = 0; i < ITEMS; i++) {
        for (int64_t j = 0; j < ITEMS; j++) {
            assert_true(fabs(weight_between(&links, i, j) - (i == j ? 0 : expected[i][j])) < 1e-12);
        }
        for (int64_t e = links.first[i]; e < links.first[i + 1]; e++) {
            assert_true(links.weight[e] > 0 && links.edge[e] != i);
        }
    }
}

/* All items touch nearly all ids: every clique has more than 128 items, each of which keeps eight edges. */
TEST(large_cliques_are_thinned_out_alike_at_both_ends)
{
    FREED_BY(eqp__hypergraph_free) eqp_hypergraph g = draw_pins(MANY, 40, one);
    LINKS links = {.first = NULL}, again = {.first = NULL}, other = {.first = NULL};

    assert_ok(eqp__links_of_cliques(&g, 1, &links));
    assert_ok(eqp__links_of_cliques(&g, 1, &again));
    assert_ok(eqp__links_of_cliques(&g, 2, &other));
    for (int64_t i = 0; i < MANY; i++) {
        double expected = 0, sum = 0;
        for (int64_t k = g.vertex_first[i]; k < g.vertex_first[i + 1]; k++) {
            const int64_t e = g.vertex_edge[k], size = g.edge_first[e + 1] - g.edge_first[e];
            assert_true(size > 128);
            expected += 8.0 / (double)(size - 1);
        }
        for (int64_t e = links.first[i]; e < links.first[i + 1]; e++) {
            sum += links.weight[e];
            assert_true(links.edge[e] != i);
            assert_true(weight_between(&links, links.edge[e], i) == links.weight[e]);
        }
        assert_true(fabs(sum - expected) < 1e-12);
    }
    const int64_t n = links.first[MANY];
    assert_true(again.first[MANY] == n && memcmp(again.edge, links.edge, (size_t)n * sizeof *links.edge) == 0);
    assert_true(other.first[MANY] != n || memcmp(other.edge, links.edge, (size_t)n * sizeof *links.edge) != 0);
}

TEST(nothing_shared_is_no_edge)
{
    const int64_t first[] = {0, 1, 2}, pin[] = {3, 4};
    FREED_BY(eqp__hypergraph_free) eqp_hypergraph g = {0};
    LINKS links = {.first = NULL};

    assert_ok(eqp__hypergraph_create(2, first, pin, &g));
    assert_ok(eqp__links_of_cliques(&g, 1, &links));
    assert_int_equal(links.first[2], 0);
}

static int link_cliques(void *pins)
{
    LINKS links = {.first = NULL};

    return eqp__links_of_cliques(pins, 1, &links);
}

TEST(every_allocation_may_fail)
{
    FREED_BY(eqp__hypergraph_free) eqp_hypergraph g = draw_pins(ITEMS, 4, rising);

    assert_true(failing_malloc_sweep(link_cliques, &g, EQP_ERR_MEMORY) > 0);
}
