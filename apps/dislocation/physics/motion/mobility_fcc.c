/* SPDX-License-Identifier: BSD-3-Clause */
/* The FCC laws but for the linear one. */
#include "mobility_drag.h"

void dd__drag_fcc_0(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3], dd_drag *drag)
{
    for (int j = 0; j < node->narms; j++) {
        const dd_half half = dd__half(&node->arm[j], to_neighbour[j]);

        if (half.length > 0) {
            const double b = half.length / (mobility->edge + (mobility->screw - mobility->edge) * fabs(half.along));
            dd__drag_line(drag, b, b, half.t);
        }
    }
}

void dd__drag_fcc_0b(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3], dd_drag *drag)
{
    const dd_drags drags = dd__drags(mobility, node->narms > 2, 1);

    for (int j = 0; j < node->narms; j++) {
        const dd_half half = dd__half(&node->arm[j], to_neighbour[j]);

        if (half.length > 0 && dd__has_zero(half.n)) {
            dd__drag_junction(drag, &drags, &half, node->narms == 2);
        } else if (half.length > 0) {
            dd__drag_glide(drag, &drags, &half, half.n);
        }
    }
}

void dd__drag_fcc_climb(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                        dd_drag *drag)
{
    dd_drags drags = dd__drags(mobility, false, 1);

    drags.climb = 1e4 * drags.edge;
    for (int j = 0; j < node->narms; j++) {
        const dd_half half = dd__half(&node->arm[j], to_neighbour[j]);

        if (half.length > 0 && fabs(half.n[0] * half.n[1] * half.n[2]) < 0.13608) {
            dd__drag_junction(drag, &drags, &half, node->narms == 2);
        } else if (half.length > 0) {
            double m[3];
            dd_v3_cross(half.n, half.t, m);
            dd__unit(m, m);
            dd__drag_along(drag, half.length / hypot(half.across / drags.edge, half.along / drags.screw), m);
            dd__drag_along(drag, half.length * drags.climb, half.n);
            dd__drag_along(drag, half.length * drags.line, half.t);
        }
    }
}
