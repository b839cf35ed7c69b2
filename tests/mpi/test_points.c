/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of points are balanced and independent of the distribution over ranks and of the storage of coordinates. They
 * take few collective calls, the same number on any number of ranks. */
#include "harness.h"

#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <math.h>

#include "counted_calls.h"
#include "failing_ranks.h"
#include "methods/points/points.h"

enum { ITEMS = 400, MANY = 4000, UNSET = -7 };

/* Distributions of items over ranks. */
enum spread { BY_NUMBER, SHUFFLED, ALL_ON_LAST, EVERY_OTHER_RANK, SPREADS };

/* Layout of the items, and a fault in the first item of the last rank that has any. */
typedef struct layout {
    int n; /* on all ranks, at most MANY */
    enum spread spread;
    bool single, strided, unweighed, one_place;
    double scale;  /* factor on coordinates; 0: 1 */
    double offset; /* added to coordinates, times the scale */
    double far;    /* first coordinate of the last item, unless 0 */
    double spoilt; /* second coordinate of the last item, unless 0 */
    double weight; /* weight of the last item, unless 0 */
} layout;

typedef struct items {
    int number[MANY], part[MANY], part_now[MANY];
    int64_t size[MANY];
    double weight[MANY];
    char x[MANY * 64];
    eqp_points points;
} items;

static double uniform(int i, int k)
{
    return eqp_random_uniform(17, (uint64_t)i, (uint64_t)k);
}

/* Coordinates exact in single precision, denser toward the origin. The first 40 items are coincident pairs. */
static double coordinate(const layout *is, int i, int k)
{
    const double u = uniform(i < 40 ? i / 2 : i, k);

    if (is->far != 0 && i == is->n - 1 && k == 0) {
        return is->far;
    }
    return is->one_place ? 0.25 : ((double)(float)(u * u - 0.3) + is->offset) * (is->scale > 0 ? is->scale : 1.0);
}

static double weight_of(const layout *is, int i)
{
    return is->unweighed ? 1.0 : i % 50 == 7 ? 3.0 : 0.5 + uniform(i, 3);
}

static int rank_of(const layout *is, int i, int size)
{
    switch (is->spread) {
    case SHUFFLED:
        return (int)(uniform(i, 4) * size);
    case ALL_ON_LAST:
        return size - 1;
    case EVERY_OTHER_RANK:
        return i % ((size + 1) / 2) * 2;
    default:
        return i * size / is->n;
    }
}

static void write_point(const layout *is, int i, char *at)
{
    for (int k = 0; k < 3; k++) {
        const double x = coordinate(is, i, k);
        const float y = (float)x;
        memcpy(at + (size_t)k * (is->single ? sizeof y : sizeof x), is->single ? (const void *)&y : &x,
               is->single ? sizeof y : sizeof x);
    }
}

static void make_items(const layout *is, int rank, int size, items *t)
{
    const size_t packed = 3 * (is->single ? sizeof(float) : sizeof(double)), stride = packed + (is->strided ? 5 : 0);
    int64_t n = 0;

    for (int k = 0; k < is->n; k++) {
        const int i = is->spread == SHUFFLED ? (k * 7919 + 11) % is->n : k;
        if (rank_of(is, i, size) == rank) {
            t->number[n] = i;
            t->part[n] = UNSET;
            t->part_now[n] = i % 5;
            t->size[n] = 10 + i;
            t->weight[n] = weight_of(is, i);
            write_point(is, i, t->x + (size_t)n * stride);
            n++;
        }
    }
    if (n > 0 && is->spoilt != 0) {
        const float y = (float)is->spoilt;
        memcpy(t->x + packed / 3, is->single ? (const void *)&y : &is->spoilt, packed / 3);
    }
    t->weight[0] = is->weight != 0 ? is->weight : t->weight[0];
    t->points = (eqp_points){.n = n,
                             .x = n > 0 ? t->x : NULL,
                             .stride = is->strided ? stride : 0,
                             .single = is->single,
                             .weight = n > 0 && !is->unweighed ? t->weight : NULL,
                             .size = n > 0 ? t->size : NULL,
                             .part_now = n > 0 ? t->part_now : NULL};
}

