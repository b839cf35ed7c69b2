/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of single methods: stability, shapes, parts that do not depend on the ranks, measured loads. */
#include "methods/rcb/rcb.h"
#include "methods/tiles/tiles.h"
#include "methods_world.h"

/* Number of items that change parts when the weights change slightly. */
static int64_t moved_again(MPI_Comm comm, const char *name)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 6, .now = IN_ORDER});
    const eqp_method *method = eqp_method_find(name);
    eqp_balance_result r;

    CHECK(method != NULL);
    balance(comm, method, w, w->now, &r);
    for (int i = 0; i < MOST_ITEMS; i++) {
        w->weight[i] *= 1 + 0.1 * uniform(i, 9);
    }
    int part[MOST_ITEMS];
    balance(comm, method, w, part, &r);
    free(w);
    return r.moved;
}

MPI_TEST(repartitioning_moves_little)
{
    static const char *const names[] = {"rcb", "rib", "interaction", "tiles", "jagged", "voronoi"};

    for (int k = 0; k < 6; k++) {
        CHECK(moved_again(comm, names[k]) < MOST_ITEMS / 4);
    }
}

static void check_common_bisection(MPI_Comm comm, const char *how, problem is)
{
    world *w = make_world(is);
    eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);
    eqp_balance_result r;
    eqp_part_loads loads;
    int part[MOST_ITEMS];

    CHECK_EQUAL(eqp__bisect_assign(comm, &items, &options, how, 0, part, &r), EQP_OK);
    CHECK_EQUAL(eqp__parts_load_all(comm, items.n, items.weight, part, is.nparts, options.share, &loads), EQP_OK);
    CHECK_EQUAL(loads.empty, 0);
    if (is.weights == RANDOM_WEIGHTS) {
        CHECK(loads.imbalance <= 0.05 + (2 + log2(is.nparts)) * w->largest / (w->total * w->smallest_share));
    }
    free(w);
}

MPI_TEST(all_ranks_together_bisect_as_well)
{
    for (int k = 0; k < 5 * 4 * 2; k++) {
        const int nparts = 1 + k / 8 * 3;
        const enum weights weights = (enum weights)(k / 2 % 4);
        const problem is = {.n = MOST_ITEMS,
                            .nparts = nparts,
                            .weights = weights,
                            .points = k % 2 ? ONE_POINT : SPREAD_POINTS,
                            .shares = weights == EQUAL_WEIGHTS ? RISING_SHARES : EQUAL_SHARES,
                            .spread = nparts % 2 ? EVEN : ALL_ON_LAST};
        check_common_bisection(comm, "RCB", is);
        check_common_bisection(comm, "RIB", is);
    }
}

static void check_common_tiles(MPI_Comm comm, problem is, bool jagged)
{
    world *w = make_world(is);
    const eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);
    int part[MOST_ITEMS], same[MOST_ITEMS];

    if (is.nparts % 3 > 0) { /* otherwise the number is estimated and may exceed nparts */
        CHECK_EQUAL(eqp_method_set(eqp_method_find("jagged"), "columns", is.nparts % 3 == 1 ? "1" : "2",
                                   &options.settings, NULL),
                    EQP_OK);
    }
    CHECK_EQUAL(eqp__tiles_cut_all(comm, &items, &options, jagged, 0, part), EQP_OK);
    CHECK_EQUAL(eqp__tiles_cut_all(comm, &items, &options, jagged, INT64_MAX, same), EQP_OK);
    CHECK(memcmp(part, same, (size_t)items.n * sizeof *part) == 0);
    free(w);
}

