/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/frame.h"
#include "methods_world.h"

static int is_named(const eqp_method *method, const char *name)
{
    return strcmp(method->name, name) == 0;
}

static void check_result(const eqp_method *method, const world *w, const int *part, const eqp_balance_result *r)
{
    const problem *is = &w->is;
    int keeps = is_named(method, "none") && is->now != UNKNOWN && is->now != SOME_UNKNOWN;
    int64_t moved = 0, bytes = 0;
    eqp_part_loads loads;

    for (int i = 0; i < is->n; i++) {
        CHECK(part[i] >= 0 && part[i] < is->nparts);
        int known = is->now != UNKNOWN && w->now[i] >= 0 && w->now[i] < is->nparts;
        moved += known && w->now[i] != part[i];
        bytes += known && w->now[i] != part[i] ? w->size[i] : 0;
    }
    CHECK_EQUAL(eqp__parts_load(is->n, w->weight, part, is->nparts, w->share, NULL, &loads), EQP_OK);
    CHECK_NEAR(r->imbalance, loads.imbalance, 1e-9);
    CHECK_NEAR(r->load_max, loads.max, 1e-9 * (1 + loads.max));
    CHECK_NEAR(r->load_mean, loads.mean, 1e-9 * (1 + loads.mean));
    CHECK_EQUAL(r->empty_parts, loads.empty);
    CHECK_EQUAL(r->items, is->n);
    CHECK_EQUAL(r->moved, moved);
    CHECK_EQUAL(r->moved_bytes, bytes);
    CHECK_EQUAL(r->within, r->imbalance <= 0.05 + 1e-9);
    CHECK(r->imbalance >= r->imbalance_floor - 1e-9);
    CHECK_EQUAL(r->curve_better, !r->within && r->imbalance_curve < r->imbalance);
    /* Boxes between planes across all items may be empty. */
    if (!keeps && !(method->flags & EQP_SHAPED) && is->shares == EQUAL_SHARES && is->n >= is->nparts) {
        CHECK_EQUAL(r->empty_parts, 0);
    }
    if (keeps) {
        CHECK_EQUAL(moved, 0);
    }
}

static void check_cycle(const world *w, const int *part, const eqp_balance_result *r)
{
    const problem *is = &w->is;
    eqp_cycle cycle;

    if (is->phases == 0 || is->n == 0) {
        CHECK_NEAR(r->cycle_efficiency, 1 / (1 + r->imbalance), 1e-15);
        CHECK(r->phase_imbalance[0] == r->imbalance && r->phase_imbalance[1] == 0);
        return;
    }
    CHECK_EQUAL(eqp__cycle_measure(is->n, w->phase_load, part, is->phases, w->times, is->nparts, w->share, &cycle),
                EQP_OK);
    CHECK_NEAR(r->cycle_efficiency, cycle.efficiency, 1e-12);
    for (int k = 0; k < EQP_CYCLE_PHASES; k++) {
        CHECK_NEAR(r->phase_imbalance[k], cycle.imbalance[k], 1e-9);
    }
}

static int cuts_sources(const eqp_method *method)
{
    return is_named(method, "tiles") || is_named(method, "jagged");
}

static void check_balance(const eqp_method *method, const world *w, const eqp_balance_result *r)
{
    if (!(w->total > 0)) {
        CHECK_EQUAL(r->imbalance, 0);
        return;
    }
    double item = w->largest / (w->total * w->smallest_share);
    if (is_named(method, "sfc")) {
        CHECK(r->imbalance <= item + 1e-9);
    }
    const int scalar = w->is.phases < 2 || !is_named(method, "metis");
    if (scalar && ((method->flags & EQP_NEEDS_PINS) || is_named(method, "repair") || cuts_sources(method)) &&
        item <= 0.05) {
        CHECK(r->within);
    }
    if (is_named(method, "repair") && w->is.now == IN_ORDER && w->is.shares == EQUAL_SHARES && item <= 0.05) {
        CHECK(r->moved <= w->is.n / 10);
    }
    if (cuts_sources(method)) {
        CHECK(r->imbalance <= 0.05 + item);
    }
    if (((is_named(method, "rcb") && w->is.phases < 2) || is_named(method, "rib")) && w->is.shares == EQUAL_SHARES &&
        w->is.points == SPREAD_POINTS) {
        CHECK(r->imbalance <= 0.05 + (2 + log2(w->is.nparts)) * item);
    }
}

