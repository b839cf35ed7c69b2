/* SPDX-License-Identifier: BSD-3-Clause */
/* Search for the cell of a point: a k-d tree over the centres, whose pieces hold the largest bias inside. */
#include "methods/voronoi/voronoi.h"

#include "base/internal.h"

#include <math.h>

enum { LEAF = 8, DEEPEST = 64 };

/* Coordinate of a centre along the axis in which a piece is halved. */
typedef struct place {
    double x;
    int cell;
} place;

static int by_place(const void *left, const void *right)
{
    const place *a = left, *b = right;

    return a->x != b->x ? (a->x > b->x) - (a->x < b->x) : (a->cell > b->cell) - (a->cell < b->cell);
}

int eqp__voronoi_open(int nparts, eqp_voronoi **voronoi)
{
    eqp_voronoi *v = NULL;
    int64_t pieces = 1;
    int code;

    for (int64_t most = nparts; most > LEAF; most -= most / 2) {
        pieces = 2 * pieces + 1;
    }
    EQP_TRY(eqp_array_create(&v, 1, sizeof *v));
    v->nparts = nparts;
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(v->centre, 3 * (int64_t)nparts), EQP__ARRAY(v->bias, nparts),
                        EQP__ARRAY(v->order, nparts), EQP__ARRAY(v->piece, pieces),
                        {&v->spare, nparts, sizeof(place)}));
    *voronoi = v;
    v = NULL;
done:
    eqp__voronoi_free(v);
    return code;
}

void eqp__voronoi_free(eqp_voronoi *voronoi)
{
    if (voronoi) {
        EQP__FREE(voronoi->centre, voronoi->bias, voronoi->order, voronoi->piece, voronoi->spare, voronoi);
    }
}

static int enclose(const eqp_voronoi *v, eqp__cells_piece *t)
{
    int longest = 0;

    for (int k = 0; k < 3; k++) {
        t->low[k] = INFINITY;
        t->high[k] = -INFINITY;
        for (int i = t->first; i < t->last; i++) {
            const double x = v->centre[3 * (int64_t)v->order[i] + k];
            t->low[k] = fmin(t->low[k], x);
            t->high[k] = fmax(t->high[k], x);
        }
        longest = t->high[k] - t->low[k] > t->high[longest] - t->low[longest] ? k : longest;
    }
    return longest;
}

static void halve(eqp_voronoi *v, int64_t k)
{
    eqp__cells_piece *t = &v->piece[k];
    const int axis = enclose(v, t), n = t->last - t->first;
    place *at = v->spare;

    if (eqp__voronoi_is_leaf(t)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        const int p = v->order[t->first + i];
        at[i] = (place){v->centre[3 * (int64_t)p + axis], p};
    }
    qsort(at, (size_t)n, sizeof *at, by_place);
    for (int i = 0; i < n; i++) {
        v->order[t->first + i] = at[i].cell;
    }
    const int middle = t->first + n / 2;
    v->piece[2 * k + 1] = (eqp__cells_piece){.first = t->first, .last = middle};
    v->piece[2 * k + 2] = (eqp__cells_piece){.first = middle, .last = t->last};
    halve(v, 2 * k + 1);
    halve(v, 2 * k + 2);
}

void eqp__voronoi_plant(eqp_voronoi *v)
{
    v->nactive = 0;
    for (int p = 0; p < v->nparts; p++) {
        if (v->bias[p] > -INFINITY) {
            v->order[v->nactive++] = p;
        }
    }
    v->piece[0] = (eqp__cells_piece){.first = 0, .last = v->nactive};
    halve(v, 0);
    eqp__voronoi_bias(v);
}

static double largest_bias(eqp_voronoi *v, int64_t k)
{
    eqp__cells_piece *t = &v->piece[k];

    t->bias = -INFINITY;
    if (t->last - t->first > LEAF) {
        t->bias = fmax(largest_bias(v, 2 * k + 1), largest_bias(v, 2 * k + 2));
    }
    for (int i = t->first; i < t->last && t->last - t->first <= LEAF; i++) {
        t->bias = fmax(t->bias, v->bias[v->order[i]]);
    }
    return t->bias;
}

void eqp__voronoi_bias(eqp_voronoi *v)
{
    largest_bias(v, 0);
}

/* Used for centres and for the nearest point of a box. Rounding is monotonic, so the power of a box is never above the
 * power of a cell inside, and no piece is skipped by mistake. */
static inline double power_of(double dx, double dy, double dz, double bias)
{
    return dx * dx + dy * dy + dz * dz - bias;
}

static inline double power_of_cell(const eqp_voronoi *v, int p, const double x[3])
{
    const double *c = v->centre + 3 * (int64_t)p;

    return power_of(c[0] - x[0], c[1] - x[1], c[2] - x[2], v->bias[p]);
}

static inline double outside(double low, double high, double x)
{
    return x < low ? low - x : x > high ? x - high : 0;
}

static inline double power_of_piece(const eqp__cells_piece *t, const double x[3])
{
    return power_of(outside(t->low[0], t->high[0], x[0]), outside(t->low[1], t->high[1], x[1]),
                    outside(t->low[2], t->high[2], x[2]), t->bias);
}

static inline bool is_before(double power, int p, double other_power, int other)
{
    return power < other_power || (power == other_power && p < other);
}

static inline void offer(const eqp_voronoi *v, int p, const double x[3], int cell[2], double power[2])
{
    const double this = power_of_cell(v, p, x);

    if (this > power[1] || p == cell[0] || p == cell[1]) {
        return;
    }
    if (cell[0] < 0 || is_before(this, p, power[0], cell[0])) {
        cell[1] = cell[0];
        power[1] = power[0];
        cell[0] = p;
        power[0] = this;
    } else if (cell[1] < 0 || is_before(this, p, power[1], cell[1])) {
        cell[1] = p;
        power[1] = this;
    }
}

/* A piece on the stack, and a lower bound of the power of its cells. */
typedef struct waiting {
    double power;
    int piece;
} waiting;

void eqp__voronoi_search(const eqp_voronoi *v, const double x[3], int cell[2], double power[2])
{
    const int hint[2] = {cell[0], cell[1]};
    waiting stack[DEEPEST] = {{-INFINITY, 0}};
    int depth = v->nactive > 0;

    cell[0] = cell[1] = -1;
    power[0] = power[1] = INFINITY;
    for (int k = 0; k < 2; k++) {
        if (hint[k] >= 0 && v->bias[hint[k]] > -INFINITY) {
            offer(v, hint[k], x, cell, power);
        }
    }
    while (depth > 0) {
        const waiting at = stack[--depth];
        const eqp__cells_piece *t = &v->piece[at.piece];
        if (at.power > power[1]) {
            continue;
        }
        if (eqp__voronoi_is_leaf(t)) {
            for (int i = t->first; i < t->last; i++) {
                offer(v, v->order[i], x, cell, power);
            }
            continue;
        }
        const int left = 2 * at.piece + 1;
        const waiting low = {power_of_piece(&v->piece[left], x), left};
        const waiting high = {power_of_piece(&v->piece[left + 1], x), left + 1};
        stack[depth++] = low.power < high.power ? high : low;
        stack[depth++] = low.power < high.power ? low : high;
    }
}
