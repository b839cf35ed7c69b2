/* SPDX-License-Identifier: BSD-3-Clause */
/* A damped Newton step for biases. The sum over the points of weight x least power, plus the sum over the cells of
 * target x bias, is concave in the biases. Its gradient is target - load; its second derivatives are the load per bias
 * at the walls, which form a Laplacian over neighbouring cells. Source: F. Aurenhammer, F. Hoffmann and B. Aronov,
 * Minkowski-type theorems and least-squares clustering, Algorithmica 20 (1998) 61; J. Kitagawa, Q. Merigot and B.
 * Thibert, Convergence of a Newton algorithm for semi-discrete optimal transport, J. Eur. Math. Soc. 21 (2019) 2603.
 * Loads are integrals in these papers and sums over points here, so the density at a wall is estimated from the points
 * near it. */
#include "methods/voronoi/voronoi.h"

#include "base/internal.h"

#include <math.h>
#include <string.h>

/* Least squared distance between two centres; coincident centres have no wall and would divide by zero. */
#define LEAST_DISTANCE2 1e-14

/* Limits of the conjugate gradient iteration. */
enum { MOST_ROUNDS = 500 };
#define RESIDUAL_TOLERANCE 1e-6

int eqp__cells_step_open(int64_t n, int nparts, eqp__cells_step *step)
{
    *step = (eqp__cells_step){.first = NULL};
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(step->first, (int64_t)nparts + 1), EQP__ARRAY(step->end, (int64_t)nparts + 1),
                           EQP__ARRAY(step->other, 2 * (n + nparts)), EQP__ARRAY(step->density, 2 * (n + nparts)),
                           EQP__ARRAY(step->seen, nparts), EQP__ARRAY(step->diagonal, 5 * (int64_t)nparts)));
    step->change = step->diagonal + nparts;
    step->residual = step->change + nparts;
    step->direction = step->residual + nparts;
    step->image = step->direction + nparts;
    return EQP_OK;
}

void eqp__cells_step_close(eqp__cells_step *step)
{
    EQP__FREE(step->first, step->end, step->other, step->density, step->seen, step->diagonal);
}

static bool has_wall(const eqp__cells_state *state, int64_t i)
{
    return state->cell[i][1] >= 0 && state->gap[i] < INFINITY;
}

/* Reserves room for the neighbours of each cell: one entry for each point near one of its walls, two for the chain. */
static void make_room(const eqp__cells_state *state, int64_t n, const eqp_voronoi *v, eqp__cells_step *step)
{
    int64_t before = 0;

    memset(step->first, 0, ((size_t)v->nparts + 1) * sizeof *step->first);
    for (int64_t i = 0; i < n; i++) {
        if (has_wall(state, i)) {
            step->first[state->cell[i][0]]++;
            step->first[state->cell[i][1]]++;
        }
    }
    for (int i = 1; i < v->nactive; i++) {
        step->first[v->order[i - 1]]++;
        step->first[v->order[i]]++;
    }
    for (int p = 0; p <= v->nparts; p++) {
        const int64_t these = step->first[p];
        step->first[p] = step->end[p] = before;
        before += these;
    }
}

static double bias_scale(const eqp_voronoi *v, int p, int q)
{
    const double *a = v->centre + 3 * (int64_t)p, *b = v->centre + 3 * (int64_t)q;
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

    return fmax(x * x + y * y + z * z, LEAST_DISTANCE2);
}

static void add_neighbour(eqp__cells_step *step, int p, int q, double density)
{
    const int64_t k = step->end[p]++;

    step->other[k] = q;
    step->density[k] = density;
}

/* Merges the entries of each cell so that every neighbour has one, and sums the diagonal. */
static void merge_neighbours(int nparts, eqp__cells_step *step)
{
    for (int p = 0; p < nparts; p++) {
        step->seen[p] = -1;
    }
    for (int p = 0; p < nparts; p++) {
        int64_t end = step->first[p];
        step->diagonal[p] = 0;
        for (int64_t k = step->first[p]; k < step->end[p]; k++) {
            const int q = step->other[k];
            step->diagonal[p] += step->density[k];
            if (step->seen[q] >= step->first[p]) {
                step->density[step->seen[q]] += step->density[k];
            } else {
                step->seen[q] = end;
                step->other[end] = q;
                step->density[end++] = step->density[k];
            }
        }
        step->end[p] = end;
    }
}

