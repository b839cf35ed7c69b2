/* SPDX-License-Identifier: BSD-3-Clause */
/* A balancer whose step is a cycle of phases: owners on a line, some of which have work in some phases only. */
#include "harness.h"
#include "methods/frame/frame.h"

#include "balancer_world.h"

enum { OWNERS = 240, PARTS = 5 };

/* Every rank knows all owners; home[i] is the rank of owner i. */
typedef struct world {
    int rank, size;
    int home[OWNERS];
    int64_t tag[OWNERS];
    int64_t label[OWNERS]; /* of the owners at home here */
    int nphases;
    double shift; /* shift of the rungs along the line, in owners */
    eqp_balancer *balancer;
} world;

/* The deepest phase in which an owner has work. Few owners have work in many phases. */
static int rung_of(const world *w, int64_t owner)
{
    const int64_t at = (owner + (int64_t)w->shift) % OWNERS;
    const int deep = at < 12 ? 3 : at < 40 ? 2 : at % 5 == 0 ? 1 : 0;

    return w->nphases == EQP_CYCLE_PHASES ? (owner == 77 ? EQP_CYCLE_PHASES - 1 : 0)
           : deep < w->nphases            ? deep
                                          : w->nphases - 1;
}

static int64_t work_of(const world *w, int64_t owner, int phase)
{
    return rung_of(w, owner) >= phase ? 100 + 7 * (owner % 11) : 0;
}

static double times_of(int phase)
{
    return phase == 0 ? 1.0 : ldexp(1.0, phase - 1);
}

static int64_t cycle_of(const world *w, int64_t owner)
{
    int64_t sum = 0;

    for (int k = 0; k < w->nphases; k++) {
        sum += (int64_t)times_of(k) * work_of(w, owner, k);
    }
    return sum;
}

static int cycle(void *user, eqp_cycle_turns *phases)
{
    const world *w = user;

    phases->n = w->nphases;
    for (int k = 0; k < w->nphases; k++) {
        phases->times[k] = times_of(k);
    }
    return EQP_OK;
}

/* Owners touch their neighbours. */
static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;
    const bool works = kind == EQP_SURVEY_WORK;
    int64_t at_home = 0;

    for (int64_t o = 0; o < OWNERS; o++) {
        eqp_owner owner = owner_at(w->rank, at_home, o, works ? cycle_of(w, o) : 0);
        double load[EQP_CYCLE_PHASES];
        if (w->home[o] != w->rank) {
            continue;
        }
        owner.tag = w->tag[o];
        owner.label = w->label[o];
        owner.centre[1] = (double)(o * o % 17);
        at_home++;
        for (int k = 0; k < w->nphases; k++) {
            load[k] = eqp_survey_weigh(list, (const int64_t[]){work_of(w, o, k)});
        }
        EQP_CHECK(works && eqp_survey_phases(list) != w->nphases ? EQP_ERR_INTERNAL : EQP_OK);
        EQP_CHECK(works ? eqp_survey_add_phases(list, load) : EQP_OK);
        for (int64_t p = o < 2 ? 0 : o - 2; p <= o + 2 && p < OWNERS && works && eqp_survey_pin_below(list) > 0; p++) {
            EQP_CHECK(eqp_survey_add_pin(list, p));
        }
        EQP_CHECK(eqp_survey_add_owner(list, &owner));
    }
    return EQP_OK;
}

static int label(void *user, int64_t first)
{
    world *w = user;

    for (int o = 0; o < OWNERS; o++) {
        w->label[o] = w->home[o] == w->rank ? first++ : 0;
    }
    return EQP_OK;
}

static const eqp_problem usual = {.survey = survey, .cycle = cycle, .label = label};

