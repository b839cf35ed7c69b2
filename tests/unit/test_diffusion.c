/* SPDX-License-Identifier: BSD-3-Clause */

#include "failing_malloc.h"
#include "methods/diffusion/diffusion.h"
#include "methods/frame/frame.h"
#include "methods/frame/links.h"
#include "unit.h"

FREES(eqp_part_graph, eqp__part_graph_free)

enum { CHAIN = 8, STEPS = 64, EDGE = 20, CELLS = EDGE * EDGE, PARTS = 12 };

static const eqp_diffusion_options usual = {.threshold = 0.02, .steps = 1000};

/* Parts in a row, one element each. */
static eqp_part_graph *make_chain(const double load[CHAIN])
{
    int64_t first[CHAIN + 1] = {0}, edge[2 * CHAIN], at = 0;
    int part[CHAIN];
    eqp_part_graph *graph = NULL;

    for (int i = 0; i < CHAIN; i++) {
        part[i] = i;
        for (int k = -1; k <= 1; k += 2) {
            if (i + k >= 0 && i + k < CHAIN) {
                edge[at++] = i + k;
            }
        }
        first[i + 1] = at;
    }
    const eqp_elements e = {CHAIN, load, part, first, edge, NULL};
    assert_ok(eqp__part_graph_create(&e, CHAIN, &graph));
    return graph;
}

/* Table 2.1 of Pearce 2014: one load too many at P1 and at P7, one too few at P0. */
static const double row_c[CHAIN] = {1, 3, 2, 2, 2, 2, 2, 2}, row_d[CHAIN] = {1, 2, 2, 2, 2, 2, 2, 3};

TEST(chains_of_table_2_1)
{
    const struct {
        const double *load;
        int64_t steps;
    } row[] = {{row_c, 3}, {row_d, 31}};

    for (int r = 0; r < 2; r++) {
        FREED(eqp_part_graph) *graph = make_chain(row[r].load);
        eqp__diffusion d = {.scale = NULL};
        double flow[2 * CHAIN] = {0}, before = 3;

        assert_ok(eqp__diffusion_open(graph, graph->load, 1.0 / 3.0, NULL, &d));
        for (int s = 0; s < STEPS; s++) {
            assert_true((eqp__diffusion_imbalance(&d) > 0.05) == (s < row[r].steps));
            eqp__diffusion_step(&d, flow);
            assert_true(eqp__diffusion_largest(&d) <= before);
            before = eqp__diffusion_largest(&d);
        }
        eqp__diffusion_close(&d);
    }
}

/* Cells of a square with neighbors across faces, in strips of random widths; weights between 0.5 and 1.5. */
typedef struct square {
    eqp_elements e;
    double weight[CELLS];
    int part[CELLS];
    int64_t first[CELLS + 1], edge[4 * CELLS];
} square;

static square q;

