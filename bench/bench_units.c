/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of the sampler per interaction, and its memory, which does not depend on the number of interactions.
 *
 *     taskset -c 1 build/bench/bench_units [INTERACTIONS [INTERACTIONS_PER_OWNER [MAX_PINS [BATCH [STRATEGY]]]]]
 *
 * By default 1e8 interactions, 256 pins per unit and batches of 256, with the units that 2 % of imbalance on 64 parts
 * asks for, twice: with owners of 10,000 interactions, of which a unit holds several or one, and with owners of
 * 1,000,000, which are split. INTERACTIONS 1e9 is the memory goal. All interactions come from a table of 65,536, so
 * that making them costs nothing; every row is a process of its own, so that its memory is its own.
 *
 * CSV: weigh_ns and create_ns are CPU nanoseconds per interaction of eqp_owners_weigh() and eqp_units_create(),
 * total_ns is their sum; known_ns is that of eqp_units_create_known() where pins are sampled already (some 64 of every
 * owner's, by key); passes is how often an interaction was streamed by eqp_units_create(); peak_mb the process's peak
 * of resident memory, start_mb what it was before the sampler was called. */
#include "timing.h"

#include <equipoise/more/random.h>
#include <equipoise/survey.h>
#include <equipoise/units.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TABLE = 1 << 16, MOST_BATCH = 1 << 14, NEIGHBOURS = 4096, PER_OWNER = 64 };

static const char *const names[] = {"random", "particle", "adaptive", "stride"};

typedef struct world {
    int64_t owners, interactions, batch;
    double *centroid, *weight;
    int64_t *pin; /* [TABLE + MOST_BATCH] */
    int64_t streamed;
} world;

typedef struct costs {
    double weigh, create, known;
} costs;

/* Ids are hashes, like those of tree tiles. */
static void fill(world *w)
{
    const int64_t n = TABLE + MOST_BATCH;

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

/* Owners begin at different places in the table, neighbors near each other. */
static int64_t start_of(int64_t owner)
{
    return owner * NEIGHBOURS / 16 % TABLE;
}

static int enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    world *w = user;
    int64_t place = start_of(owner);
    int code = EQP_OK;

    w->streamed += w->interactions;
    for (int64_t left = w->interactions; left > 0 && code == EQP_OK; left -= w->batch) {
        const eqp_batch batch = {.n = left < w->batch ? left : w->batch,
                                 .centroid = w->centroid + 3 * place,
                                 .weight = w->weight + place,
                                 .npins = 1,
                                 .pin = w->pin + place};
        code = eqp_sink_add(sink, &batch);
        place = (place + w->batch) % TABLE;
    }
    return code;
}

static double megabytes(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

static eqp_units *create(world *w, const int64_t *id, const int64_t *count, const double *weight,
                         const eqp_owner_pins *pins, const eqp_units_options *options, double *seconds)
{
    eqp_units *units = NULL;
    double start = eqp_cpu_seconds();

    w->streamed = 0;
    if (eqp_units_create_known(w->owners, id, count, weight, pins, enumerate, w, options, NULL, NULL, &units) !=
        EQP_OK) {
        bench_die("cannot select units");
    }
    *seconds = eqp_cpu_seconds() - start;
    return units;
}

/* The pins below a bound, as an application finds them during its computation: some PER_OWNER per owner. */
static void sample_pins(const world *w, uint64_t seed, int64_t **first, int64_t **pin)
{
    const int64_t most = w->interactions < TABLE ? w->interactions : TABLE;
    const double share = (double)PER_OWNER / (double)most;
    bool *below = bench_room(TABLE, sizeof *below);
    int64_t n = 0;

    *first = bench_room(w->owners + 1, sizeof **first);
    *pin = bench_room(w->owners * 4 * PER_OWNER, sizeof **pin);
    for (int64_t k = 0; k < TABLE; k++) {
        below[k] = (double)eqp_pin_key(seed, w->pin[k]) < share * 0x1p64;
    }
    (*first)[0] = 0;
    for (int64_t i = 0; i < w->owners; i++) {
        for (int64_t k = 0; k < most; k++) {
            const int64_t at = (start_of(i) + k) % TABLE;
            if (below[at] && n < 4 * PER_OWNER * (i + 1)) {
                (*pin)[n++] = w->pin[at];
            }
        }
        (*first)[i + 1] = n;
    }
    free(below);
}

static costs measure(world *w, const eqp_units_options *options, int64_t *nunits, double *passes, double *peak)
{
    int64_t *id = bench_room(w->owners, sizeof *id), *count = bench_room(w->owners, sizeof *count), *first, *pin;
    double *weight = bench_room(w->owners, sizeof *weight), start = eqp_cpu_seconds();
    costs seconds;

    for (int64_t i = 0; i < w->owners; i++) {
        id[i] = (int64_t)(eqp_random_bits(4, (uint64_t)i, 0) >> 1);
    }
    if (eqp_owners_weigh(w->owners, id, NULL, enumerate, w, options, count, weight) != EQP_OK) {
        bench_die("cannot weigh");
    }
    seconds.weigh = eqp_cpu_seconds() - start;
    eqp_units *units = create(w, id, count, weight, NULL, options, &seconds.create);
    *nunits = eqp_units_count(units);
    *passes = (double)w->streamed / (double)(w->owners * w->interactions);
    *peak = megabytes();
    eqp_units_free(units);
    sample_pins(w, options->seed, &first, &pin);
    units = create(w, id, count, weight, &(eqp_owner_pins){first, pin}, options, &seconds.known);
    eqp_units_free(units);
    free(id);
    free(count);
    free(weight);
    free(first);
    free(pin);
    return seconds;
}

static void row(world *w, eqp_sample_strategy strategy, int max_pins)
{
    eqp_units_options options = eqp_units_options_defaults();
    const double ns = 1e9 / ((double)w->owners * (double)w->interactions), begin = megabytes();
    int64_t nunits;
    double passes, peak;

    options.strategy = strategy;
    options.nparts = 64;
    options.imbalance = 0.02;
    options.max_pins = max_pins;
    if (strategy == EQP_SAMPLE_RANDOM) {
        options.rate = options.nparts * 2 / options.imbalance / ((double)w->owners * (double)w->interactions);
    }
    costs seconds = measure(w, &options, &nunits, &passes, &peak);
    printf("%s,%lld,%lld,%lld,%d,%lld,%.3f,%.3f,%.3f,%.3f,%.2f,%.1f,%.1f\n", names[strategy], (long long)w->owners,
           (long long)w->interactions, (long long)w->batch, max_pins, (long long)nunits, seconds.weigh * ns,
           seconds.create * ns, (seconds.weigh + seconds.create) * ns, seconds.known * ns, passes, peak, begin);
    fflush(stdout);
}

static void row_apart(world *w, eqp_sample_strategy strategy, int max_pins)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        row(w, strategy, max_pins);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        bench_die("a row has failed");
    }
}

