/* SPDX-License-Identifier: BSD-3-Clause */
/* Small hand-made dislocation networks, runs checked after every step, and measurements. Include once. */
#ifndef DD_EXPERIMENT_H
#define DD_EXPERIMENT_H

#include "../unit/dd_check.h"
#include "failures.h"

#include "domain.h"
#include "simulation.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

#define DD_SCENE_NODES 64

/* Lines of consecutive nodes: closed ones return to their first node, open ones have pinned ends. */
typedef struct dd_scene {
    double box;
    int n;
    double x[DD_SCENE_NODES][3];
    int next[DD_SCENE_NODES], previous[DD_SCENE_NODES]; /* -1: none */
    double burgers[DD_SCENE_NODES][3];                  /* in the direction of the line */
    double normal[DD_SCENE_NODES][3];
} dd_scene;

typedef struct dd_experiment {
    MPI_Comm comm;
    char path[256], words[1024];
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

/* dd_network_check(), and each node lives on exactly one rank, which all its neighbors name. */
static inline int dd_check_homes(const dd_network *all, eqp_message *message)
{
    for (int64_t i = 0; i < all->n; i++) {
        for (int k = 0; k < all->node[i].narms; k++) {
            const dd_arm *arm = &all->node[i].arm[k];
            const int64_t place = dd_network_find(all, arm->tag);
            if (place < 0 || all->node[place].home != arm->home) {
                eqp_message_set(message, "an arm of node %d does not know where its neighbour lives", (int)i);
                return EQP_ERR_DATA;
            }
        }
    }
    return EQP_OK;
}

/* Collective; on failure every rank has the message. */
static inline int dd_check_sound(const dd_domain *domain, eqp_message *message)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    dd_network all;
    int code;

    dd_network_init(&all);
    for (int64_t i = 0; i < domain->network.n; i++) {
        dd_outbox_add_node(&out, 0, &domain->network.node[i]);
    }
    code = dd_outbox_deliver(domain->comm, &out, &in);
    while (code == EQP_OK && !dd_inbox_empty(&in)) {
        dd_node node = {0};
        code = dd_inbox_read_node(&in, &node);
        code = code == EQP_OK ? dd_network_add(&all, &node) : code;
    }
    code = code == EQP_OK ? dd_check_homes(&all, message) : code;
    code = code == EQP_OK ? dd_network_check(&all, domain->box, message) : code;
    dd_inbox_free(&in);
    dd_network_free(&all);
    return eqp_agree(domain->comm, code, message);
}

static inline void scene_add(dd_scene *s, bool first, const double x[3], const double burgers[3],
                             const double normal[3])
{
    const int i = s->n++;

    memcpy(s->x[i], x, sizeof s->x[i]);
    memcpy(s->burgers[i], burgers, sizeof s->burgers[i]);
    memcpy(s->normal[i], normal, sizeof s->normal[i]);
    s->next[i] = -1;
    s->previous[i] = first ? -1 : i - 1;
    if (!first) {
        s->next[i - 1] = i;
    }
}

static inline void dd_scene_line(dd_scene *s, const double from[3], const double to[3], int pieces,
                                 const double burgers[3], const double normal[3])
{
    for (int k = 0; k <= pieces; k++) {
        double x[3];
        for (int d = 0; d < 3; d++) {
            x[d] = from[d] + (to[d] - from[d]) * k / pieces;
        }
        scene_add(s, k == 0, x, burgers, normal);
    }
}

/* In the plane z = 0 about the origin, clockwise: with b along x a positive stress zx expands it. */
static inline void dd_scene_loop(dd_scene *s, double radius, int sides, const double burgers[3])
{
    static const double up[3] = {0, 0, 1};
    const int first = s->n;

    for (int k = 0; k < sides; k++) {
        const double x[3] = {radius * cos(2 * PI * k / sides), -radius * sin(2 * PI * k / sides), 0};
        scene_add(s, k == 0, x, burgers, up);
    }
    s->next[s->n - 1] = first;
    s->previous[first] = s->n - 1;
}

static inline void print_arm(FILE *file, const dd_scene *s, int node, int to, double sense)
{
    const int of = sense > 0 ? node : to; /* a segment is stored at its first node */

    fprintf(file, " 0,%d %.15g %.15g %.15g\n  %.15g %.15g %.15g\n", to, sense * s->burgers[of][0],
            sense * s->burgers[of][1], sense * s->burgers[of][2], s->normal[of][0], s->normal[of][1], s->normal[of][2]);
}

