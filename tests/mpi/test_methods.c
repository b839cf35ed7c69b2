/* SPDX-License-Identifier: BSD-3-Clause */
/* Every row of the table of methods keeps the same promises. */
#include "harness.h"

#include <equipoise/balance.h>
#include <equipoise/random.h>
#include <equipoise/tiles.h>

#include <math.h>

enum { MOST_ITEMS = 600, PINS = 6, MOST_PHASES = 16 };

enum weights { RANDOM_WEIGHTS, EQUAL_WEIGHTS, ZERO_WEIGHTS, ONE_GIANT };
enum points { SPREAD_POINTS, ONE_POINT };
enum now { UNKNOWN, SOME_UNKNOWN, IN_ORDER, ALL_IN_ONE };
enum shares { EQUAL_SHARES, RISING_SHARES };
enum spread { EVEN, ALL_ON_LAST, EVERY_OTHER_RANK };

typedef struct problem {
    int n, nparts;
    enum weights weights;
    enum points points;
    enum now now;
    enum shares shares;
    enum spread spread;
    int phases; /* 0: one load */
} problem;

/* All items of all ranks; every rank has a copy. */
typedef struct world {
    problem is;
    int64_t id[MOST_ITEMS], particles[MOST_ITEMS], size[MOST_ITEMS], pin_first[MOST_ITEMS + 1];
    int64_t pin[MOST_ITEMS * PINS];
    double weight[MOST_ITEMS], point[3 * MOST_ITEMS], source[3 * MOST_ITEMS], share[MOST_ITEMS + 20];
    int now[MOST_ITEMS];
    double phase_load[MOST_ITEMS * MOST_PHASES], times[MOST_PHASES];
    double total, largest, smallest_share;
} world;

static double uniform(int64_t i, int64_t k)
{
    return eqp_random_uniform(21, (uint64_t)i, (uint64_t)k);
}

static double weight_of(const problem *is, int i)
{
    switch (is->weights) {
    case EQUAL_WEIGHTS:
        return 3;
    case ZERO_WEIGHTS:
        return 0;
    case ONE_GIANT:
        return i == is->n / 3 ? 1e4 : 1;
    default:
        return 0.5 + uniform(i, 0);
    }
}

static int now_of(const problem *is, int i)
{
    switch (is->now) {
    case ALL_IN_ONE:
        return is->nparts - 1;
    case SOME_UNKNOWN:
        return i % 5 ? i * is->nparts / is->n : i % 2 ? -1 : is->nparts;
    default:
        return (int)((int64_t)i * is->nparts / is->n);
    }
}

/* Phase k has every second item of phase k - 1, at random, and comes twice as often; phase 3 has nothing. Weights are
 * sums over a cycle. */
static void make_phases(world *w)
{
    const int phases = w->is.phases;

    for (int k = 0; k < phases; k++) {
        w->times[k] = ldexp(1, k);
    }
    for (int i = 0; i < w->is.n; i++) {
        const double depth = -log2(1 - uniform(i, 20)), load = w->weight[i];
        w->weight[i] = phases > 0 ? 0 : w->weight[i];
        for (int k = 0; k < phases; k++) {
            w->phase_load[i * phases + k] = depth >= k && k != 3 ? load : 0;
            w->weight[i] += w->times[k] * w->phase_load[i * phases + k];
        }
    }
}

static void make_shares(world *w)
{
    double sum = 0;

    w->smallest_share = 1;
    for (int p = 0; p < w->is.nparts; p++) {
        w->share[p] = w->is.shares == EQUAL_SHARES ? 1 : 1 + p % 3;
        sum += w->share[p];
    }
    for (int p = 0; p < w->is.nparts; p++) {
        w->share[p] /= sum;
        w->smallest_share = fmin(w->smallest_share, w->share[p]);
    }
}

