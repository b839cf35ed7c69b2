/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves items to their places along a Hilbert curve, and back. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/points/points.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>

#include <float.h>
#include <math.h>
#include <string.h>

const eqp_points *eqp__points_known(const eqp_points *points, eqp_points *here)
{
    *here = eqp_points_defaults();
    return eqp_struct_take(here, points, EQP_STRUCT_UP_TO(eqp_points, phase_load)) == EQP_OK ? here : NULL;
}

static size_t point_bytes(const eqp_points *points)
{
    return 3 * (points->single ? sizeof(float) : sizeof(double));
}

void eqp__points_read(const eqp_points *points, int64_t i, double x[3])
{
    const size_t width = point_bytes(points) / 3;
    const size_t stride = points->stride > 0 ? points->stride : 3 * width;
    const char *at = (const char *)points->x + (size_t)i * stride;

    for (size_t a = 0; a < 3; a++) {
        float single = 0.0F;
        memcpy(points->single ? (void *)&single : &x[a], at + a * width, width);
        x[a] = points->single ? (double)single : x[a];
    }
}

/* Bounding box of this rank's items: low and -high, encoded so that a minimum over the ranks gives the global box. */
static int find_ends(const eqp_points *points, int64_t end[6])
{
    double low[6] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};

    for (int64_t i = 0; i < points->n; i++) {
        double x[3];
        eqp__points_read(points, i, x);
        for (int a = 0; a < 3; a++) {
            EQP__FAIL_IF(!isfinite(x[a]), EQP_ERR_DATA);
            low[a] = fmin(low[a], x[a]);
            low[3 + a] = fmin(low[3 + a], -x[a]);
        }
    }
    for (int k = 0; k < 6; k++) {
        end[k] = eqp__rank_of_double(low[k]);
    }
    return EQP_OK;
}

static void enclose(const int64_t end[6], eqp__points_scope *scope)
{
    scope->side = 0.0;
    for (int a = 0; a < 3; a++) {
        const double low = eqp__double_of_rank(end[a]), high = -eqp__double_of_rank(end[3 + a]);
        scope->low[a] = isfinite(low) ? low : 0.0;
        scope->high[a] = isfinite(low) ? high : 1.0;
        scope->side = isfinite(low) ? fmax(scope->side, high - low) : scope->side;
    }
    scope->side = scope->side > 0 ? fmin(scope->side, DBL_MAX) : 1.0;
}

static int check_points(const eqp_points *points, int64_t end[6], eqp_message *message)
{
    int code = EQP_OK;

    EQP__FAIL_IF(
        points == NULL || points->n < 0 ||
            (points->n > 0 && (points->x == NULL || (points->stride > 0 && points->stride < point_bytes(points)))),
        EQP__SAY(message, EQP_ERR_ARGUMENT, "balance: no points, or points that cannot be"));
    if ((code = find_ends(points, end)) != EQP_OK) {
        eqp_message_set(message, "balance: a position that is not finite");
    }
    return code;
}