static eqp_balance_options options_of(int nparts)
{
    eqp_balance_options options = eqp_balance_options_defaults();

    options.nparts = nparts;
    options.imbalance_tol = 0.05;
    return options;
}

/* Parts of all items on every rank; part: [ITEMS]. */
static void balance(MPI_Comm comm, const eqp_method *method, const layout *is, int nparts, int *part,
                    eqp_balance_result *result)
{
    static items t;
    eqp_message message = {""};
    eqp_balance_options options = options_of(nparts);

    make_items(is, mpi_test_rank(comm), mpi_test_size(comm), &t);
    options.message = &message;
    const int code = eqp_balance_points(comm, method, &t.points, &options, t.points.n > 0 ? t.part : NULL, result);
    if (code != EQP_OK) {
        fprintf(stderr, "%s: %s\n", method->name, message.text);
    }
    CHECK_EQUAL(code, EQP_OK);
    for (int i = 0; i < is->n; i++) {
        part[i] = UNSET;
    }
    for (int64_t i = 0; i < t.points.n; i++) {
        CHECK(t.part[i] >= 0 && t.part[i] < nparts);
        part[t.number[i]] = t.part[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, part, is->n, MPI_INT, MPI_MAX, comm);
}

static bool is_named(const eqp_method *method, const char *name)
{
    return strcmp(method->name, name) == 0;
}

/* Compares the result with the parts; test_methods.c tests the methods. */
static void check_balance(const eqp_method *method, const layout *is, int nparts, const int *part,
                          const eqp_balance_result *r)
{
    double weight[ITEMS], one[ITEMS];
    int64_t moved = 0, bytes = 0;
    eqp_part_loads loads, counts;

    for (int i = 0; i < is->n; i++) {
        const bool moves = i % 5 < nparts && i % 5 != part[i];
        weight[i] = weight_of(is, i);
        one[i] = 1;
        moved += moves;
        bytes += moves ? 10 + i : 0;
    }
    CHECK_EQUAL(eqp__parts_load(is->n, weight, part, nparts, NULL, NULL, &loads), EQP_OK);
    CHECK_EQUAL(eqp__parts_load(is->n, one, part, nparts, NULL, NULL, &counts), EQP_OK);
    CHECK_NEAR(r->imbalance, loads.imbalance, 1e-9);
    CHECK_EQUAL(r->items, is->n);
    CHECK_EQUAL(r->moved, moved);
    CHECK_EQUAL(r->moved_bytes, bytes);
    CHECK_EQUAL(r->within, r->imbalance <= 0.05 + 1e-9);
    if (method->flags & EQP_KEEPS) {
        return;
    }
    /* Boxes between planes may be empty. */
    if (!(method->flags & EQP_SHAPED)) {
        CHECK_EQUAL(r->empty_parts, is->n < nparts ? nparts - is->n : 0);
    }
    if (is_named(method, "count")) {
        CHECK(counts.max - counts.mean < 1);
    }
}

/* The next row at or after *m that needs no pins; NULL at the end. */
static const eqp_method *next_method(int *m)
{
    const eqp_method *method = eqp_method_at((*m)++);

    while (method != NULL && (method->flags & EQP_NEEDS_PINS)) {
        method = eqp_method_at((*m)++);
    }
    mpi_test_case = method != NULL ? method->name : "";
    return method;
}

static void check_method(MPI_Comm comm, const eqp_method *method, layout is, int nparts)
{
    static int calls;
    int part[ITEMS], again[ITEMS];
    eqp_balance_result r;

    calls++;
    if (!mpi_test_takes(calls + calls / 4)) {
        return;
    }
    is.spread = BY_NUMBER;
    balance(comm, method, &is, nparts, part, &r);
    check_balance(method, &is, nparts, part, &r);
    for (int spread = BY_NUMBER; spread < SPREADS; spread++) {
        is.spread = (enum spread)spread;
        balance(spread == BY_NUMBER ? MPI_COMM_SELF : comm, method, &is, nparts, again, NULL);
        CHECK(memcmp(again, part, (size_t)is.n * sizeof *part) == 0);
    }
    for (int way = 1; way < 4; way++) {
        is.single = way % 2 > 0;
        is.strided = way / 2 > 0;
        balance(comm, method, &is, nparts, again, NULL);
        CHECK(memcmp(again, part, (size_t)is.n * sizeof *part) == 0);
    }
}

MPI_TEST(parts_balance_wherever_the_items_lie)
{
    const int nparts[] = {5, 8, mpi_test_size(comm)};
    const eqp_method *method;

    for (int m = 0; (method = next_method(&m)) != NULL;) {
        for (size_t k = 0; k < sizeof nparts / sizeof nparts[0]; k++) {
            check_method(comm, method, (layout){.n = ITEMS}, nparts[k]);
        }
        check_method(comm, method, (layout){.n = ITEMS, .unweighed = true}, 4);
    }
}

MPI_TEST(few_items_and_odd_places)
{
    const int n[] = {0, 1, 2, 6};
    const eqp_method *method;

    for (int m = 0; (method = next_method(&m)) != NULL;) {
        for (size_t k = 0; k < sizeof n / sizeof n[0]; k++) {
            check_method(comm, method, (layout){.n = n[k]}, 4);
        }
        check_method(comm, method, (layout){.n = 60, .one_place = true}, 4);
    }
}

/* Scaling by powers of two does not change the parts; extreme coordinates give valid ones. */
MPI_TEST(places_of_any_size_get_the_same_parts)
{
    const double scale[] = {0x1p+990, 0x1p-900};
    const layout odd[] = {{.n = 60, .scale = 1e308, .spoilt = -1.7e308}, /* the widest possible cube */
                          {.n = 60, .scale = 1.7e308, .far = -1.7e308},
                          {.n = 60, .scale = 0x1p-1050}, /* denormal numbers */
                          {.n = 60, .far = 1e300},
                          {.n = 60, .scale = 1e270, .offset = 1e30}};
    int part[ITEMS], again[ITEMS];
    const eqp_method *method;

    for (int m = 0; (method = next_method(&m)) != NULL;) {
        balance(comm, method, &(layout){.n = 120}, 4, part, NULL);
        for (int k = 0; k < 2; k++) {
            balance(comm, method, &(layout){.n = 120, .scale = scale[k]}, 4, again, NULL);
            CHECK(memcmp(part, again, 120 * sizeof *part) == 0);
            if (is_named(method, "sfc") || is_named(method, "rcb") || is_named(method, "rib")) {
                balance(comm, method, &(layout){.n = 120, .scale = scale[k], .offset = 0x1p+28}, 4, again, NULL);
                CHECK(memcmp(part, again, 120 * sizeof *part) == 0);
            }
        }
        for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++) {
            balance(comm, method, &odd[k], 4, again, NULL);
        }
    }
}