static world *make_world(problem is)
{
    world *w = mpi_test_alloc(1, sizeof *w);

    w->is = is;
    for (int i = 0; i < is.n; i++) {
        /* Ids beyond 32 bits whose low halves are alike. */
        w->id[i] = ((int64_t)(i / 2) << 33) + i % 2;
        w->particles[i] = 1 + i % 4;
        w->size[i] = 10 + i;
        w->weight[i] = weight_of(&is, i);
        w->now[i] = now_of(&is, i);
        for (int k = 0; k < 3; k++) {
            w->point[3 * i + k] = is.points == ONE_POINT ? 0.25 : (k == 0 ? 10.0 * i / is.n : 0) + uniform(i, 1 + k);
            w->source[3 * i + k] = w->point[3 * i + k] + (is.points == ONE_POINT ? 0 : uniform(i, 5 + k) - 0.5);
        }
        w->pin_first[i + 1] = w->pin_first[i] + PINS;
        for (int k = 0; k < PINS; k++) {
            /* Neighbours, one far id, and one id twice. */
            int other = k < PINS - 2 ? (i + k * k) % is.n : k == PINS - 2 ? (i * 7 + 3) % is.n : i;
            w->pin[w->pin_first[i] + k] = ((int64_t)other << 34) + 5;
        }
    }
    make_phases(w);
    for (int i = 0; i < is.n; i++) {
        w->total += w->weight[i];
        w->largest = fmax(w->largest, w->weight[i]);
    }
    make_shares(w);
    return w;
}

/* The first item of a rank. */
static int first_of(const problem *is, int rank, int nranks)
{
    switch (is->spread) {
    case ALL_ON_LAST:
        return rank < nranks ? 0 : is->n;
    case EVERY_OTHER_RANK:
        return (int)((int64_t)is->n * ((rank + 1) / 2) / ((nranks + 1) / 2));
    default:
        return (int)((int64_t)is->n * rank / nranks);
    }
}

static int last_of(const problem *is, int rank, int nranks)
{
    if (is->spread == ALL_ON_LAST) {
        return rank == nranks - 1 ? is->n : 0;
    }
    return first_of(is, rank + 1, nranks);
}

/* One rank's share of the world. pin_first: [n + 1] work. */
static eqp_balance_items items_of(const world *w, int rank, int nranks, int64_t *pin_first)
{
    int first = first_of(&w->is, rank, nranks), n = last_of(&w->is, rank, nranks) - first;
    eqp_balance_items items = {.n = n};

    if (n == 0) {
        return items;
    }
    for (int i = 0; i <= n; i++) {
        pin_first[i] = w->pin_first[first + i] - w->pin_first[first];
    }
    items.id = w->id + first;
    items.weight = w->is.phases > 0 ? NULL : w->weight + first;
    items.phase_load = w->is.phases > 0 ? w->phase_load + (ptrdiff_t)first * w->is.phases : NULL;
    items.particles = w->particles + first;
    items.point = w->point + (ptrdiff_t)3 * first;
    items.source = w->source + (ptrdiff_t)3 * first;
    items.part_now = w->is.now == UNKNOWN ? NULL : w->now + first;
    items.size = w->size + first;
    items.pin_first = pin_first;
    items.pin = w->pin + w->pin_first[first];
    return items;
}

static eqp_balance_options options_of(const world *w)
{
    eqp_balance_options options = eqp_balance_options_defaults();

    options.nparts = w->is.nparts;
    options.share = w->is.shares == EQUAL_SHARES ? NULL : w->share;
    options.imbalance_tol = 0.05;
    options.nphases = w->is.phases;
    options.times = w->is.phases > 0 ? w->times : NULL;
    return options;
}

/* Runs a method; all parts on every rank. */
static void balance(MPI_Comm comm, const eqp_method *method, const world *w, int *part, eqp_balance_result *result)
{
    int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm), mine[MOST_ITEMS];
    int64_t pin_first[MOST_ITEMS + 1], *count = mpi_test_alloc(nranks, sizeof *count);
    eqp_balance_items items = items_of(w, rank, nranks, pin_first);
    eqp_balance_options options = options_of(w);
    eqp_message message = {"none"};

    options.message = &message;
    int code = eqp_balance(comm, method, &items, &options, mine, result);
    if (code) {
        fprintf(stderr, "%s: %s\n", method->name, message.text);
    }
    CHECK_EQUAL(code, EQP_OK);
    for (int r = 0; r < nranks; r++) {
        count[r] = last_of(&w->is, r, nranks) - first_of(&w->is, r, nranks);
    }
    CHECK_EQUAL(eqp_gather_all(comm, sizeof *part, items.n, mine, count, part), EQP_OK);
    free(count);
}

