/* SPDX-License-Identifier: BSD-3-Clause */
/* Subgraph of a rank: vertices with their edges and state, and the values of remote neighbours. */
#ifndef LB_DOMAIN_H
#define LB_DOMAIN_H

#include "../physics/graph.h"

#include <equipoise/more/comm.h>
#include <equipoise/problem.h>

#include <mpi.h>

/* A vertex, as sent. */
typedef struct lb_vertex {
    int64_t id; /* along the curve */
    uint64_t key;
    double centre[3], base;
    int64_t degree;   /* edges */
    int64_t words;    /* of its block: the weight of its heaviest edge */
    int64_t value;    /* diffuses along edges; the sum of all is conserved */
    uint64_t history; /* hash of the work done for it: step and amount */
    int64_t weight;   /* of the last step, in thousandths */
    int64_t label;    /* set at the last offer of a map; 0: no offer yet */
} lb_vertex;

typedef struct lb_domain {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    int64_t total;    /* vertices of all ranks */
    int64_t heaviest; /* largest sum of a vertex's edge weights, over all ranks; values diffuse by a quarter of it */
    int64_t n, nedges;
    lb_vertex *vertex; /* [n] */
    lb_edge *edge;     /* [nedges] of vertex 0, of vertex 1, ... */
    int64_t *value_of; /* [nedges] place in `value` of the other end */
    int64_t *value;    /* [n + ghosts] of this rank's vertices, then of remote neighbours */
    int64_t *next;     /* [n] scratch */
    eqp_route *route;
    int64_t nsent;
    int64_t *sent;   /* [nsent] vertices that remote neighbours need */
    int64_t *outbox; /* their blocks */
    int64_t cut;     /* weights of the edges to other ranks */
    int64_t bytes;   /* of the blocks that this rank sends per step */
} lb_domain;

/* Zeros are empty. */
void lb_domain_init(lb_domain *domain, MPI_Comm comm);
void lb_domain_free(lb_domain *domain);

/* Makes the graph and keeps this rank's part. Collective; fails on all ranks or on none. */
int lb_domain_fill(lb_domain *domain, const lb_generator *generator, lb_start start, uint64_t seed);

/* Moves vertices to the homes of a placement [n]. *migrated: number that left; *bytes: sent with them. Call
 * lb_domain_connect() afterwards. Collective. */
int lb_domain_migrate(lb_domain *domain, const eqp_placement *placement, int64_t *migrated, int64_t *bytes);

/* Finds the remote neighbours and plans a route for values. Collective. */
int lb_domain_connect(lb_domain *domain, const eqp_exchange_plan *plan);

/* start sends values to the ranks that need them; finish receives them and diffuses all. The block of a vertex has as
 * many words as the weight of its heaviest edge. Messages to one rank travel together. Call finish even if start has
 * failed. Collective. */
int lb_domain_start(lb_domain *domain);
int lb_domain_finish(lb_domain *domain);

/* Checksum over number, value and history of all vertices, and the sum of all values. Collective. */
int lb_domain_check(const lb_domain *domain, uint64_t *checksum, int64_t *sum);

/* Bytes that move with a vertex. */
int64_t lb_vertex_bytes(const lb_vertex *vertex);

#endif
