/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of `auto`, with made-up owners of known loads and traffic: the best balanced method if messages are free,
 * the method with least traffic if they are expensive, the present map if no new map pays for itself, and never a map
 * worse than the curve. */
#include "fake_clock.h"
#include "harness.h"

#include "methods/frame/frame.h"
#include "whatif/automatic.h"

#include <equipoise/more/random.h>

#include <limits.h>

static long fake_clock_tick = 1000000; /* making a map takes a positive time */

enum { OWNERS = 192, PARTS = 8, PARTNERS = 24, BLOCK_BYTES = 400, PHASES = 2 };

/* most pins per rank for candidates */
#define MOST_PINS ((int64_t)1 << 25)

static const double nominal[1] = {1e-9};
static const int back[PHASES] = {0, 1}, ghosts[PHASES] = {1, 0};

/* Owners in two rows that do not interact, alternating along the curve: a range of the curve has neighbors in both
 * rows, a box in one. Each owner interacts with the next ones in its row, by one tile each. */
typedef struct world {
    int rank, size;
    uint64_t seed; /* of the loads; 0: one owner has the load of three parts, the rest equal loads */
    int64_t more;  /* additional pins per owner, counted but not stored */
    eqp_costs costs;
    eqp_problem problem;
    uint64_t key[OWNERS];
    eqp_whatif what;
} world;

static int64_t first_of(const world *w, int rank)
{
    return (int64_t)OWNERS * rank / w->size;
}

/* The t-th partner of an owner in its row, which is a ring. */
static int64_t partner_of(int64_t owner, int t)
{
    const int away = t < PARTNERS / 2 ? t - PARTNERS / 2 : t - PARTNERS / 2 + 1;

    return 2 * ((owner / 2 + away + OWNERS / 2) % (OWNERS / 2)) + owner % 2;
}

static int64_t pairs_of_tile(const world *w, int64_t owner)
{
    if (w->seed == 0) {
        return owner == OWNERS / 3 ? 3 * OWNERS * 1000 / PARTS : 1000;
    }
    return (int64_t)(100.0 * exp(5.0 * eqp_random_uniform(w->seed, (uint64_t)owner, 0)));
}

static eqp_tile tile_of(const world *w, int64_t owner, int t)
{
    const int64_t partner = partner_of(owner, t);

    return (eqp_tile){.centroid = {0.5 * (double)(partner / 2 - owner / 2)}, /* both are in one row */
                      .weight = 1e9 * nominal[0] * (double)pairs_of_tile(w, owner),
                      .pin = {partner, -1}};
}

static int add_owner(const world *w, int64_t owner, eqp_survey *survey)
{
    const double weight = 1e9 * nominal[0] * (double)pairs_of_tile(w, owner) * PARTNERS;
    eqp_owner made = {.key = (uint64_t)owner << 20,
                      .pin = owner,
                      .particles = 1,
                      .home = (int32_t)w->rank,
                      .at_home = owner - first_of(w, w->rank),
                      .bytes = BLOCK_BYTES,
                      .tag = w->rank,
                      .centre = {(double)(owner / 2), 1000.0 * (double)(owner % 2), 0.0},
                      .count = {pairs_of_tile(w, owner) * PARTNERS},
                      .interactions = PARTNERS};

    for (int64_t k = 0; survey->detail.count_pins && k < w->more; k++) {
        EQP_CHECK(eqp_survey_add_pin(survey, owner));
    }
    for (int t = 0; t < PARTNERS; t++) {
        const eqp_tile tile = tile_of(w, owner, t);
        const bool pinned = eqp_pin_key(0, (uint64_t)tile.pin[0]) < eqp_survey_pin_below(survey);
        EQP_CHECK(pinned ? eqp_survey_add_pin(survey, tile.pin[0]) : EQP_OK);
        EQP_CHECK(weight >= eqp_survey_heavy(survey) ? eqp_survey_add_tile(survey, &tile) : EQP_OK);
    }
    return eqp_survey_add_owner(survey, &made);
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;

    (void)kind;
    for (int64_t o = first_of(w, w->rank); o < first_of(w, w->rank + 1); o++) {
        EQP_CHECK(add_owner(w, o, list));
    }
    return EQP_OK;
}

