/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <equipoise/error.h>

#include "dd_valid.h"

#include "motion/mobility.h"

#include <math.h>
#include <string.h>

/* A node whose arms are this test's own. */
typedef struct star {
    dd_node node;
    dd_arm arm[6];
    double to[6][3];
} star;

static void add(star *s, const double to[3], const double burgers[3], const double normal[3])
{
    dd_arm *arm = &s->arm[s->node.narms];

    memset(arm, 0, sizeof *arm);
    memcpy(s->to[s->node.narms], to, sizeof s->to[0]);
    memcpy(arm->burgers, burgers, sizeof arm->burgers);
    if (normal != NULL) {
        memcpy(arm->normal, normal, sizeof arm->normal);
    }
    s->node.arm = s->arm;
    s->node.narms++;
}

static void move(const dd_mobility *mobility, const star *s, const double force[3], double v[3])
{
    v[0] = v[1] = v[2] = 99.0;
    dd_mobility_velocity(mobility, &s->node, s->to, force, v);
}

static void is(const double v[3], double x, double y, double z)
{
    const double want[3] = {x, y, z};

    for (int i = 0; i < 3; i++) {
        assert_near(v[i], want[i], 1e-12 * (1.0 + fabs(want[i])));
    }
}

static const dd_mobility fcc = {.law = DD_FCC_0, .edge = 4.0, .screw = 2.0, .climb = 1.0};
static const dd_mobility bcc = {.law = DD_BCC_0, .edge = 4.0, .screw = 2.0, .climb = 0.5};
static const double X[3] = {1, 0, 0}, Y[3] = {0, 1, 0}, Z[3] = {0, 0, 1}, F[3] = {3, 5, 7};

static void names(void **state)
{
    dd_mobility_law law = DD_BCC_0;

    (void)state;
    assert_int_equal(dd_mobility_find("FCC_0", &law), EQP_OK);
    assert_int_equal(law, DD_FCC_0);
    assert_int_equal(dd_mobility_find("BCC_0", &law), EQP_OK);
    assert_int_equal(law, DD_BCC_0);
    assert_int_equal(dd_mobility_find("FCC_0b", &law), EQP_OK);
    assert_int_equal(law, DD_FCC_0);
    assert_int_equal(dd_mobility_find("FCC", &law), EQP_ERR_UNKNOWN);
    assert_int_equal(law, DD_FCC_0);
    assert_true(dd_mobility_is_valid(&fcc));
    assert_true(dd_mobility_is_valid(&(dd_mobility){.law = DD_FCC_0, .edge = 1, .screw = 1}));
    assert_false(dd_mobility_is_valid(&(dd_mobility){.law = DD_BCC_0, .edge = 1, .screw = 1}));
    assert_false(dd_mobility_is_valid(&(dd_mobility){.law = DD_FCC_0, .edge = NAN, .screw = 1}));
}

/* Both arms along x, lengths 10 and 30, plane z: v = F M / (1/2 40) in the plane. */
static void fcc_straight(void **state)
{
    const double left[3] = {-10, 0, 0}, right[3] = {30, 0, 0}, mixed[3] = {0.6, 0.8, 0};
    const double *burgers[3] = {Y, X, mixed}, mobility[3] = {4.0, 2.0, 4.0 - 2.0 * 0.6};
    double v[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        star s = {0};
        add(&s, left, burgers[k], Z);
        add(&s, right, burgers[k], Z);
        move(&fcc, &s, F, v);
        is(v, 3.0 * mobility[k] / 20.0, 5.0 * mobility[k] / 20.0, 0.0);
    }
    /* The length of the Burgers vector says nothing about its direction. */
    star s = {0};
    const double twice[3] = {2, 0, 0};
    add(&s, left, twice, Z);
    add(&s, right, twice, Z);
    move(&fcc, &s, F, v);
    is(v, 3.0 * 2.0 / 20.0, 5.0 * 2.0 / 20.0, 0.0);
}

