/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of building the hypergraph of work units, against the C library's qsort of the same pins.
 *
 *     taskset -c 1 build/bench/bench_hypergraph
 *
 * CSV of a million pins, one row for ids (`hashed` over 63 bits or `small` consecutive ones), pins per unit, and
 * sharing: pins per different id in the mean.
 * create_s and median_s are the least and the median CPU seconds of eqp__hypergraph_create(), qsort_s the least ones of
 * the sort, ratio is create_s / qsort_s. */
#include "methods/frame/hypergraph.h"
#include "timing.h"

#include <equipoise/more/random.h>
#include <equipoise/survey.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 5
#define REPETITIONS 5

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Neighboring units share ids: each draws from a window of ids that moves along with the units. */
static void draw_pins(int64_t npins, int64_t nids, int64_t window, bool hashed, int64_t *pin)
{
    for (int64_t k = 0; k < npins; k++) {
        int64_t from = (int64_t)((double)k / (double)npins * (double)(nids - window));
        int64_t id = from + (int64_t)eqp_random_below(SEED, 0, (uint64_t)k, (uint64_t)window);
        pin[k] = hashed ? (int64_t)(eqp_random_bits(SEED, 1, (uint64_t)id) >> 1) : id;
    }
}

static void row(bool hashed, int64_t per_unit, int64_t sharing)
{
    const int64_t npins = 1000000, n = npins / per_unit, nids = npins / sharing;
    const int64_t window = 8 * per_unit < nids ? 8 * per_unit : nids;
    int64_t *pin = bench_room(npins, sizeof *pin), *copy = bench_room(npins, sizeof *copy),
            *first = bench_room(n + 1, sizeof *first);
    bench_times create = {0}, sort = {0};
    int64_t nedges = 0;

    draw_pins(npins, nids, window, hashed, pin);
    for (int64_t i = 0; i <= n; i++) {
        first[i] = i * per_unit;
    }
    for (int r = 0; r < REPETITIONS; r++) {
        eqp_hypergraph graph = {0};
        double start = eqp_cpu_seconds();
        bench_check(eqp__hypergraph_create(n, first, pin, &graph), "cannot build the hypergraph");
        bench_times_add_since(&create, start);
        nedges = graph.nedges;
        eqp__hypergraph_free(&graph);
        if (r < 3) {
            memcpy(copy, pin, (size_t)npins * sizeof *pin);
            start = eqp_cpu_seconds();
            qsort(copy, (size_t)npins, sizeof *copy, compare_ids);
            bench_times_add_since(&sort, start);
        }
    }
    printf("%lld,%s,%lld,%lld,%lld,%lld,%.6f,%.6f,%.6f,%.3f\n", (long long)npins, hashed ? "hashed" : "small",
           (long long)per_unit, (long long)sharing, (long long)n, (long long)nedges, bench_least(&create),
           bench_median(&create), bench_least(&sort), bench_least(&create) / bench_least(&sort));
    fflush(stdout);
    free(pin);
    free(copy);
    free(first);
}

int main(void)
{
    static const int64_t per_unit[] = {4, 16, 256}, sharing[] = {2, 16};

    puts("pins,ids,per_unit,sharing,units,edges,create_s,median_s,qsort_s,ratio");
    for (int k = 0; k < 12; k++) {
        row(k / 6 == 0, per_unit[k % 3], sharing[k / 3 % 2]);
    }
    return 0;
}