/* An owner's block goes to all parts that compute its interactions or those of its partners; results return. */
static int trace_owner(const world *w, int64_t owner, const eqp_map *map, const eqp_placement *placement,
                       bool loads_only, eqp_evaluation *evaluation)
{
    EQP_CHECK(loads_only ? EQP_OK : eqp_evaluation_held(evaluation, placement->home, 1));
    for (int phase = 0; phase < PHASES && !loads_only; phase++) {
        EQP_CHECK(eqp_evaluation_block(evaluation, phase, owner, BLOCK_BYTES, 1, placement->home));
    }
    for (int t = 0; t < PARTNERS; t++) {
        const eqp_tile tile = tile_of(w, owner, t);
        const int part = eqp_map_rank(map, placement->tag, tile.centroid);
        EQP_CHECK(eqp_evaluation_load(evaluation, part, (double)pairs_of_tile(w, owner) * nominal[0]));
        if (!loads_only) {
            EQP_CHECK(eqp_evaluation_need(evaluation, 0, owner, part));
            EQP_CHECK(eqp_evaluation_need(evaluation, 0, partner_of(owner, t), part));
            EQP_CHECK(eqp_evaluation_need(evaluation, 1, owner, part));
        }
    }
    return EQP_OK;
}

static int trace(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const world *w = user;
    const int64_t first = first_of(w, w->rank), n = first_of(w, w->rank + 1) - first;

    (void)nparts;
    for (int64_t i = 0; i < n; i++) {
        EQP_CHECK(trace_owner(w, first + i, map, &placement[i], loads_only, evaluation));
    }
    return EQP_OK;
}

static const eqp_choice_options usual = {.strategy = EQP_SAMPLE_STRIDE, .threshold = 2.0};

static eqp_choice choice_of(const char *word)
{
    eqp_choice choice;

    CHECK_EQUAL(eqp_choice_parse(NULL, &usual, word, &choice, NULL), EQP_OK);
    return choice;
}

static void make_world(MPI_Comm comm, uint64_t seed, world *w)
{
    *w = (world){.rank = mpi_test_rank(comm), .size = mpi_test_size(comm), .seed = seed};
    const int64_t first = first_of(w, w->rank), n = first_of(w, w->rank + 1) - first;
    CHECK_EQUAL(eqp__costs_init(&w->costs, 1, nominal), EQP_OK);
    w->costs.known = true;
    for (int64_t i = 0; i < n; i++) {
        w->key[i] = (uint64_t)(first + i) << 20;
    }
    w->problem =
        (eqp_problem){.user = w, .nphases = PHASES, .back = back, .ghosts = ghosts, .survey = survey, .trace = trace};
    w->what = (eqp_whatif){
        .comm = comm,
        .problem = &w->problem,
        .model = {.nkinds = 1, .nominal = nominal},
        .costs = &w->costs,
        .options = {.method = eqp__methods_find(NULL, "auto"), .imbalance_tol = 0.02, .how = usual, .seed = 1},
        .nhome = n,
        .key = w->key};
}

static const eqp_network nothing = {.node = 1}, expensive = {.beta = 1.0, .node = 1},
                         one_node = {.beta = 1.0, .node = PARTS};

/* The choice for maps that live this long. present, memory: NULL allowed. */
static eqp_auto_result choose_again(world *w, const eqp_network *network, double life, const eqp_trial *present,
                                    eqp_auto_memory *memory)
{
    const eqp_auto_input question = {
        .nparts = PARTS, .lives = {.usual = life, .most = life}, .network = *network, .memory = memory};
    eqp_whatif_state state;
    eqp_auto_result answer;
    eqp_message message = {""};

    eqp__whatif_open(&w->what, &state);
    CHECK_EQUAL(eqp__auto_choose(&state, &question, present, &answer, &message), EQP_OK);
    CHECK(answer.keep == (answer.trial.choice == NULL));
    eqp__whatif_close(&state);
    return answer;
}

static eqp_auto_result choose(world *w, const eqp_network *network, double life, const eqp_trial *present)
{
    return choose_again(w, network, life, present, NULL);
}

static void forget(eqp_auto_result *answer)
{
    eqp__trials_free(1, &answer->trial);
}

/* An answer that its block frees. */
#define ANSWER __attribute__((cleanup(forget))) eqp_auto_result

/* Number of steps for which the cost of choosing is negligible. */
#define FOREVER 1e15

