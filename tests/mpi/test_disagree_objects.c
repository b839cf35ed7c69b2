/* SPDX-License-Identifier: BSD-3-Clause */
/* As test_disagree.c, for objects that live across calls: feedback ranges, loops, directories, lazy maps. After a
 * refused call the object works or is freed. */
#include "disagree.h"

#include <equipoise/more/lazy.h>
#include <equipoise/more/loops.h>
#include <equipoise/more/methods.h>

/* ---- feedback ---- */

static eqp_feedback_options feedback_options(const seat *s)
{
    eqp_feedback_options options = eqp_feedback_options_defaults();

    options.size = is(s, "options.size: 0") ? 0 : options.size;
    options.rule = is(s, "options.rule: another") ? EQP_FEEDBACK_PAPER : options.rule;
    options.max_steps = number(s, "options.max_steps", 10);
    options.threshold = real(s, "options.threshold", 0.125);
    options.patience = number(s, "options.patience", 3);
    return options;
}

static int feedback_share_init(const seat *s)
{
    const eqp_feedback_options options = feedback_options(s);
    eqp_feedback_share share = {.low = -7};
    const int code = CALL(s, eqp_feedback_share_init(s->argument, number(s, "n", 100), OR_NULL("options", &options),
                                                     OR_NULL("share", &share)));

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
        CALL(s, eqp_feedback_balance(s->argument, is(s, "load: INT64_MAX") ? INT64_MAX : number(s, "load", 10),
                                     number(s, "item_size", 8), OR_NULL("data", &items), OR_NULL("share", &share),
                                     OR_NULL("verdict", &verdict)));
    CHECK(!code || memcmp(&share, &before, sizeof share) == 0);
    free(items);
    return code;
}

