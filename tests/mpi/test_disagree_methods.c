/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank differs from the others in one argument of a call that balances items, or that says where they belong. */
#include "disagree.h"

#include <equipoise/points.h>

/* Shares of the first `parts` parts. */
static double even[MOST_RANKS], uneven[MOST_RANKS];
static const double times[2] = {0.25, 0.75};

/* Each row by another method: what the ranks differ in is found before any of them is asked. */
static eqp_method method_of(const seat *s, bool without_pins)
{
    eqp_method method = *eqp_method_at(s->number % eqp_method_count());

    if (without_pins && (method.flags & EQP_NEEDS_PINS)) {
        method = *eqp_method_find("sfc");
    }
    method.name = is(s, "method.name: another") ? "another" : method.name;
    method.summary = is(s, "method.summary: another") ? "another" : method.summary;
    method.flags = is(s, "method.flags: another") ? EQP_NEEDS_UNITS | EQP_NEEDS_POINTS : method.flags;
    method.assign = is(s, "method.assign: NULL") ? NULL : method.assign;
    method.assign_alone =
        is(s, "method.assign_alone: NULL") || is(s, "method.assign: NULL") ? NULL : method.assign_alone;
    method.noptions = is(s, "method.noptions: 0") ? 0 : is(s, "method.option: NULL") ? 1 : method.noptions;
    method.option = is(s, "method.option: NULL") ? NULL : method.option;
    return method;
}

static eqp_balance_options balance_options(const seat *s, int nparts, eqp_message *message)
{
    static int64_t capacity[MOST_RANKS];
    static eqp_regions *regions;
    const double *share = is(s, "options.share: others") ? uneven : even;

    eqp_regions_free(regions); /* of the last call */
    regions = NULL;
    for (int p = 0; p < nparts; p++) {
        capacity[p] = 1000;
        even[p] = 1.0 / nparts;
        uneven[p] = p == 0 ? 0.5 / nparts : p == 1 ? 1.5 / nparts : even[p];
    }
    uneven[0] = nparts == 1 ? 1 : uneven[0];
    eqp_balance_options options = {is(s, "options.size: 0") ? 0 : sizeof options,
                                   is(s, "options.nparts: 0") ? 0 : nparts,
                                   is(s, "options.share: NULL") ? NULL : share,
                                   is(s, "options.imbalance_tol: 0.5 for 1") ? 0.5 : 1,
                                   is(s, "options.seed: 2 for 1") ? 2 : 1,
                                   is(s, "options.message: NULL") ? NULL : message,
                                   is(s, "options.part_load: NULL") ? NULL : even,
                                   {{is(s, "options.settings: 1 for 0") ? 1 : 0}},
                                   is(s, "options.nphases: 1 for 2") ? 1 : 2,
                                   is(s, "options.times: NULL") ? NULL : times,
                                   is(s, "options.capacity: NULL") ? NULL : capacity,
                                   is(s, "options.regions: one for NULL") ? &regions : NULL};

    options.nphases = is(s, "options.nphases: 17") ? 17 : options.nphases;
    if (is(s, "options.nparts: 1 for 2")) {
        options.nparts = 1;
        options.share = NULL;
    }
    return options;
}

static int balance(const seat *s)
{
    const eqp_method method = method_of(s, false);
    const int64_t id[2] = {2 * s->rank, 2 * s->rank + 1}, one[2] = {1, 1}, pin_first[3] = {0, 1, 2}, pin[2] = {1, 2};
    const double weight[2] = {1, 2}, point[6] = {s->rank, 0, 0, s->rank, 1, 0}, load[4] = {1, 0, 1, 1};
    const int now[2] = {0, 1};
    eqp_message message = {""};
    eqp_balance_items items = {is(s, "items.n: 0")    ? 0
                               : is(s, "items.n: -1") ? -1
                                                      : 2,
                               is(s, "items.id: NULL") ? NULL : id,
                               is(s, "items.weight: NULL") ? NULL : weight,
                               is(s, "items.particles: NULL") ? NULL : one,
                               is(s, "items.point: NULL") ? NULL : point,
                               is(s, "items.source: NULL") ? NULL : point,
                               is(s, "items.part_now: NULL") ? NULL : now,
                               is(s, "items.size: NULL") ? NULL : one,
                               is(s, "items.pin_first: NULL") ? NULL : pin_first,
                               is(s, "items.pin: NULL") ? NULL : pin,
                               is(s, "items.pin_weight: NULL") ? NULL : weight,
                               is(s, "items.phase_load: NULL") ? NULL : load};
    const eqp_balance_options options = balance_options(s, 2, &message);
    eqp_balance_result result;
    int part[2] = {-7, -7};
    const int code = CALL(s, eqp_balance(s->argument, is(s, "method: NULL") ? NULL : &method,
                                         is(s, "items: NULL") ? NULL : &items, is(s, "options: NULL") ? NULL : &options,
                                         is(s, "part: NULL") ? NULL : part, is(s, "result: NULL") ? NULL : &result));

    CHECK(!code || part[0] == -7);
    return code;
}

