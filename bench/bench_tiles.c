/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of cutting samples of interactions into tiles, and properties of the tiles.
 *
 *     taskset -c 1 build/bench/bench_tiles [PARTICLES [INTERACTIONS [SAMPLES]]]
 *
 * Particles (32768) in clusters or spread evenly interact with all particles within a cutoff that gives each
 * INTERACTIONS (547) on average. Every k-th interaction is an item; k is such that a part of the largest number of
 * parts has SAMPLES (400) items. CSV, one row for every set, shape (`free`, `jagged`, and `curve`: a weighted Hilbert
 * curve of the targets with the best cut) and number of parts: create_s, median_s: least and median CPU seconds of
 * eqp_tiles_create() from the items; same_s, drift_s: least ones of eqp_tiles_recut() for the same items and after
 * every particle has moved by up to a hundredth of the cutoff; cuts: made anew by the latter, in per cent; sampled and
 * all: imbalance of the items' weights and, through eqp_tiles_find(), of all interactions; find_ns: CPU time of one
 * search; ghosts: particles that a part needs and that are not at home there, in the mean (each is at home with one of
 * its users); returns: forces that a part sends to other homes, in the mean; columns: parts per strip. */
#include "timing.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/curve.h>
#include <equipoise/more/random.h>
#include <equipoise/more/tiles.h>
#include <equipoise/survey.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 3, CLUSTERS = 12, REPEATS = 3 };

typedef struct bench_set {
    const char *name;
    int64_t n; /* particles */
    double *x; /* [n][3] */
    double cutoff;
    int64_t *first; /* [n + 1] */
    int32_t *other; /* [first[n]] sources of each target */
} bench_set;

static void die(const char *what)
{
    bench_die("bench_tiles", what);
}

static void *room(int64_t n, size_t size)
{
    void *memory = NULL;

    if (eqp_array_create(&memory, n, size)) {
        die("out of memory");
    }
    return memory;
}

/* Half of the particles in round clusters of different sizes with dense cores, the rest anywhere; or all of them
 * anywhere. */
static void place(bench_set *set, bool clustered)
{
    for (int64_t i = 0; i < set->n; i++) {
        int c = (int)eqp_random_below(SEED, (uint64_t)i, 0, 2 * CLUSTERS);
        double normal[4];
        eqp_random_normal(SEED, (uint64_t)i, 1, normal);
        eqp_random_normal(SEED, (uint64_t)i, 2, normal + 2);
        double wide = 0.02 * (1 + c) * eqp_random_uniform(SEED, (uint64_t)i, 3);
        for (int k = 0; k < 3; k++) {
            double middle = eqp_random_uniform(SEED, 1u << 30, (uint64_t)(3 * c + k));
            double anywhere = eqp_random_uniform(SEED, (uint64_t)i, (uint64_t)(4 + k));
            set->x[3 * i + k] = clustered && c < CLUSTERS ? middle + wide * normal[k] : anywhere;
        }
    }
}

/* Particles by cells of the cutoff's size. */
typedef struct cells {
    int side;
    double low[3], width;
    int64_t *first;
    int32_t *member;
} cells;

static int cell_of(const cells *c, const double *x, int k)
{
    int at = (int)((x[k] - c->low[k]) / c->width);

    return at < 0 ? 0 : at >= c->side ? c->side - 1 : at;
}

static int64_t cell_at(const cells *c, const double *x)
{
    return ((int64_t)cell_of(c, x, 0) * c->side + cell_of(c, x, 1)) * c->side + cell_of(c, x, 2);
}

static cells cells_of(const bench_set *set, double cutoff)
{
    cells c = {.width = cutoff, .low = {-0.5, -0.5, -0.5}};

    c.side = (int)fmin(fmax(2 / cutoff, 1), 100);
    c.width = fmax(cutoff, 2.0 / c.side);
    const int64_t ncells = (int64_t)c.side * c.side * c.side;
    c.first = room(ncells + 2, sizeof *c.first);
    c.member = room(set->n, sizeof *c.member);
    for (int64_t i = 0; i < set->n; i++) {
        c.first[cell_at(&c, set->x + 3 * i) + 2]++;
    }
    for (int64_t k = 2; k <= ncells + 1; k++) {
        c.first[k] += c.first[k - 1];
    }
    for (int64_t i = 0; i < set->n; i++) {
        c.member[c.first[cell_at(&c, set->x + 3 * i) + 1]++] = (int32_t)i;
    }
    return c;
}