MPI_TEST(rows_of_feedback)
{
    static const calls all[] = {
        {"eqp_feedback_share_init", feedback_share_init,
         "ALONE comm: NULL; WRONG n: -1; options: NULL; options.size: 0; options.max_steps: -1; options.patience: 0; "
         "share: NULL; SAME n: 99 for 100; options.rule: another; options.max_steps: 9 for 10; options.threshold: 0.25 "
         "for 0.125; options.patience: 2 for 3"},
        {"eqp_feedback_balance", feedback_balance,
         "FINE load: 500 for 10; ALONE comm: NULL; WRONG load: -1; data: NULL; share: NULL; share.low: one later; "
         "share.high: one earlier; share.best_low: one later; share.best_high: one earlier; verdict: NULL; SAME "
         "item_size: 4 for 8; item_size: 0; share.state: another step; TOO_LARGE load: INT64_MAX"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}

/* ---- loops ---- */

enum { ITERATIONS = 50 };

static int compute(void *user, int64_t first, int64_t count)
{
    (void)user, (void)first, (void)count;
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

static double another_clock(void *user)
{
    (void)user;
    return eqp_cpu_seconds();
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
    rules.factor = number(s, "rules.factor", 2);
    rules.chunk = is(s, "rules.chunk: 1 for 0");
    rules.overhead = is(s, "rules.overhead: 1 for 0");
    rules.deviation = is(s, "rules.deviation: 1 for 0");
    rules.dimensions = number(s, "rules.dimensions", 2);
    options.yield = is(s, "options.yield: true for false");
    options.grain = number(s, "options.grain", 0);
    options.clock.seconds = is(s, "options.clock: another") ? another_clock : NULL;
    options.most_given = is(s, "options.most_given: 1 for 0");
    options.bundles = is(s, "options.bundles: true for false");
    const int code =
        CALL(s, eqp_loop_create(s->argument,
                                is(s, "method: NULL") ? NULL : eqp_schedule_method_at(is(s, "method: another") ? 1 : 2),
                                number(s, "n", ITERATIONS), OR_NULL("rules", &rules), OR_NULL("options", &options),
                                OR_NULL("loop", &loop)));

    CHECK((loop == NULL) == (code != EQP_OK));
    eqp_loop_free(loop);
    return code;
}

static eqp_loop *loop_of_bundles(const seat *s)
{
    const eqp_loop_options options = {.size = sizeof(eqp_loop_options), .bundles = true};
    eqp_loop *loop = NULL;

    CHECK_EQUAL(eqp_loop_create(s->comm, eqp_schedule_method_at(0), 0, NULL, &options, &loop), EQP_OK);
    return loop;
}

static int loop_resize(const seat *s)
{
    eqp_loop *loop = loop_of_bundles(s);
    const bool none = is(s, "loop: NULL");
    const int64_t mine = is(s, "mine: INT64_MAX") ? INT64_MAX : number(s, "mine", 3);
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

    work->compute = OR_NULL("work.compute", work->compute);
    work->user = is(s, "work.user: another") ? &result : work->user;
    work->bundles = is(s, "work.bundles: NULL") ? NULL : is(s, "work.bundles: of NULLs") ? &bundles : work->bundles;
    const int code = CALL(s, eqp_loop_run(none ? NULL : loop, OR_NULL("work", work), OR_NULL("result", &result)));

    CHECK_EQUAL(eqp_loop_run(loop, &right, &result), EQP_OK);
    eqp_loop_free(loop);
    return code;
}

static int loop_run(const seat *s)
{
    eqp_loop_work work = {compute, NULL, NULL};
    eqp_loop *loop = NULL;

    CHECK_EQUAL(eqp_loop_create(s->comm, eqp_schedule_method_at(0), ITERATIONS, NULL, NULL, &loop), EQP_OK);
    return run_twice(s, loop, &work);
}

static int loop_run_bundles(const seat *s)
{
    const eqp_loop_bundles bundles = {pack, compute_bundle, take};
    eqp_loop_work work = {compute, NULL, &bundles};
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

MPI_TEST(rows_of_loops)
{
    static const calls all[] = {
        {"eqp_loop_create", loop_create,
         "FINE options: NULL; options.clock: another; ALONE comm: NULL; WRONG method: NULL; n: -1; rules.size: 0; "
         "rules.dimensions: 0; options.size: 0; options.grain: -1; options.bundles: true for false; loop: NULL; SAME "
         "method: another; n: 0; rules: NULL; rules.weight: NULL; rules.weight: others; rules.factor: 3 for 2; "
         "rules.chunk: 1 for 0; rules.overhead: 1 for 0; rules.deviation: 1 for 0; rules.dimensions: 3 for 2; "
         "options.yield: true for false; options.grain: 1 for 0; options.most_given: 1 for 0"},
        {"eqp_loop_resize", loop_resize,
         "FINE mine: 5 for 3; ALONE loop: NULL; WRONG mine: -1; TOO_LARGE mine: INT64_MAX"},
        {"eqp_loop_run", loop_run,
         "FINE work.user: another; result: NULL; ALONE loop: NULL; WRONG work: NULL; work.compute: NULL"},
        {"eqp_loop_run", loop_run_bundles, "WRONG work.bundles: NULL; work.bundles: of NULLs"},
        {"eqp_loop_free", loop_free, "FINE loop: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}

/* ---- directories ---- */

/* Two ids per rank. */
static int directory_create(const seat *s)
{
    const int64_t id[2] = {s->rank, is(s, "id: twice") ? s->rank : -1 - s->rank};
    eqp_directory *directory = NULL;
    const int code = CALL(
        s, eqp_directory_create(s->argument, number(s, "n", 2), OR_NULL("id", id), OR_NULL("directory", &directory)));

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
    const int64_t n = number(s, "n", 2);
    const int64_t id[2] = {is(s, "id: nobody's") ? s->size : s->size - 1, 0};
    const bool none = is(s, "directory: NULL");
    eqp_directory *directory = directory_of_ranks(s);
    int rank[2] = {-7, -7};
    const int code = CALL(s, eqp_directory_find(none ? NULL : directory, n, OR_NULL("id", id), OR_NULL("rank", rank)));

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

MPI_TEST(rows_of_directories)
{
    static const calls all[] = {
        {"eqp_directory_create", directory_create,
         "FINE n: 0; ALONE comm: NULL; WRONG n: -1; id: NULL; directory: NULL; DATA id: twice"},
        {"eqp_directory_find", directory_find,
         "FINE n: 0; id: nobody's; ALONE directory: NULL; WRONG n: -1; id: NULL; rank: NULL"},
        {"eqp_directory_free", directory_free, "FINE directory: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
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
    options.wait = number(s, "options.wait", 2);
    options.delay = number(s, "options.delay", -1);
    options.repair = number(s, "options.repair", -1);
    options.patience = number(s, "options.patience", 60);
    options.spread = is(s, "options.spread: by node");
    options.choose = is(s, "options.choose: yes");
    const int code = CALL(s, eqp_lazy_split(s->argument, OR_NULL("options", &options), OR_NULL("mine", &mine),
                                            OR_NULL("lazy", &lazy), OR_NULL("message", &message)));

    CHECK((lazy == NULL) == (code != EQP_OK) || options.mode == EQP_LAZY_NONE);
    CHECK((mine == MPI_COMM_NULL) == (code != EQP_OK));
    CHECK_EQUAL(eqp_lazy_leave(&lazy, NULL), EQP_OK);
    eqp_comm_free(&mine);
    return code;
}

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
    const int code = CALL(s, eqp_lazy_poll(none ? NULL : lazy, early ? 0 : 1, OR_NULL("news", &news)));
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
    CHECK_EQUAL(eqp_lazy_leave(&lazy, OR_NULL("lost", &lost)), EQP_OK);
    eqp_comm_free(&mine);
    return s->alone && !s->odd ? EQP_ERR_ARGUMENT : code;
}

MPI_TEST(rows_of_lazy_maps)
{
    static const calls all[] = {
        {"eqp_lazy_split", lazy_split,
         "FINE message: NULL; ALONE world: NULL; WRONG options: NULL; options.size: less; options.delay: 0; mine: "
         "NULL; lazy: NULL; SAME options.mode: none for thread; options.balancers: 1 for 0; options.wait: 1 for 2; "
         "options.repair: 1 for -1; options.patience: 1 for 60; options.spread: by node; options.choose: yes"},
        {"eqp_lazy_poll", lazy_poll, "FINE step: another; news: NULL; ALONE lazy: NULL"},
        {"eqp_lazy_leave", lazy_leave, "FINE lost: NULL; ALONE lazy: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}
