/* SPDX-License-Identifier: BSD-3-Clause */

#include "failing_malloc.h"
#include "loops/rules.h"
#include "schedule_world.h"
#include "slow.h"

FREES(eqp_schedule, eqp_schedule_free)

/* costs [n] of 1. */
static void make_equal(int n, double *cost)
{
    for (int i = 0; i < n; i++) {
        cost[i] = 1;
    }
}

/* Time is spent in iterations only. */
static eqp_schedule_machine free_machine(void)
{
    eqp_schedule_machine machine = EQP_SCHEDULE_MACHINE_DEFAULTS;

    machine.overhead = machine.latency = 0;
    return machine;
}

static eqp_schedule_outcome simulate(const char *name, int64_t n, int nranks, const double *cost,
                                     const eqp_schedule_options *options, const eqp_schedule_machine *machine)
{
    eqp_schedule *schedule = schedule_of(name, n, nranks, options);
    eqp_schedule_outcome outcome;

    assert_ok(eqp_schedule_simulate(schedule, cost, machine, &outcome));
    assert_int_equal(schedule->left, 0);
    eqp_schedule_free(schedule);
    return outcome;
}

static void note(void *user, const eqp_schedule_event *event)
{
    if (event->kind == EQP_SCHEDULE_DONE) {
        seen_add(user, event->chunk);
    }
}

/* All methods, 1 to 64 ranks, uneven costs and speeds, chunks given away, with a counter and with a master. */
TEST(every_iteration_once)
{
    static const int ranks[] = {1, 2, 5, 16, 64};
    uint64_t seed = 0;

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int k = 0; k < COUNT_OF(ranks); k++) {
            const int p = ranks[k];
            const int64_t sizes[] = {0, 1, p - 1, p,
                                     (700 + (int64_t)eqp_random_below(3, ++seed, 0, 700)) / (slow_here() ? 5 : 1)};
            double speed[64];
            for (int r = 0; r < p; r++) {
                speed[r] = 0.1 + eqp_random_uniform(seed, 1, (uint64_t)r);
            }
            for (int i = 0; i < 20; i++) {
                const int64_t n = sizes[i / 4];
                double *cost = costs_of(n, ++seed);
                seen s = seen_create(n);
                const eqp_schedule_machine machine = {speed, 1e-3, 1e-3, i % 2 == 1, note, &s, i / 2 % 2 == 1};
                const eqp_schedule_outcome o = simulate(eqp_schedule_method_at(m)->name, n, p, cost, NULL, &machine);
                assert_true(i % 2 == 1 || o.given == 0);
                assert_true(o.chunks <= n && (o.chunks > 0) == (n > 0) && (o.makespan > 0) == (n > 0));
                free(cost);
                seen_end(&s);
            }
        }
    }
}

/* The first idle rank, by linear search. */
static double list_makespan(int64_t n, int nranks, const double *cost)
{
    double end[64] = {0}, last = 0;

    for (int64_t i = 0; i < n; i++) {
        int first = 0;
        for (int r = 1; r < nranks; r++) {
            first = end[r] < end[first] ? r : first;
        }
        end[first] += cost[i];
        last = fmax(last, end[first]);
    }
    return last;
}

TEST(self_scheduling_is_list_scheduling)
{
    const eqp_schedule_machine machine = free_machine();

    for (int p = 1; p <= 64; p = 2 * p + 1) {
        HEAP double *cost = costs_of(1000, (uint64_t)p);
        const double expected = list_makespan(1000, p, cost);
        const eqp_schedule_outcome o = simulate("self", 1000, p, cost, NULL, &machine);
        assert_true(fabs(o.makespan - expected) < 1e-9 * expected);
        assert_int_equal(o.chunks, 1000);
        assert_true(o.cost == p * o.makespan);
    }
}

/* Sums of blocks, and section 4.4 of the thesis, by hand. */
TEST(static_chunks_are_blocks)
{
    static const double cost[] = {1, 2, 3, 4, 5, 6, 7};
    const eqp_schedule_machine machine = free_machine();
    const eqp_schedule_outcome o = simulate("static", 7, 3, cost, NULL, &machine);

    assert_int_equal(o.chunks, 3);
    assert_true(o.makespan == 13 && o.cost == 39);
    assert_true(fabs(o.mean - 28.0 / 3) < 1e-12);
    /* 6, 9, 13: deviations -10/3, -1/3, 11/3. */
    assert_true(fabs(o.cov - sqrt((100 + 1 + 121) / 9.0 / 2) / (28.0 / 3)) < 1e-12);
}