static double number(int argc, char **argv, int at, double otherwise, double least, double most)
{
    double value = argc > at ? strtod(argv[at], NULL) : otherwise;

    if (!(value >= least && value <= most)) {
        bench_die("[INTERACTIONS [INTERACTIONS_PER_OWNER [MAX_PINS [BATCH [STRATEGY]]]]]");
    }
    return value;
}

int main(int argc, char **argv)
{
    const double interactions = number(argc, argv, 1, 1e8, 1, 1e12);
    const int max_pins = (int)number(argc, argv, 3, 256, 0, 65536);
    world w = {.batch = (int64_t)number(argc, argv, 4, 256, 1, MOST_BATCH)};

    fill(&w);
    puts("strategy,owners,per_owner,batch,max_pins,units,weigh_ns,create_ns,total_ns,known_ns,passes,peak_mb,start_mb");
    fflush(stdout);
    for (double per_owner = 1e4; per_owner <= 1e6; per_owner *= 100) {
        w.interactions = (int64_t)number(argc, argv, 2, per_owner, 1, 1e12);
        w.owners = (int64_t)(interactions / (double)w.interactions);
        w.owners = w.owners > 0 ? w.owners : 1;
        for (int s = EQP_SAMPLE_RANDOM; s <= EQP_SAMPLE_STRIDE; s++) {
            if (argc < 6 || strcmp(argv[5], names[s]) == 0) {
                row_apart(&w, (eqp_sample_strategy)s, max_pins);
            }
        }
        if (argc > 2) {
            break;
        }
    }
    free(w.centroid);
    free(w.weight);
    free(w.pin);
    return 0;
}
