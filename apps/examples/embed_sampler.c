/* SPDX-License-Identifier: BSD-3-Clause */
/* A small N-body code that balances its interactions with libequipoise-sampling: short-range forces between pairs,
 * cell lists, leapfrog. It is serial, and plays the parts of PARTS ranks one after the other. docs/sampler.md explains
 * it.
 *
 * cc -std=c11 embed_sampler.c $(pkg-config --cflags --libs equipoise-sampling) -lm -o embed_sampler */
#include <equipoise/more/curve.h>
#include <equipoise/more/random.h>
#include <equipoise/units.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 2400, CLUMP = 400, GRID = 10, PARTS = 4, STEPS = 5, BATCH = 64 };

static const double CUTOFF = 1.0 / GRID;

struct particle {
    double x[3], v[3], f[3];
    uint64_t key; /* place along the curve */
    int64_t id;
    int next; /* in the same cell */
};

static struct particle particle[N];
static int head[GRID][GRID][GRID]; /* first particle of each cell, or -1 */

static int cell_along(double x)
{
    return x <= 0 ? 0 : x >= 1 ? GRID - 1 : (int)(x * GRID);
}

static void build_cells(void)
{
    memset(head, -1, sizeof head);
    for (int i = 0; i < N; i++) {
        const double *x = particle[i].x;
        int *first = &head[cell_along(x[0])][cell_along(x[1])][cell_along(x[2])];
        particle[i].next = *first;
        *first = i;
    }
}

/* The partners of particle i within the cutoff. Of every pair the particle with the smaller id is the owner. */
static int partners_of(int i, int partner[N])
{
    const double *x = particle[i].x;
    int n = 0;

    for (int c = 0; c < 27; c++) {
        int a = cell_along(x[0]) + c / 9 - 1, b = cell_along(x[1]) + c / 3 % 3 - 1, d = cell_along(x[2]) + c % 3 - 1;
        if (a < 0 || b < 0 || d < 0 || a >= GRID || b >= GRID || d >= GRID) {
            continue;
        }
        for (int j = head[a][b][d]; j >= 0; j = particle[j].next) {
            const double *y = particle[j].x;
            double r = sqrt(pow(y[0] - x[0], 2) + pow(y[1] - x[1], 2) + pow(y[2] - x[2], 2));
            if (particle[j].id > particle[i].id && r < CUTOFF) {
                partner[n++] = j;
            }
        }
    }
    return n;
}

/* A linear spring that pulls until the cutoff; both particles of the pair feel it. */
static void add_force(int i, int j)
{
    for (int k = 0; k < 3; k++) {
        double pull = particle[j].x[k] - particle[i].x[k];
        particle[i].f[k] += pull;
        particle[j].f[k] -= pull;
    }
}

/* Where an interaction is: the midpoint of the pair, relative to the owner, so that it moves with it. */
static void pair_centroid(int i, int j, double centroid[3])
{
    const double *x = particle[i].x, *y = particle[j].x;
    const double pair[6] = {x[0], x[1], x[2], y[0], y[1], y[2]};
    eqp_centroid(2, 3, pair, x, centroid);
}

/* All pairs of one owner, in batches. */
static int enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    int partner[N], n = partners_of((int)owner, partner);
    double centroid[BATCH][3];
    int64_t pin[BATCH];

    (void)user;
    for (int at = 0; at < n; at += BATCH) {
        eqp_batch batch = {.n = n - at < BATCH ? n - at : BATCH, .centroid = &centroid[0][0], .npins = 1, .pin = pin};
        for (int k = 0; k < batch.n; k++) {
            pair_centroid((int)owner, partner[at + k], centroid[k]);
            pin[k] = particle[partner[at + k]].id;
        }
        int code = eqp_sink_add(sink, &batch);
        if (code != EQP_OK) {
            return code;
        }
    }
    return EQP_OK;
}

/* Units that are small enough for two percent of imbalance on PARTS parts. */
static int select_units(eqp_units **units)
{
    int64_t id[N];
    eqp_units_options options = eqp_units_options_defaults();

    for (int i = 0; i < N; i++) {
        id[i] = particle[i].id;
    }
    options.nparts = PARTS;
    options.imbalance = 0.02;
    return eqp_units_create_serial(N, id, enumerate, NULL, &options, units);
}