static int is_named(const eqp_method *method, const char *name)
{
    return strcmp(method->name, name) == 0;
}

static int parts_known(const world *w)
{
    return w->is.now != UNKNOWN && w->is.now != SOME_UNKNOWN;
}

static void check_result(const eqp_method *method, const world *w, const int *part, const eqp_balance_result *r)
{
    const problem *is = &w->is;
    int keeps = is_named(method, "none") && parts_known(w);
    int64_t moved = 0, bytes = 0;
    eqp_part_loads loads;

    for (int i = 0; i < is->n; i++) {
        CHECK(part[i] >= 0 && part[i] < is->nparts);
        int known = is->now != UNKNOWN && w->now[i] >= 0 && w->now[i] < is->nparts;
        moved += known && w->now[i] != part[i];
        bytes += known && w->now[i] != part[i] ? w->size[i] : 0;
    }
    CHECK_EQUAL(eqp_parts_load(is->n, w->weight, part, is->nparts, w->share, NULL, &loads), EQP_OK);
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
    /* Planes across all items cannot promise that every box between them holds some. */
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
    CHECK_EQUAL(eqp_cycle_measure(is->n, w->phase_load, part, is->phases, w->times, is->nparts, w->share, NULL, &cycle),
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

/* What each method promises about balance. */
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

/* Curves and the bisection must not notice how the items are spread over the ranks; everything must give the same parts
 * twice. */
static void check_repeatable(MPI_Comm comm, const eqp_method *method, const world *w, const int *part)
{
    int again[MOST_ITEMS];
    eqp_balance_result r;

    const int by_phg = is_named(method, "interaction") || is_named(method, "hypergraph");
    balance(!by_phg ? MPI_COMM_SELF : comm, method, w, again, &r);
    CHECK(memcmp(again, part, (size_t)w->is.n * sizeof *part) == 0);
}

static void check_problem(MPI_Comm comm, problem is)
{
    static int problems;
    world *w = make_world(is);

    problems++;
    for (int m = 0; m <= eqp_method_count(); m++) {
        const eqp_method *method = m < eqp_method_count() ? eqp_method_at(m) : eqp_method_repair();
        int part[MOST_ITEMS];
        eqp_balance_result r;
        /* Of those that take as long as all others together each sees a third of the problems. */
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

static void any_number_of_parts(MPI_Comm comm)
{
    const int nparts[] = {1, 2, 3, 8, 13, mpi_test_size(comm)};

    for (size_t k = 0; k < sizeof nparts / sizeof nparts[0]; k++) {
        check_problem(comm, (problem){.n = MOST_ITEMS, .nparts = nparts[k], .now = k % 2 ? IN_ORDER : UNKNOWN});
    }
}

static void any_present_parts(MPI_Comm comm)
{
    for (int now = UNKNOWN; now <= ALL_IN_ONE; now++) {
        check_problem(comm, (problem){.n = 300, .nparts = 5, .now = (enum now)now});
    }
}

static void any_spread_over_the_ranks(MPI_Comm comm)
{
    for (int spread = EVEN; spread <= EVERY_OTHER_RANK; spread++) {
        check_problem(comm, (problem){.n = 250, .nparts = 6, .now = IN_ORDER, .spread = (enum spread)spread});
    }
}

static void any_weights_and_points(MPI_Comm comm)
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

static void unequal_shares(MPI_Comm comm)
{
    for (int nparts = 2; nparts <= 7; nparts++) {
        check_problem(comm, (problem){.n = 400, .nparts = nparts, .shares = RISING_SHARES, .now = IN_ORDER});
    }
}

static void few_items(MPI_Comm comm)
{
    for (int n = 0; n <= 5; n++) {
        for (int nparts = 1; nparts <= 9; nparts += 4) {
            const problem alike = {.n = n, .nparts = nparts, .now = IN_ORDER, .weights = EQUAL_WEIGHTS};
            const problem random = {.n = n, .nparts = nparts, .spread = n % 2 ? ALL_ON_LAST : EVEN};
            check_problem(comm, (n / 2 + nparts / 4) % 2 ? alike : random);
        }
    }
}

static void any_phases(MPI_Comm comm)
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

/* What one number for each item cannot do. */
static void phases_come_out_even(MPI_Comm comm)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 6, .now = IN_ORDER, .phases = 4});
    int part[MOST_ITEMS];
    eqp_balance_result curve, levelled, pieces;

    balance(comm, eqp_method_find("sfc"), w, part, &curve);
    balance(comm, eqp_method_find("levelled"), w, part, &levelled);
    balance(comm, eqp_method_find("pieces"), w, part, &pieces);
    CHECK(levelled.cycle_efficiency > 0.95);
    CHECK(levelled.cycle_efficiency >= curve.cycle_efficiency);
    CHECK(pieces.cycle_efficiency > 0.8);
    for (int k = 0; k < 4; k++) {
        CHECK(levelled.phase_imbalance[k] <= 0.1);
    }
    free(w);
}

/* A cycle of one phase is what there was before. */
static void one_phase_is_one_load(MPI_Comm comm)
{
    world *w = make_world((problem){.n = 500, .nparts = 7, .now = IN_ORDER});
    int curve[MOST_ITEMS], part[MOST_ITEMS];
    eqp_balance_result r;

    balance(comm, eqp_method_find("sfc"), w, curve, &r);
    balance(comm, eqp_method_find("levelled"), w, part, &r);
    CHECK(memcmp(curve, part, 500 * sizeof *part) == 0);
    free(w);
}

/* How many items change parts when the weights change a little. */
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

static void repartitioning_moves_little(MPI_Comm comm)
{
    CHECK(moved_again(comm, "rcb") < MOST_ITEMS / 4);
    CHECK(moved_again(comm, "rib") < MOST_ITEMS / 4);
    CHECK(moved_again(comm, "interaction") < MOST_ITEMS / 4);
    CHECK(moved_again(comm, "tiles") < MOST_ITEMS / 4);
    CHECK(moved_again(comm, "jagged") < MOST_ITEMS / 4);
    CHECK(moved_again(comm, "voronoi") < MOST_ITEMS / 4);
}

/* What `rcb` and `rib` do with more items than one rank should hold; the library's own way in. */
int eqp__bisect_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                       const char *how, int64_t most_on_root, int *part, eqp_balance_result *result);