static double square_between(const double *x, const double *y)
{
    double d[3] = {x[0] - y[0], x[1] - y[1], x[2] - y[2]};

    return d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
}

/* Sources of one particle; other may be NULL: they are counted only. */
static int64_t list_sources(const bench_set *set, const cells *c, int64_t i, double cutoff, int32_t *other)
{
    const double *x = set->x + 3 * i;
    int at[3] = {cell_of(c, x, 0), cell_of(c, x, 1), cell_of(c, x, 2)};
    int64_t found = 0;

    for (int k = 0; k < 27; k++) {
        int a = at[0] + k / 9 - 1, b = at[1] + k / 3 % 3 - 1, d = at[2] + k % 3 - 1;
        if (a < 0 || b < 0 || d < 0 || a >= c->side || b >= c->side || d >= c->side) {
            continue;
        }
        int64_t cell = ((int64_t)a * c->side + b) * c->side + d;
        for (int64_t m = c->first[cell]; m < c->first[cell + 1]; m++) {
            int32_t j = c->member[m];
            if (j != i && square_between(x, set->x + 3 * (int64_t)j) <= cutoff * cutoff) {
                if (other) {
                    other[found] = j;
                }
                found++;
            }
        }
    }
    return found;
}

/* Interactions with that cutoff, of every stride-th particle; counted into set->first if there is one. */
static double count_all(const bench_set *set, double cutoff, int64_t stride)
{
    cells c = cells_of(set, cutoff);
    int64_t sum = 0;

    for (int64_t i = 0; i < set->n; i += stride) {
        sum += list_sources(set, &c, i, cutoff, NULL);
    }
    free(c.first);
    free(c.member);
    return (double)sum * (double)stride;
}

static void interact(bench_set *set, double mean)
{
    double low = 1e-3, high = 1;

    for (int round = 0; round < 20; round++) {
        double middle = sqrt(low * high);
        if (count_all(set, middle, 37) < mean * (double)set->n) {
            low = middle;
        } else {
            high = middle;
        }
    }
    set->cutoff = high;
    cells c = cells_of(set, high);
    for (int64_t i = 0; i < set->n; i++) {
        set->first[i + 1] = set->first[i] + list_sources(set, &c, i, high, NULL);
    }
    set->other = room(set->first[set->n], sizeof *set->other);
    for (int64_t i = 0; i < set->n; i++) {
        (void)list_sources(set, &c, i, high, set->other + set->first[i]);
    }
    free(c.first);
    free(c.member);
}

