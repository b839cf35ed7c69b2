/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of an interaction in every kernel that this CPU runs, and of its arithmetic alone, as CSV.
 *
 *   build/bench/bench_kernel > kernel.csv
 *   build/bench/bench_kernel avx512
 *
 * Argument: the only kernel to measure. Kinds are particle pairs, particle pairs with a cutoff, and cells.
 * limit_ns is of the fastest of some loops written by hand for the same instruction set , in the same
 * run. block_ns is of the kernel on a block of sources that is in the cache, whole_ns of bh_force() with its gather:
 * each call has another list, of cells spread over a region of the tree that fits the L2 cache or of runs of 8
 * particles. All are CPU nanoseconds per target and source, the smallest of several runs; ratios are to limit_ns. Lists
 * longer than a block have no block_ns. */
#include "kernel.h"
#include "timing.h"

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <math.h>
#include <stdbool.h>
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

/* ---- Least cost of an interaction's arithmetic: bare loops over sources in the L1 cache, written for each instruction
 * set, independent of the measured kernels: fewest operations of the formulas, several targets at a time, no gather, no
 * remainders, no sources at distance 0 ---- */

#define LIMIT_SOURCES 512 /* particles; of cells half as many */
#define LIMIT_TARGETS 48

/* Sources: x y z m, then the six second moments and the trace of cells. Targets: x y z, then their field. */
typedef struct limit_data {
    _Alignas(64) double source[11][LIMIT_SOURCES];
    _Alignas(64) float source_single[11][LIMIT_SOURCES];
    double target[3][LIMIT_TARGETS], field[4][LIMIT_TARGETS];
    float target_single[3][LIMIT_TARGETS];
} limit_data;

/* Computes all interactions once, softened with eps2. */
typedef void (*limit_loop)(limit_data *data, double eps2);

