/* SPDX-License-Identifier: BSD-3-Clause */
/* The neighbours of a rank's nodes that live elsewhere. An arm across ranks stands on both sides, so each side knows
 * without asking what the other needs and in which order. */
#ifndef DD_HALO_H
#define DD_HALO_H

#include "domain.h"

/* Places of neighbours: below network.n one of the domain's own nodes, from there on ghosts. */
typedef struct dd_halo {
    int64_t n;       /* own nodes when it was made */
    int64_t nghosts; /* remote neighbours, each once */
    int64_t *first;  /* [n + 1] first arm of each own node in `place` */
    int64_t *place;  /* [arms] of each arm's neighbour */
    dd_tag *tag;     /* [nghosts] by home, then by tag */
    double *x, *v;   /* [nghosts][3] as of the last dd_halo_refresh */
    /* who sends what: own nodes by rank, then by tag */
    int64_t nsend;
    int64_t *send;                    /* [nsend] places of own nodes */
    int64_t *send_count, *recv_count; /* [ranks] */
    /* arms across ranks by rank, then by segment: lower tag, higher tag. They are the same on both sides. */
    int64_t narms;
    int64_t *arm_node;  /* [narms] own end */
    int *arm_of;        /* [narms] which arm of that node */
    int64_t *arm_count; /* [ranks] */
} dd_halo;

/* Plans; the domain's nodes and arms must not change while the halo is used. Does not fetch anything. Collective. */
int dd_halo_create(const dd_domain *domain, dd_halo *halo);
void dd_halo_free(dd_halo *halo);

/* Fetches positions and velocities of all ghosts. Collective. */
int dd_halo_refresh(const dd_domain *domain, dd_halo *halo);

/* For every arm across ranks three numbers to the other end: in and out are [narms][3]. Collective. */
int dd_halo_swap(const dd_domain *domain, const dd_halo *halo, const double *out, double *in);

/* Position of the neighbour at a place. Local. */
const double *dd_halo_position(const dd_domain *domain, const dd_halo *halo, int64_t place);
const double *dd_halo_velocity(const dd_domain *domain, const dd_halo *halo, int64_t place);

#endif