/* Without part_now, items belong to the part of their rank. */
MPI_TEST(items_are_at_home_where_they_lie)
{
    static items t;
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    const eqp_balance_options options = options_of(size);
    eqp_balance_result r;

    make_items(&(layout){.n = ITEMS, .spread = SHUFFLED}, rank, size, &t);
    t.points.part_now = NULL;
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("none"), &t.points, &options, t.part, &r), EQP_OK);
    for (int64_t i = 0; i < t.points.n; i++) {
        CHECK_EQUAL(t.part[i], rank);
    }
    CHECK_EQUAL(r.moved, 0);
}

/* Parts and result are unchanged, and all ranks have the same message. */
MPI_TEST(what_cannot_be_is_refused_everywhere)
{
    static const struct {
        const char *method;
        layout is;
        int code;
    } row[] = {{"sfc", {.n = 50, .spoilt = NAN}, EQP_ERR_DATA},
               {"sfc", {.n = 50, .spoilt = INFINITY, .spread = ALL_ON_LAST}, EQP_ERR_DATA},
               {"count", {.n = 50, .spoilt = -INFINITY, .single = true, .strided = true}, EQP_ERR_DATA},
               {"sfc", {.n = 50, .weight = -1, .spread = SHUFFLED}, EQP_ERR_DATA},
               {"sfc", {.n = 50, .weight = NAN, .spread = EVERY_OTHER_RANK}, EQP_ERR_DATA},
               {"interaction", {.n = 50}, EQP_ERR_ARGUMENT},
               {"sfc", {.n = 50, .weight = 1.7e308}, EQP_ERR_OVERFLOW}};

    for (size_t k = 0; k < sizeof row / sizeof *row - (mpi_test_size(comm) == 1); k++) {
        static items t;
        eqp_message message = {"none"}, first;
        eqp_balance_options options = options_of(3);
        eqp_balance_result result = {.items = UNSET};
        make_items(&row[k].is, mpi_test_rank(comm), mpi_test_size(comm), &t);
        options.message = &message;
        CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find(row[k].method), &t.points, &options, t.part, &result),
                    row[k].code);
        for (int64_t i = 0; i < t.points.n; i++) {
            CHECK_EQUAL(t.part[i], UNSET);
        }
        CHECK_EQUAL(result.items, UNSET);
        first = message;
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, comm);
        CHECK(strncmp(message.text, "balance: ", 9) == 0 && strcmp(message.text, first.text) == 0);
    }
}

