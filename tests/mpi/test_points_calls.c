/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigning parts to items takes few collective calls, the same number on any number of ranks. */
#include "counted_calls.h"
#include "harness.h"

#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <math.h>

enum { ITEMS = 4000, PARTS = 6 };

typedef struct items {
    int64_t n, size[ITEMS];
    double x[ITEMS][3], weight[ITEMS];
    int part[ITEMS], part_now[ITEMS];
} items;

/* Items on random ranks, most of them in a corner. */
static void make_items(MPI_Comm comm, items *t)
{
    t->n = 0;
    for (uint64_t i = 0; i < ITEMS; i++) {
        if ((int)(eqp_random_uniform(3, i, 9) * mpi_test_size(comm)) == mpi_test_rank(comm)) {
            for (uint64_t k = 0; k < 3; k++) {
                t->x[t->n][k] = pow(eqp_random_uniform(3, i, k), 6);
            }
            t->weight[t->n] = 0.5 + eqp_random_uniform(3, i, 3);
            t->size[t->n] = 8;
            t->part_now[t->n++] = (int)(i % PARTS);
        }
    }
}

/* Collective calls of a method; 0: not built. Zoltan's own calls on one rank alone do not synchronize and do not
 * count. */
static long count(MPI_Comm comm, const char *name, bool bare)
{
    static items t;
    eqp_balance_options options = eqp_balance_options_defaults();

    if (eqp_method_find(name) == NULL) {
        return 0;
    }
    make_items(comm, &t);
    options.nparts = PARTS;
    const eqp_points points = {.n = t.n,
                               .x = t.x,
                               .weight = bare ? NULL : t.weight,
                               .size = bare ? NULL : t.size,
                               .part_now = bare ? NULL : t.part_now};
    const long before = counted_blocking + counted_others;
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find(name), &points, &options, t.part, NULL), EQP_OK);
    return counted_blocking + counted_others - before;
}

MPI_TEST(parts_cost_few_calls_on_any_ranks)
{
    static const struct {
        const char *name;
        long most;
    } row[] = {{"sfc", 16}, {"count", 16}, {"none", 16}, {"rcb", 9}, {"rib", 9}, {"voronoi", 9}, {"tensor", 24}};
    enum { ROWS = sizeof row / sizeof row[0] };
    static long first[ROWS][2];

    for (int k = 0; k < ROWS && mpi_test_size(comm) > 1; k++) {
        for (int bare = 0; bare < 2; bare++) {
            const long calls = count(comm, row[k].name, bare > 0);
            if (calls > row[k].most || (first[k][bare] > 0 && calls != first[k][bare])) {
                fprintf(stderr, "%s: %ld calls, %ld on other ranks\n", row[k].name, calls, first[k][bare]);
            }
            CHECK(calls <= row[k].most && (first[k][bare] == 0 || calls == first[k][bare]));
            first[k][bare] = calls;
        }
    }
}

/* Ranks get about equal numbers of items although not all keys are exchanged. */
MPI_TEST(an_order_costs_few_calls)
{
    static items t;
    eqp_point_order *order = NULL;

    make_items(comm, &t);
    const eqp_points points = {.n = t.n, .x = t.x};
    const long before = counted_blocking + counted_others;
    CHECK_EQUAL(eqp_point_order_create(comm, &points, &order), EQP_OK);
    const int64_t n = eqp_point_order_count(order);
    CHECK((double)n < 1.05 * ITEMS / mpi_test_size(comm) + 1);
    double *const weight = mpi_test_alloc((size_t)n + 1, sizeof *weight);
    CHECK_EQUAL(eqp_point_order_bring(order, sizeof *weight, t.weight, weight), EQP_OK);
    CHECK_EQUAL(eqp_point_order_return(order, sizeof *weight, weight, t.weight), EQP_OK);
    CHECK(counted_blocking + counted_others - before <= 10);
    free(weight);
    eqp_point_order_free(order);
}