/* Two messages and the assignment; the second rank waits until the counter is free. */
TEST(handing_out_takes_time)
{
    static const double cost[] = {10, 10};
    eqp_schedule_machine machine = free_machine();

    machine.overhead = 1;
    machine.latency = 0.25;
    eqp_schedule_outcome o = simulate("self", 2, 2, cost, NULL, &machine);
    assert_true(fabs(o.makespan - 12.5) < 1e-12);
    o = simulate("self", 2, 1, cost, NULL, &machine);
    assert_true(fabs(o.makespan - 23) < 1e-12);
}

/* Lower bounds for every method: the mean, and the most expensive iteration. */
TEST(makespan_is_within_its_bounds)
{
    const eqp_schedule_machine machine = free_machine();
    double *cost = costs_of(3000, 42), sum = 0, most = 0;

    for (int i = 0; i < 3000; i++) {
        sum += cost[i];
        most = fmax(most, cost[i]);
    }
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        const char *name = eqp_schedule_method_at(m)->name;
        const eqp_schedule_outcome o = simulate(name, 3000, 16, cost, NULL, &machine);
        assert_true(o.makespan >= fmax(sum / 16, most) * (1 - 1e-12) && o.makespan <= sum);
        assert_true(strcmp(name, "self") != 0 || o.makespan <= sum / 16 + most);
    }
    free(cost);
}

/* One chunk of static scheduling holds all the work; it is given away until no rank has two iterations left. */
TEST(overrun_chunks_are_given_away)
{
    eqp_schedule_machine machine = free_machine();
    double cost[800];

    for (int i = 0; i < 800; i++) {
        cost[i] = i >= 200 && i < 400 ? 1 : 0;
    }
    assert_true(simulate("static", 800, 4, cost, NULL, &machine).makespan == 200);
    machine.yield = true;
    eqp_schedule_outcome o = simulate("static", 800, 4, cost, NULL, &machine);
    assert_true(o.makespan >= 50 && o.makespan <= 53 && o.given >= 3);
    assert_int_equal(o.chunks, 4 + o.given);
}

/* Starts of the chunks of four ranks in a loop of 800. */
typedef struct beginnings {
    int n;
    eqp_schedule_chunk chunk[16];
} beginnings;

static void note_beginning(void *user, const eqp_schedule_event *event)
{
    beginnings *b = user;

    if (event->kind == EQP_SCHEDULE_HANDED && b->n < 16) {
        b->chunk[b->n++] = event->chunk;
    }
}

/* Sections 3.6 and 3.7: chunks have the size of the rule, first from the rank's own part, then from the end of the
 * fullest part; by hand, with a slow last rank. */
TEST(a_master_hands_out_parts)
{
    static const int64_t guided[] = {200, 150, 113, 85};
    static const double speed[] = {1, 1, 1, 0.1}, few[] = {4, 4, 1, 1};
    eqp_schedule_machine machine = free_machine();
    beginnings b = {0};
    double cost[800];

    make_equal(800, cost);
    machine.master = true;
    machine.speed = speed;
    machine.event = note_beginning;
    machine.user = &b;
    (void)simulate("guided", 800, 4, cost, NULL, &machine);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(b.chunk[r].first, 200 * r);
        assert_int_equal(b.chunk[r].count, guided[r]);
    }
    /* 252 are left: rank 3 has begun 85. Rank 2 is back first and has 87 of its own, of which it gets 63. */
    assert_true(b.chunk[4].first == 513 && b.chunk[4].count == 63);
    /* Rank 1 gets 48 of its 50 at 150; then at 176 rank 2 gets its last 24, though 36 were proposed; at 198 rank 1 has
     * 2 left; at 200 rank 0 has none and takes 115 / 4 from the end of the part of rank 3. */
    assert_true(b.chunk[5].first == 350 && b.chunk[5].count == 48);
    assert_true(b.chunk[6].first == 576 && b.chunk[6].count == 24);
    assert_true(b.chunk[7].first == 398 && b.chunk[7].count == 2);
    assert_true(b.chunk[8].first == 771 && b.chunk[8].count == 29);

    machine = free_machine();
    assert_true(simulate("self", 4, 2, few, NULL, &machine).makespan == 5);
    machine.master = true;
    assert_true(simulate("self", 4, 2, few, NULL, &machine).makespan == 6);
    assert_true(simulate("static", 4, 2, few, NULL, &machine).makespan == 8);
}

/* The weights of a first time step make the second one better; speeds 1 and 3, so 400 / 4 is the best. */
TEST(adaptive_weights_learn_from_time_steps)
{
    static const double speed[] = {1, 3, 1, 3};
    eqp_schedule_machine machine = free_machine();
    FREED(eqp_schedule) *schedule = schedule_of("adaptive-weighted-factoring", 800, 4, NULL);
    eqp_schedule_outcome first, second;
    double cost[800];

    make_equal(800, cost);
    machine.speed = speed;
    machine.latency = 1;
    assert_ok(eqp_schedule_simulate(schedule, cost, &machine, &first));
    eqp__schedule_restart(schedule, 800);
    assert_true(fabs(eqp__schedule_weight(schedule, 0) - 0.5) < 1e-9);
    assert_true(fabs(eqp__schedule_weight(schedule, 1) - 1.5) < 1e-9);
    assert_ok(eqp_schedule_simulate(schedule, cost, &machine, &second));
    assert_true(second.makespan < first.makespan);
}

