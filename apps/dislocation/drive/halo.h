/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours of a rank's nodes that live elsewhere. Both ends know an arm across ranks, so each side knows without
 * asking which data the other needs, and in which order. */
#ifndef DD_HALO_H
#define DD_HALO_H

#include "domain.h"

#include <equipoise/more/route.h>

/* Arms across ranks whose segments belong to one side, by the other end's rank, then by segment: lower tag, higher tag.
 */
typedef struct dd_crossings {
    int64_t n;
    int64_t *node;  /* [n] place of the own end */
    int *arm;       /* [n] index of the arm */
    int64_t *count; /* [ranks] */
} dd_crossings;

/* Places of neighbours: below network.n own nodes, then ghosts. */
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

/* Plans by the domain's exchange plan and fetches positions once; the domain's nodes and arms must not change while the
 * halo is in use. code: of this rank so far; all ranks return the code of a rank that failed, here and below.
 * Collective. */
int dd_halo_create(const dd_domain *domain, int code, dd_halo *halo);
/* The same for positions and velocities. */
int dd_halo_create_moving(const dd_domain *domain, int code, dd_halo *halo);
/* Collective. */
void dd_halo_free(dd_halo *halo);

/* Fetches positions of all ghosts, and their velocities if the halo has them. Collective. */
int dd_halo_refresh(const dd_domain *domain, dd_halo *halo, int code);

/* Sends a number of each own node to the ranks that have it as a ghost: own [n] (borrowed), ghost [nghosts].
 * Collective. */
int dd_halo_spread(const dd_halo *halo, const int *own, int *ghost);

/* Sends three numbers for each arm across ranks from the owner of its segment to the other end: out [mine.n][3]
 * (borrowed), in [theirs.n][3]. Collective. */
int dd_halo_give(const dd_halo *halo, int code, const double *out, double *in);

/* Position of the neighbour at a place; its velocity, if the halo has velocities. Local. */
const double *dd_halo_position(const dd_domain *domain, const dd_halo *halo, int64_t place);
const double *dd_halo_velocity(const dd_domain *domain, const dd_halo *halo, int64_t place);

#endif
