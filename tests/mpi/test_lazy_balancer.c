/* SPDX-License-Identifier: BSD-3-Clause */
/* A balancer whose maps are made while the run continues: they apply to the present owners, wherever they are made and
 * however late they arrive. */
#include "harness.h"

#include "balancer_world.h"
#include "failing_ranks.h"
#include "late/lazy.h"

enum { OWNERS = 60, MOST = 1000, STEPS = 12, MANY = 600, HEAVY = MANY / 2, TILES = 60 };

/* An owner on a line; all int64, since it is sent between ranks. */
typedef struct owner {
    int64_t place, work, label;
    int64_t offered; /* its place, or its ancestor's, when it was labeled */
    int64_t home, to;
} owner;

typedef struct world {
    int rank, size;
    int64_t n, made; /* made: number of places this rank has assigned */
    owner own[MOST]; /* [n] owners at home */
    int64_t step, offered_at, nlabelled;
    bool tiles; /* the owner at HEAVY can be shared */
    eqp_balancer *balancer;
} world;

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;
    int code = EQP_OK;

    for (int64_t i = 0; i < w->n && code == EQP_OK; i++) {
        const owner *o = &w->own[i];
        eqp_owner told = owner_at(w->rank, i, o->place, kind == EQP_SURVEY_WORK ? o->work : 0);
        const double weight = eqp_survey_weigh(list, told.count);
        told.key = (uint64_t)o->place;
        told.label = o->label;
        for (int t = 0; t < TILES && w->tiles && o->place == HEAVY && weight >= eqp_survey_heavy(list); t++) {
            const eqp_tile tile = {.centroid = {0.01 * t, 0.0, 0.1}, .weight = weight / TILES, .pin = {o->place, -1}};
            CHECK_EQUAL(eqp_survey_add_tile(list, &tile), EQP_OK);
            told.interactions = TILES + 1;
        }
        code = eqp_survey_add_owner(list, &told);
    }
    return code;
}

static int label(void *user, int64_t first)
{
    world *w = user;

    for (int64_t i = 0; i < w->n; i++) {
        w->own[i].label = first + i;
        w->own[i].offered = w->own[i].place;
    }
    w->offered_at = w->step;
    w->nlabelled++;
    return EQP_OK;
}

static bool breaks; /* makes the method below fail */

static int assign_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    (void)result;
    for (int64_t i = 0; i < items->n; i++) {
        part[i] = (int)(items->id[i] % options->nparts);
    }
    return breaks ? EQP_ERR_DATA : EQP_OK;
}

static int assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    (void)comm;
    return assign_alone(items, options, part, result);
}

static const eqp_method frail = {
    .name = "frail", .summary = "breaks", .assign = assign, .assign_alone = assign_alone, .flags = EQP_NEEDS_WEIGHTS};
static const eqp_method *const rows[] = {&frail};
static const eqp_methods own_methods = {rows, 1};

/* All owners on the last rank. */
static world *make_world(MPI_Comm comm, const eqp_balancer_options *options, eqp_lazy *lazy)
{
    static world w;
    eqp_balancer_options late = *options;

    w = (world){.rank = mpi_test_rank(comm), .size = mpi_test_size(comm)};
    w.n = w.rank == w.size - 1 ? OWNERS : 0;
    for (int64_t i = 0; i < w.n; i++) {
        w.own[i] = (owner){.place = i << 20, .work = 100 + 10 * i};
    }
    late.lazy = lazy;
    const eqp_problem problem = {.user = &w, .survey = survey, .label = label, .own = &own_methods};
    const int code = eqp_balancer_create(comm, &problem, &late, &w.balancer, NULL);
    CHECK_EQUAL(eqp_agree_same(comm, code), EQP_OK);
    CHECK(code == EQP_OK || code == EQP_ERR_MEMORY);
    return code == EQP_OK ? &w : NULL;
}

static int by_place(const void *left, const void *right)
{
    const owner *a = left, *b = right;

    return (a->place > b->place) - (a->place < b->place);
}

