/* SPDX-License-Identifier: BSD-3-Clause */
/* The balancer as an embedding code uses it: owners on a line, whose work is known here. */
#include "fake_clock.h"
#include "harness.h"

#include <equipoise/balancer.h>

#include <math.h>

#include "failing_ranks.h"

enum { OWNERS = 60 };

/* Owners of all ranks, by their place on the line; some ranks have none at first. */
typedef struct world {
    int rank, size;
    int64_t n;
    int64_t owner[OWNERS]; /* [n] that live here */
    int64_t tag[OWNERS];   /* [n] of each */
    double heavier;        /* factor on the counted work in the first third of the line */
    double slower;         /* factor on the measured seconds in the first third of the line */
    double sent;           /* bytes of the last rank in a step */
    eqp_balancer *balancer;
} world;

/* Work of an owner: the last ones have most, at first. */
static int64_t work_of(const world *w, int64_t owner)
{
    const double times = owner < OWNERS / 3 ? 1.0 + w->heavier : 1.0;

    return (int64_t)(times * (double)(100 + 10 * owner));
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;
    int code = EQP_OK;

    for (int64_t i = 0; i < w->n && code == EQP_OK; i++) {
        const eqp_owner owner = {.key = (uint64_t)w->owner[i] << 30,
                                 .pin = w->owner[i],
                                 .particles = 1,
                                 .home = w->rank,
                                 .at_home = i,
                                 .bytes = 8,
                                 .tag = w->tag[i],
                                 .centre = {(double)w->owner[i], 0, 0},
                                 .count = {kind == EQP_SURVEY_WORK ? work_of(w, w->owner[i]) : 0},
                                 .interactions = 1};
        code = eqp_survey_add_owner(list, &owner);
    }
    return code;
}

/* All owners on the last rank. */
static eqp_problem make_world(MPI_Comm comm, world *w)
{
    *w = (world){.rank = mpi_test_rank(comm), .size = mpi_test_size(comm)};
    w->n = w->rank == w->size - 1 ? OWNERS : 0;
    for (int64_t i = 0; i < w->n; i++) {
        w->owner[i] = i;
        w->tag[i] = w->rank;
    }
    return (eqp_problem){.user = w, .survey = survey};
}

static eqp_balancer_options options_of(const char *method)
{
    eqp_balancer_options options;

    CHECK_EQUAL(eqp_balancer_options_init(&options, 3), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_balancer_options_init(&options, sizeof options), EQP_OK);
    CHECK_EQUAL(eqp_choice_parse(NULL, NULL, method, &options.method, NULL), EQP_OK);
    return options;
}

static void create(MPI_Comm comm, const char *method, world *w)
{
    const eqp_problem problem = make_world(comm, w);
    const eqp_balancer_options options = options_of(method);

    CHECK_EQUAL(eqp_balancer_create(comm, &problem, &options, &w->balancer, NULL), EQP_OK);
}

/* Owners to where the advice says, as a code moves its data. */
static void move(MPI_Comm comm, world *w, const eqp_advice *advice)
{
    int64_t here[2 * OWNERS] = {0}, all[2 * OWNERS];

    for (int64_t i = 0; i < w->n && advice->changed; i++) {
        const eqp_placement *p = &advice->placement[i];
        CHECK(p->tag == p->home || p->tag < 0);
        here[w->owner[i]] = 1 + p->home;
        here[OWNERS + w->owner[i]] = p->tag;
    }
    MPI_Allreduce(here, all, 2 * OWNERS, MPI_INT64_T, MPI_SUM, comm);
    if (advice->changed) {
        w->n = 0;
    }
    for (int64_t o = 0; o < OWNERS && advice->changed; o++) {
        CHECK(all[o] >= 1 && all[o] <= w->size);
        if (all[o] - 1 == w->rank) {
            w->owner[w->n] = o;
            w->tag[w->n++] = all[OWNERS + o];
        }
    }
}

