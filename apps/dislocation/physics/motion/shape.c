/* SPDX-License-Identifier: BSD-3-Clause */
#include "shape.h"

#include "vector.h"

#include <equipoise/more/random.h>

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* Draws of an object: the object is the stream, these are the counters. */
enum { DRAW_PLANE, DRAW_BURGERS, DRAW_SIGN, DRAW_LINE, DRAW_PLACE, DRAW_CORNER = DRAW_PLACE + 3 };

static int draw_below(const dd_generator *generator, uint64_t object, int what, uint64_t n)
{
    return (int)eqp_random_below(generator->seed, object, (uint64_t)what, n);
}

static double draw_uniform(const dd_generator *generator, uint64_t object, int what)
{
    return eqp_random_uniform(generator->seed, object, (uint64_t)what);
}

static void draw_place(const dd_generator *generator, uint64_t object, double x[3])
{
    for (int i = 0; i < 3; i++) {
        x[i] = generator->value[DD_KEY_BOX] * (draw_uniform(generator, object, DRAW_PLACE + i) - 0.5);
    }
}

/* Signs of one of the four {111} planes: its normal is sign / sqrt(3). */
static void plane_signs(int plane, double sign[3])
{
    sign[0] = (plane & 1) != 0 ? -1.0 : 1.0;
    sign[1] = (plane & 2) != 0 ? -1.0 : 1.0;
    sign[2] = 1.0;
}

/* One of the three <110> directions in a {111} plane, components 0 and +-1. */
static void line_110(const double sign[3], int number, double d[3])
{
    d[number] = 0.0;
    d[(number + 1) % 3] = sign[(number + 1) % 3];
    d[(number + 2) % 3] = -sign[(number + 2) % 3];
}

/* The <112> direction in the plane that is perpendicular to line_110 of the same number. */
static void line_112(const double sign[3], int number, double d[3])
{
    memcpy(d, sign, 3 * sizeof d[0]);
    d[number] = -2.0 * sign[number];
}

/* A random slip system: signs of the plane, the Burgers vector (length 1), and the plane's normal. */
static void draw_system(const dd_generator *generator, uint64_t object, double sign[3], double burgers[3],
                        double normal[3])
{
    double d[3];

    plane_signs(draw_below(generator, object, DRAW_PLANE, 4), sign);
    line_110(sign, draw_below(generator, object, DRAW_BURGERS, 3), d);
    dd__unit(d, burgers);
    dd__unit(sign, normal);
}

/* --- frank-read: one straight leg with pinned ends --- */

static void source_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = 1;
    *longest = generator->value[DD_KEY_LENGTH];
}

static double source_extent(const dd_generator *generator)
{
    return generator->value[DD_KEY_LENGTH] / generator->value[DD_KEY_BOX];
}

static void source_make(const dd_generator *generator, uint64_t object, dd__outline *outline)
{
    const double half = 0.5 * generator->value[DD_KEY_LENGTH];
    const double angle = generator->value[DD_KEY_ANGLE] * PI / 180.0;
    double sign[3], across[3], centre[3];

    draw_system(generator, object, sign, outline->burgers, outline->normal[0]);
    draw_place(generator, object, centre);
    dd_v3_cross(outline->normal[0], outline->burgers, across);
    for (int end = 0; end < 2; end++) {
        double *x = outline->corner[end], to = end == 0 ? -half : half;
        memcpy(x, centre, sizeof centre);
        dd__add(x, to * cos(angle), outline->burgers);
        dd__add(x, to * sin(angle), across);
    }
}

const dd__shape dd__frank_read = {
    .closed = false, .size = source_size, .extent = source_extent, .least_pieces = 2, .make = source_make};

/* --- loops: closed polygons in the plane across their Burgers vector, which glide along it --- */

static void loop_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = (int)generator->value[DD_KEY_SIDES];
    *longest = 2.0 * generator->value[DD_KEY_RADIUS] * sin(PI / *nlegs);
}

static double loop_extent(const dd_generator *generator)
{
    return 4.0 * generator->value[DD_KEY_RADIUS] / generator->value[DD_KEY_BOX];
}

/* Corners of a rhombus whose sides lie in the two {111} planes that hold the Burgers vector d. */
static void rhombus(const double d[3], double side, double corner[4][3])
{
    double edge[2][3];

    /* A plane holds d = (.., p, q) if its signs there are p and -q; the sign where d is 0 tells the two apart. */
    for (int e = 0; e < 2; e++) {
        double sign[3], across[3];
        bool first = true;
        for (int i = 0; i < 3; i++) {
            sign[i] = fabs(d[i]) < 0.5 ? (e == 0 ? 1.0 : -1.0) : (first ? copysign(1.0, d[i]) : -copysign(1.0, d[i]));
            first = first && fabs(d[i]) < 0.5;
        }
        dd_v3_cross(d, sign, across);
        dd__unit(across, edge[e]);
    }
    if (dd_v3_dot(edge[0], edge[1]) < 0.0) {
        for (int i = 0; i < 3; i++) {
            edge[1][i] = -edge[1][i];
        }
    }
    for (int k = 0; k < 4; k++) {
        memset(corner[k], 0, sizeof corner[k]);
        dd__add(corner[k], k == 0 || k == 3 ? -0.5 * side : 0.5 * side, edge[0]);
        dd__add(corner[k], k < 2 ? -0.5 * side : 0.5 * side, edge[1]);
    }
}

