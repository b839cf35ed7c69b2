/* SPDX-License-Identifier: BSD-3-Clause */
/* From owners and their units to a new map: items for the balancer, parts back, tags and homes. */
#ifndef BH_NEWMAP_H
#define BH_NEWMAP_H

#include "rebalance.h"

/* The groups that this rank speaks for while a map is made: those of its stretch of the curve. */
typedef struct bh_owners {
    bh_works works;
    int64_t n;
    int64_t *order;    /* [n] works in curve order */
    int64_t *id;       /* [n] place along the curve, over all ranks */
    int64_t *count;    /* [n] tiles */
    double *weight;    /* [n] nanoseconds by the nominal costs */
    bh_counts *counts; /* [n] work */
    double *seconds;   /* [n] predicted from it */
} bh_owners;

/* order [works->n]: works in curve order. Owned by the caller. */
int bh_owners_order(const bh_works *works, int64_t **order);

/* Numbers the owners and makes room; works and order are given. Collective. */
int bh_owners_create(bh_owners *owners, MPI_Comm comm);
void bh_owners_free(bh_owners *owners);

/* units NULL: the owners themselves are assigned. Collective; see bh_rebalance. */
int bh_newmap_make(bh_domain *domain, const bh_owners *owners, const eqp_units *units,
                   const bh_rebalance_options *options, bool has_map, bh_map *map, bh_rebalanced *rebalanced,
                   eqp_message *message);

#endif