/* Curves and bisections do not depend on the distribution of items over ranks, and are the same without MPI; every
 * method gives the same parts twice. */
static void check_repeatable(MPI_Comm comm, const eqp_method *method, world *w, const int *part)
{
    const int by_phg = is_named(method, "interaction") || is_named(method, "hypergraph");
    const eqp_balance_items items = items_of(MPI_COMM_SELF, w);
    const eqp_balance_options options = options_of(w);
    int again[MOST_ITEMS];
    eqp_balance_result r;

    if (method->assign_alone != NULL && w->is.phases == 0) {
        CHECK_EQUAL(method->assign_alone(&items, &options, again, &r), EQP_OK);
    } else {
        balance(!by_phg ? MPI_COMM_SELF : comm, method, w, again, &r);
    }
    CHECK(memcmp(again, part, (size_t)w->is.n * sizeof *part) == 0);
}

static void check_problem(MPI_Comm comm, problem is)
{
    static int problems;
    world *w = make_world(is);

    problems++;
    for (int m = 0; m <= eqp_method_count(); m++) {
        const eqp_method *method = m < eqp_method_count() ? eqp_method_at(m) : &eqp__method_repair;
        mpi_test_case = method->name;
        int part[MOST_ITEMS];
        eqp_balance_result r;
        /* Each of the slowest methods runs on a third of the problems. */
        const int takes_long = (method->flags & (EQP_NEEDS_PINS | EQP_NEEDS_UNITS)) == EQP_NEEDS_PINS;
        if (!mpi_test_takes(m + problems) || (takes_long && (m + problems) % 3 != 0)) {
            continue;
        }
        balance(comm, method, w, part, &r);
        check_result(method, w, part, &r);
        check_balance(method, w, &r);
        check_cycle(w, part, &r);
        check_repeatable(comm, method, w, part);
    }
    free(w);
}

MPI_TEST(any_number_of_parts)
{
    const int nparts[] = {1, 2, 3, 8, 13, mpi_test_size(comm)};

    for (size_t k = 0; k < sizeof nparts / sizeof nparts[0]; k++) {
        check_problem(comm, (problem){.n = MOST_ITEMS, .nparts = nparts[k], .now = k % 2 ? IN_ORDER : UNKNOWN});
    }
}

MPI_TEST(any_present_parts)
{
    for (int now = UNKNOWN; now <= ALL_IN_ONE; now++) {
        check_problem(comm, (problem){.n = 300, .nparts = 5, .now = (enum now)now});
    }
}

MPI_TEST(any_spread_over_the_ranks)
{
    for (int spread = EVEN; spread <= EVERY_OTHER_RANK; spread++) {
        check_problem(comm, (problem){.n = 250, .nparts = 6, .now = IN_ORDER, .spread = (enum spread)spread});
    }
}

MPI_TEST(any_weights_and_points)
{
    for (int weights = RANDOM_WEIGHTS; weights <= ONE_GIANT; weights++) {
        for (int points = SPREAD_POINTS; points <= ONE_POINT; points++) {
            check_problem(comm, (problem){.n = 200,
                                          .nparts = 7,
                                          .weights = (enum weights)weights,
                                          .points = (enum points)points,
                                          .now = IN_ORDER});
        }
    }
}

MPI_TEST(unequal_shares)
{
    for (int nparts = 2; nparts <= 7; nparts++) {
        check_problem(comm, (problem){.n = 400, .nparts = nparts, .shares = RISING_SHARES, .now = IN_ORDER});
    }
}

MPI_TEST(few_items)
{
    for (int n = 0; n <= 5; n++) {
        for (int nparts = 1; nparts <= 9; nparts += 4) {
            const problem alike = {.n = n, .nparts = nparts, .now = IN_ORDER, .weights = EQUAL_WEIGHTS};
            const problem random = {.n = n, .nparts = nparts, .spread = n % 2 ? ALL_ON_LAST : EVEN};
            check_problem(comm, (n / 2 + nparts / 4) % 2 ? alike : random);
        }
    }
}

