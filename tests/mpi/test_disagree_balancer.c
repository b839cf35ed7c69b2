/* SPDX-License-Identifier: BSD-3-Clause */
/* As test_disagree.c, for balancers: set-up, steps and comparisons. The balancer works after a refused call. */
#include "disagree.h"
#include "methods/frame/frame.h"

#include "balancer_world.h"

/* ---- fields that differ ---- */

/* A field of a struct by name: "NAME: 0" if it is zero on the odd rank, "NAME: -1" if all its bits are set there
 * (pointers are not followed before all ranks agree), "NAME: differs" if its lowest bit differs. Members of a field
 * are rows of that field. */
typedef struct field {
    const char *object, *name;
    size_t offset, size;
} field;

#define FIELD(object, type, field)                                                                                     \
    {                                                                                                                  \
#object, #object "." #field, offsetof(type, field), sizeof((type *)0)->field                                   \
    }
#define P(field) FIELD(problem, eqp_problem, field)
#define O(field) FIELD(options, eqp_balancer_options, field)
#define W(field) FIELD(work, eqp_work, field)
#define C(field) FIELD(comparison, eqp_comparison, field)
#define M(field, of)                                                                                                   \
    {                                                                                                                  \
        "options", "options." #field ": " #of, offsetof(eqp_balancer_options, field.of),                               \
            sizeof((eqp_balancer_options *)0)->field.of                                                                \
    }
#define CAPACITIES(object, type, of)                                                                                   \
    {                                                                                                                  \
#object, #object ".capacities: " #of, offsetof(type, capacities.of), sizeof((type *)0)->capacities.of          \
    }
#define TABLE(...)                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static const field fields[] =
    TABLE(P(user), P(nkinds), P(nominal), P(once), P(nphases), P(back), P(ghosts), P(overhead), P(memory), P(branch),
          P(own), P(estimates), P(apart), P(survey), P(open), P(close), P(aspect), P(base), P(trace), P(assign),
          P(advance), P(label), P(ngrains), P(grain), P(cycle), P(turn), O(size), O(imbalance_tol), O(fresh_tol),
          O(assign_tol), O(seed), O(plan_auto), O(network_measure), O(calibrate), O(handed_out), O(fixed_costs),
          M(method, word), M(method, method), M(method, settings), M(method, options.strategy), M(method, options.rate),
          M(method, options.threshold), M(method, options.pins), M(method, options.full), M(method, options.split),
          M(method, options.even), M(method, options.homes), M(method, options.maps), M(method, options.start),
          M(policy, mode), M(policy, every), M(policy, imbalance_tol), M(policy, settle), M(policy, jump),
          M(share, kind), M(share, nspeeds), M(share, speed), M(plan, stages), M(plan, broadcast), M(plan, node),
          M(network, alpha), M(network, beta), M(network, node), W(row), W(row_bytes), W(rows), W(count), W(last),
          W(evaluations), W(timings), W(moved), W(nphases), W(phase_load), W(phase_count), C(nchoices), C(choice),
          C(ncounts), C(parts), C(network), C(plan), C(nspeeds), C(speed), C(on_rows), C(on_map), C(user),
          CAPACITIES(options, eqp_balancer_options, n), CAPACITIES(options, eqp_balancer_options, of_mean),
          CAPACITIES(comparison, eqp_comparison, n), CAPACITIES(comparison, eqp_comparison, of_mean));

static bool is_in(const seat *s, const char *name, const char *how)
{
    char what[128];

    snprintf(what, sizeof what, "%s: %s", name, how);
    return is(s, what);
}

static void spoil(const seat *s, const char *name, void *object)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        const field *f = &fields[i];
        unsigned char *at = (unsigned char *)object + f->offset;
        if (strcmp(f->object, name) != 0) {
            continue;
        }
        if (is_in(s, f->name, "0") || is_in(s, f->name, "-1")) {
            memset(at, is_in(s, f->name, "0") ? 0 : 0xff, f->size);
        }
        *at ^= is_in(s, f->name, "differs");
    }
}

/* ---- a code: owners on a line, equally many per rank ---- */

enum { HERE = 4, KINDS = 2 };

