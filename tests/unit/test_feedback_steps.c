/* SPDX-License-Identifier: BSD-3-Clause */
/* The maps of a run with --balance feedback, on simulated ranks whose cuts follow the object's requests. */

#include "methods/feedback/feedback.h"
#include "run/run.h"
#include "unit.h"

#define RANKS 4
#define ITEMS 4000

/* A simulated run: cuts of a line of items, the cost of each item, and the number of maps. */
typedef struct world {
    eqp_feedback_steps *feedback;
    double (*cost)(int step, int64_t item);
    int64_t bound[RANKS + 1];
    eqp_rank_row row[RANKS];
    int step, maps;
    double imbalance;
} world;

static const eqp_policy_options automatic = {sizeof(eqp_policy_options), EQP_POLICY_AUTO, 1, 0.02, 3, INFINITY, 1e-4};

static world begin(const eqp_policy_options *policy, double (*cost)(int step, int64_t item))
{
    world w = {.cost = cost};

    assert_ok(eqp__feedback_steps_create(
        &(eqp_balancer_options){.method.method = eqp_method_find("feedback"), .policy = *policy}, RANKS, &w.feedback));
    eqp__feedback_start(ITEMS, RANKS, w.bound);
    return w;
}

static void end(world *w)
{
    eqp__feedback_steps_free(w->feedback);
}

#define WORLD FREED_BY(end) world

static void measure(world *w, bool rebalanced)
{
    double total = 0.0, most = 0.0;

    for (int r = 0; r < RANKS; r++) {
        w->row[r] = (eqp_rank_row){.particles = (double)(w->bound[r + 1] - w->bound[r])};
        for (int64_t i = w->bound[r]; i < w->bound[r + 1]; i++) {
            w->row[r].load += w->cost(w->step, i);
        }
        total += w->row[r].load;
        most = fmax(most, w->row[r].load);
    }
    w->imbalance = most * RANKS / total - 1.0;
    w->maps += rebalanced;
    assert_ok(eqp__feedback_steps_record(w->feedback, w->row, rebalanced));
}

/* Makes the requested map: a step by the loads, or parts of given sizes. Returns the method's name. */
static const char *make_map(world *w)
{
    eqp_map_options options = {.method = eqp_method_find("feedback")};
    int64_t load[RANKS], next[RANKS + 1] = {0};
    double before = 0.0;

    eqp__feedback_steps_prepare(w->feedback, &options);
    assert_int_equal(options.method->flags, 0); /* no weights needed */
    for (int r = 0; r < RANKS; r++) {
        load[r] = (int64_t)(1e6 * w->row[r].load);
        before += eqp_part_speed(options.speeds, r);
        next[r + 1] = (int64_t)llround(before * ITEMS / RANKS);
    }
    if (strcmp(options.method->name, "feedback") == 0) {
        assert_int_equal(options.speeds.n, 0);
        eqp__feedback_step(RANKS, w->bound, load, next);
    }
    memcpy(w->bound, next, sizeof next);
    return options.method->name;
}

/* One step of the run: a map if wanted, then the measurement. Returns the imbalance. */
static double step(world *w)
{
    const bool wants = eqp__feedback_steps_wants(w->feedback);

    if (wants) {
        (void)make_map(w);
    }
    w->step++;
    measure(w, wants);
    return w->imbalance;
}

static double smooth(int at, int64_t item)
{
    (void)at;
    return 1.0 + (double)item / ITEMS;
}

/* A wave over few ranks, for which the rule's guess of even loads inside a rank is wrong. */
static double wave(int at, int64_t item)
{
    (void)at;
    return 1.0 + 0.99 * sin(6.283185307179586 * (double)item / (ITEMS / 5.5));
}

/* Work that is elsewhere in each step, so that the last step does not predict it. */
static double jumping(int at, int64_t item)
{
    return item * 4 / ITEMS == at % 4 ? 4.0 : 1.0;
}