/* A step: its work takes a microsecond each. */
static void record(world *w, eqp_step *step)
{
    int64_t count[1] = {0};
    eqp_rank_row row = {
        .particles = (double)w->n, .bytes_sent = w->rank == w->size - 1 ? w->sent : 0.0, .balance_seconds = 1e-3};

    for (int64_t i = 0; i < w->n; i++) {
        const double times = w->owner[i] < OWNERS / 3 ? 1.0 + w->slower : 1.0;
        count[0] += work_of(w, w->owner[i]);
        row.load += 1e-6 * times * (double)work_of(w, w->owner[i]);
    }
    CHECK_EQUAL(eqp_balancer_record(w->balancer, &(eqp_work){.row = &row, .count = count}, step), EQP_OK);
    CHECK(step == NULL || step->action == EQP_KEEP || step->why[0] != '\0');
}

static void a_run_is_kept_even(MPI_Comm comm)
{
    world w;
    eqp_advice advice;
    eqp_step step = {.step = 3};
    int maps = 0;

    create(comm, "sfc", &w);
    for (int s = 0; s < 6; s++) {
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 6 - s, &advice, NULL), EQP_OK);
        CHECK(advice.changed == (advice.placement != NULL && advice.action != EQP_KEEP));
        CHECK_EQUAL(advice.nplacements, advice.changed ? w.n : 0);
        maps += advice.changed;
        move(comm, &w, &advice);
        record(&w, &step);
        CHECK_EQUAL(step.step, 3);
        CHECK(step.rebalanced == (advice.action != EQP_KEEP) && step.action == advice.action);
    }
    CHECK_EQUAL(maps, 1); /* nothing changes after the first one */
    CHECK(step.imbalance_measured < 0.12 && fabs(step.imbalance_measured - step.imbalance_promised) < 1e-9);
    CHECK(eqp_balancer_knows_costs(w.balancer));
    CHECK_NEAR(eqp_balancer_costs(w.balancer)->cost[0], 1e-6, 1e-12);
    CHECK(eqp_balancer_speeds(w.balancer) == NULL && eqp_map_shared(eqp_balancer_map(w.balancer)) == 0);
    eqp_balancer_free(w.balancer);
}

/* Work grows on the first third of the line. Repairs move few owners and hold the tolerance; the method's own maps are
 * not asked for, as nothing breaks down. */
static void repairs_move_few_owners(MPI_Comm comm)
{
    world w;
    const eqp_problem problem = make_world(comm, &w);
    eqp_balancer_options options = options_of("sfc");
    eqp_advice advice;
    eqp_step step = {.step = 0};
    int repairs = 0, maps = 0;

    options.imbalance_tol = options.policy.imbalance_tol = 0.15;
    options.policy.mode = EQP_POLICY_REPAIR;
    CHECK_EQUAL(eqp_balancer_create(comm, &problem, &options, &w.balancer, NULL), EQP_OK);
    for (int s = 0; s < 40; s++) {
        int before[OWNERS] = {0}, after[OWNERS] = {0}, moved[OWNERS] = {0}, nmoved = 0;

        for (int64_t i = 0; i < w.n; i++) {
            before[w.owner[i]] = 1 + w.rank;
        }
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 40 - s, &advice, NULL), EQP_OK);
        CHECK(advice.action == EQP_KEEP || advice.changed);
        move(comm, &w, &advice);
        for (int64_t i = 0; i < w.n; i++) {
            after[w.owner[i]] = 1 + w.rank;
        }
        for (int o = 0; o < OWNERS; o++) {
            moved[o] = after[o] > 0 && before[o] == 0;
        }
        MPI_Allreduce(MPI_IN_PLACE, moved, OWNERS, MPI_INT, MPI_SUM, comm);
        for (int o = 0; o < OWNERS; o++) {
            nmoved += moved[o];
        }
        CHECK(advice.action != EQP_REPAIR || (nmoved >= 1 && nmoved <= OWNERS / 4));
        repairs += advice.action == EQP_REPAIR;
        maps += advice.action == EQP_RENEW;
        record(&w, &step);
        CHECK((strstr(step.why, "owners move") != NULL) == (advice.action == EQP_REPAIR));
        CHECK(s == 0 || advice.action == EQP_KEEP || step.imbalance_predicted <= 0.15 + 1e-9);
        w.heavier += 0.2;
    }
    CHECK_EQUAL(maps, 1);
    CHECK(w.size == 1 ? repairs == 0 : repairs >= 2);
    eqp_balancer_free(w.balancer);
}

