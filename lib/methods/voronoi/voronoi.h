/* SPDX-License-Identifier: BSD-3-Clause */
/* Voronoi cells with biases: who owns a place, and biases for wanted loads. Coordinates are scaled: the common box of
 * all points has no edge longer than 1. */
#ifndef EQUIPOISE_METHODS_VORONOI_VORONOI_H
#define EQUIPOISE_METHODS_VORONOI_VORONOI_H

#include <equipoise/more/voronoi.h>

#include <stdbool.h>

/* A piece of the tree over the active cells. Its halves are pieces 2 k + 1 and 2 k + 2. */
typedef struct eqp__cells_piece {
    double low[3], high[3]; /* around the centres */
    double bias;            /* the largest */
    int first, last;        /* cells order[first] to order[last - 1] */
} eqp__cells_piece;

/* Pieces of at most so many cells are not halved. */
static inline bool eqp__voronoi_is_leaf(const eqp__cells_piece *t)
{
    return t->last - t->first <= 8;
}

struct eqp_voronoi {
    int nparts;
    double low[3]; /* halves of coordinates, which cannot overflow when they are subtracted */
    double scale;
    double *centre;          /* [nparts][3] scaled */
    double *bias;            /* [nparts] scaled; -INFINITY: nothing belongs to this cell, it is not active */
    int nactive;             /* cells of a finite bias */
    int *order;              /* [nparts] the active cells, piece by piece */
    eqp__cells_piece *piece; /* the tree */
    void *spare;             /* [nparts] work */
};

/* Memory for cells without centres, of which none is active. EQP_OK or EQP_ERR_MEMORY. */
int eqp__voronoi_open(int nparts, eqp_voronoi **voronoi);

/* The tree, to be built when a centre has moved or a cell became active or ceased to be; and to be told of biases. */
void eqp__voronoi_plant(eqp_voronoi *v);
void eqp__voronoi_bias(eqp_voronoi *v);

/* The two cells of least |x - c|^2 - b, of equal ones the lower number first; -1 where there is none.
 * cell: two that are likely, or -1; then the two. power: [2] of the two */
void eqp__voronoi_search(const eqp_voronoi *v, const double x[3], int cell[2], double power[2]);

static inline void eqp__voronoi_scaled(const eqp_voronoi *v, const double *point, double x[3])
{
    for (int k = 0; k < 3; k++) {
        x[k] = (0.5 * point[k] - v->low[k]) * v->scale;
    }
}

/* The points whose cells are sought. */
typedef struct eqp__cells {
    int64_t n;
    const double *x;      /* [n][3] scaled */
    const double *weight; /* [n] >= 0, not all 0 */
    const double *target; /* [nparts] wanted loads, > 0 */
} eqp__cells;

/* Moments of cells, sum[4 p] to sum[4 p + 3]: weight x coordinates, weight. owner: [n * stride] the cell of point i at
 * i * stride. Returns the sum of weight x square of the distance to the centre. */
double eqp__voronoi_gravity(const eqp__cells *cells, const eqp_voronoi *v, const int *owner, int stride, double *sum);

/* Of n points every so manieth is looked at, so that there are at most `most` and below 2^31. */
int64_t eqp__voronoi_stride(int64_t n, int64_t most);

/* Points and their cells under some biases. */
typedef struct eqp__cells_state {
    double *bias;   /* [nparts] */
    double *load;   /* [nparts] */
    int64_t *count; /* [nparts] points */
    int (*cell)[2]; /* [n] the owner and the next in line; -1: none */
    double *gap;    /* [n] by how much the bias of the next has to grow until it is the owner */
    double imbalance;
    double dual;  /* sum over the points of weight x power, over the cells of target x bias: concave in the biases, and
                     largest where the loads are the targets */
    double error; /* sum over the cells of (load - target)^2 / target */
    int empty;    /* active cells without points */
} eqp__cells_state;

/* Work of a step of Newton's method. */
typedef struct eqp__cells_step {
    int64_t *first, *end; /* [nparts + 1] of each cell's neighbours */
    int *other;           /* [2 (n + nparts)] neighbours */
    double *density;      /* [2 (n + nparts)] load that changes hands per change of the difference of two biases */
    int64_t *seen;        /* [nparts] work */
    double *diagonal;     /* [nparts] sum of the densities */
    double *change;       /* [nparts] of the biases: the step */
    double *residual, *direction, *image; /* [nparts] work of conjugate gradients */
} eqp__cells_step;

int eqp__cells_step_open(int64_t n, int nparts, eqp__cells_step *step);
void eqp__cells_step_close(eqp__cells_step *step);

/* Changes of the biases that would give every cell its target, if loads changed as they do near the present walls and
 * nothing was damped.
 * width: how far from a wall points say how densely the load lies there, as a part of the way between two centres.
 * damping: > 0; the larger, the smaller is the step */
void eqp__cells_step_find(const eqp__cells *cells, const eqp_voronoi *v, const eqp__cells_state *state, double width,
                          double damping, eqp__cells_step *step);

/* Finds biases for v's centres, and moves these if they may move. Begins at v's biases; of all that it has looked at v
 * becomes the best. EQP_OK or EQP_ERR_MEMORY, v then unchanged. */
int eqp__voronoi_solve(const eqp__cells *cells, const eqp_voronoi_options *options, eqp_voronoi *v);

#endif
