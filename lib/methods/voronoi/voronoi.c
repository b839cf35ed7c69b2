/* SPDX-License-Identifier: BSD-3-Clause */
/* Voronoi cells with biases: creation from weighted points, and the parts of points. */
#include "methods/voronoi/voronoi.h"

#include "base/internal.h"
#include "methods/frame/shares.h"
#include "methods/tiles/tiles.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounds in which cells without points are moved. */
enum { SENDINGS = 8 };

/* The sampled points, scaled, with weights relative to the heaviest. */
typedef struct sample {
    int64_t n;
    double *x, *weight, *target;
    eqp__cells cells; /* view of the arrays above */
} sample;

static int check_options(int nparts, const eqp_voronoi_options *o)
{
    EQP_REQUIRE(o && o->size == sizeof *o && !eqp__shares_check(nparts, o->share));
    EQP_REQUIRE(o->tolerance >= 0 && o->iterations >= 1 && o->sample >= 1);
    return EQP_OK;
}

static bool is_place(const double x[3])
{
    return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
}

static int check_points(int64_t n, const double *point, const double *weight)
{
    EQP_REQUIRE(n >= 0 && (n == 0 || point));
    for (int64_t i = 0; i < n; i++) {
        EQP_REQUIRE(is_place(point + 3 * i) && (!weight || (weight[i] >= 0 && weight[i] <= DBL_MAX)));
    }
    return EQP_OK;
}

/* Sets the scale so that the longest edge of the box of all points is 1. */
static void find_scale(int64_t n, const double *point, eqp_voronoi *v)
{
    double widest = 0;

    for (int k = 0; k < 3 && n > 0; k++) {
        double low = point[k], high = low;
        for (int64_t i = 1; i < n; i++) {
            low = fmin(low, point[3 * i + k]);
            high = fmax(high, point[3 * i + k]);
        }
        v->low[k] = 0.5 * low;
        widest = fmax(widest, 0.5 * high - 0.5 * low);
    }
    v->scale = widest > 0 ? fmin(1 / widest, DBL_MAX) : 0;
}

int64_t eqp__voronoi_stride(int64_t n, int64_t most)
{
    most = most < INT32_MAX ? most : INT32_MAX;
    return n > most ? (n - 1) / most + 1 : 1;
}

static int take_sample(int64_t n, const double *point, const double *weight, int64_t stride, const eqp_voronoi *v,
                       sample *s)
{
    double heaviest = 0;

    s->n = n > 0 ? (n - 1) / stride + 1 : 0;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(s->x, 3 * s->n), EQP__ARRAY(s->weight, s->n), EQP__ARRAY(s->target, v->nparts)));
    for (int64_t i = 0; i < s->n; i++) {
        eqp__voronoi_scaled(v, point + 3 * i * stride, s->x + 3 * i);
        s->weight[i] = weight ? weight[i * stride] : 1;
        heaviest = fmax(heaviest, s->weight[i]);
    }
    for (int64_t i = 0; i < s->n; i++) {
        s->weight[i] = heaviest > 0 ? s->weight[i] / heaviest : 1;
    }
    return EQP_OK;
}

static void find_targets(const double *share, int nparts, sample *s)
{
    double total = 0;

    for (int64_t i = 0; i < s->n; i++) {
        total += s->weight[i];
    }
    for (int p = 0; p < nparts; p++) {
        s->target[p] = (share ? share[p] : 1.0 / nparts) * total;
    }
    s->cells = (eqp__cells){s->n, s->x, s->weight, s->target};
}

/* Statistics of a cell, used to move cells without points. */
typedef struct crowd {
    double load, farthest; /* farthest: squared distance from the centre to the farthest point */
    int64_t count, point;  /* number of points; the farthest point */
    int cell;
} crowd;

static int by_falling_load(const void *left, const void *right)
{
    const crowd *a = left, *b = right;

    return a->load != b->load ? (a->load < b->load) - (a->load > b->load) : (a->cell > b->cell) - (a->cell < b->cell);
}

static void find_crowds(const sample *s, const eqp_voronoi *v, crowd *at)
{
    for (int p = 0; p < v->nparts; p++) {
        at[p] = (crowd){.cell = p};
    }
    for (int64_t i = 0; i < s->n; i++) {
        double power[2];
        int cell[2] = {-1, -1};
        eqp__voronoi_search(v, s->x + 3 * i, cell, power);
        crowd *c = &at[cell[0]];
        const double square = power[0] + v->bias[cell[0]];
        c->load += s->weight[i];
        c->count++;
        if (square > c->farthest) {
            c->farthest = square;
            c->point = i;
        }
    }
}

