/* SPDX-License-Identifier: BSD-3-Clause */
#include "generate.h"

#include "shape.h"
#include "vector.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 9007199254740992.0 /* 2^53: tags are exact in a double */
#define LARGEST_SHARE 0.25      /* of the box's edge that a segment may have */

#define KEY_N(number) [DD_KEY_N] = {"n", (number), 1, 1e9, true, "number of objects"}
#define KEY_BOX [DD_KEY_BOX] = {"box", 35000, 100, 1e9, false, "edge of the periodic box, in b"}
#define KEY_MAXSEG [DD_KEY_MAXSEG] = {"maxseg", 800, 1, 1e9, false, "longest segment, in b"}

static const app_recipe_kind kinds[] = {
    {"frank-read",
     "Frank-Read sources: straight lines between two pinned nodes, slip systems and places at random",
     &dd__frank_read,
     5,
     {KEY_N(12), KEY_BOX, KEY_MAXSEG,
      [DD_KEY_LENGTH] = {"length", 8000, 1, 1e9, false, "distance of the pinned nodes, in b; at most the box's edge"},
      [DD_KEY_ANGLE] = {"angle", 90, 0, 180, false, "between line and Burgers vector, in degrees: 0 screw, 90 edge"}}},
    {"loops",
     "prismatic loops: polygons across their Burgers vector, glide planes along it",
     &dd__loops,
     5,
     {KEY_N(100), KEY_BOX, KEY_MAXSEG,
      [DD_KEY_RADIUS] = {"radius", 1000, 1, 1e9, false, "of the corners, in b; at most a quarter of the box's edge"},
      [DD_KEY_SIDES] = {"sides", 4, 3, DD_SHAPE_LEGS, true, "of a loop; 4: a rhombus whose glide planes are {111}"}}},
    {"lines",
     "straight lines that close through the box, in {111} planes",
     &dd__lines,
     4,
     {KEY_N(12), KEY_BOX, KEY_MAXSEG,
      [DD_KEY_ALONG] = {"along112", 0, 0, 1, true, "0: along <110>, screw and 60 degrees; 1: <112>, edge and 30"}}},
    {"chains",
     "a tangled network: bent lines that close through the box, in {111} planes",
     &dd__chains,
     5,
     {KEY_N(180), KEY_BOX,
      KEY_MAXSEG, [DD_KEY_CORNERS] = {"corners", 12, 1, DD_SHAPE_LEGS, true, "of a line on its way through the box"},
      [DD_KEY_SPREAD] = {"spread", 0.25, 0, 2, false,
                         "how far corners lie off the straight line, in units of their distance; 0: straight"}}},
};

const app_recipes dd_generators = {"network", (int)(sizeof kinds / sizeof kinds[0]), kinds};

static const dd__shape *shape_of(const dd_generator *generator)
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

