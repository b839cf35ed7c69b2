/* SPDX-License-Identifier: BSD-3-Clause */
/* How the work of single elements changes from step to step (Pearce 2014, section 5.2, figures 5.2 and 5.3).
 *
 *     build/bench/study_elements FEW MANY gravity clusters:n=32768 DT STEPS CUTOFF
 *     build/bench/study_elements FEW MANY network STEPS --generate chains:n=60 --stress 0,0,0,5e8,5e8,0
 *
 * Work is interactions. Gravity: particles of a generator of barneshut move under the gravity of all; time steps are DT
 * times what the app would choose. Rows "tree": what each particle meets with an opening angle, by a walk of its own;
 * rows "cutoff": other particles within CUTOFF, in the same motion. Network: pairs of segments that each node of a run
 * of dislocation on one rank owns, with the app's options. Nodes keep their tags; they come and go.
 *
 * Maps of the first step stay: the curve, cut by work into FEW and into MANY parts; a node that has come goes where a
 * neighbour is. CSV, a row for each element in each step; bench/studies/elements.py compares the steps. */
#include "lists.h"
#include "timing.h"

#include "../apps/barneshut/physics/motion.h"
#include "../apps/barneshut/physics/serial.h"
#include "../apps/dislocation/drive/simulation.h"

#include <equipoise/more/curve.h>
#include <equipoise/more/kdtree.h>
#include <equipoise/more/methods.h>

#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 16, MAPS = 2, MOST_ARGUMENTS = 64, NOBODY = -1 };

static const double softening = 0.01, theta = 0.6;

/* An element in a step. */
typedef struct element {
    uint64_t tag;
    int64_t work;
    int part[MAPS]; /* in each map of the first step */
} element;

/* A step: elements by tag. */
typedef struct state {
    int64_t n;
    element *of;
} state;

/* The same elements step by step, and their maps. */
typedef struct history {
    const char *set;
    const int *parts; /* [MAPS] */
    state before;
    int steps; /* seen */
} history;

static state new_state(int64_t n)
{
    return (state){n, bench_room(n, sizeof(element))};
}

typedef struct keyed {
    uint64_t key;
    int64_t place;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *first = a, *second = b;

    return first->key != second->key ? (first->key > second->key) - (first->key < second->key)
                                     : (first->place > second->place) - (first->place < second->place);
}

static int by_tag(const void *a, const void *b)
{
    const element *first = a, *second = b;

    return (first->tag > second->tag) - (first->tag < second->tag);
}

/* The curve through the points [n][3] of the elements, cut by their work. */
static void make_maps(const history *h, const double *point, state *s)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, side = 0.0, *load = bench_room(s->n, sizeof *load);
    keyed *along = bench_room(s->n, sizeof *along);

    for (int k = 0; k < 3; k++) {
        double high = -INFINITY;
        for (int64_t i = 0; i < s->n; i++) {
            low[k] = fmin(low[k], point[3 * i + k]);
            high = fmax(high, point[3 * i + k]);
        }
        side = fmax(side, high - low[k]);
    }
    for (int64_t i = 0; i < s->n; i++) {
        const double *x = point + 3 * i;
        along[i].place = i;
        bench_check(eqp_hilbert_keys(1, x, x + 1, x + 2, low, side, &along[i].key), NULL);
    }
    qsort(along, (size_t)s->n, sizeof *along, by_key);
    for (int64_t i = 0; i < s->n; i++) {
        load[i] = (double)s->of[along[i].place].work;
    }
    for (int m = 0; m < MAPS; m++) {
        int64_t *first = bench_room(h->parts[m] + 1, sizeof *first);
        bench_check(eqp_cuts_optimal(s->n, load, h->parts[m], NULL, first, NULL), NULL);
        for (int p = 0; p < h->parts[m]; p++) {
            for (int64_t i = first[p]; i < first[p + 1]; i++) {
                s->of[along[i].place].part[m] = p;
            }
        }
        free(first);
    }
    free(along);
    free(load);
}

/* Prints a step and keeps it. */
static void take(history *h, state *now)
{
    for (int64_t i = 0; i < now->n; i++) {
        const element *e = &now->of[i];
        printf("%s,%d,%" PRIu64 ",%" PRId64 ",%d,%d\n", h->set, h->steps, e->tag, e->work, e->part[0], e->part[1]);
    }
    free(h->before.of);
    h->before = *now;
    h->steps++;
}

