/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of the iterations of a loop over space, a line of seconds each, for bench_loops: the N-body runs of
 * section 4.5 of the thesis (<equipoise/more/loops.h>), whose iterations are the 512 leaves of an octree.
 *
 *   build/bench/bench_loop_cells gaussian 100000 pairs > costs
 *   build/bench/bench_loops costs 8 master 0 1 static guided
 *
 * Arguments: how particles lie in the unit cube (uniform, corner, gaussian), how many, and what an iteration is:
 *   pairs   a cell of level 3: its particles with those of it and its neighbours, as in the thesis' multipole method
 *   cells   the same cell: the forces on its particles by the walk of barneshut
 *   groups  a target group of barneshut, at most 64 particles
 * Cells come in Morton order, groups in Hilbert order. The counts are exact, the seconds of each kind those that the
 * app begins with, so the numbers are the same anywhere. */
#include "defaults.h"
#include "forces/tasks.h"
#include "serial.h"
#include "timing.h"

#include <equipoise/error.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, CELLS = SIDE * SIDE * SIDE };

/* A clump, cut off by the cube. The thesis gives no parameters, only results. These widths reproduce the c.o.v. of
 * static chunking on two ranks in table 4.2, 0.44 and 0.96. The gain of guided scheduling, 11 to 18 %, needs the most
 * expensive cells behind a fraction 1 - (15/16)^2 of the order, not in the first octant. */
static const struct {
    const char *name;
    double middle[3], sigma; /* sigma 0: uniform */
} kinds[] = {
    {"uniform", {0.5, 0.5, 0.5}, 0.0}, {"corner", {1.0, 0.0, 0.0}, 0.8}, {"gaussian", {0.75, 0.25, 0.25}, 0.305}};

typedef struct particles {
    int64_t n;
    double *x[3], *mass;
} particles;

/* Coordinate k of particle i: its first draw inside the cube. */
static double draw(double middle, double sigma, int64_t i, int k)
{
    for (uint64_t t = 0;; t++) {
        const uint64_t counter = 3 * t + (uint64_t)k;
        double deviate[2], at;
        eqp_random_normal(1, (uint64_t)i, counter, deviate);
        at = sigma > 0.0 ? middle + sigma * deviate[0] : eqp_random_uniform(1, (uint64_t)i, counter);
        if (at >= 0.0 && at < 1.0) {
            return at;
        }
    }
}

static void make_particles(const char *name, int64_t n, particles *all)
{
    size_t kind = 0;

    while (kind < sizeof kinds / sizeof kinds[0] && strcmp(kinds[kind].name, name) != 0) {
        kind++;
    }
    if (kind == sizeof kinds / sizeof kinds[0]) {
        bench_die("particles are uniform, corner or gaussian");
    }
    all->n = n;
    all->mass = bench_room(n, sizeof(double));
    for (int k = 0; k < 3; k++) {
        all->x[k] = bench_room(n, sizeof(double));
        for (int64_t i = 0; i < n; i++) {
            all->x[k][i] = draw(kinds[kind].middle[k], kinds[kind].sigma, i, k);
            all->mass[i] = 1.0 / (double)n;
        }
    }
}

/* Number of a cell in Morton order, x in the lowest of every three bits. */
static int morton(const int at[3])
{
    int key = 0;

    for (int bit = 0; bit < 3; bit++) {
        for (int k = 0; k < 3; k++) {
            key |= (at[k] >> bit & 1) << (3 * bit + k);
        }
    }
    return key;
}

/* Inverse of morton(). */
static void place_of(int cell, int at[3])
{
    at[0] = at[1] = at[2] = 0;
    for (int bit = 0; bit < 9; bit++) {
        at[bit % 3] |= (cell >> bit & 1) << (bit / 3);
    }
}

static int cell_of(double x, double y, double z)
{
    const int at[3] = {(int)(SIDE * x), (int)(SIDE * y), (int)(SIDE * z)};

    return morton(at);
}

static void print_seconds(const bh_counts *counts)
{
    double seconds = 0.0;

    for (int k = 0; k < BH_KINDS; k++) {
        seconds += bh_kind_nominal[k] * (double)counts->of[k];
    }
    printf("%.9g\n", seconds);
}

