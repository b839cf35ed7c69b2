/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions that are the cells of a power diagram (methods/voronoi/voronoi.h): broadcast, and queries by box or ball. */
#include "base/internal.h"
#include "comm/agree.h"
#include "methods/points/regions.h"

#include <equipoise/more/comm.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 64, DEPTH = 64, ON_BOX = 4 };

int eqp__regions_open(int nparts, eqp_regions **regions)
{
    eqp_regions *r = NULL;
    int code;

    EQP_TRY(eqp_array_create(&r, 1, sizeof *r));
    r->nparts = nparts;
    EQP_TRY(eqp_array_create(&r->part_of, nparts, sizeof *r->part_of));
    *regions = r;
    r = NULL;
done:
    eqp_regions_free(r);
    return code;
}

int eqp__cells_share(MPI_Comm comm, int rank, eqp_voronoi *v)
{
    const int nparts = v->nparts;
    double *all = NULL;
    int code;

    EQP_TRY(eqp_agree(comm, eqp_array_create(&all, ON_BOX + 4 * (int64_t)nparts, sizeof *all), NULL));
    memcpy(all, v->low, 3 * sizeof *all);
    all[3] = v->scale;
    memcpy(all + ON_BOX, v->centre, 3 * (size_t)nparts * sizeof *all);
    memcpy(all + ON_BOX + 3 * (int64_t)nparts, v->bias, (size_t)nparts * sizeof *all);
    EQP_TRY(EQP__MPI(MPI_Bcast(all, ON_BOX + 4 * nparts, MPI_DOUBLE, 0, comm)));
    if (rank > 0) {
        memcpy(v->low, all, 3 * sizeof *all);
        v->scale = all[3];
        memcpy(v->centre, all + ON_BOX, 3 * (size_t)nparts * sizeof *all);
        memcpy(v->bias, all + ON_BOX + 3 * (int64_t)nparts, (size_t)nparts * sizeof *all);
        eqp__voronoi_plant(v);
    }
done:
    free(all);
    return code;
}

int eqp__regions_share(MPI_Comm comm, eqp_regions *r)
{
    int rank, nranks, any = r->cells != NULL, code;

    EQP_TRY(eqp__comm_shape(comm, &rank, &nranks));
    EQP_TRY(MPI_Bcast(&any, 1, MPI_INT, 0, comm) != MPI_SUCCESS ||
                    (any && MPI_Bcast(r->part_of, r->nparts, MPI_INT, 0, comm) != MPI_SUCCESS)
                ? EQP_ERR_MPI
                : EQP_OK);
    if (any) {
        EQP_TRY(eqp_agree(comm, rank > 0 ? eqp__voronoi_open(r->nparts, &r->cells) : EQP_OK, NULL));
        EQP_TRY(eqp__cells_share(comm, rank, r->cells));
    }
done:
    return code;
}

/* A linear function of a place: a difference of two powers, or the distance outside a face of the domain. */
typedef struct linear {
    double slope[3], constant;
} linear;

/* A query in the scaled coordinates of the cells. */
typedef struct ball {
    const eqp_voronoi *v;
    eqp__reach in;
    double slack; /* bound of the rounding error of a difference of powers */
} ball;

static ball scale(const eqp_voronoi *v, const eqp__reach *reach)
{
    ball k = {.v = v, .in.reach = 0.5 * reach->reach * v->scale};
    double farthest = 1.0, bias = 0.0;

    eqp__voronoi_scaled(v, reach->low, k.in.low);
    eqp__voronoi_scaled(v, reach->high, k.in.high);
    for (int a = 0; a < 3; a++) {
        const double most = fmax(fabs(k.in.low[a]), fabs(k.in.high[a])) + k.in.reach;
        farthest += most * most;
        k.in.floor[a] = isfinite(reach->floor[a]) ? (0.5 * reach->floor[a] - v->low[a]) * v->scale : -INFINITY;
        k.in.ceiling[a] = isfinite(reach->ceiling[a]) ? (0.5 * reach->ceiling[a] - v->low[a]) * v->scale : INFINITY;
    }
    for (int i = 0; i < v->nactive; i++) {
        bias = fmax(bias, fabs(v->bias[v->order[i]]));
    }
    k.slack = 64 * DBL_EPSILON * (farthest + bias);
    return k;
}

/* The minimum of a linear function over the ball, and its place x. */
static double find_least(const ball *k, const linear *f, double x[3])
{
    const double length = sqrt(f->slope[0] * f->slope[0] + f->slope[1] * f->slope[1] + f->slope[2] * f->slope[2]);
    double least = f->constant;

    for (int a = 0; a < 3; a++) {
        x[a] = f->slope[a] > 0 ? k->in.low[a] : k->in.high[a];
        x[a] -= length > 0 ? k->in.reach * (f->slope[a] / length) : 0.0;
        least += f->slope[a] * x[a];
    }
    return least;
}

