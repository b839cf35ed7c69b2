/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of loadbench: the promises of every kind, and each kind against its definition by a double loop. */
#include "failing_malloc.h"
#include "graph.h"
#include "unit.h"

static lb_generator parse(const char *text)
{
    lb_generator made;
    eqp_message message = {""};

    if (lb_generator_parse(text, &made, &message) != EQP_OK) {
        fail_msg("%s: %s", text, message.text);
    }
    return made;
}

static lb_graph make(const char *text)
{
    const lb_generator generator = parse(text);
    lb_graph graph = {.n = 0};

    assert_ok(lb_graph_create(&generator, &graph));
    return graph;
}

/* The weight of an edge; 0: there is none. */
static int joined(const lb_graph *g, int64_t a, int64_t b)
{
    int weight = 0;

    for (int64_t e = g->first[a]; e < g->first[a + 1]; e++) {
        if (g->edge[e].to == b) {
            assert_int_equal(weight, 0); /* once */
            weight = g->edge[e].weight;
        }
    }
    return weight;
}

static void check_graph(const lb_graph *g, int most)
{
    double mean = 0.0;

    assert_int_equal(g->first[0], 0);
    for (int64_t v = 0; v < g->n; v++) {
        assert_true(v == 0 || g->key[v - 1] <= g->key[v]);
        assert_true(g->base[v] > 0.0);
        mean += g->base[v] / (double)g->n;
        for (int d = 0; d < 3; d++) {
            assert_true(g->centre[v][d] >= 0.0 && g->centre[v][d] < 1.0);
        }
        for (int64_t e = g->first[v]; e < g->first[v + 1]; e++) {
            const lb_edge edge = g->edge[e];
            assert_true(edge.to >= 0 && edge.to < g->n && edge.to != v);
            assert_true(edge.weight >= 1 && edge.weight <= most);
            assert_int_equal(joined(g, edge.to, v), edge.weight);
            assert_int_equal(joined(g, v, edge.to), edge.weight);
        }
    }
    assert_true(fabs(mean - 1.0) < 1e-12);
}

TEST(edges_have_two_ends_with_one_weight)
{
    char text[64];

    for (int k = 0; k < lb_generators.nkinds; k++) {
        for (int n = 1; n < 500; n = 3 * n + 1) {
            snprintf(text, sizeof text, "%s:n=%d,edge=7,seed=3", lb_generators.kind[k].name, n);
            FREED_BY(lb_graph_free) lb_graph g = make(text), again = make(text);
            assert_true(g.n >= n && (g.n == n || strncmp(text, "octree", 6) == 0));
            check_graph(&g, 7);
            assert_int_equal(g.n, again.n);
            assert_memory_equal(g.edge, again.edge, (size_t)g.first[g.n] * sizeof *g.edge);
            assert_memory_equal(g.centre, again.centre, (size_t)g.n * sizeof *g.centre);
        }
    }
}

static double away(const lb_graph *g, int64_t a, int64_t b)
{
    const double *x = g->centre[a], *y = g->centre[b];

    return sqrt((x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) + (x[2] - y[2]) * (x[2] - y[2]));
}

TEST(neighbours_in_a_grid_are_an_edge_apart)
{
    FREED_BY(lb_graph_free) lb_graph g = make("grid:n=100");

    for (int64_t a = 0; a < g.n; a++) {
        for (int64_t b = 0; b < g.n; b++) {
            assert_int_equal(joined(&g, a, b), a != b && away(&g, a, b) < 1.1 / 5);
        }
    }
}

TEST(particles_nearer_than_the_cutoff_are_neighbours)
{
    FREED_BY(lb_graph_free) lb_graph g = make("particles:n=300,pairs=6,clump=0.05,seed=2");
    const double cutoff = cbrt(3.0 * 6.0 / (4.0 * 3.14159265358979323846 * 300.0));
    const double mean = 1.0 + (double)g.first[g.n] / (double)g.n;

    for (int64_t a = 0; a < g.n; a++) {
        for (int64_t b = 0; b < g.n; b++) {
            assert_int_equal(joined(&g, a, b), a != b && away(&g, a, b) < cutoff);
        }
        assert_true(fabs(g.base[a] * mean - 1.0 - (double)(g.first[a + 1] - g.first[a])) < 1e-9);
    }
    assert_true(mean > 1.0 + 2.0 * 6.0); /* clumps have more */
}