static void print_pairs(const particles *all)
{
    int64_t count[CELLS] = {0};

    for (int64_t i = 0; i < all->n; i++) {
        count[cell_of(all->x[0][i], all->x[1][i], all->x[2][i])]++;
    }
    for (int cell = 0; cell < CELLS; cell++) {
        bh_counts counts = {{0}};
        int at[3];
        int64_t near = 0;
        place_of(cell, at);
        for (int j = 0; j < 27; j++) {
            const int beside[3] = {at[0] + j % 3 - 1, at[1] + j / 3 % 3 - 1, at[2] + j / 9 - 1};
            bool inside = true;
            for (int k = 0; k < 3; k++) {
                inside = inside && beside[k] >= 0 && beside[k] < SIDE;
            }
            near += inside ? count[morton(beside)] : 0;
        }
        counts.of[BH_KIND_PAIR] = count[cell] * near;
        print_seconds(&counts);
    }
}

/* Cost of the interactions that the walk lists for the targets x, y, z [group->count]. */
static void add_group(const bh_tree *tree, const bh_group *group, bh_list *list, bh_counts *sum)
{
    const bh_mac mac = {.theta = BH_DEFAULT_THETA, .G = 1.0};
    bh_counts counts;

    bench_check(bh_walk(tree, group, &mac, NULL, list), "walk failed");
    counts.of[BH_KIND_PAIR] = group->count * list->nsources;
    counts.of[BH_KIND_CELL] = group->count * list->ncells;
    counts.of[BH_KIND_LISTED] = list->ncells + list->nsources;
    counts.of[BH_KIND_VISIT] = list->nvisits;
    counts.of[BH_KIND_GROUP] = 1;
    bh_counts_add(sum, &counts);
}

static void print_groups(const bh_serial *serial, bh_list *list)
{
    for (int64_t g = 0; g < serial->ngroups; g++) {
        bh_counts counts = {{0}};
        add_group(&serial->tree, &serial->group[g], list, &counts);
        print_seconds(&counts);
    }
}

/* Prints the particles of a cell in tree order, in runs as large as groups. */
static void print_cells(const bh_serial *serial, bh_list *list)
{
    const bh_sources *at = &serial->tree.sources;
    int64_t first[CELLS + 1] = {0}, next[CELLS];
    double *x[3];

    for (int k = 0; k < 3; k++) {
        x[k] = bench_room(serial->n, sizeof(double));
    }
    for (int64_t i = 0; i < serial->n; i++) {
        first[cell_of(at->x[i], at->y[i], at->z[i]) + 1]++;
    }
    for (int c = 0; c < CELLS; c++) {
        next[c] = first[c];
        first[c + 1] += first[c];
    }
    for (int64_t i = 0; i < serial->n; i++) {
        const int64_t to = next[cell_of(at->x[i], at->y[i], at->z[i])]++;
        x[0][to] = at->x[i];
        x[1][to] = at->y[i];
        x[2][to] = at->z[i];
    }
    for (int c = 0; c < CELLS; c++) {
        bh_counts counts = {{0}};
        for (int64_t i = first[c]; i < first[c + 1]; i += BH_DEFAULT_GROUP_SIZE) {
            const int64_t left = first[c + 1] - i;
            bh_group group = {.first = i,
                              .count = (int32_t)(left < BH_DEFAULT_GROUP_SIZE ? left : BH_DEFAULT_GROUP_SIZE)};
            bh_group_bounds(group.count, x[0] + i, x[1] + i, x[2] + i, group.lo, group.hi);
            add_group(&serial->tree, &group, list, &counts);
        }
        print_seconds(&counts);
    }
    for (int k = 0; k < 3; k++) {
        free(x[k]);
    }
}

static void print_walked(const particles *all, bool cells)
{
    bh_serial serial;
    bh_list list;

    bh_list_init(&list);
    bench_check(bh_serial_build(&serial, all->n, all->x[0], all->x[1], all->x[2], all->mass, NULL, BH_DEFAULT_LEAF_SIZE,
                                BH_DEFAULT_GROUP_SIZE),
                "cannot build the tree");
    if (cells) {
        print_cells(&serial, &list);
    } else {
        print_groups(&serial, &list);
    }
    bh_list_free(&list);
    bh_serial_free(&serial);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    particles all;
    const long long n = argc == 4 ? strtoll(argv[2], &end, 10) : 0;

    if (argc != 4 || *end != '\0' || n < 1) {
        bench_die("uniform|corner|gaussian N pairs|cells|groups");
    }
    make_particles(argv[1], n, &all);
    if (strcmp(argv[3], "pairs") == 0) {
        print_pairs(&all);
    } else if (strcmp(argv[3], "cells") == 0 || strcmp(argv[3], "groups") == 0) {
        print_walked(&all, argv[3][0] == 'c');
    } else {
        bench_die("iterations are pairs, cells or groups");
    }
    for (int k = 0; k < 3; k++) {
        free(all.x[k]);
    }
    free(all.mass);
    return ferror(stdout) || fflush(stdout) != 0;
}