/* Arrays of two points. */
typedef struct point_arrays {
    int64_t size[2];
    double weight[2], x[8];
    int now[2];
    double load[4];
} point_arrays;

static eqp_points points_of(const seat *s, point_arrays *a)
{
    *a = (point_arrays){{1, 1}, {1, 2}, {s->rank, 0, 0, 1, s->rank, 1, 0, 1}, {0, 1}, {1, 0, 1, 1}};
    return (eqp_points){is(s, "points.n: 0")    ? 0
                        : is(s, "points.n: -1") ? -1
                                                : 2,
                        is(s, "points.x: NULL") ? NULL : a->x,
                        is(s, "points.stride: 32 for 0")  ? 32
                        : is(s, "points.stride: 8 for 0") ? 8
                                                          : 0,
                        is(s, "points.single: true"),
                        is(s, "points.weight: NULL") ? NULL : a->weight,
                        is(s, "points.size: NULL") ? NULL : a->size,
                        is(s, "points.part_now: NULL") ? NULL : a->now,
                        is(s, "points.phase_load: NULL") ? NULL : a->load};
}

static int point_order_create(const seat *s)
{
    point_arrays arrays;
    const eqp_points points = points_of(s, &arrays);
    eqp_point_order *order = NULL;
    const int code = CALL(s, eqp_point_order_create(s->argument, is(s, "points: NULL") ? NULL : &points,
                                                    is(s, "order: NULL") ? NULL : &order));

    CHECK((order == NULL) == (code != EQP_OK));
    eqp_point_order_free(order);
    return code;
}

/* There or back. */
static int follow_order(const seat *s, int follow(const eqp_point_order *, size_t, const void *, void *))
{
    const seat usual = {.rank = s->rank, .what = ""};
    point_arrays arrays;
    const eqp_points points = points_of(&usual, &arrays);
    eqp_point_order *order = NULL;
    int64_t out[64] = {0}, in[64];

    CHECK_EQUAL(eqp_point_order_create(s->comm, &points, &order), EQP_OK);
    const eqp_point_order *const given = is(s, "order: NULL") ? NULL : order;
    const int code = CALL(s, follow(given,
                                    is(s, "element_size: 4 for 8")   ? 4
                                    : is(s, "element_size: 0 for 8") ? 0
                                                                     : 8,
                                    is(s, "send: NULL") ? NULL : out, is(s, "recv: NULL") ? NULL : in));
    eqp_point_order_free(order);
    return code;
}

/* One rank frees nothing at first. */
static int point_order_free(const seat *s)
{
    const seat usual = {.rank = s->rank, .what = ""};
    point_arrays arrays;
    const eqp_points points = points_of(&usual, &arrays);
    eqp_point_order *order = NULL;
    const int code = eqp_point_order_create(s->comm, &points, &order);

    eqp_point_order_free(is(s, "order: NULL") ? NULL : order);
    eqp_point_order_free(is(s, "order: NULL") ? order : NULL);
    return code;
}

static int point_order_bring(const seat *s)
{
    return follow_order(s, eqp_point_order_bring);
}

static int point_order_return(const seat *s)
{
    return follow_order(s, eqp_point_order_return);
}