typedef struct scene {
    int rank, back[1], ghosts[1];
    double nominal[KINDS + 1];
    eqp_overhead overhead;
    eqp_memory memory;
    eqp_method method;
    const eqp_method *row[1];
    eqp_methods own;
    eqp_problem problem;
} scene;

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const scene *all = user;
    int code = EQP_OK;

    for (int i = 0; i < HERE && code == EQP_OK; i++) {
        const int number = all->rank * HERE + i;
        const eqp_owner owner = owner_at(all->rank, i, number, kind == EQP_SURVEY_WORK ? 100 + number : 0);
        code = eqp_survey_add_owner(list, &owner);
    }
    return code;
}

static int trace(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const scene *all = user;
    int code = EQP_OK;

    (void)nparts, (void)loads_only;
    for (int i = 0; i < HERE && code == EQP_OK; i++) {
        code = eqp_evaluation_load(evaluation, eqp_map_own_rank(map, placement[i].tag), 100 + all->rank * HERE + i);
    }
    return code;
}

static int cycle(void *user, eqp_cycle_turns *phases)
{
    (void)user;
    *phases = (eqp_cycle_turns){1, {1.0}};
    return EQP_OK;
}

static void make_scene(const seat *s, scene *all)
{
    *all = (scene){.rank = s->rank,
                   .ghosts = {1},
                   .nominal = {2, 1, 1},
                   .overhead = {.calls = 1},
                   .memory = {.held = 1},
                   .method = {.name = "own"}};
    all->row[0] = &all->method;
    all->own = (eqp_methods){all->row, 1};
    all->problem = (eqp_problem){.user = all,
                                 .nkinds = KINDS,
                                 .nominal = all->nominal,
                                 .nphases = 1,
                                 .back = all->back,
                                 .ghosts = all->ghosts,
                                 .own = &all->own,
                                 .survey = survey,
                                 .trace = trace,
                                 .cycle = cycle,
                                 .apart = true,
                                 .overhead = &all->overhead,
                                 .memory = &all->memory};
}

static eqp_balancer *right_balancer(const seat *s, const char *method, scene *all)
{
    eqp_balancer_options options = options_of(method);

    make_scene(s, all);
    options.policy = (eqp_policy_options){sizeof(eqp_policy_options), EQP_POLICY_EVERY, 2, 0, 1, 0, 1e-4};
    return balancer_of(s->comm, &all->problem, &options);
}

static int record_right(const seat *s, eqp_balancer *balancer)
{
    const int64_t count[KINDS] = {100 + s->rank, 1};
    eqp_rank_row mine = {.load = 1};

    return eqp_balancer_record(balancer, &(eqp_work){.row = &mine, .count = count}, NULL);
}

/* After a step, and before one for which it needs a survey. */
static eqp_balancer *running_balancer(const seat *s, scene *all)
{
    eqp_balancer *balancer = right_balancer(s, "sfc", all);

    CHECK_EQUAL(eqp_balancer_renew(balancer, 8, &(eqp_advice){.action = EQP_KEEP}, NULL), EQP_OK);
    CHECK_EQUAL(record_right(s, balancer), EQP_OK);
    return balancer;
}

static eqp_balancer *given(const seat *s, eqp_balancer *balancer)
{
    return OR_NULL("balancer", balancer);
}

static double another_clock(void *user)
{
    (void)user;
    return eqp_wall_seconds();
}

