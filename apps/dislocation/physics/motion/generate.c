/* SPDX-License-Identifier: BSD-3-Clause */
#include "generate.h"

#include "../network/vector.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LEGS 64

/* A polygon line of nlegs straight legs from corner[j] to corner[j + 1], not folded into the box. Where it is closed
 * the last corner is the first one or a periodic image of it. */
typedef struct dd_outline {
    double burgers[3]; /* length 1, for the sense from corner 0 to corner 1 */
    double corner[MOST_LEGS + 1][3];
    double normal[MOST_LEGS][3];
} dd_outline;

typedef struct dd_shape {
    bool closed;      /* false: both ends are pinned */
    int least_pieces; /* per leg */
    /* Sets the number of legs and the length of an object's longest possible leg. Returns the largest extent of an
     * object in units of the box's edge; 0: it closes through the box. */
    double (*size)(const dd_generator *generator, int *nlegs, double *longest);
    void (*make)(const dd_generator *generator, uint64_t object, dd_outline *outline);
} dd_shape;

/* Keys of each kind. */
enum { DD_KEY_LENGTH = DD_KEY_OWN, DD_KEY_ANGLE };   /* frank-read */
enum { DD_KEY_RADIUS = DD_KEY_OWN, DD_KEY_SIDES };   /* loops */
enum { DD_KEY_ALONG = DD_KEY_OWN };                  /* lines */
enum { DD_KEY_CORNERS = DD_KEY_OWN, DD_KEY_SPREAD }; /* chains */

#define PI 3.14159265358979323846

/* Random draws of an object: the object is the stream, these are the counters. */
enum { DRAW_PLANE, DRAW_BURGERS, DRAW_SIGN, DRAW_LINE, DRAW_PLACE, DRAW_CORNER = DRAW_PLACE + 3 };

static int draw_below(const dd_generator *generator, uint64_t object, int what, uint64_t n)
{
    return (int)eqp_random_below(generator->seed, object, (uint64_t)what, n);
}

static void draw_place(const dd_generator *generator, uint64_t object, double x[3])
{
    for (int i = 0; i < 3; i++) {
        x[i] = generator->value[DD_KEY_BOX] *
               (eqp_random_uniform(generator->seed, object, DRAW_PLACE + (uint64_t)i) - 0.5);
    }
}

/* One of the three <110> directions in a {111} plane, components 0 and +-1. */
static void line_110(const double sign[3], int number, double d[3])
{
    d[number] = 0.0;
    d[(number + 1) % 3] = sign[(number + 1) % 3];
    d[(number + 2) % 3] = -sign[(number + 2) % 3];
}

/* Draws a slip system: signs of one of the four {111} planes, whose normal is sign / sqrt(3), the Burgers vector
 * (length 1), and the plane's normal. */
static void draw_system(const dd_generator *generator, uint64_t object, double sign[3], double burgers[3],
                        double normal[3])
{
    const int plane = draw_below(generator, object, DRAW_PLANE, 4);
    double d[3];

    sign[0] = (plane & 1) != 0 ? -1.0 : 1.0;
    sign[1] = (plane & 2) != 0 ? -1.0 : 1.0;
    sign[2] = 1.0;
    line_110(sign, draw_below(generator, object, DRAW_BURGERS, 3), d);
    dd__unit(d, burgers);
    dd__unit(sign, normal);
}

/* --- frank-read: one straight leg with pinned ends --- */

static double source_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = 1;
    *longest = generator->value[DD_KEY_LENGTH];
    return *longest / generator->value[DD_KEY_BOX];
}

static void source_make(const dd_generator *generator, uint64_t object, dd_outline *outline)
{
    const double half = 0.5 * generator->value[DD_KEY_LENGTH];
    const double angle = generator->value[DD_KEY_ANGLE] * PI / 180.0;
    double sign[3], across[3], centre[3];

    draw_system(generator, object, sign, outline->burgers, outline->normal[0]);
    draw_place(generator, object, centre);
    dd_v3_cross(outline->normal[0], outline->burgers, across);
    for (int end = 0; end < 2; end++) {
        double *x = outline->corner[end], to = end == 0 ? -half : half;
        dd_v3_along(centre, to * cos(angle), outline->burgers, x);
        dd__add(x, to * sin(angle), across);
    }
}

static const dd_shape shape_frank_read = {false, 2, source_size, source_make};

