/* SPDX-License-Identifier: BSD-3-Clause */
#include "history.h"

#include "timing.h"

#include "../apps/dislocation/drive/balance/survey.h"
#include "../apps/dislocation/drive/simulation.h"

#include <equipoise/more/base.h>

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 64, NODE_BYTES = 128 };

/* A node by its tag: what it is called here. */
typedef struct name {
    dd_tag tag;
    int32_t number;
} name;

typedef struct names {
    int64_t n, room;
    name *of; /* [n] by tag */
} names;

typedef struct keyed {
    uint64_t key;
    int64_t node;
} keyed;

static void check(int code, const char *what)
{
    if (code) {
        bench_die("history", what != NULL && what[0] != '\0' ? what : eqp_error_text(code));
    }
}

static int by_tag(const void *a, const void *b)
{
    const name *first = a, *second = b;

    return (first->tag > second->tag) - (first->tag < second->tag);
}

static int by_key(const void *a, const void *b)
{
    const keyed *first = a, *second = b;

    return first->key != second->key ? (first->key > second->key) - (first->key < second->key)
                                     : (first->node > second->node) - (first->node < second->node);
}

static name *find(const names *all, dd_tag tag)
{
    const name wanted = {tag, 0};

    return all->n > 0 ? bsearch(&wanted, all->of, (size_t)all->n, sizeof wanted, by_tag) : NULL;
}

/* Numbers for those that have none; returns how many were given out by now. */
static int64_t name_nodes(const dd_network *network, names *all, int64_t given)
{
    const int64_t known = all->n;

    for (int64_t i = 0; i < network->n; i++) {
        const names before = {known, 0, all->of};
        if (find(&before, network->node[i].tag) == NULL) {
            check(eqp_array_reserve(&all->of, &all->room, all->n + 1, sizeof *all->of), NULL);
            all->of[all->n++] = (name){network->node[i].tag, (int32_t)given++};
        }
    }
    qsort(all->of, (size_t)all->n, sizeof *all->of, by_tag);
    return given;
}

/* The owners of a cell's segments as pins of one owner. */
static void meet(const dd_stage *stage, const names *owners, int64_t cell, bench_frame *f, int64_t *seen, int64_t o)
{
    for (int64_t j = stage->cell_first[cell]; j < stage->cell_first[cell + 1]; j++) {
        const int64_t other = find(owners, stage->key[j].owner)->number;
        if (seen[other] != o + 1) {
            seen[other] = o + 1;
            bench_frame_pin(f, other);
            for (int d = 0; d < 3; d++) {
                f->source[3 * o + d] += f->point[3 * other + d];
            }
        }
    }
}

static void meet_all(const dd_simulation *sim, const names *owners, const int64_t *local_of, const keyed *along,
                     bench_frame *f)
{
    int64_t *seen = NULL;

    check(eqp_array_create(&seen, f->n, sizeof *seen), NULL);
    for (int64_t o = 0; o < f->n; o++) {
        const int64_t local = local_of[along[o].node], begin = f->pin_first[f->n];
        int64_t sources[DD_GRID_SOURCES];
        const int n = local >= 0 ? dd_grid_sources(&sim->stage.grid, dd_stage_cell(&sim->stage, local), sources) : 0;
        for (int i = 0; i < n; i++) {
            meet(&sim->stage, owners, sources[i], f, seen, o);
        }
        f->pin_first[o + 1] = f->pin_first[f->n];
        const double met = (double)(f->pin_first[f->n] - begin);
        for (int d = 0; d < 3; d++) {
            f->source[3 * o + d] = met > 0 ? f->source[3 * o + d] / met : f->point[3 * o + d];
        }
    }
    free(seen);
}

/* Owners along the curve, and how they are called: by tag the place. */
static void line_up(const dd_simulation *sim, const names *all, keyed **along, names *owners, bench_frame *f)
{
    const dd_network *network = &sim->domain.network;
    uint64_t *key = NULL;

    check(dd_keys(&sim->domain, &key), NULL);
    check(eqp_array_create(along, network->n, sizeof **along), NULL);
    check(eqp_array_create(&owners->of, network->n, sizeof *owners->of), NULL);
    owners->n = network->n;
    for (int64_t i = 0; i < network->n; i++) {
        (*along)[i] = (keyed){key[i], i};
    }
    qsort(*along, (size_t)network->n, sizeof **along, by_key);
    for (int64_t o = 0; o < f->n; o++) {
        const int64_t i = (*along)[o].node;
        const dd_node *node = &network->node[i];
        owners->of[o] = (name){node->tag, (int32_t)o};
        f->first[o + 1] = o + 1;
        f->item[o] = find(all, node->tag)->number;
        f->home[o] = f->last[o] = (int32_t)o;
        f->bytes[o] = NODE_BYTES;
        memcpy(f->point + 3 * o, node->x, 3 * sizeof(double));
        for (int k = 0; k < DD_KINDS; k++) {
            f->weight[o] += 1e9 * dd_kind_nominal[k] * (double)sim->evaluator.of_node[i].of[k];
        }
    }
    qsort(owners->of, (size_t)owners->n, sizeof *owners->of, by_tag);
    free(key);
}

static void look(const dd_simulation *sim, const names *all, bench_frame *f)
{
    const int64_t n = sim->domain.network.n;
    names owners = {0};
    keyed *along = NULL;
    int64_t *local_of = NULL;

    check(sim->stage.nown > 0 && sim->evaluator.of_nodes == n ? EQP_OK : EQP_ERR_STATE, "no forces of this network");
    bench_frame_make(f, n, n, n);
    line_up(sim, all, &along, &owners, f);
    check(eqp_array_create(&local_of, n, sizeof *local_of), NULL);
    for (int64_t i = 0; i < n; i++) {
        local_of[i] = -1;
    }
    for (int64_t s = 0; s < sim->stage.nown; s++) {
        local_of[sim->stage.own_node[s]] = sim->stage.own_local[s];
    }
    meet_all(sim, &owners, local_of, along, f);
    free(local_of);
    free(along);
    free(owners.of);
}

void bench_follow_network(int argc, char **argv, int nframes, bench_history *h)
{
    char *words[MOST_ARGUMENTS] = {"history",     "--quiet", "--balance", "count",
                                   "--rebalance", "never",   "--steps",   "1000000"};
    int n = 8;
    eqp_message message = {""};
    dd_settings settings;
    dd_simulation sim;
    app_action action;
    names all = {0};

    for (int i = 0; i < argc && n < MOST_ARGUMENTS; i++) {
        words[n++] = argv[i];
    }
    check(app_options_parse(dd_settings_table(), n, words, &settings, settings.given, &action, &message), message.text);
    check(dd_settings_complete(&settings, &message), message.text);
    check(dd_simulation_create(MPI_COMM_SELF, &settings, &sim, &message), message.text);
    *h = (bench_history){.nframes = nframes};
    check(eqp_array_create(&h->frame, nframes, sizeof *h->frame), NULL);
    for (int s = 0; s < nframes; s++) {
        h->nitems = name_nodes(&sim.domain.network, &all, h->nitems);
        look(&sim, &all, &h->frame[s]);
        check(s + 1 < nframes ? dd_simulation_step(&sim, &message) : EQP_OK, message.text);
    }
    free(all.of);
    dd_simulation_free(&sim);
    app_run_settings_free(&settings.run);
}