static int create(const seat *s)
{
    double speed[] = {1 + is(s, "options.share: another speed")};
    const eqp_speed_model model = {.name = "another"};
    const eqp_method copy = *eqp__methods_find(NULL, "auto");
    eqp_balancer_options options;
    eqp_balancer *balancer = NULL;
    eqp_message message = {""};
    scene all;
    eqp_lazy_options beside = eqp_lazy_options_defaults();
    eqp_lazy *lazy = NULL;
    MPI_Comm alone = MPI_COMM_NULL;

    beside.mode = EQP_LAZY_BY_THREAD;
    CHECK_EQUAL(eqp_lazy_split(MPI_COMM_SELF, &beside, &alone, &lazy, NULL), EQP_OK);
    make_scene(s, &all);
    all.nominal[1] += is(s, "problem.nominal: 2 for 1");
    all.memory.held += is(s, "problem.memory: 2 for 1");
    all.memory.ghost -= is(s, "problem.memory: -1 for 0");
    all.overhead.calls += is(s, "problem.overhead: 2 for 1");
    all.overhead.part -= is(s, "problem.overhead: -1 for 0");
    all.back[0] += is(s, "problem.back: 1 for 0");
    all.ghosts[0] -= is(s, "problem.ghosts: 0 for 1");
    all.row[0] = is(s, "problem.own: of NULLs") ? NULL : all.row[0];
    all.method.flags = is(s, "problem.own: other flags");
    all.method.assign = is(s, "problem.own: assigned") ? eqp_method_at(0)->assign : NULL;
    CHECK_EQUAL(eqp_balancer_options_init(&options, sizeof options), EQP_OK);
    options.method.method = is(s, "options.method: another") ? eqp_method_at(0) : eqp__methods_find(NULL, "auto");
    options.method.method = is(s, "options.method: a copy") ? &copy : options.method.method;
    options.method.options.start = eqp_method_at(is(s, "options.method: another start"));
    options.policy.jump = 1;
    options.share = (eqp_share_options){EQP_SHARE_SPEEDS, NULL, 1, speed};
    options.share.model = is(s, "options.share: model: differs") ? &model : NULL;
    options.share.kind = is(s, "options.share: model: NULL where it is wanted") ? EQP_SHARE_MODEL : options.share.kind;
    options.plan.node = options.network.node = 2;
    options.lazy = is(s, "options.lazy: none for a thread") ? lazy : NULL;
    options.clock.seconds = is(s, "options.clock: another") ? another_clock : NULL;
    options.capacities.of_mean = options.lazy == NULL ? 50 : 0; /* no cap can be exceeded */
    options.size = is(s, "options.size: less") ? offsetof(eqp_balancer_options, handed_out) : options.size;
    all.problem.size = is(s, "problem.size: 1") ? 1 : sizeof all.problem;
    spoil(s, "problem", &all.problem);
    spoil(s, "options", &options);
    const int code =
        CALL(s, eqp_balancer_create(s->argument, OR_NULL("problem", &all.problem), OR_NULL("options", &options),
                                    OR_NULL("balancer", &balancer), OR_NULL("message", &message)));

    CHECK((balancer == NULL) == (code != EQP_OK));
    eqp_balancer_free(balancer);
    CHECK_EQUAL(eqp_lazy_leave(&lazy, NULL), EQP_OK);
    eqp_comm_free(&alone);
    return code;
}

static int destroy(const seat *s)
{
    scene all;
    eqp_balancer *balancer = right_balancer(s, "sfc", &all);

    if (given(s, balancer) == NULL) {
        eqp_balancer_free(NULL);
    }
    eqp_balancer_free(balancer);
    return EQP_OK;
}

/* ---- maps ---- */

typedef int ask(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message);

/* A first map, by survey and by trial. */
static int ask_twice(const seat *s, ask *function)
{
    static const char *const methods[] = {"sfc", "sfc:split"};
    int code = EQP_OK;

    for (int m = 0; m < 2; m++) {
        eqp_advice advice;
        eqp_message message = {""};
        scene all;
        eqp_balancer *balancer = right_balancer(s, methods[m], &all), *wrong = given(s, balancer);
        const int now =
            CALL(s, function(wrong, number(s, "left", 8), OR_NULL("advice", &advice), OR_NULL("message", &message)));
        CHECK(m == 0 || now == code);
        code = now;
        CHECK_EQUAL(function(balancer, 8, &advice, &message), EQP_OK);
        eqp_balancer_free(balancer);
    }
    return code;
}

static int advise(const seat *s)
{
    return ask_twice(s, eqp_balancer_advise);
}

static int renew(const seat *s)
{
    return ask_twice(s, eqp_balancer_renew);
}

static int first_map(eqp_balancer *balancer, int64_t left, eqp_advice *advice, eqp_message *message)
{
    (void)left;
    return eqp_balancer_begin(balancer, advice, message);
}

static int begin(const seat *s)
{
    return ask_twice(s, first_map);
}

/* No map is due, so ranks do not communicate before a step is recorded. Then all survey a step, and one rank begins
 * with another survey. */
static int second_map(const seat *s)
{
    eqp_advice advice;
    scene all;
    eqp_balancer *balancer = running_balancer(s, &all);
    const int64_t left = number(s, "left", 8);
    int code = eqp_balancer_advise(balancer, left, is(s, "advice: NULL where no map is due") ? NULL : &advice, NULL);

    CHECK(code == EQP_OK && !eqp_balancer_due(balancer));
    CHECK_EQUAL(survey(&all, EQP_SURVEY_WORK, eqp_balancer_survey(balancer)), EQP_OK);
    /* The number of steps left affects later maps only, so ranks learn of a difference in the next step. */
    const bool other_left = strcmp(s->what, "left: 9 for 8 where no map is due") == 0 && s->size > 1;
    CHECK_EQUAL(record_right(s, balancer), other_left ? EQP_ERR_ARGUMENT : EQP_OK);
    if (is(s, "balancer: another survey")) {
        (void)eqp_balancer_survey(balancer);
    }
    code = eqp_balancer_renew(balancer, 8, &advice, NULL);
    CHECK_EQUAL(eqp_balancer_renew(balancer, 8, &advice, NULL), EQP_OK);
    eqp_balancer_free(balancer);
    return code;
}

