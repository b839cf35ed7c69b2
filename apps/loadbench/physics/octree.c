/* SPDX-License-Identifier: BSD-3-Clause */
/* Leaves of an octree that is refined towards a sphere. */
#include "mesh.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>

/* Levels at most; a leaf's corner is given in units of the smallest one. */
#define LEVELS 14
#define SIDE (INT64_C(1) << LEVELS)

/* The sphere: one about the middle of the cube. */
#define RADIUS 0.3

typedef struct leaf {
    int64_t at[3], side;
    uint64_t code; /* of its corner along the Morton curve: leaves come in this order */
} leaf;

typedef struct leaves {
    double finest, growth; /* a cube is cut while its edge is longer than finest + growth * distance */
    int64_t n, room;
    leaf *of;   /* [n]; NULL: they are only counted */
    bool keeps; /* whether they are not */
} leaves;

static uint64_t code_of(const int64_t at[3])
{
    uint64_t code = 0;

    for (int b = LEVELS - 1; b >= 0; b--) {
        for (int d = 0; d < 3; d++) {
            code = code << 1 | ((uint64_t)at[d] >> b & 1);
        }
    }
    return code;
}

static double distance(const int64_t at[3], int64_t side)
{
    double r2 = 0.0;

    for (int d = 0; d < 3; d++) {
        const double x = ((double)at[d] + 0.5 * (double)side) / (double)SIDE - 0.5;
        r2 += x * x;
    }
    return fabs(sqrt(r2) - RADIUS);
}

static int refine(leaves *l, const int64_t at[3], int64_t side)
{
    int code = EQP_OK;

    if (side > 1 && (double)side / (double)SIDE > l->finest + l->growth * distance(at, side)) {
        for (int c = 0; c < 8 && code == EQP_OK; c++) {
            const int64_t half = side / 2,
                          child[3] = {at[0] + half * (c >> 2), at[1] + half * (c >> 1 & 1), at[2] + half * (c & 1)};
            code = refine(l, child, half);
        }
        return code;
    }
    if (l->keeps) {
        EQP_TRY(eqp_array_reserve(&l->of, &l->room, l->n + 1, sizeof *l->of));
        l->of[l->n] = (leaf){{at[0], at[1], at[2]}, side, code_of(at)};
    }
    l->n++;
done:
    return code;
}

/* The edge of the finest cubes for which there are n or a few more. */
static double find_finest(double n, double growth)
{
    const int64_t corner[3] = {0, 0, 0};
    double low = 1.0 / (double)SIDE, high = 2.0;

    for (int i = 0; i < 24; i++) {
        leaves l = {.finest = sqrt(low * high), .growth = growth};
        (void)refine(&l, corner, SIDE); /* counts: cannot fail */
        if ((double)l.n >= n) {
            low = l.finest;
        } else {
            high = l.finest;
        }
    }
    return low;
}

/* The leaf that holds a place: leaves fill the cube. */
static int64_t leaf_at(const leaves *l, const int64_t at[3])
{
    const uint64_t code = code_of(at);
    int64_t low = 0, high = l->n;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (l->of[middle].code <= code) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Across each face lies a leaf of the same size, which joins if it comes later, a larger one, which joins, or several
 * smaller ones, which join by themselves. */
static int join_faces(const leaves *l, lb__mesh *mesh, int64_t i)
{
    const leaf *of = &l->of[i];
    int code = EQP_OK;

    for (int face = 0; face < 6; face++) {
        int64_t at[3] = {of->at[0], of->at[1], of->at[2]};
        at[face / 2] += face % 2 ? of->side : -of->side;
        if (at[face / 2] >= 0 && at[face / 2] < SIDE) {
            const int64_t j = leaf_at(l, at);
            const bool joins = l->of[j].side > of->side || (l->of[j].side == of->side && j > i);
            EQP_TRY(joins ? lb__mesh_pair(mesh, i, j) : EQP_OK);
        }
    }
done:
    return code;
}

static int make_octree(const lb_generator *generator, lb__mesh *mesh)
{
    const double growth = generator->value[LB_KEY_OWN];
    const int64_t corner[3] = {0, 0, 0};
    leaves l = {.finest = find_finest(generator->value[LB_KEY_N], growth), .growth = growth, .keeps = true};
    int code;

    EQP_TRY(refine(&l, corner, SIDE));
    for (int64_t i = 0; i < l.n; i++) {
        const leaf *of = &l.of[i];
        const double half = 0.5 * (double)of->side, unit = 1.0 / (double)SIDE;
        EQP_TRY(lb__mesh_point(mesh, unit * ((double)of->at[0] + half), unit * ((double)of->at[1] + half),
                               unit * ((double)of->at[2] + half)));
    }
    for (int64_t i = 0; i < l.n; i++) {
        EQP_TRY(join_faces(&l, mesh, i));
    }
done:
    free(l.of);
    return code;
}

const lb__kind lb__octree = {make_octree, false};