/* Every rank gets about equal numbers of items, although only some keys are exchanged. */
MPI_TEST(items_follow_the_curve_and_come_back)
{
    static items t;

    for (int spread = 0; spread < SPREADS; spread++) {
        const layout is = {.n = MANY, .spread = (enum spread)spread};
        eqp__point_order order = {.n = 0};
        eqp__points_scope scope;
        make_items(&is, mpi_test_rank(comm), mpi_test_size(comm), &t);
        CHECK_EQUAL(eqp__point_order_open(comm, &t.points, &order), EQP_OK);
        CHECK_EQUAL(eqp__points_meet(comm, EQP_OK, &t.points, 0, NULL, &scope, NULL), EQP_OK);
        const int code = eqp__point_order_read(&t.points, &scope, &order);
        CHECK_EQUAL(eqp__point_order_make(code, t.points.n, &scope, &order), EQP_OK);
        CHECK((double)order.n < 1.05 * MANY / mpi_test_size(comm) + 1);
        int *const column = mpi_test_alloc((size_t)order.n + 1, sizeof *column);
        CHECK_EQUAL(eqp__point_order_bring(&order, sizeof *column, t.number, column), EQP_OK);
        for (int64_t i = 0; i < order.n; i++) {
            CHECK(order.item[i].x[1] == coordinate(&is, column[i], 1));
            CHECK(i == 0 || order.item[i - 1].key <= order.item[i].key);
        }
        CHECK_EQUAL(eqp__point_order_return(&order, sizeof *column, column, t.part), EQP_OK);
        CHECK(memcmp(t.part, t.number, (size_t)t.points.n * sizeof *t.part) == 0);
        free(column);
        eqp__point_order_close(&order);
    }
}

/* Checks the part of each item; for a coincident pair the part of either. */
static void check_places(const layout *is, int nparts, const int *part, const eqp_regions *regions)
{
    const double nowhere[3] = {0, NAN, 0}, far[3] = {-1e300, 1e300, 5};
    int found = eqp_regions_find(regions, far);

    CHECK_EQUAL(eqp_regions_find(regions, nowhere), -1);
    CHECK(is->n > 0 ? found >= 0 && found < nparts : found == -1);
    for (int i = 0; i < is->n; i++) {
        double x[3], low[3], high[3];
        for (int k = 0; k < 3; k++) {
            x[k] = coordinate(is, i, k);
        }
        found = eqp_regions_find(regions, x);
        CHECK(found == part[i] || (i < 40 && found == part[i ^ 1]));
        CHECK_EQUAL(eqp_regions_box(regions, part[i], low, high), EQP_OK);
        for (int k = 0; k < 3; k++) {
            CHECK(low[k] <= x[k] && x[k] <= high[k]);
        }
    }
}

