/* SPDX-License-Identifier: BSD-3-Clause */
/* What one map is worth for a cycle of block time steps, by method; and what it takes to make it. Virtual, on one rank.
 *
 *     build/bench/study_cycle [SET [PARTS [METHODS [ITEMS]]]]
 *
 * SET: a generator of barneshut (clusters:n=131072) or a snapshot's file. PARTS: 16,64,256. METHODS:
 * count,sfc,pieces,metis,levelled. ITEMS: particles,leaves,kernels, leaves being up to 16 particles that lie together.
 * A particle's bin follows from its step, proportional to 1 / sqrt(acceleration): the longest is that of the first
 * percentile of accelerations, each bin halves it, bins below a thousandth of the particles join the one above. Phase k
 * has the particles of bins k and deeper, and each weighs 1. Phase 0 comes once in a cycle, phase k > 0 2^(k - 1)
 * times. `kernels` are leaves with three loads that all come once: particles, pairs with those of touching leaves, and
 * such pairs of the half of the leaves with the lowest x.
 *
 * CSV: efficiency of the cycle, what no assignment can exceed, imbalance of the worst phase and of the weights; ghosts:
 * particles in leaves that touch one with particles of a part that does not have them, per particle, in phase 0; what a
 * repair moved; seconds: CPU seconds of this thread, the least of five calls for methods that need no MPI, else of one
 * eqp_balance(). */
#include "timing.h"

#include "../apps/barneshut/physics/generate.h"
#include "../apps/barneshut/physics/serial.h"

#include <equipoise/balance.h>
#include <equipoise/more/base.h>
#include <equipoise/snapshot.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "study_cycle"

enum { LEAF = 16, REPEATS = 5, MOST_BINS = 10 };

typedef struct particles {
    int64_t n;
    double *column[11]; /* x y z vx vy vz m ax ay az pot */
    bh_serial serial;
    int64_t nleaves, *leaf; /* [nleaves + 1] first particle of each in key order */
    int64_t *leaf_of;       /* [n] in key order */
    int64_t *touch_first;   /* [nleaves + 1] */
    int64_t *touch;         /* leaves that touch each, itself included */
    int nbins;
    int *bin; /* [n] in key order */
    double times[MOST_BINS];
} particles;

/* What is assigned. */
typedef struct problem {
    const char *name;
    eqp_balance_items items;
    int64_t *id, *count, *pin_first, *pin, *item_of; /* [n particles] the last */
    double *load, *point, *weight;
    int nphases;
    const double *times; /* [nphases] */
} problem;

static void check(int code, const char *what)
{
    if (code) {
        bench_die(PROGRAM, what ? what : eqp_error_text(code));
    }
}

static void *room(int64_t n, size_t size)
{
    void *memory = NULL;

    check(eqp_array_create(&memory, n, size), NULL);
    return memory;
}

static void read_file(const char *path, particles *p)
{
    eqp_snapshot *snapshot;
    eqp_message message = {""};

    check(eqp_snapshot_open(path, &snapshot, &message), message.text);
    p->n = eqp_snapshot_get_info(snapshot)->n;
    for (int k = 0; k < 11; k++) {
        p->column[k] = room(p->n, sizeof *p->column[k]);
    }
    const eqp_snapshot_arrays arrays = {.x = p->column[0], .y = p->column[1], .z = p->column[2], .m = p->column[6]};
    check(eqp_snapshot_read(snapshot, 0, p->n, &arrays, &message), message.text);
    eqp_snapshot_close(snapshot);
}