TEST(steps_go_on_until_the_imbalance_is_good_enough)
{
    WORLD w = begin(&automatic, smooth);

    measure(&w, true); /* equal counts */
    assert_true(w.imbalance > 0.2 && eqp__feedback_steps_wants(w.feedback));
    for (int s = 0; s < 10; s++) {
        (void)step(&w);
    }
    assert_true(w.imbalance <= 0.02 && w.maps >= 2 && w.maps <= 5);
    assert_false(eqp__feedback_steps_wants(w.feedback));
    /* A later request of the policy starts a new sequence of steps. */
    assert_string_equal(make_map(&w), "feedback");
    w.cost = wave;
    measure(&w, true);
    assert_true(eqp__feedback_steps_wants(w.feedback));
}

TEST(oscillation_returns_to_the_best_step)
{
    WORLD w = begin(&automatic, wave), other = begin(&automatic, jumping);
    bool returned = false;

    measure(&w, true);
    double least = w.imbalance;
    for (int s = 0; s < 60; s++) {
        least = fmin(least, step(&w));
    }
    assert_false(eqp__feedback_steps_wants(w.feedback));
    assert_true(w.imbalance < least * 1.05 + 0.005); /* items are whole */

    measure(&other, true);
    for (int s = 0; s < 60 && eqp__feedback_steps_wants(other.feedback); s++) {
        returned = strcmp(make_map(&other), "count") == 0;
        other.step++;
        measure(&other, true);
    }
    assert_true(returned); /* the last map of all */
    assert_false(eqp__feedback_steps_wants(other.feedback));
}

/* Restarted after every step from its bytes, a run goes on alike. */
TEST(a_run_goes_on_from_its_bytes)
{
    WORLD w = begin(&automatic, jumping);

    measure(&w, true);
    for (int s = 0; s < 60; s++) {
        WORLD next = begin(&automatic, jumping);
        eqp_feedback_steps *const fresh = next.feedback;
        unsigned char bytes[RANKS * sizeof(double)];
        eqp__kept_feedback kept;
        eqp__feedback_steps_pass(w.feedback, RANKS, &kept, &(eqp__cursor){bytes, false});
        assert_true(eqp__feedback_steps_can_be(&kept));
        eqp__feedback_steps_pass(fresh, RANKS, &kept, &(eqp__cursor){bytes, true});
        next = w;
        next.feedback = fresh;
        assert_true(step(&next) == step(&w) && next.maps == w.maps);
    }
}

TEST(other_policies_decide_their_own_steps)
{
    const eqp_policy_options every = {sizeof(eqp_policy_options), EQP_POLICY_EVERY, 2, 0.02, 3, INFINITY, 1e-4};
    WORLD w = begin(&every, smooth);

    for (int s = 0; s < 5; s++) {
        measure(&w, true);
        assert_false(eqp__feedback_steps_wants(w.feedback));
        assert_string_equal(make_map(&w), "feedback");
    }
    measure(&w, true);
    assert_true(w.imbalance < 0.01);
}

TEST(other_methods_have_no_feedback)
{
    eqp_feedback_steps *none = NULL;
    eqp_map_options options = {.method = eqp_method_find("sfc")};

    assert_ok(eqp__feedback_steps_create(&(eqp_balancer_options){.method.method = options.method, .policy = automatic},
                                         RANKS, &none));
    assert_null(none);
    assert_ok(eqp__feedback_steps_create(
        &(eqp_balancer_options){.method.method = eqp_method_find("feedback"), .policy = automatic, .handed_out = true},
        RANKS, &none));
    assert_null(none);
    assert_false(eqp__feedback_steps_wants(none));
    assert_ok(eqp__feedback_steps_record(none, NULL, true));
    eqp__feedback_steps_prepare(none, &options);
    assert_ptr_equal(options.method, eqp_method_find("sfc"));
    eqp__feedback_steps_free(none);
}

static double nothing(int at, int64_t item)
{
    return 0.0 * (double)(at + item);
}

TEST(invalid_loads_end_feedback)
{
    WORLD w = begin(&automatic, nothing);

    w.row[1].load = NAN;
    assert_int_equal(eqp__feedback_steps_record(w.feedback, w.row, true), EQP_ERR_DATA);
    w.row[1].load = 0.0;
    assert_ok(eqp__feedback_steps_record(w.feedback, w.row, true));
    assert_false(eqp__feedback_steps_wants(w.feedback));
}
