/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of an interaction in every kernel that this CPU runs, and of its arithmetic alone, as CSV.
 *
 *   build/bench/bench_kernel > kernel.csv
 *   build/bench/bench_kernel avx512
 *
 * Argument: the only kernel to measure. Kinds are particle pairs, particle pairs with a cutoff, and cells.
 * limit_ns is of the fastest of some loops written by hand for the same instruction set (kernel_limit.c), in the same
 * run. block_ns is of the kernel on a block of sources that is in the cache, whole_ns of bh_force() with its gather:
 * each call has another list, of cells spread over a region of the tree that fits the L2 cache or of runs of 8
 * particles. All are CPU nanoseconds per target and source, the smallest of several runs; ratios are to limit_ns. Lists
 * longer than a block have no block_ns. */
#include "kernel.h"
#include "kernel_limit.h"
#include "timing.h"

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPETITIONS 9
#define RUN_SECONDS 2e-4 /* of one repetition, at least */
#define CELLS 4096
#define POINTS 32768
#define MOST_TARGETS 64
#define MOST_LIST 2048
#define LISTS 16
#define EPS 0.01
#define CUTOFF 0.5 /* a quarter of the sources are nearer */

/* A tree as the kernels see it, targets outside its cells, and lists. */
typedef struct scene {
    bh_tree tree;
    double at[3][MOST_TARGETS], field[4][MOST_TARGETS];
    int64_t cell[LISTS][MOST_LIST], first[LISTS][MOST_LIST], count[MOST_LIST];
    int64_t next; /* next list to use */
} scene;

static double draw(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double *draws(int64_t n)
{
    double *made = bench_room(n, sizeof *made);

    for (int64_t i = 0; i < n; i++) {
        made[i] = draw();
    }
    return made;
}

static void make_scene(scene *s)
{
    s->tree.box = (bh_box){{0, 0, 0}, 2};
    s->tree.ncells = CELLS;
    s->tree.cell = bench_room(CELLS, sizeof *s->tree.cell);
    for (int64_t c = 0; c < CELLS; c++) {
        bh_moments *moments = &s->tree.cell[c].moments;
        *moments = (bh_moments){.mass = c == 0 ? 1 : draw(), .com = {draw(), draw(), 0.2 + 0.8 * draw()}};
        for (int q = 0; q < 6; q++) {
            moments->quad[q] = 1e-3 * (draw() - 0.5);
        }
        moments->trace = 1e-3 * draw();
    }
    s->tree.sources = (bh_sources){POINTS, POINTS, POINTS, draws(POINTS), draws(POINTS), draws(POINTS), draws(POINTS)};
    for (int l = 0; l < LISTS; l++) {
        for (int i = 0; i < MOST_LIST; i++) {
            s->cell[l][i] = (int64_t)(draw() * CELLS);
            s->first[l][i] = 16 * (int64_t)(draw() * (POINTS / 16 - 1));
            s->count[i] = 8;
        }
    }
    for (int t = 0; t < MOST_TARGETS; t++) {
        for (int k = 0; k < 3; k++) {
            s->at[k][t] = (k < 2 ? 0.5 : 0) + 0.1 * draw();
        }
    }
}

typedef enum source_kind { PAIRS, WITHIN, CELLS_ACT } source_kind;

static const char *const kind_name[] = {"pair", "within", "cell"};

static bh_list list_of(scene *s, source_kind kind, int64_t n)
{
    const int64_t l = s->next++ % LISTS;

    if (kind == CELLS_ACT) {
        return (bh_list){.ncells = n, .cell = s->cell[l]};
    }
    return (bh_list){.nruns = n / 8,
                     .run_first = s->first[l],
                     .run_count = s->count,
                     .nsources = n,
                     .cutoff = kind == WITHIN ? CUTOFF : 0};
}

typedef struct job {
    scene *scene;
    const bh_kernel_row *row;
    bh_kernel *kernel; /* NULL: only the row's inner loop */
    bh_block *block;
    bh_frame frame;
    source_kind kind;
    int64_t n, nt;
} job;

static void run_block(job *j)
{
    scene *s = j->scene;
    const bh_targets targets = {j->nt,       s->at[0],    s->at[1],    s->at[2],
                                s->field[0], s->field[1], s->field[2], s->field[3]};

    (j->kind == CELLS_ACT ? j->row->bodies : j->row->points)(j->block, j->n, &j->frame, &targets);
}

static void run_whole(job *j)
{
    scene *s = j->scene;
    const bh_list list = list_of(s, j->kind, j->n);

    if (bh_force(j->kernel, &s->tree, &list, 1, EPS, j->nt, s->at[0], s->at[1], s->at[2], s->field[0], s->field[1],
                 s->field[2], s->field[3]) != EQP_OK) {
        bench_die("force failed");
    }
}

/* Nanoseconds per interaction. */
static double measure(job *j, void (*run)(job *))
{
    const double interactions = (double)(j->n * j->nt);
    bench_times times = {0};
    int calls = 1;

    for (double start = eqp_cpu_seconds();; calls *= 2) {
        for (int i = 0; i < calls; i++) {
            run(j);
        }
        double now = eqp_cpu_seconds();
        if (now - start > RUN_SECONDS) {
            break;
        }
        start = now;
    }
    for (int r = 0; r < REPETITIONS; r++) {
        double start = eqp_cpu_seconds();
        for (int i = 0; i < calls; i++) {
            run(j);
        }
        bench_times_add_since(&times, start);
    }
    return 1e9 * bench_least(&times) / calls / interactions;
}

/* Fills the block with the job's first sources, in units that suit these scenes. */
static void fill_block(job *j)
{
    const double unit = j->row->precision == BH_MIXED ? j->scene->tree.box.side / 1024 : 1;
    const bh_list list = list_of(j->scene, j->kind, j->n);
    bh_cursor at = {0, 0};
    bool fits = true;

    j->frame = (bh_frame){.eps2 = EPS * EPS / unit / unit,
                          .acceleration = 1,
                          .potential = 1,
                          .cutoff2 = list.cutoff * list.cutoff / unit / unit,
                          .per_length = 1 / unit,
                          .per_mass = 1,
                          .least = -INFINITY};
    if (j->kind == CELLS_ACT) {
        j->row->put_bodies(j->block, &j->frame, j->scene->tree.cell, list.cell, j->n, &fits);
    } else if (j->row->put_points(j->block, &j->frame, &j->scene->tree.sources, &list, &at, &fits) != j->n) {
        bench_die("a block has too few particles");
    }
    if (!fits) {
        bench_die("a block does not fit single precision");
    }
}

static double limit_of(const char *name, bool cells, bh_precision precision)
{
    static limit_data data;
    double best = INFINITY;

    for (int k = 0; k < 11; k++) {
        for (int i = 0; i < LIMIT_SOURCES; i++) {
            data.source[k][i] = draw();
            data.source_single[k][i] = (float)data.source[k][i];
        }
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < LIMIT_TARGETS; i++) {
            data.target[k][i] = draw();
            data.target_single[k][i] = (float)data.target[k][i];
        }
    }
    for (int row = 0; row < limit_table_size; row++) {
        const limit_row *limit = &limit_table[row];
        if (strcmp(limit->name, name) != 0 || !limit->runs_here()) {
            continue;
        }
        const limit_loop *loops = (cells ? limit->cell : limit->pair)[precision == BH_MIXED];
        for (int shape = 0; shape < LIMIT_SHAPES; shape++) {
            for (int r = 0; r < REPETITIONS; r++) {
                double start = eqp_cpu_seconds();
                for (int i = 0; i < 20; i++) {
                    loops[shape](&data, EPS);
                }
                best = fmin(best, (eqp_cpu_seconds() - start) / 20);
            }
        }
    }
    return 1e9 * best / (LIMIT_TARGETS * (cells ? LIMIT_SOURCES / 2 : LIMIT_SOURCES));
}

