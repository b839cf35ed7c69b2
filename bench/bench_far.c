/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of the far field of dislocations for a cell, as CSV.
 *
 *   taskset -c 1 build/bench/bench_far [CELLS [ORDER]]
 *
 * CELLS: along each direction of a periodic cube (16). ORDER: the only one (else 4, 6, 8). Microseconds of CPU time,
 * the least of several runs. Of a cell: planes forward, columns, planes back, moments closed and expansions opened;
 * kernels are made once in a run. Of a segment: its moments, and the force on it. */
#include "elastic/far.h"
#include "timing.h"

#include <equipoise/more/base.h>
#include <equipoise/survey.h>

#include <stdio.h>
#include <stdlib.h>

#define REPETITIONS 5
#define SEGMENTS 20000
#define EDGE 20000.0

typedef struct scene {
    dd_far *far;
    const dd_far_sizes *sizes;
    int64_t n, cells;
    double *moments, *local, *kernels, *raw, *field;
    double **at; /* [2][planes] columns of moments and of local expansions */
} scene;

static void make_scene(int64_t n, int order, scene *s)
{
    const dd_medium medium = {1, 0.3, 5, 1, {EDGE, EDGE, EDGE}};
    const double low[3] = {0, 0, 0}, edge[3] = {EDGE, EDGE, EDGE};
    const int64_t cells[3] = {n, n, n};

    bench_check(dd_far_create(&medium, low, edge, cells, order, &s->far), "no such far field");
    s->sizes = dd_far_sizes_of(s->far);
    s->n = n;
    s->cells = n * n * n;
    s->moments = bench_room(s->cells * s->sizes->nmoments, sizeof(double));
    s->local = bench_room(s->cells * s->sizes->nlocal, sizeof(double));
    s->kernels = bench_room(s->sizes->ncolumns * s->sizes->nkernel, sizeof(double));
    s->raw = bench_room(s->sizes->nraw, sizeof(double));
    s->field = bench_room(s->sizes->nfield, sizeof(double));
    s->at = bench_room(2 * n, sizeof *s->at);
    for (int64_t x = 0; x < 2 * n; x++) {
        s->at[x] = bench_room(s->sizes->ncolumns * 2 * (x < n ? s->sizes->nmoments : s->sizes->nlocal), sizeof(double));
    }
    for (int64_t i = 0; i < s->cells * s->sizes->nmoments; i++) {
        s->moments[i] = (double)(i % 17);
    }
}

static void free_scene(scene *s)
{
    for (int64_t x = 0; x < 2 * s->n; x++) {
        free(s->at[x]);
    }
    free(s->at);
    free(s->moments);
    free(s->local);
    free(s->kernels);
    free(s->raw);
    free(s->field);
    dd_far_free(s->far);
}

enum { KERNELS, FORWARD, COLUMNS, BACK, CLOSE, OPEN, ADD, FORCE, PARTS };
static const char *const part_name[PARTS] = {"kernels once", "planes forward", "columns",    "planes back",
                                             "moments",      "expansions",     "segment in", "segment out"};

/* Runs one part of the work on all cells, or on SEGMENTS segments. */
static void work(scene *s, int part)
{
    const dd_far_run in = {0, s->sizes->nmoments, s->at}, out = {0, s->sizes->nlocal, s->at + s->n};
    const dd_segment segment = {{100, 100, 100}, {350, 180, 90}, {1, 0, 0}};
    const bool columns = part == KERNELS || part == COLUMNS;
    const int64_t count = columns                           ? s->sizes->ncolumns
                          : part == FORWARD || part == BACK ? s->n
                          : part == CLOSE || part == OPEN   ? s->cells
                                                            : SEGMENTS;
    double force[6];
    int code = EQP_OK;

    for (int64_t i = 0; i < count && code == EQP_OK; i++) {
        switch (part) {
        case KERNELS:
            code = dd_far_kernel(s->far, i, s->kernels + i * s->sizes->nkernel);
            break;
        case FORWARD:
            code = dd_far_plane_forward(s->far, in.n, s->moments + i * s->sizes->ncells * in.n, s->at[i]);
            break;
        case COLUMNS:
            code = dd_far_column(s->far, i, i, s->kernels + i * s->sizes->nkernel, 1, &in, 1, &out);
            break;
        case BACK:
            code = dd_far_plane_inverse(s->far, out.n, s->at[s->n + i], s->local + i * s->sizes->ncells * out.n);
            break;
        case CLOSE:
            dd_far_close(s->far, s->raw, s->moments);
            break;
        case OPEN:
            dd_far_open(s->far, s->local + i * out.n, s->field);
            break;
        case ADD:
            dd_far_add_segment(s->far, 0, &segment, s->raw);
            break;
        default:
            dd_far_force(s->far, 0, s->field, &segment, force);
        }
    }
    bench_check(code, "out of memory");
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoi(argv[1]) : 16;
    const int only = argc > 2 ? atoi(argv[2]) : 0;

    printf("order,cells,part,unit,microseconds\n");
    for (int order = only > 0 ? only : 4; order <= (only > 0 ? only : 8); order += 2) {
        scene s;
        make_scene(n, order, &s);
        for (int part = 0; part < PARTS; part++) {
            const bool segments = part == ADD || part == FORCE;
            bench_times times = {0};
            for (int r = 0; r < REPETITIONS; r++) {
                const double start = eqp_cpu_seconds();
                work(&s, part);
                bench_times_add_since(&times, start);
            }
            printf("%d,%lld,%s,%s,%.3g\n", order, (long long)s.cells, part_name[part], segments ? "segment" : "cell",
                   1e6 * bench_least(&times) / (double)(segments ? SEGMENTS : s.cells));
        }
        free_scene(&s);
    }
    return 0;
}
