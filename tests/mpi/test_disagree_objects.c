/* SPDX-License-Identifier: BSD-3-Clause */
/* As test_disagree.c, for what ranks keep from call to call: feedback's ranges, loops, routes, messengers, directories.
 * After a call that was refused the object does its work, or is freed. */
#include "disagree.h"

#include <equipoise/directory.h>
#include <equipoise/feedback_run.h>
#include <equipoise/lazy_run.h>
#include <equipoise/messenger.h>
#include <equipoise/route.h>
#include <equipoise/schedule_run.h>

/* ---- feedback ---- */

static eqp_feedback_options feedback_options(const seat *s)
{
    eqp_feedback_options options = eqp_feedback_options_defaults();

    options.size = is(s, "options.size: 0") ? 0 : options.size;
    options.rule = is(s, "options.rule: another") ? EQP_FEEDBACK_PAPER : options.rule;
    options.max_steps = is(s, "options.max_steps: 9 for 10") ? 9 : is(s, "options.max_steps: -1") ? -1 : 10;
    options.threshold = is(s, "options.threshold: 0.25 for 0.125") ? 0.25 : 0.125;
    options.patience = is(s, "options.patience: 2 for 3") ? 2 : is(s, "options.patience: 0") ? 0 : 3;
    return options;
}

static int feedback_share_init(const seat *s)
{
    const eqp_feedback_options options = feedback_options(s);
    eqp_feedback_share share = {.low = -7};
    const int code = CALL(s, eqp_feedback_share_init(s->argument,
                                                     is(s, "n: -1")           ? -1
                                                     : is(s, "n: 99 for 100") ? 99
                                                                              : 100,
                                                     is(s, "options: NULL") ? NULL : &options,
                                                     is(s, "share: NULL") ? NULL : &share));

    CHECK((share.low == -7) == (code != EQP_OK));
    return code;
}

static int feedback_balance(const seat *s)
{
    const eqp_feedback_options options = eqp_feedback_options_defaults();
    eqp_feedback_share share, before;
    enum eqp_feedback_verdict verdict;
    int64_t *items;

    CHECK_EQUAL(eqp_feedback_share_init(s->comm, 100, &options, &share), EQP_OK);
    items = mpi_test_alloc(share.high - share.low, sizeof *items);
    share.low += is(s, "share.low: one later");
    share.high -= is(s, "share.high: one earlier");
    share.best_low += is(s, "share.best_low: one later");
    share.best_high -= is(s, "share.best_high: one earlier");
    share.state.checks += is(s, "share.state: another step");
    before = share;
    const int code =
        CALL(s, eqp_feedback_balance(s->argument,
                                     is(s, "load: -1")           ? -1
                                     : is(s, "load: 500 for 10") ? 500
                                                                 : 10,
                                     is(s, "item_size: 4 for 8") ? 4
                                     : is(s, "item_size: 0")     ? 0
                                                                 : 8,
                                     is(s, "data: NULL") ? NULL : &items, is(s, "share: NULL") ? NULL : &share,
                                     is(s, "verdict: NULL") ? NULL : &verdict));
    CHECK(!code || memcmp(&share, &before, sizeof share) == 0);
    free(items);
    return code;
}