/* Finds the constraint that excludes place x from cell p: the domain face that x is farthest outside of, else the cell
 * of least power at x. *f: its linear function, positive at x. False: x is in cell p. */
static bool is_excluded(const ball *k, int p, const double x[3], linear *f)
{
    const eqp_voronoi *v = k->v;
    double power[2], outside = 0.0;
    int cell[2] = {p, -1};

    for (int a = 0; a < 3; a++) {
        const double below = k->in.floor[a] - x[a], above = x[a] - k->in.ceiling[a];
        if (fmax(below, above) > outside) {
            outside = fmax(below, above);
            *f = (linear){.constant = below > above ? k->in.floor[a] : -k->in.ceiling[a]};
            f->slope[a] = below > above ? -1.0 : 1.0;
        }
    }
    if (outside > 0) {
        return true;
    }
    eqp__voronoi_search(v, x, cell, power);
    const double *const mine = v->centre + 3 * (int64_t)p, *const other = v->centre + 3 * (int64_t)cell[0];
    f->constant = v->bias[cell[0]] - v->bias[p];
    for (int a = 0; a < 3; a++) {
        f->slope[a] = 2 * (other[a] - mine[a]);
        f->constant += mine[a] * mine[a] - other[a] * other[a];
    }
    return cell[0] != p;
}

/* True unless cell p provably misses the ball. The proof: a mean of excluding functions is positive in the whole ball,
 * so at each place some function is positive and excludes it. The means come from fictitious play: one player picks the
 * place that minimizes the current mean, its opponent the function that excludes this place. */
static bool touches(const ball *k, int p)
{
    linear mean = {.constant = 0.0}, f;
    double x[3], middle[3] = {0};

    for (int a = 0; a < 3; a++) {
        x[a] = fmin(fmax(k->v->centre[3 * (int64_t)p + a], k->in.low[a]), k->in.high[a]);
    }
    for (int step = 1; step <= STEPS; step++) {
        if (!is_excluded(k, p, x, &f)) {
            return true;
        }
        for (int a = 0; a < 3; a++) {
            mean.slope[a] += (f.slope[a] - mean.slope[a]) / step;
            middle[a] += (x[a] - middle[a]) / step;
        }
        mean.constant += (f.constant - mean.constant) / step;
        if (find_least(k, &mean, x) > k->slack) {
            return false;
        }
        if ((step & (step - 1)) == 0 && !is_excluded(k, p, middle, &f)) {
            return true;
        }
    }
    return true;
}

/* Squared distance between a box and the ball. */
static double square_between(const ball *k, const double low[3], const double high[3])
{
    double sum = 0.0;

    for (int a = 0; a < 3; a++) {
        const double gap = fmax(fmax(low[a] - k->in.high[a], k->in.low[a] - high[a]), 0.0);
        sum += gap * gap;
    }
    const double distance = fmax(sqrt(sum) - k->in.reach, 0.0);
    return distance * distance;
}

/* Upper bound, over the ball, of the power of the cell at its centre. A cell whose power exceeds it everywhere in the
 * ball owns no place there. */
static double largest_power(const ball *k)
{
    double middle[3], power[2], sum = 0.0;
    int cell[2] = {-1, -1};

    for (int a = 0; a < 3; a++) {
        middle[a] = 0.5 * k->in.low[a] + 0.5 * k->in.high[a];
    }
    eqp__voronoi_search(k->v, middle, cell, power);
    for (int a = 0; a < 3 && cell[0] >= 0; a++) {
        const double c = k->v->centre[3 * (int64_t)cell[0] + a];
        const double most = fmax(fabs(k->in.low[a] - c), fabs(k->in.high[a] - c));
        sum += most * most;
    }
    const double distance = sqrt(sum) + k->in.reach;
    return cell[0] >= 0 ? distance * distance - k->v->bias[cell[0]] : INFINITY;
}

void eqp__cells_touch(const eqp_regions *r, const eqp__reach *reach, void (*take)(void *user, int part), void *user)
{
    const eqp_voronoi *v = r->cells;
    const ball k = scale(v, reach);
    const double most = largest_power(&k);
    int stack[DEPTH] = {0}, depth = v->nactive > 0;

    while (depth > 0) {
        const int at = stack[--depth];
        const eqp__cells_piece *t = &v->piece[at];
        if (square_between(&k, t->low, t->high) - t->bias > most + k.slack) {
            continue;
        }
        if (eqp__voronoi_is_leaf(t)) {
            for (int i = t->first; i < t->last; i++) {
                const double *c = v->centre + 3 * (int64_t)v->order[i];
                if (!(square_between(&k, c, c) - v->bias[v->order[i]] > most + k.slack) && touches(&k, v->order[i])) {
                    take(user, r->part_of[v->order[i]]);
                }
            }
            continue;
        }
        stack[depth++] = 2 * at + 1;
        stack[depth++] = 2 * at + 2;
    }
}