MPI_TEST(any_phases)
{
    static const int phases[] = {1, 2, 5, MOST_PHASES};

    for (int k = 0; k < 8; k++) {
        check_problem(comm, (problem){.n = k == 3 ? 7 : 450,
                                      .nparts = k == 3 ? 9 : 6,
                                      .weights = k == 5 ? ZERO_WEIGHTS : RANDOM_WEIGHTS,
                                      .now = k % 2 ? IN_ORDER : UNKNOWN,
                                      .shares = k % 3 == 2 ? RISING_SHARES : EQUAL_SHARES,
                                      .spread = (enum spread)(k % 3),
                                      .phases = phases[k % 4]});
    }
}

MPI_TEST(phases_come_out_even)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 6, .now = IN_ORDER, .phases = 4});
    int part[MOST_ITEMS];
    eqp_balance_result curve, levelled;

    balance(comm, eqp_method_find("sfc"), w, part, &curve);
    balance(comm, eqp_method_find("levelled"), w, part, &levelled);
    CHECK(levelled.cycle_efficiency > 0.95);
    CHECK(levelled.cycle_efficiency >= curve.cycle_efficiency);
    for (int k = 0; k < 4; k++) {
        CHECK(levelled.phase_imbalance[k] <= 0.1);
    }
    free(w);
}

MPI_TEST(one_phase_is_one_load)
{
    world *w = make_world((problem){.n = 500, .nparts = 7, .now = IN_ORDER});
    int curve[MOST_ITEMS], part[MOST_ITEMS];
    eqp_balance_result r;

    balance(comm, eqp_method_find("sfc"), w, curve, &r);
    balance(comm, eqp_method_find("levelled"), w, part, &r);
    CHECK(memcmp(curve, part, 500 * sizeof *part) == 0);
    free(w);
}

/* No part exceeds its capacity if parts would without the limit; a shaped method may refuse instead. */
MPI_TEST(capacities_hold)
{
    enum { PARTS = 5 };
    world *w = make_world((problem){.n = 400, .nparts = PARTS, .now = IN_ORDER, .spread = EVERY_OTHER_RANK});
    int64_t capacity[PARTS];
    const eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);

    for (int p = 0; p < PARTS; p++) {
        capacity[p] = (int64_t)(400 * 209.5 / PARTS * (p == 0 ? 0.7 : 1.15)); /* 1.06 of all items in total */
    }
    options.capacity = capacity;
    for (int m = 0; m <= eqp_method_count(); m++) {
        const eqp_method *method = m < eqp_method_count() ? eqp_method_at(m) : &eqp__method_repair;
        mpi_test_case = method->name;
        int64_t fill[PARTS] = {0};
        int part[MOST_ITEMS];
        eqp_balance_result r;
        const int code = eqp_balance(comm, method, &items, &options, part, &r);
        for (int64_t i = 0; i < items.n && code == EQP_OK; i++) {
            fill[part[i]] += items.size[i];
        }
        CHECK_EQUAL(code, method->flags & EQP_SHAPED ? EQP_ERR_CAPACITY : EQP_OK);
        CHECK_EQUAL(eqp_sum_int64(comm, PARTS, fill), EQP_OK);
        for (int p = 0; p < PARTS && code == EQP_OK; p++) {
            CHECK(fill[p] <= capacity[p]);
        }
        CHECK(code != EQP_OK || !(method->flags & EQP_NEEDS_WEIGHTS) || r.imbalance <= 0.1);
        CHECK(code != EQP_OK || r.repaired > 0);
    }
    free(w);
}

/* Every rank has the message with the proof. */
MPI_TEST(what_is_too_much_is_proven)
{
    world *w = make_world((problem){.n = 100, .nparts = 2});
    int64_t capacity[2] = {2000, 2949}; /* 5950 items in total */
    const eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);
    eqp_message message = {""};
    int part[MOST_ITEMS];

    options.capacity = capacity;
    options.message = &message;
    CHECK_EQUAL(eqp_balance(comm, eqp_method_find("sfc"), &items, &options, part, NULL), EQP_ERR_CAPACITY);
    CHECK(strstr(message.text, "proven: the items sum to 5950, the capacities to 4949") != NULL);
    free(w);
}