/* ---- steps ---- */

typedef struct wide_row {
    eqp_rank_row common;
    double more;
} wide_row;

static eqp_timings *timings_of(const seat *s, const char *longer, const char *negative)
{
    const int64_t count[KINDS] = {3, 1};
    eqp_timings *timings = NULL;

    CHECK_EQUAL(eqp_timings_create(KINDS, &timings), EQP_OK);
    CHECK_EQUAL(eqp_timings_add(timings, count, is(s, longer) ? 9 : is(s, negative) ? -1 : 1), EQP_OK);
    return timings;
}

static int record(const seat *s)
{
    const int64_t last[KINDS] = {3, 1}, count[KINDS] = {number(s, "work.count", 3), 1}, below[KINDS] = {-1};
    const double phase_load[3] = {1, 0, 0};
    const int64_t phase_count[3 * KINDS] = {3, 1};
    wide_row mine = {.common = {.load = is(s, "work.row: load NAN") ? NAN : is(s, "work.row: load 5 for 1") ? 5 : 1}};
    wide_row rows[MOST_RANKS];
    double sum[2] = {1, s->rank}, low[2] = {-1.5, -s->rank};
    eqp_timings *timings = timings_of(s, "work.timings: 9 s for 1 s", "work.timings: -1 s");
    eqp_work work = {.size = is(s, "work.size: 1"),
                     .row = &mine.common,
                     .row_bytes = sizeof mine,
                     .rows = rows,
                     .count = count,
                     .last = last,
                     .evaluations = 2,
                     .timings = timings,
                     .nphases = number(s, "work.nphases", 2),
                     .phase_load = phase_load,
                     .phase_count = phase_count,
                     .code = is(s, "work.code: EQP_ERR_STOPPED") ? EQP_ERR_STOPPED : EQP_OK,
                     .nsums = number(s, "work.nsums", 2),
                     .nlows = is(s, "work.nlows: too many") ? EQP_MEET_LOWS + 1 : number(s, "work.nlows", 2),
                     .sum = OR_NULL("work.sum", sum),
                     .low = OR_NULL("work.low", low)};
    eqp_step step = eqp_step_defaults();
    scene all;
    eqp_balancer *balancer = running_balancer(s, &all), *wrong = given(s, balancer);

    if (!is(s, "balancer: no survey")) {
        CHECK_EQUAL(survey(&all, EQP_SURVEY_WORK, eqp_balancer_survey(balancer)), EQP_OK);
    }
    if (is(s, "work.count: below 0")) {
        work.count = below;
        work.timings = NULL;
    }
    spoil(s, "work", &work);
    const int code = CALL(s, eqp_balancer_record(wrong, OR_NULL("work", &work), OR_NULL("step", &step)));

    if (code == EQP_OK && !is(s, "balancer: NULL")) {
        CHECK(sum[0] == s->size && sum[1] == s->size * (s->size - 1) / 2 && low[0] == -1.5 && low[1] == 1 - s->size);
    }
    CHECK_EQUAL(record_right(s, balancer), EQP_OK);
    CHECK_EQUAL(eqp_balancer_renew(balancer, 8, &(eqp_advice){.action = EQP_KEEP}, NULL), EQP_OK);
    eqp_balancer_free(balancer);
    eqp_timings_free(timings);
    return code;
}

static int learn(const seat *s)
{
    eqp_timings *timings = timings_of(s, "timings: 9 s for 1 s", "timings: -1 s");
    scene all;
    eqp_balancer *balancer = right_balancer(s, "sfc", &all), *wrong = given(s, balancer);
    const int code = CALL(s, eqp_balancer_learn(wrong, OR_NULL("timings", timings)));

    CHECK_EQUAL(eqp_balancer_learn(balancer, NULL), EQP_OK);
    eqp_balancer_free(balancer);
    eqp_timings_free(timings);
    return code;
}

/* ---- comparisons ---- */

static void count_rows(void *user, int n, const eqp_compared *rows)
{
    CHECK(n >= 2 && rows[n - 1].parts >= 2);
    if (user != NULL) {
        *(int *)user += n;
    }
}

