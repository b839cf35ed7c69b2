/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions that are the cells of a power diagram (methods/voronoi/voronoi.h): broadcast, and queries by box or ball. */
#include "base/internal.h"
#include "comm/agree.h"
#include "methods/points/regions.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>

#include <float.h>
#include <math.h>
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
    int rank, nranks, any = r->cells != NULL;

    EQP_CHECK(eqp__comm_shape(comm, &rank, &nranks));
    EQP_CHECK(MPI_Bcast(&any, 1, MPI_INT, 0, comm) != MPI_SUCCESS ||
                      (any && MPI_Bcast(r->part_of, r->nparts, MPI_INT, 0, comm) != MPI_SUCCESS)
                  ? EQP_ERR_MPI
                  : EQP_OK);
    if (any) {
        EQP_CHECK(eqp_agree(comm, rank > 0 ? eqp__voronoi_open(r->nparts, &r->cells) : EQP_OK, NULL));
        EQP_CHECK(eqp__cells_share(comm, rank, r->cells));
    }
    return EQP_OK;
}

/* A linear function of a place: a difference of two powers, or the distance outside a face of the domain. */
typedef struct linear {
    double slope[3], constant;
} linear;

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

/* Finds the parts whose regions a box or a ball touches. */

typedef struct query {
    const eqp_regions *r;
    eqp__reach in;
    double most; /* the reach plus a margin for rounding */
    bool *seen;  /* [parts] */
    int *stack;  /* [nodes of the tree] */
    int *part, n;
} query;

static void take(void *user, int part)
{
    query *const q = user;

    if (!q->seen[part]) {
        q->seen[part] = true;
        q->part[q->n++] = part;
    }
}

/* True if the query touches a box. Rounding may add a box, but never drops one. */
static bool is_touching(const query *q, const double low[3], const double high[3])
{
    double sum = 0.0;

    for (int a = 0; a < 3; a++) {
        const double from = fmax(low[a], q->in.floor[a]), to = fmin(high[a], q->in.ceiling[a]);
        const double gap = fmax(fmax(from - q->in.high[a], q->in.low[a] - to), 0.0);
        if (from > to || (gap > 0 && !(gap <= q->most))) {
            return false;
        }
        sum += gap > 0 ? gap / q->in.reach * (gap / q->in.reach) : 0.0;
    }
    return sum <= 1.0 + 8 * DBL_EPSILON;
}

static void walk_tree(query *q)
{
    int n = 0;

    q->stack[n++] = 0;
    while (n > 0) {
        const eqp__regions_node *node = &q->r->tree[q->stack[--n]];
        const int a = node->axis;
        if (a < 0) {
            if (is_touching(q, q->r->box[node->below], q->r->box[node->below] + 3)) {
                take(q, node->below);
            }
            continue;
        }
        if (!(q->in.low[a] - node->wall > q->most)) {
            q->stack[n++] = node->below;
        }
        if (!(node->wall - q->in.high[a] > q->most)) {
            q->stack[n++] = node->above;
        }
    }
}

int eqp__regions_interval(const eqp_regions *r, uint64_t key)
{
    int low = 0, high = r->nfilled;

    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        low = r->cut[middle] <= key ? middle : low;
        high = r->cut[middle] <= key ? high : middle;
    }
    return low;
}

/* Walks the octree cell of this level whose least key is `key`. Descends only into cells that a cut divides, at most
 * one per cut and level. */