TEST(bad_worlds_are_refused)
{
    const double bad[] = {-1.0, NAN, INFINITY};
    double cost[3] = {1, 1, 1};
    eqp_schedule *schedule = schedule_of("self", 3, 2, NULL);
    eqp_schedule_outcome o = {.chunks = -7};

#define REFUSED(code, c, m)                                                                                            \
    do {                                                                                                               \
        assert_int_equal(eqp_schedule_simulate(schedule, c, m, &o), code);                                             \
        assert_int_equal(o.chunks, -7);                                                                                \
        assert_int_equal(schedule->left, 3);                                                                           \
    } while (0)
    for (int i = 0; i < 3; i++) {
        const double one[2] = {1, bad[i]};
        eqp_schedule_machine wrong[] = {free_machine(), free_machine(), free_machine()};
        wrong[0].overhead = wrong[1].latency = bad[i];
        wrong[2].speed = one;
        for (int k = 0; k < 3; k++) {
            REFUSED(EQP_ERR_ARGUMENT, cost, &wrong[k]);
        }
        cost[2] = bad[i];
        REFUSED(EQP_ERR_DATA, cost, NULL);
        cost[2] = 1;
    }
    REFUSED(EQP_ERR_ARGUMENT, NULL, NULL);
    cost[0] = cost[1] = 1.7e308;
    REFUSED(EQP_ERR_DATA, cost, NULL);
    cost[0] = cost[1] = 1;
    assert_ok(eqp_schedule_simulate(schedule, cost, NULL, &o));
    assert_int_equal(o.chunks, 3);
    assert_int_equal(eqp_schedule_simulate(schedule, cost, NULL, &o), EQP_ERR_STATE);
    eqp_schedule_free(schedule);
}

/* Extreme costs are not learned from, and no iteration is lost. */
TEST(absurd_costs_lose_nothing)
{
    static const double costs[] = {0, 5e-324, 1e-200, 1e200, 1e300};

    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        for (int k = 0; k < 5; k++) {
            double cost[200];
            seen s = seen_create(200);
            eqp_schedule_machine machine = free_machine();
            for (int i = 0; i < 200; i++) {
                cost[i] = costs[k];
            }
            machine.event = note;
            machine.user = &s;
            assert_true(isfinite(simulate(eqp_schedule_method_at(m)->name, 200, 7, cost, NULL, &machine).makespan));
            seen_end(&s);
        }
    }
}

TEST(many_iterations_on_many_ranks)
{
    const int64_t n = slow_here() ? 20000 : 1000000;
    HEAP double *cost = costs_of(n, 77);
    const eqp_schedule_outcome a = simulate("self", n, 1024, cost, NULL, NULL);
    const eqp_schedule_outcome b = simulate("self", n, 1024, cost, NULL, NULL);

    assert_int_equal(a.chunks, n);
    assert_true(a.makespan == b.makespan && a.cov == b.cov && a.mean == b.mean);
}

TEST(creating_survives_no_memory)
{
    SKIP_IF(!failing_malloc_works);
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        FREED(eqp_schedule) *schedule = NULL;
        int64_t k = 0;
        int code;
        for (; FAILING_MALLOC(k, code = eqp_schedule_create(eqp_schedule_method_at(m), 100, 5, NULL, &schedule)); k++) {
            assert_int_equal(code, EQP_ERR_MEMORY);
            assert_null(schedule);
        }
        assert_ok(code);
        assert_true(k >= 5);
    }
}

TEST(simulating_survives_no_memory)
{
    eqp_schedule_machine machine = EQP_SCHEDULE_MACHINE_DEFAULTS;
    HEAP double *cost = costs_of(100, 1);

    SKIP_IF(!failing_malloc_works);
    for (int m = 0; m < eqp_schedule_method_count(); m++) {
        FREED(eqp_schedule) *schedule = schedule_of(eqp_schedule_method_at(m)->name, 100, 5, NULL);
        machine.master = m % 2 == 1;
        eqp_schedule_outcome outcome = {.chunks = -7};
        int code;
        for (int64_t k = 0; FAILING_MALLOC(k, code = eqp_schedule_simulate(schedule, cost, &machine, &outcome)); k++) {
            assert_int_equal(code, EQP_ERR_MEMORY);
            assert_int_equal(outcome.chunks, -7);
            assert_int_equal(schedule->left, 100);
        }
        assert_ok(code);
        assert_int_equal(schedule->left, 0);
    }
}
