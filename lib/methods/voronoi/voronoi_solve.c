/* SPDX-License-Identifier: BSD-3-Clause */
/* Biases by damped Newton steps, and centres that move to the centres of gravity of their cells. */
#include "methods/voronoi/voronoi.h"

#include "base/internal.h"
#include "methods/frame/frame.h"

#include <math.h>
#include <string.h>

/* A rejected step raises the damping, an accepted step lowers it. Beyond MOST_DAMPING steps are negligible: the damping
 * is reset, and densities at the walls are estimated from a narrower range, down to LEAST_WIDTH. */
#define FIRST_DAMPING 1.0
#define MOST_DAMPING 1e3
#define MORE_DAMPING 3.0
#define LESS_DAMPING 0.5
#define FIRST_WIDTH 0.1
#define LEAST_WIDTH 1e-3

/* A step that lowers the error below this fraction is always accepted. */
#define GOOD_ERROR 0.95

/* Centres move at most MOVES times, and only while the mean square distance to them falls by at least LEAST_SHRINKING.
 * If a move empties a cell it is halved, down to LEAST_MOVE. */
enum { MOVES = 8 };
#define LEAST_SHRINKING 0.01
#define LEAST_MOVE 0.1

/* Least weight of a point relative to the mean; with it a cell of points without weight has a centre of gravity. */
#define LEAST_WEIGHT 1e-9

typedef struct solver {
    const eqp__cells *cells;
    const eqp_voronoi_options *options;
    eqp_voronoi *v;
    int64_t left;     /* remaining searches */
    double tolerance; /* tolerance of the options, or the lower bound of any assignment if that is larger */
    eqp__cells_state now, next;
    eqp__cells_step step;
    double *sum; /* [nparts][4] moments */
    double best; /* imbalance of the best cells so far */
    double *best_bias, *best_centre, *former_centre;
} solver;

static int state_open(int64_t n, int nparts, eqp__cells_state *state)
{
    return EQP__ARRAYS(EQP__ARRAY(state->bias, nparts), EQP__ARRAY(state->load, nparts),
                       EQP__ARRAY(state->count, nparts), EQP__ARRAY(state->cell, n), EQP__ARRAY(state->gap, n));
}

static void state_close(eqp__cells_state *state)
{
    EQP__FREE(state->bias, state->load, state->count, state->cell, state->gap);
}

static int open_solver(solver *s)
{
    const int64_t n = s->cells->n, nparts = s->v->nparts;

    EQP__CHECK(state_open(n, s->v->nparts, &s->now));
    EQP__CHECK(state_open(n, s->v->nparts, &s->next));
    EQP__CHECK(eqp__cells_step_open(n, s->v->nparts, &s->step));
    return EQP__ARRAYS(EQP__ARRAY(s->sum, 4 * nparts), EQP__ARRAY(s->best_bias, nparts),
                       EQP__ARRAY(s->best_centre, 3 * nparts), EQP__ARRAY(s->former_centre, 3 * nparts));
}

static void close_solver(solver *s)
{
    state_close(&s->now);
    state_close(&s->next);
    eqp__cells_step_close(&s->step);
    EQP__FREE(s->sum, s->best_bias, s->best_centre, s->former_centre);
}

/* Finds the cell of every point under the biases of a state, and the loads. */
static void search_all(solver *s, eqp__cells_state *state)
{
    const eqp__cells *cells = s->cells;
    const size_t nparts = (size_t)s->v->nparts;

    memcpy(s->v->bias, state->bias, nparts * sizeof *state->bias);
    eqp__voronoi_bias(s->v);
    memset(state->load, 0, nparts * sizeof *state->load);
    memset(state->count, 0, nparts * sizeof *state->count);
    state->dual = 0;
    for (int64_t i = 0; i < cells->n; i++) {
        double power[2];
        memcpy(state->cell[i], s->now.cell[i], sizeof state->cell[i]);
        eqp__voronoi_search(s->v, cells->x + 3 * i, state->cell[i], power);
        state->gap[i] = power[1] - power[0];
        state->dual += cells->weight[i] * power[0];
        state->load[state->cell[i][0]] += cells->weight[i];
        state->count[state->cell[i][0]]++;
    }
    state->imbalance = -1;
    state->error = 0;
    state->empty = 0;
    for (size_t p = 0; p < nparts; p++) {
        const double over = state->load[p] / cells->target[p] - 1;
        state->imbalance = fmax(state->imbalance, over);
        state->dual += state->bias[p] > -INFINITY ? cells->target[p] * state->bias[p] : 0;
        state->error += over * over * cells->target[p];
        state->empty += state->bias[p] > -INFINITY && state->count[p] == 0;
    }
    s->left--;
}

/* Among states within the tolerance the latest is kept, since cells become rounder as centres move. */
static void keep_if_best(solver *s, const eqp__cells_state *state)
{
    const size_t nparts = (size_t)s->v->nparts;

    if (state->imbalance < s->best || state->imbalance <= s->tolerance) {
        s->best = state->imbalance;
        memcpy(s->best_bias, state->bias, nparts * sizeof *s->best_bias);
        memcpy(s->best_centre, s->v->centre, 3 * nparts * sizeof *s->best_centre);
    }
}

/* Evaluates the next state; returns false if a cell has lost its last point. */
static bool try_next(solver *s)
{
    search_all(s, &s->next);
    if (s->next.empty > s->now.empty) {
        return false;
    }
    keep_if_best(s, &s->next);
    return true;
}