static void check_common_bisection(MPI_Comm comm, const char *how, problem is)
{
    world *w = make_world(is);
    int64_t pin_first[MOST_ITEMS + 1];
    eqp_balance_items items = items_of(w, mpi_test_rank(comm), mpi_test_size(comm), pin_first);
    eqp_balance_options options = options_of(w);
    eqp_balance_result r;
    eqp_part_loads loads;
    int part[MOST_ITEMS];

    CHECK_EQUAL(eqp__bisect_assign(comm, &items, &options, how, 0, part, &r), EQP_OK);
    CHECK_EQUAL(eqp_parts_load_all(comm, items.n, items.weight, part, is.nparts, options.share, NULL, &loads), EQP_OK);
    CHECK_EQUAL(loads.empty, 0);
    if (is.weights == RANDOM_WEIGHTS) {
        CHECK(loads.imbalance <= 0.05 + (2 + log2(is.nparts)) * w->largest / (w->total * w->smallest_share));
    }
    free(w);
}

static void all_ranks_together_bisect_as_well(MPI_Comm comm)
{
    for (int nparts = 1; nparts <= 13; nparts += 3) {
        for (int weights = RANDOM_WEIGHTS; weights <= ONE_GIANT; weights++) {
            for (int points = SPREAD_POINTS; points <= ONE_POINT; points++) {
                const problem is = {.n = MOST_ITEMS,
                                    .nparts = nparts,
                                    .weights = (enum weights)weights,
                                    .points = (enum points)points,
                                    .shares = weights == EQUAL_WEIGHTS ? RISING_SHARES : EQUAL_SHARES,
                                    .spread = nparts % 2 ? EVEN : ALL_ON_LAST};
                check_common_bisection(comm, "RCB", is);
                check_common_bisection(comm, "RIB", is);
            }
        }
    }
}

