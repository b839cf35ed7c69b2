/* SPDX-License-Identifier: BSD-3-Clause */
/* How evenly each strategy of sampling cuts interactions into work units, at equal numbers of units, as CSV: the
 * situation of figures 4.4 and 4.7 of O. Pearce, Load Balancing Scientific Applications, 2014.
 *
 *     build/bench/bench_unit_sizes barneshut plummer:n=32768,seed=1 0.6 0.002
 *     build/bench/bench_unit_sizes cutoff clusters:n=32768,seed=1 547 0.002,0.004
 *     build/bench/bench_unit_sizes network network.data 547 0.0011,0.0012,0.0017
 *
 * Arguments: what interacts; the input (a generator of barneshut, a ParaDiS network); the opening angle, or the
 * average number of interactions of a particle or node; units per interaction, one number or several (none); the seed
 * of the sampling (1).
 *
 * barneshut: owners are particles, each with its own list of cells and particles. cutoff: all particles within a
 * radius, chosen for that average. network: owners are nodes with the segments that they own, interactions are pairs
 * of segments in a cell or in neighbouring ones, each once; as many cells as come next to that average. Every
 * interaction weighs 1. The number of units that is asked for is adjusted until it comes within 1 % of the wanted one,
 * if it ever does, else the nearest is taken.
 *
 * The first row, strategy none, is of whole lists: one unit for every owner. Columns: the radius, units wanted and
 * found, mean, largest and smallest size in interactions, standard deviation over mean, shape and scale of the gamma
 * distribution that fits best, and the histogram as START:UNITS with four bins per factor of two. */
#include "lists.h"
#include "timing.h"

#include <equipoise/error.h>
#include <equipoise/units.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 256
#define ATTEMPTS 12 /* attempts to find the weight that gives the wanted number of units */
#define CLOSE 0.01
#define FAR 0.1

static int enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    const bench_lists *l = user;
    double centroid[3 * BATCH];
    int code = EQP_OK;

    for (int64_t i = l->item_first[owner]; i < l->item_first[owner + 1]; i++) {
        for (int64_t at = l->first[i]; at < l->first[i + 1] && code == EQP_OK; at += BATCH) {
            const int64_t left = l->first[i + 1] - at, n = left < BATCH ? left : BATCH;
            for (int64_t k = 0; k < n; k++) {
                const bench_point *source = &l->source[l->meets[at + k]];
                for (int d = 0; d < 3; d++) {
                    const double own = bench_nearest(l->item[i].x[d] - l->owner[owner].x[d], l->box[d]);
                    centroid[3 * k + d] = own + 0.5 * bench_nearest(source->x[d] - l->item[i].x[d], l->box[d]);
                }
            }
            code = eqp_sink_add(sink, &(eqp_batch){.n = n, .centroid = centroid});
        }
    }
    return code;
}

static void sizes_of(bench_lists *l, const eqp_units_options *options, eqp_sizes *sizes)
{
    eqp_units *units;

    bench_check(eqp_units_create_serial(l->nowners, l->id, enumerate, l, options, &units), "no units");
    *sizes = (eqp_sizes){0};
    eqp_units_sizes(units, sizes);
    eqp_units_free(units);
}

/* Sizes of the units of a strategy for the wanted number or the nearest possible one: where owners weigh about as much
 * as units, slightly more weight splits many of them at once. */
static void sizes_at(bench_lists *l, eqp_sample_strategy strategy, double wanted, uint64_t seed, eqp_sizes *sizes)
{
    eqp_units_options options = eqp_units_options_defaults();
    double ask = wanted, low = 0, high = INFINITY, best = INFINITY;

    options.strategy = strategy;
    options.seed = seed;
    options.max_pins = 0;
    for (int attempt = 0; attempt < ATTEMPTS && best > CLOSE; attempt++) {
        eqp_sizes found;
        options.units = (int64_t)(ask + 0.5);
        sizes_of(l, &options, &found);
        const double off = fabs((double)found.n / wanted - 1);
        if (off < best) {
            best = off;
            *sizes = found;
        }
        *((double)found.n < wanted ? &low : &high) = ask;
        ask = fmax(1, ask * wanted / (double)found.n);
        ask = ask > low && ask < high ? ask : 0.5 * (low + fmin(high, 2 * wanted));
    }
    if (best > FAR) {
        bench_die("not as many units as wanted");
    }
}

