/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes, crystal axes and laws for tests of mobility. */
#ifndef DD_STAR_H
#define DD_STAR_H

#include "unit.h"

#include "motion/mobility.h"
#include "network/vector.h"

#define VECTOR(...) ((const double[3]){__VA_ARGS__})

/* A node with its own arms. */
typedef struct star {
    dd_node node;
    dd_arm arm[6];
    double to[6][3];
} star;

/* normal: NULL allowed. */
static inline void add(star *s, const double to[3], const double burgers[3], const double *normal)
{
    const int n = s->node.narms++;

    s->arm[n] = (dd_arm){.burgers = {burgers[0], burgers[1], burgers[2]}};
    dd_v3_copy(s->to[n], to);
    if (normal != NULL) {
        dd_v3_copy(s->arm[n].normal, normal);
    }
}

/* A node whose arms of 6, 14 and 10 b go along t and -t in turn. */
static inline star straight(int narms, const double t[3], const double burgers[3], const double *normal)
{
    static const double length[3] = {6, -14, 10};
    star s = {0};

    for (int k = 0; k < narms; k++) {
        add(&s, VECTOR(length[k] * t[0], length[k] * t[1], length[k] * t[2]), burgers, normal);
    }
    return s;
}

/* Two arms of one line along t; their Burgers vectors are opposite. */
static inline star line(const double t[3], const double burgers[3], const double *normal)
{
    star s = straight(2, t, burgers, normal);

    dd_v3_scale(-1.0, s.arm[1].burgers);
    return s;
}

static inline void move(const dd_mobility *mobility, const star *s, const double force[3], double v[3])
{
    dd_node node = s->node;

    node.arm = (dd_arm *)s->arm; /* arms of this copy */
    dd_mobility_velocity(mobility, &node, s->to, force, v);
}

static inline void is(double by, const double v[3], double x, double y, double z)
{
    const double *want = VECTOR(x, y, z);

    for (int i = 0; i < 3; i++) {
        assert_near(v[i], want[i], by * (1.0 + fabs(want[i])));
    }
}

/* Orthonormal crystal directions. */
typedef struct frame {
    double e[3][3];
} frame;

static const frame axes = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

static inline frame frame_of(const double first[3], const double second[3])
{
    frame f;

    dd__unit(first, f.e[0]);
    dd__unit(second, f.e[1]);
    dd_v3_cross(f.e[0], f.e[1], f.e[2]);
    return f;
}

static inline void from_frame(const frame *f, const double in[3], double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = in[0] * f->e[0][i] + in[1] * f->e[1][i] + in[2] * f->e[2][i];
    }
}

/* Velocity under a force, both in the frame; in m/s where the law has a Burgers vector's length, else in b/s. */
static inline void moves(const dd_mobility *m, const star *s, const frame *f, const double in_frame[3], double w[3])
{
    double force[3], v[3];

    from_frame(f, in_frame, force);
    move(m, s, force, v);
    for (int i = 0; i < 3; i++) {
        w[i] = (m->burgers > 0 ? m->burgers : 1) * dd_v3_dot(v, f->e[i]);
    }
}

static inline void goes(double by, const dd_mobility *m, const star *s, const frame *f, const double force[3], double x,
                        double y, double z)
{
    double w[3];

    moves(m, s, f, force, w);
    is(by, w, x, y, z);
}

static const double X[3] = {1, 0, 0}, Y[3] = {0, 1, 0}, Z[3] = {0, 0, 1}, F[3] = {3, 5, 7};

/* Tantalum with round numbers: b is 1e-9 m, so 1e9 b/s are 1 m/s and 1e6 Pa b^2 are 1 MPa. */
static const dd_mobility ta = {.law = DD_BCC_TA,
                               .ta_fit = {{1000, 0.5, 2}, {2000, 0.25, 1}, {4000, 1, 3}},
                               .ta_edge = {1e-3, 2e-3},
                               .ta_screw = {0.1, 0.2, 0.4},
                               .ta_line = 1e-2,
                               .ta_climb_edge = 50,
                               .ta_climb_screw = 5,
                               .burgers = 1e-9};

#endif
