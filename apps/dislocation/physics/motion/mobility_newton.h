/* SPDX-License-Identifier: BSD-3-Clause */
/* Laws whose stress is no multiple of the speed: what the parts of arms add up to, and Newton's method for it. */
#ifndef DD_MOBILITY_NEWTON_H
#define DD_MOBILITY_NEWTON_H

#include "mobility_drag.h"

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
dd_glide *dd__glide_add(dd_glides *these, double length, const double along[3], const dd_curve *curve);

/* The velocity at which the drags undo drag->force in the directions that are left: drag becomes I v = v. From rest;
 * until the force is right to 1e-12 or no step makes the error smaller. */
void dd__glides_balance(const dd_glides *these, dd_drag *drag);

#endif
