/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of the sampler per interaction, and its memory, which does not depend on the number of interactions.
 *
 *     taskset -c 1 build/bench/bench_units [INTERACTIONS [INTERACTIONS_PER_OWNER]]
 *
 * By default 1e8 interactions, with the units that 2 % of imbalance on 64 parts asks for, twice: with owners of 10,000
 * interactions, of which a unit holds several or one, and with owners of 1,000,000, which are split. INTERACTIONS 1e9
 * is the memory goal. All interactions come from a table of 65,536, so that making them costs nothing; every row is a
 * process of its own, so that its memory is its own.
 *
 * CSV: total_ns is the CPU nanoseconds per interaction of eqp_owners_weigh() and eqp_units_create(); peak_mb the
 * process's peak of resident memory. */
#include "timing.h"

#include <equipoise/more/random.h>
#include <equipoise/survey.h>
#include <equipoise/units.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLE = 1 << 16, BATCH = 256, NEIGHBOURS = 4096 };

static const char *const names[] = {"random", "particle", "adaptive", "stride"};

typedef struct world {
    int64_t owners, interactions;
    double *centroid, *weight;
    int64_t *pin; /* [TABLE + BATCH] */
} world;

/* Ids are hashes, like those of tree tiles. */
static void fill(world *w)
{
    const int64_t n = TABLE + BATCH;

    w->centroid = bench_room(3 * n, sizeof *w->centroid);
    w->weight = bench_room(n, sizeof *w->weight);
    w->pin = bench_room(n, sizeof *w->pin);
    for (int64_t k = 0; k < n; k++) {
        const uint64_t of = (uint64_t)(k % TABLE);
        for (int d = 0; d < 3; d++) {
            w->centroid[3 * k + d] = eqp_random_uniform(1, of, (uint64_t)d);
        }
        w->weight[k] = 0.5 + eqp_random_uniform(2, of, 0);
        w->pin[k] = (int64_t)(eqp_random_bits(3, of, 0) >> 1);
    }
}

static int enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    const world *w = user;
    int64_t place = owner * NEIGHBOURS / 16 % TABLE; /* differs by owner; neighbours begin near each other */
    int code = EQP_OK;

    for (int64_t left = w->interactions; left > 0 && code == EQP_OK; left -= BATCH) {
        const eqp_batch batch = {.n = left < BATCH ? left : BATCH,
                                 .centroid = w->centroid + 3 * place,
                                 .weight = w->weight + place,
                                 .npins = 1,
                                 .pin = w->pin + place};
        code = eqp_sink_add(sink, &batch);
        place = (place + BATCH) % TABLE;
    }
    return code;
}

static double megabytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

static void row(world *w, eqp_sample_strategy strategy)
{
    eqp_units_options options = eqp_units_options_defaults();
    const double all = (double)w->owners * (double)w->interactions;
    int64_t *id = bench_room(w->owners, sizeof *id), *count = bench_room(w->owners, sizeof *count);
    double *weight = bench_room(w->owners, sizeof *weight);
    eqp_units *units = NULL;

    options.strategy = strategy;
    options.nparts = 64;
    options.imbalance = 0.02;
    options.max_pins = 256;
    options.rate = strategy == EQP_SAMPLE_RANDOM ? options.nparts * 2 / options.imbalance / all : options.rate;
    for (int64_t i = 0; i < w->owners; i++) {
        id[i] = (int64_t)(eqp_random_bits(4, (uint64_t)i, 0) >> 1);
    }
    const double start = eqp_cpu_seconds();
    if (eqp_owners_weigh(w->owners, id, NULL, enumerate, w, &options, count, weight) != EQP_OK ||
        eqp_units_create_known(w->owners, id, count, weight, NULL, enumerate, w, &options, NULL, NULL, &units) !=
            EQP_OK) {
        bench_die("cannot select units");
    }
    const double seconds = eqp_cpu_seconds_since(start);
    printf("%s,%lld,%lld,%lld,%.3f,%.1f\n", names[strategy], (long long)w->owners, (long long)w->interactions,
           (long long)eqp_units_count(units), 1e9 * seconds / all, megabytes());
    fflush(stdout);
    eqp_units_free(units);
    free(id);
    free(count);
    free(weight);
}

static void row_apart(world *w, eqp_sample_strategy strategy)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        row(w, strategy);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        bench_die("a row has failed");
    }
}

static double number(int argc, char **argv, int at, double otherwise)
{
    double value = argc > at ? strtod(argv[at], NULL) : otherwise;

    if (!(value >= 1 && value <= 1e12)) {
        bench_die("[INTERACTIONS [INTERACTIONS_PER_OWNER]]");
    }
    return value;
}

int main(int argc, char **argv)
{
    const double interactions = number(argc, argv, 1, 1e8);
    world w = {.owners = 0};

    fill(&w);
    puts("strategy,owners,per_owner,units,total_ns,peak_mb");
    fflush(stdout);
    for (double per_owner = 1e4; per_owner <= (argc > 2 ? 1e4 : 1e6); per_owner *= 100) {
        w.interactions = (int64_t)number(argc, argv, 2, per_owner);
        w.owners = (int64_t)(interactions / (double)w.interactions);
        w.owners = w.owners > 0 ? w.owners : 1;
        for (int s = EQP_SAMPLE_RANDOM; s <= EQP_SAMPLE_STRIDE; s++) {
            row_apart(&w, (eqp_sample_strategy)s);
        }
    }
    free(w.centroid);
    free(w.weight);
    free(w.pin);
    return 0;
}
