/* SPDX-License-Identifier: BSD-3-Clause */
/* Small hand-made dislocation networks, runs checked after every step, and measurements. Include once. */
#ifndef DD_EXPERIMENT_H
#define DD_EXPERIMENT_H

#include "../unit/dd_check.h"
#include "failures.h"

#include "simulation.h"

#include <equipoise/more/io.h>

#include <math.h>
#include <stdio.h>

#define PI 3.14159265358979323846

#define DD_SCENE_NODES 64

/* Nodes of at most two arms: those of node i begin at 2 i. */
typedef struct dd_scene {
    double box;
    int n;
    eqp_paradis_node node[DD_SCENE_NODES];
    eqp_paradis_arm arm[2 * DD_SCENE_NODES];
} dd_scene;

typedef struct dd_experiment {
    MPI_Comm comm;
    char words[1024];
    dd_settings settings;
    dd_simulation sim;
    eqp_message message;
    bool runs;
} dd_experiment;

/* A segment seen from one end. */
typedef struct dd_seen {
    dd_tag from, to;
    int constraint; /* of node `from` */
    double x[3], way[3], burgers[3], normal[3];
} dd_seen;

static inline void dd_scene_node(dd_scene *s, const double x[3], int constraint)
{
    const int i = s->n++;

    s->node[i] = (eqp_paradis_node){.tag = (dd_tag)i, .constraint = constraint, .first_arm = 2 * i};
    memcpy(s->node[i].x, x, sizeof s->node[i].x);
}

static inline void dd_scene_join(dd_scene *s, int from, int to, const double burgers[3], const double normal[3])
{
    for (int end = 0; end < 2; end++) {
        const int node = end == 0 ? from : to;
        eqp_paradis_arm *arm = &s->arm[2 * node + s->node[node].narms++];
        arm->tag = (dd_tag)(end == 0 ? to : from);
        for (int d = 0; d < 3; d++) {
            arm->burgers[d] = end == 0 ? burgers[d] : -burgers[d];
            arm->normal[d] = normal[d];
        }
    }
}

/* A line between pinned ends. */
static inline void dd_scene_line(dd_scene *s, const double from[3], const double to[3], int pieces,
                                 const double burgers[3], const double normal[3])
{
    for (int k = 0; k <= pieces; k++) {
        double x[3];
        for (int d = 0; d < 3; d++) {
            x[d] = from[d] + (to[d] - from[d]) * k / pieces;
        }
        dd_scene_node(s, x, k == 0 || k == pieces ? DD_PINNED : DD_FREE);
        if (k > 0) {
            dd_scene_join(s, s->n - 2, s->n - 1, burgers, normal);
        }
    }
}

/* In the plane z = 0 about the origin, clockwise: with b along x a positive stress zx expands it. */
static inline void dd_scene_loop(dd_scene *s, double radius, int sides)
{
    const int first = s->n;

    for (int k = 0; k < sides; k++) {
        dd_scene_node(s, (double[]){radius * cos(2 * PI * k / sides), -radius * sin(2 * PI * k / sides), 0}, DD_FREE);
    }
    for (int k = 0; k < sides; k++) {
        dd_scene_join(s, first + k, first + (k + 1) % sides, (double[]){1, 0, 0}, (double[]){0, 0, 1});
    }
}