static void fcc_planes(void **state)
{
    const double r = sqrt(0.5), tilted[3] = {0, r, r}, nearly[3] = {1e-4, 0, 1}, left[3] = {-10, 0, 0},
                 right[3] = {10, 0, 0};
    double v[3];

    (void)state;
    star two = {0};
    add(&two, left, X, Z);
    add(&two, right, X, tilted);
    move(&fcc, &two, F, v);
    is(v, 3.0 * 2.0 / 10.0, 0.0, 0.0);
    star same = {0};
    add(&same, left, X, Z);
    add(&same, right, X, nearly);
    move(&fcc, &same, F, v);
    is(v, 3.0 * 2.0 / 10.0, 5.0 * 2.0 / 10.0, 0.0);
    star none = {0};
    add(&none, left, X, NULL);
    add(&none, right, X, NULL);
    move(&fcc, &none, F, v);
    is(v, 3.0 * 2.0 / 10.0, 5.0 * 2.0 / 10.0, 7.0 * 2.0 / 10.0);
    star three = {0};
    add(&three, left, X, Z);
    add(&three, right, X, tilted);
    add(&three, Y, X, X);
    move(&fcc, &three, F, v);
    is(v, 0.0, 0.0, 0.0);
    /* Three planes of one zone leave its axis. */
    star zone = {0};
    add(&zone, left, X, Z);
    add(&zone, right, X, tilted);
    add(&zone, Z, X, Y);
    move(&fcc, &zone, F, v);
    assert_true(v[0] > 0.0);
    is(v, v[0], 0.0, 0.0);
}

static void arms_without_length(void **state)
{
    const double nothing[3] = {0, 0, 0}, left[3] = {-10, 0, 0}, right[3] = {10, 0, 0};
    const dd_mobility *laws[2] = {&fcc, &bcc};
    double v[3], w[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        star s = {0}, t = {0}, empty = {0}, degenerate = {0};
        add(&s, left, X, Z);
        add(&s, right, X, Z);
        add(&t, left, X, Z);
        add(&t, nothing, Y, X);
        add(&t, right, X, Z);
        move(laws[k], &s, F, v);
        move(laws[k], &t, F, w);
        is(w, v[0], v[1], v[2]);
        move(laws[k], &empty, F, v);
        is(v, 0, 0, 0);
        add(&degenerate, nothing, X, Z);
        move(laws[k], &degenerate, F, v);
        is(v, 0, 0, 0);
    }
}

static void pinned_directions(void **state)
{
    const double r = sqrt(0.5), tilted[3] = {r, -r, 0}, left[3] = {-10, -10, 0}, right[3] = {10, 10, 3};
    const dd_mobility *laws[2] = {&fcc, &bcc};
    double v[3];

    (void)state;
    for (int k = 0; k < 2; k++) {
        for (int constraint = 0; constraint < 16; constraint++) {
            star s = {0};
            double power = 0.0;
            s.node.constraint = constraint;
            add(&s, left, Z, tilted);
            add(&s, right, Z, tilted);
            move(laws[k], &s, F, v);
            for (int i = 0; i < 3; i++) {
                if ((constraint & (1 << i | DD_SURFACE)) != 0) {
                    assert_true(v[i] == 0.0);
                }
                power += v[i] * F[i];
            }
            assert_true(power >= 0.0);
            /* In its plane, x and y go together. */
            assert_true((power > 0.0) == (constraint < (laws[k] == &fcc ? 5 : 7)));
            if (laws[k] == &fcc) {
                /* A pinned direction does not push the node off its plane. */
                assert_near(v[0] - v[1], 0.0, 1e-12);
            }
        }
    }
}