/* Maps and repairs after the first map. After it, work in the first third grows by two fifths, and the last rank, which
 * has none of that third, sends this many bytes in every step. */
static int count_remedies(MPI_Comm comm, double sent)
{
    world w;
    const eqp_problem problem = make_world(comm, &w);
    eqp_balancer_options options = options_of("sfc");
    eqp_advice advice;
    int remedies = 0;

    options.calibrate = false; /* which is another reason */
    CHECK_EQUAL(eqp_balancer_create(comm, &problem, &options, &w.balancer, NULL), EQP_OK);
    w.sent = sent;
    for (int s = 0; s < 40; s++) {
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 40 - s, &advice, NULL), EQP_OK);
        remedies += s > 0 && advice.action != EQP_KEEP;
        move(comm, &w, &advice);
        record(&w, NULL);
        w.heavier = 0.4;
    }
    eqp_balancer_free(w.balancer);
    return remedies;
}

/* 0.1 seconds of messages are longer than all work, so that its division shortens no step. */
static void work_hidden_by_messages_is_left_alone(MPI_Comm comm)
{
    CHECK(mpi_test_size(comm) == 1 || count_remedies(comm, 0.0) > 0);
    CHECK_EQUAL(count_remedies(comm, 1e8), 0);
}

/* A byte changed, bytes torn off, zeros from somewhere on: refused, and nothing has changed. */
static void refuses_damaged_bytes(eqp_balancer *balancer, size_t size, const void *bytes)
{
    unsigned char *damaged = malloc(size);
    void *before = NULL, *after = NULL;
    size_t nbefore = 0, nafter = 0;

    CHECK(damaged != NULL);
    CHECK_EQUAL(eqp_balancer_pack(balancer, &nbefore, &before), EQP_OK);
    for (size_t i = 0; i < size; i += 1 + size / 1000) {
        memcpy(damaged, bytes, size);
        damaged[i] ^= (unsigned char)(1 + i % 255);
        CHECK_EQUAL(eqp_balancer_unpack(balancer, size, damaged), EQP_ERR_FORMAT);
        memset(damaged + i, 0, size - i);
        CHECK_EQUAL(eqp_balancer_unpack(balancer, size, damaged), EQP_ERR_FORMAT);
        memcpy(damaged, bytes, size);
        CHECK_EQUAL(eqp_balancer_unpack(balancer, i, damaged), EQP_ERR_FORMAT);
    }
    CHECK_EQUAL(eqp_balancer_pack(balancer, &nafter, &after), EQP_OK);
    CHECK(nafter == nbefore && memcmp(before, after, nafter) == 0);
    free(after);
    free(before);
    free(damaged);
}

