/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated networks. Each is a number of objects (sources, loops, lines), and object i is a pure function of the
 * generator and i, so any number of ranks gets the same nodes by ranges of objects. No arm connects two objects.
 * Directions are those of an FCC crystal along the axes: Burgers vectors 1/2<110> of length 1, glide planes {111}. The
 * box is a periodic cube about the origin. Every object has the same number of nodes, and node k of object i has the
 * tag i * nodes + k. Arms are reciprocal, Burgers vectors sum to 0 at every free node, nodes with one arm are pinned,
 * no arm has length 0 or more than dd_generator_maxseg(), and no two arms join the same nodes. */
#ifndef DD_GENERATE_H
#define DD_GENERATE_H

#include "../../../recipe/recipe.h"

#include "network/node.h"

/* Keys common to all kinds come first: number of objects, edge of the box, longest segment [b]. */
enum { DD_KEY_N, DD_KEY_BOX, DD_KEY_MAXSEG, DD_KEY_OWN };

typedef app_recipe dd_generator;

/* The kinds, for help texts and tests. */
extern const app_recipes dd_generators;

/* See app_recipe_parse(); also EQP_ERR_ARGUMENT for objects that are too large for the box. */
int dd_generator_parse(const char *text, dd_generator *generator, eqp_message *message);

/* Number of objects, and of nodes per object. */
int64_t dd_generator_count(const dd_generator *generator);
int64_t dd_generator_nodes(const dd_generator *generator);

void dd_generator_box(const dd_generator *generator, double low[3], double box[3]);

/* Longest segment: as requested, but at most a quarter of the box, so that nearest images are unambiguous. */
double dd_generator_maxseg(const dd_generator *generator);

/* Adds the nodes of objects [first, first + n) to a network, with home 0. O(nodes). EQP_OK or EQP_ERR_MEMORY. */
int dd_generator_make(const dd_generator *generator, int64_t first, int64_t n, dd_network *network);

#endif
