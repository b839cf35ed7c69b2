/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of eqp_regions: what making, walls and queries share. */
#ifndef EQUIPOISE_METHODS_POINTS_REGIONS_H
#define EQUIPOISE_METHODS_POINTS_REGIONS_H

#include "methods/points/points.h"
#include "methods/voronoi/voronoi.h"

#include <equipoise/points.h>

/* A wall between two sets of parts, or one part. */
typedef struct eqp__regions_node {
    int axis; /* -1: one part */
    double wall;
    int below, above; /* nodes, behind this one; below of one part: its number */
} eqp__regions_node;

struct eqp_regions {
    int nparts;
    int nfilled;             /* parts with items */
    double *low, *high;      /* [3 nparts] boxes around the items of each part; of empty ones INFINITY and -INFINITY */
    int *filled;             /* [nfilled] in the order of `cut` */
    eqp__regions_node *tree; /* NULL: parts are intervals of the curve */
    int nnodes;
    double (*box)[6]; /* [nparts] between the walls, low and high; of parts that are not in the tree NaN */
    uint64_t *cut;    /* [nfilled] keys from which each part reaches up to the next */
    double corner[3], side;
    eqp_voronoi *cells; /* convex cells, which a method has left here; NULL: a tree or the curve */
    int *part_of;       /* [nparts] the part of each cell */
};

/* The domain, and the least widths of a part. */
typedef struct eqp__walls_wanted {
    double low[3], high[3], least[3];
} eqp__walls_wanted;

/* eqp_regions_create() of points that are described alike on all ranks; wanted: NULL, or walls there must be, of all
 * parts; grid: [3] gets numbers of slabs, if wanted. Collective. */
int eqp__regions_make(MPI_Comm comm, eqp_regions *r, const eqp_points *points, const eqp__points_scope *scope,
                      const int *part, const eqp__walls_wanted *wanted, int grid[3]);

/* Regions without contents, for a method to leave its cells in; eqp_regions_free(). Local. */
int eqp__regions_open(int nparts, eqp_regions **regions);

/* Brings cells from rank 0 to the other ranks, whose cells are open. Collective. */
int eqp__cells_share(MPI_Comm comm, int rank, eqp_voronoi *v);

/* Brings cells, if there are any, from rank 0 to the other ranks. Collective. */
int eqp__regions_share(MPI_Comm comm, eqp_regions *r);

/* Why regions cannot be told; EQP_ERR_STATE, else the text of a code. Local. */
const char *eqp__regions_reason(int code);

/* A box, all that is within reach of it, and the domain. */
typedef struct eqp__reach {
    double low[3], high[3], reach;
    double floor[3], ceiling[3]; /* of the domain along periodic axes, else infinite */
} eqp__reach;

/* The parts of the cells that have a place within reach, in any order; some may be named twice.
 * take: called for each */
void eqp__cells_touch(const eqp_regions *r, const eqp__reach *reach, void (*take)(void *user, int part), void *user);

/* Planes across all space that tell the parts apart, numbered as MPI_Cart_rank() does: the tree of these. EQP_ERR_STATE
 * where none do. Local. */
int eqp__walls_grid(eqp_regions *r, const eqp__walls_wanted *wanted, int grid[3]);

/* The boxes between the walls of the tree, which are moved as far as the least widths that are wanted take it:
 * EQP_ERR_CAPACITY where there is no room for them. wanted NULL: walls stay, and all space is divided. Local. */
int eqp__walls_stand(eqp_regions *r, const eqp__walls_wanted *wanted);

#endif
