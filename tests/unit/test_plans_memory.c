/* SPDX-License-Identifier: BSD-3-Clause */
/* If any allocation fails, an assignment or plan returns EQP_ERR_MEMORY and changes nothing. */

#include <equipoise/more/comm.h>
#include <equipoise/more/methods.h>

#include "failing_malloc.h"
#include "methods/frame/frame.h"
#include "methods/frame/hypergraph.h"
#include "methods/frame/repair.h"
#include "unit.h"

/* Small enough that the C library's sort takes no memory of its own. */
enum { N = 12, PARTS = 3 };

static const double weight[N] = {9, 1, 1, 1, 8, 1, 1, 1, 7, 1, 1, 1};
static const int64_t pin_first[N + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const int64_t pin[N] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6};

/* Calls `action` with ever more allocations that succeed, until it succeeds itself. `unchanged` looks for traces. */
static void fail_one_by_one(int (*action)(void), int (*unchanged)(void))
{
    SKIP_IF(!failing_malloc_works);
    int64_t k = 0;
    int code;
    for (; FAILING_MALLOC(k, code = action()); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_true(unchanged());
    }
    assert_ok(code);
    assert_true(k > 0);
}

static int64_t first[PARTS + 1];

static int cut(void)
{
    return eqp_cuts_optimal(N, weight, PARTS, NULL, first, NULL);
}

static int no_cut(void)
{
    return first[PARTS] == 0;
}

TEST(cuts_survive_failing_allocations)
{
    fail_one_by_one(cut, no_cut);
    assert_int_equal(first[PARTS], N);
}

static eqp_hypergraph graph;

static int build(void)
{
    eqp_hypergraph made = {0};
    const int code = eqp__hypergraph_create(N, pin_first, pin, &made);

    if (code == EQP_OK) {
        graph = made;
    } else {
        eqp__hypergraph_free(&made);
    }
    return code;
}

static int not_built(void)
{
    return graph.nvertices == 0;
}

static int part[N];
static eqp_repair_result result;

static int repair(void)
{
    return eqp__parts_repair(N, weight, &graph, PARTS, NULL, 0.01, part, &result);
}

static int not_repaired(void)
{
    for (int i = 0; i < N; i++) {
        if (part[i]) {
            return 0;
        }
    }
    return 1;
}

TEST(hypergraphs_and_repairs_survive_failing_allocations)
{
    fail_one_by_one(build, not_built);
    fail_one_by_one(repair, not_repaired);
    assert_true(result.moved > 0);
    eqp__hypergraph_free(&graph);
}

static const int fresh[N] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, now[N] = {1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
static int64_t noverlaps;
static eqp_overlap *overlaps;
static int number[PARTS] = {-1, -1, -1};

static int collect(void)
{
    return eqp__overlaps_collect(N, fresh, now, NULL, PARTS, &noverlaps, &overlaps);
}

static int not_collected(void)
{
    return !overlaps && noverlaps == 0;
}

static int relabel(void)
{
    return eqp__parts_relabel(PARTS, NULL, noverlaps, overlaps, number);
}

static int not_relabelled(void)
{
    return number[0] == -1 && number[1] == -1 && number[2] == -1;
}

TEST(relabelling_survives_failing_allocations)
{
    fail_one_by_one(collect, not_collected);
    fail_one_by_one(relabel, not_relabelled);
    assert_int_equal(number[0], 1);
    free(overlaps);
}

static eqp_move_plan *plan;

static int plan_move(void)
{
    return eqp_move_plan_create(N, fresh, PARTS, &plan);
}

static int no_move(void)
{
    return !plan;
}

TEST(plans_survive_failing_allocations)
{
    fail_one_by_one(plan_move, no_move);
    eqp_move_plan_free(plan);
}