MPI_TEST(all_ranks_together_cut_the_same_tiles)
{
    for (int k = 0; k < 48; k++) {
        check_common_tiles(comm,
                           (problem){.n = k % 5 == 4 ? 9 : MOST_ITEMS,
                                     .nparts = k % 7 == 6 ? 100 : 1 + 2 * k % 13,
                                     .weights = (enum weights)(k % 4),
                                     .points = k / 4 % 3 == 2 ? ONE_POINT : SPREAD_POINTS,
                                     .shares = k % 3 == 1 ? RISING_SHARES : EQUAL_SHARES,
                                     .spread = (enum spread)(k / 8 % 3)},
                           k / 24 > 0);
    }
}

MPI_TEST(repartitioning_anew_keeps_the_promises)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 5, .now = IN_ORDER});
    int part[MOST_ITEMS];
    eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);
    double *pin_weight = mpi_test_alloc(MOST_ITEMS * PINS, sizeof *pin_weight);
    eqp_balance_result r;

    for (int k = 0; k < MOST_ITEMS * PINS; k++) {
        pin_weight[k] = 32 + k % 7;
    }
    items.pin_weight = pin_weight;
    CHECK_EQUAL(eqp_method_set(eqp_method_find("interaction"), "fresh", "10", &options.settings, NULL), EQP_OK);
    CHECK_EQUAL(eqp_balance(comm, eqp_method_find("interaction"), &items, &options, part, &r), EQP_OK);
    CHECK(r.within);
    CHECK_EQUAL(r.empty_parts, 0);
    /* About half of the items move; without renumbering of parts it would be four fifths. */
    CHECK(10 * r.moved < 7 * MOST_ITEMS);
    free(pin_weight);
    free(w);
}

/* Ids that items of several parts touch, each counted for every part beyond the first. */
static int64_t cut_of(const world *w, const int *part)
{
    int64_t cut = 0;

    for (int other = 0; other < MOST_ITEMS; other++) {
        unsigned parts = 0;
        for (int64_t k = 0; k < (int64_t)MOST_ITEMS * PINS; k++) {
            parts |= w->pin[k] >> 34 == other ? 1u << part[k / PINS] : 0;
        }
        cut += __builtin_popcount(parts) - (parts > 0);
    }
    return cut;
}

MPI_TEST(the_hypergraph_cuts_less_than_dealing_items_out)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 4});
    eqp_balance_result r;
    int part[MOST_ITEMS], dealt[MOST_ITEMS];

    balance(comm, eqp_method_find("interaction"), w, part, &r);
    for (int i = 0; i < MOST_ITEMS; i++) {
        dealt[i] = i % 4;
    }
    CHECK((double)cut_of(w, part) < 0.7 * (double)cut_of(w, dealt));
    free(w);
}

/* One row of slabs meets any shares, and part numbers rise with position. */
MPI_TEST(planes_keep_the_numbers_of_their_grid)
{
    const eqp_method *method = eqp_method_find("tensor");
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 5, .shares = RISING_SHARES, .now = IN_ORDER});
    eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w), other = options;
    eqp_message message = {""};
    eqp_balance_result r;
    int part[MOST_ITEMS] = {0};

    CHECK_EQUAL(eqp_method_set(method, "x", "5", &options.settings, NULL), EQP_OK);
    CHECK_EQUAL(eqp_balance(comm, method, &items, &options, part, &r), EQP_OK);
    CHECK(r.imbalance <= 0.05 + w->largest / (w->total * w->smallest_share));
    for (int64_t i = 0; i < items.n; i++) {
        for (int64_t j = 0; j < items.n; j++) {
            CHECK(items.point[3 * i] > items.point[3 * j] || part[i] <= part[j]);
        }
    }
    other.message = &message;
    CHECK_EQUAL(eqp_method_set(method, "y", "2", &other.settings, NULL), EQP_OK);
    CHECK_EQUAL(eqp_balance(comm, method, &items, &other, part, &r), EQP_ERR_ARGUMENT);
    CHECK(strcmp(message.text, "balance: tensor: no grid of 5 parts has y=2") == 0);
    free(w);
}