/* The world, with owners dealt to ranks in order, and its balancer of this problem. */
static void create(MPI_Comm comm, const eqp_problem *problem, const eqp_balancer_options *options, int nphases,
                   world *w)
{
    eqp_problem own = *problem;

    *w = (world){.rank = mpi_test_rank(comm), .size = mpi_test_size(comm), .nphases = nphases};
    for (int o = 0; o < OWNERS; o++) {
        w->tag[o] = w->home[o] = o * w->size / OWNERS;
    }
    own.user = w;
    own.apart = own.apart || options->method.options.maps != 0;
    w->balancer = balancer_of(comm, &own, options);
}

static void move(MPI_Comm comm, world *w, const eqp_advice *advice)
{
    int all[OWNERS] = {0};
    int64_t at = 0;

    for (int o = 0; o < OWNERS && advice->changed; o++) {
        w->tag[o] = 0;
        if (w->home[o] == w->rank) {
            w->tag[o] = advice->placement[at].tag;
            all[o] = advice->placement[at++].home;
        }
    }
    if (advice->changed) {
        CHECK_EQUAL(at, advice->nplacements);
        MPI_Allreduce(all, w->home, OWNERS, MPI_INT, MPI_SUM, comm);
        MPI_Allreduce(MPI_IN_PLACE, w->tag, OWNERS, MPI_INT64_T, MPI_SUM, comm);
        MPI_Allreduce(MPI_IN_PLACE, w->label, OWNERS, MPI_INT64_T, MPI_SUM, comm);
        for (int o = 0; o < OWNERS; o++) {
            w->label[o] = w->home[o] == w->rank ? w->label[o] : 0;
        }
    }
}

/* The rank that computes an owner in a phase. */
static int rank_in(const world *w, int owner, int phase)
{
    return eqp_map_own_rank(eqp_balancer_map(w->balancer),
                            eqp_map_tag_in(eqp_balancer_map(w->balancer), w->tag[owner], phase));
}

/* Records a cycle in which a unit of work takes a microsecond. */
static void record(world *w, eqp_step *step)
{
    int64_t count[1] = {0}, turns[EQP_CYCLE_PHASES] = {0};
    double load[EQP_CYCLE_PHASES];
    eqp_rank_row row = {.balance_seconds = 1e-4};
    const eqp_work work = {
        .row = &row, .count = count, .nphases = w->nphases, .phase_load = load, .phase_count = turns};

    for (int k = 0; k < w->nphases; k++) {
        for (int o = 0; o < OWNERS; o++) {
            turns[k] += rank_in(w, o, k) == w->rank ? (int64_t)times_of(k) * work_of(w, o, k) : 0;
        }
        load[k] = 1e-6 * (double)turns[k];
        count[0] += turns[k];
        row.load += load[k];
    }
    CHECK_EQUAL(eqp_balancer_record(w->balancer, &work, step), EQP_OK);
}

static eqp_advice live(MPI_Comm comm, world *w, int64_t left, eqp_step *step)
{
    eqp_advice advice;

    CHECK_EQUAL(eqp_balancer_advise(w->balancer, left, &advice, NULL), EQP_OK);
    move(comm, w, &advice);
    record(w, step);
    return advice;
}

/* By definition: largest and mean of each phase, summed over its turns. part: [nphases][OWNERS]. */
static eqp_cycle measure_phases(const world *w, int nparts, const int (*part)[OWNERS])
{
    double load[OWNERS * EQP_CYCLE_PHASES] = {0.0}, times[EQP_CYCLE_PHASES]; /* at most one part per owner */
    eqp_cycle measured;

    for (int k = 0; k < w->nphases; k++) {
        times[k] = times_of(k);
        for (int o = 0; o < OWNERS; o++) {
            load[part[k][o] * w->nphases + k] += (double)work_of(w, o, k);
        }
    }
    CHECK_EQUAL(eqp__cycle_of_parts(nparts, load, w->nphases, times, NULL, &measured), EQP_OK);
    return measured;
}

