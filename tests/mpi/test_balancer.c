/* SPDX-License-Identifier: BSD-3-Clause */
/* The balancer as an embedding code uses it: owners on a line, whose work is known here. */
#include "fake_clock.h"
#include "harness.h"

#include "balancer_world.h"

#define FAILING_RANKS_MOST 2
#include "failing_ranks.h"

enum { OWNERS = 60 };

/* Owners of all ranks by place on the line; some ranks start without any. */
typedef struct world {
    int rank, size;
    int64_t n;
    int64_t owner[OWNERS]; /* [n] owners at home */
    int64_t tag[OWNERS];   /* [n] */
    double heavier;        /* factor on the counted work in the first third of the line */
    double slower;         /* factor on the measured seconds in the first third of the line */
    double sent;           /* bytes that the last rank sends per step */
    eqp_balancer *balancer;
} world;

/* At first the last owners have most work. */
static int64_t work_of(const world *w, int64_t owner)
{
    const double times = owner < OWNERS / 3 ? 1.0 + w->heavier : 1.0;

    return (int64_t)(times * (double)(100 + 10 * owner));
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;

    for (int64_t i = 0; i < w->n; i++) {
        eqp_owner owner = owner_at(w->rank, i, w->owner[i], kind == EQP_SURVEY_WORK ? work_of(w, w->owner[i]) : 0);
        owner.tag = w->tag[i];
        EQP_CHECK(eqp_survey_add_owner(list, &owner));
    }
    return EQP_OK;
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

static void create(MPI_Comm comm, const eqp_balancer_options *options, world *w)
{
    const eqp_problem problem = make_world(comm, w);

    w->balancer = balancer_of(comm, &problem, options);
}

/* Sends owners as advised. Returns how many change rank. */
static int move(MPI_Comm comm, world *w, const eqp_advice *advice)
{
    int64_t here[3 * OWNERS] = {0}, all[3 * OWNERS];
    int moved = 0;

    for (int64_t i = 0; i < w->n && advice->changed; i++) {
        const eqp_placement *p = &advice->placement[i];
        CHECK(p->tag == p->home || p->tag < 0);
        here[w->owner[i]] = 1 + p->home;
        here[OWNERS + w->owner[i]] = p->tag;
        here[2 * OWNERS + w->owner[i]] = 1 + w->rank;
    }
    MPI_Allreduce(here, all, 3 * OWNERS, MPI_INT64_T, MPI_SUM, comm);
    w->n = advice->changed ? 0 : w->n;
    for (int64_t o = 0; o < OWNERS && advice->changed; o++) {
        CHECK(all[o] >= 1 && all[o] <= w->size);
        moved += all[o] != all[2 * OWNERS + o];
        if (all[o] - 1 == w->rank) {
            w->owner[w->n] = o;
            w->tag[w->n++] = all[OWNERS + o];
        }
    }
    return moved;
}

/* Work and measurements of a step; a unit of work takes a microsecond. */
static eqp_rank_row row_of(const world *w, int64_t count[1])
{
    eqp_rank_row row = {
        .particles = (double)w->n, .bytes_sent = w->rank == w->size - 1 ? w->sent : 0.0, .balance_seconds = 1e-3};

    count[0] = 0;
    for (int64_t i = 0; i < w->n; i++) {
        const double times = w->owner[i] < OWNERS / 3 ? 1.0 + w->slower : 1.0;
        count[0] += work_of(w, w->owner[i]);
        row.load += 1e-6 * times * (double)work_of(w, w->owner[i]);
    }
    return row;
}

static void record(world *w, eqp_step *step)
{
    int64_t count[1];
    eqp_rank_row row = row_of(w, count);

    CHECK_EQUAL(eqp_balancer_record(w->balancer, &(eqp_work){.row = &row, .count = count}, step), EQP_OK);
    CHECK(step == NULL || step->action == EQP_KEEP || step->why[0] != '\0');
}

MPI_TEST(a_run_is_kept_even)
{
    const eqp_balancer_options sfc = options_of("sfc");
    world w;
    eqp_advice advice;
    eqp_step step = {.step = 3};
    int maps = 0;

    create(comm, &sfc, &w);
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
    CHECK_EQUAL(maps, 1); /* nothing changes after the first map */
    CHECK(step.imbalance_measured < 0.12 && fabs(step.imbalance_measured - step.imbalance_promised) < 1e-9);
    CHECK(eqp_balancer_knows_costs(w.balancer));
    CHECK_NEAR(eqp_balancer_costs(w.balancer)->cost[0], 1e-6, 1e-12);
    CHECK(eqp_balancer_speeds(w.balancer) == NULL && eqp_map_shared(eqp_balancer_map(w.balancer)) == 0);
    eqp_balancer_free(w.balancer);
}

typedef struct story {
    int steps;
    bool calibrate, ghosts, tells; /* ghosts: the first rank has many; tells: busy times from step 1 on */
    bool by_clock;                 /* a map costs what the library measures, unless `map` */
    double slower, sent;           /* as in world */
    double grows, jumps;           /* growth of `heavier` per step; jump in the second step */
    double map;                    /* reported as balance_seconds of steps with a new map, unless 0 */
    double repair_tol;             /* policy REPAIR, unless 0 */
} story;

typedef struct tally {
    int maps, repairs; /* after the first step */
    bool said;         /* a message said that work is not as predicted */
    double calibration, busy_most, uneven, regret;
    eqp_step last;
} tally;

/* Repairs move few owners and hold the tolerance. */
static void check_repair(const eqp_advice *advice, int moved, int s, double tol, const eqp_step *step)
{
    CHECK(advice->action == EQP_KEEP || advice->changed);
    CHECK(advice->action != EQP_REPAIR || (moved >= 1 && moved <= OWNERS / 4));
    CHECK((strstr(step->why, "owners move") != NULL) == (advice->action == EQP_REPAIR));
    CHECK(s == 0 || advice->action == EQP_KEEP || step->imbalance_predicted <= tol + 1e-9);
}

static tally tell(MPI_Comm comm, story is)
{
    world w;
    eqp_balancer_options options = options_of("sfc");
    eqp_advice advice;
    eqp_regret regret;
    tally t = {.last = {.step = 0}};
    double busy = 0, sum = 0;

    options.calibrate = is.calibrate;
    if (is.repair_tol > 0) {
        options.imbalance_tol = options.policy.imbalance_tol = is.repair_tol;
        options.policy.mode = EQP_POLICY_REPAIR;
    }
    create(comm, &options, &w);
    w.slower = is.slower;
    w.sent = is.sent;
    for (int s = 0; s < is.steps; s++) {
        int64_t count[1];
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, is.steps - s, &advice, NULL), EQP_OK);
        t.maps += s > 0 && advice.action == EQP_RENEW;
        t.repairs += s > 0 && advice.action == EQP_REPAIR;
        const int moved = move(comm, &w, &advice);
        eqp_rank_row row = row_of(&w, count);
        if (is.ghosts) {
            row.ghosts = w.rank == 0 ? 500 + s % 3 : 100 + 7 * (s % 5);
            row.bytes_sent = 1000 * (s % 4);
            row.balance_seconds = 1e-4;
        }
        busy = row.load + 4e-6 * row.ghosts + 2e-6 * row.particles;
        row.busy_seconds = is.tells && s > 0 ? busy : 0; /* the first forces are only a part of a step */
        if (is.map > 0 || is.by_clock) {
            row.balance_seconds = advice.changed ? is.map : 0;
        }
        CHECK_EQUAL(eqp_balancer_record(w.balancer, &(eqp_work){.row = &row, .count = count}, &t.last), EQP_OK);
        CHECK(!is.by_clock || (row.balance_seconds > 0) == (advice.action != EQP_KEEP));
        if (is.repair_tol > 0) {
            check_repair(&advice, moved, s, is.repair_tol, &t.last);
        }
        t.calibration = fmax(t.calibration, t.last.calibration);
        t.said = t.said || strstr(t.last.why, "not as predicted") != NULL;
        w.heavier = is.jumps > 0 ? is.jumps : w.heavier + is.grows;
    }
    MPI_Allreduce(&busy, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(&busy, &t.busy_most, 1, MPI_DOUBLE, MPI_MAX, comm);
    t.uneven = t.busy_most * w.size / sum - 1;
    CHECK_EQUAL(eqp_balancer_regret(w.balancer, &regret, NULL, NULL), EQP_OK);
    t.regret = regret.regret;
    eqp_balancer_free(w.balancer);
    return t;
}

