/* SPDX-License-Identifier: BSD-3-Clause */
/* As test_disagree.c, for routes and messengers. */
#include "disagree.h"

/* ---- routes ---- */

/* A block of two doubles from every rank to every rank. */
typedef struct scene {
    int64_t id, bytes, first[2];
    int rank[MOST_RANKS];
    double data[2];
    eqp_route_blocks blocks;
} scene;

static void make_scene(const seat *s, scene *all)
{
    *all = (scene){.id = 10 + s->rank, .bytes = 16, .first = {0, s->size}, .data = {s->rank, 1}};
    for (int r = 0; r < s->size; r++) {
        all->rank[r] = r;
    }
    all->blocks =
        (eqp_route_blocks){.n = 1, .id = &all->id, .bytes = &all->bytes, .first = all->first, .rank = all->rank};
}

static int route_create(const seat *s)
{
    eqp_exchange_plan plan = {EQP_STAGES_DIRECT, 0, 1};
    eqp_route *route = NULL;
    scene all;

    make_scene(s, &all);
    plan.stages = is(s, "plan.stages: another") ? EQP_STAGES_LOG : plan.stages;
    plan.broadcast = number(s, "plan.broadcast", 0);
    plan.node = is(s, "plan.node: all for 1") ? s->size : number(s, "plan.node", 1);
    all.blocks.n = number(s, "blocks.n", 1);
    all.blocks.id = OR_NULL("blocks.id", all.blocks.id);
    all.blocks.bytes = OR_NULL("blocks.bytes", all.blocks.bytes);
    all.bytes = number(s, "blocks.bytes", 16);
    all.blocks.first = OR_NULL("blocks.first", all.blocks.first);
    all.first[1] = is(s, "blocks.first: descending") ? -1 : all.first[1];
    all.first[0] = is(s, "blocks.first: not from 0");
    all.blocks.rank = OR_NULL("blocks.rank", all.blocks.rank);
    all.rank[0] = is(s, "blocks.rank: no rank") ? s->size : all.rank[0];
    all.rank[s->size - 1] -= is(s, "blocks.rank: not ascending");
    all.blocks.back = is(s, "blocks.back: true for false");
    all.blocks.code = is(s, "blocks.code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK;
    const int code = CALL(s, eqp_route_create(s->argument, OR_NULL("plan", &plan), OR_NULL("blocks", &all.blocks),
                                              OR_NULL("route", &route)));

    CHECK((route == NULL) == (code != EQP_OK));
    eqp_route_free(route);
    return code;
}

/* Only a rank without a route gets a different code; no other rank waits for it. */
static int route_asked(const seat *s)
{
    const eqp_exchange_plan plan = {EQP_STAGES_DIRECT, 0, 1};
    const int wrong = is(s, "route: NULL");
    eqp_route *route = NULL;
    scene all;

    make_scene(s, &all);
    CHECK_EQUAL(eqp_route_create(s->comm, &plan, &all.blocks, &route), EQP_OK);
    CHECK_EQUAL(eqp_route_ready(wrong ? NULL : route), wrong ? EQP_ERR_ARGUMENT : EQP_OK);
    CHECK_EQUAL(eqp_route_idle(wrong ? NULL : route), !wrong && s->size == 1);
    eqp_route_free(route);
    return EQP_OK;
}

static int route_fit(const seat *s)
{
    eqp_exchange_plan plan = {is(s, "plan.stages: another") ? EQP_STAGES_TWO : EQP_STAGES_LOG,
                              number(s, "plan.broadcast", 0), number(s, "plan.node", 3)};

    return CALL(s, eqp_route_fit(s->argument, OR_NULL("plan", &plan)));
}

/* A trip out and back; checks the immediate code of the rank that differs and the final one of all. */
static int trips(const seat *s, eqp_route *route, const scene *all)
{
    const eqp_route_view in = eqp_route_arrivals(route);
    const bool none = is(s, "route: NULL"), no_data = is(s, "data: NULL"), no_mine = is(s, "mine: NULL");
    double given[2 * MOST_RANKS], sum[2];
    const void *got = NULL;
    int begun, code;

    for (int i = 0; i < 2 * MOST_RANKS; i++) {
        given[i] = 1 + s->rank;
    }
    CHECK(!none ||
          (eqp_route_start(NULL, all->data) == EQP_ERR_ARGUMENT && eqp_route_finish(NULL, &got) == EQP_ERR_ARGUMENT &&
           eqp_route_back_start(NULL, given) == EQP_ERR_ARGUMENT &&
           eqp_route_back_finish(NULL, sum) == EQP_ERR_ARGUMENT));
    begun = eqp_route_start(route, no_data ? NULL : all->data);
    CHECK_EQUAL(begun, no_data ? EQP_ERR_ARGUMENT : EQP_OK);
    code = eqp_route_finish(route, OR_NULL("received", &got));
    for (int64_t i = 0; got && i < in.n; i++) {
        CHECK(((const double *)got)[in.offset[i] / 8] == in.home[i]);
    }
    if (code) {
        return code;
    }
    begun = eqp_route_back_start(route, no_mine ? NULL : given);
    CHECK_EQUAL(begun, no_mine && s->size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
    code = eqp_route_back_finish(route, OR_NULL("sum", sum));
    CHECK(code || is(s, "sum: NULL") || sum[0] == s->size * (s->size + 1) / 2 - 1 - s->rank);
    return code;
}

static int route_trips(const seat *s)
{
    const eqp_exchange_plan plans[] = {
        {EQP_STAGES_DIRECT, 0, 1}, {EQP_STAGES_LOG, 0, 1}, {EQP_STAGES_TWO, 1, 1}, {EQP_STAGES_DIRECT, 0, s->size}};
    const seat right = {.comm = s->comm, .rank = s->rank, .size = s->size, .what = ""};
    int code = EQP_OK;
    scene all;

    make_scene(s, &all);
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++) {
        eqp_route *route = NULL;

        CHECK_EQUAL(eqp_route_create(s->comm, &plans[p], &all.blocks, &route), EQP_OK);
        const int now = trips(s, route, &all);
        CHECK(p == 0 || now == code);
        code = now;
        CHECK_EQUAL(trips(&right, route, &all), EQP_OK);
        /* A failed start, then only its end. */
        (void)eqp_route_start(route, OR_NULL("data", all.data));
        eqp_route_free(OR_NULL("route", route));
        eqp_route_free(is(s, "route: NULL") ? route : NULL);
    }
    return code;
}

MPI_TEST(rows_of_routes)
{
    static const calls all[] = {
        {"eqp_route_create", route_create,
         "FINE blocks.n: 0; blocks.bytes: 8 for 16; ALONE comm: NULL; WRONG plan: NULL; plan.broadcast: -1; plan.node: "
         "0; blocks: NULL; blocks.n: -1; blocks.id: NULL; blocks.bytes: NULL; blocks.bytes: -1; blocks.first: NULL; "
         "blocks.first: descending; blocks.first: not from 0; blocks.rank: NULL; blocks.rank: no rank; blocks.rank: "
         "not ascending; route: NULL; SAME plan.stages: another; plan.broadcast: 4 for 0; plan.node: all for 1; "
         "blocks.back: true for false; DATA blocks.code: EQP_ERR_DATA"},
        {"eqp_route_ready", route_asked, "FINE route: NULL"},
        {"eqp_route_idle", route_asked, "FINE route: NULL"},
        {"eqp_route_fit", route_fit,
         "FINE plan.stages: another; plan.broadcast: 4 for 0; ALONE comm: NULL; WRONG plan: NULL; plan.node: 0; SAME "
         "plan.node: 2 for 3"},
        {"eqp_route_start", route_trips, "FINE route: NULL; WRONG data: NULL"},
        {"eqp_route_finish", route_trips, "FINE route: NULL; received: NULL"},
        {"eqp_route_back_start", route_trips, "FINE route: NULL; SAME mine: NULL"},
        {"eqp_route_back_finish", route_trips, "FINE route: NULL; sum: NULL"},
        {"eqp_route_free", route_trips, "FINE route: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}

/* ---- messengers ---- */

static int messenger_create(const seat *s)
{
    eqp_messenger *messenger = NULL;
    const int code = CALL(s, eqp_messenger_create(s->argument, OR_NULL("messenger", &messenger)));

    CHECK((messenger == NULL) == (code != EQP_OK));
    eqp_messenger_free(messenger);
    return code;
}

/* Sends a number to the next rank. */
static void put_number(const seat *s, eqp_messenger *messenger)
{
    double *room;

    if (s->size > 1) {
        CHECK_EQUAL(eqp_messenger_put(messenger, (s->rank + 1) % s->size, sizeof *room, &room), EQP_OK);
        *room = s->rank;
    }
}

/* A rank with a different code of its own makes the right call afterwards. */
static void answer_wrongly(const seat *s, eqp_messenger *messenger)
{
    const int other[2] = {(s->rank + 1) % s->size, s->size};

    if (is(s, "nto: -1") || is(s, "nfrom: -1")) {
        const int nto = number(s, "nto", 0), nfrom = number(s, "nfrom", 0);
        CHECK_EQUAL(eqp_messenger_answer(messenger, EQP_OK, nto, other, nfrom, other), EQP_ERR_ARGUMENT);
    }
    if (is(s, "to: NULL") || is(s, "from: NULL")) {
        const int nto = is(s, "to: NULL"), nfrom = is(s, "from: NULL");
        CHECK_EQUAL(eqp_messenger_answer(messenger, EQP_OK, nto, NULL, nfrom, NULL), EQP_ERR_ARGUMENT);
    }
    if (is(s, "to: no rank") || is(s, "from: no rank")) {
        const int nto = is(s, "to: no rank"), nfrom = is(s, "from: no rank");
        CHECK_EQUAL(eqp_messenger_answer(messenger, EQP_OK, nto, other + 1, nfrom, other + 1), EQP_ERR_ARGUMENT);
    }
}

static int messenger_exchange(const seat *s, bool answers)
{
    const int code = is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK, n = s->size > 1;
    const int next = (s->rank + 1) % s->size, last = (s->rank + s->size - 1) % s->size;
    const bool none = is(s, "messenger: NULL");
    eqp_messenger *messenger = NULL;

    CHECK_EQUAL(eqp_messenger_create(s->comm, &messenger), EQP_OK);
    put_number(s, messenger);
    CHECK(!none || (eqp_messenger_send(NULL, EQP_OK) == EQP_ERR_ARGUMENT &&
                    eqp_messenger_answer(NULL, EQP_OK, 0, NULL, 0, NULL) == EQP_ERR_ARGUMENT &&
                    eqp_messenger_finish(NULL) == EQP_ERR_ARGUMENT));
    answer_wrongly(s, messenger);
    CHECK_EQUAL(answers ? eqp_messenger_answer(messenger, code, n, &next, n, &last)
                        : eqp_messenger_send(messenger, code),
                EQP_OK);
    const int result = eqp_messenger_finish(messenger);
    const eqp_messages_view came = eqp_messenger_came(messenger);
    CHECK(result || (came.n == n && (n == 0 || *(const double *)came.data[0] == last)));
    if (none) {
        eqp_messenger_free(NULL);
    }
    eqp_messenger_free(messenger);
    return answers ? eqp_agree(s->comm, result, NULL) : result;
}

static int messenger_send(const seat *s)
{
    return messenger_exchange(s, false);
}

static int messenger_answer(const seat *s)
{
    return messenger_exchange(s, true);
}

MPI_TEST(rows_of_messengers)
{
    static const calls all[] = {
        {"eqp_messenger_create", messenger_create, "ALONE comm: NULL; WRONG messenger: NULL"},
        {"eqp_messenger_send", messenger_send, "FINE messenger: NULL; DATA code: EQP_ERR_DATA"},
        {"eqp_messenger_answer", messenger_answer,
         "FINE messenger: NULL; nto: -1; to: NULL; to: no rank; nfrom: -1; from: NULL; from: no rank; DATA code: "
         "EQP_ERR_DATA"},
        {"eqp_messenger_finish", messenger_send, "FINE messenger: NULL"},
        {"eqp_messenger_free", messenger_send, "FINE messenger: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}