static inline void scene_write(const dd_scene *s, const char *path)
{
    FILE *file = fopen(path, "w");

    CHECK(file != NULL, "%s cannot be written", path);
    if (file == NULL) {
        return;
    }
    fprintf(file, "dataFileVersion = 4\nnumFileSegments = 1\n");
    fprintf(file, "minCoordinates = [ %g %g %g ]\n", -s->box / 2, -s->box / 2, -s->box / 2);
    fprintf(file, "maxCoordinates = [ %g %g %g ]\n", s->box / 2, s->box / 2, s->box / 2);
    fprintf(file, "nodeCount = %d\ndataDecompType = 1\ndataDecompGeometry = [ 1 1 1 ]\n", s->n);
    fprintf(file, "domainDecomposition =\n %g\n %g\n %g\n %g\n %g\n %g\nnodalData =\n", -s->box / 2, -s->box / 2,
            -s->box / 2, s->box / 2, s->box / 2, s->box / 2);
    for (int i = 0; i < s->n; i++) {
        const bool inner = s->next[i] >= 0 && s->previous[i] >= 0;
        fprintf(file, "0,%d %.15g %.15g %.15g %d %d\n", i, s->x[i][0], s->x[i][1], s->x[i][2], inner ? 2 : 1,
                inner ? 0 : 7);
        if (s->previous[i] >= 0) {
            print_arm(file, s, i, s->previous[i], -1);
        }
        if (s->next[i] >= 0) {
            print_arm(file, s, i, s->next[i], 1);
        }
    }
    CHECK(fclose(file) == 0, "%s cannot be written", path);
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
    if (code == EQP_OK) {
        code = dd_settings_complete(&e->settings, &e->message);
    }
    if (code == EQP_OK) {
        code = dd_simulation_create(comm, &e->settings, &e->sim, &e->message);
    }
    CHECK(code == EQP_OK, "%s %s: %s", path, options, e->message.text);
    e->runs = code == EQP_OK;
}

/* The same for a scene, through a temporary file. */
static inline void dd_experiment_of(dd_experiment *e, MPI_Comm comm, const dd_scene *s, const char *options)
{
    const char *folder = getenv("TMPDIR");
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        int fd;
        snprintf(e->path, sizeof e->path, "%s/ddXXXXXX", folder != NULL ? folder : "/tmp");
        fd = mkstemp(e->path);
        CHECK(fd >= 0, "no temporary file");
        if (fd >= 0) {
            FILE *file = fdopen(fd, "w");
            if (file != NULL) {
                fclose(file);
            }
        }
        scene_write(s, e->path);
    }
    MPI_Bcast(e->path, (int)sizeof e->path, MPI_CHAR, 0, comm);
    dd_experiment_begin(e, comm, e->path, options);
    MPI_Barrier(comm);
    if (rank == 0) {
        remove(e->path);
    }
}

static inline void dd_experiment_end(dd_experiment *e)
{
    if (e->runs) {
        dd_simulation_free(&e->sim);
    }
    e->runs = false;
}

/* A step followed by dd_check_sound(). Returns false if it failed and the run has ended. */
static inline bool dd_experiment_step(dd_experiment *e)
{
    int code;

    if (!e->runs) {
        return false;
    }
    code = dd_simulation_step(&e->sim, &e->message);
    CHECK(code == EQP_OK, "step %lld: %s", (long long)e->sim.now.common.step, e->message.text);
    if (code == EQP_OK) {
        code = dd_check_sound(&e->sim.domain, &e->message);
        CHECK(code == EQP_OK, "after step %lld: %s", (long long)e->sim.now.common.step, e->message.text);
    }
    if (code != EQP_OK) {
        dd_experiment_end(e);
    }
    return code == EQP_OK;
}

/* The whole network on every rank, each segment from both ends. Owned by the caller. */
static inline dd_seen *dd_all_segments(const dd_simulation *sim, int64_t *n)
{
    const dd_network *network = &sim->domain.network;
    int64_t mine = 0, k = 0;
    dd_seen *own, *all = NULL;

    for (int64_t i = 0; i < network->n; i++) {
        mine += network->node[i].narms;
    }
    own = calloc((size_t)mine + 1, sizeof *own);
    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        for (int a = 0; a < node->narms; a++, k++) {
            own[k] = (dd_seen){.from = node->tag, .to = node->arm[a].tag, .constraint = node->constraint};
            memcpy(own[k].x, node->x, sizeof own[k].x);
            memcpy(own[k].burgers, node->arm[a].burgers, sizeof own[k].burgers);
            memcpy(own[k].normal, node->arm[a].normal, sizeof own[k].normal);
        }
    }
    CHECK(eqp_gather_records(sim->comm, sizeof *own, mine, own, n, &all) == EQP_OK, "gather");
    free(own);
    for (int64_t i = 0; i < *n; i++) {
        for (int64_t j = 0; j < *n; j++) {
            if (all[j].from == all[i].to) {
                dd_domain_offset(&sim->domain, all[j].x, all[i].x, all[i].way);
                break;
            }
        }
    }
    return all;
}

/* Number of nodes of the largest connected lines without a pinned node, 0 if there are none. Local. */
static inline int64_t dd_free_loop(const dd_seen *all, int64_t n)
{
    dd_tag *least = calloc((size_t)n + 1, sizeof *least);
    int64_t most = 0;
    bool changed = true;

    for (int64_t i = 0; i < n; i++) {
        least[i] = all[i].from;
    }
    while (changed) {
        changed = false;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                if ((all[j].from == all[i].from || all[j].from == all[i].to) && least[j] < least[i]) {
                    least[i] = least[j];
                    changed = true;
                }
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t size = 0;
        for (int64_t j = 0; j < n; j++) {
            if (least[j] == least[i]) {
                size = all[j].constraint != DD_FREE ? -2 * n : size + 1;
            }
        }
        most = size / 2 > most ? size / 2 : most;
    }
    free(least);
    return most;
}

#endif