static int regions_create(const seat *s)
{
    point_arrays arrays;
    const eqp_points points = points_of(s, &arrays);
    const int part[2] = {0, is(s, "part: 5 of 2") ? 5 : 0};
    eqp_message message = {""};
    eqp_regions *regions = NULL;
    const int code = CALL(
        s, eqp_regions_create(s->argument, is(s, "points: NULL") ? NULL : &points, is(s, "part: NULL") ? NULL : part,
                              is(s, "nparts: 3 for 2")   ? 3
                              : is(s, "nparts: 0 for 2") ? 0
                                                         : 2,
                              is(s, "regions: NULL") ? NULL : &regions, is(s, "message: NULL") ? NULL : &message));

    CHECK((regions == NULL) == (code != EQP_OK));
    CHECK(!code || s->alone || is(s, "message: NULL") || message.text[0] != '\0');
    eqp_regions_free(regions);
    return code;
}

static int balance_points(const seat *s)
{
    const eqp_method method = method_of(s, true);
    point_arrays arrays;
    eqp_message message = {""};
    const eqp_points points = points_of(s, &arrays);
    const eqp_balance_options options = balance_options(s, 2, &message);
    eqp_balance_result result;
    int part[2] = {-7, -7};
    const int code =
        CALL(s, eqp_balance_points(s->argument, is(s, "method: NULL") ? NULL : &method,
                                   is(s, "points: NULL") ? NULL : &points, is(s, "options: NULL") ? NULL : &options,
                                   is(s, "part: NULL") ? NULL : part, is(s, "result: NULL") ? NULL : &result));

    CHECK(!code || part[0] == -7);
    return code;
}

static int balance_send(const seat *s)
{
    const eqp_method method = method_of(s, true);
    point_arrays arrays;
    eqp_message message = {""};
    const eqp_points points = points_of(s, &arrays);
    const eqp_balance_options options = balance_options(s, s->size, &message);
    const int64_t send[2] = {1, 2};
    const size_t size = is(s, "column.element_size: 4 for 8") ? 4 : is(s, "column.element_size: 0") ? 0 : 8;
    eqp_point_column column[2] = {
        {size, is(s, "column.send: NULL") ? NULL : send, is(s, "column.recv: set") ? column : NULL}, {8, send, NULL}};
    eqp_balance_result result;
    int64_t n = -7;
    const int ncolumns = is(s, "ncolumns: 1 for 2") ? 1 : is(s, "ncolumns: 0") ? 0 : 2;
    const int code = CALL(
        s, eqp_balance_send(s->argument, is(s, "method: NULL") ? NULL : &method, is(s, "points: NULL") ? NULL : &points,
                            is(s, "options: NULL") ? NULL : &options, ncolumns, is(s, "column: NULL") ? NULL : column,
                            is(s, "nrecv: NULL") ? NULL : &n, is(s, "result: NULL") ? NULL : &result));

    CHECK((n == -7) == (code != EQP_OK));
    for (int c = 0; c < 2 && code == EQP_OK; c++) {
        free(column[c].recv);
    }
    return code;
}

static int walls(const seat *s)
{
    eqp_method method = method_of(s, true);
    point_arrays arrays;
    eqp_message message = {""};
    const eqp_points points = points_of(s, &arrays);
    const eqp_balance_options options = balance_options(s, 2, &message);
    eqp_walls_options how = eqp_walls_options_defaults();
    eqp_regions *regions = NULL;
    int grid[3];

    how.size = is(s, "how.size: 0") ? 0 : how.size;
    for (int a = 0; a < 3; a++) {
        how.low[a] = is(s, "how.low: -2 for -1") ? -2 : -1;
        how.high[a] = is(s, "how.high: below low") ? -3 : 100;
        how.least[a] = is(s, "how.least: 0.5 for 0") ? 0.5 : is(s, "how.least: -1") ? -1 : 0;
    }
    if (strncmp(s->what, "method", 6) != 0) { /* one that makes boxes */
        const eqp_method *const tensor = eqp_method_find("tensor");
        method = *tensor;
    }
    int code =
        CALL(s, eqp_walls(s->argument, is(s, "method: NULL") ? NULL : &method, is(s, "points: NULL") ? NULL : &points,
                          is(s, "options: NULL") ? NULL : &options, is(s, "how: NULL") ? NULL : &how,
                          is(s, "grid: NULL") ? NULL : grid, is(s, "regions: NULL") ? NULL : &regions));
    CHECK((regions == NULL) == (code != EQP_OK));
    eqp_regions_free(regions);
    return code == EQP_ERR_STATE && s->what[0] == 'm' ? EQP_OK : code; /* no boxes, which is as right as any */
}

