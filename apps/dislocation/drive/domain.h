/* SPDX-License-Identifier: BSD-3-Clause */
/* This rank's part of the network: the nodes that live here. Every node lives on exactly one rank, its home, and every
 * arm knows the home of its neighbour. */
#ifndef DD_DOMAIN_H
#define DD_DOMAIN_H

#include "../physics/network/node.h"

#include <equipoise/more/comm.h>
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

/* Initializes an empty domain with direct messages and a far field of default order; the caller sets the box. comm
 * comes from eqp_comm_create(). Local. */
void dd_domain_init(dd_domain *domain, MPI_Comm comm);
void dd_domain_free(dd_domain *domain);

/* Folds a position into the box in periodic directions. Local. */
void dd_domain_fold(const dd_domain *domain, double x[3]);

/* True if a node owns segments. The end with the lower tag owns a segment. Local. */
bool dd_node_owns_segments(const dd_node *node);

/* Bytes that move with a node. Local. */
int64_t dd_node_bytes(const dd_node *node);

/* from - to by the nearest periodic image. Local. */
void dd_domain_offset(const dd_domain *domain, const double from[3], const double to[3], double offset[3]);

/* Finds the homes of all neighbours of newly read or made nodes, by a directory spread over the ranks, and sets
 * next_tag. EQP_ERR_DATA with the tag in the message for duplicate tags and arms to missing nodes. Collective. */
int dd_domain_connect(dd_domain *domain, eqp_message *message);

/* Nodes that left this rank for new homes. */
typedef struct dd_moved {
    int64_t nodes;
    int64_t bytes; /* of the nodes and of the messages to their neighbours */
} dd_moved;

/* Moves nodes to new homes and tells their neighbours. dest: [network.n] ranks (borrowed). Adds to *moved. Collective.
 */
int dd_domain_migrate(dd_domain *domain, const int *dest, dd_moved *moved);

/* Moves nodes to the homes of a placement [own nodes]; a shared node goes to one of its sharers. Invalidates halo and
 * stage. Collective. */
int dd_domain_place(dd_domain *domain, const eqp_placement *placement, dd_moved *moved);

/* ---- Remote neighbours of a rank's nodes. Both ends know an arm across ranks, so each side knows without asking which
 * data the other needs, and in which order. */

/* Arms across ranks whose segments belong to one side, by the other end's rank, then by segment (lower tag, higher
 * tag). */
typedef struct dd_crossings {
    int64_t n;
    int64_t *node;  /* [n] place of the own end */
    int *arm;       /* [n] index of the arm */
    int64_t *count; /* [ranks] */
} dd_crossings;

/* Places of neighbours: own nodes below network.n, then ghosts. */
typedef struct dd_halo {
    int64_t n;       /* own nodes at its creation */
    int64_t nghosts; /* remote neighbours, each once */
    int numbers;     /* numbers sent for a node: position, or position and velocity */
    int64_t *first;  /* [n + 1] first arm of each own node in `place` */
    int64_t *place;  /* [arms] of each arm's neighbour */
    dd_tag *tag;     /* [nghosts] by home, then by tag */
    double *x, *v;   /* [nghosts][3] as of the last dd_halo_refresh; v: NULL if only positions travel */
    /* own nodes that other ranks need, by tag; each is a block */
    int64_t nsend;
    int64_t *send;     /* [nsend] places */
    double *out;       /* [nsend][numbers] scratch */
    eqp_route *nodes;  /* from these nodes to the ghosts */
    dd_crossings mine; /* arms across ranks whose segment belongs to the own end */
    dd_crossings theirs;
    eqp_route *arms; /* forces from mine to the other ends' theirs: a block per rank */
} dd_halo;

enum { DD_PLACES = 3, DD_MOVING = 6 };

/* Plans by the domain's exchange plan and fetches the values once. The domain's nodes and arms must not change while
 * the halo is in use. code: of this rank so far; all ranks return the code of a rank that failed, here and below.
 * Collective. */
int dd_halo_create(const dd_domain *domain, int numbers, int code, dd_halo *halo);
/* Collective. */
void dd_halo_free(dd_halo *halo);

/* Fetches positions of all ghosts, and velocities if the halo has them. Collective. */
int dd_halo_refresh(const dd_domain *domain, dd_halo *halo, int code);

/* Sends a number of each own node to the ranks that have it as a ghost: own [n] (borrowed), ghost [nghosts].
 * Collective. */
int dd_halo_spread(const dd_halo *halo, const int *own, int *ghost);

/* Sends three numbers for each arm across ranks from the owner of its segment to the other end: out [mine.n][3]
 * (borrowed), in [theirs.n][3]. Collective. */
int dd_halo_give(const dd_halo *halo, int code, const double *out, double *in);

/* Position of the neighbour at a place; velocity if the halo has velocities. Local. */
const double *dd_halo_position(const dd_domain *domain, const dd_halo *halo, int64_t place);
const double *dd_halo_velocity(const dd_domain *domain, const dd_halo *halo, int64_t place);

#endif