/* Sends every owner to its destination. *all: [returned] owners before the move by place, owned by the caller. */
static int64_t travel(MPI_Comm comm, world *w, owner **all)
{
    int64_t n = 0;

    CHECK_EQUAL(eqp_gather_records(comm, sizeof **all, w->n, w->own, &n, (void *)all), EQP_OK);
    qsort(*all, (size_t)n, sizeof **all, by_place);
    w->n = 0;
    for (int64_t i = 0; i < n; i++) {
        const owner *o = &(*all)[i];
        CHECK(i == 0 || o->place > o[-1].place);
        CHECK(o->to >= 0 && o->to < w->size);
        if (o->to == w->rank) {
            CHECK(w->n < MOST);
            w->own[w->n] = *o;
            w->own[w->n++].home = w->rank;
        }
    }
    return n;
}

static int64_t new_place(world *w, int64_t near)
{
    return (near >> 20 << 20) + 1 + w->made++ * w->size + w->rank;
}

/* Changes owners as a step might: work grows at one end; each rank splits one owner, merges two, adds one, and moves
 * one. */
static void change(MPI_Comm comm, world *w)
{
    owner *all = NULL;

    for (int64_t i = 0; i < w->n; i++) {
        w->own[i].work += w->own[i].place >> 22;
        w->own[i].to = w->rank;
    }
    if (w->n > 3) {
        owner piece = w->own[1];
        w->own[0].work += w->own[w->n - 2].work;
        w->own[w->n - 2] = w->own[w->n - 1];
        piece.work = w->own[1].work /= 2;
        piece.place = new_place(w, piece.place);
        w->own[w->n - 1] = piece;
        piece.label = 0;
        piece.offered = -1;
        piece.place = new_place(w, piece.place);
        w->own[w->n++] = piece;
        w->own[2].to = (w->rank + 1) % w->size;
    }
    CHECK(travel(comm, w, &all) > 0);
    free(all);
}

/* New owners stay, owners with one label stay together, and parts are ranges of the curve at the time of the offer. */
static void check_taken(int64_t n, const owner *all, const owner *by_offer)
{
    for (int64_t i = 0; i < n; i++) {
        CHECK(all[i].label > 0 || all[i].to == all[i].home);
    }
    for (int64_t i = 1; i < n; i++) {
        const owner *now = &by_offer[i], *last = now - 1;
        CHECK(last->label == 0 || now->label != last->label || (now->to == last->to && now->offered == last->offered));
        CHECK(last->label == 0 || now->to >= last->to);
    }
}

static int by_offer(const void *left, const void *right)
{
    const owner *a = left, *b = right;

    return a->label == 0 || b->label == 0 ? (a->label > 0) - (b->label > 0)
                                          : (a->offered > b->offered) - (a->offered < b->offered);
}

/* Moves owners as advised. taken: the map is late and unrepaired, thus made of ranges of the curve. */
static void move(MPI_Comm comm, world *w, const eqp_advice *advice, bool taken)
{
    owner *all = NULL;

    for (int64_t i = 0; i < w->n; i++) {
        CHECK(!advice->changed || advice->placement[i].tag == advice->placement[i].home);
        w->own[i].home = w->rank;
        w->own[i].to = advice->changed ? advice->placement[i].home : w->rank;
    }
    const int64_t n = travel(comm, w, &all);
    if (taken) {
        owner *sorted = mpi_test_alloc(n, sizeof *sorted);
        memcpy(sorted, all, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, by_offer);
        check_taken(n, all, sorted);
        free(sorted);
    }
    free(all);
}

static int record(world *w, double balance_seconds, eqp_step *step)
{
    int64_t count[1] = {0};
    eqp_rank_row row = {.particles = (double)w->n, .balance_seconds = balance_seconds};

    for (int64_t i = 0; i < w->n; i++) {
        count[0] += w->own[i].work;
    }
    row.load = 1e-6 * (double)count[0];
    w->step++;
    return eqp_balancer_record(w->balancer, &(eqp_work){.row = &row, .count = count}, step);
}

typedef struct way {
    const char *method, *words;
    int64_t least; /* late maps */
} way;