/* One placement per owner, at home, without shared owners. */
static int look_at_map(void *user, const eqp_compared *compared, const eqp_map *map, const eqp_placement *placement)
{
    (void)user;
    CHECK(placement != NULL && compared->parts >= 2 && eqp_map_shared(map) == 0);
    return EQP_OK;
}

static int compare(const seat *s)
{
    const eqp_choice choice[] = {choice_of("sfc"), choice_of(is(s, "comparison.choice: another") ? "rcb" : "count"),
                                 choice_of("jagged")};
    const int64_t parts[] = {2, is(s, "comparison.parts: none") ? 0 : number(s, "comparison.parts", 3), 5};
    const double speed[] = {1, is(s, "comparison.speed: none") ? 0 : number(s, "comparison.speed", 1), 1};
    const eqp_network network = {.alpha = is(s, "comparison.network: below 0") ? -1 : 2, .beta = 1, .node = 1},
                      slow = {.alpha = 3, .beta = 1, .node = 1};
    const eqp_exchange_plan direct = {EQP_STAGES_DIRECT, 0, 1}, logarithmic = {EQP_STAGES_LOG, 0, 1};
    int seen = 0;
    eqp_comparison wanted = {sizeof wanted, 2,          choice,      2,     parts,        &network, &direct, 2,
                             speed,         count_rows, look_at_map, &seen, {0, NULL, 50}};
    eqp_compared *rows = NULL;
    eqp_message message = {""};
    scene all;
    eqp_balancer *balancer = right_balancer(s, "sfc", &all), *wrong = given(s, balancer);

    wanted.network = is(s, "comparison.network: another") ? &slow : &network;
    wanted.plan = is(s, "comparison.plan: another") ? &logarithmic : &direct;
    wanted.size = is(s, "comparison.size: 1") ? 1 : sizeof wanted;
    spoil(s, "comparison", &wanted);
    const int code = CALL(s, eqp_balancer_compare(wrong, OR_NULL("comparison", &wanted), OR_NULL("rows", &rows),
                                                  OR_NULL("message", &message)));

    CHECK((rows == NULL) == (code != EQP_OK));
    CHECK((seen > 0) == (code == EQP_OK && wanted.on_rows != NULL && wanted.user != NULL));
    CHECK_EQUAL(eqp_balancer_renew(balancer, 8, &(eqp_advice){.action = EQP_KEEP}, NULL), EQP_OK);
    free(rows);
    eqp_balancer_free(balancer);
    return code;
}

static int measure(const seat *s)
{
    const eqp_network was = {.alpha = 1, .beta = 1, .node = is(s, "network: another") ? 2 : 1};
    eqp_network network = was;
    const int code = CALL(s, eqp_network_measure(s->argument, OR_NULL("network", &network)));

    CHECK(network.node == was.node && (code == EQP_OK || memcmp(&network, &was, sizeof was) == 0));
    return code;
}

