/* SPDX-License-Identifier: BSD-3-Clause */
#include "lists.h"

#include "generate.h"
#include "serial.h"
#include "timing.h"

#include <equipoise/error.h>
#include <equipoise/snapshot.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAF_SIZE 16

int64_t bench_load_particles(const char *text, double *column[7])
{
    double **c = column;
    bh_generator generator;
    eqp_snapshot *snapshot = NULL;
    eqp_message message = {""};
    int code = bh_generator_parse(text, &generator, &message);

    if (code != EQP_OK && eqp_snapshot_open(text, &snapshot, &message) != EQP_OK) {
        bench_die(message.text);
    }
    const int64_t n = code == EQP_OK ? bh_generator_count(&generator) : eqp_snapshot_get_info(snapshot)->n;
    for (int k = 0; k < 7; k++) {
        c[k] = bench_room(n, sizeof *c[k]);
    }
    if (code == EQP_OK) {
        code = bh_generate(&generator, 0, n, c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
    } else {
        code = eqp_snapshot_read(snapshot, 0, n, &(eqp_snapshot_arrays){.x = c[0], .y = c[1], .z = c[2], .m = c[6]},
                                 &message);
        eqp_snapshot_close(snapshot);
    }
    if (code != EQP_OK) {
        bench_die(message.text[0] != '\0' ? message.text : eqp_error_text(code));
    }
    return n;
}

/* Particles in key order, each a target group of its own. */
static void grow(const char *text, bh_serial *serial)
{
    double *x[7];
    const int64_t n = bench_load_particles(text, x);

    bench_check(bh_serial_build(serial, n, x[0], x[1], x[2], x[6], NULL, LEAF_SIZE, 1), "no tree");
    for (int k = 0; k < 7; k++) {
        free(x[k]);
    }
}

static double distance2(const bh_sources *s, int64_t i, int64_t j)
{
    const double dx = s->x[j] - s->x[i], dy = s->y[j] - s->y[i], dz = s->z[j] - s->z[i];

    return dx * dx + dy * dy + dz * dz;
}

/* Adds all particles that one particle interacts with to the lists; NULL: only counts them. */
static int64_t meet_all(const bh_serial *serial, int64_t g, const bh_mac *mac, bh_list *list, bench_lists *l)
{
    const bh_sources *s = &serial->tree.sources;
    int64_t n;

    bench_check(bh_walk(&serial->tree, &serial->group[g], mac, NULL, list), "a walk failed");
    for (int64_t c = 0; l != NULL && c < list->ncells; c++) {
        bench_meet(l, s->n + list->cell[c]);
    }
    n = list->ncells;
    for (int64_t r = 0; r < list->nruns; r++) {
        for (int64_t j = list->run_first[r]; j < list->run_first[r] + list->run_count[r]; j++) {
            if (j == g || (mac->cutoff > 0 && !(distance2(s, g, j) < mac->cutoff * mac->cutoff))) {
                continue;
            }
            n++;
            if (l != NULL) {
                bench_meet(l, j);
            }
        }
    }
    return n;
}

static double mean_within(const bh_serial *serial, double cutoff, bh_list *list)
{
    const bh_mac mac = {.cutoff = cutoff};
    int64_t sum = 0;

    for (int64_t g = 0; g < serial->ngroups; g++) {
        sum += meet_all(serial, g, &mac, list, NULL);
    }
    return (double)sum / (double)serial->n;
}

/* The radius that gives a particle this number of neighbours on average. */
static double cutoff_for(const bh_serial *serial, double wanted, bh_list *list)
{
    double low = 0, high = serial->tree.box.side / 4096, mean;

    if (!(wanted > 0 && wanted < (double)(serial->n - 1))) {
        bench_die("there are fewer interactions than that");
    }
    while (mean_within(serial, high, list) < wanted) {
        low = high;
        high *= 1.5;
    }
    for (;;) {
        const double middle = 0.5 * (low + high);
        mean = mean_within(serial, middle, list);
        if (fabs(mean - wanted) <= 0.002 * wanted || !(middle > low && middle < high)) {
            return middle;
        }
        *(mean < wanted ? &low : &high) = middle;
    }
}

/* By theta, or, if that is 0, within a cutoff that gives this number of interactions on average. */
void bench_list_particles(const char *text, double theta, double wanted, bench_lists *l)
{
    bh_serial serial;
    bh_list list;

    grow(text, &serial);
    bh_list_init(&list);
    const bh_tree *tree = &serial.tree;
    const bh_mac mac = {.theta = theta, .cutoff = theta > 0 ? 0 : cutoff_for(&serial, wanted, &list)};
    if (serial.ngroups != serial.n) {
        bench_die("a group of more than one particle");
    }
    bench_lists_make(l, serial.n, serial.n, serial.n + tree->ncells);
    l->cutoff = mac.cutoff;
    for (int64_t i = 0; i < serial.n; i++) {
        l->id[i] = serial.order[i];
        l->item_first[i] = i;
        l->owner[i] = l->item[i] = l->source[i] =
            (bench_point){{tree->sources.x[i], tree->sources.y[i], tree->sources.z[i]}};
        meet_all(&serial, i, &mac, &list, l);
        l->first[i + 1] = l->ninteractions;
    }
    l->item_first[serial.n] = serial.n;
    for (int64_t c = 0; c < tree->ncells; c++) {
        memcpy(l->source[serial.n + c].x, tree->cell[c].moments.com, sizeof l->source->x);
    }
    bh_list_free(&list);
    bh_serial_free(&serial);
}

void bench_lists_make(bench_lists *l, int64_t nowners, int64_t nitems, int64_t nsources)
{
    *l = (bench_lists){.nowners = nowners, .nitems = nitems, .nsources = nsources};
    l->id = bench_room(nowners, sizeof *l->id);
    l->item_first = bench_room(nowners + 1, sizeof *l->item_first);
    l->owner = bench_room(nowners, sizeof *l->owner);
    l->item = bench_room(nitems, sizeof *l->item);
    l->first = bench_room(nitems + 1, sizeof *l->first);
    l->source = bench_room(nsources, sizeof *l->source);
    l->first[0] = 0;
}

void bench_lists_free(bench_lists *l)
{
    free(l->id);
    free(l->item_first);
    free(l->owner);
    free(l->item);
    free(l->first);
    free(l->meets);
    free(l->source);
}

void bench_meet(bench_lists *l, int64_t source)
{
    if (l->ninteractions == l->room) {
        l->room = 2 * l->room + 4096;
        l->meets = realloc(l->meets, (size_t)l->room * sizeof *l->meets);
        if (l->meets == NULL) {
            bench_die("out of memory");
        }
    }
    l->meets[l->ninteractions++] = (int32_t)source;
}

double bench_nearest(double d, double box)
{
    return box > 0 ? d - box * nearbyint(d / box) : d;
}
