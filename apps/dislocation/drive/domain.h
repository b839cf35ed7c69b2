/* SPDX-License-Identifier: BSD-3-Clause */
/* This rank's part of the network: the nodes that live here. Every node lives on exactly one rank, its home, and every
 * arm knows the home of its neighbour. */
#ifndef DD_DOMAIN_H
#define DD_DOMAIN_H

#include "../physics/network/node.h"

#include <equipoise/problem.h>

#include <mpi.h>

typedef struct dd_domain {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    double low[3], edge[3]; /* of the box, in units of b */
    double box[3];          /* edge of a periodic direction, 0: free */
    dd_network network;     /* the nodes that live here */
    dd_tag next_tag;        /* lowest tag never used; the same on all ranks */
    int far_order;          /* order of the far field's expansions: see elastic/far.h; the same on all ranks */
    eqp_exchange_plan plan; /* how data for forces travel; the same on all ranks */
} dd_domain;

/* An empty domain with direct messages and a far field of the default order; the caller sets the box. comm comes from
 * eqp_comm_create(). Local. */
void dd_domain_init(dd_domain *domain, MPI_Comm comm);
void dd_domain_free(dd_domain *domain);

/* Folds a position into the box in periodic directions. Local. */
void dd_domain_fold(const dd_domain *domain, double x[3]);

/* True if a node owns segments: it owns every segment to a neighbour with a higher tag. Local. */
bool dd_node_owns_segments(const dd_node *node);

/* Bytes that move with a node to another home. Local. */
int64_t dd_node_bytes(const dd_node *node);

/* from - to by the nearest periodic image. Local. */
void dd_domain_offset(const dd_domain *domain, const double from[3], const double to[3], double offset[3]);

/* Finds the homes of all neighbours, for nodes that were just read or made, by a directory spread over the ranks.
 * EQP_ERR_DATA for two nodes with one tag, or an arm to a missing node, with the tag in the message. Sets next_tag.
 * Collective. */
int dd_domain_connect(dd_domain *domain, eqp_message *message);

/* Nodes that left this rank for new homes. */
typedef struct dd_moved {
    int64_t nodes;
    int64_t bytes; /* of the nodes and of the messages to their neighbours */
} dd_moved;

/* Moves nodes to new homes and tells their neighbours. dest: [network.n] ranks (borrowed). Adds to *moved. Collective.
 */
int dd_domain_migrate(dd_domain *domain, const int *dest, dd_moved *moved);

/* Moves nodes to the homes of a placement [own nodes]; a shared node goes to one of its sharers. Halo and stage are
 * void afterwards. Collective. */
int dd_domain_place(dd_domain *domain, const eqp_placement *placement, dd_moved *moved);

#endif
