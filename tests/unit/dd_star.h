/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes, crystal axes and laws for tests of mobility. */
#ifndef DD_STAR_H
#define DD_STAR_H

#include "dd_valid.h"

#include "motion/mobility.h"
#include "network/vector.h"

/* A node with its own arms. */
typedef struct star {
    dd_node node;
    dd_arm arm[6];
    double to[6][3];
} star;

static inline void add(star *s, const double to[3], const double burgers[3], const double normal[3])
{
    dd_arm *arm = &s->arm[s->node.narms];

    memset(arm, 0, sizeof *arm);
    memcpy(s->to[s->node.narms], to, sizeof s->to[0]);
    memcpy(arm->burgers, burgers, sizeof arm->burgers);
    if (normal != NULL) {
        memcpy(arm->normal, normal, sizeof arm->normal);
    }
    s->node.narms++;
}

static inline void move(const dd_mobility *mobility, const star *s, const double force[3], double v[3])
{
    dd_node node = s->node;

    node.arm = (dd_arm *)s->arm; /* arms of this copy */
    v[0] = v[1] = v[2] = 99.0;
    dd_mobility_velocity(mobility, &node, s->to, force, v);
}

static inline void is_to(double by, const double v[3], double x, double y, double z)
{
    const double want[3] = {x, y, z};

    for (int i = 0; i < 3; i++) {
        assert_near(v[i], want[i], by * (1.0 + fabs(want[i])));
    }
}

static inline void is(const double v[3], double x, double y, double z)
{
    is_to(1e-12, v, x, y, z);
}

/* Orthonormal crystal directions. */
typedef struct frame {
    double e[3][3];
} frame;

static inline frame frame_of(const double first[3], const double second[3])
{
    frame f;

    for (int i = 0; i < 3; i++) {
        f.e[0][i] = first[i] / sqrt(dd_v3_dot(first, first));
        f.e[1][i] = second[i] / sqrt(dd_v3_dot(second, second));
    }
    dd_v3_cross(f.e[0], f.e[1], f.e[2]);
    return f;
}

/* x e0 + y e1 + z e2. */
static inline const double *in(const frame *f, double x, double y, double z, double out[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = x * f->e[0][i] + y * f->e[1][i] + z * f->e[2][i];
    }
    return out;
}

/* Velocity under the force F, both in the frame. */
static inline void move_in(const dd_mobility *mobility, const star *s, const frame *f, double w[3])
{
    double force[3], v[3];

    move(mobility, s, in(f, 3, 5, 7, force), v);
    for (int i = 0; i < 3; i++) {
        w[i] = dd_v3_dot(v, f->e[i]);
    }
}

/* A node with narms arms of 10 b, alternating along t and -t. */
static inline star straight(int narms, const double t[3], const double burgers[3], const double normal[3])
{
    star s = {0};

    for (int k = 0; k < narms; k++) {
        const double sign = k % 2 == 0 ? 10 : -10;
        const double to[3] = {sign * t[0], sign * t[1], sign * t[2]};
        add(&s, to, burgers, normal);
    }
    return s;
}

static const dd_mobility fcc = {.law = DD_FCC_0, .edge = 4.0, .screw = 2.0, .climb = 1.0};
static const dd_mobility bcc = {.law = DD_BCC_0, .edge = 4.0, .screw = 2.0, .climb = 0.5};
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

/* Two arms of 10 b of one line along t; their Burgers vectors are opposite. */
static inline star line(const double t[3], const double burgers[3], const double normal[3])
{
    star s = straight(2, t, burgers, normal);

    for (int i = 0; i < 3; i++) {
        s.arm[1].burgers[i] *= -1;
    }
    return s;
}

static inline void moves(const dd_mobility *m, const star *s, const frame *f, double x, double y, double z, double w[3])
{
    double force[3], v[3];

    move(m, s, in(f, x, y, z, force), v);
    for (int i = 0; i < 3; i++) {
        w[i] = 1e-9 * dd_v3_dot(v, f->e[i]);
    }
}

/* The velocity under F, of a node and in a frame, and in a frame under another force. */
static inline void goes(const dd_mobility *m, const star *s, double x, double y, double z)
{
    double v[3];

    move(m, s, F, v);
    is(v, x, y, z);
}

static inline void goes_in(double by, const dd_mobility *m, const star *s, const frame *f, double x, double y, double z)
{
    double w[3];

    move_in(m, s, f, w);
    is_to(by, w, x, y, z);
}

static inline void goes_under(double by, const dd_mobility *m, const star *s, const frame *f, double fx, double fy,
                              double fz, double x, double y, double z)
{
    double w[3];

    moves(m, s, f, fx, fy, fz, w);
    is_to(by, w, x, y, z);
}

#endif