static void rows_of_methods(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_balance", balance, "comm: NULL", ALONE},
        {"eqp_balance", balance, "method: NULL", WRONG},
        {"eqp_balance", balance, "method.name: another", SAME},
        {"eqp_balance", balance, "method.summary: another", EQP_OK},
        {"eqp_balance", balance, "method.flags: another", SAME},
        {"eqp_balance", balance, "method.assign: NULL", WRONG},
        {"eqp_balance", balance, "method.assign_alone: NULL", EQP_OK},
        {"eqp_balance", balance, "method.noptions: 0", EQP_OK},
        {"eqp_balance", balance, "method.option: NULL", WRONG},
        {"eqp_balance", balance, "items: NULL", WRONG},
        {"eqp_balance", balance, "items.n: 0", EQP_OK},
        {"eqp_balance", balance, "items.n: -1", WRONG},
        {"eqp_balance", balance, "items.id: NULL", WRONG},
        {"eqp_balance", balance, "items.weight: NULL", NEEDED},
        {"eqp_balance", balance, "items.particles: NULL", SAME},
        {"eqp_balance", balance, "items.point: NULL", NEEDED},
        {"eqp_balance", balance, "items.source: NULL", SAME},
        {"eqp_balance", balance, "items.part_now: NULL", EQP_OK},
        {"eqp_balance", balance, "items.size: NULL", NEEDED},
        {"eqp_balance", balance, "items.pin_first: NULL", NEEDED},
        {"eqp_balance", balance, "items.pin: NULL", WRONG},
        {"eqp_balance", balance, "items.pin_weight: NULL", SAME},
        {"eqp_balance", balance, "items.phase_load: NULL", WRONG},
        {"eqp_balance", balance, "options: NULL", WRONG},
        {"eqp_balance", balance, "options.size: 0", WRONG},
        {"eqp_balance", balance, "options.nparts: 1 for 2", SAME},
        {"eqp_balance", balance, "options.nparts: 0", WRONG},
        {"eqp_balance", balance, "options.share: NULL", SAME},
        {"eqp_balance", balance, "options.share: others", SAME},
        {"eqp_balance", balance, "options.imbalance_tol: 0.5 for 1", SAME},
        {"eqp_balance", balance, "options.seed: 2 for 1", SAME},
        {"eqp_balance", balance, "options.message: NULL", EQP_OK},
        {"eqp_balance", balance, "options.part_load: NULL", SAME},
        {"eqp_balance", balance, "options.settings: 1 for 0", SAME},
        {"eqp_balance", balance, "options.nphases: 1 for 2", SAME},
        {"eqp_balance", balance, "options.nphases: 17", WRONG},
        {"eqp_balance", balance, "options.times: NULL", SAME},
        {"eqp_balance", balance, "options.capacity: NULL", SAME},
        {"eqp_balance", balance, "part: NULL", WRONG},
        {"eqp_balance", balance, "result: NULL", EQP_OK},
        {"eqp_balance_points", balance_points, "comm: NULL", ALONE},
        {"eqp_balance_points", balance_points, "method: NULL", WRONG},
        {"eqp_balance_points", balance_points, "method.name: another", SAME},
        {"eqp_balance_points", balance_points, "method.summary: another", EQP_OK},
        {"eqp_balance_points", balance_points, "method.flags: another", SAME},
        {"eqp_balance_points", balance_points, "method.assign: NULL", WRONG},
        {"eqp_balance_points", balance_points, "method.assign_alone: NULL", EQP_OK},
        {"eqp_balance_points", balance_points, "method.noptions: 0", EQP_OK},
        {"eqp_balance_points", balance_points, "method.option: NULL", WRONG},
        {"eqp_balance_points", balance_points, "points: NULL", WRONG},
        {"eqp_balance_points", balance_points, "points.n: 0", EQP_OK},
        {"eqp_balance_points", balance_points, "points.n: -1", WRONG},
        {"eqp_balance_points", balance_points, "points.x: NULL", WRONG},
        {"eqp_balance_points", balance_points, "points.stride: 32 for 0", EQP_OK},
        {"eqp_balance_points", balance_points, "points.stride: 8 for 0", WRONG},
        {"eqp_balance_points", balance_points, "points.single: true", SAME},
        {"eqp_balance_points", balance_points, "points.weight: NULL", SAME},
        {"eqp_balance_points", balance_points, "points.size: NULL", SAME},
        {"eqp_balance_points", balance_points, "points.part_now: NULL", EQP_OK},
        {"eqp_balance_points", balance_points, "points.phase_load: NULL", WRONG},
        {"eqp_balance_points", balance_points, "options: NULL", WRONG},
        {"eqp_balance_points", balance_points, "options.size: 0", WRONG},
        {"eqp_balance_points", balance_points, "options.nparts: 1 for 2", SAME},
        {"eqp_balance_points", balance_points, "options.nparts: 0", WRONG},
        {"eqp_balance_points", balance_points, "options.share: NULL", SAME},
        {"eqp_balance_points", balance_points, "options.share: others", SAME},
        {"eqp_balance_points", balance_points, "options.imbalance_tol: 0.5 for 1", SAME},
        {"eqp_balance_points", balance_points, "options.seed: 2 for 1", SAME},
        {"eqp_balance_points", balance_points, "options.message: NULL", EQP_OK},
        {"eqp_balance_points", balance_points, "options.part_load: NULL", SAME},
        {"eqp_balance_points", balance_points, "options.settings: 1 for 0", SAME},
        {"eqp_balance_points", balance_points, "options.nphases: 1 for 2", SAME},
        {"eqp_balance_points", balance_points, "options.nphases: 17", WRONG},
        {"eqp_balance_points", balance_points, "options.times: NULL", SAME},
        {"eqp_balance_points", balance_points, "options.capacity: NULL", SAME},
        {"eqp_balance_points", balance_points, "part: NULL", WRONG},
        {"eqp_balance_points", balance_points, "result: NULL", EQP_OK},
        {"eqp_balance_send", balance_send, "comm: NULL", ALONE},
        {"eqp_balance_send", balance_send, "method: NULL", WRONG},
        {"eqp_balance_send", balance_send, "method.name: another", SAME},
        {"eqp_balance_send", balance_send, "method.summary: another", EQP_OK},
        {"eqp_balance_send", balance_send, "method.flags: another", SAME},
        {"eqp_balance_send", balance_send, "method.assign: NULL", WRONG},
        {"eqp_balance_send", balance_send, "method.assign_alone: NULL", EQP_OK},
        {"eqp_balance_send", balance_send, "method.noptions: 0", EQP_OK},
        {"eqp_balance_send", balance_send, "method.option: NULL", WRONG},
        {"eqp_balance_send", balance_send, "points: NULL", WRONG},
        {"eqp_balance_send", balance_send, "points.n: 0", EQP_OK},
        {"eqp_balance_send", balance_send, "points.n: -1", WRONG},
        {"eqp_balance_send", balance_send, "points.x: NULL", WRONG},
        {"eqp_balance_send", balance_send, "points.stride: 32 for 0", EQP_OK},
        {"eqp_balance_send", balance_send, "points.stride: 8 for 0", WRONG},
        {"eqp_balance_send", balance_send, "points.single: true", SAME},
        {"eqp_balance_send", balance_send, "points.weight: NULL", SAME},
        {"eqp_balance_send", balance_send, "points.size: NULL", SAME},
        {"eqp_balance_send", balance_send, "points.part_now: NULL", EQP_OK},
        {"eqp_balance_send", balance_send, "points.phase_load: NULL", WRONG},
        {"eqp_balance_send", balance_send, "options: NULL", WRONG},
        {"eqp_balance_send", balance_send, "options.size: 0", WRONG},
        {"eqp_balance_send", balance_send, "options.nparts: 1 for 2", SAME},
        {"eqp_balance_send", balance_send, "options.nparts: 0", WRONG},
        {"eqp_balance_send", balance_send, "options.share: NULL", SAME},
        {"eqp_balance_send", balance_send, "options.share: others", SAME},
        {"eqp_balance_send", balance_send, "options.imbalance_tol: 0.5 for 1", SAME},
        {"eqp_balance_send", balance_send, "options.seed: 2 for 1", SAME},
        {"eqp_balance_send", balance_send, "options.message: NULL", EQP_OK},
        {"eqp_balance_send", balance_send, "options.part_load: NULL", SAME},
        {"eqp_balance_send", balance_send, "options.settings: 1 for 0", SAME},
        {"eqp_balance_send", balance_send, "options.nphases: 1 for 2", SAME},
        {"eqp_balance_send", balance_send, "options.nphases: 17", WRONG},
        {"eqp_balance_send", balance_send, "options.times: NULL", SAME},
        {"eqp_balance_send", balance_send, "options.capacity: NULL", SAME},
        {"eqp_balance_send", balance_send, "result: NULL", EQP_OK},
        {"eqp_balance_send", balance_send, "ncolumns: 1 for 2", SAME},
        {"eqp_balance_send", balance_send, "ncolumns: 0", WRONG},
        {"eqp_balance_send", balance_send, "column: NULL", WRONG},
        {"eqp_balance_send", balance_send, "column.element_size: 4 for 8", SAME},
        {"eqp_balance_send", balance_send, "column.element_size: 0", WRONG},
        {"eqp_balance_send", balance_send, "column.send: NULL", WRONG},
        {"eqp_balance_send", balance_send, "column.recv: set", EQP_OK},
        {"eqp_balance_send", balance_send, "nrecv: NULL", WRONG},
        {"eqp_walls", walls, "comm: NULL", ALONE},
        {"eqp_walls", walls, "method: NULL", WRONG},
        {"eqp_walls", walls, "method.name: another", SAME},
        {"eqp_walls", walls, "method.summary: another", EQP_OK},
        {"eqp_walls", walls, "method.flags: another", SAME},
        {"eqp_walls", walls, "method.assign: NULL", WRONG},
        {"eqp_walls", walls, "method.assign_alone: NULL", EQP_OK},
        {"eqp_walls", walls, "method.noptions: 0", EQP_OK},
        {"eqp_walls", walls, "method.option: NULL", WRONG},
        {"eqp_walls", walls, "points: NULL", WRONG},
        {"eqp_walls", walls, "points.n: 0", EQP_OK},
        {"eqp_walls", walls, "points.n: -1", WRONG},
        {"eqp_walls", walls, "points.x: NULL", WRONG},
        {"eqp_walls", walls, "points.stride: 32 for 0", EQP_OK},
        {"eqp_walls", walls, "points.stride: 8 for 0", WRONG},
        {"eqp_walls", walls, "points.single: true", SAME},
        {"eqp_walls", walls, "points.weight: NULL", SAME},
        {"eqp_walls", walls, "points.size: NULL", SAME},
        {"eqp_walls", walls, "points.part_now: NULL", EQP_OK},
        {"eqp_walls", walls, "points.phase_load: NULL", WRONG},
        {"eqp_walls", walls, "options: NULL", WRONG},
        {"eqp_walls", walls, "options.size: 0", WRONG},
        {"eqp_walls", walls, "options.nparts: 1 for 2", SAME},
        {"eqp_walls", walls, "options.nparts: 0", WRONG},
        {"eqp_walls", walls, "options.share: NULL", SAME},
        {"eqp_walls", walls, "options.share: others", SAME},
        {"eqp_walls", walls, "options.imbalance_tol: 0.5 for 1", SAME},
        {"eqp_walls", walls, "options.seed: 2 for 1", SAME},
        {"eqp_walls", walls, "options.message: NULL", EQP_OK},
        {"eqp_walls", walls, "options.part_load: NULL", SAME},
        {"eqp_walls", walls, "options.settings: 1 for 0", NEEDED},
        {"eqp_walls", walls, "options.nphases: 1 for 2", SAME},
        {"eqp_walls", walls, "options.nphases: 17", WRONG},
        {"eqp_walls", walls, "options.times: NULL", SAME},
        {"eqp_walls", walls, "options.capacity: NULL", SAME},
        {"eqp_walls", walls, "how: NULL", SAME},
        {"eqp_walls", walls, "how.size: 0", WRONG},
        {"eqp_walls", walls, "how.low: -2 for -1", SAME},
        {"eqp_walls", walls, "how.high: below low", WRONG},
        {"eqp_walls", walls, "how.least: 0.5 for 0", SAME},
        {"eqp_walls", walls, "how.least: -1", WRONG},
        {"eqp_walls", walls, "grid: NULL", WRONG},
        {"eqp_walls", walls, "regions: NULL", WRONG},
        {"eqp_point_order_create", point_order_create, "comm: NULL", ALONE},
        {"eqp_point_order_create", point_order_create, "points: NULL", WRONG},
        {"eqp_point_order_create", point_order_create, "points.n: 0", EQP_OK},
        {"eqp_point_order_create", point_order_create, "points.n: -1", WRONG},
        {"eqp_point_order_create", point_order_create, "points.x: NULL", WRONG},
        {"eqp_point_order_create", point_order_create, "points.stride: 32 for 0", EQP_OK},
        {"eqp_point_order_create", point_order_create, "points.stride: 8 for 0", WRONG},
        {"eqp_point_order_create", point_order_create, "points.single: true", SAME},
        {"eqp_point_order_create", point_order_create, "points.weight: NULL", SAME},
        {"eqp_point_order_create", point_order_create, "points.size: NULL", SAME},
        {"eqp_point_order_create", point_order_create, "points.part_now: NULL", EQP_OK},
        {"eqp_point_order_create", point_order_create, "points.phase_load: NULL", EQP_OK},
        {"eqp_point_order_create", point_order_create, "order: NULL", WRONG},
        {"eqp_regions_create", regions_create, "comm: NULL", ALONE},
        {"eqp_regions_create", regions_create, "points: NULL", WRONG},
        {"eqp_regions_create", regions_create, "points.n: 0", EQP_OK},
        {"eqp_regions_create", regions_create, "points.n: -1", WRONG},
        {"eqp_regions_create", regions_create, "points.x: NULL", WRONG},
        {"eqp_regions_create", regions_create, "points.stride: 32 for 0", EQP_OK},
        {"eqp_regions_create", regions_create, "points.stride: 8 for 0", WRONG},
        {"eqp_regions_create", regions_create, "points.single: true", SAME},
        {"eqp_regions_create", regions_create, "points.weight: NULL", SAME},
        {"eqp_regions_create", regions_create, "points.size: NULL", SAME},
        {"eqp_regions_create", regions_create, "points.part_now: NULL", EQP_OK},
        {"eqp_regions_create", regions_create, "points.phase_load: NULL", EQP_OK},
        {"eqp_regions_create", regions_create, "part: NULL", WRONG},
        {"eqp_regions_create", regions_create, "part: 5 of 2", WRONG},
        {"eqp_regions_create", regions_create, "nparts: 3 for 2", SAME},
        {"eqp_regions_create", regions_create, "nparts: 0 for 2", WRONG},
        {"eqp_regions_create", regions_create, "regions: NULL", WRONG},
        {"eqp_point_order_free", point_order_free, "order: NULL", EQP_OK},
        {"eqp_point_order_bring", point_order_bring, "order: NULL", ALONE},
        {"eqp_point_order_bring", point_order_bring, "element_size: 4 for 8", SAME},
        {"eqp_point_order_bring", point_order_bring, "element_size: 0 for 8", WRONG},
        {"eqp_point_order_bring", point_order_bring, "send: NULL", WRONG},
        {"eqp_point_order_bring", point_order_bring, "recv: NULL", WRONG},
        {"eqp_point_order_return", point_order_return, "order: NULL", ALONE},
        {"eqp_point_order_return", point_order_return, "element_size: 4 for 8", SAME},
        {"eqp_point_order_return", point_order_return, "element_size: 0 for 8", WRONG},
        {"eqp_point_order_return", point_order_return, "send: NULL", WRONG},
        {"eqp_point_order_return", point_order_return, "recv: NULL", WRONG},
        {"eqp_balance", balance, "options.regions: one for NULL", EQP_OK},
        {"eqp_balance_points", balance_points, "options.regions: one for NULL", SAME},
        {"eqp_balance_send", balance_send, "options.regions: one for NULL", SAME},
        {"eqp_walls", walls, "options.regions: one for NULL", EQP_OK},
        {"eqp_regions_create", regions_create, "message: NULL", EQP_OK},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(rows_of_methods),
    };
    only_row = argc > 2 ? argv[2] : NULL;
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