static void loop_make(const dd_generator *generator, uint64_t object, dd__outline *outline)
{
    const double radius = generator->value[DD_KEY_RADIUS];
    const int sides = (int)generator->value[DD_KEY_SIDES];
    double sign[3], normal[3], centre[3], across[3], corner[DD_SHAPE_LEGS][3] = {{0}};

    draw_system(generator, object, sign, outline->burgers, normal);
    draw_place(generator, object, centre);
    dd_v3_cross(normal, outline->burgers, across);
    if (sides == 4) {
        rhombus(outline->burgers, sqrt(2.0) * radius, corner);
    } else {
        for (int k = 0; k < sides; k++) {
            dd__add(corner[k], radius * cos(2.0 * PI * k / sides), across);
            dd__add(corner[k], radius * sin(2.0 * PI * k / sides), normal);
        }
    }
    for (int k = 0; k <= sides; k++) {
        memcpy(outline->corner[k], centre, sizeof centre);
        dd__add(outline->corner[k], 1.0, corner[k % sides]);
    }
    for (int k = 0; k < sides; k++) {
        double leg[3], n[3];
        memcpy(leg, corner[(k + 1) % sides], sizeof leg);
        dd__add(leg, -1.0, corner[k]);
        dd_v3_cross(outline->burgers, leg, n);
        dd__unit(n, outline->normal[k]);
    }
    /* Of interstitials or of vacancies. */
    if (draw_below(generator, object, DRAW_SIGN, 2) == 1) {
        for (int i = 0; i < 3; i++) {
            outline->burgers[i] = -outline->burgers[i];
        }
    }
}

const dd__shape dd__loops = {
    .closed = true, .size = loop_size, .extent = loop_extent, .least_pieces = 1, .make = loop_make};

/* --- lines and chains: from a place to its image in another box, in a {111} plane --- */

static double line_length(const dd_generator *generator, bool along_112)
{
    return (along_112 ? sqrt(6.0) : sqrt(2.0)) * generator->value[DD_KEY_BOX];
}

/* Legs on the straight way from a random place to its image, all on one plane; true corners come later. */
static void draw_line(const dd_generator *generator, uint64_t object, bool along_112, int nlegs, dd__outline *outline)
{
    double sign[3], d[3], place[3];
    const int number = draw_below(generator, object, DRAW_LINE, 3);

    draw_system(generator, object, sign, outline->burgers, outline->normal[0]);
    draw_place(generator, object, place);
    if (along_112) {
        line_112(sign, number, d);
    } else {
        line_110(sign, number, d);
    }
    for (int k = 0; k <= nlegs; k++) {
        memcpy(outline->corner[k], place, sizeof place);
        dd__add(outline->corner[k], generator->value[DD_KEY_BOX] * k / nlegs, d);
    }
    for (int k = 1; k < nlegs; k++) {
        memcpy(outline->normal[k], outline->normal[0], sizeof outline->normal[k]);
    }
}

static void line_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = 1;
    *longest = line_length(generator, generator->value[DD_KEY_ALONG] > 0.0);
}

static void line_make(const dd_generator *generator, uint64_t object, dd__outline *outline)
{
    draw_line(generator, object, generator->value[DD_KEY_ALONG] > 0.0, 1, outline);
}

const dd__shape dd__lines = {.closed = true, .size = line_size, .extent = NULL, .least_pieces = 1, .make = line_make};

/* How far a corner may lie off the straight line, to either side. */
static double chain_spread(const dd_generator *generator)
{
    return generator->value[DD_KEY_SPREAD] * line_length(generator, false) / generator->value[DD_KEY_CORNERS];
}

static void chain_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = (int)generator->value[DD_KEY_CORNERS];
    *longest = hypot(line_length(generator, false) / *nlegs, 2.0 * chain_spread(generator));
}

static void chain_make(const dd_generator *generator, uint64_t object, dd__outline *outline)
{
    const int nlegs = (int)generator->value[DD_KEY_CORNERS];
    const double spread = chain_spread(generator);
    double along[3], across[3];

    draw_line(generator, object, false, nlegs, outline);
    memcpy(along, outline->corner[nlegs], sizeof along);
    dd__add(along, -1.0, outline->corner[0]);
    dd_v3_cross(outline->normal[0], along, across);
    dd__unit(across, across);
    for (int k = 0; k <= nlegs; k++) {
        double off = spread * (2.0 * draw_uniform(generator, object, DRAW_CORNER + k % nlegs) - 1.0);
        dd__add(outline->corner[k], off, across);
    }
}

const dd__shape dd__chains = {
    .closed = true, .size = chain_size, .extent = NULL, .least_pieces = 1, .make = chain_make};