/* A cube of edge s has its centre at (k + 1/2) s. */
static double edge_of(const double centre[3])
{
    double s = 1.0;

    while (fabs(centre[0] / s - floor(centre[0] / s) - 0.5) > 1e-6) {
        s *= 0.5;
    }
    return s;
}

/* True if two cubes share a face or part of one. */
static bool share_a_face(const double a[3], const double b[3])
{
    const double half = 0.5 * (edge_of(a) + edge_of(b));
    int touching = 0;

    for (int d = 0; d < 3; d++) {
        const double gap = fabs(a[d] - b[d]) - half;
        if (gap > 1e-9) {
            return false;
        }
        touching += gap > -1e-9;
    }
    return touching == 1;
}

TEST(cubes_of_an_octree_that_share_a_face_are_neighbours)
{
    FREED_BY(lb_graph_free) lb_graph g = make("octree:n=250,growth=0.5");
    double volume = 0.0, finest = 1.0, coarsest = 0.0;

    assert_true(g.n < 350);
    for (int64_t a = 0; a < g.n; a++) {
        const double s = edge_of(g.centre[a]);
        volume += s * s * s;
        finest = fmin(finest, s);
        coarsest = fmax(coarsest, s);
        for (int64_t b = 0; b < g.n; b++) {
            assert_int_equal(joined(&g, a, b), a != b && share_a_face(g.centre[a], g.centre[b]));
        }
    }
    assert_true(fabs(volume - 1.0) < 1e-12);
    assert_true(finest < coarsest);
}

static double turn(const double *a, const double *b, const double *c)
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

/* True if two edges without a common end cross. */
static bool cross(const lb_graph *g, int64_t a, int64_t b, int64_t c, int64_t d)
{
    const double *p = g->centre[a], *q = g->centre[b], *r = g->centre[c], *s = g->centre[d];

    return a != c && a != d && b != c && b != d && turn(p, q, r) * turn(p, q, s) < 0 &&
           turn(r, s, p) * turn(r, s, q) < 0;
}

TEST(triangles_do_not_overlap)
{
    for (int seed = 0; seed < 4; seed++) {
        char text[64];
        snprintf(text, sizeof text, "triangles:n=64,grading=%d,seed=%d", 1 + seed, seed);
        FREED_BY(lb_graph_free) lb_graph g = make(text);
        assert_int_equal(g.first[g.n], 2 * (2 * 8 * 7 + 7 * 7));
        for (int64_t a = 0; a < g.n; a++) {
            for (int64_t e = g.first[a]; e < g.first[a + 1]; e++) {
                for (int64_t c = 0; c < a; c++) {
                    for (int64_t f = g.first[c]; f < g.first[c + 1]; f++) {
                        assert_false(cross(&g, a, g.edge[e].to, c, g.edge[f].to));
                    }
                }
            }
        }
    }
}

TEST(vertices_start_on_some_rank)
{
    FREED_BY(lb_graph_free) lb_graph g = make("octree:n=500");
    int64_t count[4][5] = {{0}};

    for (int start = 0; start < 4; start++) {
        for (int64_t v = 0; v < g.n; v++) {
            const int rank = lb_start_rank((lb_start)start, &g, v, 1, 5);
            assert_in_range(rank, 0, 4);
            count[start][rank]++;
            assert_true(start != LB_START_SLABS || rank == (int)(5 * g.centre[v][0]));
        }
    }
    for (int rank = 0; rank < 5; rank++) {
        assert_in_range(count[LB_START_CURVE][rank], g.n / 5, g.n / 5 + 1);
        assert_true(count[LB_START_SCATTER][rank] > g.n / 10);
        assert_int_equal(count[LB_START_FIRST][rank], rank == 0 ? g.n : 0);
    }
}

static int create_graph(void *generator)
{
    FREED_BY(lb_graph_free) lb_graph graph = {.n = 0};
    const int code = lb_graph_create(generator, &graph);

    assert_true((graph.n > 0) == (code == EQP_OK));
    return code;
}

TEST(lack_of_memory_leaves_nothing)
{
    char text[64];

    SKIP_IF(!failing_malloc_only_ours()); /* qsort() has ways without memory */
    for (int k = 0; k < lb_generators.nkinds; k++) {
        snprintf(text, sizeof text, "%s:n=30", lb_generators.kind[k].name);
        lb_generator generator = parse(text);
        assert_true(failing_malloc_sweep(create_graph, &generator, EQP_ERR_MEMORY) > 0);
    }
}