/* Particles, in the order of the generator: their places are their tags. */
typedef struct particles {
    int64_t n;
    double *p[11]; /* x, v, m, a, potential */
} particles;

static state by_tree(const particles *w)
{
    const bh_mac mac = {.theta = theta};
    state s = new_state(w->n);
    bh_serial serial;
    bh_list list;

    bench_check(bh_serial_build(&serial, w->n, w->p[0], w->p[1], w->p[2], w->p[6], NULL, GROUP, 1), NULL);
    bh_list_init(&list);
    for (int64_t g = 0; g < serial.ngroups; g++) {
        const int64_t i = serial.order[serial.group[g].first];
        bench_check(bh_walk(&serial.tree, &serial.group[g], &mac, NULL, &list), NULL);
        s.of[i].tag = (uint64_t)i;
        s.of[i].work = list.nsources + list.ncells - 1; /* the particle itself is no interaction */
    }
    bh_list_free(&list);
    bh_serial_free(&serial);
    return s;
}

static int count_one(void *user, int64_t index, double dist2)
{
    (void)index;
    (void)dist2;
    ++*(int64_t *)user;
    return 0;
}

static state by_cutoff(const particles *w, const double *point, double cutoff)
{
    state s = new_state(w->n);
    eqp_kdtree *tree;

    bench_check(eqp_kdtree_create(w->n, 3, point, NULL, &tree), NULL);
    for (int64_t i = 0; i < w->n; i++) {
        s.of[i] = (element){.tag = (uint64_t)i, .work = -1};
        bench_check(eqp_kdtree_radius(tree, point + 3 * i, cutoff * cutoff, count_one, &s.of[i].work), NULL);
    }
    eqp_kdtree_free(tree);
    return s;
}

static void look(const particles *w, double cutoff, history of[2])
{
    double *point = bench_room(3 * w->n, sizeof *point);

    for (int64_t i = 0; i < 3 * w->n; i++) {
        point[i] = w->p[i % 3][i / 3];
    }
    for (int k = 0; k < 2; k++) {
        state now = k == 0 ? by_tree(w) : by_cutoff(w, point, cutoff);
        if (of[k].steps == 0) {
            make_maps(&of[k], point, &now);
        }
        for (int64_t i = 0; of[k].steps > 0 && i < now.n; i++) { /* the parts of the first step */
            memcpy(now.of[i].part, of[k].before.of[i].part, sizeof now.of[i].part);
        }
        take(&of[k], &now);
    }
    free(point);
}

static void pull(particles *w)
{
    const bh_mac mac = {.theta = theta};
    bh_serial serial;

    bench_check(bh_serial_build(&serial, w->n, w->p[0], w->p[1], w->p[2], w->p[6], NULL, GROUP, GROUP), NULL);
    bench_check(bh_serial_force(&serial, NULL, &mac, 1.0, softening, w->p[7], w->p[8], w->p[9], w->p[10], NULL), NULL);
    bh_serial_free(&serial);
}

static double chosen_step(const particles *w)
{
    double most = 0.0;

    for (int64_t i = 0; i < w->n; i++) {
        most = fmax(most, sqrt(w->p[7][i] * w->p[7][i] + w->p[8][i] * w->p[8][i] + w->p[9][i] * w->p[9][i]));
    }
    return 0.1 * sqrt(softening / most);
}

static void run_gravity(const int parts[MAPS], char **argv)
{
    const double factor = atof(argv[1]), cutoff = atof(argv[3]);
    const int steps = atoi(argv[2]);
    history of[2] = {{.set = "tree", .parts = parts}, {.set = "cutoff", .parts = parts}};
    particles w;
    double dt = 0.0;

    if (!(factor > 0 && steps > 0 && cutoff > 0)) {
        bench_die("gravity: give a generator, DT, STEPS and CUTOFF, all above 0");
    }
    w.n = bench_load_particles(argv[0], w.p);
    for (int k = 7; k < 11; k++) {
        w.p[k] = bench_room(w.n, sizeof *w.p[k]);
    }
    for (int s = 0; s <= steps; s++) {
        look(&w, cutoff, of);
        pull(&w);
        dt = s == 0 ? factor * chosen_step(&w) : dt;
        bh_kick(w.n, s == 0 ? 0.5 * dt : dt, w.p[7], w.p[8], w.p[9], w.p[3], w.p[4], w.p[5]);
        bh_drift(w.n, dt, w.p[3], w.p[4], w.p[5], w.p[0], w.p[1], w.p[2]);
    }
    for (int k = 0; k < 11; k++) {
        free(w.p[k]);
    }
    free(of[0].before.of);
    free(of[1].before.of);
}