MPI_TEST(rows_of_balancers)
{
    static const calls all[] = {
        {"eqp_balancer_create", create,
         "FINE problem.user: 0; options.clock: another; message: NULL; ALONE comm: NULL; WRONG problem: NULL; "
         "problem.nkinds: -1; problem.nphases: -1; problem.back: 0; problem.ghosts: 0; problem.overhead: -1 for 0; "
         "problem.memory: -1 for 0; problem.branch: -1; problem.own: of NULLs; problem.size: 1; problem.survey: 0; "
         "problem.ngrains: -1; options: NULL; options.size: 0; options.size: -1; options.method: method: 0; "
         "options.method: word: -1; options.method: options.rate: -1; options.method: options.maps: differs; "
         "options.imbalance_tol: -1; options.fresh_tol: -1; options.policy: settle: 0; options.share: model: NULL "
         "where it is wanted; options.share: nspeeds: 0; options.share: speed: 0; options.capacities: of_mean: -1; "
         "options.capacities: n: -1; options.plan: node: 0; options.network: alpha: -1; options.lazy: none for a "
         "thread; balancer: NULL; SAME problem.nkinds: differs; problem.nominal: 0; problem.nominal: 2 for 1; "
         "problem.once: differs; problem.nphases: differs; problem.back: 1 for 0; problem.ghosts: 0 for 1; "
         "problem.overhead: 0; problem.overhead: 2 for 1; problem.memory: 0; problem.memory: 2 for 1; problem.branch: "
         "differs; problem.own: 0; problem.own: other flags; problem.own: assigned; problem.estimates: differs; "
         "problem.open: -1; problem.close: -1; problem.aspect: -1; problem.base: -1; problem.trace: 0; problem.assign: "
         "-1; problem.advance: -1; problem.label: -1; problem.ngrains: differs; problem.grain: -1; problem.cycle: 0; "
         "problem.apart: differs; problem.turn: -1; options.size: less; options.method: another; options.method: a "
         "copy; options.method: word: differs; options.method: settings: differs; options.method: options.strategy: "
         "differs; options.method: options.rate: differs; options.method: options.threshold: differs; options.method: "
         "options.pins: differs; options.method: options.full: differs; options.method: options.split: differs; "
         "options.method: options.even: differs; options.method: options.homes: differs; options.method: "
         "options.start: 0; options.method: another start; options.imbalance_tol: differs; options.fresh_tol: differs; "
         "options.assign_tol: differs; options.seed: differs; options.policy: mode: differs; options.policy: every: "
         "differs; options.policy: imbalance_tol: differs; options.policy: settle: differs; options.policy: jump: "
         "differs; options.share: kind: differs; options.share: model: differs; options.share: another speed; "
         "options.capacities: of_mean: differs; options.plan_auto: differs; options.plan: stages: differs; "
         "options.plan: broadcast: differs; options.plan: node: differs; options.network: alpha: differs; "
         "options.network: beta: differs; options.network: node: differs; options.network_measure: differs; "
         "options.calibrate: differs; options.handed_out: differs; options.fixed_costs: differs"},
        {"eqp_balancer_free", destroy, "FINE balancer: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}

MPI_TEST(rows_of_runs)
{
    static const calls all[] = {
        {"eqp_balancer_advise", advise,
         "FINE message: NULL; ALONE balancer: NULL; WRONG advice: NULL; SAME left: 9 for 8"},
        {"eqp_balancer_advise", second_map, "FINE left: 9 for 8 where no map is due; advice: NULL where no map is due"},
        {"eqp_balancer_renew", renew,
         "FINE message: NULL; ALONE balancer: NULL; WRONG advice: NULL; SAME left: 9 for 8"},
        {"eqp_balancer_renew", second_map, "SAME balancer: another survey"},
        {"eqp_balancer_begin", begin, "FINE message: NULL; ALONE balancer: NULL; WRONG advice: NULL"},
        {"eqp_balancer_record", record,
         "FINE work.row: load 5 for 1; work.count: 5 for 3; work.timings: 0; work.timings: 9 s for 1 s; step: NULL; "
         "ALONE balancer: NULL; WRONG work: NULL; work.row: 0; work.row_bytes: differs; work.count: 0; "
         "work.evaluations: -1; work.size: 1; work.nphases: -1; work.phase_load: 0; work.phase_count: 0; work.nsums: "
         "-1; work.nlows: too many; work.sum: NULL; work.low: NULL; SAME balancer: no survey; work.row_bytes: 0; "
         "work.rows: 0; work.last: 0; work.evaluations: differs; work.moved: differs; work.nphases: 1 for 2; "
         "work.nsums: 1 for 2; work.nlows: 1 for 2; DATA work.row: load NAN; work.count: below 0; work.timings: -1 s; "
         "STOPPED work.code: EQP_ERR_STOPPED"},
        {"eqp_balancer_learn", learn,
         "FINE timings: NULL; timings: 9 s for 1 s; ALONE balancer: NULL; DATA timings: -1 s"},
        {"eqp_balancer_compare", compare,
         "FINE comparison.on_rows: 0; comparison.on_map: 0; comparison.user: 0; message: NULL; ALONE balancer: NULL; "
         "WRONG comparison: NULL; comparison.choice: 0; comparison.parts: 0; comparison.parts: none; comparison.size: "
         "1; comparison.network: below 0; comparison.nspeeds: -1; comparison.speed: 0; comparison.speed: none; "
         "comparison.capacities: of_mean: -1; comparison.capacities: n: -1; rows: NULL; SAME comparison.nchoices: "
         "differs; comparison.choice: another; comparison.ncounts: differs; comparison.parts: 4 for 3; "
         "comparison.network: 0; comparison.network: another; comparison.plan: 0; comparison.plan: another; "
         "comparison.nspeeds: differs; comparison.speed: 3 for 1; comparison.capacities: of_mean: differs"},
        {"eqp_network_measure", measure, "FINE network: another; ALONE comm: NULL; WRONG network: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}