/* The same parts in all phases. part: [OWNERS]. */
static eqp_cycle measure(const world *w, int nparts, const int *part)
{
    int all[EQP_CYCLE_PHASES][OWNERS];

    for (int k = 0; k < w->nphases; k++) {
        memcpy(all[k], part, sizeof all[k]);
    }
    return measure_phases(w, nparts, (const int(*)[OWNERS])all);
}

/* Runs with one to four phases, and with the most possible, where most phases have one owner's work. */
MPI_TEST(a_cycle_is_reported_by_phase)
{
    static const int phases[] = {1, 2, 3, 4, EQP_CYCLE_PHASES};
    double efficiency[2];

    for (int i = 0; i < 5; i++) {
        for (int m = 0; m < 2; m++) {
            const eqp_balancer_options options = options_of(m == 0 ? "sfc" : "levelled");
            eqp_step step = {.step = 0};
            world w;
            create(comm, &usual, &options, phases[i], &w);
            (void)live(comm, &w, 9, &step);
            const eqp_cycle cycle = measure(&w, w.size, w.home);
            CHECK_EQUAL(step.nphases, phases[i]);
            CHECK_NEAR(step.cycle_efficiency, cycle.efficiency, 1e-9);
            CHECK_NEAR(1.0 / (1.0 + step.imbalance_predicted), cycle.efficiency, 1e-9);
            CHECK_NEAR(step.imbalance_work, step.imbalance_predicted, 1e-9);
            CHECK(i == 0 || m == 0 || fabs(step.imbalance_promised - step.imbalance_predicted) < 1e-9);
            for (int k = 0; k < phases[i] && i > 0; k++) {
                CHECK_NEAR(step.phase_measured[k], cycle.imbalance[k], 1e-9);
                CHECK_NEAR(step.phase_predicted[k], cycle.imbalance[k], 1e-9);
            }
            efficiency[m] = cycle.efficiency;
            eqp_balancer_free(w.balancer);
        }
        CHECK(efficiency[1] >= efficiency[0] - 1e-12);
        CHECK(mpi_test_size(comm) == 1 || i == 0 || i == 4 || (efficiency[1] > 0.9 && efficiency[0] < 0.9));
    }
}

/* Declaring one phase gives the same maps and reports as declaring none. */
MPI_TEST(one_phase_is_no_cycle)
{
    const eqp_balancer_options options = options_of("levelled");
    eqp_step step[2];
    int home[2][OWNERS];

    for (int i = 0; i < 2; i++) {
        const eqp_problem plain = {.survey = survey};
        world w;
        create(comm, i == 0 ? &usual : &plain, &options, 1, &w);
        step[i] = (eqp_step){.step = 0};
        (void)live(comm, &w, 9, &step[i]);
        memcpy(home[i], w.home, sizeof home[i]);
        eqp_balancer_free(w.balancer);
    }
    CHECK(memcmp(home[0], home[1], sizeof home[0]) == 0);
    CHECK(step[0].imbalance_measured == step[1].imbalance_measured && step[0].load_max == step[1].load_max);
    CHECK(step[0].imbalance_promised == step[1].imbalance_promised);
    CHECK(step[0].imbalance_predicted == step[1].imbalance_predicted);
}

/* The rungs wander along the line: repairs keep every phase even and move few owners. */
MPI_TEST(repairs_keep_cycles_even)
{
    eqp_balancer_options options = options_of("levelled");
    eqp_step step = {.step = 0};
    int repairs = 0, maps = 0;
    world w;

    options.imbalance_tol = options.policy.imbalance_tol = 0.1;
    options.policy.mode = EQP_POLICY_REPAIR;
    create(comm, &usual, &options, 4, &w);
    for (int s = 0; s < 12; s++) {
        eqp_advice advice;
        int before[OWNERS], moved = 0;
        memcpy(before, w.home, sizeof before);
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 12 - s, &advice, NULL), EQP_OK);
        move(comm, &w, &advice);
        for (int o = 0; o < OWNERS; o++) {
            moved += w.home[o] != before[o];
        }
        CHECK(advice.action != EQP_REPAIR || (moved > 0 && moved <= OWNERS / 3));
        repairs += advice.action == EQP_REPAIR;
        maps += advice.action == EQP_RENEW;
        record(&w, &step);
        CHECK(advice.action != EQP_REPAIR || 1.0 / measure(&w, w.size, w.home).efficiency - 1.0 <= 0.1 + 1e-9);
        w.shift += 3;
    }
    CHECK(w.size == 1 ? repairs == 0 && maps == 1 : repairs > 0);
    eqp_balancer_free(w.balancer);
}