/* The map of one method and its evaluation; the caller frees map and placements. */
static eqp_trial try_word(world *w, const char *word, const eqp_network *network)
{
    eqp_trial trial = {.nparts = PARTS};
    eqp_whatif_state state;
    const eqp_choice choice = choice_of(word);
    eqp_message message = {""};

    trial.choice = &choice;
    eqp__whatif_open(&w->what, &state);
    CHECK_EQUAL(eqp__whatif_try(&state, 1, &trial, network, &message), EQP_OK);
    eqp__whatif_close(&state);
    trial.choice = NULL;
    return trial;
}

static eqp_evaluated value_of(world *w, const char *word, const eqp_network *network)
{
    eqp_trial trial = try_word(w, word, network);

    eqp__trials_free(1, &trial);
    return trial.row.evaluated;
}

static const char *const words[] = {"count", "sfc", "rcb", "sfc:split", "tiles"};
enum { NWORDS = sizeof words / sizeof *words, CURVE = 1, BOXES = 2 };

/* One owner has the load of three parts: methods that do not split it have at least that load, and methods that do
 * send more. */
MPI_TEST(the_network_decides)
{
    eqp_evaluated other[NWORDS];
    world w;

    make_world(comm, 0, &w);
    ANSWER balanced = choose(&w, &nothing, FOREVER, NULL);
    ANSWER quiet = choose(&w, &expensive, FOREVER, NULL);
    ANSWER together = choose(&w, &one_node, FOREVER, NULL);
    for (int i = 0; i < NWORDS; i++) {
        other[i] = value_of(&w, words[i], &expensive);
        CHECK(balanced.row.evaluated.load_max <= other[i].load_max * (1.0 + 1e-9));
        CHECK(quiet.row.evaluated.exchange_seconds <= other[i].exchange_seconds * (1.0 + 1e-9));
    }
    CHECK(other[CURVE].imbalance > 0.9 && other[BOXES].imbalance > 0.9);
    CHECK(balanced.row.evaluated.imbalance < 0.3 && balanced.row.split_owners > 0);
    CHECK(quiet.row.evaluated.exchange_seconds < 0.75 * other[CURVE].exchange_seconds);
    CHECK(quiet.row.evaluated.bytes_max < balanced.row.evaluated.bytes_max);
    CHECK(quiet.row.evaluated.load_max > balanced.row.evaluated.load_max);
    CHECK(strcmp(quiet.choice.method->name, balanced.choice.method->name) != 0);
    /* With shared memory messages are free again. */
    CHECK_EQUAL(together.row.evaluated.exchange_seconds, 0);
    /* Two maps have equal steps up to rounding, so the measured time to make them decides. */
    CHECK_NEAR(together.row.evaluated.step_seconds, balanced.row.evaluated.step_seconds,
               1e-12 * balanced.row.evaluated.step_seconds);
    CHECK(together.row.evaluated.load_max < quiet.row.evaluated.load_max);
}

static int tried_of(const eqp_auto_result *answer)
{
    const char *at = strstr(answer->why, "; ");

    CHECK(at != NULL);
    return at != NULL ? atoi(at + 2) : 0;
}

/* These pins would take gigabytes. The best candidate is also tried with even steps, which takes time. */
MPI_TEST(candidates_beyond_memory_are_left_out)
{
    eqp_auto_memory few = {.effort = {0.0}}, many = {.effort = {0.0}};
    double seconds = 0.0;
    world w;

    make_world(comm, 0, &w);
    ANSWER before = choose_again(&w, &expensive, FOREVER, NULL, &few);
    CHECK(before.choice.method != NULL);
    w.more = w.size * MOST_PINS / OWNERS + 1;
    ANSWER answer = choose_again(&w, &expensive, FOREVER, NULL, &many);
    CHECK(strstr(answer.choice.word, "hypergraph") == NULL);
    for (int i = 0; i < EQP__AUTO_CANDIDATES; i++) {
        CHECK((few.effort[i] > 0.0) == eqp__auto_is_candidate(i, 0));
        CHECK(!eqp__auto_is_candidate(i, 0) || (many.effort[i] > 0.0) == (i != EQP__AUTO_CANDIDATES - 1));
        seconds += few.effort[i] * few.curve;
    }
    if (before.choice.method->flags & EQP_CAN_EVEN) {
        CHECK(before.choice.options.even && few.spent + before.row.balance_seconds > 1.000001 * seconds);
    }
}

