/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs to evaluate an assignment whose interactions are streamed, and how much memory that takes.
 *
 *     taskset -c 1 build/bench/bench_evaluate [INTERACTIONS [PARTS [BLOCKS_PER_PART ...]]]
 *
 * By default 1e8 interactions of 4096 parts that hold 64 and then 1024 blocks each: about 1e7 and 1e8 different needs.
 * INTERACTIONS 1e9 is the memory goal. Parts are the cells of a periodic grid. An owner of 1,000 interactions meets
 * blocks of its own part and of the 26 around it, one in a thousand anywhere; which ones comes from a table, so that
 * making them costs little. Every row is a process of its own, so that its memory is its own.
 *
 * CSV: needs are those of blocks away from home; stream_s, first_s and best_s are CPU seconds of all
 * eqp_evaluation_need(), of the first question for one plan, which orders what came, and of eqp_evaluation_best() after
 * that; stream_ns is per interaction; peak_mb the process's peak of resident memory; plan and step_seconds are the
 * answer. */
#include "timing.h"

#include <equipoise/more/random.h>
#include <equipoise/more/whatif.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLE = 1 << 16, PER_OWNER = 1000, FAR_ONE_IN = 1000, BLOCK_BYTES = 512 };

typedef struct world {
    int64_t interactions;
    int nparts, side[3], per_part;
    int offset[TABLE]; /* which of the 27 parts around; 27: any part */
    int64_t draw[TABLE];
} world;

static void die(const char *what)
{
    bench_die("bench_evaluate", what);
}

static void check(int code)
{
    if (code) {
        die(eqp_error_text(code));
    }
}

/* A grid that is as cubic as the number of parts allows. */
static void make_grid(world *w)
{
    int left = w->nparts;

    for (int d = 0; d < 3; d++) {
        int n = 1;
        for (int k = 1; k <= left; k++) {
            int64_t power = 1;
            for (int e = d; e < 3; e++) {
                power *= k;
            }
            if (power > left) {
                break;
            }
            n = left % k == 0 ? k : n;
        }
        w->side[d] = d < 2 ? n : left;
        left /= w->side[d];
    }
}

static void fill(world *w)
{
    make_grid(w);
    for (int i = 0; i < TABLE; i++) {
        const uint64_t far = eqp_random_below(7, 1, (uint64_t)i, FAR_ONE_IN);
        w->offset[i] = far == 0 ? 27 : (int)eqp_random_below(7, 2, (uint64_t)i, 27);
        w->draw[i] = (int64_t)(eqp_random_bits(7, 3, (uint64_t)i) >> 2);
    }
}

/* The part that lies beside another, around the grid's ends. */
static int beside(const world *w, int part, int offset)
{
    const int *n = w->side;
    const int x = (part % n[0] + offset % 3 - 1 + n[0]) % n[0];
    const int y = (part / n[0] % n[1] + offset / 3 % 3 - 1 + n[1]) % n[1];
    const int z = (part / n[0] / n[1] + offset / 9 - 1 + n[2]) % n[2];

    return (z * n[1] + y) * n[0] + x;
}

/* One part's interactions. Block numbers are spread as keys of cells are. */
static void stream_part(const world *w, int part, int64_t interactions, eqp_evaluation *e)
{
    int around[28];

    for (int k = 0; k < 27; k++) {
        around[k] = beside(w, part, k);
    }
    for (int64_t i = 0; i < interactions; i++) {
        const int64_t owner = i / PER_OWNER, at = (i * 7 + owner * 12289 + part * INT64_C(40503)) & (TABLE - 1);
        const int64_t draw = w->draw[at] + owner * 31;
        around[27] = (int)(draw % w->nparts);
        const int64_t block = around[w->offset[at]] * (int64_t)w->per_part + draw % w->per_part;
        if (i % PER_OWNER == 0) {
            check(eqp_evaluation_load(e, part, 1e-6));
        }
        check(eqp_evaluation_need(e, 0, block << 12, part));
    }
}

static double seconds_since(double start)
{
    return eqp_cpu_seconds() - start;
}

static void measure(const world *w)
{
    const int out = 0, ghosts = 1;
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    const eqp_exchange_plan direct = EQP_EXCHANGE_PLAN_DEFAULTS;
    const int64_t nblocks = (int64_t)w->nparts * w->per_part;
    eqp_evaluation *e = NULL;
    eqp_evaluated r;
    struct rusage usage;
    char plan[EQP_EXCHANGE_NAME_SIZE];
    double start = eqp_cpu_seconds(), stream, first, best;

    check(eqp_evaluation_create(w->nparts, 1, &out, &ghosts, &e));
    for (int64_t b = 0; b < nblocks; b++) {
        check(eqp_evaluation_block(e, 0, b << 12, BLOCK_BYTES, 1, (int)(b / w->per_part)));
    }
    for (int p = 0; p < w->nparts; p++) {
        stream_part(w, p, w->interactions / w->nparts + (p < w->interactions % w->nparts), e);
    }
    stream = seconds_since(start);
    start = eqp_cpu_seconds();
    check(eqp_evaluation_by_plan(e, &network, &direct, NULL, &r));
    first = seconds_since(start);
    start = eqp_cpu_seconds();
    check(eqp_evaluation_best(e, &network, &r));
    best = seconds_since(start);
    getrusage(RUSAGE_SELF, &usage);
    eqp_exchange_plan_name(&r.plan, plan);
    printf("%" PRId64 ",%d,%" PRId64 ",%" PRId64 ",%.2f,%.2f,%.2f,%.2f,%.0f,%s,%.4g\n", w->interactions, w->nparts,
           nblocks, r.ghosts_total, stream, stream / (double)w->interactions * 1e9, first, best,
           (double)usage.ru_maxrss / 1024, plan, r.step_seconds);
    eqp_evaluation_free(e);
}

/* A row of its own process. */
static void row(const world *w)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        measure(w);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        die("a row failed");
    }
}

static int64_t number(const char *text, double most)
{
    char *end;
    const double value = strtod(text, &end);

    if (*end || !(value >= 1) || !(value <= most)) {
        die("a number is out of its range");
    }
    return (int64_t)value;
}

int main(int argc, char **argv)
{
    static world w;
    char *defaults[] = {"64", "1024"};
    const int nrows = argc > 3 ? argc - 3 : 2;

    w.interactions = number(argc > 1 ? argv[1] : "1e8", 1e15);
    w.nparts = (int)number(argc > 2 ? argv[2] : "4096", 65536);
    fill(&w);
    printf("interactions,parts,blocks,needs,stream_s,stream_ns,first_s,best_s,peak_mb,plan,step_seconds\n");
    fflush(stdout);
    for (int k = 0; k < nrows; k++) {
        w.per_part = (int)number(argc > 3 ? argv[3 + k] : defaults[k], 1e6);
        row(&w);
    }
    return 0;
}