typedef struct seen {
    const world *w;
    MPI_Comm comm;
    int n;
} seen;

/* Blocks that parts miss for their owners with work. part, home: [OWNERS]. */
static int64_t ghosts_of(const world *w, const int *part, const int *home, int phase)
{
    int64_t ghosts = 0;

    for (int p = 0; p < PARTS; p++) {
        for (int64_t b = 0; b < OWNERS; b++) {
            bool needed = false;
            for (int64_t o = b - 2; o <= b + 2; o++) {
                needed = needed || (o >= 0 && o < OWNERS && part[o] == p && work_of(w, o, phase) > 0);
            }
            ghosts += needed && home[b] != p;
        }
    }
    return ghosts;
}

static int look(void *user, const eqp_compared *row, const eqp_map *map, const eqp_placement *placement)
{
    seen *s = user;
    int part[EQP_CYCLE_PHASES][OWNERS] = {{0}}, home[OWNERS] = {0}, runs = 1;
    int64_t at = 0;
    double sum = 0.0;

    for (int o = 0; o < OWNERS; o++) {
        if (s->w->home[o] == s->w->rank) {
            for (int k = 0; k < s->w->nphases; k++) {
                part[k][o] = eqp_map_own_rank(map, eqp_map_tag_in(map, placement[at].tag, k));
            }
            home[o] = placement[at++].home;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, part, s->w->nphases * OWNERS, MPI_INT, MPI_SUM, s->comm);
    MPI_Allreduce(MPI_IN_PLACE, home, OWNERS, MPI_INT, MPI_SUM, s->comm);
    for (int o = 1; o < OWNERS; o++) {
        runs += home[o] != home[o - 1];
    }
    if (strchr(row->method, ':') != NULL) {
        CHECK_EQUAL(runs, PARTS);
    } else {
        CHECK(strcmp(row->method, "auto") == 0 || memcmp(part[0], home, sizeof home) == 0);
    }
    CHECK((strstr(row->method, "maps=phase") != NULL) == (eqp_map_phased(map, NULL, NULL) > 0) ||
          strstr(row->method, "even=step") != NULL || strcmp(row->method, "auto") == 0);
    const eqp_cycle cycle = measure_phases(s->w, PARTS, (const int(*)[OWNERS])part);
    CHECK_EQUAL(row->phases.n, s->w->nphases);
    CHECK_NEAR(row->cycle.efficiency, cycle.efficiency, 1e-9);
    CHECK_NEAR(row->cycle.worst, cycle.worst, 1e-9);
    for (int k = 0; k < row->phases.n; k++) {
        CHECK(row->phases.times[k] == times_of(k));
        CHECK_NEAR(row->cycle.imbalance[k], cycle.imbalance[k], 1e-9);
        CHECK_EQUAL(row->phase[k].ghosts_total, ghosts_of(s->w, part[k], home, k));
        CHECK(memcmp(&row->phase[k].plan, &row->evaluated.plan, sizeof row->evaluated.plan) == 0);
        sum += times_of(k) * row->phase[k].step_seconds;
    }
    CHECK_NEAR(row->evaluated.step_seconds, sum, 1e-12 * sum);
    s->n++;
    return EQP_OK;
}

/* Every row agrees with the definition, and `auto` has the shortest cycle. */
MPI_TEST(comparisons_know_phases)
{
    static const char *const word[] = {
        "sfc", "jagged", "levelled", "levelled:homes=curve", "sfc:maps=phase", "count", "sfc:maps=phase,even=step",
        "auto"};
    enum { WORDS = sizeof word / sizeof word[0] };
    const eqp_balancer_options options = options_of("sfc");
    const int64_t parts[1] = {PARTS};
    eqp_choice choice[WORDS];
    eqp_compared *rows = NULL;
    eqp_message message = {""};
    world w;

    const eqp_problem apart = {.survey = survey, .cycle = cycle, .apart = true};
    create(comm, &apart, &options, 4, &w);
    seen s = {.w = &w, .comm = comm};
    for (int i = 0; i < WORDS; i++) {
        choice[i] = choice_of(word[i]);
    }
    const eqp_comparison wanted = {
        .nchoices = WORDS, .choice = choice, .ncounts = 1, .parts = parts, .on_map = look, .user = &s};
    CHECK_EQUAL(eqp_balancer_compare(w.balancer, &wanted, &rows, &message), EQP_OK);
    CHECK_EQUAL(s.n, WORDS);
    for (int i = 0; i < WORDS - 1; i++) {
        CHECK(rows[WORDS - 1].evaluated.step_seconds <= rows[i].evaluated.step_seconds);
    }
    CHECK(rows[2].cycle.efficiency > 0.9 && rows[0].cycle.efficiency < 0.8);
    CHECK(rows[0].evaluated.imbalance > 0.2);
    for (int i = 0; i < 5; i += 4) { /* at least as good as either in each phase */
        CHECK(rows[7].evaluated.step_seconds <= rows[i].evaluated.step_seconds);
    }
    CHECK(rows[4].cycle.efficiency > 0.9 && rows[4].evaluated.ghosts_total < rows[3].evaluated.ghosts_total);
    free(rows);
    eqp_balancer_free(w.balancer);
}

/* With unequal speeds, too, the map with all phases at home is that of `sfc`, and the map taken is no longer. */
MPI_TEST(unequal_parts_lose_nothing_by_phases)
{
    static const double speed[PARTS] = {3, 0.5, 0.5, 0.5, 0.5};
    const eqp_choice choice[2] = {choice_of("sfc"), choice_of("sfc:maps=phase,even=step")};
    const eqp_balancer_options options = options_of("sfc:maps=phase");
    const int64_t parts[1] = {PARTS};
    const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
    world w;

    create(comm, &usual, &options, 4, &w);
    for (int slow = 0; slow < 3; slow++) { /* networks on which phases stay at home or move */
        const eqp_network network = {.alpha = slow == 0 ? 1e-9 : slow == 1 ? 1e-6 : 1e-4, .beta = 1e-9, .node = 1};
        const eqp_comparison wanted = {.nchoices = 2,
                                       .choice = choice,
                                       .ncounts = 1,
                                       .parts = parts,
                                       .network = &network,
                                       .plan = &plan,
                                       .nspeeds = PARTS,
                                       .speed = speed};
        eqp_compared *rows = NULL;
        CHECK_EQUAL(eqp_balancer_compare(w.balancer, &wanted, &rows, NULL), EQP_OK);
        CHECK(rows[1].evaluated.step_seconds <= rows[0].evaluated.step_seconds * (1.0 + 1e-12));
        free(rows);
    }
    eqp_balancer_free(w.balancer);
}

/* Caps on the bytes of owners hold for homes in any phases. */
MPI_TEST(maps_of_phases_keep_to_caps)
{
    static const char *const word[] = {"sfc:maps=phase", "sfc:maps=phase,even=step", "rcb:maps=phase"};

    for (int i = 0; i < 3; i++) {
        eqp_balancer_options options = options_of(word[i]);
        int held = 0;
        eqp_advice advice;
        world w;
        options.capacities.of_mean = 1.1;
        create(comm, &usual, &options, 4, &w);
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 9, &advice, NULL), EQP_OK);
        move(comm, &w, &advice);
        for (int o = 0; o < OWNERS; o++) {
            held += w.home[o] == w.rank;
        }
        CHECK(held <= 1.1 * OWNERS / w.size);
        eqp_balancer_free(w.balancer);
    }
}