/* Along x: edge with Burgers y glides in y and climbs in z; a screw moves alike in y and z. */
static void bcc_straight(void **state)
{
    const double left[3] = {-10, 0, 0}, right[3] = {30, 0, 0};
    double v[3];

    (void)state;
    star edge = {0}, screw = {0}, nearly = {0};
    add(&edge, left, Y, NULL);
    add(&edge, right, Y, NULL);
    move(&bcc, &edge, F, v);
    assert_near(v[1], 5.0 * 4.0 / 20.0, 1e-12);
    assert_near(v[2], 7.0 * 0.5 / 20.0, 1e-12);
    assert_true(v[0] > v[1]);
    add(&screw, left, X, NULL);
    add(&screw, right, X, NULL);
    move(&bcc, &screw, F, v);
    assert_near(v[1], 5.0 * 2.0 / 20.0, 1e-12);
    assert_near(v[2], 7.0 * 2.0 / 20.0, 1e-12);
    /* And goes over into it without a jump. */
    const double off[3] = {1, 1e-5, 0};
    add(&nearly, left, off, NULL);
    add(&nearly, right, off, NULL);
    move(&bcc, &nearly, F, v);
    assert_near(v[1], 5.0 * 2.0 / 20.0, 1e-6);
    assert_near(v[2], 7.0 * 2.0 / 20.0, 1e-6);
}

/* The mixed segment's coefficients, by hand: b at 30 degrees from t. */
static void bcc_mixed(void **state)
{
    const double left[3] = {-10, 0, 0}, right[3] = {10, 0, 0}, b[3] = {sqrt(0.75), 0.5, 0};
    const double glide = 1.0 / sqrt(16.0 * 0.25 + 4.0 * 0.75), climb = sqrt(4.0 * 0.25 + 0.25 * 0.75);
    double v[3];

    (void)state;
    star s = {0};
    add(&s, left, b, NULL);
    add(&s, right, b, NULL);
    move(&bcc, &s, F, v);
    assert_near(v[1], 5.0 / (10.0 * glide), 1e-12);
    assert_near(v[2], 7.0 / (10.0 * climb), 1e-12);
}

/* A junction node: the drag is what the velocity undoes, and turning everything turns the velocity. */
static void junctions(void **state)
{
    const double to[3][3] = {{10, 2, -3}, {-4, 9, 1}, {-3, -8, 6}};
    const double b[3][3] = {{0.5, 0.5, 0.5}, {0.5, -0.5, -0.5}, {-1, 0, 0}};
    const dd_mobility *laws[2] = {&fcc, &bcc};

    (void)state;
    for (int k = 0; k < 2; k++) {
        star s = {0}, turned = {0};
        double v[3], w[3], force[3] = {F[2], F[0], F[1]};
        for (int j = 0; j < 3; j++) {
            const double to2[3] = {to[j][2], to[j][0], to[j][1]}, b2[3] = {b[j][2], b[j][0], b[j][1]};
            add(&s, to[j], b[j], NULL);
            add(&turned, to2, b2, NULL);
        }
        move(laws[k], &s, F, v);
        move(laws[k], &turned, force, w);
        is(w, v[2], v[0], v[1]);
        assert_true(v[0] * F[0] + v[1] * F[1] + v[2] * F[2] > 0.0);
        /* Twice the force, twice the velocity; a mirrored Burgers vector changes nothing. */
        const double twice[3] = {2 * F[0], 2 * F[1], 2 * F[2]};
        s.arm[0].burgers[0] *= -1.0;
        s.arm[0].burgers[1] *= -1.0;
        s.arm[0].burgers[2] *= -1.0;
        move(laws[k], &s, twice, w);
        is(w, 2 * v[0], 2 * v[1], 2 * v[2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),        cmocka_unit_test(fcc_straight),        cmocka_unit_test(fcc_planes),
        cmocka_unit_test(bcc_straight), cmocka_unit_test(arms_without_length), cmocka_unit_test(pinned_directions),
        cmocka_unit_test(bcc_mixed),    cmocka_unit_test(junctions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