/* The ways in of the methods that cut sources; the library's own. */
int eqp__tiles_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                      enum eqp_tiles_shape shape, int64_t most_gathered, int *part, eqp_balance_result *result);

static void check_common_tiles(MPI_Comm comm, problem is, enum eqp_tiles_shape shape)
{
    world *w = make_world(is);
    int64_t pin_first[MOST_ITEMS + 1];
    eqp_balance_items items = items_of(w, mpi_test_rank(comm), mpi_test_size(comm), pin_first);
    eqp_balance_options options = options_of(w);
    eqp_balance_result together, alike;
    int part[MOST_ITEMS], same[MOST_ITEMS];

    items.pin_first = NULL; /* the repair is none of this test's */
    options.imbalance_tol = 1e30;
    if (is.nparts % 3 > 0) { /* else they are estimated; and maybe more than there are parts */
        CHECK_EQUAL(eqp_method_set(eqp_method_find("jagged"), "columns", is.nparts % 3 == 1 ? "1" : "2",
                                   &options.settings, NULL),
                    EQP_OK);
    }
    CHECK_EQUAL(eqp__tiles_assign(comm, &items, &options, shape, 0, part, &together), EQP_OK);
    CHECK_EQUAL(eqp__tiles_assign(comm, &items, &options, shape, INT64_MAX, same, &alike), EQP_OK);
    CHECK(memcmp(part, same, (size_t)items.n * sizeof *part) == 0);
    CHECK(together.imbalance_unrepaired == alike.imbalance_unrepaired);
    free(w);
}

static void all_ranks_together_cut_the_same_tiles(MPI_Comm comm)
{
    for (int k = 0; k < 48; k++) {
        check_common_tiles(comm,
                           (problem){.n = k % 5 == 4 ? 9 : MOST_ITEMS,
                                     .nparts = k % 7 == 6 ? 100 : 1 + 2 * k % 13,
                                     .weights = (enum weights)(k % 4),
                                     .points = k / 4 % 3 == 2 ? ONE_POINT : SPREAD_POINTS,
                                     .shares = k % 3 == 1 ? RISING_SHARES : EQUAL_SHARES,
                                     .spread = (enum spread)(k / 8 % 3)},
                           k / 24 ? EQP_TILES_JAGGED : EQP_TILES_FREE);
    }
}

static void repartitioning_anew_keeps_the_promises(MPI_Comm comm)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 5, .now = IN_ORDER});
    int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm), part[MOST_ITEMS];
    int64_t pin_first[MOST_ITEMS + 1];
    eqp_balance_items items = items_of(w, rank, nranks, pin_first);
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
    /* Half that is moved is much already; without renumbering it would be four fifths. */
    CHECK(10 * r.moved < 7 * MOST_ITEMS);
    free(pin_weight);
    free(w);
}

static void the_hypergraph_cuts_less_than_dealing_items_out(MPI_Comm comm)
{
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 4});
    eqp_hypergraph *graph = NULL;
    eqp_balance_result r;
    int part[MOST_ITEMS];
    double cut, dealt;

    balance(comm, eqp_method_find("interaction"), w, part, &r);
    CHECK_EQUAL(eqp_hypergraph_create(MOST_ITEMS, w->weight, w->pin_first, w->pin, &graph), EQP_OK);
    CHECK_EQUAL(eqp_hypergraph_cut(graph, 4, part, &cut), EQP_OK);
    for (int i = 0; i < MOST_ITEMS; i++) {
        part[i] = i % 4;
    }
    CHECK_EQUAL(eqp_hypergraph_cut(graph, 4, part, &dealt), EQP_OK);
    CHECK(cut < 0.7 * dealt);
    eqp_hypergraph_free(graph);
    free(w);
}