/* A run that goes on behaves as one that never stopped. */
static void state_survives_in_bytes(MPI_Comm comm)
{
    world w, again;
    eqp_advice advice;
    eqp_step step = {.step = 0}, after = {.step = 0};
    void *bytes = NULL;
    size_t size = 0;

    create(comm, "interaction", &w);
    for (int s = 0; s < 3; s++) {
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 10, &advice, NULL), EQP_OK);
        move(comm, &w, &advice);
        record(&w, &step);
    }
    CHECK_EQUAL(eqp_balancer_pack(w.balancer, &size, &bytes), EQP_OK);
    create(comm, "interaction", &again);
    const eqp_balancer *const fresh = again.balancer;
    for (size_t cut = 0; cut < size; cut += 1 + size / 50) {
        CHECK_EQUAL(eqp_balancer_unpack(again.balancer, cut, bytes), EQP_ERR_FORMAT);
    }
    CHECK(!eqp_balancer_knows_costs(fresh) && eqp_balancer_due(fresh));
    CHECK_EQUAL(eqp_balancer_unpack(again.balancer, size, bytes), EQP_OK);
    again.n = w.n;
    memcpy(again.owner, w.owner, sizeof w.owner);
    memcpy(again.tag, w.tag, sizeof w.tag);
    for (int s = 0; s < 3; s++) {
        CHECK_EQUAL(eqp_balancer_due(again.balancer), eqp_balancer_due(w.balancer));
        record(&w, &step);
        record(&again, &after);
        CHECK(step.imbalance_predicted == after.imbalance_predicted && step.units == after.units);
        CHECK(step.imbalance_promised == after.imbalance_promised && step.correlation == after.correlation);
    }
    CHECK_EQUAL(eqp_balancer_costs(w.balancer)->cost[0] == eqp_balancer_costs(again.balancer)->cost[0], 1);
    refuses_damaged_bytes(again.balancer, size, bytes);
    free(bytes);
    eqp_balancer_free(w.balancer);
    eqp_balancer_free(again.balancer);
}

/* Work that takes longer than its counts say is noticed, said and divided by what was measured. */
static void measured_loads_calibrate_weights(MPI_Comm comm)
{
    for (int on = 0; on < 2; on++) {
        world w;
        eqp_problem problem = make_world(comm, &w);
        eqp_balancer_options options = options_of("sfc");
        eqp_advice advice;
        eqp_step step = {.step = 0};
        double most = 0.0;
        bool said = false;

        options.calibrate = on == 1;
        w.slower = 2.0;
        CHECK_EQUAL(eqp_balancer_create(comm, &problem, &options, &w.balancer, NULL), EQP_OK);
        for (int s = 0; s < 40; s++) {
            CHECK_EQUAL(eqp_balancer_advise(w.balancer, 40 - s, &advice, NULL), EQP_OK);
            move(comm, &w, &advice);
            record(&w, &step);
            most = fmax(most, step.calibration);
            said = said || strstr(step.why, "not as predicted") != NULL;
        }
        CHECK(said == (on == 1 && w.size > 1) && (most > 0.1) == said);
        CHECK(w.size == 1 || w.size > 4 || (step.imbalance_measured < 0.15) == (on == 1));
        eqp_balancer_free(w.balancer);
    }
}

static void the_first_map_needs_no_knowledge(MPI_Comm comm)
{
    world w;
    eqp_advice advice;

    create(comm, "sfc", &w);
    CHECK(eqp_balancer_due(w.balancer) && !eqp_balancer_due(NULL));
    CHECK_EQUAL(eqp_balancer_begin(w.balancer, &advice, NULL), EQP_OK);
    CHECK(advice.changed);
    move(comm, &w, &advice);
    CHECK(w.n >= OWNERS / w.size && w.n <= OWNERS / w.size + 1);
    eqp_balancer_free(w.balancer);
}

typedef struct wide_row {
    eqp_rank_row common;
    double own;
} wide_row;

