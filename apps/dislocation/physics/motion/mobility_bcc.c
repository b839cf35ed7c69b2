/* SPDX-License-Identifier: BSD-3-Clause */
/* The BCC laws of Cai and Bulatov's form. */
#include "mobility_drag.h"

/* Drag along a line, in units of the smaller of the glide drags. */
#define LINE_DRAG 1e-2

static void add(dd_drag *drag, const dd_drags *drags, const dd_node *node, const double (*to_neighbour)[3],
                bool has_two_arms)
{
    for (int j = 0; j < node->narms; j++) {
        const dd_half half = dd__half(&node->arm[j], to_neighbour[j]);

        if (half.length > 0) {
            double n[3];
            if (dd__has_zero(half.b)) {
                dd__drag_junction(drag, drags, &half, has_two_arms);
                continue;
            }
            dd_v3_cross(half.b, half.t, n);
            dd__unit(n, n);
            dd__drag_glide(drag, drags, &half, n);
        }
    }
}

void dd__drag_bcc_0(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3], dd_drag *drag)
{
    const dd_drags drags = dd__drags(mobility, false, LINE_DRAG);

    add(drag, &drags, node, to_neighbour, false);
}

void dd__drag_bcc_0b(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3], dd_drag *drag)
{
    const dd_drags drags = dd__drags(mobility, node->narms > 2, LINE_DRAG);

    add(drag, &drags, node, to_neighbour, node->narms == 2);
}

/* No climb at all: its directions leave the system, because the other drags would be lost beside drags of 1e10. */
void dd__drag_bcc_glide(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                        dd_drag *drag)
{
    dd_drags drags = dd__drags(mobility, false, LINE_DRAG);

    drags.climb = 0;
    for (int j = 0; j < node->narms; j++) {
        const dd_half half = dd__half(&node->arm[j], to_neighbour[j]);

        if (half.length > 0 && dd__has_zero(half.b)) {
            /* Everything but its line, and with two arms that, too. */
            dd__forbid_across(&drag->never, half.t);
            if (node->narms == 2) {
                dd__forbid(&drag->never, half.t);
            }
            dd__drag_line(drag, 0, half.length * drags.line, half.t);
        } else if (half.length > 0) {
            dd__drag_glide(drag, &drags, &half, half.n);
            dd__forbid(&drag->never, half.n);
        }
    }
}
