/* SPDX-License-Identifier: BSD-3-Clause */
#include "generate.h"

#include "shape.h"
#include "vector.h"

#include <equipoise/error.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 9007199254740992.0 /* 2^53: seeds and tags are exact in a double */
#define LARGEST_SHARE 0.25      /* of the box's edge that a segment may have */

#define KEY_N(number) [DD_KEY_N] = {"n", (number), 1, 1e9, true, "number of objects"}
#define KEY_BOX [DD_KEY_BOX] = {"box", 35000, 100, 1e9, false, "edge of the periodic box, in b"}
#define KEY_MAXSEG [DD_KEY_MAXSEG] = {"maxseg", 800, 1, 1e9, false, "longest segment, in b"}

static const dd_generator_kind table[] = {
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

#define NKINDS ((int)(sizeof table / sizeof table[0]))

static const dd_generator_key seed_key = {"seed", 0, 0, MOST, true, "random seed"};

const dd_generator_kind *dd_generator_table(int *nkinds)
{
    *nkinds = NKINDS;
    return table;
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
    const dd__shape *shape = generator->kind->shape;
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

    return nlegs * pieces + (generator->kind->shape->closed ? 0 : 1);
}

static bool in_range(const dd_generator_key *key, double value)
{
    return value >= key->least && value <= key->most && !(key->whole && value != floor(value));
}

/* Each value is in its range; all together make objects that fit into the box and tags that fit into 64 bits. */
static int check(const dd_generator *generator, eqp_message *message)
{
    const dd_generator_kind *kind = generator->kind;

    for (int i = 0; i < kind->nkeys; i++) {
        if (!in_range(&kind->key[i], generator->value[i])) {
            eqp_message_set(message, "%s: %s=%g is not a %snumber from %g to %g", kind->name, kind->key[i].name,
                            generator->value[i], kind->key[i].whole ? "whole " : "", kind->key[i].least,
                            kind->key[i].most);
            return EQP_ERR_ARGUMENT;
        }
    }
    if (kind->shape->extent != NULL && kind->shape->extent(generator) > 1.0) {
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

/* --- text --- */

/* Precision argument of printf's %.*s: long nonsense is cut, the message says enough without it. */
static int shown(size_t length)
{
    return length < 40 ? (int)length : 40;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

/* One `key=value` of the given length. */
static int read_item(dd_generator *generator, unsigned *said, const char *item, size_t length, eqp_message *message)
{
    const dd_generator_kind *kind = generator->kind;
    const char *equals = memchr(item, '=', length);
    const size_t name = equals == NULL ? length : (size_t)(equals - item);
    const dd_generator_key *key = NULL;
    int place = 0;

    for (; place <= kind->nkeys && key == NULL; place++) {
        const dd_generator_key *this = place < kind->nkeys ? &kind->key[place] : &seed_key;
        key = is_name(this->name, item, name) ? this : NULL;
    }
    if (key == NULL) {
        eqp_message_set(message, "%s has no key '%.*s'", kind->name, shown(name), item);
        return EQP_ERR_UNKNOWN;
    }
    if (equals == NULL || (*said & 1U << place) != 0) {
        eqp_message_set(message, "%s: %s %s", kind->name, key->name, equals == NULL ? "has no value" : "stands twice");
        return EQP_ERR_ARGUMENT;
    }
    *said |= 1U << place;
    char *end;
    const char *digits = equals + 1;
    size_t ndigits = length - name - 1;
    double number = ndigits > 0 && strchr(" \t\n\v\f\r", digits[0]) == NULL ? strtod(digits, &end) : NAN;
    if (isnan(number) || end != digits + ndigits || (key == &seed_key && !in_range(key, number))) {
        eqp_message_set(message, "%s: '%.*s' is no number for %s", kind->name, shown(ndigits), digits, key->name);
        return EQP_ERR_ARGUMENT;
    }
    if (key == &seed_key) {
        generator->seed = (uint64_t)number;
        generator->seeded = true;
    } else {
        generator->value[key - kind->key] = number;
    }
    return EQP_OK;
}

int dd_generator_parse(const char *text, dd_generator *generator, eqp_message *message)
{
    const size_t name = strcspn(text, ":");
    dd_generator made = {0};
    unsigned said = 0;

    for (int i = 0; i < NKINDS; i++) {
        made.kind = is_name(table[i].name, text, name) ? &table[i] : made.kind;
    }
    if (made.kind == NULL) {
        eqp_message_set(message, "no kind of network is called '%.*s'", shown(name), text);
        return EQP_ERR_UNKNOWN;
    }
    for (int i = 0; i < made.kind->nkeys; i++) {
        made.value[i] = made.kind->key[i].value;
    }
    for (const char *at = text + name; *at != '\0';) {
        at++; /* the colon or comma */
        size_t length = strcspn(at, ",");
        int code = read_item(&made, &said, at, length, message);
        if (code != EQP_OK) {
            return code;
        }
        at += length;
    }
    int code = check(&made, message);
    if (code == EQP_OK) {
        *generator = made;
    }
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
    int code = dd_node_add_arm(node, tag, &arm);

    if (code == EQP_OK) {
        dd__add(arm->burgers, sense, burgers);
        dd__add(arm->normal, 1.0, normal);
    }
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
    plan p = {.closed = generator->kind->shape->closed};

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
        generator->kind->shape->make(generator, (uint64_t)object, &outline);
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