/* --- loops: closed polygons in the plane across their Burgers vector, which glide along it --- */

static double loop_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = (int)generator->value[DD_KEY_SIDES];
    *longest = 2.0 * generator->value[DD_KEY_RADIUS] * sin(PI / *nlegs);
    return 4.0 * generator->value[DD_KEY_RADIUS] / generator->value[DD_KEY_BOX];
}

/* Corners of a rhombus whose sides lie in the two {111} planes that hold the Burgers vector d. */
static void rhombus(const double d[3], double side, double corner[4][3])
{
    double edge[2][3];

    /* A plane contains d = (.., p, q) if its signs there are p and -q; the sign where d is 0 distinguishes the two
     * planes. */
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
        dd_v3_scale(-1.0, edge[1]);
    }
    for (int k = 0; k < 4; k++) {
        memset(corner[k], 0, sizeof corner[k]);
        dd__add(corner[k], k == 0 || k == 3 ? -0.5 * side : 0.5 * side, edge[0]);
        dd__add(corner[k], k < 2 ? -0.5 * side : 0.5 * side, edge[1]);
    }
}

static void loop_make(const dd_generator *generator, uint64_t object, dd_outline *outline)
{
    const double radius = generator->value[DD_KEY_RADIUS];
    const int sides = (int)generator->value[DD_KEY_SIDES];
    double sign[3], normal[3], centre[3], across[3], corner[MOST_LEGS][3] = {{0}};

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
        dd_v3_along(centre, 1.0, corner[k % sides], outline->corner[k]);
    }
    for (int k = 0; k < sides; k++) {
        double leg[3], n[3];
        dd_v3_minus(corner[(k + 1) % sides], corner[k], leg);
        dd_v3_cross(outline->burgers, leg, n);
        dd__unit(n, outline->normal[k]);
    }
    /* Interstitial or vacancy loops. */
    dd_v3_scale(draw_below(generator, object, DRAW_SIGN, 2) == 1 ? -1.0 : 1.0, outline->burgers);
}

static const dd_shape shape_loops = {true, 1, loop_size, loop_make};

/* --- lines and chains: from a place to its image in another box, in a {111} plane --- */

static double line_length(const dd_generator *generator, bool along_112)
{
    return (along_112 ? sqrt(6.0) : sqrt(2.0)) * generator->value[DD_KEY_BOX];
}

/* Legs on the straight line from a random place to its image, all on one plane; the actual corners come later. */
static void draw_line(const dd_generator *generator, uint64_t object, bool along_112, int nlegs, dd_outline *outline)
{
    double sign[3], d[3], place[3];
    const int number = draw_below(generator, object, DRAW_LINE, 3);

    draw_system(generator, object, sign, outline->burgers, outline->normal[0]);
    draw_place(generator, object, place);
    line_110(sign, number, d);
    if (along_112) { /* perpendicular to it, in the plane */
        dd_v3_copy(d, sign);
        d[number] = -2.0 * sign[number];
    }
    for (int k = 0; k <= nlegs; k++) {
        dd_v3_along(place, generator->value[DD_KEY_BOX] * k / nlegs, d, outline->corner[k]);
        if (k > 0 && k < nlegs) {
            dd_v3_copy(outline->normal[k], outline->normal[0]);
        }
    }
}

static double line_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = 1;
    *longest = line_length(generator, generator->value[DD_KEY_ALONG] > 0.0);
    return 0.0;
}

static void line_make(const dd_generator *generator, uint64_t object, dd_outline *outline)
{
    draw_line(generator, object, generator->value[DD_KEY_ALONG] > 0.0, 1, outline);
}

static const dd_shape shape_lines = {true, 1, line_size, line_make};

/* Largest distance of a corner from the straight line, to either side. */
static double chain_spread(const dd_generator *generator)
{
    return generator->value[DD_KEY_SPREAD] * line_length(generator, false) / generator->value[DD_KEY_CORNERS];
}

static double chain_size(const dd_generator *generator, int *nlegs, double *longest)
{
    *nlegs = (int)generator->value[DD_KEY_CORNERS];
    *longest = hypot(line_length(generator, false) / *nlegs, 2.0 * chain_spread(generator));
    return 0.0;
}

