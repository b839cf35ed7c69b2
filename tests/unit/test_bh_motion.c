/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/random.h>

#include "bh_bodies.h"
#include "defaults.h"
#include "serial.h"
#include "slow.h"
#include "unit.h"

static void tree_forces(bodies *s)
{
    const bh_mac mac = {.theta = BH_DEFAULT_THETA, .G = 1};
    FREED_BY(bh_serial_free) bh_serial serial;

    assert_ok(bh_serial_build(&serial, s->n, s->at[X], s->at[Y], s->at[Z], s->at[M], NULL, BH_DEFAULT_LEAF_SIZE,
                              BH_DEFAULT_GROUP_SIZE));
    assert_ok(bh_serial_force(&serial, NULL, &mac, 1, s->eps, s->at[AX], s->at[AY], s->at[AZ], s->at[POT], NULL));
}

static void step(bodies *s, double dt, void (*forces)(bodies *))
{
    bh_kick(s->n, dt / 2, s->at[AX], s->at[AY], s->at[AZ], s->at[VX], s->at[VY], s->at[VZ]);
    bh_drift(s->n, dt, s->at[VX], s->at[VY], s->at[VZ], s->at[X], s->at[Y], s->at[Z]);
    forces(s);
    bh_kick(s->n, dt / 2, s->at[AX], s->at[AY], s->at[AZ], s->at[VX], s->at[VY], s->at[VZ]);
}

/* Masses 3 and 1 on a relative ellipse with semi-major axis 1, eccentricity 0.5, at apocenter. G = 1, period pi. */
static bodies make_binary(void)
{
    bodies pair = make_bodies(2, 0);
    double apart = 1.5, speed = sqrt(4 * (2 / apart - 1));

    pair.at[M][0] = 3;
    pair.at[M][1] = 1;
    pair.at[X][0] = -0.25 * apart;
    pair.at[X][1] = 0.75 * apart;
    pair.at[VY][0] = -0.25 * speed;
    pair.at[VY][1] = 0.75 * speed;
    direct_forces(&pair);
    return pair;
}

TEST(sums_of_a_binary_are_those_on_paper)
{
    FREED_BY(free_bodies) bodies pair = make_binary();

    for (int i = 0; i < 2; i++) { /* moves the pair and its center of mass */
        pair.at[Y][i] += 10;
        pair.at[VZ][i] += 2;
    }
    bh_sums sums = sums_of(&pair);
    assert_near(sums.mass, 4, 0);
    assert_near(sums.kinetic + sums.potential, -3 / 2.0 + 0.5 * 4 * 4,
                1e-14); /* -m1 m2 / 2a, plus the motion of the center */
    assert_near(sums.potential, -3 / 1.5, 1e-14);
    assert_near(sums.virial, sums.potential, 1e-14);
    assert_near(sums.moment[0], 0, 1e-15);
    assert_near(sums.moment[1], 40, 1e-14);
    assert_near(sums.momentum[1], 0, 1e-15);
    assert_near(sums.momentum[2], 8, 1e-14);
    assert_near(sums.angular[0], 80, 1e-13);
    assert_near(sums.angular[2], 0.75 * sqrt(4 * 0.75), 1e-14); /* reduced mass x sqrt(M a (1 - e^2)) */
}

TEST(sums_do_not_lose_small_terms)
{
    FREED_BY(free_bodies) bodies s = make_bodies(1002, 0);

    for (int64_t i = 0; i < s.n; i++) {
        s.at[M][i] = 1;
        s.at[VX][i] = 1e-3;
    }
    s.at[VX][0] = 1e16;
    s.at[VX][1001] = -1e16;
    assert_near(sums_of(&s).momentum[0], 1, 1e-15);
}

/* Distance of the binary from its initial position after one period of `steps` steps. */
static double error_after_a_period(int steps)
{
    FREED_BY(free_bodies) bodies pair = make_binary();
    double start = pair.at[X][1];

    for (int i = 0; i < steps; i++) {
        step(&pair, 3.14159265358979323846 / steps, direct_forces);
    }
    double error = hypot(pair.at[X][1] - start, pair.at[Y][1]);
    return error;
}

TEST(the_leapfrog_is_of_second_order)
{
    double ratio = error_after_a_period(500) / error_after_a_period(1000);

    assert_true(ratio > 3.8 && ratio < 4.2);
}

TEST(the_leapfrog_runs_backwards_to_where_it_began)
{
    FREED_BY(free_bodies) bodies pair = make_binary(), start = make_binary();

    for (int i = 0; i < 400; i++) {
        step(&pair, i < 200 ? 0.01 : -0.01, direct_forces);
    }
    for (int k = X; k <= VZ; k++) {
        for (int i = 0; i < 2; i++) {
            assert_near(pair.at[k][i], start.at[k][i], 1e-11);
        }
    }
}