/* Particles along the curve, as codes keep them. */
typedef struct keyed {
    uint64_t key;
    double x[3];
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static void sort_along_curve(bench_set *set)
{
    keyed *list = room(set->n, sizeof *list);
    const double cell = 2.0 / (1 << EQP_CURVE_BITS);

    for (int64_t i = 0; i < set->n; i++) {
        uint32_t at[3];
        for (int k = 0; k < 3; k++) {
            list[i].x[k] = set->x[3 * i + k];
            at[k] = (uint32_t)fmin(fmax((list[i].x[k] + 0.5) / cell, 0), (1 << EQP_CURVE_BITS) - 1);
        }
        list[i].key = eqp_hilbert_key(at[0], at[1], at[2]);
    }
    qsort(list, (size_t)set->n, sizeof *list, by_key);
    for (int64_t i = 0; i < set->n; i++) {
        memcpy(set->x + 3 * i, list[i].x, sizeof list[i].x);
    }
    free(list);
}

static bench_set make_set(const char *name, int64_t n, double mean)
{
    bench_set set = {.name = name, .n = n};

    set.x = room(3 * n, sizeof *set.x);
    set.first = room(n + 1, sizeof *set.first);
    place(&set, strcmp(name, "clusters") == 0);
    sort_along_curve(&set);
    interact(&set, mean);
    return set;
}

static void free_set(bench_set *set)
{
    free(set->x);
    free(set->first);
    free(set->other);
}

/* Every stride-th interaction. */
typedef struct samples {
    eqp_tiles_items items;
    double *target, *source;
} samples;

static samples take_samples(const bench_set *set, const double *x, int64_t stride)
{
    samples s = {.items = {.n = 0}};
    const int64_t all = set->first[set->n];

    s.items.n = (all + stride - 1) / stride;
    s.target = room(3 * s.items.n, sizeof *s.target);
    s.source = room(3 * s.items.n, sizeof *s.source);
    for (int64_t k = 0, i = 0; k < s.items.n; k++) {
        while (set->first[i + 1] <= k * stride) {
            i++;
        }
        memcpy(s.target + 3 * k, x + 3 * i, 3 * sizeof *x);
        memcpy(s.source + 3 * k, x + 3 * (int64_t)set->other[k * stride], 3 * sizeof *x);
    }
    s.items.target = s.target;
    s.items.source = s.source;
    return s;
}

static void free_samples(samples *s)
{
    free(s->target);
    free(s->source);
}

/* Particles that a part needs beyond its own, and forces that it returns. part: [interactions] of all of them. */
static void count_ghosts(const bench_set *set, const int *part, int nparts, double *ghosts, double *returns)
{
    const int64_t all = set->first[set->n];
    int64_t *first = room((int64_t)nparts + 2, sizeof *first), used = 0, felt = 0;
    int32_t *target = room(all, sizeof *target), *source = room(all, sizeof *source);
    int *seen = room(set->n, sizeof *seen), *seen_target = room(set->n, sizeof *seen_target);
    int64_t nused = 0;

    for (int64_t k = 0; k < all; k++) {
        first[part[k] + 2]++;
    }
    for (int p = 2; p <= nparts + 1; p++) {
        first[p] += first[p - 1];
    }
    for (int64_t i = 0; i < set->n; i++) {
        for (int64_t k = set->first[i]; k < set->first[i + 1]; k++) {
            int64_t to = first[part[k] + 1]++;
            target[to] = (int32_t)i;
            source[to] = set->other[k];
        }
    }
    for (int p = 0; p < nparts; p++) {
        for (int64_t k = first[p]; k < first[p + 1]; k++) {
            int32_t ends[2] = {target[k], source[k]};
            felt += seen_target[ends[0]] != p + 1;
            seen_target[ends[0]] = p + 1;
            for (int e = 0; e < 2; e++) {
                used += seen[ends[e]] != p + 1;
                nused += seen[ends[e]] == 0;
                seen[ends[e]] = p + 1;
            }
        }
    }
    *ghosts = (double)(used - nused) / nparts;
    *returns = fmax((double)(felt - nused) / nparts, 0);
    free(first);
    free(target);
    free(source);
    free(seen);
    free(seen_target);
}

static double imbalance_of(int64_t n, const int *part, int nparts)
{
    int64_t *load = room(nparts, sizeof *load), most = 0;

    for (int64_t i = 0; i < n; i++) {
        load[part[i]]++;
    }
    for (int p = 0; p < nparts; p++) {
        most = load[p] > most ? load[p] : most;
    }
    free(load);
    return (double)most * nparts / (double)n - 1;
}

static void row_of_curve(const bench_set *set, int nparts)
{
    const int64_t all = set->first[set->n];
    int64_t *first = room((int64_t)nparts + 1, sizeof *first);
    double *load = room(set->n, sizeof *load), ghosts, returns;
    int *part = room(all, sizeof *part);
    bench_times times = {0};

    for (int64_t i = 0; i < set->n; i++) {
        load[i] = (double)(set->first[i + 1] - set->first[i]);
    }
    for (int r = 0; r < REPEATS; r++) {
        double start = eqp_cpu_seconds();
        if (eqp_cuts_optimal(set->n, load, nparts, NULL, first, NULL)) {
            die("cannot cut the curve");
        }
        bench_times_add_since(&times, start);
    }
    for (int p = 0; p < nparts; p++) {
        for (int64_t k = set->first[first[p]]; k < set->first[first[p + 1]]; k++) {
            part[k] = p;
        }
    }
    count_ghosts(set, part, nparts, &ghosts, &returns);
    double imbalance = imbalance_of(all, part, nparts);
    printf("%s,curve,%d,%lld,%.5f,%.5f,,,,%.4f,%.4f,,%.1f,%.1f,\n", set->name, nparts, (long long)set->n,
           bench_least(&times), bench_median(&times), imbalance, imbalance, ghosts, returns);
    free(first);
    free(load);
    free(part);
}

/* Places all interactions; returns CPU seconds per search. */
static double find_all(const bench_set *set, const eqp_tiles *tree, int *part)
{
    double start = eqp_cpu_seconds();

    for (int64_t i = 0; i < set->n; i++) {
        for (int64_t k = set->first[i]; k < set->first[i + 1]; k++) {
            part[k] = eqp_tiles_find(tree, set->x + 3 * i, set->x + 3 * (int64_t)set->other[k]);
        }
    }
    return (eqp_cpu_seconds() - start) / (double)set->first[set->n];
}

/* Everybody has moved a little. */
static double *drifted(const bench_set *set)
{
    double *x = room(3 * set->n, sizeof *x);

    for (int64_t i = 0; i < 3 * set->n; i++) {
        x[i] = set->x[i] + 0.01 * set->cutoff * (2 * eqp_random_uniform(SEED, 9, (uint64_t)i) - 1);
    }
    return x;
}

static double recut(const eqp_tiles_items *before, const eqp_tiles_items *after, const eqp_tiles_options *options,
                    double *cuts)
{
    bench_times times = {0};
    int *part = room(after->n, sizeof *part);
    eqp_tiles_result result;

    for (int r = 0; r < REPEATS; r++) {
        eqp_tiles *tree = NULL;
        if (eqp_tiles_create(before, options, NULL, &tree, NULL)) {
            die("cannot cut");
        }
        double start = eqp_cpu_seconds();
        if (eqp_tiles_recut(tree, after, options->imbalance_tol, part, &result)) {
            die("cannot cut again");
        }
        bench_times_add_since(&times, start);
        eqp_tiles_free(tree);
    }
    *cuts = 100.0 * result.moved_cuts / (options->nparts > 1 ? options->nparts - 1 : 1);
    free(part);
    return bench_least(&times);
}

static void row_of_tiles(const bench_set *set, const samples *now, const samples *next, enum eqp_tiles_shape shape,
                         int nparts)
{
    eqp_tiles_options options = eqp_tiles_options_defaults();
    int *part = room(now->items.n, sizeof *part), *all = room(set->first[set->n], sizeof *all);
    bench_times times = {0};
    eqp_tiles_result result;
    eqp_tiles *tree = NULL;
    double cuts, same_cuts, ghosts, returns;

    options.nparts = nparts;
    options.shape = shape;
    for (int r = 0; r < REPEATS; r++) {
        eqp_tiles_free(tree);
        double start = eqp_cpu_seconds();
        if (eqp_tiles_create(&now->items, &options, part, &tree, &result)) {
            die("cannot cut");
        }
        bench_times_add_since(&times, start);
    }
    double same = recut(&now->items, &now->items, &options, &same_cuts);
    double drift = recut(&now->items, &next->items, &options, &cuts);
    double seconds = find_all(set, tree, all);
    count_ghosts(set, all, nparts, &ghosts, &returns);
    printf("%s,%s,%d,%lld,%.5f,%.5f,%.5f,%.5f,%.1f,%.4f,%.4f,%.1f,%.1f,%.1f,%d\n", set->name,
           shape == EQP_TILES_FREE ? "free" : "jagged", nparts, (long long)now->items.n, bench_least(&times),
           bench_median(&times), same, drift, cuts, result.imbalance, imbalance_of(set->first[set->n], all, nparts),
           1e9 * seconds, ghosts, returns, result.columns);
    fflush(stdout);
    eqp_tiles_free(tree);
    free(part);
    free(all);
}

static void rows(const char *name, int64_t n, double mean, int64_t per_part)
{
    const int most_parts = 4096;
    bench_set set = make_set(name, n, mean);
    int64_t stride = set.first[n] / (most_parts * per_part);
    double *x = drifted(&set);
    stride = stride > 0 ? stride : 1;
    samples now = take_samples(&set, set.x, stride), next = take_samples(&set, x, stride);

    for (int nparts = 64; nparts <= most_parts; nparts *= 8) {
        row_of_curve(&set, nparts);
        row_of_tiles(&set, &now, &next, EQP_TILES_FREE, nparts);
        row_of_tiles(&set, &now, &next, EQP_TILES_JAGGED, nparts);
    }
    free(x);
    free_samples(&now);
    free_samples(&next);
    free_set(&set);
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 32768, per_part = argc > 3 ? atoll(argv[3]) : 400;
    const double mean = argc > 2 ? atof(argv[2]) : 547;

    if (n < 2 || !(mean > 0) || per_part < 1) {
        die("needs numbers above zero");
    }
    printf("set,shape,nparts,items,create_s,median_s,same_s,drift_s,cuts,sampled,all,find_ns,ghosts,returns,columns\n");
    rows("clusters", n, mean, per_part);
    rows("even", n, mean, per_part);
    return EXIT_SUCCESS;
}