static void chain_make(const dd_generator *generator, uint64_t object, dd_outline *outline)
{
    const int nlegs = (int)generator->value[DD_KEY_CORNERS];
    const double spread = chain_spread(generator);
    double along[3], across[3];

    draw_line(generator, object, false, nlegs, outline);
    dd_v3_minus(outline->corner[nlegs], outline->corner[0], along);
    dd_v3_cross(outline->normal[0], along, across);
    dd__unit(across, across);
    for (int k = 0; k <= nlegs; k++) {
        const double u = eqp_random_uniform(generator->seed, object, DRAW_CORNER + (uint64_t)(k % nlegs));
        dd__add(outline->corner[k], spread * (2.0 * u - 1.0), across);
    }
}

static const dd_shape shape_chains = {true, 1, chain_size, chain_make};

#define MOST 9007199254740992.0 /* 2^53: tags are exact in a double */
#define LARGEST_SHARE 0.25      /* of the box's edge that a segment may have */

#define KEY_N(number) [DD_KEY_N] = {"n", (number), 1, 1e9, true, "number of objects"}
#define KEY_BOX [DD_KEY_BOX] = {"box", 35000, 100, 1e9, false, "edge of the periodic box, in b"}
#define KEY_MAXSEG [DD_KEY_MAXSEG] = {"maxseg", 800, 1, 1e9, false, "longest segment, in b"}

static const app_recipe_kind kinds[] = {
    {"frank-read",
     "Frank-Read sources: straight lines between two pinned nodes, slip systems and places at random",
     &shape_frank_read,
     5,
     {KEY_N(12), KEY_BOX, KEY_MAXSEG,
      [DD_KEY_LENGTH] = {"length", 8000, 1, 1e9, false, "distance of the pinned nodes, in b; at most the box's edge"},
      [DD_KEY_ANGLE] = {"angle", 90, 0, 180, false, "between line and Burgers vector, in degrees: 0 screw, 90 edge"}}},
    {"loops",
     "prismatic loops: polygons across their Burgers vector, glide planes along it",
     &shape_loops,
     5,
     {KEY_N(100), KEY_BOX, KEY_MAXSEG,
      [DD_KEY_RADIUS] = {"radius", 1000, 1, 1e9, false, "of the corners, in b; at most a quarter of the box's edge"},
      [DD_KEY_SIDES] = {"sides", 4, 3, MOST_LEGS, true, "of a loop; 4: a rhombus whose glide planes are {111}"}}},
    {"lines",
     "straight lines that close through the box, in {111} planes",
     &shape_lines,
     4,
     {KEY_N(12), KEY_BOX, KEY_MAXSEG,
      [DD_KEY_ALONG] = {"along112", 0, 0, 1, true, "0: along <110>, screw and 60 degrees; 1: <112>, edge and 30"}}},
    {"chains",
     "a tangled network: bent lines that close through the box, in {111} planes",
     &shape_chains,
     5,
     {KEY_N(180), KEY_BOX,
      KEY_MAXSEG, [DD_KEY_CORNERS] = {"corners", 12, 1, MOST_LEGS, true, "of a line on its way through the box"},
      [DD_KEY_SPREAD] = {"spread", 0.25, 0, 2, false,
                         "how far corners lie off the straight line, in units of their distance; 0: straight"}}},
};

const app_recipes dd_generators = {"network", (int)(sizeof kinds / sizeof kinds[0]), kinds};

static const dd_shape *shape_of(const dd_generator *generator)
{
    return generator->kind->how;
}

/* --- sizes --- */

void dd_generator_box(const dd_generator *generator, double low[3], double box[3])
{
    for (int i = 0; i < 3; i++) {
        box[i] = generator->value[DD_KEY_BOX];
        low[i] = -0.5 * box[i];
    }
}

double dd_generator_maxseg(const dd_generator *generator)
{
    return fmin(generator->value[DD_KEY_MAXSEG], LARGEST_SHARE * generator->value[DD_KEY_BOX]);
}

/* Segments per leg, the same for all legs of all objects, so that tags follow from object numbers. */
static int64_t count_pieces(const dd_generator *generator, int *nlegs)
{
    const dd_shape *shape = shape_of(generator);
    double longest;

    (void)shape->size(generator, nlegs, &longest);
    /* Slightly more than enough, so that rounding makes no segment longer than the limit. */
    const int64_t pieces = (int64_t)ceil(longest / dd_generator_maxseg(generator) * (1.0 + 1e-6));
    return pieces > shape->least_pieces ? pieces : shape->least_pieces;
}

int64_t dd_generator_count(const dd_generator *generator)
{
    return (int64_t)generator->value[DD_KEY_N];
}

