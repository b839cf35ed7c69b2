/* SPDX-License-Identifier: BSD-3-Clause */
/* From particles in any order to a tree that can be walked, and the walks alone, phase by phase, as CSV.
 *
 *   build/bench/bench_tree > tree.csv
 *   build/bench/bench_tree 100000 16 64
 *
 * Arguments: particle counts (10000,100000,1000000), leaf size, group size. A Plummer sphere in the generator's order
 * (`fresh`), and the same after every particle moved by a hundredth of the scale length from where it had been sorted
 * (`moved`). Times are CPU seconds of this thread, least and median of several runs; ns is the least per particle, and
 * copies is the least in copies of positions and masses (32 bytes per particle, phase copy) in the same run. total
 * is keys, sort, permute (positions and masses) and tree (copies
 * them, cells, moments). Walks make the lists of all groups, without forces,
 * with the default geometric and relative criteria. */
#include "defaults.h"
#include "lists.h"
#include "timing.h"
#include "tree.h"
#include "walk.h"

#include <equipoise/error.h>
#include <equipoise/more/curve.h>
#include <equipoise/more/random.h>
#include <equipoise/survey.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 5

enum phase { COPY, KEYS, SORT, PERMUTE, TREE, TOTAL, GROUPS, WALK, WALK_RELATIVE, PHASES };
static const char *const phase_name[PHASES] = {"copy",  "keys",   "sort", "permute",      "tree",
                                               "total", "groups", "walk", "walk_relative"};

typedef struct bench {
    int64_t n;
    int leaf_size, group_size;
    double *x[4], *sorted[4]; /* x y z m */
    uint64_t *key, *sorted_key;
    int64_t *id;
    int32_t *order;
    double *accel;
    bh_box box;
    bh_tree tree;
} bench;

static void allocate(bench *b)
{
    for (int k = 0; k < 4; k++) {
        b->x[k] = bench_room(b->n, 8);
        b->sorted[k] = bench_room(b->n, 8);
    }
    b->key = bench_room(b->n, 8);
    b->sorted_key = bench_room(b->n, 8);
    b->id = bench_room(b->n, 8);
    b->order = bench_room(b->n, 4);
    b->accel = bench_room(b->n, 8);
    bh_tree_init(&b->tree, b->leaf_size);
}

static void release(bench *b)
{
    for (int k = 0; k < 4; k++) {
        free(b->x[k]);
        free(b->sorted[k]);
    }
    free(b->key);
    free(b->sorted_key);
    free(b->id);
    free(b->order);
    free(b->accel);
    bh_tree_free(&b->tree);
}

static void enclose(bench *b)
{
    double lo[3], hi[3];

    for (int k = 0; k < 3; k++) {
        lo[k] = hi[k] = b->x[k][0];
        for (int64_t i = 1; i < b->n; i++) {
            lo[k] = b->x[k][i] < lo[k] ? b->x[k][i] : lo[k];
            hi[k] = b->x[k][i] > hi[k] ? b->x[k][i] : hi[k];
        }
    }
    bench_check(bh_box_enclosing(lo, hi, &b->box), NULL);
}

/* Plummer sphere of scale length 1. */
static void make_particles(bench *b)
{
    char text[80];
    double *c[7];

    snprintf(text, sizeof text, "plummer:n=%lld,a=1,seed=%d", (long long)b->n, SEED);
    bench_load_particles(text, c);
    for (int k = 0; k < 7; k++) {
        if (k < 3 || k == 6) {
            memcpy(b->x[k < 3 ? k : 3], c[k], (size_t)b->n * sizeof *c[k]);
        }
        free(c[k]);
    }
    for (int64_t i = 0; i < b->n; i++) {
        b->id[i] = i;
    }
    enclose(b);
}

/* Normal steps from the sorted positions. */
static void move_particles(bench *b)
{
    for (int64_t i = 0; i < b->n; i++) {
        double step[4];
        eqp_random_normal(SEED, 0, (uint64_t)(2 * i), step);
        eqp_random_normal(SEED, 0, (uint64_t)(2 * i + 1), step + 2);
        for (int k = 0; k < 3; k++) {
            b->x[k][i] = b->sorted[k][i] + 0.01 * step[k];
        }
        b->x[3][i] = b->sorted[3][i];
    }
    enclose(b);
}

static void copy(bench *b)
{
    for (int k = 0; k < 4; k++) {
        memcpy(b->sorted[k], b->x[k], (size_t)b->n * sizeof *b->x[k]);
    }
}

static void permute(bench *b)
{
    for (int64_t i = 0; i < b->n; i++) {
        b->sorted_key[i] = b->key[b->order[i]];
    }
    for (int k = 0; k < 4; k++) {
        for (int64_t i = 0; i < b->n; i++) {
            b->sorted[k][i] = b->x[k][b->order[i]];
        }
    }
}