/* Candidates of steps with one phase. */
static int count_candidates(void)
{
    int n = 0;

    for (int i = 0; i < EQP__AUTO_CANDIDATES; i++) {
        n += eqp__auto_is_candidate(i, 0);
    }
    return n;
}

/* Consecutive choices until a pause is long: 1 + 1, 3 + 1, 7 + 1, 15 + 1. Fewer under sanitizers. */
enum { LONG = 15 };
#ifdef EQP_SANITIZED
enum { TIMES = 4 };
#else
enum { TIMES = 35 };
#endif

/* The winner is tried each time; every loser at least once per longest pause, but less and less often. */
MPI_TEST(losers_are_skipped_for_a_while)
{
    eqp_auto_memory memory = {.effort = {0.0}};
    int first = 0, all = 0, fewest = 99, rests = 0, longest = 0;
    world w;

    make_world(comm, 0, &w);
    for (int i = 0; i < TIMES; i++) {
        ANSWER answer = choose_again(&w, &expensive, FOREVER, NULL, &memory);
        const int tried = tried_of(&answer);
        first = i == 0 ? tried : first;
        fewest = tried < fewest ? tried : fewest;
        all += tried;
        CHECK(answer.row.evaluated.step_seconds > 0.0);
        for (int k = 0; k < EQP__AUTO_CANDIDATES; k++) {
            longest = memory.rest[k] > longest ? memory.rest[k] : longest;
        }
    }
    if (TIMES < 2 * LONG) {
        return;
    }
    for (int k = 0; k < EQP__AUTO_CANDIDATES; k++) {
        CHECK((memory.effort[k] > 0.0) == eqp__auto_is_candidate(k, 0));
        rests += memory.lost[k] > 0;
    }
    CHECK(memory.lost[0] == 0 && memory.rest[0] == 0);
    CHECK(first >= count_candidates() && fewest < first);
    CHECK(rests >= 2 && rests < count_candidates() && longest >= LONG && longest <= EQP__AUTO_REST);
    CHECK(all < TIMES * (first - rests) + 7 * rests); /* at most six times each loser */
}

/* If maps of the winner age fast, `auto` takes a method with a longer step whose maps last, and its row gives the
 * expected time. */
MPI_TEST(maps_that_age_are_left)
{
    eqp_auto_memory memory = {.effort = {0.0}};
    world w;

    make_world(comm, 0, &w);
    ANSWER first = choose_again(&w, &expensive, FOREVER, NULL, &memory);
    CHECK(memory.kind > 0 && memory.kind <= EQP__AUTO_KINDS);
    eqp__auto_record(&memory, true, 0.1, 1.0, 0.5);
    for (int age = 1; age <= 4; age++) {
        eqp__auto_record(&memory, false, 0.1 + 1e6 * age, 1.0, 0.0);
    }
    CHECK(memory.age == 4 && eqp__ageing_known(&memory.ageing[memory.kind - 1]));
    CHECK_NEAR(memory.run, 5.5, 1e-12);
    memory.usual = (eqp_ageing){{0.0}, {0.0}}; /* differs from the specific kinds */
    ANSWER long_life = choose_again(&w, &expensive, FOREVER, NULL, &memory);
    CHECK(strcmp(long_life.choice.word, first.choice.word) != 0);
    CHECK(long_life.row.evaluated.step_seconds >= first.row.evaluated.step_seconds);
    CHECK(strstr(long_life.why, "as they age") != NULL);
    memory = (eqp_auto_memory){.kind = memory.kind};
    ANSWER short_life = choose_again(&w, &expensive, FOREVER, NULL, &memory);
    CHECK(strcmp(short_life.choice.word, first.choice.word) == 0);
}

/* In a short run only the curve is tried. Once trials have used their share of time, the last winner makes the maps
 * until the run is long enough for new trials. */
