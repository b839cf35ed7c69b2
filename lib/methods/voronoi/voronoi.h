/* SPDX-License-Identifier: BSD-3-Clause */
/* Voronoi cells with biases: search for the cell of a point, and biases for target loads. Coordinates are scaled: the
 * longest edge of the box of all points is 1. */
#ifndef EQUIPOISE_METHODS_VORONOI_VORONOI_H
#define EQUIPOISE_METHODS_VORONOI_VORONOI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct eqp_voronoi_options {
    const double *share; /**< [nparts] target fractions > 0, sum 1 within 1e-9; NULL: equal (borrowed for the call) */
    double tolerance;    /**< wanted imbalance (more/methods.h), >= 0: the search ends once it is reached */
    int64_t iterations;  /**< most searches of all points for fixed centres, >= 1 */
    bool moving;         /**< centres move to the centres of gravity of their cells; false: they stay */
} eqp_voronoi_options;

static inline eqp_voronoi_options eqp__voronoi_options_defaults(void)
{
    return (eqp_voronoi_options){.tolerance = 0.02, .iterations = 200};
}

/** Centres and biases. Opaque; several threads may read it. */
typedef struct eqp_voronoi eqp_voronoi;

/** Finds cells for weighted points. Centres begin at the centres of gravity of a bisection. Biases
 * are found by Newton's method: points near the walls give the derivative of the loads with respect to the biases, and
 * each step solves the linear equations for all biases (F. Aurenhammer, F. Hoffmann and B. Aronov, Algorithmica 20
 * (1998) 61; J. Kitagawa, Q. Merigot and B. Thibert, J. Eur. Math. Soc. 21 (2019) 2603). Steps are damped so that they
 * lead towards even loads and empty no cell; this bounds the biases of neighbours. Moving centres then go to the
 * centres of gravity of their cells and the biases are found again, up to eight times, while the mean square distance
 * to the centres falls. The result is the most even of all sets of cells that were tried; if several are within the
 * tolerance, the latest.
 *
 * Points at one place share a cell, so if such a place is heavy, or if there are fewer places than parts, no biases
 * reach the tolerance. A part without a place of its own gets no points, and eqp__voronoi_parts() never returns it.
 *
 * Local, deterministic; a search of all points takes O(n log nparts).
 * \param[in]  point    [n][3] finite (borrowed for the call)
 * \param[in]  weight   [n] finite, >= 0. Weights that sum to zero count as 1 each (borrowed for the call)
 * \param[out] voronoi  owned by the caller: eqp__voronoi_free(); unchanged on error
 * \return EQP_OK or EQP_ERR_MEMORY */
int eqp__voronoi_create(int64_t n, const double *point, const double *weight, int nparts,
                        const eqp_voronoi_options *options, eqp_voronoi **voronoi);

/** Finds the parts of points [n][3], finite, which may lie outside the box of the points that made the cells. Of cells
 * that tie in equation 2.9 the lowest number wins. If eqp__voronoi_create() got no points, everything belongs to part
 * 0. Local, O(n log nparts). */
void eqp__voronoi_parts(const eqp_voronoi *voronoi, int64_t n, const double *point, int *part);

void eqp__voronoi_free(eqp_voronoi *voronoi);

/* A piece of the tree over the active cells. Its halves are pieces 2 k + 1 and 2 k + 2. */
typedef struct eqp__cells_piece {
    double low[3], high[3]; /* bounding box of the centres */
    double bias;            /* the largest */
    int first, last;        /* cells order[first] to order[last - 1] */
} eqp__cells_piece;

/* Pieces of at most 8 cells are not halved. */
static inline bool eqp__voronoi_is_leaf(const eqp__cells_piece *t)
{
    return t->last - t->first <= 8;
}