/* Resumes a run from its packed state. */
static void check_goes_on(MPI_Comm comm, const eqp_balancer_options *options, const world *w)
{
    void *bytes = NULL;
    size_t size = 0;
    world next;

    create(comm, &usual, options, w->nphases, &next);
    CHECK_EQUAL(eqp_balancer_pack(w->balancer, &size, &bytes), EQP_OK);
    CHECK_EQUAL(eqp_balancer_unpack(next.balancer, size, bytes), EQP_OK);
    memcpy(next.tag, w->tag, sizeof next.tag);
    for (int k = 0; k < EQP_CYCLE_PHASES; k++) { /* later phases equal the last one */
        for (int o = 0; o < OWNERS; o++) {
            CHECK_EQUAL(rank_in(&next, o, k), rank_in(w, o, k));
        }
    }
    free(bytes);
    eqp_balancer_free(next.balancer);
}

/* Data form ranges of the curve, and in each phase owners are where that phase is even. */
MPI_TEST(each_phase_may_have_a_map)
{
    static const char *const word[] = {"sfc:maps=phase", "rcb:maps=phase"};

    for (int i = 0; i < 6; i++) {
        const int phases = i < 2 ? 1 : i < 4 ? 4 : EQP_CYCLE_PHASES; /* one phase: as with homes alone */
        const eqp_balancer_options options = options_every(word[i % 2], 2);
        world w;
        create(comm, &usual, &options, phases, &w);
        for (int s = 0; s < 6; s++) {
            int part[EQP_CYCLE_PHASES][OWNERS], runs = 1;
            eqp_step step = eqp_step_defaults();
            CHECK_EQUAL(live(comm, &w, 6 - s, &step).changed, s % 2 == 0);
            for (int o = 0; o < OWNERS; o++) {
                runs += o > 0 && w.home[o] != w.home[o - 1];
                for (int k = 0; k < phases; k++) {
                    part[k][o] = rank_in(&w, o, k);
                }
            }
            const eqp_cycle cycle = measure_phases(&w, w.size, (const int(*)[OWNERS])part);
            CHECK_EQUAL(runs, w.size);
            CHECK_EQUAL(eqp_map_phased(eqp_balancer_map(w.balancer), NULL, NULL) > 0, w.size > 1 && phases > 1);
            CHECK_NEAR(step.cycle_efficiency, cycle.efficiency, 1e-9);
            CHECK_NEAR(1.0 / (1.0 + step.imbalance_predicted), cycle.efficiency, 1e-9);
            CHECK(s % 2 != 0 || phases > 4 || cycle.efficiency > 0.93);
            check_goes_on(comm, &options, &w);
            w.shift += 3;
        }
        eqp_balancer_free(w.balancer);
    }
}