MPI_TEST(trials_wait_for_their_share)
{
    eqp_auto_memory memory = {.effort = {0.0}};
    const eqp_lives lives = {.usual = 50.0, .most = 1e9, .by_loss = true};
    const eqp_choice_options *const how = &usual;
    eqp_choice choice;
    world w;
    int t = 0;

    make_world(comm, 0, &w);
    CHECK(!eqp__auto_may_try(&memory, &lives)); /* the cost of a map is unknown */
    CHECK_EQUAL(eqp__auto_last(&memory, NULL, how, &choice, NULL), EQP_OK);
    CHECK(strcmp(choice.word, "sfc") == 0);
    eqp__auto_take(&memory, "sfc");
    eqp__auto_record(&memory, true, 0.5, 1.0, 2.0);
    for (; t < 10000 && !eqp__auto_may_try(&memory, &lives); t++) {
        eqp__auto_record(&memory, false, 0.5, 1.0, 0.0);
    }
    /* The curve takes 3 maps of at most 2 s, so the first choice takes 18 s, a fiftieth of 900 steps. */
    CHECK(t + 50 >= 890 && t + 50 <= 900);
    eqp__auto_take(&memory, "rcb:even=step");
    CHECK_EQUAL(eqp__auto_last(&memory, NULL, how, &choice, NULL), EQP_OK);
    CHECK(strcmp(choice.word, "rcb:even=step") == 0 && choice.options.even);
    eqp__auto_record(&memory, false, 0.0, 1.0, 0.0);
    CHECK(!eqp__auto_may_try(&memory, &lives)); /* steps that are even cannot improve */

    /* Each choice also tries the last winner; an expensive one delays further trials. */
    memory = (eqp_auto_memory){.curve = 1.0, .step = 1.0, .run = 950.0, .uneven = 0.5};
    CHECK(eqp__auto_may_try(&memory, &lives));
    eqp__auto_take(&memory, "hypergraph");
    CHECK(!eqp__auto_may_try(&memory, &lives));
    memory.run *= 50.0;
    CHECK(eqp__auto_may_try(&memory, &lives));

    memory = (eqp_auto_memory){.effort = {0.0}};
    ANSWER brief = choose_again(&w, &expensive, 1e-9, NULL, &memory);
    CHECK_EQUAL(tried_of(&brief), 1);
    CHECK(strcmp(brief.choice.word, "sfc") == 0 && memory.curve > 0.0);
    CHECK(eqp__auto_can_be(&memory));
    memory.spent = NAN;
    CHECK(!eqp__auto_can_be(&memory));
    memory.spent = 0.0;
    memory.lost[1] = INT_MAX;
    CHECK(!eqp__auto_can_be(&memory));
    memory.lost[1] = 0;
    memory.age = INT64_MAX;
    CHECK(!eqp__auto_can_be(&memory));
}

/* Everything in one part. */
static eqp_trial all_in_one(const world *w)
{
    const int64_t n = first_of(w, w->rank + 1) - first_of(w, w->rank);
    return (eqp_trial){.nparts = PARTS, .placements = mpi_test_alloc(n, sizeof(eqp_placement))};
}

MPI_TEST(the_present_map_stays_unless_a_new_one_pays)
{
    eqp_trial bad, best;
    world w;

    make_world(comm, 0, &w);
    bad = all_in_one(&w);
    ANSWER late = choose(&w, &nothing, 1e-30, &bad); /* no steps are left in which a new map could pay */
    CHECK(late.keep);
    CHECK_NEAR(late.row.evaluated.imbalance, PARTS - 1.0, 1e-9);
    ANSWER early = choose(&w, &nothing, FOREVER, &bad);
    CHECK(!early.keep && early.row.evaluated.imbalance < 0.3);
    ANSWER quiet = choose(&w, &expensive, FOREVER, &bad);
    CHECK(quiet.keep && quiet.row.evaluated.exchange_seconds == 0.0); /* one part with everything receives no data */
    best = (eqp_trial){.nparts = PARTS, .map = early.trial.map, .placements = early.trial.placements};
    ANSWER again = choose(&w, &nothing, FOREVER, &best); /* candidates are not shorter and cost a map */
    CHECK(again.keep && again.row.evaluated.step_seconds == early.row.evaluated.step_seconds);
    eqp__trials_free(1, &bad);
}