/* The cells are the same for any distribution of the sampled items over ranks. */
MPI_TEST(cells_do_not_depend_on_the_spread)
{
    const eqp_method *method = eqp_method_find("voronoi");
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 6, .now = IN_ORDER, .spread = EVERY_OTHER_RANK});
    const int first = first_of(&w->is, mpi_test_rank(comm), mpi_test_size(comm));
    const eqp_balance_items items = items_of(comm, w), all = items_of(MPI_COMM_SELF, w);
    int part[MOST_ITEMS], alone[MOST_ITEMS];
    eqp_balance_result r, s;

    for (int k = 0; k < 4; k++) {
        eqp_balance_options options = options_of(w);
        CHECK_EQUAL(eqp_method_set(method, "centres", k % 2 ? "moving" : "fixed", &options.settings, NULL), EQP_OK);
        CHECK_EQUAL(eqp_method_set(method, "sample", k < 2 ? "100000" : "220", &options.settings, NULL), EQP_OK);
        CHECK_EQUAL(eqp_balance(comm, method, &items, &options, part, &r), EQP_OK);
        CHECK_EQUAL(eqp_balance(MPI_COMM_SELF, method, &all, &options, alone, &s), EQP_OK);
        CHECK(memcmp(part, alone + first, (size_t)items.n * sizeof *part) == 0);
        CHECK_NEAR(r.imbalance, s.imbalance, 1e-12);
        CHECK(r.imbalance <= (k < 2 ? 0.05 : 0.5));
    }
    free(w);
}

/* One step of feedback with the loads that the parts of w->now would measure; all parts on every rank. */
static int feed_back(MPI_Comm comm, world *w, const double *measured, int *part, eqp_balance_result *r)
{
    const eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);

    options.part_load = measured;
    return balance_items(comm, eqp_method_find("feedback"), w, &items, &options, part, r);
}

MPI_TEST(measured_loads_move_the_cuts)
{
    enum { PARTS = 5 };
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = PARTS, .now = IN_ORDER});
    int part[MOST_ITEMS];
    eqp_balance_result r;
    double first = 0;

    for (int i = 0; i < MOST_ITEMS; i++) {
        w->weight[i] = 1 + (double)i * i / MOST_ITEMS;
        w->particles[i] = 1;
    }
    for (int step = 0; step < 8; step++) {
        double measured[PARTS] = {0};
        for (int i = 0; i < MOST_ITEMS; i++) {
            measured[w->now[i]] += w->weight[i];
        }
        CHECK_EQUAL(feed_back(comm, w, measured, part, &r), EQP_OK);
        first = step == 0 ? r.imbalance : first;
        memcpy(w->now, part, sizeof part);
    }
    CHECK(first > 0.05);
    CHECK(r.imbalance < 0.05);
    free(w);
}

MPI_TEST(loads_that_say_nothing_move_no_cuts)
{
    enum { PARTS = 4 };
    static const double nothing[PARTS] = {0}, some[PARTS] = {1, 2, 3, 4};
    int part[MOST_ITEMS], counted[MOST_ITEMS];
    eqp_balance_result r;
    world *w = make_world((problem){.n = 300, .nparts = PARTS, .now = ALL_IN_ONE});

    CHECK_EQUAL(feed_back(comm, w, nothing, part, &r), EQP_OK);
    CHECK_EQUAL(r.moved, 0);
    free(w);
    w = make_world((problem){.n = 300, .nparts = PARTS, .now = SOME_UNKNOWN});
    balance(comm, eqp_method_find("count"), w, counted, &r);
    CHECK_EQUAL(feed_back(comm, w, some, part, &r), EQP_OK);
    CHECK(memcmp(part, counted, 300 * sizeof *part) == 0);
    free(w);
}

/* ---- diffusion ---- */

enum { ROW_PARTS = 6 };