static void make(const char *text, particles *p)
{
    bh_generator generator;
    eqp_message message = {""};

    check(bh_generator_parse(text, &generator, &message), message.text);
    p->n = bh_generator_count(&generator);
    for (int k = 0; k < 11; k++) {
        p->column[k] = room(p->n, sizeof *p->column[k]);
    }
    check(bh_generate(&generator, 0, p->n, p->column[0], p->column[1], p->column[2], p->column[3], p->column[4],
                      p->column[5], p->column[6]),
          NULL);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Accelerations, and from them bins. */
static void bin_particles(particles *p)
{
    const bh_mac mac = {.theta = 0.6};
    double *accel = room(p->n, sizeof *accel), *sorted = room(p->n, sizeof *sorted), lo[3], hi[3], **c = p->column;
    int64_t held[MOST_BINS + 1] = {0};

    for (int d = 0; d < 3; d++) {
        lo[d] = INFINITY;
        hi[d] = -INFINITY;
        for (int64_t i = 0; i < p->n; i++) {
            lo[d] = fmin(lo[d], c[d][i]);
            hi[d] = fmax(hi[d], c[d][i]);
        }
    }
    const double softening = 1e-4 * fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
    check(bh_serial_build(&p->serial, p->n, c[0], c[1], c[2], c[6], NULL, LEAF, LEAF), NULL);
    check(bh_serial_force(&p->serial, NULL, &mac, 1, softening, c[7], c[8], c[9], c[10], NULL), NULL);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t from = p->serial.order[i];
        accel[i] = sqrt(c[7][from] * c[7][from] + c[8][from] * c[8][from] + c[9][from] * c[9][from]);
        sorted[i] = accel[i];
    }
    qsort(sorted, (size_t)p->n, sizeof *sorted, by_size);
    const double least = sorted[p->n / 100];
    p->bin = room(p->n, sizeof *p->bin);
    for (int64_t i = 0; i < p->n; i++) {
        const double halvings = accel[i] > least ? ceil(0.5 * log2(accel[i] / least)) : 0;
        p->bin[i] = (int)fmin(halvings, MOST_BINS - 1);
        held[p->bin[i]]++;
    }
    p->nbins = MOST_BINS;
    while (p->nbins > 1 && held[p->nbins - 1] < p->n / 1000) {
        p->nbins--;
        held[p->nbins - 1] += held[p->nbins];
    }
    for (int64_t i = 0; i < p->n; i++) {
        p->bin[i] = p->bin[i] < p->nbins ? p->bin[i] : p->nbins - 1;
    }
    for (int k = 0; k < p->nbins; k++) {
        p->times[k] = k == 0 ? 1 : ldexp(1, k - 1);
    }
    free(accel);
    free(sorted);
}

/* Whether two cubes of the tree have a point in common, on the grid of the deepest cells. */
static bool touches(const bh_cell *a, const bh_cell *b)
{
    const int64_t mask = (1 << 21) - 1, wide = (int64_t)1 << (21 - a->level), width = (int64_t)1 << (21 - b->level);

    for (int d = 0; d < 3; d++) {
        const int64_t x = (int64_t)(a->place >> (21 * d)) & mask, y = (int64_t)(b->place >> (21 * d)) & mask;
        if (x > y + width || y > x + wide) {
            return false;
        }
    }
    return true;
}

/* Leaves below a cell that touch one, counted, and noted if there is room. */
static int64_t find_touching(const particles *p, const int64_t *leaf_of, int64_t cell, int64_t one, int64_t *touch)
{
    const bh_cell *all = p->serial.tree.cell;
    int64_t found = 0;

    if (!touches(&all[cell], &all[one]) || all[cell].count == 0) {
        return 0;
    }
    if (all[cell].nchild == 0) {
        if (touch) {
            *touch = leaf_of[cell];
        }
        return 1;
    }
    for (int64_t child = all[cell].child; child < all[cell].child + all[cell].nchild; child++) {
        found += find_touching(p, leaf_of, child, one, touch ? touch + found : NULL);
    }
    return found;
}

static int by_first(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (x[0] > y[0]) - (x[0] < y[0]);
}

static void find_leaves(particles *p)
{
    const bh_tree *tree = &p->serial.tree;
    int64_t(*found)[2] = room(tree->ncells, sizeof *found), *number = room(tree->ncells, sizeof *number);

    for (int64_t c = 0; c < tree->ncells; c++) {
        if (tree->cell[c].nchild == 0 && tree->cell[c].count > 0) {
            found[p->nleaves][0] = tree->cell[c].first;
            found[p->nleaves++][1] = c;
        }
    }
    qsort(found, (size_t)p->nleaves, sizeof *found, by_first);
    p->leaf = room(p->nleaves + 1, sizeof *p->leaf);
    p->leaf_of = room(p->n, sizeof *p->leaf_of);
    p->touch_first = room(p->nleaves + 1, sizeof *p->touch_first);
    for (int64_t j = 0; j < p->nleaves; j++) {
        const bh_cell *leaf = &tree->cell[found[j][1]];
        number[found[j][1]] = j;
        p->leaf[j] = leaf->first;
        for (int64_t i = leaf->first; i < leaf->first + leaf->count; i++) {
            p->leaf_of[i] = j;
        }
        p->touch_first[j + 1] = p->touch_first[j] + find_touching(p, number, 0, found[j][1], NULL);
    }
    p->leaf[p->nleaves] = p->n;
    p->touch = room(p->touch_first[p->nleaves], sizeof *p->touch);
    for (int64_t j = 0; j < p->nleaves; j++) {
        (void)find_touching(p, number, 0, found[j][1], p->touch + p->touch_first[j]);
    }
    free(found);
    free(number);
}