static void rows_of_feedback(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_feedback_share_init", feedback_share_init, "comm: NULL", ALONE},
        {"eqp_feedback_share_init", feedback_share_init, "n: -1", WRONG},
        {"eqp_feedback_share_init", feedback_share_init, "n: 99 for 100", SAME},
        {"eqp_feedback_share_init", feedback_share_init, "options: NULL", WRONG},
        {"eqp_feedback_share_init", feedback_share_init, "options.size: 0", WRONG},
        {"eqp_feedback_share_init", feedback_share_init, "options.rule: another", SAME},
        {"eqp_feedback_share_init", feedback_share_init, "options.max_steps: 9 for 10", SAME},
        {"eqp_feedback_share_init", feedback_share_init, "options.max_steps: -1", WRONG},
        {"eqp_feedback_share_init", feedback_share_init, "options.threshold: 0.25 for 0.125", SAME},
        {"eqp_feedback_share_init", feedback_share_init, "options.patience: 2 for 3", SAME},
        {"eqp_feedback_share_init", feedback_share_init, "options.patience: 0", WRONG},
        {"eqp_feedback_share_init", feedback_share_init, "share: NULL", WRONG},
        {"eqp_feedback_balance", feedback_balance, "comm: NULL", ALONE},
        {"eqp_feedback_balance", feedback_balance, "load: -1", WRONG},
        {"eqp_feedback_balance", feedback_balance, "load: 500 for 10", EQP_OK},
        {"eqp_feedback_balance", feedback_balance, "item_size: 4 for 8", SAME},
        {"eqp_feedback_balance", feedback_balance, "item_size: 0", SAME},
        {"eqp_feedback_balance", feedback_balance, "data: NULL", WRONG},
        {"eqp_feedback_balance", feedback_balance, "share: NULL", WRONG},
        {"eqp_feedback_balance", feedback_balance, "share.low: one later", WRONG},
        {"eqp_feedback_balance", feedback_balance, "share.high: one earlier", WRONG},
        {"eqp_feedback_balance", feedback_balance, "share.best_low: one later", WRONG},
        {"eqp_feedback_balance", feedback_balance, "share.best_high: one earlier", WRONG},
        {"eqp_feedback_balance", feedback_balance, "share.state: another step", SAME},
        {"eqp_feedback_balance", feedback_balance, "verdict: NULL", WRONG},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

/* ---- loops ---- */

enum { ITERATIONS = 50 };

static int compute(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    (void)user, (void)first;
    for (int64_t i = 0; i < count && data && result; i++) {
        ((double *)result)[i] = ((const double *)data)[i];
    }
    return EQP_OK;
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    (void)user, (void)to, (void)first, (void)count;
    *data = mpi_test_alloc(1, 1);
    *bytes = 1;
    return EQP_OK;
}

static int compute_bundle(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                          void **result, size_t *result_bytes)
{
    (void)data, (void)bytes;
    return pack(user, owner, first, count, result, result_bytes);
}

static int take(void *user, int64_t first, int64_t count, const void *result, size_t bytes)
{
    (void)user, (void)first, (void)count, (void)result, (void)bytes;
    return EQP_OK;
}

static int loop_create(const seat *s)
{
    double even[MOST_RANKS], twice[MOST_RANKS];
    eqp_schedule_options rules = eqp_schedule_options_defaults();
    eqp_loop_options options = eqp_loop_options_defaults();
    eqp_loop *loop = NULL;

    for (int r = 0; r < s->size; r++) {
        even[r] = 1;
        twice[r] = 2;
    }
    rules.size = is(s, "rules.size: 0") ? 0 : rules.size;
    options.size = is(s, "options.size: 0") ? 0 : options.size;
    rules.weight = is(s, "rules.weight: NULL") ? NULL : is(s, "rules.weight: others") ? twice : even;
    rules.factor = is(s, "rules.factor: 3 for 2") ? 3 : 2;
    rules.chunk = is(s, "rules.chunk: 1 for 0");
    rules.overhead = is(s, "rules.overhead: 1 for 0");
    rules.deviation = is(s, "rules.deviation: 1 for 0");
    rules.dimensions = is(s, "rules.dimensions: 3 for 2") ? 3 : is(s, "rules.dimensions: 0") ? 0 : 2;
    options.data_bytes = is(s, "options.data_bytes: 8 for 0") ? 8 : 0;
    options.result_bytes = is(s, "options.result_bytes: 8 for 0") ? 8 : 0;
    options.yield = is(s, "options.yield: true for false");
    options.grain = is(s, "options.grain: 1 for 0") ? 1 : is(s, "options.grain: -1") ? -1 : 0;
    options.clock = is(s, "options.clock: another") ? eqp_cpu_seconds : NULL;
    options.engine = is(s, "options.engine: another") ? EQP_LOOP_MASTER : EQP_LOOP_ONE_SIDED;
    options.most_given = is(s, "options.most_given: 1 for 0");
    if (is(s, "options.bundles: true for false")) {
        options.bundles = true;
        options.engine = EQP_LOOP_MASTER;
    }
    const int code =
        CALL(s, eqp_loop_create(s->argument,
                                is(s, "method: NULL") ? NULL : eqp_schedule_method_at(is(s, "method: another") ? 1 : 2),
                                is(s, "n: -1")  ? -1
                                : is(s, "n: 0") ? 0
                                                : ITERATIONS,
                                is(s, "rules: NULL") ? NULL : &rules, is(s, "options: NULL") ? NULL : &options,
                                is(s, "loop: NULL") ? NULL : &loop));

    CHECK((loop == NULL) == (code != EQP_OK));
    eqp_loop_free(loop);
    return code;
}

/* A loop whose iterations lie where they were made. */
static eqp_loop *loop_of_bundles(const seat *s)
{
    const eqp_loop_options options = {.size = sizeof(eqp_loop_options), .engine = EQP_LOOP_MASTER, .bundles = true};
    eqp_loop *loop = NULL;

    CHECK_EQUAL(eqp_loop_create(s->comm, eqp_schedule_method_at(0), 0, NULL, &options, &loop), EQP_OK);
    return loop;
}

static int loop_resize(const seat *s)
{
    eqp_loop *loop = loop_of_bundles(s);
    const bool none = is(s, "loop: NULL");
    const int64_t mine = is(s, "mine: -1") ? -1 : is(s, "mine: INT64_MAX") ? INT64_MAX : is(s, "mine: 5 for 3") ? 5 : 3;
    const int code = CALL(s, eqp_loop_resize(none ? NULL : loop, mine));

    CHECK_EQUAL(eqp_loop_part(loop, s->rank).count, code ? 0 : mine);
    eqp_loop_free(loop);
    return code;
}

static int run_twice(const seat *s, eqp_loop *loop, eqp_loop_work *work)
{
    const eqp_loop_work right = *work;
    eqp_loop_bundles bundles = {NULL, NULL, NULL};
    eqp_loop_result result;
    const bool none = is(s, "loop: NULL");

    work->compute = is(s, "work.compute: NULL") ? NULL : work->compute;
    work->user = is(s, "work.user: another") ? &result : work->user;
    work->data = is(s, "work.data: NULL") ? NULL : work->data;
    work->result = is(s, "work.result: NULL") ? NULL : work->result;
    work->bundles = is(s, "work.bundles: NULL") ? NULL : is(s, "work.bundles: of NULLs") ? &bundles : work->bundles;
    const int code = CALL(
        s, eqp_loop_run(none ? NULL : loop, is(s, "work: NULL") ? NULL : work, is(s, "result: NULL") ? NULL : &result));

    CHECK_EQUAL(eqp_loop_run(loop, &right, &result), EQP_OK);
    eqp_loop_free(loop);
    return code;
}

static int loop_run(const seat *s)
{
    double in[ITERATIONS] = {0}, out[ITERATIONS];
    int code = EQP_OK;

    for (int engine = EQP_LOOP_ONE_SIDED; engine <= EQP_LOOP_MASTER; engine++) {
        const eqp_loop_options options = {.size = sizeof(eqp_loop_options),
                                          .data_bytes = sizeof in[0],
                                          .result_bytes = sizeof out[0],
                                          .engine = (eqp_loop_engine)engine};
        eqp_loop_work work = {compute, NULL, in, out, NULL};
        eqp_loop *loop = NULL;

        CHECK_EQUAL(eqp_loop_create(s->comm, eqp_schedule_method_at(0), ITERATIONS, NULL, &options, &loop), EQP_OK);
        const int now = run_twice(s, loop, &work);
        CHECK(engine == EQP_LOOP_ONE_SIDED || code == now);
        code = now;
    }
    return code;
}

static int loop_run_bundles(const seat *s)
{
    const eqp_loop_bundles bundles = {pack, compute_bundle, take};
    eqp_loop_work work = {compute, NULL, NULL, NULL, &bundles};
    eqp_loop *loop = loop_of_bundles(s);

    CHECK_EQUAL(eqp_loop_resize(loop, 3), EQP_OK);
    return run_twice(s, loop, &work);
}

static int loop_free(const seat *s)
{
    eqp_loop *loop = loop_of_bundles(s);

    if (is(s, "loop: NULL")) {
        eqp_loop_free(NULL);
    }
    eqp_loop_free(loop);
    return EQP_OK;
}

static void rows_of_loops(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_loop_create", loop_create, "comm: NULL", ALONE},
        {"eqp_loop_create", loop_create, "method: NULL", WRONG},
        {"eqp_loop_create", loop_create, "method: another", SAME},
        {"eqp_loop_create", loop_create, "n: -1", WRONG},
        {"eqp_loop_create", loop_create, "n: 0", SAME},
        {"eqp_loop_create", loop_create, "rules: NULL", SAME},
        {"eqp_loop_create", loop_create, "rules.size: 0", WRONG},
        {"eqp_loop_create", loop_create, "rules.weight: NULL", SAME},
        {"eqp_loop_create", loop_create, "rules.weight: others", SAME},
        {"eqp_loop_create", loop_create, "rules.factor: 3 for 2", SAME},
        {"eqp_loop_create", loop_create, "rules.chunk: 1 for 0", SAME},
        {"eqp_loop_create", loop_create, "rules.overhead: 1 for 0", SAME},
        {"eqp_loop_create", loop_create, "rules.deviation: 1 for 0", SAME},
        {"eqp_loop_create", loop_create, "rules.dimensions: 3 for 2", SAME},
        {"eqp_loop_create", loop_create, "rules.dimensions: 0", WRONG},
        {"eqp_loop_create", loop_create, "options: NULL", EQP_OK},
        {"eqp_loop_create", loop_create, "options.size: 0", WRONG},
        {"eqp_loop_create", loop_create, "options.data_bytes: 8 for 0", SAME},
        {"eqp_loop_create", loop_create, "options.result_bytes: 8 for 0", SAME},
        {"eqp_loop_create", loop_create, "options.yield: true for false", SAME},
        {"eqp_loop_create", loop_create, "options.grain: 1 for 0", SAME},
        {"eqp_loop_create", loop_create, "options.grain: -1", WRONG},
        {"eqp_loop_create", loop_create, "options.clock: another", EQP_OK},
        {"eqp_loop_create", loop_create, "options.engine: another", SAME},
        {"eqp_loop_create", loop_create, "options.bundles: true for false", WRONG},
        {"eqp_loop_create", loop_create, "options.most_given: 1 for 0", SAME},
        {"eqp_loop_create", loop_create, "loop: NULL", WRONG},
        {"eqp_loop_resize", loop_resize, "loop: NULL", ALONE},
        {"eqp_loop_resize", loop_resize, "mine: -1", WRONG},
        {"eqp_loop_resize", loop_resize, "mine: 5 for 3", EQP_OK},
        {"eqp_loop_resize", loop_resize, "mine: INT64_MAX", TOO_LARGE},
        {"eqp_loop_run", loop_run, "loop: NULL", ALONE},
        {"eqp_loop_run", loop_run, "work: NULL", WRONG},
        {"eqp_loop_run", loop_run, "work.compute: NULL", WRONG},
        {"eqp_loop_run", loop_run, "work.user: another", EQP_OK},
        {"eqp_loop_run", loop_run, "work.data: NULL", WRONG},
        {"eqp_loop_run", loop_run, "work.result: NULL", WRONG},
        {"eqp_loop_run", loop_run, "result: NULL", EQP_OK},
        {"eqp_loop_run", loop_run_bundles, "work.bundles: NULL", WRONG},
        {"eqp_loop_run", loop_run_bundles, "work.bundles: of NULLs", WRONG},
        {"eqp_loop_free", loop_free, "loop: NULL", EQP_OK},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

/* ---- routes ---- */

/* A block for every rank from every rank, of two doubles. */
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
    plan.broadcast = is(s, "plan.broadcast: 4 for 0") ? 4 : is(s, "plan.broadcast: -1") ? -1 : 0;
    plan.node = is(s, "plan.node: all for 1") ? s->size : is(s, "plan.node: 0") ? 0 : 1;
    all.blocks.n = is(s, "blocks.n: -1") ? -1 : is(s, "blocks.n: 0") ? 0 : 1;
    all.blocks.id = is(s, "blocks.id: NULL") ? NULL : all.blocks.id;
    all.blocks.bytes = is(s, "blocks.bytes: NULL") ? NULL : all.blocks.bytes;
    all.bytes = is(s, "blocks.bytes: -1") ? -1 : is(s, "blocks.bytes: 8 for 16") ? 8 : 16;
    all.blocks.first = is(s, "blocks.first: NULL") ? NULL : all.blocks.first;
    all.first[1] = is(s, "blocks.first: descending") ? -1 : all.first[1];
    all.blocks.rank = is(s, "blocks.rank: NULL") ? NULL : all.blocks.rank;
    all.rank[0] = is(s, "blocks.rank: no rank") ? s->size : all.rank[0];
    all.blocks.back = is(s, "blocks.back: true for false");
    all.blocks.code = is(s, "blocks.code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK;
    const int code =
        CALL(s, eqp_route_create(s->argument, is(s, "plan: NULL") ? NULL : &plan,
                                 is(s, "blocks: NULL") ? NULL : &all.blocks, is(s, "route: NULL") ? NULL : &route));

    CHECK((route == NULL) == (code != EQP_OK));
    eqp_route_free(route);
    return code;
}

/* What a rank that asks by no route is told differs; the others wait for nobody in either call. */
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
                              is(s, "plan.broadcast: 4 for 0") ? 4 : 0,
                              is(s, "plan.node: 2 for 3") ? 2
                              : is(s, "plan.node: 0")     ? 0
                                                          : 3};

    return CALL(s, eqp_route_fit(s->argument, is(s, "plan: NULL") ? NULL : &plan));
}