typedef struct late_run {
    const char *words, *method;
    double shift;
} late_run;

static void run_late(MPI_Comm comm, eqp_lazy *lazy, const void *user)
{
    const late_run *of = user;
    eqp_balancer_options options = options_every(of->method, 2);
    int late = 0;
    world w;

    options.lazy = lazy;
    create(comm, &usual, &options, 4, &w);
    for (int s = 0; s < 8; s++) {
        eqp_step step = eqp_step_defaults();
        const eqp_advice advice = live(comm, &w, 8 - s, &step);
        late += advice.action == EQP_RENEW && step.map_age > 0;
        CHECK(advice.action != EQP_RENEW || 1.0 / step.cycle_efficiency - 1.0 < 0.12);
        w.shift += of->shift;
    }
    CHECK(late >= 2);
    eqp_balancer_free(w.balancer);
}

/* Late maps consider phases and are repaired when the loads have changed meanwhile. */
MPI_TEST(late_maps_are_even_in_every_phase)
{
    static const late_run runs[] = {{"thread:delay=1,repair=never", "levelled", 0.0},
                                    {"1:delay=1", "levelled", 2.0},
                                    {"1:delay=1", "sfc:maps=phase", 0.0}}; /* such maps are not repaired */

    for (int i = 0; i < 3; i++) {
        run_late_maps(comm, runs[i].words, false, NULL, run_late, &runs[i]);
    }
}