/* Moves each cell without points to the farthest point of one of the heaviest cells. If there is no such point, or if
 * `last`, the cell becomes inactive. Returns true if a cell moved. */
static bool send_empty(const sample *s, bool last, eqp_voronoi *v, crowd *at)
{
    int giver = 0, empty = 0;
    bool sent = false;

    qsort(at, (size_t)v->nparts, sizeof *at, by_falling_load);
    for (int k = 0; k < v->nparts; k++) {
        if (at[k].count > 0) {
            continue;
        }
        const int p = at[k].cell;
        while (giver < v->nparts && !(at[giver].farthest > 0)) {
            giver++;
        }
        v->bias[p] = -INFINITY;
        empty++;
        if (!last && giver < v->nparts) {
            memcpy(v->centre + 3 * (int64_t)p, s->x + 3 * at[giver++].point, 3 * sizeof *v->centre);
            v->bias[p] = 0;
            sent = true;
        }
    }
    if (empty > 0) {
        eqp__voronoi_plant(v);
    }
    return sent;
}

static int fill_empty(const sample *s, eqp_voronoi *v)
{
    crowd *at = NULL;
    int code;
    bool sent = true;

    EQP_TRY(eqp_array_create(&at, v->nparts, sizeof *at));
    for (int k = 0; k <= SENDINGS && sent; k++) {
        find_crowds(s, v, at);
        sent = send_empty(s, k == SENDINGS, v, at);
    }
done:
    free(at);
    return code;
}

/* Initial centres: the centres of gravity of a bisection's parts, with bias 0. Parts without points are inactive until
 * fill_empty() places them. */
static int begin(const sample *s, const double *share, eqp_voronoi *v)
{
    const eqp_tiles_items items = {s->n, s->x, NULL, s->weight};
    eqp_tiles_options options = eqp__tiles_options_defaults();
    double *sum = NULL;
    int *part = NULL, code;

    options.nparts = v->nparts;
    options.share = share;
    options.imbalance_tol = INFINITY;
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(part, s->n), EQP__ARRAY(sum, 4 * (int64_t)v->nparts)));
    EQP_TRY(eqp__tiles_create(&items, &options, part, NULL, NULL));
    eqp__voronoi_gravity(&s->cells, v, part, 1, sum);
    for (int p = 0; p < v->nparts; p++) {
        v->bias[p] = sum[4 * (int64_t)p + 3] > 0 ? 0 : -INFINITY;
        for (int k = 0; k < 3 && v->bias[p] == 0; k++) {
            v->centre[3 * (int64_t)p + k] = sum[4 * (int64_t)p + k] / sum[4 * (int64_t)p + 3];
        }
    }
    eqp__voronoi_plant(v);
    EQP_TRY(fill_empty(s, v));
done:
    EQP__FREE(part, sum);
    return code;
}

int eqp__voronoi_create(int64_t n, const double *point, const double *weight, int nparts,
                        const eqp_voronoi_options *options, eqp_voronoi **voronoi)
{
    sample s = {.n = 0};
    eqp_voronoi *v = NULL;
    int code;

    EQP_REQUIRE(voronoi);
    EQP_TRY(check_options(nparts, options));
    EQP_TRY(check_points(n, point, weight));
    EQP_TRY(eqp__voronoi_open(nparts, &v));
    find_scale(n, point, v);
    EQP_TRY(take_sample(n, point, weight, eqp__voronoi_stride(n, options->sample), v, &s));
    if (n > 0) {
        find_targets(options->share, nparts, &s);
        EQP_TRY(begin(&s, options->share, v));
        EQP_TRY(eqp__voronoi_solve(&s.cells, options, v));
    }
    *voronoi = v;
    v = NULL;
done:
    EQP__FREE(s.x, s.weight, s.target);
    eqp__voronoi_free(v);
    return code;
}

int eqp__voronoi_parts(const eqp_voronoi *voronoi, int64_t n, const double *point, int *part)
{
    int cell[2] = {-1, -1};

    EQP_REQUIRE(voronoi && n >= 0 && (n == 0 || (point && part)));
    for (int64_t i = 0; i < n; i++) {
        EQP_REQUIRE(is_place(point + 3 * i));
    }
    for (int64_t i = 0; i < n; i++) {
        double x[3], power[2];
        eqp__voronoi_scaled(voronoi, point + 3 * i, x);
        /* Consecutive points are often near each other in space, so the last cells are a good guess. */
        eqp__voronoi_search(voronoi, x, cell, power);
        part[i] = cell[0] >= 0 ? cell[0] : 0;
    }
    return EQP_OK;
}