MPI_TEST(places_belong_to_the_parts_of_their_items)
{
    static const char *const methods[] = {"sfc", "rcb", "count", "tensor"};
    static const int counts[] = {1, 5, 8, 64};
    static items t;
    int part[ITEMS];
    double low[3], high[3];

    for (int m = 0; m < 4; m++) {
        for (int k = 0; k < 5; k++) {
            const int nparts = counts[k % 4];
            const layout is = {.n = k == 4 ? 0 : ITEMS, .spread = (enum spread)(k % SPREADS), .single = k > 2};
            eqp_regions *regions = NULL;
            balance(comm, eqp_method_find(methods[m]), &is, nparts, part, NULL);
            make_items(&is, mpi_test_rank(comm), mpi_test_size(comm), &t);
            for (int64_t i = 0; i < t.points.n; i++) {
                t.part[i] = part[t.number[i]];
            }
            CHECK_EQUAL(eqp_regions_create(comm, &t.points, t.part, nparts, &regions, NULL), EQP_OK);
            check_places(&is, nparts, part, regions);
            CHECK_EQUAL(eqp_regions_box(regions, nparts, low, high), EQP_ERR_ARGUMENT);
            CHECK(is.n > 0 || eqp_regions_box(regions, 0, low, high) == EQP_ERR_UNKNOWN);
            eqp_regions_free(regions);
        }
    }
}

MPI_TEST(what_no_walls_tell_apart_is_refused)
{
    static items t;
    eqp_regions *regions = NULL;

    make_items(&(layout){.n = ITEMS, .spread = SHUFFLED}, mpi_test_rank(comm), mpi_test_size(comm), &t);
    for (int64_t i = 0; i < t.points.n; i++) {
        t.part[i] = t.number[i] % 5;
    }
    CHECK_EQUAL(eqp_regions_create(comm, &t.points, t.part, 5, &regions, NULL), EQP_ERR_STATE);
    CHECK_EQUAL(eqp_regions_create(comm, &t.points, t.part, 4, &regions, NULL), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_regions_create(comm, &t.points, t.part, 5 + mpi_test_rank(comm), &regions, NULL),
                mpi_test_size(comm) > 1 ? EQP_ERR_ARGUMENT : EQP_ERR_STATE);
    CHECK(regions == NULL && eqp_regions_find(NULL, (double[3]){0}) == -1);
}

/* user: not used */
static int regions_without_memory(MPI_Comm comm, void *user)
{
    static items t;
    eqp_regions *regions = NULL;

    (void)user;
    make_items(&(layout){.n = 24, .spread = EVERY_OTHER_RANK}, mpi_test_rank(comm), mpi_test_size(comm), &t);
    memset(t.part, 0, sizeof t.part);
    failing_ranks_begin();
    const int code = eqp_regions_create(comm, &t.points, t.part, 4, &regions, NULL);
    failing_ranks_end();
    CHECK((regions == NULL) == (code != EQP_OK));
    eqp_regions_free(regions);
    return code;
}

/* user: the method */
static int without_memory(MPI_Comm comm, void *user)
{
    static items t;
    const eqp_balance_options options = options_of(4);
    eqp_balance_result result = {.items = UNSET};

    make_items(&(layout){.n = 24, .spread = EVERY_OTHER_RANK}, mpi_test_rank(comm), mpi_test_size(comm), &t);
    failing_ranks_begin();
    const int code = eqp_balance_points(comm, user, &t.points, &options, t.part, &result);
    failing_ranks_end();
    for (int64_t i = 0; i < t.points.n; i++) {
        CHECK((t.part[i] == UNSET) == (code != EQP_OK));
    }
    CHECK((result.items == UNSET) == (code != EQP_OK));
    return code;
}

MPI_TEST(a_call_fails_on_all_ranks_or_on_none)
{
    CHECK(failing_ranks_check(comm, without_memory, (void *)eqp_method_find("sfc")) > 0);
    CHECK(failing_ranks_check(comm, without_memory, (void *)eqp_method_find("tensor")) > 0);
    CHECK(failing_ranks_check(comm, without_memory, (void *)eqp_method_find("voronoi")) > 0);
    CHECK(failing_ranks_check(comm, regions_without_memory, NULL) > 0);
}

