/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of cutting samples of interactions into tiles.
 *
 *     taskset -c 1 build/bench/bench_tiles [PARTICLES [INTERACTIONS [SAMPLES]]]
 *
 * Particles (32768), in clusters or spread evenly, interact with all particles within a cutoff that gives each
 * INTERACTIONS (547) on average. Every k-th interaction is an item; k is such that a part of the largest number of
 * parts has SAMPLES (400) items. CSV, a row for every set, shape and number of parts, with the least and the median CPU
 * seconds of eqp__tiles_cut(). */
#include "lists.h"
#include "methods/tiles/tiles.h"
#include "timing.h"

#include <equipoise/survey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3, LEAST_PARTS = 64, MOST_PARTS = 4096 };

static void row(const char *set, const eqp_balance_items *items, bool jagged, int nparts)
{
    eqp_balance_options options = eqp_balance_options_defaults();
    int *part = bench_room(items->n, sizeof *part);
    bench_times times = {0};

    options.nparts = nparts;
    for (int r = 0; r < REPEATS; r++) {
        const double start = eqp_cpu_seconds();
        if (eqp__tiles_cut(items, &options, jagged, part)) {
            bench_die("cannot cut");
        }
        bench_times_add_since(&times, start);
    }
    printf("%s,%s,%d,%lld,%.5f,%.5f\n", set, jagged ? "jagged" : "free", nparts, (long long)items->n,
           bench_least(&times), bench_median(&times));
    fflush(stdout);
    free(part);
}

static void rows(const char *set, const char *generator, int64_t n, double mean, int64_t per_part)
{
    char text[80];
    bench_lists lists;

    snprintf(text, sizeof text, "%s:n=%lld", generator, (long long)n);
    bench_list_particles(text, 0, mean, &lists);
    const int64_t most = MOST_PARTS * per_part, stride = lists.ninteractions > most ? lists.ninteractions / most : 1;
    const int64_t nsamples = (lists.ninteractions + stride - 1) / stride;
    bench_point *target = bench_room(nsamples, sizeof *target), *source = bench_room(nsamples, sizeof *source);
    for (int64_t k = 0, i = 0; k < nsamples; k++) {
        while (lists.first[i + 1] <= k * stride) {
            i++;
        }
        target[k] = lists.item[i];
        source[k] = lists.source[lists.meets[k * stride]];
    }
    const eqp_balance_items items = {.n = nsamples, .point = target->x, .source = source->x};
    for (int nparts = LEAST_PARTS; nparts <= MOST_PARTS; nparts *= 8) {
        row(set, &items, false, nparts);
        row(set, &items, true, nparts);
    }
    free(target);
    free(source);
    bench_lists_free(&lists);
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 32768, per_part = argc > 3 ? atoll(argv[3]) : 400;
    const double mean = argc > 2 ? atof(argv[2]) : 547;

    if (n < 2 || !(mean > 0) || per_part < 1) {
        bench_die("needs numbers above zero");
    }
    printf("set,shape,nparts,items,create_s,median_s\n");
    rows("clusters", "clusters", n, mean, per_part);
    rows("even", "uniform", n, mean, per_part);
    return EXIT_SUCCESS;
}