/* Items: item_of says to which each particle belongs, in curve order. */
static problem make_problem(const char *name, const particles *p, int64_t n, const int64_t *item_of)
{
    problem q = {.name = name, .nphases = p->nbins, .times = p->times};
    int64_t npins = 0;

    q.item_of = room(p->n, sizeof *q.item_of);
    q.id = room(n, sizeof *q.id);
    q.count = room(n, sizeof *q.count);
    q.point = room(3 * n, sizeof *q.point);
    q.weight = room(n, sizeof *q.weight);
    q.load = room(n * p->nbins, sizeof *q.load);
    q.pin_first = room(n + 1, sizeof *q.pin_first);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t t = item_of ? item_of[i] : i;
        q.item_of[i] = t;
        q.id[t] = t;
        q.count[t]++;
        for (int d = 0; d < 3; d++) {
            q.point[3 * t + d] += p->column[d][p->serial.order[i]];
        }
        for (int k = 0; k <= p->bin[i]; k++) {
            q.load[t * p->nbins + k] += 1;
            q.weight[t] += p->times[k];
        }
        if (q.count[t] == 1) {
            npins += p->touch_first[p->leaf_of[i] + 1] - p->touch_first[p->leaf_of[i]];
            q.pin_first[t + 1] = npins;
        }
    }
    q.pin = room(npins, sizeof *q.pin);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t t = q.item_of[i], leaf = p->leaf_of[i];
        memcpy(q.pin + q.pin_first[t], p->touch + p->touch_first[leaf],
               (size_t)(q.pin_first[t + 1] - q.pin_first[t]) * sizeof *q.pin);
    }
    for (int64_t j = 0; j < 3 * n; j++) {
        q.point[j] /= (double)q.count[j / 3];
    }
    q.items = (eqp_balance_items){.n = n,
                                  .id = q.id,
                                  .weight = q.weight,
                                  .particles = q.count,
                                  .point = q.point,
                                  .pin_first = q.pin_first,
                                  .pin = q.pin,
                                  .phase_load = q.load};
    return q;
}

/* The same items with other phases: kernels of a step, in which each item has loads of other proportions. */
static void take_kernels(const particles *p, problem *q)
{
    static const double once[] = {1, 1, 1};
    const int64_t n = q->items.n;
    double *x = room(n, sizeof *x);

    q->name = "kernels";
    q->nphases = 3;
    q->times = once;
    for (int64_t t = 0; t < n; t++) {
        x[t] = q->point[3 * t];
    }
    qsort(x, (size_t)n, sizeof *x, by_size);
    free(q->load);
    q->load = room(n * q->nphases, sizeof *q->load);
    for (int64_t t = 0; t < n; t++) {
        double near = 0;
        for (int64_t j = q->pin_first[t]; j < q->pin_first[t + 1]; j++) {
            near += (double)(p->leaf[q->pin[j] + 1] - p->leaf[q->pin[j]]);
        }
        const double count = (double)q->count[t], pairs = 1e-2 * count * near;
        q->load[3 * t] = count;
        q->load[3 * t + 1] = pairs;
        q->load[3 * t + 2] = q->point[3 * t] < x[n / 2] ? pairs : 0;
        q->weight[t] = q->load[3 * t] + q->load[3 * t + 1] + q->load[3 * t + 2];
    }
    q->items.phase_load = q->load;
    free(x);
}

static void free_problem(problem *q)
{
    void *owned[] = {q->id, q->count, q->pin_first, q->pin, q->item_of, q->load, q->point, q->weight};

    for (size_t k = 0; k < sizeof owned / sizeof owned[0]; k++) {
        free(owned[k]);
    }
}

/* Particles of others in leaves that touch those of a part, over all parts. */
static double count_ghosts(const particles *p, const problem *q, const int *part, int nparts)
{
    int64_t *seen = room(nparts, sizeof *seen), ghosts = 0;
    int *needs = room(nparts, sizeof *needs);

    for (int64_t j = 0; j < p->nleaves; j++) {
        int n = 0;
        for (int64_t t = p->touch_first[j]; t < p->touch_first[j + 1]; t++) {
            for (int64_t i = p->leaf[p->touch[t]]; i < p->leaf[p->touch[t] + 1]; i++) {
                const int part_here = part[q->item_of[i]];
                if (seen[part_here] != j + 1) {
                    seen[part_here] = j + 1;
                    needs[n++] = part_here;
                }
            }
        }
        /* Each particle of the leaf is a ghost of all of these parts but its own. */
        ghosts += (n - 1) * (p->leaf[j + 1] - p->leaf[j]);
    }
    free(seen);
    free(needs);
    return (double)ghosts / (double)p->n;
}

/* No assignment can have a better cycle: some part has the largest item of each phase, some part two of the nparts + 1
 * largest. */