/* Work grows on the first third of the line. Repairs keep up with it, so no new map is made. */
MPI_TEST(repairs_move_few_owners)
{
    const tally t = tell(comm, (story){.steps = 40, .calibrate = true, .repair_tol = 0.15, .grows = 0.2});

    CHECK(t.maps == 0 && (mpi_test_size(comm) == 1 ? t.repairs == 0 : t.repairs >= 2));
}

/* After the first map, work in the first third grows by two fifths. The last rank's 0.1 s of messages, none in that
 * third, exceed all work, so a new division would not shorten the step. */
MPI_TEST(work_hidden_by_messages_is_left_alone)
{
    for (int hidden = 0; hidden < 2; hidden++) {
        const tally t = tell(comm, (story){.steps = 40, .sent = hidden ? 1e8 : 0, .jumps = 0.4});
        CHECK((t.maps + t.repairs > 0) == (!hidden && mpi_test_size(comm) > 1));
    }
}

/* Work that takes longer than its counts predict is reported and divided by measured times. */
MPI_TEST(measured_loads_calibrate_weights)
{
    const int size = mpi_test_size(comm);

    for (int on = 0; on < 2; on++) {
        const tally t = tell(comm, (story){.steps = 40, .calibrate = on == 1, .slower = 2});
        CHECK(t.said == (on == 1 && size > 1) && (t.calibration > 0.1) == t.said);
        CHECK(size == 1 || size > 4 || (t.last.imbalance_measured < 0.15) == (on == 1));
    }
}