MPI_TEST(a_choice_never_costs_more_than_the_curve)
{
    static const eqp_network networks[] = {{.alpha = 1e-6, .beta = 1e-9, .node = 1}, {.beta = 1e-7, .node = 2}};
    int beyond = 0;

    for (uint64_t i = 0; i < 2; i++) {
        world w;
        make_world(comm, 1 + i, &w);
        const double curve = value_of(&w, "sfc", &networks[i]).step_seconds;
        ANSWER answer = choose(&w, &networks[i], FOREVER, NULL);
        CHECK(answer.row.evaluated.step_seconds <= curve);
        CHECK(answer.row.evaluated.step_seconds < curve || strcmp(answer.choice.word, "sfc") == 0);
        beyond += answer.row.evaluated.step_seconds < curve;
    }
    CHECK(beyond > 0);
}

/* Reads the row of `auto`, the last one, from a comparison of all methods. */
static void compare(world *w, const eqp_network *network, eqp_compared row[NWORDS + 1])
{
    const int64_t parts = PARTS;
    eqp_choice choice[NWORDS + 1];
    eqp_compared *rows = NULL;
    eqp_message message = {""};

    for (int i = 0; i <= NWORDS; i++) {
        choice[i] = choice_of(i < NWORDS ? words[i] : "auto");
    }
    CHECK_EQUAL(eqp__whatif_compare(&w->what, NWORDS + 1, choice, 1, &parts, network, &rows, NULL, &message), EQP_OK);
    memcpy(row, rows, (NWORDS + 1) * sizeof *row);
    free(rows);
}

MPI_TEST(a_comparison_has_one_auto)
{
    const int64_t parts = PARTS;
    eqp_choice both[2] = {choice_of("auto"), choice_of("auto")};
    eqp_compared *rows = NULL;
    eqp_message message = {""};
    world w;

    make_world(comm, 0, &w);
    snprintf(both[1].word, sizeof both[1].word, "auto:rate=0.1");
    CHECK_EQUAL(eqp__whatif_compare(&w.what, 2, both, 1, &parts, &nothing, &rows, NULL, &message), EQP_ERR_ARGUMENT);
    CHECK(rows == NULL && strstr(message.text, "auto:rate=0.1") != NULL);
}

static int count_missing(double pins, int n, const eqp_choice *asked, int *nhypergraphs)
{
    eqp_choice *missing = NULL;
    eqp_message message = {""};
    int count = 0;

    *nhypergraphs = 0;
    CHECK_EQUAL(eqp__auto_missing(NULL, 0, pins, &usual, n, asked, &count, &missing, &message), EQP_OK);
    for (int i = 0; i < count; i++) {
        *nhypergraphs += strcmp(missing[i].word, "hypergraph") == 0;
    }
    free(missing);
    return count;
}

/* Each candidate is compared once, however expensive, except those that would take gigabytes. */
MPI_TEST(a_comparison_leaves_no_candidate_out)
{
    const eqp_choice asked = choice_of("hypergraph");
    int nhypergraphs;

    CHECK_EQUAL(count_missing((double)MOST_PINS, 0, NULL, &nhypergraphs), count_candidates());
    CHECK_EQUAL(nhypergraphs, 1);
    CHECK_EQUAL(count_missing(0.0, 1, &asked, &nhypergraphs), count_candidates() - 1);
    CHECK_EQUAL(nhypergraphs, 0);
    CHECK_EQUAL(count_missing((double)MOST_PINS + 1.0, 0, NULL, &nhypergraphs), count_candidates() - 1);
    CHECK_EQUAL(nhypergraphs, 0);
}

/* Loads change from one step to the next. */
static int advance(void *user, eqp_message *message)
{
    world *w = user;

    (void)message;
    w->seed = 2;
    return EQP_OK;
}

/* The step of `auto` is no longer than the shortest one compared; where the next step is known, than the shortest next
 * one. */