/* A trip out and one back; what a rank that differs is told at once, and what all are told in the end. */
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
    code = eqp_route_finish(route, is(s, "received: NULL") ? NULL : &got);
    for (int64_t i = 0; got && i < in.n; i++) {
        CHECK(((const double *)got)[in.offset[i] / 8] == in.home[i]);
    }
    if (code) {
        return code;
    }
    begun = eqp_route_back_start(route, no_mine ? NULL : given);
    CHECK_EQUAL(begun, no_mine && s->size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
    code = eqp_route_back_finish(route, is(s, "sum: NULL") ? NULL : sum);
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
        /* A start that has failed, and then nothing but the end. */
        (void)eqp_route_start(route, is(s, "data: NULL") ? NULL : all.data);
        eqp_route_free(is(s, "route: NULL") ? NULL : route);
        eqp_route_free(is(s, "route: NULL") ? route : NULL);
    }
    return code;
}

static void rows_of_routes(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_route_create", route_create, "comm: NULL", ALONE},
        {"eqp_route_create", route_create, "plan: NULL", WRONG},
        {"eqp_route_create", route_create, "plan.stages: another", SAME},
        {"eqp_route_create", route_create, "plan.broadcast: 4 for 0", SAME},
        {"eqp_route_create", route_create, "plan.broadcast: -1", WRONG},
        {"eqp_route_create", route_create, "plan.node: all for 1", SAME},
        {"eqp_route_create", route_create, "plan.node: 0", WRONG},
        {"eqp_route_create", route_create, "blocks: NULL", WRONG},
        {"eqp_route_create", route_create, "blocks.n: -1", WRONG},
        {"eqp_route_create", route_create, "blocks.n: 0", EQP_OK},
        {"eqp_route_create", route_create, "blocks.id: NULL", WRONG},
        {"eqp_route_create", route_create, "blocks.bytes: NULL", WRONG},
        {"eqp_route_create", route_create, "blocks.bytes: -1", WRONG},
        {"eqp_route_create", route_create, "blocks.bytes: 8 for 16", EQP_OK},
        {"eqp_route_create", route_create, "blocks.first: NULL", WRONG},
        {"eqp_route_create", route_create, "blocks.first: descending", WRONG},
        {"eqp_route_create", route_create, "blocks.rank: NULL", WRONG},
        {"eqp_route_create", route_create, "blocks.rank: no rank", WRONG},
        {"eqp_route_create", route_create, "blocks.back: true for false", SAME},
        {"eqp_route_create", route_create, "blocks.code: EQP_ERR_DATA", EQP_ERR_DATA},
        {"eqp_route_create", route_create, "route: NULL", WRONG},
        {"eqp_route_ready", route_asked, "route: NULL", EQP_OK},
        {"eqp_route_idle", route_asked, "route: NULL", EQP_OK},
        {"eqp_route_fit", route_fit, "comm: NULL", ALONE},
        {"eqp_route_fit", route_fit, "plan: NULL", WRONG},
        {"eqp_route_fit", route_fit, "plan.stages: another", EQP_OK},
        {"eqp_route_fit", route_fit, "plan.broadcast: 4 for 0", EQP_OK},
        {"eqp_route_fit", route_fit, "plan.node: 2 for 3", SAME},
        {"eqp_route_fit", route_fit, "plan.node: 0", WRONG},
        {"eqp_route_start", route_trips, "route: NULL", EQP_OK},
        {"eqp_route_start", route_trips, "data: NULL", WRONG},
        {"eqp_route_finish", route_trips, "route: NULL", EQP_OK},
        {"eqp_route_finish", route_trips, "received: NULL", EQP_OK},
        {"eqp_route_back_start", route_trips, "route: NULL", EQP_OK},
        {"eqp_route_back_start", route_trips, "mine: NULL", SAME},
        {"eqp_route_back_finish", route_trips, "route: NULL", EQP_OK},
        {"eqp_route_back_finish", route_trips, "sum: NULL", EQP_OK},
        {"eqp_route_free", route_trips, "route: NULL", EQP_OK},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

/* ---- messengers ---- */

static int messenger_create(const seat *s)
{
    eqp_messenger *messenger = NULL;
    const int code = CALL(s, eqp_messenger_create(s->argument, is(s, "messenger: NULL") ? NULL : &messenger));

    CHECK((messenger == NULL) == (code != EQP_OK));
    eqp_messenger_free(messenger);
    return code;
}

/* A number to the next rank. */
static void put_number(const seat *s, eqp_messenger *messenger)
{
    double *room;

    if (s->size > 1) {
        CHECK_EQUAL(eqp_messenger_put(messenger, (s->rank + 1) % s->size, sizeof *room, &room), EQP_OK);
        *room = s->rank;
    }
}

/* What a rank is told that differs is its own business: it makes the right call then. */
static void answer_wrongly(const seat *s, eqp_messenger *messenger)
{
    const int other[2] = {(s->rank + 1) % s->size, s->size};

    if (is(s, "nto: -1") || is(s, "nfrom: -1")) {
        const int nto = is(s, "nto: -1") ? -1 : 0, nfrom = is(s, "nfrom: -1") ? -1 : 0;
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

static void rows_of_messengers(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_messenger_create", messenger_create, "comm: NULL", ALONE},
        {"eqp_messenger_create", messenger_create, "messenger: NULL", WRONG},
        {"eqp_messenger_send", messenger_send, "messenger: NULL", EQP_OK},
        {"eqp_messenger_send", messenger_send, "code: EQP_ERR_DATA", EQP_ERR_DATA},
        {"eqp_messenger_answer", messenger_answer, "messenger: NULL", EQP_OK},
        {"eqp_messenger_answer", messenger_answer, "code: EQP_ERR_DATA", EQP_ERR_DATA},
        {"eqp_messenger_answer", messenger_answer, "nto: -1", EQP_OK},
        {"eqp_messenger_answer", messenger_answer, "to: NULL", EQP_OK},
        {"eqp_messenger_answer", messenger_answer, "to: no rank", EQP_OK},
        {"eqp_messenger_answer", messenger_answer, "nfrom: -1", EQP_OK},
        {"eqp_messenger_answer", messenger_answer, "from: NULL", EQP_OK},
        {"eqp_messenger_answer", messenger_answer, "from: no rank", EQP_OK},
        {"eqp_messenger_finish", messenger_send, "messenger: NULL", EQP_OK},
        {"eqp_messenger_free", messenger_send, "messenger: NULL", EQP_OK},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

/* ---- directories ---- */

/* Two ids of each rank. */
static int directory_create(const seat *s)
{
    const int64_t id[2] = {s->rank, is(s, "id: twice") ? s->rank : -1 - s->rank};
    eqp_directory *directory = NULL;
    const int code =
        CALL(s, eqp_directory_create(s->argument,
                                     is(s, "n: -1")  ? -1
                                     : is(s, "n: 0") ? 0
                                                     : 2,
                                     is(s, "id: NULL") ? NULL : id, is(s, "directory: NULL") ? NULL : &directory));

    CHECK((directory == NULL) == (code != EQP_OK));
    eqp_directory_free(directory);
    return code;
}

static eqp_directory *directory_of_ranks(const seat *s)
{
    const int64_t id = s->rank;
    eqp_directory *directory = NULL;

    CHECK_EQUAL(eqp_directory_create(s->comm, 1, &id, &directory), EQP_OK);
    return directory;
}

static int directory_find(const seat *s)
{
    const int64_t n = is(s, "n: -1") ? -1 : is(s, "n: 0") ? 0 : 2;
    const int64_t id[2] = {is(s, "id: nobody's") ? s->size : s->size - 1, 0};
    const bool none = is(s, "directory: NULL");
    eqp_directory *directory = directory_of_ranks(s);
    int rank[2] = {-7, -7};
    const int code = CALL(s, eqp_directory_find(none ? NULL : directory, n, is(s, "id: NULL") ? NULL : id,
                                                is(s, "rank: NULL") ? NULL : rank));

    CHECK_EQUAL(rank[0], code || n == 0 ? -7 : id[0] < s->size ? s->size - 1 : -1);
    CHECK_EQUAL(rank[1], code || n == 0 ? -7 : 0);
    CHECK_EQUAL(eqp_directory_find(directory, 2, id, rank), EQP_OK);
    eqp_directory_free(directory);
    return code;
}

static int directory_free(const seat *s)
{
    eqp_directory *directory = directory_of_ranks(s);

    if (is(s, "directory: NULL")) {
        eqp_directory_free(NULL);
    }
    eqp_directory_free(directory);
    return EQP_OK;
}

static void rows_of_directories(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_directory_create", directory_create, "comm: NULL", ALONE},
        {"eqp_directory_create", directory_create, "n: -1", WRONG},
        {"eqp_directory_create", directory_create, "n: 0", EQP_OK},
        {"eqp_directory_create", directory_create, "id: NULL", WRONG},
        {"eqp_directory_create", directory_create, "id: twice", EQP_ERR_DATA},
        {"eqp_directory_create", directory_create, "directory: NULL", WRONG},
        {"eqp_directory_find", directory_find, "directory: NULL", ALONE},
        {"eqp_directory_find", directory_find, "n: -1", WRONG},
        {"eqp_directory_find", directory_find, "n: 0", EQP_OK},
        {"eqp_directory_find", directory_find, "id: NULL", WRONG},
        {"eqp_directory_find", directory_find, "id: nobody's", EQP_OK},
        {"eqp_directory_find", directory_find, "rank: NULL", WRONG},
        {"eqp_directory_free", directory_free, "directory: NULL", EQP_OK},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

/* ---- lazy maps ---- */

static int lazy_split(const seat *s)
{
    eqp_lazy_options options = eqp_lazy_options_defaults();
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = NULL;
    eqp_message message = {""};

    options.size -= is(s, "options.size: less");
    options.mode = is(s, "options.mode: none for thread") ? EQP_LAZY_NONE : EQP_LAZY_BY_THREAD;
    options.balancers = is(s, "options.balancers: 1 for 0");
    options.wait = is(s, "options.wait: 1 for 2") ? 1 : 2;
    options.delay = is(s, "options.delay: 0") ? 0 : -1;
    options.repair = is(s, "options.repair: 1 for -1") ? 1 : -1;
    options.patience = is(s, "options.patience: 1 for 60") ? 1 : 60;
    options.spread = is(s, "options.spread: by node");
    options.choose = is(s, "options.choose: yes");
    const int code = CALL(s, eqp_lazy_split(s->argument, is(s, "options: NULL") ? NULL : &options,
                                            is(s, "mine: NULL") ? NULL : &mine, is(s, "lazy: NULL") ? NULL : &lazy,
                                            is(s, "message: NULL") ? NULL : &message));

    CHECK((lazy == NULL) == (code != EQP_OK) || options.mode == EQP_LAZY_NONE);
    CHECK((mine == MPI_COMM_NULL) == (code != EQP_OK));
    CHECK_EQUAL(eqp_lazy_leave(&lazy, NULL), EQP_OK);
    eqp_comm_free(&mine);
    return code;
}

/* The thread's map is nothing. */
static int make_nothing(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                        eqp_lazy_parcel *answer)
{
    (void)user;
    return balancers == MPI_COMM_NULL && n == nranks && offer && answer ? EQP_OK : EQP_ERR_DATA;
}

static eqp_lazy *lazy_of_ranks(const seat *s, MPI_Comm *mine)
{
    eqp_lazy_options options = eqp_lazy_options_defaults();
    eqp_lazy *lazy = NULL;

    options.mode = EQP_LAZY_BY_THREAD;
    options.wait = 1;
    CHECK_EQUAL(eqp_lazy_split(s->comm, &options, mine, &lazy, NULL), EQP_OK);
    CHECK_EQUAL(eqp_lazy_host(lazy, make_nothing, NULL), EQP_OK);
    return lazy;
}

static int lazy_poll(const seat *s)
{
    const bool none = is(s, "lazy: NULL"), early = is(s, "step: another");
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = lazy_of_ranks(s, &mine);
    eqp_lazy_phase news = EQP_LAZY_IDLE;

    CHECK_EQUAL(eqp_lazy_offer(lazy, 0, sizeof news, &news), EQP_OK);
    const int code = CALL(s, eqp_lazy_poll(none ? NULL : lazy, early ? 0 : 1, is(s, "news: NULL") ? NULL : &news));
    for (int step = 2; !s->alone && news != EQP_LAZY_READY; step++) {
        CHECK_EQUAL(eqp_lazy_poll(lazy, step, &news), EQP_OK);
    }
    CHECK_EQUAL(eqp_lazy_leave(&lazy, NULL), EQP_OK);
    eqp_comm_free(&mine);
    return code;
}

static int lazy_leave(const seat *s)
{
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = lazy_of_ranks(s, &mine);
    bool lost = true;
    int code = EQP_OK;

    CHECK_EQUAL(eqp_lazy_offer(lazy, 0, sizeof code, &code), EQP_OK);
    if (is(s, "lazy: NULL")) {
        code = eqp_lazy_leave(NULL, &lost);
    }
    CHECK_EQUAL(eqp_lazy_leave(&lazy, is(s, "lost: NULL") ? NULL : &lost), EQP_OK);
    eqp_comm_free(&mine);
    return s->alone && !s->odd ? EQP_ERR_ARGUMENT : code;
}

static void rows_of_lazy_maps(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_lazy_split", lazy_split, "world: NULL", ALONE},
        {"eqp_lazy_split", lazy_split, "options: NULL", WRONG},
        {"eqp_lazy_split", lazy_split, "options.size: less", WRONG},
        {"eqp_lazy_split", lazy_split, "options.mode: none for thread", SAME},
        {"eqp_lazy_split", lazy_split, "options.balancers: 1 for 0", SAME},
        {"eqp_lazy_split", lazy_split, "options.wait: 1 for 2", SAME},
        {"eqp_lazy_split", lazy_split, "options.delay: 0", WRONG},
        {"eqp_lazy_split", lazy_split, "options.repair: 1 for -1", SAME},
        {"eqp_lazy_split", lazy_split, "options.patience: 1 for 60", SAME},
        {"eqp_lazy_split", lazy_split, "options.spread: by node", SAME},
        {"eqp_lazy_split", lazy_split, "options.choose: yes", SAME},
        {"eqp_lazy_split", lazy_split, "mine: NULL", WRONG},
        {"eqp_lazy_split", lazy_split, "lazy: NULL", WRONG},
        {"eqp_lazy_split", lazy_split, "message: NULL", EQP_OK},
        {"eqp_lazy_poll", lazy_poll, "lazy: NULL", ALONE},
        {"eqp_lazy_poll", lazy_poll, "step: another", EQP_OK},
        {"eqp_lazy_poll", lazy_poll, "news: NULL", EQP_OK},
        {"eqp_lazy_leave", lazy_leave, "lazy: NULL", ALONE},
        {"eqp_lazy_leave", lazy_leave, "lost: NULL", EQP_OK},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(rows_of_feedback),   MPI_TEST(rows_of_loops),       MPI_TEST(rows_of_routes),
        MPI_TEST(rows_of_messengers), MPI_TEST(rows_of_directories), MPI_TEST(rows_of_lazy_maps),
    };
    only_row = argc > 2 ? argv[2] : NULL;
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
