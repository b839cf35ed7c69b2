/* SPDX-License-Identifier: BSD-3-Clause */
/* As test_disagree.c, for calls that balance items or place them. */
#include "disagree.h"

#include <equipoise/points.h>

/* Shares of the first `parts` parts. */
static double even[MOST_RANKS], uneven[MOST_RANKS];
static const double times[2] = {0.25, 0.75};

/* A different method for each row: ranks detect the difference before they call the method. */
static eqp_method method_of(const seat *s, bool without_pins)
{
    eqp_method method = *eqp_method_at(s->number % eqp_method_count());

    if (without_pins && (method.flags & EQP_NEEDS_PINS)) {
        method = *eqp_method_find("sfc");
    }
    method.size = is(s, "method.size: 9") ? 9 : sizeof method;
    method.name = is(s, "method.name: another") ? "another" : method.name;
    method.summary = is(s, "method.summary: another") ? "another" : method.summary;
    method.flags = is(s, "method.flags: another") ? EQP_NEEDS_UNITS | EQP_NEEDS_POINTS : method.flags;
    method.assign = OR_NULL("method.assign", method.assign);
    method.assign_alone = OR_NULL("method.assign_alone", OR_NULL("method.assign", method.assign_alone));
    method.noptions = is(s, "method.option: NULL") ? 1 : number(s, "method.noptions", method.noptions);
    method.option = OR_NULL("method.option", method.option);
    return method;
}

static eqp_balance_options balance_options(const seat *s, int nparts, eqp_message *message)
{
    static int64_t capacity[MOST_RANKS];
    static eqp_regions *regions;
    const double *share = is(s, "options.share: others") ? uneven : even;

    eqp_regions_free(regions);
    regions = NULL;
    for (int p = 0; p < nparts; p++) {
        capacity[p] = 1000;
        even[p] = 1.0 / nparts;
        uneven[p] = p == 0 ? 0.5 / nparts : p == 1 ? 1.5 / nparts : even[p];
    }
    uneven[0] = nparts == 1 ? 1 : uneven[0];
    eqp_balance_options options = {is(s, "options.size: 0") ? 0 : sizeof options,
                                   number(s, "options.nparts", nparts),
                                   OR_NULL("options.share", share),
                                   real(s, "options.imbalance_tol", 1),
                                   number(s, "options.seed", 1),
                                   OR_NULL("options.message", message),
                                   OR_NULL("options.part_load", even),
                                   {{number(s, "options.settings", 0)}},
                                   number(s, "options.nphases", 2),
                                   OR_NULL("options.times", times),
                                   OR_NULL("options.capacity", capacity),
                                   is(s, "options.regions: one for NULL") ? &regions : NULL};

    options.share = options.nparts == 1 ? NULL : options.share;
    return options;
}

static int balance(const seat *s)
{
    const eqp_method method = method_of(s, false);
    const int64_t id[2] = {2 * s->rank, 2 * s->rank + 1}, one[2] = {1, 1}, pin_first[3] = {0, 1, 2}, pin[2] = {1, 2};
    const double weight[2] = {1, 2}, point[6] = {s->rank, 0, 0, s->rank, 1, 0}, load[4] = {1, 0, 1, 1};
    const int now[2] = {0, 1};
    eqp_message message = {""};
    eqp_balance_items items = {is(s, "items.struct_size: 1") ? 1 : sizeof items,
                               number(s, "items.n", 2),
                               OR_NULL("items.id", id),
                               OR_NULL("items.weight", weight),
                               OR_NULL("items.particles", one),
                               OR_NULL("items.point", point),
                               OR_NULL("items.source", point),
                               OR_NULL("items.part_now", now),
                               OR_NULL("items.size", one),
                               OR_NULL("items.pin_first", pin_first),
                               OR_NULL("items.pin", pin),
                               OR_NULL("items.pin_weight", weight),
                               OR_NULL("items.phase_load", load)};
    const eqp_balance_options options = balance_options(s, 2, &message);
    eqp_balance_result result;
    int part[2] = {-7, -7};
    const int code =
        CALL(s, eqp_balance(s->argument, OR_NULL("method", &method), OR_NULL("items", &items),
                            OR_NULL("options", &options), OR_NULL("part", part), OR_NULL("result", &result)));

    CHECK(!code || part[0] == -7);
    return code;
}

typedef struct point_arrays {
    int64_t size[2];
    double weight[2], x[8];
    int now[2];
    double load[4];
} point_arrays;

static eqp_points points_of(const seat *s, point_arrays *a)
{
    *a = (point_arrays){{1, 1}, {1, 2}, {s->rank, 0, 0, 1, s->rank, 1, 0, 1}, {0, 1}, {1, 0, 1, 1}};
    return (eqp_points){is(s, "points.struct_size: 1") ? 1 : sizeof(eqp_points),
                        number(s, "points.n", 2),
                        OR_NULL("points.x", a->x),
                        number(s, "points.stride", 0),
                        is(s, "points.single: true"),
                        OR_NULL("points.weight", a->weight),
                        OR_NULL("points.size", a->size),
                        OR_NULL("points.part_now", a->now),
                        OR_NULL("points.phase_load", a->load)};
}