MPI_TEST(a_comparison_takes_the_shortest_step)
{
    static const eqp_network *const networks[] = {&nothing, &expensive, &nothing};
    eqp_compared row[3][NWORDS + 1];
    bool other = false;

    for (int k = 0; k < 3; k++) {
        const eqp_compared *best = &row[k][NWORDS];
        world w;
        make_world(comm, 0, &w);
        w.problem.advance = k == 2 ? advance : NULL;
        compare(&w, networks[k], row[k]);
        CHECK(best->chosen[0] != '\0');
        for (int i = 0; i < NWORDS; i++) {
            const eqp_compared *r = &row[k][i];
            CHECK(r->chosen[0] == '\0');
            CHECK(k < 2 ? best->evaluated.step_seconds <= r->evaluated.step_seconds
                        : r->step_next > 0.0 && r->imbalance_next >= 0.0 && best->step_next <= r->step_next);
            other = other || (k == 2 && r->evaluated.step_seconds < best->evaluated.step_seconds);
            if (k == 2) { /* with free messages a step takes the largest load */
                CHECK_NEAR(r->step_next / (1.0 + r->imbalance_next),
                           row[k][0].step_next / (1.0 + row[k][0].imbalance_next), 1e-9 * r->step_next);
            }
        }
    }
    CHECK(other);
    CHECK(strcmp(row[0][NWORDS].chosen, row[1][NWORDS].chosen) != 0);
    CHECK(row[0][NWORDS].evaluated.load_max < row[1][NWORDS].evaluated.load_max);
    CHECK(row[1][NWORDS].evaluated.bytes_max < row[0][NWORDS].evaluated.bytes_max);
}

static const eqp_memory need = {.fixed = 1000, .held = 100, .ghost = 10, .byte = 0.01};

/* Balanced by weight alone, parts differ in owners and ghosts. With capacities, equal or not, no method exceeds one,
 * and an impossible request is refused with a proof. */
MPI_TEST(no_map_is_above_its_memory)
{
    static const double times[] = {1.25, 0.5};
    static const char *const tried[] = {"sfc", "sfc:split", "rcb", "sfc:even=step", "auto"};
    double bytes[2];
    world w;

    make_world(comm, 7, &w);
    w.what.options.memory = (eqp_part_memory){.known = true, .model = need};
    const eqp_evaluated free_of = value_of(&w, "sfc", &nothing);
    CHECK(free_of.memory_max > 1.3 * free_of.memory_mean && free_of.memory_use == 0);
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
        for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
            const bool unlike = i % 2 != 0, can_be = times[k] > 1;
            eqp_whatif_state state;
            ANSWER answer = {.keep = false};
            eqp_message message = {""};
            const eqp_choice choice = choice_of(tried[i]);
            const eqp_auto_input question = {
                .nparts = PARTS, .lives = {.usual = FOREVER, .most = FOREVER}, .network = nothing};
            bytes[0] = times[k] * free_of.memory_mean * (unlike ? 0.9 : 1.0);
            bytes[1] = times[k] * free_of.memory_mean * (unlike ? 1.2 : 1.0);
            w.what.options = eqp__map_options_with(&w.what.options, &choice);
            w.what.options.memory.n = 2;
            w.what.options.memory.bytes = bytes;
            eqp__whatif_open(&w.what, &state);
            CHECK_EQUAL(eqp__auto_choose(&state, &question, NULL, &answer, &message), EQP_OK);
            CHECK((answer.row.evaluated.memory_use <= 1.0) == can_be);
            CHECK((strstr(state.misfit.text, "proven") != NULL) == !can_be);
            eqp__whatif_close(&state);
        }
    }
}

/* With limits relative to the mean, parts lose items until they fit. Tiles do not fit in there: the present map is kept
 * if it does. */
MPI_TEST(the_map_that_fits_is_found_and_kept)
{
    const eqp_choice tiles = choice_of("tiles");
    double bytes;
    world w;

    make_world(comm, 6, &w);
    w.what.options.memory = (eqp_part_memory){.known = true, .model = need, .of_mean = 1.1};
    eqp_trial present = try_word(&w, "sfc", &nothing), bad = all_in_one(&w);
    CHECK(present.row.evaluated.memory_use <= 1.0);
    bytes = present.row.evaluated.memory_max;
    w.what.options = eqp__map_options_with(&w.what.options, &tiles);
    w.what.options.memory = (eqp_part_memory){.known = true, .model = need, .n = 1, .bytes = &bytes};
    ANSWER kept = choose(&w, &nothing, FOREVER, &present);
    CHECK(kept.keep && strstr(kept.why, "no new one fits") != NULL && kept.row.evaluated.memory_use == 1.0);
    ANSWER made = choose(&w, &nothing, FOREVER, &bad);
    CHECK(!made.keep && made.row.evaluated.memory_use > 1.0);
    eqp__trials_free(1, &present);
    eqp__trials_free(1, &bad);
}