/* The overhead of a step is learned from the ranks' busy times. Then step times are predicted and maps even out steps
 * instead of loads. */
MPI_TEST(steps_are_even_not_loads)
{
    const int size = mpi_test_size(comm);

    for (int knows = 0; knows < 2; knows++) {
        const tally t = tell(comm, (story){.steps = 40, .calibrate = true, .ghosts = true, .tells = knows == 1});
        CHECK(knows ? t.last.step_measured == t.busy_most : t.last.step_predicted == 0 && t.last.step_measured == 0);
        CHECK(!knows || fabs(t.last.step_predicted / t.busy_most - 1) < 0.01);
        CHECK(size == 1 || size > 4 || (t.uneven < 0.04) == (knows == 1));
    }
}

/* The first map considers work only. Once overheads are known a second one follows if it pays. */
MPI_TEST(overheads_are_a_reason_for_a_map)
{
    const int size = mpi_test_size(comm);

    for (int dear = 0; dear < 2; dear++) {
        const tally t = tell(comm, (story){.steps = 60, .ghosts = true, .tells = true, .map = dear ? 10 : 1e-4});
        CHECK(dear ? t.maps == 0 : size == 1 || size > 4 || t.maps >= 1);
        CHECK(size == 1 || size > 4 || (dear ? t.uneven > 0.05 : t.uneven < 0.04));
        CHECK(t.maps > 0 || t.regret < 0.01); /* with one map all steps are alike after the first forces */
    }
}

/* A restored run continues like one that never stopped. */
MPI_TEST(state_survives_in_bytes)
{
    const eqp_balancer_options interaction = options_of("interaction");
    world w, again;
    eqp_advice advice;
    eqp_step step = {.step = 0}, after = {.step = 0};
    void *bytes = NULL;
    size_t size = 0;

    create(comm, &interaction, &w);
    for (int s = 0; s < 3; s++) {
        CHECK_EQUAL(eqp_balancer_advise(w.balancer, 10, &advice, NULL), EQP_OK);
        move(comm, &w, &advice);
        record(&w, &step);
    }
    CHECK_EQUAL(eqp_balancer_pack(w.balancer, &size, &bytes), EQP_OK);
    create(comm, &interaction, &again);
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
    free(bytes);
    eqp_balancer_free(w.balancer);
    eqp_balancer_free(again.balancer);
}

