/* SPDX-License-Identifier: BSD-3-Clause */
/* This rank's particles and its part of the global octree. */
#ifndef BH_DOMAIN_H
#define BH_DOMAIN_H

#include "../forces/traffic.h"
#include "particles.h"

#include "../../physics/tree.h"

#include <equipoise/more/comm.h>
#include <equipoise/problem.h>

#include <mpi.h>
#include <stdbool.h>

/* Homes: the rank that stores the particles of each interval of the key range. A rank may own many intervals, so that
 * homes can follow any assignment, not only contiguous ones. Every rank has the whole list. */

typedef struct bh_homes {
    int64_t n;
    uint64_t *begin; /* [n + 1] ascending, begin[0] = 0, begin[n] = end of the key range */
    int *rank;       /* [n] owner of [begin[i], begin[i + 1]); neighbours differ */
    int64_t *count;  /* room for bh_homes_snap() */
} bh_homes;

void bh_homes_free(bh_homes *homes);

/* First key of a run of particles with one home. */
typedef struct bh_home_run {
    uint64_t begin;
    int64_t rank;
} bh_home_run;

/* Replaces the homes by at least one run, in any order. The last of several runs at one key wins; the first run is
 * extended down to key 0. */
int bh_homes_set(bh_homes *homes, int64_t n, const bh_home_run *runs);

/* homes: initialised; becomes a copy. */
int bh_homes_copy(bh_homes *homes, const bh_homes *from);

/* The interval that holds a key, and its rank. O(log n). */
int64_t bh_homes_find(const bh_homes *homes, uint64_t key);
int bh_homes_rank(const bh_homes *homes, uint64_t key);

/* The intervals of one rank; the caller frees *interval. */
int bh_homes_intervals(const bh_homes *homes, int rank, int *n, bh_interval **interval);

/* Moves every boundary down to the start of the largest octree cell around it with at most `limit` particles, so that
 * no such cell (no leaf, no target group) is shared by two ranks. keys [n]: of this rank's particles, ascending; they
 * need not be at home yet. code: of this rank so far; if one rank has failed all do, with EQP_ERR_REMOTE on the rest.
 * Collective: one allreduce; every rank must hold the same homes. O(boundaries x levels) per rank. */
int bh_homes_snap(bh_homes *homes, MPI_Comm comm, int code, int64_t n, const uint64_t *keys, int64_t limit);

/* Ranks that share memory build their parts of the tree side by side, and walk the cells of all in place. */
typedef struct bh_neighbours {
    eqp_node *node;           /* owned; NULL: cells of other ranks come by messages */
    MPI_Comm leaders;         /* first ranks of several nodes; on other ranks MPI_COMM_NULL */
    eqp_gatherer *tops;       /* on these ranks */
    struct bh_notice *notice; /* [ranks of the node + 1], at the beginning of the memory */
    unsigned char *asked;     /* [ranks of the node][all ranks] 1: asked for cells in this step */
    bh_room slot, behind;     /* of each rank, and of what is grafted */
    bool lost;                /* there was no memory for larger slots: from then on messages */
} bh_neighbours;

typedef struct bh_domain {
    MPI_Comm comm; /* borrowed */
    int rank, nranks;
    int leaf_size, group_size;
    bool has_box, has_homes; /* has_homes: they are of this box */
    bh_box box;              /* root cube, with slack: it stays until a particle leaves it, or it is far too large */
    bool drifted;            /* keys, box, homes and groups are from an earlier time; the same on all ranks */
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
    bh_neighbours neighbours;
} bh_domain;

/* ---- neighbours.c ---- */

/* From now on trees are built in the memory of nodes. Takes the node in any case. Collective; EQP_OK, or a code on all
 * ranks, after which the domain is as before. */
int bh_neighbours_join(bh_domain *domain, eqp_node *node);
void bh_neighbours_free(bh_neighbours *n); /* collective */

/* NULL without nodes. */
const eqp_node_shape *bh_neighbours_shape(const bh_neighbours *n);

/* Builds this rank's part of the tree; see <physics/tree.h>. */
typedef int bh_build_fn(bh_domain *domain);

/* 1 if some group of this rank is computed elsewhere, else 0. */
int64_t bh_domain_has_away(const bh_domain *domain);

/* By key. Where homes are intervals in rank order they are so already: O(n) then. */
void bh_branches_sort(int64_t n, bh_cell *branch);

/* Builds the parts and the top of a node, once no rank of it walks the last tree any more. *done: false if a slot
 * was too small, on all ranks: then the last tree is lost, and the domain has larger slots or, where there is no
 * memory, no neighbours any more. code: of this rank so far. Returns the code of all ranks. Collective. */
int bh_neighbours_build(bh_domain *domain, bh_build_fn *build, int code, bool *done);

/* Tells the ranks of the node which homes this rank has asked for cells; and, after a meeting, whether any of them has
 * asked a home. Local. */
void bh_neighbours_ask(bh_neighbours *n, int nasked, const int *asked);
bool bh_neighbours_asked(const bh_neighbours *n, int home);

/* After a rank has grafted what came to it, or lacked room for it. code: of this rank so far. Returns that of all ranks
 * of the node; *again: there is more room now, for those that have lacked it. Collective over the ranks of the node. */
int bh_neighbours_arrive(bh_neighbours *n, bh_tree *tree, int code, bool *again);

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

/* Sets homes so that each group lives at the home of its placement [ngroups]; takes effect with the next
 * bh_domain_migrate(). Collective. */
int bh_domain_rehome(bh_domain *domain, const eqp_placement *placement);

/* Sets the particles' tags, and homes for the next bh_domain_migrate(), from a placement for each group. Collective. */
int bh_domain_place(bh_domain *domain, const eqp_placement *placement);

/* Homes for an assumed placement of groups on any number of parts, as after bh_domain_rehome() and the next
 * bh_domain_migrate() if nothing moves. homes: initialised; replaced. Collective. */
int bh_domain_plan_homes(const bh_domain *domain, const eqp_placement *placement, bh_homes *homes);

/* Regroups at another size: particles migrate to the homes nearest to these that divide no such group, and the tree is
 * built. Adds to *migration. Collective; the code of all ranks. */
int bh_domain_regroup(bh_domain *domain, int group_size, const bh_homes *homes, bh_migration *migration);

#endif