static void a_step_is_made_of_the_rows_of_all_ranks(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    wide_row mine = {.common = {.load = 1.0 + (rank == size - 1),
                                .interactions = 10,
                                .ghosts = rank,
                                .bytes_sent = 2,
                                .migrated = 1,
                                .exchange_seconds = rank,
                                .balance_seconds = 5},
                     .own = 100 + rank};
    wide_row *rows = mpi_test_alloc(size, sizeof *rows);
    const int64_t count[1] = {3};
    eqp_work work = {.row = &mine.common, .row_bytes = sizeof mine, .rows = rows, .count = count, .moved = true};
    eqp_step step = {.step = 9, .time = 0.5};
    world w;

    create(comm, "sfc", &w);
    CHECK_EQUAL(eqp_balancer_record(w.balancer, &work, &step), EQP_OK);
    for (int r = 0; r < size; r++) {
        CHECK(rows[r].own == 100 + r && rows[r].common.ghosts == r);
    }
    CHECK_NEAR(step.load_mean, (size + 1.0) / size, 1e-15);
    CHECK_NEAR(step.imbalance_measured, 2.0 * size / (size + 1.0) - 1.0, 1e-14);
    CHECK_NEAR(step.imbalance_predicted, 0, 1e-14);
    CHECK(step.load_max == 2);
    CHECK_EQUAL(step.interactions, 10 * size);
    CHECK_EQUAL(step.ghosts_total, size * (size - 1) / 2);
    CHECK_EQUAL(step.ghosts_max, size - 1);
    CHECK_EQUAL(step.bytes_sent, 2 * size);
    CHECK_EQUAL(step.migrated, size);
    CHECK(step.exchange_seconds == size - 1 && step.balance_seconds == 5);
    CHECK(step.step == 9 && step.time == 0.5 && step.rebalanced);
    mine.common.load = rank == 0 ? NAN : 1.0;
    CHECK_EQUAL(eqp_balancer_record(w.balancer, &work, NULL), EQP_ERR_DATA);
    eqp_balancer_free(w.balancer);
    free(rows);
}

/* The busy time of this rank; the first rank has many ghosts. */
static eqp_rank_row row_with_ghosts(const world *w, int s, int64_t count[1])
{
    eqp_rank_row row = {.particles = (double)w->n,
                        .ghosts = w->rank == 0 ? 500 + s % 3 : 100 + 7 * (s % 5),
                        .bytes_sent = 1000 * (s % 4),
                        .balance_seconds = 1e-4};

    count[0] = 0;
    for (int64_t i = 0; i < w->n; i++) {
        count[0] += work_of(w, w->owner[i]);
    }
    row.load = 1e-6 * (double)count[0];
    row.busy_seconds = row.load + 4e-6 * row.ghosts + 2e-6 * row.particles;
    return row;
}

/* The cost of a step beyond its work is learned from the ranks' busy time. Afterwards step times are predicted, and
 * maps even out steps instead of loads. */