/* One row of slabs: shares of any kind can be met, and numbers rise with the places. */
static void planes_keep_the_numbers_of_their_grid(MPI_Comm comm)
{
    const eqp_method *method = eqp_method_find("tensor");
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 5, .shares = RISING_SHARES, .now = IN_ORDER});
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);
    int64_t pin_first[MOST_ITEMS + 1];
    eqp_balance_items items = items_of(w, rank, nranks, pin_first);
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

/* Whichever ranks the sampled items are on. */
static void cells_do_not_depend_on_the_spread(MPI_Comm comm)
{
    const eqp_method *method = eqp_method_find("voronoi");
    world *w = make_world((problem){.n = MOST_ITEMS, .nparts = 6, .now = IN_ORDER, .spread = EVERY_OTHER_RANK});
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm), first = first_of(&w->is, rank, nranks);
    int64_t pin_first[MOST_ITEMS + 1], all_first[MOST_ITEMS + 1];
    const eqp_balance_items items = items_of(w, rank, nranks, pin_first), all = items_of(w, 0, 1, all_first);
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

/* One step of feedback with what the parts of w->now would measure; all parts on every rank. */
static int feed_back(MPI_Comm comm, world *w, const double *measured, int *part, eqp_balance_result *r)
{
    int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm), mine[MOST_ITEMS];
    int64_t pin_first[MOST_ITEMS + 1], *count = mpi_test_alloc(nranks, sizeof *count);
    eqp_balance_items items = items_of(w, rank, nranks, pin_first);
    eqp_balance_options options = options_of(w);

    options.part_load = measured;
    const int code = eqp_balance(comm, eqp_method_find("feedback"), &items, &options, mine, r);
    for (int q = 0; q < nranks; q++) {
        count[q] = last_of(&w->is, q, nranks) - first_of(&w->is, q, nranks);
    }
    if (code == EQP_OK) {
        CHECK_EQUAL(eqp_gather_all(comm, sizeof *part, items.n, mine, count, part), EQP_OK);
    }
    free(count);
    return code;
}

static void measured_loads_move_the_cuts(MPI_Comm comm)
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

static void loads_that_say_nothing_move_no_cuts(MPI_Comm comm)
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

static void loads_that_are_none_are_refused(MPI_Comm comm)
{
    static const double negative[] = {1, -1e-9, 1}, undefined[] = {1, 1, NAN}, endless[] = {INFINITY, 1, 1};
    world *w = make_world((problem){.n = 60, .nparts = 3, .now = IN_ORDER});
    const double differing[] = {1, 1, 1 + mpi_test_rank(comm)};
    int part[MOST_ITEMS];
    eqp_balance_result r;

    CHECK_EQUAL(feed_back(comm, w, negative, part, &r), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(feed_back(comm, w, undefined, part, &r), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(feed_back(comm, w, endless, part, &r), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(feed_back(comm, w, differing, part, &r), mpi_test_size(comm) > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
    free(w);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(any_number_of_parts),
        MPI_TEST(any_present_parts),
        MPI_TEST(any_spread_over_the_ranks),
        MPI_TEST(any_weights_and_points),
        MPI_TEST(unequal_shares),
        MPI_TEST(few_items),
        MPI_TEST(any_phases),
        MPI_TEST(phases_come_out_even),
        MPI_TEST(one_phase_is_one_load),
        MPI_TEST(repartitioning_moves_little),
        MPI_TEST(all_ranks_together_bisect_as_well),
        MPI_TEST(all_ranks_together_cut_the_same_tiles),
        MPI_TEST(repartitioning_anew_keeps_the_promises),
        MPI_TEST(the_hypergraph_cuts_less_than_dealing_items_out),
        MPI_TEST(planes_keep_the_numbers_of_their_grid),
        MPI_TEST(cells_do_not_depend_on_the_spread),
        MPI_TEST(measured_loads_move_the_cuts),
        MPI_TEST(loads_that_say_nothing_move_no_cuts),
        MPI_TEST(loads_that_are_none_are_refused),
    };
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