static void print(const job *j, double block, double whole, double limit)
{
    printf("%s,%s,%s,%lld,%lld,%.4f,%.4f,%.4f,%.3f,%.3f\n", j->row->name,
           j->row->precision == BH_MIXED ? "mixed" : "double", kind_name[j->kind], (long long)j->n, (long long)j->nt,
           block, whole, limit, block / limit, whole / limit);
    fflush(stdout);
}

/* Measures all lengths of lists and numbers of targets for one row and kind. */
static void sweep(scene *s, bh_block *block, const bh_kernel_row *row, source_kind kind)
{
    const bool cells = kind == CELLS_ACT;
    static const int64_t length[] = {16, 32, 64, 128, 512, 2048}, targets[] = {4, 8, 16, 32, 64};
    job j = {.scene = s, .row = row, .block = block, .kind = kind};

    if (bh_kernel_create(row->name, row->precision, &j.kernel) != EQP_OK) {
        bench_die("a kernel cannot be made");
    }
    for (int l = 0; l < 6; l++) {
        const double limit = limit_of(row->name, cells, row->precision); /* measured again for the ratios */
        for (int t = 0; t < 5; t++) {
            double in_block = NAN;
            j.n = length[l];
            j.nt = targets[t];
            if (j.n <= (cells ? BH_BLOCK_BODIES : BH_BLOCK_POINTS)) {
                fill_block(&j);
                in_block = measure(&j, run_block);
            }
            print(&j, in_block, measure(&j, run_whole), limit);
        }
    }
    bh_kernel_free(j.kernel);
}

int main(int argc, char **argv)
{
    static scene s;
    static bh_block block;

    make_scene(&s);
    puts("kernel,precision,kind,list,targets,block_ns,whole_ns,limit_ns,block_ratio,whole_ratio");
    for (int i = 0; i < bh_kernel_table_size; i++) {
        const bh_kernel_row *row = bh_kernel_table[i];
        if (row->runs_here() && (argc < 2 || strcmp(argv[1], row->name) == 0)) {
            for (source_kind kind = PAIRS; kind <= CELLS_ACT; kind++) {
                sweep(&s, &block, row, kind);
            }
        }
    }
    free(s.tree.cell);
    free(s.tree.sources.x);
    free(s.tree.sources.y);
    free(s.tree.sources.z);
    free(s.tree.sources.m);
    return 0;
}