static void couple(eqp__cells_step *step, int p, int q, double density)
{
    add_neighbour(step, p, q, density);
    add_neighbour(step, q, p, density);
}

/* Estimates the density at each wall, half of it from the points on either side. A chain through all active cells
 * couples cells that share no points near a wall. */
static void find_densities(const eqp__cells *cells, const eqp_voronoi *v, const eqp__cells_state *state, double width,
                           eqp__cells_step *step)
{
    make_room(state, cells->n, v, step);
    for (int64_t i = 0; i < cells->n; i++) {
        if (has_wall(state, i)) {
            const int p = state->cell[i][0], q = state->cell[i][1];
            const double range = width * bias_scale(v, p, q);
            couple(step, p, q, cells->weight[i] * exp(-state->gap[i] / range) / (2 * range));
        }
    }
    for (int i = 1; i < v->nactive; i++) {
        couple(step, v->order[i - 1], v->order[i], 0);
    }
    merge_neighbours(v->nparts, step);
}

/* Adds a density to every pair of neighbours, which limits the step. It penalizes differences of two neighbours'
 * changes relative to the squared distance of their centres, so a group of cells may still change by a large common
 * amount. */
static void damp(const eqp__cells *cells, const eqp_voronoi *v, double damping, eqp__cells_step *step)
{
    for (int p = 0; p < v->nparts; p++) {
        for (int64_t k = step->first[p]; k < step->end[p]; k++) {
            const int q = step->other[k];
            const double more = damping * (cells->target[p] + cells->target[q]) / bias_scale(v, p, q);
            step->density[k] += more;
            step->diagonal[p] += more;
        }
    }
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Residual divided by the diagonal; 0 for a cell without neighbours. */
static double precondition(const eqp__cells_step *step, int p)
{
    return step->diagonal[p] > 0 ? step->residual[p] / step->diagonal[p] : 0;
}

static void multiply(const eqp__cells_step *step, int nparts)
{
    for (int p = 0; p < nparts; p++) {
        double sum = step->diagonal[p] * step->direction[p];
        for (int64_t k = step->first[p]; k < step->end[p]; k++) {
            sum -= step->density[k] * step->direction[step->other[k]];
        }
        step->image[p] = sum;
    }
}

/* Conjugate gradients with the diagonal as preconditioner. */
static void solve(int nparts, eqp__cells_step *step)
{
    double square = 0, begin;

    for (int p = 0; p < nparts; p++) {
        step->change[p] = 0;
        step->direction[p] = precondition(step, p);
        square += step->residual[p] * step->direction[p];
    }
    begin = square;
    for (int round = 0; round < MOST_ROUNDS && square > RESIDUAL_TOLERANCE * begin; round++) {
        multiply(step, nparts);
        const double curvature = dot(nparts, step->direction, step->image);
        if (!(curvature > 0)) {
            break;
        }
        const double length = square / curvature, former = square;
        square = 0;
        for (int p = 0; p < nparts; p++) {
            step->change[p] += length * step->direction[p];
            step->residual[p] -= length * step->image[p];
            square += step->residual[p] * precondition(step, p);
        }
        for (int p = 0; p < nparts; p++) {
            step->direction[p] = precondition(step, p) + square / former * step->direction[p];
        }
    }
}

void eqp__cells_step_find(const eqp__cells *cells, const eqp_voronoi *v, const eqp__cells_state *state, double width,
                          double damping, eqp__cells_step *step)
{
    find_densities(cells, v, state, width, step);
    damp(cells, v, damping, step);
    for (int p = 0; p < v->nparts; p++) {
        step->residual[p] = step->diagonal[p] > 0 ? cells->target[p] - state->load[p] : 0;
    }
    solve(v->nparts, step);
}
