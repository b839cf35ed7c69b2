/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of the laws of mobility: an arm's directions, dyads, and the system of drags of a node. */
#ifndef DD_MOBILITY_DRAG_H
#define DD_MOBILITY_DRAG_H

#include "../network/vector.h"

#include "mobility.h"

/* Below this |b x t| a segment is a screw, which has no glide plane of its own. */
#define DD_IS_SCREW 1e-6

/* Directions that a node must not move along: orthonormal. */
typedef struct dd_forbidden {
    int n;
    double along[3][3];
} dd_forbidden;

/* Adds a direction, unless one within 0.01 of it is present: normals computed from positions are not exact. */
void dd__forbid(dd_forbidden *these, const double direction[3]);

/* Adds all directions across the unit vector t. */
void dd__forbid_across(dd_forbidden *these, const double t[3]);

/* Removes from v its parts along these. */
void dd__forbidden_take(const dd_forbidden *these, double v[3]);

typedef struct dd_drag {
    double tensor[3][3], force[3]; /* of laws that are not linear the tensor need not be symmetric */
    dd_forbidden never;            /* removed from the system: pinned directions, and those that a law adds */
} dd_drag;

/* tensor += c a a. */
void dd__drag_along(dd_drag *drag, double c, const double a[3]);

/* tensor += across (I - t t) + line t t. */
void dd__drag_line(dd_drag *drag, double across, double line, const double t[3]);

/* Solves tensor v = drag->force in the remaining directions; v = 0 if singular. */
void dd__drag_solve(const dd_drag *drag, double v[3]);

/* Half of an arm, with data for all laws. */
typedef struct dd_half {
    double length; /* of the half */
    const dd_arm *arm;
    double t[3], b[3], n[3]; /* unit; n: the arm's plane, else b x t, 0 of a screw without a plane */
    double along, across;    /* b . t, |b x t| */
} dd_half;

/* Adds the drags of edges of b with the unit direction e other than of glide: climb along e x b, and a drag along e. */
void dd__drag_edge(dd_drag *drag, const double b[3], const double e[3], double climb, double line);

/* Likewise of a screw: climb out of the plane of its half, and a drag along b. Sets where it glides, n x b; false: it
 * has no plane, and everything across b is glide. */
bool dd__drag_screw(dd_drag *drag, const dd_half *half, double climb, double line, double glide[3]);

/* Parts of a half shorter than this fraction of it are ignored. */
#define DD_SHORT 1e-4

/* A half taken for a screw and edges of two of b's slip planes: that of the arm, and that whose edges have the next
 * longest projection. A part that is shorter than DD_SHORT of the half has no length. */
typedef struct dd_split {
    double screw, edge[2];  /* lengths */
    double direction[2][3]; /* of the edges: plane x b, unit */
    int plane[2];           /* numbers among b's planes */
} dd_split;

/* false: the half is of a junction, its b not nearest to <111>. */
bool dd__is_bcc(const dd_half *half);

/* By the planes {110} and {112}; false for a junction. */
bool dd__split_bcc(const dd_half *half, dd_split *parts);

/* A component of a direction is 0: no <111> or {111}. In such a one the product is at least 0.19, and 1e-6 is far from
 * both it and the last digits of files. */
static inline bool dd__has_zero(const double direction[3])
{
    return fabs(direction[0] * direction[1] * direction[2]) < 1e-6;
}

/* ---- Laws whose stress is no multiple of the speed: what the parts of arms add up to, and Newton's method for it. */

/* Stress of a line, in Pa, over its speed >= 0, in b/s: 0 at rest, rising. */
typedef struct dd_curve dd_curve;
struct dd_curve {
    double (*stress)(const dd_curve *curve, double speed, double *slope);
    double by[8]; /* parameters, the function's own */
};

typedef enum dd_glide_way {
    DD_GLIDES_ALONG,  /* at v . speed; the drag is along `force` */
    DD_GLIDES_ROUND,  /* alike in all directions across `speed` */
    DD_GLIDES_SIXFOLD /* easily in directions of twinning, hard between them (BCC_Ta_pencil); `speed`: b, of <111>,
                       * `force`: b in the sense of the line */
} dd_glide_way;

/* Glide of a part of an arm. */
typedef struct dd_glide {
    dd_glide_way way;
    double length;
    double force[3], speed[3];
    const dd_curve *curve[2]; /* forth and back; DD_GLIDES_SIXFOLD: twinning, antitwinning */
    double line;              /* drag along the direction t in units of the curve's slope */
    double t[3];
} dd_glide;

#define DD_MOST_GLIDES (4 * DD_MOST_ARMS)

typedef struct dd_glides {
    dd_drag constant; /* drags that are */
    int n;
    dd_glide glide[DD_MOST_GLIDES];
} dd_glides;

/* Adds glide along a unit direction, forth and back by one curve. The next ones may be changed until another is added.
 */
dd_glide *dd__glide_add(dd_glides *glides, double length, const double along[3], const dd_curve *curve);

/* The velocity at which the drags undo drag->force in the directions that are left: drag becomes I v = v. From rest;
 * until the force is right to 1e-12 or no step makes the error smaller. */
void dd__glides_balance(const dd_glides *glides, dd_drag *drag);

/* ---- Laws. */

/* A node whose drags a law adds up, half by half of its arms. */
typedef struct dd_drag_sum {
    const dd_mobility *mobility;
    const dd_node *node;
    bool
        junctions; /* nodes of more than two arms have the climb of junctions, and junctions of two arms do not glide */
    double edge_drag, screw_drag, climb, line; /* inverse mobilities; or drags at high speeds (BCC_Ta_nl, BCC_Va_nl) */
    dd_drag drag;                              /* comes with the force and the pinned directions */
    dd_curve edge[2], screw[DD_TA_SCREWS];     /* of laws with curves */
    dd_glides *glides;                         /* NULL in a linear law */
} dd_drag_sum;

/* Sets the curves of a law, and adds a half of an arm. */
typedef void dd_drag_curves(dd_drag_sum *sum);
typedef void dd_drag_law(dd_drag_sum *sum, const dd_half *half);

dd_drag_curves dd__begin_ta, dd__begin_ta_linear, dd__begin_pencil, dd__begin_ta_nl, dd__begin_va_nl;
dd_drag_law dd__add_fcc_0, dd__add_fcc_0b, dd__add_fcc_linear, dd__add_fcc_climb, dd__add_bcc_0, dd__add_bcc_linear,
    dd__add_bcc_glide, dd__add_ta, dd__add_pencil, dd__add_ta_nl, dd__add_ta_nl_b, dd__add_ta_nl_b_planar,
    dd__add_va_nl, dd__add_va_nl_planar, dd__add_hcp_linear;

#endif