/* Segments per leg: the same for all legs of all objects, so that tags follow from object numbers. */
static int64_t count_pieces(const dd_generator *generator, int *nlegs)
{
    const dd__shape *shape = shape_of(generator);
    double longest;

    shape->size(generator, nlegs, &longest);
    /* A bit more than enough: rounding must not make a segment longer than the limit. */
    int64_t pieces = (int64_t)ceil(longest / dd_generator_maxseg(generator) * (1.0 + 1e-6));
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

/* Each value is in its range; all together make objects that fit into the box and tags that fit into 64 bits. */
static int check(const dd_generator *generator, eqp_message *message)
{
    const app_recipe_kind *kind = generator->kind;

    if (!app_recipe_valid(generator)) {
        eqp_message_set(message, "%s: a value is out of its range", kind->name);
        return EQP_ERR_ARGUMENT;
    }
    if (shape_of(generator)->extent != NULL && shape_of(generator)->extent(generator) > 1.0) {
        eqp_message_set(message, "%s: %s=%g is too large for box=%g", kind->name, kind->key[DD_KEY_OWN].name,
                        generator->value[DD_KEY_OWN], generator->value[DD_KEY_BOX]);
        return EQP_ERR_ARGUMENT;
    }
    if ((double)dd_generator_nodes(generator) * generator->value[DD_KEY_N] > MOST) {
        eqp_message_set(message, "%s: more nodes than can be numbered", kind->name);
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

int dd_generator_parse(const char *text, dd_generator *generator, eqp_message *message)
{
    dd_generator made;
    int code;

    EQP_TRY(app_recipe_parse(&dd_generators, text, &made, message));
    EQP_TRY(check(&made, message));
    *generator = made;
done:
    return code;
}

/* --- nodes --- */

/* How the nodes of an object follow from its outline. */
typedef struct plan {
    bool closed;
    int nlegs;
    int64_t pieces, nodes;
    dd_tag first; /* tag of the object's first node */
    double low[3], box[3];
} plan;

static int add_arm(dd_node *node, dd_tag tag, double sense, const double burgers[3], const double normal[3])
{
    dd_arm *arm;
    int code;

    EQP_TRY(dd_node_add_arm(node, tag, &arm));
    dd__add(arm->burgers, sense, burgers);
    dd__add(arm->normal, 1.0, normal);
done:
    return code;
}

static int add_node(const plan *p, const dd__outline *outline, int64_t k, dd_network *network)
{
    const int64_t last = p->nodes - 1;
    const int leg = k / p->pieces < p->nlegs ? (int)(k / p->pieces) : p->nlegs - 1;
    const double part = (double)(k - leg * p->pieces) / (double)p->pieces;
    dd_node node = {.tag = p->first + (dd_tag)k};
    int code = EQP_OK;

    for (int i = 0; i < 3; i++) {
        double x = (1.0 - part) * outline->corner[leg][i] + part * outline->corner[leg + 1][i];
        x -= p->box[i] * floor((x - p->low[i]) / p->box[i]);
        node.x[i] = x < p->low[i] + p->box[i] ? x : p->low[i];
    }
    if (p->closed || k > 0) {
        /* The segment before node k is of the leg that ends there. */
        int before = (int)((k > 0 ? k - 1 : last) / p->pieces);
        code =
            add_arm(&node, p->first + (dd_tag)(k > 0 ? k - 1 : last), -1.0, outline->burgers, outline->normal[before]);
    }
    if (code == EQP_OK && (p->closed || k < last)) {
        code = add_arm(&node, p->first + (dd_tag)(k < last ? k + 1 : 0), 1.0, outline->burgers, outline->normal[leg]);
    }
    if (!p->closed && (k == 0 || k == last)) {
        node.constraint = DD_PINNED;
    }
    if (code == EQP_OK) {
        code = dd_network_add(network, &node);
    }
    if (code != EQP_OK) {
        dd_node_free(&node);
    }
    return code;
}

int dd_generator_make(const dd_generator *generator, int64_t first, int64_t n, dd_network *network)
{
    const int64_t before = network->n;
    int code = check(generator, NULL);
    plan p = {.closed = shape_of(generator)->closed};

    if (code == EQP_OK && (first < 0 || n < 0 || first > dd_generator_count(generator) - n)) {
        code = EQP_ERR_ARGUMENT;
    }
    if (code != EQP_OK) {
        return code;
    }
    dd_generator_box(generator, p.low, p.box);
    p.pieces = count_pieces(generator, &p.nlegs);
    p.nodes = dd_generator_nodes(generator);
    for (int64_t object = first; object < first + n && code == EQP_OK; object++) {
        dd__outline outline;
        shape_of(generator)->make(generator, (uint64_t)object, &outline);
        p.first = (dd_tag)(object * p.nodes);
        for (int64_t k = 0; k < p.nodes && code == EQP_OK; k++) {
            code = add_node(&p, &outline, k, network);
        }
    }
    while (code != EQP_OK && network->n > before) {
        dd_network_remove(network, network->n - 1);
    }
    return code;
}
