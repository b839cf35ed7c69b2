/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of a pair of dislocation segments in every kernel that this CPU runs, as CSV.
 *
 *   taskset -c 1 build/bench/bench_segforce > segforce.csv
 *   taskset -c 1 build/bench/bench_segforce avx512 near
 *
 * Arguments: the only kernel and the only kind to measure. Segments are 50 to 500 b long in a cell of 4000 b, as in the
 * networks of the tests. kind: general; near (parallel to the target, anywhere in the cell), chain (parallel and next
 * to the target); mixed (one in five is near). Nanoseconds of CPU time per pair, the smallest and the median of several
 * runs; parallel is the share of pairs that were counted so. */
#include "elastic/pairs.h"
#include "timing.h"

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define REPETITIONS 21
#define PAIRS 20000 /* of one repetition */
#define SOURCES 3000
#define CELL 4000.0

typedef struct scene {
    double at[9][SOURCES + DD_LANES], force[6][SOURCES + DD_LANES];
    dd_columns columns;
    dd_segment target;
} scene;

static double draw(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void draw_unit(double v[3])
{
    double square;

    do {
        square = 0;
        for (int d = 0; d < 3; d++) {
            v[d] = 2 * draw() - 1;
            square += v[d] * v[d];
        }
    } while (square > 1 || square < 0.01);
    for (int d = 0; d < 3; d++) {
        v[d] /= sqrt(square);
    }
}

enum kind { GENERAL, NEAR, CHAIN, MIXED, KINDS };
static const char *const kind_name[KINDS] = {"general", "near", "chain", "mixed"};

static void make_scene(scene *s, enum kind kind)
{
    double u[3];

    draw_unit(u);
    for (int d = 0; d < 3; d++) {
        s->target.x1[d] = CELL / 2;
        s->target.x2[d] = CELL / 2 + 300 * u[d];
        s->target.burgers[d] = d == 0 ? 0 : 0.70710678118654757;
    }
    for (int i = 0; i < SOURCES; i++) {
        const bool parallel = kind == NEAR || kind == CHAIN || (kind == MIXED && i % 5 == 0);
        const double length = 50 + 450 * draw(), gap = (draw() < 0.5 ? 300 : -500) + 20 * draw();
        double v[3], b[3];
        draw_unit(v);
        draw_unit(b);
        for (int d = 0; d < 3; d++) {
            s->at[d][i] = kind == CHAIN ? s->target.x1[d] + gap * u[d] : CELL * draw();
            s->at[3 + d][i] = s->at[d][i] + length * (parallel ? u[d] : v[d]);
            s->at[6 + d][i] = b[d];
        }
    }
    for (int k = 0; k < 9; k++) {
        s->columns.at[k] = s->at[k];
    }
    for (int k = 0; k < 6; k++) {
        s->columns.force[k] = s->force[k];
        memset(s->force[k], 0, sizeof s->force[k]);
    }
}

static void measure(scene *s, dd_isa isa, dd_pairs_fn fn, enum kind kind, int64_t n)
{
    const dd_medium medium = {.mu = 54.6e9, .nu = 0.324, .a = 1, .box = {35000, 35000, 35000}};
    const int64_t calls = PAIRS / n;
    dd_pair_counts counts = {0, 0};
    bench_times times = {0};
    double force[6] = {0};

    for (int r = 0; r < REPETITIONS; r++) {
        const double start = eqp_cpu_seconds();
        for (int64_t c = 0; c < calls; c++) {
            const dd_run run = {c * 37 % (SOURCES - n), n};
            fn(&medium, &s->target, &s->columns, 1, &run, force, &counts);
        }
        bench_times_add_since(&times, start);
    }
    const double per_pair = 1e9 / (double)(calls * n);
    printf("%s,%s,%lld,%.4f,%.2f,%.2f\n", dd_isa_name(isa), kind_name[kind], (long long)n,
           (double)counts.parallel / (double)(counts.parallel + counts.general), bench_least(&times) * per_pair,
           bench_median(&times) * per_pair);
}

int main(int argc, char **argv)
{
    static const int64_t length[] = {30, 90, 300};
    static scene s;

    puts("isa,kind,sources,parallel,least_ns,median_ns");
    for (int isa = DD_ISA_PLAIN; isa < DD_ISAS; isa++) {
        dd_pairs_fn fn;
        if ((argc > 1 && strcmp(argv[1], dd_isa_name((dd_isa)isa)) != 0) ||
            dd_pairs_choose((dd_isa)isa, &fn, NULL) != EQP_OK) {
            continue;
        }
        for (int kind = 0; kind < KINDS; kind++) {
            if (argc > 2 && strcmp(argv[2], kind_name[kind]) != 0) {
                continue;
            }
            make_scene(&s, (enum kind)kind);
            for (int l = 0; l < 3; l++) {
                measure(&s, (dd_isa)isa, fn, (enum kind)kind, length[l]);
            }
        }
    }
    return 0;
}