static double bound_of(const problem *q, int nparts)
{
    const int64_t n = q->items.n;
    double *load = room(n, sizeof *load), work = 0, wait = 0;

    for (int k = 0; k < q->nphases; k++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) {
            load[i] = q->load[i * q->nphases + k];
            mean += load[i] / nparts;
        }
        qsort(load, (size_t)n, sizeof *load, by_size);
        const double two = n > nparts ? load[n - nparts] + load[n - nparts - 1] : 0;
        work += q->times[k] * mean;
        wait += q->times[k] * fmax(mean, fmax(load[n - 1], two));
    }
    free(load);
    return work / wait;
}

static void row(const char *set, const particles *p, const problem *q, const eqp_method *method, int nparts)
{
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_message message = {""};
    eqp_balance_result r = {0};
    bench_times times = {0};
    int *part = room(q->items.n, sizeof *part);
    double worst = 0;

    options.nparts = nparts;
    options.nphases = q->nphases;
    options.times = q->times;
    options.message = &message;
    double start = eqp_cpu_seconds();
    check(eqp_balance(MPI_COMM_SELF, method, &q->items, &options, part, &r), message.text);
    bench_times_add_since(&times, start);
    if (method->assign_alone) {
        eqp_balance_result alone = {0};
        times.n = 0;
        for (int k = 0; k < REPEATS; k++) {
            start = eqp_cpu_seconds();
            check(method->assign_alone(&q->items, &options, part, &alone), NULL);
            bench_times_add_since(&times, start);
        }
    }
    for (int k = 0; k < q->nphases; k++) {
        worst = fmax(worst, r.phase_imbalance[k]);
    }
    printf("%s,%lld,%d,%s,%lld,%d,%s,%.4f,%.4f,%.4f,%.4f,%.2f,%lld,%.5f\n", set, (long long)p->n, q->nphases, q->name,
           (long long)q->items.n, nparts, method->name, r.cycle_efficiency, bound_of(q, nparts), worst, r.imbalance,
           count_ghosts(p, q, part, nparts), (long long)r.repaired, bench_least(&times));
    fflush(stdout);
    free(part);
}

static void rows(const char *set, const particles *p, const problem *q, const char *parts, const char *methods)
{
    for (const char *at = parts; *at != '\0'; at += *at == ',') {
        char *end;
        const int nparts = (int)strtol(at, &end, 10);
        if (end == at || nparts < 1) {
            bench_die(PROGRAM, "PARTS are numbers with commas between them");
        }
        at = end;
        for (const char *word = methods; *word != '\0';) {
            char name[32];
            const size_t length = strcspn(word, ",");
            snprintf(name, sizeof name, "%.*s", (int)length, word);
            const eqp_method *method = eqp_method_find(name);
            if (method) {
                row(set, p, q, method, nparts);
            } else {
                fprintf(stderr, PROGRAM ": no method %s here\n", name);
            }
            word += length + (word[length] == ',');
        }
    }
}

int main(int argc, char **argv)
{
    const char *set = argc > 1 ? argv[1] : "clusters:n=131072";
    const char *parts = argc > 2 ? argv[2] : "16,64,256";
    const char *methods = argc > 3 ? argv[3] : "count,sfc,pieces,metis,levelled";
    const char *items = argc > 4 ? argv[4] : "particles,leaves,kernels";
    const char *base = strrchr(set, '/');
    particles p = {.n = 0};
    char name[64];

    MPI_Init(&argc, &argv);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(base ? base + 1 : set, ",:"), base ? base + 1 : set);
    if (base || strchr(set, ':') == NULL) {
        read_file(set, &p);
    } else {
        make(set, &p);
    }
    bin_particles(&p);
    find_leaves(&p);
    printf("set,particles,phases,items,nitems,parts,method,efficiency,bound,worst,imbalance,ghosts,repaired,seconds\n");
    problem one = make_problem("particles", &p, p.n, NULL), many = make_problem("leaves", &p, p.nleaves, p.leaf_of);
    if (strstr(items, one.name)) {
        rows(name, &p, &one, parts, methods);
    }
    if (strstr(items, many.name)) {
        rows(name, &p, &many, parts, methods);
    }
    take_kernels(&p, &many);
    if (strstr(items, many.name)) {
        rows(name, &p, &many, parts, methods);
    }
    free_problem(&one);
    free_problem(&many);
    for (int k = 0; k < 11; k++) {
        free(p.column[k]);
    }
    bh_serial_free(&p.serial);
    free(p.leaf);
    free(p.leaf_of);
    free(p.touch_first);
    free(p.touch);
    free(p.bin);
    MPI_Finalize();
    return 0;
}