static void steps_are_even_not_loads(MPI_Comm comm)
{
    for (int knows = 0; knows < 2; knows++) {
        world w;
        eqp_advice advice;
        eqp_step step = {.step = 0};
        double busy = 0, sum = 0, most = 0;

        create(comm, "sfc", &w);
        for (int s = 0; s < 40; s++) {
            int64_t count[1];
            CHECK_EQUAL(eqp_balancer_advise(w.balancer, 40 - s, &advice, NULL), EQP_OK);
            move(comm, &w, &advice);
            eqp_rank_row row = row_with_ghosts(&w, s, count);
            busy = row.busy_seconds;
            row.busy_seconds = knows ? busy : 0;
            CHECK_EQUAL(eqp_balancer_record(w.balancer, &(eqp_work){.row = &row, .count = count}, &step), EQP_OK);
        }
        MPI_Allreduce(&busy, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Allreduce(&busy, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
        CHECK(knows ? step.step_measured == most : step.step_predicted == 0 && step.step_measured == 0);
        CHECK(!knows || fabs(step.step_predicted / most - 1) < 0.01);
        CHECK(w.size == 1 || w.size > 4 || (most * w.size / sum < 1.04) == (knows == 1));
        eqp_balancer_free(w.balancer);
    }
}

/* New maps after the first in 60 steps in which nothing moves, each at the same cost; *uneven: of the last step. */
static int count_maps(MPI_Comm comm, double balance_seconds, double *uneven)
{
    enum { STEPS = 60 };
    world w;
    const eqp_problem problem = make_world(comm, &w);
    eqp_balancer_options options = options_of("sfc");
    eqp_advice advice;
    eqp_regret regret;
    double busy = 0, sum = 0, most = 0;
    int maps = 0;

    options.calibrate = false; /* which is another reason */
    CHECK_EQUAL(eqp_balancer_create(comm, &problem, &options, &w.balancer, NULL), EQP_OK);
    for (int s = 0; s < STEPS; s++) {
        int64_t count[1];
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, STEPS - s, &advice, NULL), EQP_OK);
        maps += s > 0 && advice.action == EQP_RENEW;
        move(comm, &w, &advice);
        eqp_rank_row row = row_with_ghosts(&w, s, count);
        row.balance_seconds = advice.changed ? balance_seconds : 0;
        busy = row.busy_seconds;
        row.busy_seconds = s > 0 ? busy : 0; /* the first forces are no whole step */
        CHECK_EQUAL(eqp_balancer_record(w.balancer, &(eqp_work){.row = &row, .count = count}, NULL), EQP_OK);
    }
    MPI_Allreduce(&busy, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(&busy, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    *uneven = most * w.size / sum - 1;
    CHECK_EQUAL(eqp_balancer_regret(w.balancer, &regret), EQP_OK);
    CHECK(maps > 0 || regret.regret < 0.01); /* with one map all steps are alike, the first forces left out */
    eqp_balancer_free(w.balancer);
    return maps;
}

/* The first map is made by work alone. Once overheads are known another one follows, if it pays. */
static void overheads_are_a_reason_for_a_map(MPI_Comm comm)
{
    const int size = mpi_test_size(comm);
    double uneven;

    CHECK(size == 1 || size > 4 || count_maps(comm, 1e-4, &uneven) >= 1);
    CHECK(size == 1 || size > 4 || uneven < 0.04);
    CHECK_EQUAL(count_maps(comm, 10.0, &uneven), 0);
    CHECK(size == 1 || size > 4 || uneven > 0.05);
}

/* Maps of 40 steps whose work drifts, where each takes 10 ms by the clock: the caller says so or leaves it to the
 * library; or says that maps are nearly free. */
static int count_drifting(MPI_Comm comm, double balance_seconds)
{
    world w;
    const eqp_problem problem = make_world(comm, &w);
    eqp_balancer_options options = options_of("sfc");
    eqp_advice advice;
    int maps = 0;

    options.calibrate = false;
    CHECK_EQUAL(eqp_balancer_create(comm, &problem, &options, &w.balancer, NULL), EQP_OK);
    for (int s = 0; s < 40; s++) {
        int64_t count[1] = {0};
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 40 - s, &advice, NULL), EQP_OK);
        maps += advice.action != EQP_KEEP;
        move(comm, &w, &advice);
        for (int64_t i = 0; i < w.n; i++) {
            count[0] += work_of(&w, w.owner[i]);
        }
        eqp_rank_row row = {.load = 1e-6 * (double)count[0], .balance_seconds = advice.changed ? balance_seconds : 0};
        CHECK_EQUAL(eqp_balancer_record(w.balancer, &(eqp_work){.row = &row, .count = count}, NULL), EQP_OK);
        CHECK((row.balance_seconds > 0) == (advice.action != EQP_KEEP));
        w.heavier += 0.1;
    }
    eqp_balancer_free(w.balancer);
    return maps;
}

static void maps_cost_their_time(MPI_Comm comm)
{
    fake_clock_tick = 10000000;
    const int left_out = count_drifting(comm, 0.0), told = count_drifting(comm, 0.01),
              free = count_drifting(comm, 1e-9);
    fake_clock_tick = 0;
    CHECK(left_out >= 1 && left_out <= told);
    CHECK(mpi_test_size(comm) == 1 || free > 3 * told);
}