static void run_steps(MPI_Comm comm, eqp_lazy *lazy, const void *user)
{
    const way *of = user;
    const eqp_lazy_options how = eqp__lazy_settings(lazy);
    const eqp_balancer_options options = options_every(of->method, 2);
    world *const w = make_world(comm, &options, lazy);
    int64_t taken = 0, age = -1;

    for (int64_t s = 0; s < STEPS; s++) {
        const int64_t labelled = w->nlabelled, offered = w->offered_at;
        eqp_advice advice;
        eqp_step step = eqp_step_defaults();
        CHECK_EQUAL(eqp_balancer_advise(w->balancer, STEPS - s, &advice, NULL), EQP_OK);
        const bool late = advice.action == EQP_RENEW && s > 0;
        CHECK(!late || (labelled > 0 && labelled == w->nlabelled));
        move(comm, w, &advice, late && how.repair == 0 && strcmp(of->method, "sfc") == 0);
        CHECK_EQUAL(record(w, 1e-3, &step), EQP_OK);
        CHECK(strstr(step.why, "not made") == NULL && step.lazy != EQP_LAZY_LOST);
        CHECK_EQUAL(step.map_age, late ? s - offered : advice.action == EQP_RENEW ? 0 : age + 1);
        CHECK(!late || how.delay < 0 || step.map_age == how.delay);
        CHECK(!late || how.wait < 0 || step.map_age <= how.wait + 1);
        age = step.map_age;
        taken += late;
        change(comm, w);
    }
    CHECK(taken >= of->least);
    eqp_balancer_free(w->balancer);
}

MPI_TEST(owners_are_found_again_by_every_way)
{
    static const way ways[] = {
        {"sfc", "thread", 0},           {"interaction", "1:wait=0", 2},       {"sfc", "0:delay=3,repair=never", 2},
        {"auto", "1:delay=2", 0},       {"sfc", "1:delay=3,repair=2", 1},     {"sfc", "1:delay=2,repair=never", 2},
        {"tiles", "2:delay=1", 2},      {"sfc", "2:wait=1,repair=never", 2},  {"sfc", "5:delay=2,repair=never", 2},
        {"tiles", "thread:delay=2", 2}, {"sfc", "0:delay=1,repair=never", 3}, {"sfc", "thread:wait=0,repair=never", 2}};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        run_late_maps(comm, ways[i].words, false, NULL, run_steps, &ways[i]);
    }
}

/* A map in line takes `in_line` seconds, a late one a millisecond. Once both costs are known, maps are made where they
 * cost less. */
static void run_choosing(MPI_Comm comm, eqp_lazy *lazy, const void *user)
{
    const double *in_line = user;
    const eqp_balancer_options options = options_every("sfc", 2);
    world *const w = make_world(comm, &options, lazy);
    int64_t late = 0, renewed = 0;

    for (int64_t s = 0; s < STEPS; s++) {
        eqp_advice advice;
        eqp_step step = eqp_step_defaults();
        CHECK_EQUAL(eqp_balancer_advise(w->balancer, STEPS - s, &advice, NULL), EQP_OK);
        const bool taken = w->nlabelled > 0 && w->offered_at >= 0 && advice.action == EQP_RENEW;
        move(comm, w, &advice, false);
        CHECK_EQUAL(record(w, advice.action == EQP_RENEW ? (taken ? 1e-3 : *in_line) : 0.0, &step), EQP_OK);
        CHECK(s == 0 || (step.map_age > 0) == taken || advice.action != EQP_RENEW);
        late += advice.action == EQP_RENEW && step.map_age > 0;
        renewed += advice.action == EQP_RENEW;
        w->offered_at = taken ? -1 : w->offered_at;
        change(comm, w);
    }
    CHECK(renewed >= 4 && late == (*in_line > 1.0 ? renewed - 1 : 1));
    eqp_balancer_free(w->balancer);
}

MPI_TEST(maps_are_made_where_that_is_cheaper)
{
    static const double seconds[] = {1e-9, 1e3};

    for (int i = 0; i < 2; i++) {
        run_late_maps(comm, "thread:wait=0", true, NULL, run_choosing, &seconds[i]);
    }
}