struct eqp_voronoi {
    int nparts;
    double low[3]; /* halved coordinates, whose differences cannot overflow */
    double scale;
    double *centre;          /* [nparts][3] scaled */
    double *bias;            /* [nparts] scaled; -INFINITY: the cell is inactive and has no points */
    int nactive;             /* number of cells with a finite bias */
    int *order;              /* [nparts] the active cells, piece by piece */
    eqp__cells_piece *piece; /* the tree */
    void *spare;             /* [nparts] work */
};

/* Allocates cells without centres; none is active. EQP_OK or EQP_ERR_MEMORY. */
int eqp__voronoi_open(int nparts, eqp_voronoi **voronoi);

/* Builds the tree; required after a centre has moved or a cell has become active or inactive. */
void eqp__voronoi_plant(eqp_voronoi *v);

/* Updates the largest biases in the tree; required after a bias has changed. */
void eqp__voronoi_bias(eqp_voronoi *v);

/* Finds the two cells of least |x - c|^2 - b, on a tie the lower number first; -1 if there is none.
 * cell: in, two guesses or -1; out, the two cells. power: [2] |x - c|^2 - b of these cells */
void eqp__voronoi_search(const eqp_voronoi *v, const double x[3], int cell[2], double power[2]);

static inline void eqp__voronoi_scaled(const eqp_voronoi *v, const double *point, double x[3])
{
    for (int k = 0; k < 3; k++) {
        x[k] = (0.5 * point[k] - v->low[k]) * v->scale;
    }
}

typedef struct eqp__cells {
    int64_t n;
    const double *x;      /* [n][3] scaled */
    const double *weight; /* [n] >= 0, not all 0 */
    const double *target; /* [nparts] target loads, > 0 */
} eqp__cells;

/* Sums moments of cells: sum[4 p] to sum[4 p + 2] weight x coordinates, sum[4 p + 3] weight. owner: [n * stride] the
 * cell of point i at i * stride. Returns the sum of weight x squared distance to the centre. */
double eqp__voronoi_gravity(const eqp__cells *cells, const eqp_voronoi *v, const int *owner, int stride, double *sum);

/* Points and their cells under some biases. */
typedef struct eqp__cells_state {
    double *bias;   /* [nparts] */
    double *load;   /* [nparts] */
    int64_t *count; /* [nparts] points */
    int (*cell)[2]; /* [n] the owner and the second-best cell; -1: none */
    double *gap;    /* [n] increase of the second-best cell's bias at which it becomes the owner */
    double imbalance;
    double dual;  /* sum over the points of weight x power, plus sum over the cells of target x bias: concave in the
                     biases, with its maximum where the loads equal the targets */
    double error; /* sum over the cells of (load - target)^2 / target */
    int empty;    /* active cells without points */
} eqp__cells_state;

typedef struct eqp__cells_step {
    int64_t *first, *end; /* [nparts + 1] range of each cell's neighbours */
    int *other;           /* [2 (n + nparts)] neighbours */
    double *density;      /* [2 (n + nparts)] load transferred per change of the difference of two biases */
    int64_t *seen;        /* [nparts] work */
    double *diagonal;     /* [nparts] sum of the densities */
    double *change;       /* [nparts] the step: changes of the biases */
    double *residual, *direction, *image; /* [nparts] work of conjugate gradients */
} eqp__cells_step;

int eqp__cells_step_open(int64_t n, int nparts, eqp__cells_step *step);
void eqp__cells_step_close(eqp__cells_step *step);

/* Finds a damped Newton step. Without damping it would give every cell its target if loads were linear in the biases.
 * width: distance from a wall up to which points count for the density there, as a fraction of the distance between the
 * two centres. damping: > 0; a larger value makes the step smaller */
void eqp__cells_step_find(const eqp__cells *cells, const eqp_voronoi *v, const eqp__cells_state *state, double width,
                          double damping, eqp__cells_step *step);

/* Finds biases for v's centres, and moves the centres if options->moving. Starts from v's biases and returns the best
 * cells tried in v. EQP_OK, or EQP_ERR_MEMORY with v unchanged. */
int eqp__voronoi_solve(const eqp__cells *cells, const eqp_voronoi_options *options, eqp_voronoi *v);

#endif
