/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids, triangles, particles. Random number i belongs to point i. */
#include "graph.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

/* Largest displacement of a triangle mesh's points, in spacings; small enough that no triangle turns over. */
#define JITTER 0.2

#define CLUMPS 8
#define STREAM_CLUMPS (UINT64_C(1) << 42)
#define STREAM_DIAGONALS (UINT64_C(1) << 43)

static int64_t root_above(double n, double power)
{
    int64_t m = (int64_t)ceil(pow(n, 1.0 / power) - 1e-9);

    return m > 1 ? m : 1;
}

/* The first n cubes, by rows, then by layers. */
static int make_grid(const lb_generator *generator, lb__mesh *mesh)
{
    const int64_t n = (int64_t)generator->value[LB_KEY_N], m = root_above((double)n, 3.0);
    const double h = 1.0 / (double)m;

    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % m, y = i / m % m, z = i / (m * m);
        EQP_CHECK(lb__mesh_point(mesh, h * ((double)x + 0.5), h * ((double)y + 0.5), h * ((double)z + 0.5)));
        EQP_CHECK(x > 0 ? lb__mesh_pair(mesh, i - 1, i) : EQP_OK);
        EQP_CHECK(y > 0 ? lb__mesh_pair(mesh, i - m, i) : EQP_OK);
        EQP_CHECK(z > 0 ? lb__mesh_pair(mesh, i - m * m, i) : EQP_OK);
    }
    return EQP_OK;
}

const lb__kind lb__grid = {make_grid, false};

static double jittered(const lb_generator *generator, int64_t i, uint64_t axis)
{
    return 0.5 + JITTER * (2.0 * eqp_random_uniform(generator->seed, (uint64_t)i, axis) - 1.0);
}

/* Quadrangles, each cut along a random diagonal. */
static int make_triangles(const lb_generator *generator, lb__mesh *mesh)
{
    const int64_t n = (int64_t)generator->value[LB_KEY_N], m = root_above((double)n, 2.0);
    const double h = 1.0 / (double)m, grading = generator->value[LB_KEY_OWN];

    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % m, y = i / m;
        const bool rising = eqp_random_below(generator->seed, STREAM_DIAGONALS, (uint64_t)i, 2) == 1;
        EQP_CHECK(lb__mesh_point(mesh, pow(h * ((double)x + jittered(generator, i, 0)), grading),
                                 h * ((double)y + jittered(generator, i, 1)), 0.5));
        EQP_CHECK(x > 0 ? lb__mesh_pair(mesh, i - 1, i) : EQP_OK);
        EQP_CHECK(y > 0 ? lb__mesh_pair(mesh, i - m, i) : EQP_OK);
        if (x > 0 && y > 0) {
            EQP_CHECK(lb__mesh_pair(mesh, rising ? i - m - 1 : i - m, rising ? i : i - 1));
        }
    }
    return EQP_OK;
}

const lb__kind lb__triangles = {make_triangles, false};

/* Reflects into the unit cube. */
static double reflected(double x)
{
    const double turn = fabs(fmod(x, 2.0));

    return fmin(turn > 1.0 ? 2.0 - turn : turn, 1.0 - 1e-12);
}

/* Every other particle is spread evenly, the rest in clumps. */
static void place_particle(const lb_generator *generator, int64_t i, double at[3])
{
    const uint64_t seed = generator->seed, clump = eqp_random_below(seed, (uint64_t)i, 9, CLUMPS);
    double deviate[2];

    for (uint64_t d = 0; d < 3; d++) {
        at[d] = eqp_random_uniform(seed, (uint64_t)i, d);
        if (i % 2 == 0) {
            eqp_random_normal(seed, (uint64_t)i, 3 + d, deviate);
            at[d] = reflected(eqp_random_uniform(seed, STREAM_CLUMPS + clump, d) +
                              generator->value[LB_KEY_OWN + 1] * deviate[0]);
        }
    }
}

/* Particles by cells, which are no smaller than the cutoff. */
typedef struct cells {
    int64_t m;
    double cutoff;
    int64_t *head, *next; /* [m^3], [n] last particle of a cell, and the one before each; -1: none */
} cells;

