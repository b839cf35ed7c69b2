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
    double box[3];          /* its edge where it is periodic, 0 where it is free */
    dd_network network;     /* the nodes that live here */
    dd_tag next_tag;        /* the first that no node has had; the same on all ranks */
    int far_order;          /* of the far field's expansions: see elastic/far.h; the same on all ranks */
    eqp_exchange_plan plan; /* by which all that forces need travels; the same on all ranks */
} dd_domain;

/* An empty domain whose messages go directly, with a far field of the default order; the box is set by the caller. comm
 * is of eqp_comm_create. Local. */
void dd_domain_init(dd_domain *domain, MPI_Comm comm);
void dd_domain_free(dd_domain *domain);

/* Folds a position into the box where that is periodic. Local. */
void dd_domain_fold(const dd_domain *domain, double x[3]);

/* Whether segments belong to a node: those to neighbours with higher tags. Local. */
bool dd_node_owns_segments(const dd_node *node);

/* What moves with a node to another home. Local. */
int64_t dd_node_bytes(const dd_node *node);

/* from - to by the nearest periodic image. Local. */
void dd_domain_offset(const dd_domain *domain, const double from[3], const double to[3], double offset[3]);

/* Finds the homes of all neighbours, for nodes that were just read or made: tags are looked up in a table that is
 * spread over the ranks. EQP_ERR_DATA for two nodes of one tag, or an arm whose neighbour does not exist, with the tag
 * in the message. Sets next_tag. Collective. */
int dd_domain_connect(dd_domain *domain, eqp_message *message);

/* What has left this rank for new homes. */
typedef struct dd_moved {
    int64_t nodes;
    int64_t bytes; /* of them, and of the news to their neighbours */
} dd_moved;

/* Nodes to new homes; their neighbours hear of it. dest: [network.n] ranks (borrowed). Adds to *moved. Collective. */
int dd_domain_migrate(dd_domain *domain, const int *dest, dd_moved *moved);

/* Nodes go where they are computed; one that ranks share to the sharer that the placement [own nodes] names. The halo
 * and the stage are void then. Collective. */
int dd_domain_place(dd_domain *domain, const eqp_placement *placement, dd_moved *moved);

#endif