/* Items in a row along x. Pins connect neighbors; each part has more work than the one before. */
static world *make_row(void)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = ROW_PARTS, .now = IN_ORDER});

    for (int i = 0; i < MOST_ITEMS; i++) {
        w->id[i] = i;
        w->weight[i] = 1 + 4.0 * i / MOST_ITEMS;
        w->pin_first[i + 1] = w->pin_first[i] + 3;
        for (int k = 0; k < 3; k++) {
            w->point[3 * i + k] = (k == 0 ? 0.05 * i : 0) + eqp_random_uniform(3, (uint64_t)i, (uint64_t)k);
            w->pin[w->pin_first[i] + k] = i + k;
        }
    }
    return w;
}

/* How neighbors are found: by position, by pins, by pins of some weights. All parts on every rank. */
enum neighbours { BY_PLACE, BY_PINS, BY_WEIGHTS };

static void diffuse(MPI_Comm comm, world *w, const char *steps, enum neighbours known, bool now, int *part,
                    eqp_balance_result *r)
{
    double pin_weight[3 * MOST_ITEMS];
    eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);

    for (int k = 0; k < 3 * MOST_ITEMS; k++) {
        pin_weight[k] = 1 + k % 3;
    }
    items.part_now = now ? items.part_now : NULL;
    items.pin_first = known == BY_PLACE ? NULL : items.pin_first;
    items.pin_weight = known == BY_WEIGHTS ? pin_weight : NULL;
    options.imbalance_tol = eqp_balance_options_defaults().imbalance_tol;
    CHECK_EQUAL(eqp_method_set(eqp_method_find("diffusion"), "steps", steps, &options.settings, NULL), EQP_OK);
    CHECK_EQUAL(balance_items(comm, eqp_method_find("diffusion"), w, &items, &options, part, r), EQP_OK);
}

MPI_TEST(work_flows_step_by_step)
{
    for (int k = BY_PLACE; k <= BY_WEIGHTS; k++) {
        world *w = make_row();
        int part[MOST_ITEMS];
        eqp_balance_result r;
        eqp_part_loads loads;

        CHECK_EQUAL(eqp__parts_load(MOST_ITEMS, w->weight, w->now, ROW_PARTS, NULL, NULL, &loads), EQP_OK);
        CHECK(loads.imbalance > 0.5);
        double before = loads.imbalance;
        for (int step = 0; step < 40; step++) {
            diffuse(comm, w, "1", (enum neighbours)k, true, part, &r);
            CHECK(r.imbalance <= before + 1e-9);
            for (int i = 0; i < MOST_ITEMS; i++) { /* parts in a row have a left and a right neighbor */
                CHECK(abs(part[i] - w->now[i]) <= 1);
            }
            before = r.imbalance;
            memcpy(w->now, part, sizeof part);
        }
        CHECK(before <= 0.06); /* a staircase remains: each part has nearly an item more than the next */
        diffuse(comm, w, "1000", (enum neighbours)k, true, part, &r);
        CHECK(r.within);
        free(w);
    }
}

/* The result does not depend on the ranks. Without known parts the method falls back to cutting the curve. */
MPI_TEST(one_call_goes_all_the_way)
{
    world *w = make_row();
    int part[MOST_ITEMS], alone[MOST_ITEMS];
    eqp_balance_result r;

    diffuse(comm, w, "1000", BY_WEIGHTS, true, part, &r);
    CHECK(r.within);
    CHECK(r.moved > 0 && r.moved < 3 * MOST_ITEMS / 4); /* even cuts of this row move 383 items in total */
    diffuse(MPI_COMM_SELF, w, "1000", BY_WEIGHTS, true, alone, &r);
    CHECK(memcmp(part, alone, sizeof part) == 0);
    diffuse(comm, w, "1", BY_PLACE, false, part, &r);
    CHECK(r.within);
    for (int i = 1; i < MOST_ITEMS; i++) {
        CHECK(part[i] >= part[i - 1]);
    }
    free(w);
}