/* Largest load over the mean, minus 1; a shared owner's work is spread evenly over its units. */
static double unevenness(MPI_Comm comm, const world *w, const eqp_advice *advice)
{
    const eqp_map *map = eqp_balancer_map(w->balancer);
    double *load = mpi_test_alloc(w->size, sizeof *load), most = 0.0, sum = 0.0;

    memset(load, 0, (size_t)w->size * sizeof *load);
    for (int64_t i = 0; i < w->n; i++) {
        const eqp_placement *p = &advice->placement[i];
        const double *centroid;
        const int *rank;
        const int64_t n = eqp_map_units(map, p->tag, &centroid, &rank);
        CHECK(n > 0 ? p->tag < 0 : p->tag == p->home);
        if (n == 0) {
            load[p->home] += (double)w->own[i].work;
        }
        for (int64_t u = 0; u < n; u++) {
            load[rank[u]] += (double)w->own[i].work / (double)n;
        }
    }
    CHECK_EQUAL(eqp_sum_double(comm, w->size, load), EQP_OK);
    for (int r = 0; r < w->size; r++) {
        most = load[r] > most ? load[r] : most;
        sum += load[r];
    }
    free(load);
    return most * w->size / sum - 1.0;
}

typedef struct shared_run {
    const char *words, *says;
    int64_t heavy;
    bool even; /* the late map, after its repair */
    int split;
} shared_run;

/* Runs until it takes the first late map with a shared owner. By then that owner's work is `heavy`, and half of the
 * other owners have grown. */
static void take_shared(MPI_Comm comm, eqp_lazy *lazy, const void *user)
{
    const shared_run *of = user;
    const eqp_balancer_options options = options_every("interaction", 1);
    world *const w = make_world(comm, &options, lazy);
    eqp_advice advice = {.changed = false};
    eqp_step step = eqp_step_defaults();
    double uneven = 0.0;

    w->tiles = true;
    w->n = w->rank == 0 ? MANY : 0;
    for (int64_t i = 0; i < w->n; i++) {
        w->own[i] = (owner){.place = i, .work = 100};
    }
    for (int64_t s = 0; s <= 3; s++) {
        for (int64_t i = 0; i < w->n; i++) {
            const int64_t light = s < 3 || w->own[i].place > HEAVY ? 100 : 400, grown = s < 3 ? 400 * MANY : of->heavy;
            w->own[i].work = w->own[i].place != HEAVY || s == 0 ? light : grown;
        }
        CHECK_EQUAL(eqp_balancer_advise(w->balancer, 9, &advice, NULL), EQP_OK);
        CHECK_EQUAL(advice.changed, s == 0 || s == 3);
        uneven = advice.changed ? unevenness(comm, w, &advice) : 0.0;
        for (int64_t i = 0; i < w->n; i++) {
            w->own[i].to = advice.changed ? advice.placement[i].home : w->rank;
        }
        owner *all = NULL;
        CHECK_EQUAL(travel(comm, w, &all), MANY);
        free(all);
        CHECK_EQUAL(record(w, 1e-3, &step), EQP_OK);
    }
    CHECK(of->even ? uneven < 0.02 : uneven > 0.05);
    CHECK(strstr(step.why, of->says) != NULL);
    CHECK_EQUAL(step.split_owners, of->split);
    eqp_balancer_free(w->balancer);
}

/* Whole owners move around one too heavy for a rank; a shared owner that is no longer heavy is reunited and may
 * move. */
MPI_TEST(shared_maps_are_repaired)
{
    static const shared_run runs[] = {{"0:delay=2,repair=never", "ago", 400 * MANY, false, 1},
                                      {"0:delay=2", "around shared owners", 400 * MANY, true, 1},
                                      {"0:delay=2,repair=never", "ago", 5 * MANY, false, 1},
                                      {"0:delay=2", "made whole", 5 * MANY, true, 0}};

    for (int i = 0; i < 4 && mpi_test_size(comm) > 1; i++) {
        run_late_maps(comm, runs[i].words, false, NULL, take_shared, &runs[i]);
    }
}

