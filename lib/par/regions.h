/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of eqp_regions: what making, walls and queries share. */
#ifndef EQUIPOISE_PAR_REGIONS_H
#define EQUIPOISE_PAR_REGIONS_H

#include "par/points.h"

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
};

/* The domain, and the least widths of a part. */
typedef struct eqp__walls_wanted {
    double low[3], high[3], least[3];
} eqp__walls_wanted;

/* eqp_regions_create() of points that are described alike on all ranks; wanted: NULL, or walls there must be, of all
 * parts; grid: [3] gets numbers of slabs, if wanted. Collective. */
int eqp__regions_make(MPI_Comm comm, eqp_regions *r, const eqp_points *points, const eqp__points_scope *scope,
                      const int *part, const eqp__walls_wanted *wanted, int grid[3]);

/* Planes across all space that tell the parts apart, numbered as MPI_Cart_rank() does: the tree of these. EQP_ERR_STATE
 * where none do. Local. */
int eqp__walls_grid(eqp_regions *r, const eqp__walls_wanted *wanted, int grid[3]);

/* The boxes between the walls of the tree, which are moved as far as the least widths that are wanted take it:
 * EQP_ERR_CAPACITY where there is no room for them. wanted NULL: walls stay, and all space is divided. Local. */
int eqp__walls_stand(eqp_regions *r, const eqp__walls_wanted *wanted);

#endif
