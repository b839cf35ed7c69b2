/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `diffusion`: what test_methods.c does not ask of every row. */
#include "harness.h"
#include "methods/frame/parts.h"

#include <equipoise/balance.h>
#include <equipoise/more/random.h>

#include <math.h>

enum { ITEMS = 600, PARTS = 6, PINS = 3 };

/* All items of all ranks, in a row along x; every rank has a copy. Pins are places between neighbours. */
typedef struct world {
    int64_t id[ITEMS], pin_first[ITEMS + 1], pin[ITEMS * PINS];
    double weight[ITEMS], point[3 * ITEMS], pin_weight[ITEMS * PINS];
    int now[ITEMS];
} world;

static world *make_world(void)
{
    world *w = mpi_test_alloc(1, sizeof *w);

    for (int i = 0; i < ITEMS; i++) {
        w->id[i] = i;
        w->weight[i] = 1 + 4.0 * i / ITEMS; /* each part has more work than the one before */
        w->now[i] = i * PARTS / ITEMS;
        w->pin_first[i + 1] = w->pin_first[i] + PINS;
        for (int k = 0; k < 3; k++) {
            w->point[3 * i + k] = (k == 0 ? 0.05 * i : 0) + eqp_random_uniform(3, (uint64_t)i, (uint64_t)k);
        }
        for (int k = 0; k < PINS; k++) {
            w->pin[w->pin_first[i] + k] = i + k;
            w->pin_weight[w->pin_first[i] + k] = 1 + k;
        }
    }
    return w;
}

/* How far a call goes, and what it knows. */
typedef struct way {
    const char *steps;
    int pins, weighted, now;
} way;

/* All parts on every rank. */
static void diffuse(MPI_Comm comm, const world *w, way is, int *part, eqp_balance_result *r)
{
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);
    const int64_t first = (int64_t)ITEMS * rank / nranks, n = (int64_t)ITEMS * (rank + 1) / nranks - first;
    int64_t *count = mpi_test_alloc(nranks, sizeof *count), pin_first[ITEMS + 1];
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_balance_items items = {.n = n, .id = w->id + first, .weight = w->weight + first};
    int mine[ITEMS];

    for (int64_t i = 0; i <= n; i++) {
        pin_first[i] = w->pin_first[first + i] - w->pin_first[first];
    }
    items.point = w->point + 3 * first;
    items.part_now = is.now ? w->now + first : NULL;
    items.pin_first = is.pins ? pin_first : NULL;
    items.pin = is.pins ? w->pin + w->pin_first[first] : NULL;
    items.pin_weight = is.pins && is.weighted ? w->pin_weight + w->pin_first[first] : NULL;
    options.nparts = PARTS;
    CHECK_EQUAL(eqp_method_set(eqp_method_find("diffusion"), "steps", is.steps, &options.settings, NULL), EQP_OK);
    CHECK_EQUAL(eqp_balance(comm, eqp_method_find("diffusion"), &items, &options, mine, r), EQP_OK);
    for (int q = 0; q < nranks; q++) {
        count[q] = (int64_t)ITEMS * (q + 1) / nranks - (int64_t)ITEMS * q / nranks;
    }
    CHECK_EQUAL(eqp_gather_all(comm, sizeof *part, n, mine, count, part), EQP_OK);
    free(count);
}

MPI_TEST(work_flows_step_by_step)
{
    for (int k = 0; k < 3; k++) {
        world *w = make_world();
        double before;
        int part[ITEMS];
        eqp_balance_result r;
        eqp_part_loads loads;

        CHECK_EQUAL(eqp__parts_load(ITEMS, w->weight, w->now, PARTS, NULL, NULL, &loads), EQP_OK);
        CHECK(loads.imbalance > 0.5);
        before = loads.imbalance;
        for (int step = 0; step < 40; step++) {
            diffuse(comm, w, (way){"1", k > 0, k > 1, 1}, part, &r);
            CHECK(r.imbalance <= before + 1e-9);
            for (int i = 0; i < ITEMS; i++) { /* in a row parts have neighbours to the left and to the right */
                CHECK(abs(part[i] - w->now[i]) <= 1);
            }
            before = r.imbalance;
            memcpy(w->now, part, sizeof part);
        }
        CHECK(before <= 0.06); /* stairs are left: each part has nearly an item more than the next */
        diffuse(comm, w, (way){"1000", k > 0, k > 1, 1}, part, &r);
        CHECK(r.within);
        free(w);
    }
}

MPI_TEST(one_call_goes_all_the_way)
{
    world *w = make_world();
    int part[ITEMS], alone[ITEMS];
    eqp_balance_result r;

    diffuse(comm, w, (way){"1000", 1, 1, 1}, part, &r);
    CHECK(r.within);
    CHECK(r.moved > 0 && r.moved < 3 * ITEMS / 4); /* even cuts of this row lie 383 items further in all */
    diffuse(MPI_COMM_SELF, w, (way){"1000", 1, 1, 1}, alone, &r);
    CHECK(memcmp(part, alone, sizeof part) == 0);
    free(w);
}

/* Then there is nothing to do but to cut. */
MPI_TEST(unknown_parts_are_those_of_the_curve)
{
    world *w = make_world();
    int part[ITEMS];
    eqp_balance_result r;

    diffuse(comm, w, (way){"1", 0, 0, 0}, part, &r);
    CHECK(r.within);
    for (int i = 1; i < ITEMS; i++) {
        CHECK(part[i] >= part[i - 1]);
    }
    free(w);
}
