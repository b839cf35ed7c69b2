/* SPDX-License-Identifier: BSD-3-Clause */
/* Voronoi cells with biases: creation from weighted points, and the parts of points. */
#include "methods/voronoi/voronoi.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/frame.h"
#include "methods/points/regions.h"
#include "methods/tiles/tiles.h"

#include <equipoise/more/comm.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* Rounds in which cells without points are moved. */
enum { SENDINGS = 8 };

/* The sampled points, scaled, with weights relative to the heaviest. */
typedef struct sample {
    int64_t n;
    double *x, *weight, *target;
    eqp__cells cells; /* view of the arrays above */
} sample;

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

static int take_sample(int64_t n, const double *point, const double *weight, const eqp_voronoi *v, sample *s)
{
    double heaviest = 0;

    s->n = n;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(s->x, 3 * n), EQP__ARRAY(s->weight, n), EQP__ARRAY(s->target, v->nparts)));
    for (int64_t i = 0; i < n; i++) {
        eqp__voronoi_scaled(v, point + 3 * i, s->x + 3 * i);
        s->weight[i] = weight[i];
        heaviest = fmax(heaviest, weight[i]);
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

typedef struct crowd {
    double load, farthest; /* farthest: squared distance of the farthest point from the centre */
    int64_t count, point;  /* number of points; index of the farthest point */
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
    const eqp_balance_items items = {.n = s->n, .point = s->x, .weight = s->weight};
    eqp_balance_options options = eqp_balance_options_defaults();
    double *sum = NULL;
    int *part = NULL, code;

    options.nparts = v->nparts;
    options.share = share;
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(part, s->n), EQP__ARRAY(sum, 4 * (int64_t)v->nparts)));
    EQP_TRY(eqp__tiles_cut(&items, &options, false, part));
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

    EQP_TRY(eqp__voronoi_open(nparts, &v));
    find_scale(n, point, v);
    EQP_TRY(take_sample(n, point, weight, v, &s));
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

void eqp__voronoi_parts(const eqp_voronoi *voronoi, int64_t n, const double *point, int *part)
{
    int cell[2] = {-1, -1};

    for (int64_t i = 0; i < n; i++) {
        double x[3], power[2];
        eqp__voronoi_scaled(voronoi, point + 3 * i, x);
        /* Consecutive points are often near each other in space, so the last cells are a good guess. */
        eqp__voronoi_search(voronoi, x, cell, power);
        part[i] = cell[0] >= 0 ? cell[0] : 0;
    }
}

/* The method `voronoi`: rank 0 finds the cells of all items, or of a sample, and every rank finds the cells of its own
 * items. */

/* Settings of the method; 0: the default of eqp_voronoi_options. */
typedef struct own_settings {
    int64_t iterations, sample;
    int centres; /* 0: fixed, 1: moving */
} own_settings;

/* Limit on the number of parts, so that centres and biases fit into one message. */
#define MOST_PARTS (1 << 28)

/* Most items that rank 0 looks at, by default. */
#define USUAL_SAMPLE ((int64_t)1 << 18)

/* Takes this rank's items of a sample of every stride-th item of all ranks. point: [n / stride + 1][3]; weight: [n /
 * stride + 1]. Returns their number. */
static int64_t take_some(const eqp_balance_items *items, int64_t before, int64_t stride, double *point, double *weight)
{
    int64_t count = 0;

    for (int64_t i = (stride - before % stride) % stride; i < items->n; i += stride) {
        memcpy(point + 3 * count, items->point + 3 * i, 3 * sizeof *point);
        weight[count++] = items->weight[i];
    }
    return count;
}

/* Collects the sample of all ranks on rank 0, in the order of the items. Both arrays are owned by the caller even on
 * error. Collective. */
static int collect_sample(MPI_Comm comm, const eqp_balance_items *items, int64_t most, int64_t *total, double **point,
                          double **weight)
{
    eqp__collect c = {.comm = MPI_COMM_NULL};
    double *my_point = NULL, *my_weight = NULL;
    int64_t before = 0, all = 0, stride;
    int code;

    EQP_TRY(eqp_scan_int64(comm, items->n, &before, &all));
    stride = all > most ? (all - 1) / most + 1 : 1;
    code = EQP__ARRAYS(EQP__ARRAY(my_point, 3 * (items->n / stride + 1)), EQP__ARRAY(my_weight, items->n / stride + 1));
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__collect_open(comm, &c));
    EQP_TRY(eqp__collect_announce(&c, take_some(items, before, stride, my_point, my_weight), total));
    EQP_TRY(eqp__collect_array(&c, EQP_OK, *total, 3 * sizeof *my_point, my_point, point));
    EQP_TRY(eqp__collect_array(&c, EQP_OK, *total, sizeof *my_weight, my_weight, weight));
done:
    eqp__collect_close(&c);
    EQP__FREE(my_point, my_weight);
    return code;
}

static int assign_voronoi(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                          eqp_balance_result *result)
{
    eqp_voronoi_options these = eqp__voronoi_options_defaults();
    own_settings own;
    int64_t n = 0;
    double *point = NULL, *weight = NULL;
    eqp_voronoi *v = NULL;
    int rank, nranks, code;

    (void)result;
    memcpy(&own, &options->settings, sizeof own);
    these.share = options->share;
    these.tolerance = options->imbalance_tol;
    these.iterations = own.iterations > 0 ? own.iterations : these.iterations;
    these.moving = own.centres == 1;
    EQP_TRY(options->nparts <= MOST_PARTS ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(eqp__comm_shape(comm, &rank, &nranks));
    EQP_TRY(collect_sample(comm, items, own.sample > 0 ? own.sample : USUAL_SAMPLE, &n, &point, &weight));
    code = rank == 0 ? eqp__voronoi_create(n, point, weight, options->nparts, &these, &v)
                     : eqp__voronoi_open(options->nparts, &v);
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__cells_share(comm, rank, v));
    eqp__voronoi_parts(v, items->n, items->point, part);
    EQP_TRY(eqp__relabel_all(comm, items, items->part_now, options, part,
                             options->regions != NULL ? (*options->regions)->part_of : NULL));
    if (options->regions != NULL) {
        (*options->regions)->cells = v;
        v = NULL;
    }
done:
    EQP__FREE(point, weight);
    eqp__voronoi_free(v);
    return code;
}

#define MOST_ITERATIONS 1e9

static const eqp_option own_options[] = {{"centres", EQP_OPTION_CHOICE, offsetof(own_settings, centres), 0, false, 0,
                                          "fixed|moving",
                                          "moving: centres follow the centres of gravity of their cells"},
                                         {"iterations", EQP_OPTION_INT, offsetof(own_settings, iterations), 1, false,
                                          MOST_ITERATIONS, NULL, "most searches of all items; without it 200"},
                                         {"sample", EQP_OPTION_INT, offsetof(own_settings, sample), 1, false, INT32_MAX,
                                          NULL, "most items that rank 0 looks at; without it 262144"}};

const eqp_method eqp__method_voronoi = {.name = "voronoi",
                                        .summary = "equal work in convex cells: nearest centres, a bias for each",
                                        .flags = EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_SHAPED | EQP_GATHERS,
                                        .assign = assign_voronoi,
                                        .noptions = 3,
                                        .option = own_options};