static int regions_create(const seat *s)
{
    point_arrays arrays;
    const eqp_points points = points_of(s, &arrays);
    const int part[2] = {0, number(s, "part", 0)};
    eqp_message message = {""};
    eqp_regions *regions = NULL;
    const int code =
        CALL(s, eqp_regions_create(s->argument, OR_NULL("points", &points), OR_NULL("part", part),
                                   number(s, "nparts", 2), OR_NULL("regions", &regions), OR_NULL("message", &message)));

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
        CALL(s, eqp_balance_points(s->argument, OR_NULL("method", &method), OR_NULL("points", &points),
                                   OR_NULL("options", &options), OR_NULL("part", part), OR_NULL("result", &result)));

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
    const size_t size = number(s, "column.element_size", 8);
    eqp_point_column column[2] = {{size, OR_NULL("column.send", send), is(s, "column.recv: set") ? column : NULL},
                                  {8, send, NULL}};
    eqp_balance_result result;
    int64_t n = -7;
    const int ncolumns = number(s, "ncolumns", 2);
    const int code = CALL(s, eqp_balance_send(s->argument, OR_NULL("method", &method), OR_NULL("points", &points),
                                              OR_NULL("options", &options), ncolumns, OR_NULL("column", column),
                                              OR_NULL("nrecv", &n), OR_NULL("result", &result)));

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
        how.low[a] = number(s, "how.low", -1);
        how.high[a] = is(s, "how.high: below low") ? -3 : 100;
        how.least[a] = real(s, "how.least", 0);
    }
    if (strncmp(s->what, "method", 6) != 0) { /* one that makes boxes */
        const eqp_method *const tensor = eqp_method_find("tensor");
        method = *tensor;
    }
    int code = CALL(s, eqp_walls(s->argument, OR_NULL("method", &method), OR_NULL("points", &points),
                                 OR_NULL("options", &options), OR_NULL("how", &how), OR_NULL("grid", grid),
                                 OR_NULL("regions", &regions)));
    CHECK((regions == NULL) == (code != EQP_OK));
    eqp_regions_free(regions);
    return code == EQP_ERR_STATE && s->what[0] == 'm' ? EQP_OK : code; /* methods without boxes return this */
}

/* Rows of arguments shared by several calls. */
#define METHOD_WRONG "method: NULL; method.assign: NULL; method.option: NULL"
#define METHOD_SAME "method.name: another; method.flags: another"
#define METHOD_FINE "method.size: 9; method.summary: another; method.assign_alone: NULL; method.noptions: 0"
#define POINTS_WRONG "points: NULL; points.struct_size: 1; points.n: -1; points.x: NULL; points.stride: 8 for 0"
#define POINTS_SAME "points.single: true; points.weight: NULL; points.size: NULL"
#define POINTS_FINE "points.n: 0; points.stride: 32 for 0; points.part_now: NULL"
#define OPTIONS_WRONG "options: NULL; options.size: 0; options.nparts: 0; options.nphases: 17"
#define OPTIONS_SAME                                                                                                   \
    "options.nparts: 1 for 2; options.share: NULL; options.share: others; "                                            \
    "options.imbalance_tol: 0.5 for 1; options.seed: 2 for 1; options.part_load: NULL; "                               \
    "options.nphases: 1 for 2; options.times: NULL; options.capacity: NULL"

MPI_TEST(rows_of_methods)
{
    static const calls all[] = {
        {"eqp_balance", balance,
         "FINE " METHOD_FINE "; items.n: 0; items.part_now: NULL; options.message: NULL; result: NULL; "
         "options.regions: one for NULL; ALONE comm: NULL; WRONG " METHOD_WRONG
         "; items: NULL; items.struct_size: 1; items.n: -1; items.id: NULL; items.pin: NULL; items.phase_load: "
         "NULL; " OPTIONS_WRONG "; part: NULL; SAME " METHOD_SAME
         "; items.particles: NULL; items.source: NULL; items.pin_weight: NULL; " OPTIONS_SAME
         "; options.settings: 1 for 0; NEEDED items.weight: NULL; items.point: NULL; items.size: NULL; "
         "items.pin_first: NULL"},
        {"eqp_balance_points", balance_points,
         "FINE " METHOD_FINE "; " POINTS_FINE
         "; options.message: NULL; result: NULL; ALONE comm: NULL; WRONG " METHOD_WRONG "; " POINTS_WRONG
         "; points.phase_load: NULL; " OPTIONS_WRONG "; part: NULL; SAME " METHOD_SAME "; " POINTS_SAME
         "; " OPTIONS_SAME "; options.settings: 1 for 0; options.regions: one for NULL"},
        {"eqp_balance_send", balance_send,
         "FINE " METHOD_FINE "; " POINTS_FINE
         "; options.message: NULL; result: NULL; column.recv: set; ALONE comm: NULL; WRONG " METHOD_WRONG
         "; " POINTS_WRONG "; points.phase_load: NULL; " OPTIONS_WRONG
         "; ncolumns: 0; column: NULL; column.element_size: 0; column.send: NULL; nrecv: NULL; SAME " METHOD_SAME
         "; " POINTS_SAME "; " OPTIONS_SAME
         "; options.settings: 1 for 0; ncolumns: 1 for 2; column.element_size: 4 for 8; options.regions: one for NULL"},
        {"eqp_walls", walls,
         "FINE " METHOD_FINE "; " POINTS_FINE
         "; options.message: NULL; options.regions: one for NULL; ALONE comm: NULL; WRONG " METHOD_WRONG
         "; " POINTS_WRONG "; points.phase_load: NULL; " OPTIONS_WRONG
         "; how.size: 0; how.high: below low; how.least: -1; grid: NULL; regions: NULL; SAME " METHOD_SAME
         "; " POINTS_SAME "; " OPTIONS_SAME
         "; how: NULL; how.low: -2 for -1; how.least: 0.5 for 0; NEEDED options.settings: 1 for 0"},
        {"eqp_regions_create", regions_create,
         "FINE " POINTS_FINE "; points.phase_load: NULL; message: NULL; ALONE comm: NULL; WRONG " POINTS_WRONG
         "; part: NULL; part: 5 of 2; nparts: 0 for 2; regions: NULL; SAME " POINTS_SAME "; nparts: 3 for 2"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}
