/* SPDX-License-Identifier: BSD-3-Clause */
/* This rank's particles and its part of the global octree. */
#ifndef BH_DOMAIN_H
#define BH_DOMAIN_H

#include "../forces/traffic.h"
#include "homes.h"
#include "particles.h"

#include <equipoise/more/comm.h>
#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>

typedef struct bh_domain {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    int leaf_size, group_size;
    bool has_box;
    bh_box box;
    bool drifted;  /* keys, box, homes and groups are from an earlier time; the same on all ranks */
    int64_t loose; /* particles of this rank that have left their leaves too far since then, see bh_tree_drift() */
    bh_homes homes;
    bh_particles particles;
    bh_tree tree;
    int64_t ngroups;
    bh_group *group; /* [ngroups] this rank's target groups */
    int64_t *tag;    /* [ngroups] tag of each group's middle particle */
    eqp_route_counts
        top;   /* of this rank in the last gathering of the tree's top, as eqp__exchange_count_all() counts */
    bool away; /* some group is computed away from home; the same on all ranks */
    eqp_gatherer *tops;
    bh_messengers messengers;
} bh_domain;

typedef struct bh_migration {
    bool box_changed;  /* keys have a new meaning; homes were cut again by count */
    int64_t particles; /* sent by this rank */
    int64_t bytes;     /* sent for them */
} bh_migration;

/* bare: no cell of its tree will ever act as one body; see bh_tree.bare. */
void bh_domain_init(bh_domain *domain, MPI_Comm comm, int leaf_size, int group_size, bool bare);
void bh_domain_free(bh_domain *domain); /* collective */

/* The parts of a step take this rank's code so far and return it or their own. A rank that has failed continues through
 * the step, and all ranks learn of it at the end. */

/* Computes new keys, unless the domain has drifted, and moves every particle to its home, in order. Adds to *migration.
 * bound: of all particles, from bh_rungs_bounds(); NULL: computed here. Collective. */
int bh_domain_migrate(bh_domain *domain, const double *bound, bh_migration *migration, int code);

/* Builds the tree of this rank's particles, joins the tops of all ranks, makes groups and reads their tags.
 * Collective. */
int bh_domain_build_tree(bh_domain *domain, int code);

/* Replaces both after a drift: particles keep order, homes, cells and groups, and only moments are recomputed. Bounds
 * of groups stay. Collective. */
int bh_domain_drift_tree(bh_domain *domain, int code);

/* Sets homes so that each group lives on rank_of_group [ngroups]; takes effect with the next bh_domain_migrate().
 * Collective. */
int bh_domain_rehome(bh_domain *domain, const int *rank_of_group);

/* Sets the particles' tags, and homes for the next bh_domain_migrate(), from a placement for each group. Collective. */
int bh_domain_place(bh_domain *domain, const eqp_placement *placement);

/* Homes for an assumed placement of groups on any number of parts, as after bh_domain_rehome() and the next
 * bh_domain_migrate() if nothing moves. homes: initialised; replaced. Collective. */
int bh_domain_plan_homes(const bh_domain *domain, const int *part_of_group, bh_homes *homes);

/* Regroups at another size: particles migrate to the homes nearest to these that divide no such group, and the tree is
 * built. Adds to *migration. Collective; the code of all ranks. */
int bh_domain_regroup(bh_domain *domain, int group_size, const bh_homes *homes, bh_migration *migration);

#endif