/* The same with different numbers of targets at a time; the fastest is the limit. NULL-terminated. */
#define LIMIT_SHAPES 4
typedef struct limit_row {
    const char *name;                 /* of the kernel, which tells if it runs here */
    limit_loop pair[2][LIMIT_SHAPES]; /* double, single */
    limit_loop cell[2][LIMIT_SHAPES];
} limit_row;

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Defines the loop NAME over NT targets at a time. BODY: PAIR or CELL. V: a vector of W numbers of type R. */
#define LOOP(TARGET, NAME, BODY, NT, V, R, W, OP, FMA, FNMA, INVERSE, SUM, N, SOURCE, AT)                              \
    __attribute__((target(TARGET))) static void NAME(limit_data *data, double eps2)                                    \
    {                                                                                                                  \
        const V soft = OP(set1)((R)eps2);                                                                              \
        for (int t = 0; t < LIMIT_TARGETS; t += NT) {                                                                  \
            V tx[NT], ty[NT], tz[NT], sx[NT], sy[NT], sz[NT], sp[NT];                                                  \
            for (int j = 0; j < NT; j++) {                                                                             \
                tx[j] = OP(set1)(data->AT[0][t + j]), ty[j] = OP(set1)(data->AT[1][t + j]);                            \
                tz[j] = OP(set1)(data->AT[2][t + j]);                                                                  \
                sx[j] = sy[j] = sz[j] = sp[j] = OP(setzero)();                                                         \
            }                                                                                                          \
            for (int i = 0; i < N; i += W) {                                                                           \
                const V x = OP(load)(data->SOURCE[0] + i), y = OP(load)(data->SOURCE[1] + i);                          \
                const V z = OP(load)(data->SOURCE[2] + i), m = OP(load)(data->SOURCE[3] + i);                          \
                V dx[NT], dy[NT], dz[NT], w[NT];                                                                       \
                for (int j = 0; j < NT; j++) {                                                                         \
                    dx[j] = OP(sub)(x, tx[j]), dy[j] = OP(sub)(y, ty[j]), dz[j] = OP(sub)(z, tz[j]);                   \
                    w[j] = FMA(dx[j], dx[j], FMA(dy[j], dy[j], FMA(dz[j], dz[j], soft)));                              \
                }                                                                                                      \
                for (int j = 0; j < NT; j++) {                                                                         \
                    w[j] = INVERSE(w[j]);                                                                              \
                }                                                                                                      \
                BODY(NT, V, OP, FMA, FNMA, SOURCE)                                                                     \
            }                                                                                                          \
            for (int j = 0; j < NT; j++) {                                                                             \
                data->field[0][t + j] += SUM(sx[j]);                                                                   \
                data->field[1][t + j] += SUM(sy[j]);                                                                   \
                data->field[2][t + j] += SUM(sz[j]);                                                                   \
                data->field[3][t + j] += SUM(sp[j]);                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }

#define PAIR(NT, V, OP, FMA, FNMA, SOURCE)                                                                             \
    for (int j = 0; j < NT; j++) {                                                                                     \
        const V p = OP(mul)(m, w[j]), f = OP(mul)(p, OP(mul)(w[j], w[j]));                                             \
        sp[j] = OP(add)(sp[j], p);                                                                                     \
        sx[j] = FMA(f, dx[j], sx[j]), sy[j] = FMA(f, dy[j], sy[j]), sz[j] = FMA(f, dz[j], sz[j]);                      \
    }

#define MOMENT(OP, SOURCE, k) OP(load)(data->SOURCE[k] + i)
#define CELL(NT, V, OP, FMA, FNMA, SOURCE)                                                                             \
    for (int j = 0; j < NT; j++) {                                                                                     \
        const V xx = MOMENT(OP, SOURCE, 4), xy = MOMENT(OP, SOURCE, 5), xz = MOMENT(OP, SOURCE, 6);                    \
        const V yy = MOMENT(OP, SOURCE, 7), yz = MOMENT(OP, SOURCE, 8), zz = MOMENT(OP, SOURCE, 9);                    \
        const V qx = FMA(xz, dz[j], FMA(xy, dy[j], OP(mul)(xx, dx[j])));                                               \
        const V qy = FMA(yz, dz[j], FMA(yy, dy[j], OP(mul)(xy, dx[j])));                                               \
        const V qz = FMA(zz, dz[j], FMA(yz, dy[j], OP(mul)(xz, dx[j])));                                               \
        const V q = FMA(dx[j], qx, FMA(dy[j], qy, FMA(dz[j], qz, MOMENT(OP, SOURCE, 10))));                            \
        const V w2 = OP(mul)(w[j], w[j]), w3 = OP(mul)(w2, w[j]), w5 = OP(mul)(w3, w2);                                \
        const V g = OP(mul)(q, OP(mul)(w2, w2)), f = OP(mul)(w3, FMA(OP(set1)(5), g, m));                              \
        sp[j] = FMA(w[j], OP(add)(m, g), sp[j]);                                                                       \
        sx[j] = FNMA(w5, qx, FMA(f, dx[j], sx[j])), sy[j] = FNMA(w5, qy, FMA(f, dy[j], sy[j]));                        \
        sz[j] = FNMA(w5, qz, FMA(f, dz[j], sz[j]));                                                                    \
    }

#define SHAPE(NT, TARGET, NAME, V, R, W, OP, FMA, FNMA, INVERSE, SUM, SOURCE, AT)                                      \
    LOOP(TARGET, NAME##_pair##NT, PAIR, NT, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES, SOURCE, AT)           \
    LOOP(TARGET, NAME##_cell##NT, CELL, NT, V, R, W, OP, FMA, FNMA, INVERSE, SUM, LIMIT_SOURCES / 2, SOURCE, AT)
#define SHAPES(...) SHAPE(1, __VA_ARGS__) SHAPE(2, __VA_ARGS__) SHAPE(3, __VA_ARGS__) SHAPE(4, __VA_ARGS__)
#define ALL(PREFIX, KIND)                                                                                              \
    {                                                                                                                  \
        PREFIX##_##KIND##1, PREFIX##_##KIND##2, PREFIX##_##KIND##3, PREFIX##_##KIND##4                                 \
    }
#define ROW(PREFIX)                                                                                                    \
    {                                                                                                                  \
#PREFIX, {ALL(PREFIX##_double, pair), ALL(PREFIX##_single, pair) },                                            \
        {                                                                                                              \
            ALL(PREFIX##_double, cell), ALL(PREFIX##_single, cell)                                                     \
        }                                                                                                              \
    }

/* SSE2, as compiled from plain C: no fused operations, no useful estimate of 1 / sqrt. */
#define SSE2D(op) _mm_##op##_pd
#define SSE2S(op) _mm_##op##_ps
#define SSE2D_FMA(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define SSE2D_FNMA(a, b, c) _mm_sub_pd(c, _mm_mul_pd(a, b))
#define SSE2S_FMA(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define SSE2S_FNMA(a, b, c) _mm_sub_ps(c, _mm_mul_ps(a, b))
#define SSE2D_INVERSE(s2) _mm_div_pd(_mm_set1_pd(1), _mm_sqrt_pd(s2))
#define SSE2S_INVERSE(s2) _mm_div_ps(_mm_set1_ps(1), _mm_sqrt_ps(s2))
#define SSE2D_SUM(v) (_mm_cvtsd_f64(v) + _mm_cvtsd_f64(_mm_unpackhi_pd(v, v)))

static inline double sse2s_sum(__m128 v)
{
    float lane[4];

    _mm_storeu_ps(lane, v);
    return (double)((lane[0] + lane[1]) + (lane[2] + lane[3]));
}

SHAPES("sse2", plain_double, __m128d, double, 2, SSE2D, SSE2D_FMA, SSE2D_FNMA, SSE2D_INVERSE, SSE2D_SUM, source, target)
SHAPES("sse2", plain_single, __m128, float, 4, SSE2S, SSE2S_FMA, SSE2S_FNMA, SSE2S_INVERSE, sse2s_sum, source_single,
       target_single)

#define AVX2 "avx2,fma"
#define AVX2D(op) _mm256_##op##_pd
#define AVX2S(op) _mm256_##op##_ps

/* From the single-precision estimate, whose range suffices here: r (1 + e/2 + 3/8 e^2 + 5/16 e^3 + 35/128 e^4). */
__attribute__((target(AVX2))) static inline __m256d avx2d_inverse(__m256d s2)
{
    const __m256d r = _mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps(s2)));
    const __m256d e = _mm256_fnmadd_pd(_mm256_mul_pd(s2, r), r, _mm256_set1_pd(1));
    const __m256d c3 = _mm256_fmadd_pd(_mm256_set1_pd(35. / 128), e, _mm256_set1_pd(5. / 16));
    const __m256d c2 = _mm256_fmadd_pd(c3, e, _mm256_set1_pd(3. / 8));
    return _mm256_fmadd_pd(_mm256_mul_pd(r, e), _mm256_fmadd_pd(c2, e, _mm256_set1_pd(1. / 2)), r);
}

/* 2 / sqrt(s2). */
__attribute__((target(AVX2))) static inline __m256 avx2s_inverse(__m256 s2)
{
    const __m256 r = _mm256_rsqrt_ps(s2);
    return _mm256_mul_ps(r, _mm256_fnmadd_ps(_mm256_mul_ps(s2, r), r, _mm256_set1_ps(3)));
}

__attribute__((target(AVX2))) static inline double avx2d_sum(__m256d v)
{
    return SSE2D_SUM(_mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1)));
}

__attribute__((target(AVX2))) static inline double avx2s_sum(__m256 v)
{
    return sse2s_sum(_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
}

SHAPES(AVX2, avx2_double, __m256d, double, 4, AVX2D, _mm256_fmadd_pd, _mm256_fnmadd_pd, avx2d_inverse, avx2d_sum,
       source, target)
SHAPES(AVX2, avx2_single, __m256, float, 8, AVX2S, _mm256_fmadd_ps, _mm256_fnmadd_ps, avx2s_inverse, avx2s_sum,
       source_single, target_single)

#define AVX512 "avx512f,avx512dq,avx512vl,fma"
#define AVX512D(op) _mm512_##op##_pd
#define AVX512S(op) _mm512_##op##_ps

/* r (1 + e/2 + 3/8 e^2 + 5/16 e^3). */
__attribute__((target(AVX512))) static inline __m512d avx512d_inverse(__m512d s2)
{
    const __m512d r = _mm512_rsqrt14_pd(s2);
    const __m512d e = _mm512_fnmadd_pd(_mm512_mul_pd(s2, r), r, _mm512_set1_pd(1));
    const __m512d c2 = _mm512_fmadd_pd(_mm512_set1_pd(5. / 16), e, _mm512_set1_pd(3. / 8));
    return _mm512_fmadd_pd(_mm512_mul_pd(r, e), _mm512_fmadd_pd(c2, e, _mm512_set1_pd(1. / 2)), r);
}

/* 2 / sqrt(s2). */
__attribute__((target(AVX512))) static inline __m512 avx512s_inverse(__m512 s2)
{
    const __m512 r = _mm512_rsqrt14_ps(s2);
    return _mm512_mul_ps(r, _mm512_fnmadd_ps(_mm512_mul_ps(s2, r), r, _mm512_set1_ps(3)));
}

SHAPES(AVX512, avx512_double, __m512d, double, 8, AVX512D, _mm512_fmadd_pd, _mm512_fnmadd_pd, avx512d_inverse,
       _mm512_reduce_add_pd, source, target)
SHAPES(AVX512, avx512_single, __m512, float, 16, AVX512S, _mm512_fmadd_ps, _mm512_fnmadd_ps, avx512s_inverse,
       (double)_mm512_reduce_add_ps, source_single, target_single)

static const limit_row limit_table[] = {ROW(plain), ROW(avx2), ROW(avx512)};
static const int limit_table_size = 3;
#else
static const limit_row limit_table[] = {{NULL, {{NULL}}, {{NULL}}}};
static const int limit_table_size = 0;
#endif

/* ---- The kernels ---- */

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

    bench_check(bh_force(j->kernel, &s->tree, &list, 1, EPS, j->nt, s->at[0], s->at[1], s->at[2], s->field[0],
                         s->field[1], s->field[2], s->field[3]),
                "force failed");
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

/* Fills the block with the job's first sources, in the scene's unit of length. */
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

    for (int i = 0; i < 11 * LIMIT_SOURCES; i++) {
        double *at = &data.source[i / LIMIT_SOURCES][i % LIMIT_SOURCES];
        *at = draw();
        data.source_single[i / LIMIT_SOURCES][i % LIMIT_SOURCES] = (float)*at;
    }
    for (int i = 0; i < 3 * LIMIT_TARGETS; i++) {
        double *at = &data.target[i / LIMIT_TARGETS][i % LIMIT_TARGETS];
        *at = draw();
        data.target_single[i / LIMIT_TARGETS][i % LIMIT_TARGETS] = (float)*at;
    }
    for (int row = 0; row < limit_table_size; row++) {
        const limit_row *limit = &limit_table[row];
        if (strcmp(limit->name, name) != 0) {
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

    bench_check(bh_kernel_create(row->name, row->precision, &j.kernel), "a kernel cannot be made");
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
