/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs to simulate diffusion, and to move elements by it.
 *
 *     taskset -c 1 build/bench/bench_diffusion [STEPS [CELLS]]
 *
 * 8, 64 and 512 parts, the boxes of a cubic grid with neighbours across faces, edges and corners, of CELLS (32) cells
 * along each axis with neighbours across faces. Cells weigh 0.5 to 1.5; in each part all weigh up to four times as much
 * as in another one. STEPS (1000) of diffusion.
 *
 * CSV, the least of REPEATS runs: simulate_ms is eqp_diffusion_simulate() with the imbalance that it begins with and
 * reaches after STEPS; graph_ms eqp_part_graph_create(); move_ms eqp_diffusion_move() to 2 %, with the imbalance that
 * it reaches. CPU milliseconds. */
#include "timing.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/diffusion.h>
#include <equipoise/more/random.h>
#include <equipoise/survey.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 7, MOST_SIDE = 128 };

typedef struct world {
    int side, parts_side, nparts;
    eqp_elements e;
    double *weight;
    int *part, *moved;
    int64_t *first, *edge;
} world;

static void check(int code)
{
    if (code) {
        bench_die("bench_diffusion", eqp_error_text(code));
    }
}

/* The cells next to a cell, across faces alone or across edges and corners too, are its edges. */
static void add_edges(world *w, const int at[3], int64_t *n, int corners)
{
    for (int k = 0; k < 27; k++) {
        const int step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        const int away = abs(step[0]) + abs(step[1]) + abs(step[2]);
        int inside = away >= 1 && (away == 1 || corners);
        for (int d = 0; d < 3; d++) {
            inside = inside && at[d] + step[d] >= 0 && at[d] + step[d] < w->side;
        }
        if (inside) {
            w->edge[(*n)++] = at[0] + step[0] + (int64_t)w->side * (at[1] + step[1] + w->side * (at[2] + step[2]));
        }
    }
}

static void make_world(world *w, int side, int parts_side, int corners)
{
    const int64_t n = (int64_t)side * side * side;
    int64_t nedges = 0;

    *w = (world){.side = side, .parts_side = parts_side, .nparts = parts_side * parts_side * parts_side};
    check(eqp_array_create(&w->weight, n, sizeof *w->weight));
    check(eqp_array_create(&w->part, n, sizeof *w->part));
    check(eqp_array_create(&w->moved, n, sizeof *w->moved));
    check(eqp_array_create(&w->first, n + 1, sizeof *w->first));
    check(eqp_array_create(&w->edge, (corners ? 26 : 6) * n, sizeof *w->edge));
    for (int64_t i = 0; i < n; i++) {
        const int at[3] = {(int)(i % side), (int)(i / side % side), (int)(i / side / side)};
        for (int d = 2; d >= 0; d--) {
            w->part[i] = w->part[i] * parts_side + at[d] * parts_side / side;
        }
        w->weight[i] =
            (0.5 + eqp_random_uniform(1, (uint64_t)i, 0)) * (1 + 3 * eqp_random_uniform(2, (uint64_t)w->part[i], 0));
        add_edges(w, at, &nedges, corners);
        w->first[i + 1] = nedges;
    }
    w->e = (eqp_elements){n, w->weight, w->part, w->first, w->edge, NULL};
}

static void free_world(world *w)
{
    free(w->weight);
    free(w->part);
    free(w->moved);
    free(w->first);
    free(w->edge);
}

/* Parts of one cell each: their graph has neighbours across corners. */
static void bench_simulate(int parts_side, int64_t steps)
{
    eqp_diffusion_options options = eqp_diffusion_options_defaults();
    bench_times times = {0};
    eqp_part_graph *graph = NULL;
    double *load_max = NULL, total = 0, largest = 0;
    int64_t convergence = 0;
    world w;

    make_world(&w, parts_side, parts_side, 1);
    check(eqp_part_graph_create(&w.e, w.nparts, NULL, &graph));
    check(eqp_array_create(&load_max, 2 * steps, sizeof *load_max));
    options.steps = steps;
    for (int k = 0; k < REPEATS; k++) {
        const double start = eqp_cpu_seconds();
        check(eqp_diffusion_simulate(graph, &options, load_max, load_max + steps, &convergence));
        bench_times_add_since(&times, start);
    }
    for (int p = 0; p < w.nparts; p++) {
        total += w.weight[p];
        largest = w.weight[p] > largest ? w.weight[p] : largest;
    }
    printf("%d,%" PRId64 ",%" PRId64 ",%.4f,%.4f,%" PRId64 ",%.4f,", w.nparts,
           eqp_part_graph_arrays(graph).neighbour_first[w.nparts] / 2, steps, largest * w.nparts / total - 1,
           load_max[steps - 1] * w.nparts / total - 1, convergence, 1e3 * bench_least(&times));
    eqp_part_graph_free(graph);
    free(load_max);
    free_world(&w);
}

static void bench_move(int side, int parts_side)
{
    bench_times make = {0}, move = {0};
    eqp_part_loads before, after;
    world w;

    make_world(&w, side, parts_side, 0);
    for (int k = 0; k < REPEATS; k++) {
        eqp_part_graph *graph = NULL;
        double start = eqp_cpu_seconds();
        check(eqp_part_graph_create(&w.e, w.nparts, NULL, &graph));
        bench_times_add_since(&make, start);
        eqp_part_graph_free(graph);
        start = eqp_cpu_seconds();
        check(eqp_diffusion_move(&w.e, w.nparts, NULL, w.moved));
        bench_times_add_since(&move, start);
    }
    check(eqp_parts_load(w.e.n, w.weight, w.part, w.nparts, NULL, NULL, &before));
    check(eqp_parts_load(w.e.n, w.weight, w.moved, w.nparts, NULL, NULL, &after));
    printf("%" PRId64 ",%.4f,%.4f,%.4f,%.4f\n", w.e.n, 1e3 * bench_least(&make), before.imbalance, after.imbalance,
           1e3 * bench_least(&move));
    free_world(&w);
}

int main(int argc, char **argv)
{
    const long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 1000, side = argc > 2 ? strtol(argv[2], NULL, 10) : 32;

    if (steps < 1 || side < 8 || side > MOST_SIDE) {
        bench_die("bench_diffusion", "steps must be at least 1, cells 8 to 128");
    }
    printf("parts,pairs,steps,imbalance,imbalance_simulated,convergence_steps,simulate_ms,"
           "elements,graph_ms,imbalance_before,imbalance_moved,move_ms\n");
    for (int parts_side = 2; parts_side <= 8; parts_side *= 2) {
        bench_simulate(parts_side, steps);
        bench_move((int)side, parts_side);
    }
    return 0;
}