static void walk_curve(query *q, int level, uint64_t key)
{
    const eqp_regions *r = q->r;
    const int below = EQP_CURVE_BITS - level;
    const uint32_t cells = (uint32_t)1 << EQP_CURVE_BITS, width = (uint32_t)1 << below;
    const uint64_t keys = (uint64_t)1 << (3 * below);
    uint32_t at[3];
    double low[3], high[3];

    eqp_hilbert_cell(key, &at[0], &at[1], &at[2]);
    for (int a = 0; a < 3; a++) {
        const uint32_t first = at[a] / width * width;
        const double from = (double)first / cells, until = (double)(first + width) / cells;
        /* The margin covers the rounding of keys. Products and sums stay below DBL_MAX if places do. */
        const double margin = 4 * DBL_EPSILON * fabs(r->corner[a]) + 4 * DBL_EPSILON * r->side + 4 * DBL_TRUE_MIN;
        low[a] = first == 0 ? -INFINITY : r->corner[a] + r->side * from - margin;
        high[a] = first + width == cells ? INFINITY : r->corner[a] + r->side * until + margin;
    }
    if (!is_touching(q, low, high)) {
        return;
    }
    const int first = eqp__regions_interval(r, key), last = eqp__regions_interval(r, key + (keys - 1));
    if (first == last) {
        take(q, r->filled[first]);
        return;
    }
    for (uint64_t k = 0; k < 8; k++) {
        walk_curve(q, level + 1, key + k * (keys / 8));
    }
}

static void walk(query *q)
{
    if (q->r->tree != NULL) {
        walk_tree(q);
    } else if (q->r->cells != NULL) {
        eqp__cells_touch(q->r, &q->in, take, q);
    } else {
        walk_curve(q, 0, 0);
    }
}

/* Walks the query, shifted into the periodic domain, and its neighbouring images. */
static void walk_images(query *q, const double *domain)
{
    double low[3], high[3], period[3];
    int images[3];

    for (int a = 0; a < 3; a++) {
        period[a] = domain != NULL ? domain[3 + a] - domain[a] : 0.0;
        images[a] = period[a] > 0 ? 1 : 0;
        q->in.floor[a] = period[a] > 0 ? domain[a] : -INFINITY;
        q->in.ceiling[a] = period[a] > 0 ? domain[3 + a] : INFINITY;
        if (period[a] > 0 && q->in.high[a] - q->in.low[a] >= period[a]) { /* covers the whole period */
            images[a] = 0;
            q->in.low[a] = domain[a];
            q->in.high[a] = domain[3 + a];
        } else if (period[a] > 0) {
            const double shift = period[a] * floor((q->in.low[a] - domain[a]) / period[a]);
            q->in.low[a] -= shift;
            q->in.high[a] -= shift;
        }
        low[a] = q->in.low[a];
        high[a] = q->in.high[a];
    }
    for (int x = -images[0]; x <= images[0]; x++) {
        for (int y = -images[1]; y <= images[1]; y++) {
            for (int z = -images[2]; z <= images[2]; z++) {
                const int image[3] = {x, y, z};
                for (int a = 0; a < 3; a++) {
                    q->in.low[a] = image[a] != 0 ? low[a] + image[a] * period[a] : low[a];
                    q->in.high[a] = image[a] != 0 ? high[a] + image[a] * period[a] : high[a];
                }
                walk(q);
            }
        }
    }
}

static int by_number(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

int eqp_regions_touch(const eqp_regions *regions, const double low[3], const double high[3], double reach,
                      const double *domain, int *part, int *n)
{
    EQP_REQUIRE(regions && low && high && part && n);
    query q = {.r = regions, .in.reach = reach, .part = part};
    int code = reach >= 0 && isfinite(reach) ? EQP_OK : EQP_ERR_ARGUMENT;

    for (int a = 0; a < 3; a++) {
        if (!isfinite(low[a]) || !isfinite(high[a]) || low[a] > high[a] ||
            (domain != NULL && !(isfinite(domain[3 + a] - domain[a]) && domain[a] <= domain[3 + a]))) {
            code = EQP_ERR_ARGUMENT;
        }
        q.in.low[a] = low[a];
        q.in.high[a] = high[a];
    }
    EQP_TRY(code);
    q.most = reach * (1 + 4 * DBL_EPSILON);
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(q.seen, regions->nparts), EQP__ARRAY(q.stack, regions->nnodes)));
    if (regions->nfilled > 0 || regions->nnodes > 0) {
        walk_images(&q, domain);
    }
    qsort(part, (size_t)q.n, sizeof *part, by_number);
    *n = q.n;
done:
    EQP__FREE(q.seen, q.stack);
    return code;
}