/* Every fifth item also works in the second phase. Parts are even for any distribution, weighted or not. */
MPI_TEST(loads_of_phases_follow_their_items)
{
    enum { PARTS = 4, PHASES = 2 };
    static const double times[PHASES] = {1, 3};
    int first[ITEMS];

    for (int k = 0; k <= SPREADS; k++) {
        const layout is = {.n = ITEMS, .spread = (enum spread)(k % SPREADS), .unweighed = k < SPREADS};
        static items t;
        static double load[ITEMS * PHASES], all[ITEMS * PHASES];
        int part[ITEMS];
        eqp_balance_options options = options_of(PARTS);
        eqp_balance_result r;
        eqp_cycle cycle;
        make_items(&is, mpi_test_rank(comm), mpi_test_size(comm), &t);
        for (int64_t i = 0; i < t.points.n; i++) {
            load[PHASES * i] = 1;
            load[PHASES * i + 1] = t.number[i] % 5 == 0;
        }
        for (int i = 0; i < ITEMS; i++) {
            all[PHASES * i] = 1;
            all[PHASES * i + 1] = i % 5 == 0;
            part[i] = UNSET;
        }
        t.points.phase_load = t.points.n > 0 ? load : NULL;
        options.nphases = PHASES;
        options.times = times;
        CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("levelled"), &t.points, &options, t.part, &r), EQP_OK);
        for (int64_t i = 0; i < t.points.n; i++) {
            part[t.number[i]] = t.part[i];
        }
        MPI_Allreduce(MPI_IN_PLACE, part, ITEMS, MPI_INT, MPI_MAX, comm);
        CHECK_EQUAL(eqp__cycle_measure(ITEMS, all, part, PHASES, times, PARTS, NULL, &cycle), EQP_OK);
        CHECK_NEAR(r.cycle_efficiency, cycle.efficiency, 1e-12);
        CHECK(cycle.efficiency > 0.95);
        if (k % SPREADS == 0) { /* weights order coincident items */
            memcpy(first, part, sizeof first);
            t.points.phase_load = NULL;
            CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("levelled"), &t.points, &options, t.part, &r),
                        EQP_ERR_ARGUMENT);
        }
        CHECK(memcmp(first, part, sizeof first) == 0);
    }
}

static long counted(void)
{
    return counted_blocking + counted_others;
}

/* Zoltan's own calls on one rank alone do not synchronize and do not count. */
MPI_TEST(parts_cost_few_calls_on_any_ranks)
{
    static const struct {
        const char *name;
        long most;
    } row[] = {{"sfc", 16}, {"count", 16}, {"none", 16}, {"rcb", 9}, {"rib", 9}, {"voronoi", 9}, {"tensor", 24}};
    enum { ROWS = sizeof row / sizeof row[0] };
    static long first[ROWS][2];
    static items t;

    for (int k = 0; k < 2 * ROWS && mpi_test_size(comm) > 1; k++) {
        const eqp_method *method = eqp_method_find(row[k / 2].name);
        const eqp_balance_options options = options_of(6);
        const long before = counted();
        if (method != NULL) {
            make_items(&(layout){.n = MANY, .spread = SHUFFLED, .unweighed = k % 2 > 0}, mpi_test_rank(comm),
                       mpi_test_size(comm), &t);
            CHECK_EQUAL(eqp_balance_points(comm, method, &t.points, &options, t.part, NULL), EQP_OK);
        }
        const long calls = counted() - before, former = first[k / 2][k % 2];
        if (calls > row[k / 2].most || (former > 0 && calls != former)) {
            fprintf(stderr, "%s: %ld calls, %ld on other ranks\n", row[k / 2].name, calls, former);
        }
        CHECK(calls <= row[k / 2].most && (former == 0 || calls == former));
        first[k / 2][k % 2] = calls;
    }
}