static double length(const double a[3], const double b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* Standard N-body units: energy -1/4, crossing time 2 sqrt(2); 200 steps of 1/64 are 1.1 crossing times. Measured with
 * three seeds: |dE/E| at most 4.3e-5, momentum 2.2e-5 and angular momentum 1.5e-5 (the forces of a tree are not exactly
 * opposite), virial ratio 0.978 to 0.984. The limits leave a factor of about 4. */
TEST(a_plummer_sphere_conserves_what_it_should_over_200_steps)
{
    FREED_BY(free_bodies) bodies s = generate("plummer:n=4096,seed=11", 0.05);
    double worst = 0;

    tree_forces(&s);
    const bh_sums first = sums_of(&s);
    bh_sums now = first;
    assert_near(first.kinetic + first.potential, -0.25, 0.01);
    for (int i = 0; i < (slow_here() ? 20 : 200); i++) {
        step(&s, 1.0 / 64, tree_forces);
        now = sums_of(&s);
        double energy = first.kinetic + first.potential;
        worst = fmax(worst, fabs((now.kinetic + now.potential - energy) / energy));
    }
    print_message("dE/E %.2e, momentum %.2e, angular momentum %.2e, virial ratio %.3f\n", worst,
                  length(now.momentum, first.momentum), length(now.angular, first.angular),
                  -2 * now.kinetic / now.virial);
    assert_true(worst < 2e-4);
    assert_true(length(now.momentum, first.momentum) < 1e-4);
    assert_true(length(now.angular, first.angular) < 1e-4);
    assert_near(now.mass, 1, 1e-14);
    assert_near(-2 * now.kinetic / now.virial, 1, 0.05);
}

TEST(a_rung_is_as_deep_as_the_acceleration_asks_for)
{
    const bh_rungs rungs = {.n = 5, .dt = 2, .limit = 4}; /* steps 2, 1, 1/2, 1/4, 1/8; rung 0 up to |a| = 1 */
    const struct {
        double a[3];
        int64_t now, tick, next;
    } row[] = {
        {{0, 0, 0}, 0, 0, 0},   {{0, 1, 0}, 3, 0, 0},          {{0, -1.01, 0}, 0, 0, 1}, {{3, 0, 4}, 0, 0, 2},
        {{1e9, 0, 0}, 0, 0, 4}, {{1e200, 1e200, 0}, 0, 16, 4}, {{0, 0, 0}, 4, 16, 0}, /* end of the cycle */
        {{0, 0, 0}, 4, 1, 4}, /* ticks 1 and 3: only the deepest rung begins */
        {{0, 0, 0}, 4, 2, 3}, /* tick 2: no longer step begins */
        {{0, 0, 0}, 4, 12, 2},  {{0, 0, 0}, 4, 8, 1},          {{3, 0, 4}, 4, 8, 2}, /* set by acceleration */
        {{1e9, 0, 0}, 1, 4, 1},                                                      /* step not at its end */
        {{1e9, 0, 0}, 1, 8, 4},
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const int64_t next = bh_rung_next(&rungs, row[i].tick, row[i].now, row[i].a);
        if (next != row[i].next) {
            fail_msg("row %zu: rung %lld instead of %lld", i, (long long)next, (long long)row[i].next);
        }
    }
}

/* Every tick of a cycle whose deepest particles are on each rung. */
TEST(phases_come_as_often_as_they_should)
{
    const bh_rungs rungs = {.n = 5, .dt = 1};

    for (int deepest = 0; deepest < rungs.n; deepest++) {
        double on[5] = {0};
        int64_t turns[5] = {0};
        on[deepest] = 1;
        assert_int_equal(bh_rungs_deepest(&rungs, on), deepest);
        for (int64_t tick = bh_rung_ticks(&rungs, deepest); tick <= bh_rung_ticks(&rungs, 0);
             tick += bh_rung_ticks(&rungs, deepest)) {
            const int phase = bh_rungs_phase(&rungs, tick);
            turns[phase]++;
            for (int r = 0; r < rungs.n; r++) {
                assert_int_equal(bh_rung_meets(&rungs, r, tick), r >= phase);
            }
        }
        for (int k = 0; k < rungs.n; k++) {
            assert_int_equal(turns[k], k <= deepest ? bh_phase_turns(k) : 0);
        }
    }
}

enum { CLIMBERS = 200 };

/* Particles whose accelerations change by up to a factor of 8 whenever their step ends. */
typedef struct climbers {
    double at[3][CLIMBERS], v[3][CLIMBERS], a[3][CLIMBERS];
    int64_t rung[CLIMBERS];
} climbers;

static double draw(int what, uint64_t i)
{
    return 2 * eqp_random_uniform(7, (uint64_t)what, i) - 1;
}

/* Runs one cycle. Particles stay within the predicted bounds, and the counts are right. Returns the deepest rung. */
static int64_t climb(climbers *c, const bh_rungs *rungs, uint64_t cycle)
{
    const double *const at[3] = {c->at[0], c->at[1], c->at[2]}, *const a[3] = {c->a[0], c->a[1], c->a[2]};
    double *const v[3] = {c->v[0], c->v[1], c->v[2]};
    const double *const still[3] = {v[0], v[1], v[2]};
    int64_t most = 0;

    for (int64_t tick = 0; tick < bh_rung_ticks(rungs, 0);) {
        double bound[6], on[BH_RUNGS_MAX], counted[BH_RUNGS_MAX] = {0};
        int64_t deepest = 0;
        bh_rungs_bounds(rungs, tick, tick > 0 ? 0.5 * rungs->dt : 0, CLIMBERS, at, still, a, c->rung, bound);
        bh_rungs_count(rungs, tick, CLIMBERS, a, c->rung, on);
        if (tick > 0) {
            bh_rungs_kick(rungs, tick, CLIMBERS, a, c->rung, v);
        }
        bh_rungs_choose(rungs, tick, CLIMBERS, a, c->rung);
        bh_rungs_kick(rungs, tick, CLIMBERS, a, c->rung, v);
        for (int i = 0; i < CLIMBERS; i++) {
            counted[c->rung[i]]++;
            deepest = c->rung[i] > deepest ? c->rung[i] : deepest;
        }
        assert_memory_equal(on, counted, (size_t)rungs->n * sizeof *on);
        bh_drift(CLIMBERS, ldexp(rungs->dt, -(int)deepest), v[0], v[1], v[2], c->at[0], c->at[1], c->at[2]);
        tick += bh_rung_ticks(rungs, deepest);
        most = deepest > most ? deepest : most;
        for (int i = 0; i < CLIMBERS; i++) {
            const double change = exp2(3 * draw(99, (cycle << 32) + (uint64_t)(tick * CLIMBERS + i)));
            for (int d = 0; d < 3; d++) {
                assert_true(at[d][i] >= bound[d] && at[d][i] <= -bound[3 + d]);
                c->a[d][i] *= bh_rung_meets(rungs, c->rung[i], tick) ? change : 1;
            }
        }
    }
    bh_rungs_kick(rungs, bh_rung_ticks(rungs, 0), CLIMBERS, a, c->rung, v);
    return most;
}

TEST(rungs_predict_where_particles_go)
{
    const bh_rungs rungs = {.n = 8, .dt = 1.0 / 16, .limit = 1e-3};
    static climbers c;

    for (uint64_t i = 0; i < CLIMBERS; i++) {
        for (int d = 0; d < 3; d++) {
            c.at[d][i] = draw(d, i);
            c.v[d][i] = draw(3 + d, i);
            c.a[d][i] = draw(6 + d, i) * exp2(5 * draw(9, i));
        }
    }
    for (uint64_t cycle = 0; cycle < 4; cycle++) {
        assert_true(climb(&c, &rungs, cycle) > 2);
    }
}

TEST(sums_know_what_each_rung_still_lacks)
{
    const bh_rungs rungs = {.n = 6, .dt = 1.0 / 16, .limit = 1e-4};
    FREED_BY(free_bodies) bodies all = generate("plummer:n=100,seed=3", 0.01);
    bodies *s = &all;
    int64_t rung[100] = {0};
    const double *const a[3] = {s->at[AX], s->at[AY], s->at[AZ]};
    double *const v[3] = {s->at[VX], s->at[VY], s->at[VZ]};
    bh_sums sums;

    direct_forces(s);
    bh_rungs_choose(&rungs, 0, s->n, a, rung);
    bh_sums_make(s->n, s->at[M], s->at[X], s->at[Y], s->at[Z], v[0], v[1], v[2], a[0], a[1], a[2], s->at[POT],
                 0.5 * rungs.dt, rung, &sums);
    bh_rungs_kick(&rungs, bh_rung_ticks(&rungs, 0), s->n, a, rung, v);
    const bh_sums after = sums_of(s);
    assert_near(sums.kinetic, after.kinetic, 1e-13 * after.kinetic);
    assert_near(sums.angular[1], after.angular[1], 1e-13);
}