static void build(bench *b)
{
    const bh_interval everything = {0, EQP_CURVE_END};

    bench_check(bh_tree_build(&b->tree, &b->box, b->n, b->sorted_key, b->sorted[0], b->sorted[1], b->sorted[2],
                              b->sorted[3], 1, &everything, 0),
                NULL);
    bench_check(bh_tree_top(&b->tree, b->tree.nbranches, b->tree.cell, 0), NULL);
}

/* All phases up to the tree, timed one by one. */
static void make_tree(bench *b, bench_times times[PHASES])
{
    const double start = eqp_cpu_seconds();

    bench_check(eqp_hilbert_keys(b->n, b->x[0], b->x[1], b->x[2], b->box.corner, b->box.side, b->key), NULL);
    bench_times_add_since(&times[KEYS], start);
    const double keys = eqp_cpu_seconds();
    bench_check(bh_order(b->n, b->key, b->id, b->order), NULL);
    bench_times_add_since(&times[SORT], keys);
    const double sort = eqp_cpu_seconds();
    permute(b);
    bench_times_add_since(&times[PERMUTE], sort);
    const double tree = eqp_cpu_seconds();
    build(b);
    bench_times_add_since(&times[TREE], tree);
    bench_times_add_since(&times[TOTAL], start);
}

/* |a| of a Plummer sphere of unit mass and scale, for the relative criterion. */
static void know_accelerations(bench *b)
{
    for (int64_t i = 0; i < b->n; i++) {
        double r2 = 0;
        for (int k = 0; k < 3; k++) {
            r2 += b->sorted[k][i] * b->sorted[k][i];
        }
        b->accel[i] = sqrt(r2) / ((1 + r2) * sqrt(1 + r2));
    }
}

static void walk(const bench *b, int64_t ngroups, const bh_group *group, bool relative, bh_list *list)
{
    const bh_mac mac = {.theta = BH_DEFAULT_THETA, .relative = relative, .alpha = BH_DEFAULT_ALPHA, .G = 1};

    for (int64_t g = 0; g < ngroups; g++) {
        bench_check(bh_walk(&b->tree, &group[g], &mac, NULL, list), NULL);
    }
}

static void group_and_walk(bench *b, bench_times times[PHASES])
{
    int64_t ngroups;
    bh_group *group;
    bh_list list;

    know_accelerations(b);
    const double start = eqp_cpu_seconds();
    bench_check(bh_groups_make(&b->tree, b->sorted_key, b->group_size, b->accel, &ngroups, &group), NULL);
    bench_times_add_since(&times[GROUPS], start);
    bh_list_init(&list);
    for (int relative = 0; relative < 2; relative++) {
        const double begin = eqp_cpu_seconds();
        walk(b, ngroups, group, relative != 0, &list);
        bench_times_add_since(&times[relative ? WALK_RELATIVE : WALK], begin);
    }
    bh_list_free(&list);
    free(group);
}

static void print(const bench *b, const char *what, const bench_times times[PHASES])
{
    for (int p = 0; p < PHASES; p++) {
        const double least = bench_least(&times[p]);
        printf("%lld,%d,%d,%s,%s,%.6f,%.6f,%.2f,%.2f\n", (long long)b->n, b->leaf_size, b->group_size, what,
               phase_name[p], least, bench_median(&times[p]), 1e9 * least / (double)b->n,
               least / bench_least(&times[COPY]));
    }
    fflush(stdout);
}

static void run(bench *b, const char *what, int repetitions)
{
    bench_times times[PHASES] = {{0}};

    for (int r = -1; r < repetitions; r++) { /* the first is a warm-up */
        if (r == 0) {
            memset(times, 0, sizeof times);
        }
        const double start = eqp_cpu_seconds();
        copy(b);
        bench_times_add_since(&times[COPY], start);
        make_tree(b, times);
        group_and_walk(b, times);
    }
    print(b, what, times);
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "10000,100000,1000000";

    puts("n,leaf,group,order,phase,least_s,median_s,ns,copies");
    for (char *end; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        bench b = {.n = strtoll(text, &end, 10),
                   .leaf_size = argc > 2 ? atoi(argv[2]) : BH_DEFAULT_LEAF_SIZE,
                   .group_size = argc > 3 ? atoi(argv[3]) : BH_DEFAULT_GROUP_SIZE};
        if (end == text || b.n < 1 || (*end != ',' && *end != '\0')) {
            bench_die("[N,... [LEAF [GROUP]]]");
        }
        const int repetitions = b.n < 50000 ? 30 : b.n < 500000 ? 10 : 3;
        allocate(&b);
        make_particles(&b);
        run(&b, "fresh", repetitions);
        move_particles(&b);
        run(&b, "moved", repetitions);
        release(&b);
    }
    return 0;
}
