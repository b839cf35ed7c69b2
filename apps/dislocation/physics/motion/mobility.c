/* SPDX-License-Identifier: BSD-3-Clause */
#include "mobility.h"

#include "vector.h"

#include <equipoise/error.h>

#include <math.h>
#include <string.h>

/* Planes that differ by less than this angle are the same: normals that were computed from positions are not exact. */
#define SAME_PLANE 1e-2
/* Below this |b x t| a segment is a screw, which has no glide plane of its own. */
#define IS_SCREW 1e-6
/* Drag along the line, in units of the smaller of the glide drags. */
#define LINE_DRAG 1e-2
/* A system of drags whose determinant is smaller than this in units of its trace^3 is singular. */
#define SINGULAR 1e-24

int dd_mobility_find(const char *name, dd_mobility_law *law)
{
    static const struct {
        const char *name;
        dd_mobility_law law;
    } laws[] = {{"FCC_0", DD_FCC_0}, {"FCC_0b", DD_FCC_0}, {"BCC_0", DD_BCC_0}};

    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++) {
        if (strcmp(laws[i].name, name) == 0) {
            *law = laws[i].law;
            return EQP_OK;
        }
    }
    return EQP_ERR_UNKNOWN;
}

static bool is_positive(double value)
{
    return value > 0.0 && isfinite(value);
}

bool dd_mobility_is_valid(const dd_mobility *mobility)
{
    return is_positive(mobility->edge) && is_positive(mobility->screw) &&
           (mobility->law != DD_BCC_0 || is_positive(mobility->climb));
}

/* Directions that a node must not move along: orthonormal. */
typedef struct forbidden {
    int n;
    double along[3][3];
} forbidden;

static void forbid(forbidden *these, const double direction[3])
{
    double rest[3];

    if (these->n == 3 || !(dd__unit(direction, rest) > 0.0)) {
        return;
    }
    /* Twice, as once leaves rounding errors of the size of what remains. */
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < these->n; k++) {
            dd__add(rest, -dd_v3_dot(rest, these->along[k]), these->along[k]);
        }
        if (pass == 0 && !(dd__unit(rest, rest) > SAME_PLANE)) {
            return;
        }
    }
    dd__unit(rest, these->along[these->n++]);
}

static bool is_pinned(const dd_node *node, int axis)
{
    return (node->constraint & (DD_PINNED_X << axis)) != 0;
}

static void fcc(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                const double force[3], double velocity[3])
{
    forbidden these = {0};
    double drag = 0.0;

    for (int i = 0; i < 3; i++) {
        double axis[3] = {i == 0, i == 1, i == 2};
        if (is_pinned(node, i)) {
            forbid(&these, axis);
        }
    }
    for (int j = 0; j < node->narms; j++) {
        double t[3], b[3];
        double length = dd__unit(to_neighbour[j], t);

        if (length > 0.0) {
            dd__unit(node->arm[j].burgers, b);
            drag += length / (mobility->edge + (mobility->screw - mobility->edge) * fabs(dd_v3_dot(b, t)));
            forbid(&these, node->arm[j].normal);
        }
    }
    if (!(drag > 0.0) || these.n == 3) {
        return;
    }
    double v[3] = {2.0 * force[0] / drag, 2.0 * force[1] / drag, 2.0 * force[2] / drag};
    for (int k = 0; k < these.n; k++) {
        dd__add(v, -dd_v3_dot(v, these.along[k]), these.along[k]);
    }
    memcpy(velocity, v, sizeof v);
}

/* drag += factor * c * a a. */
static void add_dyad(double drag[3][3], double c, const double a[3])
{
    for (int i = 0; i < 3; i++) {
        dd__add(drag[i], c * a[i], a);
    }
}

/* drag += 1/2 length B for a segment of this direction and Burgers direction. */
static void add_segment(const dd_mobility *mobility, double length, const double t[3], const double b[3],
                        double drag[3][3])
{
    const double edge = 1.0 / mobility->edge, screw = 1.0 / mobility->screw, climb = 1.0 / mobility->climb;
    const double along = dd_v3_dot(b, t), half = 0.5 * length;
    double n[3], m[3];

    dd_v3_cross(b, t, n);
    double across = dd__unit(n, n);
    add_dyad(drag, half * LINE_DRAG * fmin(edge, screw), t);
    if (across < IS_SCREW) {
        for (int i = 0; i < 3; i++) {
            drag[i][i] += half * screw;
        }
        add_dyad(drag, -half * screw, t);
        return;
    }
    dd_v3_cross(n, t, m);
    add_dyad(drag, half / hypot(across / edge, along / screw), m);
    add_dyad(drag, half * hypot(across * climb, along * screw), n);
}

/* Solves drag v = force by Cramer's rule; false: singular. */
static bool solve(double drag[3][3], const double force[3], double v[3])
{
    double minor[3][3];

    for (int i = 0; i < 3; i++) {
        dd_v3_cross(drag[(i + 1) % 3], drag[(i + 2) % 3], minor[i]);
    }
    double determinant = dd_v3_dot(drag[0], minor[0]);
    double trace = drag[0][0] + drag[1][1] + drag[2][2];
    if (!(fabs(determinant) > SINGULAR * trace * trace * trace)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        v[i] = (force[0] * minor[0][i] + force[1] * minor[1][i] + force[2] * minor[2][i]) / determinant;
    }
    return true;
}

static void bcc(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                const double force[3], double velocity[3])
{
    double drag[3][3] = {{0}}, free_force[3], v[3];

    for (int j = 0; j < node->narms; j++) {
        double t[3], b[3];
        double length = dd__unit(to_neighbour[j], t);

        if (length > 0.0) {
            dd__unit(node->arm[j].burgers, b);
            add_segment(mobility, length, t, b, drag);
        }
    }
    /* A pinned direction leaves the system: its velocity is 0 whatever the force. */
    double scale = (drag[0][0] + drag[1][1] + drag[2][2]) / 3.0;
    memcpy(free_force, force, sizeof free_force);
    for (int i = 0; i < 3; i++) {
        if (is_pinned(node, i)) {
            for (int k = 0; k < 3; k++) {
                drag[i][k] = drag[k][i] = 0.0;
            }
            drag[i][i] = scale;
            free_force[i] = 0.0;
        }
    }
    if (solve(drag, free_force, v)) {
        memcpy(velocity, v, sizeof v);
    }
}

void dd_mobility_velocity(const dd_mobility *mobility, const dd_node *node, const double (*to_neighbour)[3],
                          const double force[3], double velocity[3])
{
    velocity[0] = velocity[1] = velocity[2] = 0.0;
    if ((node->constraint & DD_SURFACE) != 0 || (node->constraint & DD_PINNED) == DD_PINNED) {
        return;
    }
    if (mobility->law == DD_BCC_0) {
        bcc(mobility, node, to_neighbour, force, velocity);
    } else {
        fcc(mobility, node, to_neighbour, force, velocity);
    }
    for (int i = 0; i < 3; i++) {
        if (is_pinned(node, i)) {
            velocity[i] = 0.0; /* to the last bit */
        }
    }
}