/* A failed map leaves the present one in force and is reported. */
static void run_frail(MPI_Comm comm, eqp_lazy *lazy, const void *user)
{
    eqp_balancer_options options = options_every("sfc", 1);
    eqp_advice advice;
    eqp_step step = eqp_step_defaults();
    int told = 0;

    (void)user;
    CHECK_EQUAL(eqp_choice_parse(&own_methods, NULL, "frail", &options.method, NULL), EQP_OK);
    world *const w = make_world(comm, &options, lazy);
    breaks = false;
    for (int64_t s = 0; s < STEPS; s++) {
        const eqp_map *before = eqp_balancer_map(w->balancer);
        CHECK_EQUAL(eqp_balancer_advise(w->balancer, STEPS - s, &advice, NULL), EQP_OK);
        CHECK(s == 0 || (advice.action == EQP_KEEP && !advice.changed && advice.placement == NULL));
        CHECK(s == 0 || eqp_balancer_map(w->balancer) == before);
        breaks = true;
        move(comm, w, &advice, false);
        CHECK_EQUAL(record(w, 1e-3, &step), EQP_OK);
        CHECK_EQUAL(step.map_age, s);
        CHECK(s == 0 ? strcmp(step.why, "the first map") == 0
                     : step.why[0] == '\0' || strstr(step.why, "was not made: ") != NULL);
        told += s > 0 && step.why[0] != '\0';
    }
    CHECK(told >= 2);
    eqp_balancer_free(w->balancer);
}

MPI_TEST(maps_that_fail_change_nothing)
{
    static const char *const words[] = {"0:delay=1,repair=never", "thread:wait=0,repair=never",
                                        "1:delay=2,repair=never", "2:wait=0,repair=never"};

    for (int i = 0; i < 4; i++) {
        breaks = true; /* on ranks that serve */
        run_late_maps(comm, words[i], false, &own_methods, run_frail, NULL);
    }
}

static void run_short_of_memory(MPI_Comm comm, eqp_lazy *lazy)
{
    const eqp_balancer_options options = options_every("sfc", 1);
    world *const w = make_world(comm, &options, lazy);
    int code = w != NULL ? EQP_OK : EQP_ERR_MEMORY;

    for (int64_t s = 0; s < 5 && code == EQP_OK; s++) {
        eqp_advice advice;
        code = eqp_balancer_advise(w->balancer, 5 - s, &advice, NULL);
        CHECK_EQUAL(eqp_agree_same(comm, code), EQP_OK);
        CHECK(code == EQP_OK || code == EQP_ERR_MEMORY);
        if (code == EQP_OK) {
            const int64_t left = failing_malloc_left; /* the test's own allocations succeed */
            failing_malloc_left = -1;
            move(comm, w, &advice, false);
            failing_malloc_left = left;
            code = record(w, 1e-3, NULL);
            CHECK_EQUAL(eqp_agree_same(comm, code), EQP_OK);
        }
    }
    eqp_balancer_free(w != NULL ? w->balancer : NULL);
}

/* One allocation of one rank fails, after this many successes. Returns true if the run got that far. */
static bool fails_once(MPI_Comm comm, const eqp_lazy_options *options, int victim, int64_t successes)
{
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = NULL;
    bool lost = false;
    int failed;

    if (mpi_test_rank(comm) == victim) {
        failing_malloc_start_single(successes);
    }
    const int code = eqp_lazy_split(comm, options, &mine, &lazy, NULL);
    CHECK(code == EQP_OK || code == EQP_ERR_MEMORY);
    CHECK_EQUAL(eqp_agree_same(comm, code), EQP_OK);
    if (eqp_lazy_serves(lazy)) {
        CHECK_EQUAL(eqp_balancer_serve(lazy, NULL), EQP_OK);
    } else if (code == EQP_OK) {
        run_short_of_memory(mine, lazy);
    }
    CHECK_EQUAL(eqp_lazy_leave(&lazy, &lost), EQP_OK);
    CHECK(!lost);
    eqp_comm_free(&mine);
    failed = (int)failing_malloc_stop();
    MPI_Bcast(&failed, 1, MPI_INT, victim, comm);
    return failed > 0;
}

MPI_TEST(no_deadlock_without_memory)
{
    static const char *const words[] = {"0:delay=1", "thread:wait=0", "1:wait=0"};
    const int size = mpi_test_size(comm);

    if (!failing_malloc_only_ours() || size != 3) { /* more ranks fail at the same places */
        return;
    }
    for (int i = 0; i < 3; i++) {
        eqp_lazy_options options;
        CHECK_EQUAL(eqp_lazy_options_parse(words[i], &options, NULL), EQP_OK);
        for (int victim = 0; victim < size; victim++) {
            for (int64_t k = 0; fails_once(comm, &options, victim, k); k += 1 + k / 8) {
            }
        }
    }
}