/* One unit per owner, before any sampling. */
static void sizes_of_owners(const bench_lists *l, eqp_sizes *sizes)
{
    for (int64_t i = 0; i < l->nowners; i++) {
        const double size = (double)(l->first[l->item_first[i + 1]] - l->first[l->item_first[i]]);
        bench_check(eqp_sizes_add(sizes, 1, &size), "no sizes");
    }
}

static void print_row(const char *kind, const bench_lists *l, const char *strategy, double rate, const eqp_sizes *sizes)
{
    const double mean = sizes->sum / (double)sizes->n;
    const double variance = fmax(0, sizes->sum_squares / (double)sizes->n - mean * mean);
    double shape = NAN, scale = NAN;
    const char *gap = "";

    (void)eqp_sizes_fit_gamma(sizes, &shape, &scale); /* nan if no distribution fits */
    printf("%s,%.9g,%lld,%lld,%s,%g,%.0f,%lld,%.2f,%.0f,%.0f,%.4f,%.4f,%.2f,", kind, l->cutoff, (long long)l->nowners,
           (long long)l->ninteractions, strategy, rate, rate * (double)l->ninteractions, (long long)sizes->n, mean,
           sizes->max, sizes->min, sqrt(variance) / mean, shape, scale);
    for (int b = 0; b < EQP_SIZES_BINS; b++) {
        if (sizes->bin[b] > 0) {
            printf("%s%.6g:%lld", gap, eqp_sizes_bin_start(b), (long long)sizes->bin[b]);
            gap = " ";
        }
    }
    puts("");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const strategies[] = {"random", "particle", "adaptive", "stride"};
    const double number = argc > 3 ? strtod(argv[3], NULL) : 0;
    const uint64_t seed = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
    eqp_sizes owners = {0};
    bench_lists l;

    if (!(number > 0)) {
        bench_die("barneshut|cutoff|network INPUT THETA|INTERACTIONS [RATE,... [SEED]]");
    } else if (strcmp(argv[1], "barneshut") == 0) {
        bench_list_particles(argv[2], number, 0, &l);
    } else if (strcmp(argv[1], "cutoff") == 0) {
        bench_list_particles(argv[2], 0, number, &l);
    } else if (strcmp(argv[1], "network") == 0) {
        bench_list_segments(argv[2], number, &l);
    } else {
        bench_die("barneshut, cutoff or network?");
    }
    puts("kind,cutoff,owners,interactions,strategy,rate,wanted,units,mean,largest,smallest,deviation,shape,scale,"
         "histogram");
    sizes_of_owners(&l, &owners);
    print_row(argv[1], &l, "none", (double)l.nowners / (double)l.ninteractions, &owners);
    for (char *word = argc > 4 ? strtok(argv[4], ",") : NULL; word != NULL; word = strtok(NULL, ",")) {
        const double rate = strtod(word, NULL);
        if (!(rate > 0 && rate <= 1)) {
            bench_die("a rate is more than 0 and at most 1");
        }
        for (int s = EQP_SAMPLE_RANDOM; s <= EQP_SAMPLE_STRIDE; s++) {
            eqp_sizes sizes = {0};
            sizes_at(&l, (eqp_sample_strategy)s, rate * (double)l.ninteractions, seed, &sizes);
            print_row(argv[1], &l, strategies[s], rate, &sizes);
        }
    }
    bench_lists_free(&l);
    return 0;
}
