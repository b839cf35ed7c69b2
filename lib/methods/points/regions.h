/* SPDX-License-Identifier: BSD-3-Clause */
/* Internals of eqp_regions, shared by construction, walls and queries. */
#ifndef EQUIPOISE_METHODS_POINTS_REGIONS_H
#define EQUIPOISE_METHODS_POINTS_REGIONS_H

#include "methods/points/points.h"
#include "methods/voronoi/voronoi.h"

#include <equipoise/points.h>

/* Node of the tree of walls: a wall between two sets of parts, or a leaf with one part. */
typedef struct eqp__regions_node {
    int axis; /* -1: leaf */
    double wall;
    int below, above; /* child nodes, stored after this one; in a leaf `below` is the part */
} eqp__regions_node;

struct eqp_regions {
    int nparts;
    int nfilled;             /* parts with items */
    double *low, *high;      /* [3 nparts] boxes around the items of each part; INFINITY, -INFINITY for empty parts */
    int *filled;             /* [nfilled] parts with items, in the order of `cut` */
    eqp__regions_node *tree; /* NULL: parts are intervals of the curve */
    int nnodes;
    double (*box)[6]; /* [nparts] box between the walls, low and high; NaN for parts that are not in the tree */
    uint64_t *cut;    /* [nfilled] first key of each part */
    double corner[3], side;
    eqp_voronoi *cells; /* convex cells stored by the method; NULL: tree or curve */
    int *part_of;       /* [nparts] part of each cell */
};

/* The domain, and the least widths of a part. */
typedef struct eqp__walls_wanted {
    double low[3], high[3], least[3];
} eqp__walls_wanted;

/* eqp_regions_create() after eqp__points_meet(). wanted: requests walls around all parts; NULL: no request. grid: [3]
 * gets the numbers of slabs if walls are requested. Collective. */
int eqp__regions_make(MPI_Comm comm, eqp_regions *r, const eqp_points *points, const eqp__points_scope *scope,
                      const int *part, const eqp__walls_wanted *wanted, int grid[3]);

/* Allocates empty regions, in which a method may store its cells. Freed by eqp_regions_free(). Local. */
int eqp__regions_open(int nparts, eqp_regions **regions);

/* The last interval of the curve, an index of `cut` and `filled`, whose first key is <= key. Local. */
int eqp__regions_interval(const eqp_regions *r, uint64_t key);

/* Broadcasts cells from rank 0. v: opened on all ranks. Collective. */
int eqp__cells_share(MPI_Comm comm, int rank, eqp_voronoi *v);

/* Broadcasts the cells of rank 0, if it has any. Collective. */
int eqp__regions_share(MPI_Comm comm, eqp_regions *r);

/* Explanation for EQP_ERR_STATE from regions; the usual text for any other code. Local. */
const char *eqp__regions_reason(int code);

/* A query: all places within `reach` of a box, and the domain. */
typedef struct eqp__reach {
    double low[3], high[3], reach;
    double floor[3], ceiling[3]; /* bounds of the domain along periodic axes; infinite along other axes */
} eqp__reach;

/* Calls `take` for the part of every cell within reach, in any order; a part may occur twice. Local. */
void eqp__cells_touch(const eqp_regions *r, const eqp__reach *reach, void (*take)(void *user, int part), void *user);

/* Builds the tree of a regular grid of walls that separates the parts, with parts numbered as by MPI_Cart_rank().
 * EQP_ERR_STATE if no grid does. Local. */
int eqp__walls_grid(eqp_regions *r, const eqp__walls_wanted *wanted, int grid[3]);

/* Computes the boxes between the walls of the tree, after moving walls to satisfy the requested least widths.
 * EQP_ERR_CAPACITY if the domain is too small for these widths. wanted NULL: walls stay, and the boxes fill all space.
 * Local. */
int eqp__walls_stand(eqp_regions *r, const eqp__walls_wanted *wanted);

#endif