/* All methods, however maps are renewed. */
static void every_action_has_a_reason(MPI_Comm comm)
{
    static const char *const renewal[] = {"auto", "repair", "gain", "2"};

    for (int m = 0; eqp_method_at(m) != NULL && mpi_test_size(comm) <= 4; m++) {
        for (int k = 0; k < 4; k++) {
            world w;
            const eqp_problem problem = make_world(comm, &w);
            eqp_balancer_options options;
            eqp_advice advice;
            eqp_step step;

            CHECK_EQUAL(eqp_balancer_options_init(&options, sizeof options), EQP_OK);
            CHECK_EQUAL(eqp_policy_options_parse(renewal[k], &options.policy), EQP_OK);
            if (eqp_choice_parse(NULL, NULL, eqp_method_at(m)->name, &options.method, NULL) != EQP_OK ||
                eqp_balancer_create(comm, &problem, &options, &w.balancer, NULL) != EQP_OK) {
                continue;
            }
            for (int s = 0; s < 5; s++) {
                const int code = s == 3 ? eqp_balancer_renew(w.balancer, 5, &advice, NULL)
                                        : eqp_balancer_advise(w.balancer, 5 - s, &advice, NULL);
                if (code != EQP_OK) { /* its map needs a trace */
                    CHECK(s == 0);
                    break;
                }
                move(comm, &w, &advice);
                record(&w, &step);
                w.heavier += 1.0;
            }
            eqp_balancer_free(w.balancer);
        }
    }
}

/* With the whole state as it was where anything fails: the old map, and the same code on all ranks. */
static int without_memory(MPI_Comm comm, void *user)
{
    const eqp_problem problem = make_world(comm, &(world){.n = 0});
    eqp_problem own = problem;
    const eqp_balancer_options options = options_of(user);
    world w;
    eqp_advice advice;
    eqp_step step = {.step = 0};
    int64_t count[1] = {0};
    eqp_rank_row row = {.load = 0};
    int code;

    (void)make_world(comm, &w);
    own.user = &w;
    failing_ranks_begin();
    code = eqp_balancer_create(comm, &own, &options, &w.balancer, NULL);
    for (int s = 0; s < 2 && code == EQP_OK; s++) {
        const eqp_map *before = eqp_balancer_map(w.balancer);
        const int64_t shared = eqp_map_shared(before);
        code = eqp_balancer_renew(w.balancer, 10, &advice, NULL);
        CHECK(code == EQP_OK ||
              (!advice.changed && eqp_balancer_map(w.balancer) == before && eqp_map_shared(before) == shared));
        count[0] = s == 0 ? w.n * 1000 : 7;
        row.load = 1e-6 * (double)count[0];
        code = code == EQP_OK ? eqp_balancer_record(w.balancer, &(eqp_work){.row = &row, .count = count}, &step) : code;
    }
    failing_ranks_end();
    eqp_balancer_free(w.balancer);
    return code;
}

static void a_balancer_fails_on_all_ranks_or_on_none(MPI_Comm comm)
{
    char sfc[] = "sfc", interaction[] = "interaction";

    if (failing_malloc_only_ours() && mpi_test_size(comm) <= 2) { /* more ranks fail at the same places */
        CHECK(failing_ranks_check(comm, without_memory, sfc) > mpi_test_size(comm));
        CHECK(failing_ranks_check(comm, without_memory, interaction) > mpi_test_size(comm));
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(a_run_is_kept_even),
        MPI_TEST(repairs_move_few_owners),
        MPI_TEST(work_hidden_by_messages_is_left_alone),
        MPI_TEST(measured_loads_calibrate_weights),
        MPI_TEST(steps_are_even_not_loads),
        MPI_TEST(overheads_are_a_reason_for_a_map),
        MPI_TEST(maps_cost_their_time),
        MPI_TEST(every_action_has_a_reason),
        MPI_TEST(state_survives_in_bytes),
        MPI_TEST(the_first_map_needs_no_knowledge),
        MPI_TEST(a_step_is_made_of_the_rows_of_all_ranks),
        MPI_TEST(a_balancer_fails_on_all_ranks_or_on_none),
    };
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