MPI_TEST(the_first_map_needs_no_knowledge)
{
    const eqp_balancer_options sfc = options_of("sfc");
    world w;
    eqp_advice advice;

    create(comm, &sfc, &w);
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

MPI_TEST(a_step_is_made_of_the_rows_of_all_ranks)
{
    const eqp_memory memory = {.fixed = 100, .ghost = 10};
    eqp_balancer_options sfc = options_of("sfc");
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    wide_row mine = {.common = {.load = 1.0 + (rank == size - 1),
                                .interactions = 10,
                                .ghosts = rank,
                                .helped = 3,
                                .bytes_sent = 2,
                                .bytes_moved = 1,
                                .last_messages_sent = rank,
                                .last_messages_received = 7,
                                .last_bytes_sent = 20 + rank,
                                .last_bytes_received = 20,
                                .migrated = 1,
                                .exchange_seconds = rank,
                                .balance_seconds = 5},
                     .own = 100 + rank};
    wide_row *rows = mpi_test_alloc(size, sizeof *rows);
    const int64_t count[1] = {3};
    eqp_work work = {.row = &mine.common, .row_bytes = sizeof mine, .rows = rows, .count = count, .moved = true};
    eqp_step step = {.step = 9, .time = 0.5};
    world w;
    eqp_problem problem = make_world(comm, &w);

    problem.memory = &memory;
    sfc.capacities.of_mean = 4;
    w.balancer = balancer_of(comm, &problem, &sfc);
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
    CHECK(step.bytes_moved == size && step.bytes_total == 20 * size + size * (size - 1) / 2);
    CHECK(step.bytes_max == 19 + size && step.messages_max == (size > 8 ? size - 1 : 7));
    CHECK(step.handed == 3 * size && step.migrated == size);
    CHECK_NEAR(step.memory_use, (90 + 10 * size) / (4 * (95.0 + 5 * size)), 1e-14);
    CHECK(step.exchange_seconds == size - 1 && step.balance_seconds == 5);
    CHECK(step.step == 9 && step.time == 0.5 && step.rebalanced);
    mine.common.load = rank == 0 ? NAN : 1.0;
    CHECK_EQUAL(eqp_balancer_record(w.balancer, &work, NULL), EQP_ERR_DATA);
    eqp_balancer_free(w.balancer);
    free(rows);
}

/* Work drifts for 40 steps; maps take 10 ms by the clock. The caller leaves this cost to the library, passes it, or
 * claims that maps are nearly free. */
MPI_TEST(maps_cost_their_time)
{
    static const double seconds[] = {0.0, 0.01, 1e-9};
    int maps[3];

    fake_clock_tick = 10000000;
    for (int i = 0; i < 3; i++) {
        const tally t = tell(comm, (story){.steps = 40, .by_clock = true, .map = seconds[i], .grows = 0.1});
        maps[i] = 1 + t.maps + t.repairs;
    }
    fake_clock_tick = 0;
    CHECK(maps[0] >= 1 && maps[0] <= maps[1]);
    CHECK(mpi_test_size(comm) == 1 || maps[2] > 3 * maps[1]);
}

MPI_TEST(every_action_has_a_reason)
{
    static const char *const renewal[] = {"auto", "repair", "gain", "2"};

    for (int m = 0; eqp_method_at(m) != NULL && mpi_test_size(comm) <= 4; m++) {
        for (int k = 0; k < 4; k++) {
            world w;
            const eqp_problem problem = make_world(comm, &w);
            eqp_balancer_options options;
            eqp_advice advice;
            eqp_step step = eqp_step_defaults();

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

/* On failure all ranks return the same code and keep the old map and state. */
static int without_memory(MPI_Comm comm, void *user)
{
    const eqp_balancer_options options = options_of(user);
    world w;
    const eqp_problem problem = make_world(comm, &w);
    eqp_advice advice;
    eqp_step step = {.step = 0};
    int64_t count[1] = {0};
    eqp_rank_row row = {.load = 0};
    int code;

    failing_ranks_begin();
    code = eqp_balancer_create(comm, &problem, &options, &w.balancer, NULL);
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

MPI_TEST(a_balancer_fails_on_all_ranks_or_on_none)
{
    char sfc[] = "sfc", interaction[] = "interaction";

    CHECK(failing_ranks_check(comm, without_memory, sfc) > mpi_test_size(comm));
    CHECK(failing_ranks_check(comm, without_memory, interaction) > mpi_test_size(comm));
}