/* Deals the units out: every part gets a run of them. A hypergraph partitioner would look at their pins, too. */
static double assign_units(const eqp_units *units, int *part)
{
    eqp_sizes sizes;
    double sum = 0, load[PARTS] = {0}, most = 0;

    eqp_units_sizes(units, &sizes);
    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        eqp_unit unit;
        eqp_units_get(units, u, &unit);
        part[u] = (int)fmin(PARTS - 1, (sum + unit.weight / 2) * PARTS / sizes.sum);
        load[part[u]] += unit.weight;
        sum += unit.weight;
        most = fmax(most, load[part[u]]);
    }
    return most * PARTS / sizes.sum - 1; /* the imbalance */
}

/* The force loop of one part: it computes an interaction if the interaction's unit is its own. */
static int compute_part(const eqp_units *units, const int *part, int mine)
{
    int partner[N], computed = 0;

    for (int i = 0; i < N; i++) {
        int n = partners_of(i, partner);
        for (int k = 0; k < n; k++) {
            double centroid[3];
            pair_centroid(i, partner[k], centroid);
            if (part[eqp_units_find(units, i, centroid)] == mine) {
                add_force(i, partner[k]);
                computed++;
            }
        }
    }
    return computed;
}

static int along_the_curve(const void *a, const void *b)
{
    const struct particle *p = a, *q = b;
    return (p->key > q->key) - (p->key < q->key);
}

/* A clump in a thin background. Sorted along a Hilbert curve, neighbours in memory are neighbours in space. */
static int make_particles(void)
{
    const double corner[3] = {0, 0, 0};
    int code = EQP_OK;

    for (int i = 0; i < N && code == EQP_OK; i++) {
        double *x = particle[i].x;
        for (int k = 0; k < 3; k++) {
            double u = eqp_random_uniform(1, (uint64_t)i, (uint64_t)k);
            x[k] = i < CLUMP ? 0.6 + 0.08 * u : u;
        }
        code = eqp_hilbert_keys(1, &x[0], &x[1], &x[2], corner, 1, &particle[i].key);
    }
    qsort(particle, N, sizeof particle[0], along_the_curve);
    for (int i = 0; i < N; i++) {
        particle[i].id = i;
    }
    return code;
}

static void print_units(const eqp_units *units, const int *part)
{
    for (int64_t u = 0; u < eqp_units_count(units); u += eqp_units_count(units) / 16) {
        eqp_unit unit;
        eqp_units_get(units, u, &unit);
        printf("part %d computes unit %10" PRId64 ": %3" PRId64 " pairs of particle %4" PRId64, part[u], unit.id,
               unit.interactions, unit.owner);
        if (unit.centroid) {
            printf(" around (%.3f, %.3f, %.3f)\n", unit.centroid[0], unit.centroid[1], unit.centroid[2]);
        } else {
            printf(" and the next %" PRId64 "\n", unit.owners - 1);
        }
    }
}

/* Returns whether the parts have computed as many pairs as there are. */
static bool take_step(const eqp_units *units, const int *part)
{
    int partner[N], pairs = 0, sum = 0;

    build_cells();
    for (int i = 0; i < N; i++) {
        memset(particle[i].f, 0, sizeof particle[i].f);
        pairs += partners_of(i, partner);
    }
    for (int mine = 0; mine < PARTS; mine++) { /* each of these would be a rank */
        const int computed = compute_part(units, part, mine);
        printf("%d%s", computed, mine < PARTS - 1 ? " + " : "");
        sum += computed;
    }
    printf(" of %d pairs\n", pairs);
    for (int i = 0; i < N; i++) { /* leapfrog: the units stay as they are while pairs come and go */
        for (int k = 0; k < 3; k++) {
            particle[i].v[k] += 0.05 * particle[i].f[k];
            particle[i].x[k] += 0.05 * particle[i].v[k];
        }
    }
    return sum == pairs;
}

int main(void)
{
    eqp_units *units = NULL;
    int code = make_particles();

    build_cells();
    code = code == EQP_OK ? select_units(&units) : code;
    int *part = code == EQP_OK ? malloc((size_t)eqp_units_count(units) * sizeof *part) : NULL;
    bool good = part != NULL;
    if (good) {
        const double imbalance = assign_units(units, part);
        printf("%" PRId64 " units, imbalance of the first step %.4f\n", eqp_units_count(units), imbalance);
        good = imbalance <= 0.02;
        print_units(units, part);
    }
    for (int step = 0; step < STEPS && good; step++) {
        good = take_step(units, part);
    }
    eqp_units_free(units);
    free(part);
    return !good;
}