static const element *find(const state *s, uint64_t tag)
{
    return s->n > 0 ? bsearch(&(element){.tag = tag}, s->of, (size_t)s->n, sizeof *s->of, by_tag) : NULL;
}

/* Those that were there before keep their parts; a new one takes those of a neighbour that has some, round by round. */
static void inherit(const state *before, const dd_network *network, state *now)
{
    bool found = true;

    for (int64_t i = 0; i < now->n; i++) {
        const element *old = find(before, now->of[i].tag);
        for (int m = 0; m < MAPS; m++) {
            now->of[i].part[m] = old != NULL ? old->part[m] : NOBODY;
        }
    }
    while (found) {
        found = false;
        for (int64_t i = 0; i < now->n; i++) {
            const dd_node *node = &network->node[dd_network_find(network, now->of[i].tag)];
            for (int a = 0; a < node->narms && now->of[i].part[0] == NOBODY; a++) {
                const element *other = find(now, node->arm[a].tag);
                if (other != NULL && other->part[0] != NOBODY) {
                    memcpy(now->of[i].part, other->part, sizeof other->part);
                    found = true;
                }
            }
        }
    }
    for (int64_t i = 0; i < now->n; i++) { /* a new line */
        if (now->of[i].part[0] == NOBODY) {
            memset(now->of[i].part, 0, sizeof now->of[i].part);
        }
    }
}

static void look_network(const dd_simulation *sim, history *h)
{
    const dd_network *network = &sim->domain.network;
    state now = new_state(network->n);

    for (int64_t i = 0; i < now.n; i++) {
        const int64_t *of = sim->evaluator.of_node[i].of;
        now.of[i] = (element){.tag = network->node[i].tag, .work = of[DD_KIND_PAIR] + of[DD_KIND_PARALLEL]};
    }
    qsort(now.of, (size_t)now.n, sizeof *now.of, by_tag);
    if (h->steps > 0) {
        inherit(&h->before, network, &now);
    } else {
        double *point = bench_room(3 * now.n, sizeof *point);
        for (int64_t i = 0; i < now.n; i++) {
            memcpy(point + 3 * i, network->node[dd_network_find(network, now.of[i].tag)].x, 3 * sizeof *point);
        }
        make_maps(h, point, &now);
        free(point);
    }
    take(h, &now);
}

static void run_network(const int parts[MAPS], int argc, char **argv)
{
    char *words[MOST_ARGUMENTS] = {"study_elements", "--quiet", "--balance", "count", "--steps", "1000000"};
    const int steps = atoi(argv[0]);
    history h = {.set = "network", .parts = parts};
    eqp_message message = {""};
    dd_settings settings;
    dd_simulation sim;
    app_action action;
    int n = 6;

    for (int i = 1; i < argc && n < MOST_ARGUMENTS; i++) {
        words[n++] = argv[i];
    }
    bench_check(app_options_parse(dd_settings_table(), n, words, &settings, &action, &message), message.text);
    bench_check(dd_settings_complete(&settings, &message), message.text);
    bench_check(dd_simulation_create(MPI_COMM_WORLD, &settings, &sim, &message), message.text);
    if (sim.domain.nranks != 1 || steps < 1) {
        bench_die("network: on one rank, STEPS above 0");
    }
    look_network(&sim, &h);
    for (int s = 0; s < steps; s++) {
        bench_check(dd_simulation_step(&sim, &message), message.text);
        look_network(&sim, &h);
    }
    dd_simulation_free(&sim);
    app_run_settings_free(&settings.run);
    free(h.before.of);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int parts[MAPS] = {argc > 4 ? atoi(argv[1]) : 0, argc > 4 ? atoi(argv[2]) : 0};
    const bool gravity = argc == 8 && strcmp(argv[3], "gravity") == 0;
    if (parts[0] < 1 || parts[1] < 1 || (!gravity && strcmp(argv[3], "network") != 0)) {
        bench_die("give FEW MANY gravity GENERATOR DT STEPS CUTOFF, or FEW MANY network STEPS OPTION...");
    }
    printf("set,step,tag,work,few,many\n");
    if (gravity) {
        run_gravity(parts, argv + 4);
    } else {
        run_network(parts, argc - 4, argv + 4);
    }
    MPI_Finalize();
    return 0;
}