static int64_t cell_of(const cells *c, const double at[3])
{
    return ((int64_t)(at[0] * (double)c->m) * c->m + (int64_t)(at[1] * (double)c->m)) * c->m +
           (int64_t)(at[2] * (double)c->m);
}

static bool near(const double a[3], const double b[3], double cutoff)
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};

    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < cutoff * cutoff;
}

/* Adds pairs of a particle with the particles that are already in the cells. */
static int find_pairs(const cells *c, lb__mesh *mesh, int64_t i)
{
    const double *at = mesh->centre[i];

    for (int k = 0; k < 27; k++) {
        const int64_t x = (int64_t)(at[0] * (double)c->m) + k / 9 - 1,
                      y = (int64_t)(at[1] * (double)c->m) + k / 3 % 3 - 1,
                      z = (int64_t)(at[2] * (double)c->m) + k % 3 - 1;
        const bool inside = x >= 0 && y >= 0 && z >= 0 && x < c->m && y < c->m && z < c->m;
        for (int64_t j = inside ? c->head[(x * c->m + y) * c->m + z] : -1; j >= 0; j = c->next[j]) {
            EQP_CHECK(near(at, mesh->centre[j], c->cutoff) ? lb__mesh_pair(mesh, j, i) : EQP_OK);
        }
    }
    return EQP_OK;
}

static int make_particles(const lb_generator *generator, lb__mesh *mesh)
{
    const int64_t n = (int64_t)generator->value[LB_KEY_N];
    cells c = {.cutoff = cbrt(3.0 * generator->value[LB_KEY_OWN] / (4.0 * PI * (double)n))};
    int code;

    c.m = c.cutoff < 1.0 ? (int64_t)(1.0 / c.cutoff) : 1;
    EQP_TRY(eqp_array_create(&c.head, c.m * c.m * c.m, sizeof *c.head));
    EQP_TRY(eqp_array_create(&c.next, n, sizeof *c.next));
    for (int64_t k = 0; k < c.m * c.m * c.m; k++) {
        c.head[k] = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        double at[3];
        place_particle(generator, i, at);
        EQP_TRY(lb__mesh_point(mesh, at[0], at[1], at[2]));
        EQP_TRY(find_pairs(&c, mesh, i));
        int64_t *head = &c.head[cell_of(&c, at)];
        c.next[i] = *head;
        *head = i;
    }
done:
    free(c.head);
    free(c.next);
    return code;
}

const lb__kind lb__particles = {make_particles, true};

/* Most levels; a leaf's corner is in units of the smallest leaf. */
#define LEVELS 14
#define SIDE (INT64_C(1) << LEVELS)

/* Radius of the sphere in the middle of the cube. */
#define RADIUS 0.3

typedef struct leaf {
    int64_t at[3], side;
    uint64_t code; /* of its corner on the Morton curve; leaves are in this order */
} leaf;

typedef struct leaves {
    double finest, growth; /* a cube is cut while its edge is longer than finest + growth * distance */
    int64_t n, room;
    leaf *of;   /* [n]; NULL: count only */
    bool keeps; /* false: count only */
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

/* Finest edge of cubes that gives n leaves or a few more. */
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

/* The leaf that contains a place; leaves fill the cube. */
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

/* Joins a leaf with its neighbours across each face: with one of equal size if it comes later, and with a larger one.
 * Smaller ones join by themselves. */
static int join_faces(const leaves *l, lb__mesh *mesh, int64_t i)
{
    const leaf *of = &l->of[i];

    for (int face = 0; face < 6; face++) {
        int64_t at[3] = {of->at[0], of->at[1], of->at[2]};
        at[face / 2] += face % 2 ? of->side : -of->side;
        if (at[face / 2] >= 0 && at[face / 2] < SIDE) {
            const int64_t j = leaf_at(l, at);
            const bool joins = l->of[j].side > of->side || (l->of[j].side == of->side && j > i);
            EQP_CHECK(joins ? lb__mesh_pair(mesh, i, j) : EQP_OK);
        }
    }
    return EQP_OK;
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