static void take_next(solver *s)
{
    const eqp__cells_state former = s->now;

    s->now = s->next;
    s->next = former;
}

/* The error has local minima, so it cannot be the only criterion. The dual is concave, but near its maximum the loads
 * are only as even as the heaviest points allow. An improvement of either is accepted. */
static bool is_worth_it(const solver *s)
{
    const eqp__cells_state *now = &s->now, *next = &s->next;

    return next->dual > now->dual || next->error < GOOD_ERROR * now->error || next->imbalance <= s->tolerance;
}

static void find_biases(solver *s)
{
    double width = FIRST_WIDTH, damping = FIRST_DAMPING;

    while (s->left > 0 && s->v->nactive > 1 && s->now.imbalance > s->tolerance && width > LEAST_WIDTH) {
        eqp__cells_step_find(s->cells, s->v, &s->now, width, damping, &s->step);
        for (int p = 0; p < s->v->nparts; p++) {
            s->next.bias[p] = s->now.bias[p] + s->step.change[p];
        }
        if (try_next(s) && is_worth_it(s)) {
            take_next(s);
            damping *= LESS_DAMPING;
        } else {
            damping *= MORE_DAMPING;
        }
        if (damping > MOST_DAMPING) {
            damping = FIRST_DAMPING;
            width *= 0.5;
        }
    }
}

double eqp__voronoi_gravity(const eqp__cells *cells, const eqp_voronoi *v, const int *owner, int stride, double *sum)
{
    double squares = 0, total = 0;

    memset(sum, 0, 4 * (size_t)v->nparts * sizeof *sum);
    for (int p = 0; p < v->nparts; p++) {
        total += cells->target[p];
    }
    const double least = LEAST_WEIGHT * total / (double)cells->n;
    for (int64_t i = 0; i < cells->n; i++) {
        const int64_t p = owner[i * stride];
        const double weight = fmax(cells->weight[i], least);
        for (int k = 0; k < 3; k++) {
            const double x = cells->x[3 * i + k], d = x - v->centre[3 * p + k];
            sum[4 * p + k] += weight * x;
            squares += weight * d * d;
        }
        sum[4 * p + 3] += weight;
    }
    return squares;
}

static void place_centres(solver *s, double length)
{
    for (int p = 0; p < s->v->nparts; p++) {
        const double *sum = s->sum + 4 * (int64_t)p, *from = s->former_centre + 3 * (int64_t)p;
        double *centre = s->v->centre + 3 * (int64_t)p;
        for (int k = 0; k < 3 && sum[3] > 0; k++) {
            centre[k] = from[k] + length * (sum[k] / sum[3] - from[k]);
        }
    }
    eqp__voronoi_plant(s->v);
}

/* Moves centres towards the centres of gravity, as far as no cell becomes empty. Biases stay, although the cells
 * change; keep_if_best() still holds the best state. Returns false if no move was possible. */
static bool move_centres(solver *s)
{
    const size_t nparts = (size_t)s->v->nparts;

    memcpy(s->former_centre, s->v->centre, 3 * nparts * sizeof *s->former_centre);
    memcpy(s->next.bias, s->now.bias, nparts * sizeof *s->next.bias);
    for (double length = 1; length > LEAST_MOVE && s->left > 0; length *= 0.5) {
        place_centres(s, length);
        if (try_next(s)) {
            take_next(s);
            return true;
        }
    }
    return false;
}

/* Lower bound of the imbalance: the heaviest point alone in the cell of the largest target. */
static double find_floor(const eqp__cells *cells, int nparts)
{
    double heaviest = 0, largest = 0;

    for (int64_t i = 0; i < cells->n; i++) {
        heaviest = fmax(heaviest, cells->weight[i]);
    }
    for (int p = 0; p < nparts; p++) {
        largest = fmax(largest, cells->target[p]);
    }
    return heaviest / largest - 1;
}

int eqp__voronoi_solve(const eqp__cells *cells, const eqp_voronoi_options *options, eqp_voronoi *v)
{
    solver s = {.cells = cells, .options = options, .v = v, .left = options->iterations, .best = INFINITY};
    double squares = INFINITY;
    int code;

    EQP_TRY(open_solver(&s));
    s.tolerance = fmax(options->tolerance, find_floor(cells, v->nparts) + EQP__IMBALANCE_SLACK);
    for (int64_t i = 0; i < cells->n; i++) {
        s.now.cell[i][0] = s.now.cell[i][1] = -1;
    }
    memcpy(s.now.bias, v->bias, (size_t)v->nparts * sizeof *v->bias);
    search_all(&s, &s.now);
    keep_if_best(&s, &s.now);
    find_biases(&s);
    for (int round = 0; options->moving && round < MOVES; round++) {
        const double former = squares;
        s.left = options->iterations;
        squares = eqp__voronoi_gravity(cells, v, s.now.cell[0], 2, s.sum);
        if (squares > (1 - LEAST_SHRINKING) * former || !move_centres(&s)) {
            break;
        }
        find_biases(&s);
    }
    memcpy(v->bias, s.best_bias, (size_t)v->nparts * sizeof *v->bias);
    memcpy(v->centre, s.best_centre, 3 * (size_t)v->nparts * sizeof *v->centre);
    eqp__voronoi_plant(v);
done:
    close_solver(&s);
    return code;
}
