/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents of files, for unit tests and fuzz targets: the particles of a snapshot, a network of dislocations. */
#ifndef EQP_TEST_CONTENTS_H
#define EQP_TEST_CONTENTS_H

#include <equipoise/more/base.h>
#include <equipoise/more/io.h>
#include <equipoise/snapshot.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct particles {
    int64_t n;
    double *column[7]; /* m x y z vx vy vz */
    int64_t *id;
    int8_t *type;
} particles;

/* An array of exactly n elements, so that a sanitizer sees a write behind it. */
static inline void *contents_room(int64_t n, size_t size)
{
    void *room = calloc(n > 0 ? (size_t)n : 1, size);

    if (!room) {
        abort();
    }
    return room;
}

static inline particles particles_new(int64_t n)
{
    particles p = {.n = n, .id = contents_room(n, sizeof *p.id), .type = contents_room(n, sizeof *p.type)};

    for (int c = 0; c < 7; c++) {
        p.column[c] = contents_room(n, sizeof *p.column[c]);
    }
    return p;
}

static inline void particles_free(particles *p)
{
    for (int c = 0; c < 7; c++) {
        free(p->column[c]);
    }
    free(p->id);
    free(p->type);
}

/* The arrays from a particle on. */
static inline eqp_snapshot_arrays particles_from(const particles *p, int64_t first)
{
    double *const *c = p->column;

    return (eqp_snapshot_arrays){.m = c[0] + first,
                                 .x = c[1] + first,
                                 .y = c[2] + first,
                                 .z = c[3] + first,
                                 .vx = c[4] + first,
                                 .vy = c[5] + first,
                                 .vz = c[6] + first,
                                 .id = p->id + first,
                                 .type = p->type + first};
}

static inline eqp_snapshot_arrays particles_arrays(const particles *p)
{
    return particles_from(p, 0);
}

/* True if the part equals the whole from a particle on. */
static inline bool particles_same(const particles *part, const particles *whole, int64_t first)
{
    const size_t n = (size_t)part->n;
    bool same = memcmp(part->id, whole->id + first, n * sizeof *part->id) == 0 &&
                memcmp(part->type, whole->type + first, n * sizeof *part->type) == 0;

    for (int c = 0; c < 7; c++) {
        same = same && memcmp(part->column[c], whole->column[c] + first, n * sizeof(double)) == 0;
    }
    return same;
}

typedef struct network {
    eqp_paradis_header header;
    int64_t n, narms, room_nodes, room_arms;
    eqp_paradis_node *node;
    eqp_paradis_arm *arm;
} network;

static inline void network_free(network *w)
{
    free(w->node);
    free(w->arm);
    *w = (network){0};
}

static inline int network_append(network *w, const eqp_paradis_block *b)
{
    int rc = eqp_array_reserve(&w->node, &w->room_nodes, w->n + b->n, sizeof *w->node);

    rc = rc != EQP_OK ? rc : eqp_array_reserve(&w->arm, &w->room_arms, w->narms + b->narms, sizeof *w->arm);
    for (int64_t i = 0; rc == EQP_OK && i < b->n; i++) {
        w->node[w->n] = b->node[i];
        w->node[w->n++].first_arm += w->narms;
    }
    for (int64_t i = 0; rc == EQP_OK && i < b->narms; i++) {
        w->arm[w->narms++] = b->arm[i];
    }
    return rc;
}

/* The box, the nodes and the arms are equal to the last bit. */
static inline bool network_same(const network *a, const network *b)
{
    bool same = a->n == b->n && a->narms == b->narms &&
                memcmp(a->header.min, b->header.min, sizeof a->header.min) == 0 &&
                memcmp(a->header.max, b->header.max, sizeof a->header.max) == 0;

    for (int64_t i = 0; same && i < a->n; i++) {
        same = memcmp(&a->node[i], &b->node[i], sizeof a->node[i]) == 0;
    }
    for (int64_t i = 0; same && i < a->narms; i++) {
        same = memcmp(&a->arm[i], &b->arm[i], sizeof a->arm[i]) == 0;
    }
    return same;
}

/* As a caller does it: begins with the parameters, if there are any, and discards all at the first error. */
static inline int network_write(const char *path, const network *w, const char *path_of_control,
                                const eqp_paradis_control *control, eqp_message *message)
{
    eqp_paradis_writer *writer = NULL;
    int rc = eqp_paradis_write_begin(path, &w->header, 0, NULL, &writer, message);

    if (rc == EQP_OK && control) {
        rc = eqp_paradis_write_control(writer, path_of_control, control, message);
    }
    for (int64_t i = 0; rc == EQP_OK && i < w->n; i++) {
        rc = eqp_paradis_write_nodes(writer, 1, &w->node[i], w->arm, message);
    }
    if (rc == EQP_OK) {
        return eqp_paradis_write_finish(writer, message);
    }
    eqp_paradis_write_discard(writer);
    return rc;
}

/* Parameters as a run writes them, next to an empty network. */
static inline int control_write(const char *path, const eqp_paradis_control *control, eqp_message *message)
{
    const network empty = {.header = {.max = {1, 1, 1}}};

    return network_write("/dev/null", &empty, path, control, message);
}

#endif