static int bad_cycle(void *user, eqp_cycle_turns *phases)
{
    const world *w = user;

    *phases = (eqp_cycle_turns){2, {1.0, w->rank == 0 ? -1.0 : 1.0}};
    return EQP_OK;
}

static int other_cycle(void *user, eqp_cycle_turns *phases)
{
    const world *w = user;

    *phases = (eqp_cycle_turns){2, {1.0, w->rank + 1.0}};
    return EQP_OK;
}

MPI_TEST(invalid_cycles_are_refused)
{
    const eqp_balancer_options options = options_of("levelled");
    world w;

    for (int i = 0; i < 2; i++) {
        const eqp_problem problem = {.survey = survey, .cycle = i == 0 ? bad_cycle : other_cycle};
        const bool wrong = i == 0 || mpi_test_size(comm) > 1;
        eqp_advice advice;
        create(comm, &problem, &options, 2, &w);
        CHECK((eqp_balancer_advise(w.balancer, 9, &advice, NULL) != EQP_OK) == wrong);
        eqp_balancer_free(w.balancer);
    }
    const eqp_problem plain = {.user = &w, .survey = survey}, can = {.user = &w, .survey = survey, .apart = true};
    for (int i = 0; i < 5; i++) { /* owners live where they are computed; combinations that no word has */
        eqp_balancer_options made = options_of(i == 0   ? "levelled:homes=curve"
                                               : i == 4 ? "levelled"
                                                        : "sfc:maps=phase");
        made.method.options.homes = i != 2;
        made.method.options.split = i == 3;
        made.method.options.maps = i > 0;
        CHECK_EQUAL(eqp_balancer_create(comm, i < 2 ? &plain : &can, &made, &w.balancer, NULL), EQP_ERR_ARGUMENT);
    }
    const int64_t count[2] = {1, 1};
    const double load[2] = {1, 1}, negative[2] = {1, -1};
    eqp_rank_row row = {.load = 2};
    eqp_work work = {.row = &row, .count = count, .nphases = 2, .phase_load = load, .phase_count = count};
    create(comm, &plain, &options, 2, &w);
    CHECK_EQUAL(eqp_balancer_record(w.balancer, &work, NULL), EQP_ERR_ARGUMENT); /* no cycle */
    eqp_balancer_free(w.balancer);
    create(comm, &usual, &options, 2, &w);
    row.load = 0; /* phases took seconds but the step took none, so nothing is lost */
    eqp_step step = eqp_step_defaults();
    CHECK_EQUAL(eqp_balancer_record(w.balancer, &work, &step), EQP_OK);
    CHECK(step.imbalance_measured == 0 && step.cycle_efficiency == 1 && step.load_max == 0);
    work.phase_load = negative;
    CHECK_EQUAL(eqp_balancer_record(w.balancer, &work, NULL), EQP_ERR_ARGUMENT);
    work.nphases = EQP_CYCLE_PHASES + 1;
    CHECK_EQUAL(eqp_balancer_record(w.balancer, &work, NULL), EQP_ERR_ARGUMENT);
    eqp_balancer_free(w.balancer);
}