/* Starts a run of a data file with these options; runs is false on failure. This and all following are collective. */
static inline void dd_experiment_begin(dd_experiment *e, MPI_Comm comm, const char *path, const char *options)
{
    char *argv[48] = {"test"};
    app_action action;
    int argc = 1, code;

    e->comm = comm;
    e->message.text[0] = '\0';
    snprintf(e->words, sizeof e->words, "%s --balance=sfc %s", path, options);
    for (char *word = strtok(e->words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    code = app_options_parse(dd_settings_table(), argc, argv, &e->settings, &action, &e->message);
    code = code == EQP_OK ? dd_settings_complete(&e->settings, &e->message) : code;
    code = code == EQP_OK ? dd_simulation_create(comm, &e->settings, &e->sim, &e->message) : code;
    CHECK(code == EQP_OK, "%s %s: %s", path, options, e->message.text);
    e->runs = code == EQP_OK;
}

static inline int dd_scene_write(const dd_scene *s, const char *path)
{
    const double half = s->box / 2;
    const eqp_paradis_header header = {.min = {-half, -half, -half}, .max = {half, half, half}, .nnodes = s->n};
    eqp_paradis_writer *writer = NULL;

    EQP_CHECK(eqp_paradis_write_begin(path, &header, 0, NULL, &writer, NULL));
    EQP_CHECK(eqp_paradis_write_nodes(writer, s->n, s->node, s->arm, NULL));
    return eqp_paradis_write_finish(writer, NULL);
}

/* The same for a scene, through a temporary file. */
static inline void dd_experiment_of(dd_experiment *e, MPI_Comm comm, const dd_scene *s, const char *options)
{
    const char *folder = getenv("TMPDIR");
    char path[256];
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        snprintf(path, sizeof path, "%s/ddXXXXXX", folder != NULL ? folder : "/tmp");
        const int fd = mkstemp(path);
        FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
        CHECK(file != NULL && fclose(file) == 0 && dd_scene_write(s, path) == EQP_OK, "%s cannot be written", path);
    }
    MPI_Bcast(path, (int)sizeof path, MPI_CHAR, 0, comm);
    dd_experiment_begin(e, comm, path, options);
    MPI_Barrier(comm);
    if (rank == 0) {
        remove(path);
    }
}

static inline void dd_experiment_end(dd_experiment *e)
{
    if (e->runs) {
        dd_simulation_free(&e->sim);
    }
    e->runs = false;
}

/* Rank 0 has the whole network: it is sound, and each node lives on exactly one rank, which all its neighbors name. */
static inline int dd_take_network(void *user, dd_inbox *in)
{
    dd_experiment *e = user;
    DD_FREED_BY(dd_network_free) dd_network all;

    dd_network_init(&all);
    while (!dd_inbox_empty(in)) {
        dd_node node = {0};
        EQP_CHECK(dd_inbox_read_node(in, &node));
        EQP_CHECK(dd_network_add(&all, &node));
    }
    for (int64_t i = 0; i < all.n; i++) {
        for (int k = 0; k < all.node[i].narms; k++) {
            const int64_t place = dd_network_find(&all, all.node[i].arm[k].tag);
            if (place < 0 || all.node[place].home != all.node[i].arm[k].home) {
                eqp_message_set(&e->message, "an arm of node %d does not know where its neighbour lives", (int)i);
                return EQP_ERR_DATA;
            }
        }
    }
    return dd_network_check(&all, e->sim.domain.box, &e->message);
}

/* A step, after which the network is sound. Returns false if it failed and the run has ended. */
static inline bool dd_experiment_step(dd_experiment *e)
{
    dd_outbox out = {0};
    int code = e->runs ? dd_simulation_step(&e->sim, &e->message) : EQP_ERR_STATE;

    for (int64_t i = 0; i < e->sim.domain.network.n && code == EQP_OK; i++) {
        dd_outbox_add_node(&out, 0, &e->sim.domain.network.node[i]);
    }
    code = code == EQP_OK ? dd_outbox_pass(e->comm, &out, dd_take_network, e) : code;
    CHECK(code == EQP_OK, "step %lld: %s", (long long)e->sim.now.common.step, e->message.text);
    if (code != EQP_OK) {
        dd_experiment_end(e);
    }
    return code == EQP_OK;
}

/* The whole network on every rank, each segment from both ends. Owned by the caller. */
static inline dd_seen *dd_all_segments(const dd_simulation *sim, int64_t *n)
{
    const dd_network *network = &sim->domain.network;
    int64_t k = 0;
    DD_FREED dd_seen *own = calloc((size_t)sim->halo.first[network->n] + 1, sizeof *own);
    dd_seen *all = NULL;

    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        for (int a = 0; a < node->narms; a++, k++) {
            own[k] = (dd_seen){.from = node->tag, .to = node->arm[a].tag, .constraint = node->constraint};
            memcpy(own[k].x, node->x, sizeof own[k].x);
            memcpy(own[k].burgers, node->arm[a].burgers, sizeof own[k].burgers);
            memcpy(own[k].normal, node->arm[a].normal, sizeof own[k].normal);
            dd_halo_way(&sim->domain, &sim->halo, node->x, sim->halo.place[k], own[k].way);
        }
    }
    CHECK(eqp_gather_records(sim->comm, sizeof *own, k, own, n, &all) == EQP_OK, "gather");
    return all;
}

/* Ends a program; returns its status. */
static inline int dd_experiments_end(void)
{
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%d failures\n", failures);
    MPI_Finalize();
    return failures != 0;
}

#endif