int eqp__points_meet(MPI_Comm comm, int code, const eqp_points *points, int nsame, const eqp__same *same,
                     eqp__points_scope *scope, eqp_message *message)
{
    enum { END = 2 + 2 * EQP__BALANCE_SAME, ALL = END + 6 };
    int64_t least[ALL];
    double all = 0.0;

    for (int k = 0; k < ALL; k++) {
        least[k] = INT64_MAX;
    }
    code = code != EQP_OK ? code : check_points(points, least + END, message);
    if (code == EQP_OK) {
        all = (double)points->n;
        for (int k = 0; k < nsame; k++) {
            eqp__put_value(least + 2 + 2 * k, same[k].value);
        }
    }
    if (code == EQP_OK && points->n > 0) {
        eqp__put_value(least, points->single + 2 * (points->weight != NULL) + 4 * (points->size != NULL));
    }
    EQP_TRY(eqp__meet(comm, code, ALL, least, 1, &all, message));
    for (int k = 0; k < nsame && code == EQP_OK; k++) {
        if (eqp__pair_differs(least + 2 + 2 * k)) {
            eqp_message_set(message, "balance: the ranks differ in %s", same[k].what);
            code = EQP_ERR_ARGUMENT;
        }
    }
    if (code == EQP_OK && eqp__pair_differs(least)) {
        eqp_message_set(message, "balance: an array is given on some ranks only, or of another type");
        code = EQP_ERR_ARGUMENT;
    }
    EQP_TRY(code);
    scope->n = (int64_t)all;
    scope->weighed = least[0] != INT64_MAX && (least[0] & 2) != 0;
    enclose(least + END, scope);
done:
    return code;
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Order by key. Items with equal keys are ordered by their data, and identical items by id. */
static int by_key(const void *left, const void *right)
{
    const eqp__curve_item *a = left, *b = right;
    int order = (a->key > b->key) - (a->key < b->key);

    for (int k = 0; k < 3 && order == 0; k++) {
        order = by_number(eqp__bits_of(a->x[k]), eqp__bits_of(b->x[k]));
    }
    order = order != 0 ? order : by_number(eqp__bits_of(a->weight), eqp__bits_of(b->weight));
    order = order != 0 ? order : by_number(a->size, b->size);
    order = order != 0 ? order : by_number(a->part_now, b->part_now);
    return order != 0 ? order : by_number(a->id, b->id);
}

void eqp__points_sort(int64_t n, eqp__curve_item *item)
{
    qsort(item, (size_t)n, sizeof *item, by_key);
}

typedef struct place {
    uint64_t key;
    int64_t item;
} place;

static int by_place(const void *left, const void *right)
{
    const place *a = left, *b = right;

    return (a->key > b->key) - (a->key < b->key);
}

/* Sampled keys that determine the cuts: each rank sends up to SAMPLED_PER_RANK keys per rank of the communicator, at
 * least LEAST_SAMPLED, with about MOST_SAMPLED from all ranks together at most. */
#define MOST_SAMPLED (1 << 18)
enum { LEAST_SAMPLED = 256, SAMPLED_PER_RANK = 64 };

/* A rank's message to all ranks: its code, its number of keys, then its sampled keys. */
enum { CODE, NUMBER, KEYS };

int eqp__point_order_open(MPI_Comm comm, const eqp_points *points, eqp__point_order *order)
{
    const int64_t n = points->n;
    eqp__point_order *const o = order;

    o->comm = comm;
    EQP__CHECK(eqp__comm_shape(comm, &o->rank, &o->nranks));
    o->nkeys = SAMPLED_PER_RANK * o->nranks > LEAST_SAMPLED ? SAMPLED_PER_RANK * o->nranks : LEAST_SAMPLED;
    o->nkeys = o->nkeys < MOST_SAMPLED / o->nranks ? o->nkeys : MOST_SAMPLED / o->nranks + 1;
    return EQP__ARRAYS(EQP__ARRAY(o->here, n), EQP__ARRAY(o->place, n), EQP__ARRAY(o->dest, n),
                       EQP__ARRAY(o->told, KEYS + o->nkeys),
                       EQP__ARRAY(o->heard, (int64_t)(KEYS + o->nkeys) * o->nranks),
                       EQP__ARRAY(o->sample, (int64_t)o->nkeys * o->nranks), EQP__ARRAY(o->recv_count, o->nranks));
}

/* Frees the arrays that only the sorting needs. */
static void forget_places(eqp__point_order *o)
{
    EQP__FREE(o->here, o->place, o->dest, o->told, o->heard, o->sample);
    o->here = NULL;
    o->place = o->sample = NULL;
    o->dest = NULL;
    o->told = o->heard = NULL;
}

void eqp__point_order_close(eqp__point_order *order)
{
    forget_places(order);
    eqp_move_plan_free(order->plan);
    EQP__FREE(order->recv_count, order->item);
}

/* First of the n items that sample k of m represents. */
static int64_t sampled_before(int64_t n, int64_t m, int64_t k)
{
    return n / m * k + n % m * k / m;
}

/* Gathers evenly spaced keys from every rank, or all keys of a rank with few. *before: number of items on lower ranks.
 * Collective. */
static int share_keys(eqp__point_order *d, int code, int64_t n, int64_t *before)
{
    const int length = KEYS + d->nkeys;
    const int64_t m = n < d->nkeys ? n : d->nkeys;

    d->told[CODE] = (uint64_t)(int64_t)code;
    d->told[NUMBER] = (uint64_t)n;
    for (int64_t k = 0; k < m; k++) {
        const int64_t from = sampled_before(n, m, k), to = sampled_before(n, m, k + 1);
        d->told[KEYS + k] = d->place[from + (to - from) / 2].key;
    }
    EQP__CHECK(
        EQP__MPI(EQP__WAITS(MPI_Allgather(d->told, length, MPI_UINT64_T, d->heard, length, MPI_UINT64_T, d->comm))));
    *before = 0;
    for (int r = 0; r < d->nranks; r++) {
        const uint64_t *heard = d->heard + (int64_t)r * length;
        if ((int64_t)heard[CODE] != EQP_OK) {
            return (int)(int64_t)heard[CODE];
        }
        *before += r < d->rank ? (int64_t)heard[NUMBER] : 0;
    }
    return EQP_OK;
}

/* Cuts the curve by the sampled keys, identically on every rank, and sets dest. Equal keys stay together. */
static void choose_ranks(eqp__point_order *d, int64_t n, int64_t total)
{
    place *const sample = d->sample;
    int64_t nsample = 0, below = 0, at = 0, next = 0;

    for (int r = 0; r < d->nranks; r++) {
        const uint64_t *heard = d->heard + (int64_t)r * (KEYS + d->nkeys);
        const int64_t all = (int64_t)heard[NUMBER], m = all < d->nkeys ? all : d->nkeys;
        for (int64_t k = 0; k < m; k++) {
            sample[nsample++] = (place){heard[KEYS + k], sampled_before(all, m, k + 1) - sampled_before(all, m, k)};
        }
    }
    qsort(sample, (size_t)nsample, sizeof *sample, by_place);
    for (int r = 0; r < d->nranks; r++) {
        /* Cuts below or above the key at which the target is reached, whichever is nearer. */
        const double target = (double)total * (r + 1) / d->nranks;
        for (uint64_t cut = 0; r < d->nranks - 1 && at < nsample; at = next) {
            int64_t weight = 0;
            cut = sample[at].key;
            for (next = at; next < nsample && sample[next].key == cut; next++) {
                weight += sample[next].item;
            }
            if ((double)below + 0.5 * (double)weight > target) {
                break;
            }
            below += weight;
        }
        d->heard[r] = r < d->nranks - 1 && at < nsample ? sample[at].key : UINT64_MAX; /* end of rank r */
    }
    for (int64_t i = 0, r = 0; i < n; i++) {
        while (d->place[i].key >= d->heard[r]) {
            r++;
        }
        d->dest[d->place[i].item] = (int)r;
    }
}

int eqp__point_order_read(const eqp_points *points, const eqp__points_scope *scope, eqp__point_order *order)
{
    int code = EQP_OK;

    for (int64_t i = 0; i < points->n && code == EQP_OK; i++) {
        eqp__curve_item *const item = &order->here[i];
        *item = (eqp__curve_item){.id = i,
                                  .size = points->size != NULL ? points->size[i] : 1,
                                  .weight = points->weight != NULL ? points->weight[i] : 1.0,
                                  .part_now = points->part_now != NULL ? points->part_now[i] : order->rank};
        eqp__points_read(points, i, item->x);
        code = eqp_hilbert_keys(1, &item->x[0], &item->x[1], &item->x[2], scope->low, scope->side, &item->key);
    }
    return code;
}

int eqp__point_order_make(int code, int64_t n, const eqp__points_scope *scope, eqp__point_order *order)
{
    eqp__point_order *const o = order;
    int64_t before = 0;

    for (int64_t i = 0; i < n; i++) {
        o->place[i] = (place){o->here[i].key, i};
    }
    qsort(o->place, (size_t)n, sizeof *o->place, by_place);
    EQP_TRY(share_keys(o, code, n, &before));
    for (int64_t i = 0; i < n; i++) {
        o->here[i].id += before;
    }
    choose_ranks(o, n, scope->n);
    code = eqp_move_plan_create(n, o->dest, o->nranks, &o->plan);
    EQP_TRY(eqp__move_new(o->comm, code, o->plan, sizeof *o->here, o->here, o->recv_count, &o->n, &o->item));
    for (int64_t i = 0; i < o->n; i++) {
        o->item[i].arrived = i;
    }
    eqp__points_sort(o->n, o->item);
    forget_places(o);
done:
    return code;
}

int eqp__point_order_bring(const eqp__point_order *order, size_t size, const void *send, void *recv)
{
    char *column = NULL;
    int code = eqp_array_create(&column, order->n, size);

    EQP_TRY(eqp__move_apply(order->comm, code, order->plan, order->recv_count, size, send, column));
    for (int64_t i = 0; i < order->n; i++) {
        memcpy((char *)recv + (size_t)i * size, column + (size_t)order->item[i].arrived * size, size);
    }
done:
    free(column);
    return code;
}

int eqp__point_order_return(const eqp__point_order *order, size_t size, const void *send, void *recv)
{
    char *column = NULL;
    int code = eqp_array_create(&column, order->n, size);

    for (int64_t i = 0; i < order->n && code == EQP_OK; i++) {
        memcpy(column + (size_t)order->item[i].arrived * size, (const char *)send + (size_t)i * size, size);
    }
    EQP_TRY(eqp__move_return(order->comm, code, order->plan, order->recv_count, size, column, recv));
done:
    free(column);
    return code;
}