int64_t dd_generator_nodes(const dd_generator *generator)
{
    int nlegs;
    int64_t pieces = count_pieces(generator, &nlegs);

    return nlegs * pieces + (shape_of(generator)->closed ? 0 : 1);
}

/* Checks ranges, that objects fit into the box, and that tags fit into 64 bits. */
static int check(const dd_generator *generator, eqp_message *message)
{
    const app_recipe_kind *kind = generator->kind;
    double longest;
    int nlegs;

    if (!app_recipe_valid(generator)) {
        eqp_message_set(message, "%s: a value is out of its range", kind->name);
    } else if (shape_of(generator)->size(generator, &nlegs, &longest) > 1.0) {
        eqp_message_set(message, "%s: %s=%g is too large for box=%g", kind->name, kind->key[DD_KEY_OWN].name,
                        generator->value[DD_KEY_OWN], generator->value[DD_KEY_BOX]);
    } else if ((double)dd_generator_nodes(generator) * generator->value[DD_KEY_N] > MOST) {
        eqp_message_set(message, "%s: more nodes than can be numbered", kind->name);
    } else {
        return EQP_OK;
    }
    return EQP_ERR_ARGUMENT;
}

int dd_generator_parse(const char *text, dd_generator *generator, eqp_message *message)
{
    dd_generator made;

    EQP_CHECK(app_recipe_parse(&dd_generators, text, &made, message));
    EQP_CHECK(check(&made, message));
    *generator = made;
    return EQP_OK;
}

/* --- nodes --- */

/* Parameters of the nodes, common to all objects. */
typedef struct plan {
    bool closed;
    int nlegs;
    int64_t pieces, nodes;
    dd_tag first; /* tag of the object's first node */
    double low[3], box[3];
} plan;

/* Arm of node k towards the next node or (sense -1) the previous one, along a leg. */
static int add_arm(const plan *p, const dd_outline *outline, int64_t k, int sense, int leg, dd_node *node)
{
    const int64_t to = (k + sense + p->nodes) % p->nodes;
    dd_arm *arm;

    EQP_CHECK(dd_node_add_arm(node, p->first + (dd_tag)to, &arm));
    dd__add(arm->burgers, sense, outline->burgers);
    dd__add(arm->normal, 1.0, outline->normal[leg]);
    return EQP_OK;
}

static int add_node(const plan *p, const dd_outline *outline, int64_t k, dd_network *network)
{
    const int64_t last = p->nodes - 1;
    const int leg = k / p->pieces < p->nlegs ? (int)(k / p->pieces) : p->nlegs - 1;
    const int before = (int)((k > 0 ? k - 1 : last) / p->pieces); /* leg of the segment before node k */
    const double part = (double)(k - leg * p->pieces) / (double)p->pieces;
    dd_node node = {.tag = p->first + (dd_tag)k};
    int code = EQP_OK;

    for (int i = 0; i < 3; i++) {
        double x = (1.0 - part) * outline->corner[leg][i] + part * outline->corner[leg + 1][i];
        x -= p->box[i] * floor((x - p->low[i]) / p->box[i]);
        node.x[i] = x < p->low[i] + p->box[i] ? x : p->low[i];
    }
    node.constraint = !p->closed && (k == 0 || k == last) ? DD_PINNED : DD_FREE;
    if (p->closed || k > 0) {
        EQP_TRY(add_arm(p, outline, k, -1, before, &node));
    }
    if (p->closed || k < last) {
        EQP_TRY(add_arm(p, outline, k, 1, leg, &node));
    }
    EQP_TRY(dd_network_add(network, &node));
done:
    dd_node_free(&node);
    return code;
}

int dd_generator_make(const dd_generator *generator, int64_t first, int64_t n, dd_network *network)
{
    plan p = {.closed = shape_of(generator)->closed, .nodes = dd_generator_nodes(generator)};

    dd_generator_box(generator, p.low, p.box);
    p.pieces = count_pieces(generator, &p.nlegs);
    for (int64_t object = first; object < first + n; object++) {
        dd_outline outline;
        shape_of(generator)->make(generator, (uint64_t)object, &outline);
        p.first = (dd_tag)(object * p.nodes);
        for (int64_t k = 0; k < p.nodes; k++) {
            EQP_CHECK(add_node(&p, &outline, k, network));
        }
    }
    return EQP_OK;
}