static void make_square(uint64_t seed)
{
    static const int step[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    int64_t at = 0;

    for (int i = 0; i < CELLS; i++) {
        const int x = i % EDGE, y = i / EDGE;
        q.weight[i] = 0.5 + noise(&seed);
        q.part[i] = (int)(4 * (double)x * x / (EDGE * EDGE)) + 4 * (y * 3 / EDGE);
        for (int k = 0; k < 4; k++) {
            const int u = x + step[k][0], v = y + step[k][1];
            if (u >= 0 && u < EDGE && v >= 0 && v < EDGE) {
                q.edge[at++] = v * EDGE + u;
            }
        }
        q.first[i + 1] = at;
    }
    q.e = (eqp_elements){CELLS, q.weight, q.part, q.first, q.edge, NULL};
}

static eqp_part_graph *graph_of(const int *part)
{
    eqp_elements e = q.e;
    eqp_part_graph *graph = NULL;

    e.part = part;
    assert_ok(eqp__part_graph_create(&e, PARTS, &graph));
    return graph;
}

static double imbalance_of(const int *part, const double *share)
{
    eqp_part_loads loads;

    assert_ok(eqp__parts_load(CELLS, q.weight, part, PARTS, share, NULL, &loads));
    return loads.imbalance;
}

static void fill_shares(double *share)
{
    for (int p = 0; p < PARTS; p++) {
        share[p] = (1 + p % 3) / 24.0;
    }
}

/* Total load, and the number of elements if all are equal. */
TEST(load_is_conserved)
{
    double share[PARTS];

    fill_shares(share);
    for (int c = 0; c < 8; c++) {
        make_square((uint64_t)c);
        FREED(eqp_part_graph) *graph = graph_of(q.part);
        const eqp_part_graph g = *graph;
        double flow[PARTS * PARTS] = {0}, sum = 0, after = 0;
        eqp__diffusion d = {.scale = NULL};
        const double *shares = c % 2 ? share : NULL;

        assert_ok(eqp__diffusion_open(&g, g.load, eqp__diffusion_stable(&g), shares, &d));
        double before = eqp__diffusion_largest(&d);
        for (int s = 0; s < 50; s++) {
            eqp__diffusion_step(&d, flow);
            assert_true(eqp__diffusion_largest(&d) <= before * (1 + 1e-15));
            before = eqp__diffusion_largest(&d);
        }
        for (int p = 0; p < PARTS; p++) {
            double come = 0;
            for (int64_t k = g.neighbour_first[p]; k < g.neighbour_first[p + 1]; k++) {
                come += flow[k];
            }
            assert_near(g.load[p] + come, d.load[p], 1e-12);
            sum += g.load[p];
            after += d.load[p];
        }
        assert_near(sum, after, 1e-11);
        eqp__diffusion_close(&d);
    }
}

/* Number of connected pieces over all parts. */
static int pieces_of(const int *part)
{
    static int64_t stack[CELLS];
    bool seen[CELLS] = {false};
    int pieces = 0;

    for (int64_t i = 0; i < CELLS; i++) {
        int64_t n = 0;
        if (!seen[i]) {
            pieces++;
            seen[i] = true;
            stack[n++] = i;
        }
        while (n > 0) {
            const int64_t j = stack[--n];
            for (int64_t k = q.first[j]; k < q.first[j + 1]; k++) {
                if (!seen[q.edge[k]] && part[q.edge[k]] == part[j]) {
                    seen[q.edge[k]] = true;
                    stack[n++] = q.edge[k];
                }
            }
        }
    }
    return pieces;
}

TEST(elements_move_until_the_work_is_even)
{
    double share[PARTS];
    eqp_diffusion_options options = usual;

    fill_shares(share);
    options.threshold = 0.04; /* a cell is a thirtieth of a part's load */
    for (int c = 0; c < 12; c++) {
        int part[CELLS];

        make_square((uint64_t)c);
        options.share = c % 2 ? share : NULL;
        const double before = imbalance_of(q.part, options.share);
        assert_ok(eqp__diffusion_move(&q.e, PARTS, &options, part));
        const double after = imbalance_of(part, options.share);
        assert_true(before > 0.5);
        assert_true(after <= options.threshold);
        assert_true(pieces_of(part) < 2 * PARTS);
        assert_ok(eqp__diffusion_move(&q.e, PARTS, &options, q.part));
        assert_memory_equal(part, q.part, sizeof part);
    }
}

/* One call with several steps equals a code that balances in each of its own steps. */
TEST(imbalance_never_rises)
{
    for (int c = 0; c < 6; c++) {
        eqp_diffusion_options options = usual;

        make_square((uint64_t)c);
        options.steps = 1;
        options.gamma = c % 2 ? 0.05 : 1; /* cut to what is stable */
        double before = imbalance_of(q.part, NULL);
        const double first = before;
        for (int s = 0; s < 60; s++) {
            assert_ok(eqp__diffusion_move(&q.e, PARTS, &options, q.part));
            const double now = imbalance_of(q.part, NULL);
            assert_true(now <= before * (1 + 1e-12));
            before = now;
        }
        assert_true(before < 0.05 * first);
    }
}

/* One step moves what it says, to an element for each neighbour. */
TEST(one_step_moves_its_flow)
{
    eqp_diffusion_options options = usual;
    int part[CELLS];

    make_square(5);
    FREED(eqp_part_graph) *graph = graph_of(q.part);
    const eqp_part_graph g = *graph;
    eqp__diffusion d = {.scale = NULL};
    double flow[PARTS * PARTS] = {0}, load[PARTS] = {0};

    options.steps = 1;
    assert_ok(eqp__diffusion_move(&q.e, PARTS, &options, part));
    assert_ok(eqp__diffusion_open(&g, g.load, eqp__diffusion_stable(&g), NULL, &d));
    eqp__diffusion_step(&d, flow);
    for (int i = 0; i < CELLS; i++) {
        load[part[i]] += q.weight[i];
    }
    for (int p = 0; p < PARTS; p++) {
        const int64_t degree = g.neighbour_first[p + 1] - g.neighbour_first[p];
        assert_near(load[p], d.load[p], 1.5 * (double)degree);
    }
    eqp__diffusion_close(&d);
}

TEST(no_part_loses_its_last_element)
{
    /* A heavy element in the middle of three parts, all of whose load should flow away. */
    const double weight[] = {1, 100, 1, 0};
    const int64_t first[] = {0, 1, 4, 5, 6}, edge[] = {1, 0, 2, 3, 1, 1};
    const int start[] = {0, 1, 2, 1};
    const eqp_elements e = {4, weight, start, first, edge, NULL};
    int part[] = {7, 7, 7, 7};

    assert_ok(eqp__diffusion_move(&e, 5, &usual, part));
    assert_memory_equal(part, start, sizeof part);
}

/* Thirty thousand elements in a row: each layer is one element, so the search must not visit all of them. */
TEST(long_rows_are_no_worse)
{
    enum { LONG = 30000 };
    eqp__links links = {.first = NULL};
    static int part[LONG];
    double load[4] = {0};

    for (int i = 0; i < LONG; i++) {
        part[i] = i < 20000 ? 0 : i < 29000 ? 1 : i < 29900 ? 2 : 3;
    }
    assert_ok(eqp__links_of_points(LONG, NULL, 8, &links));
    const eqp_elements e = {LONG, NULL, part, links.first, links.edge, links.weight};
    assert_ok(eqp__diffusion_move(&e, 4, &usual, part));
    for (int i = 0; i < LONG; i++) {
        load[part[i]] += 1;
        assert_true(i == 0 || part[i] >= part[i - 1]);
    }
    for (int p = 0; p < 4; p++) {
        assert_true(load[p] <= 1.02 * LONG / 4);
    }
    eqp__links_free(&links);
}

TEST(loads_without_work_stay)
{
    const double zero[CHAIN] = {0};
    FREED(eqp_part_graph) *graph = make_chain(zero);
    eqp__diffusion d = {.scale = NULL};
    double flow[2 * CHAIN] = {0};

    assert_ok(eqp__diffusion_open(graph, graph->load, 1.0 / 3.0, NULL, &d));
    eqp__diffusion_step(&d, flow);
    assert_true(eqp__diffusion_imbalance(&d) == 0 && eqp__diffusion_largest(&d) == 0 && flow[0] == 0);
    eqp__diffusion_close(&d);
}

static int run_all(void *user)
{
    const double point[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const int64_t pin_first[] = {0, 1, 2, 3}, pin[] = {4, 4, 4};
    const eqp_diffusion_options options = {.threshold = 0.05, .steps = STEPS};
    eqp_part_graph *graph = NULL;
    eqp_hypergraph pins = {0};
    eqp__links near = {.first = NULL}, shared = {.first = NULL};
    int part[CELLS], code;

    (void)user;
    EQP_TRY(eqp__part_graph_create(&q.e, PARTS, &graph));
    EQP_TRY(eqp__diffusion_move(&q.e, PARTS, &options, part));
    EQP_TRY(eqp__links_of_points(3, point, 2, &near));
    EQP_TRY(eqp__hypergraph_create(3, pin_first, pin, &pins));
    EQP_TRY(eqp__links_of_pins(&pins, &shared));
done:
    eqp__part_graph_free(graph);
    eqp__hypergraph_free(&pins);
    eqp__links_free(&near);
    eqp__links_free(&shared);
    return code;
}

TEST(every_allocation_may_fail)
{
    make_square(1);
    assert_true(failing_malloc_sweep(run_all, NULL, EQP_ERR_MEMORY) > 0);
}

/* Items 0 to 3 at one end, 4 to 7 at the other: links of neighbors in the order, equally many at both ends. */
TEST(near_items_are_linked)
{
    double point[3 * CHAIN] = {0};
    eqp__links links = {.first = NULL};
    int64_t count[CHAIN][CHAIN] = {{0}};

    for (int i = 0; i < CHAIN; i++) {
        point[3 * i] = i % 4 + (i < 4 ? 0 : 100);
    }
    assert_ok(eqp__links_of_points(CHAIN, point, 3, &links));
    for (int64_t i = 0; i < CHAIN; i++) {
        for (int64_t k = links.first[i]; k < links.first[i + 1]; k++) {
            count[i][links.edge[k]]++;
        }
    }
    for (int i = 0; i < CHAIN; i++) {
        for (int j = 0; j < CHAIN; j++) {
            assert_true(count[i][j] == count[j][i]);
            const bool next = i - j == 1 || j - i == 1, same_end = i != j && i / 4 == j / 4;
            assert_true(count[i][j] == (same_end ? 2 : 0) + (next ? 1 : 0));
        }
    }
    eqp__links_free(&links);
}

/* Pin 5 belongs to items 0, 2 and 3, pin 6 to 1 and 2, pin 7 to 3 alone. */
TEST(pins_link_their_items_in_a_row)
{
    const int64_t first[] = {0, 1, 2, 4, 6}, pin[] = {5, 6, 5, 6, 7, 5};
    const eqp__pin cost[] = {{5, 2}, {6, 3}};
    static const double expected[4][4] = {{0, 0, 2, 0}, {0, 0, 3, 0}, {2, 3, 0, 2}, {0, 0, 2, 0}};
    double found[4][4] = {{0}};
    FREED_BY(eqp__hypergraph_free) eqp_hypergraph graph = {0};
    eqp__links links = {.first = NULL};

    assert_ok(eqp__hypergraph_create(4, first, pin, &graph));
    eqp__hypergraph_weigh(&graph, 2, cost);
    assert_ok(eqp__links_of_pins(&graph, &links));
    for (int64_t i = 0; i < 4; i++) {
        for (int64_t k = links.first[i]; k < links.first[i + 1]; k++) {
            found[i][links.edge[k]] += links.weight[k];
        }
    }
    assert_memory_equal(found, expected, sizeof found);
    eqp__links_free(&links);
}
