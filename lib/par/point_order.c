/* SPDX-License-Identifier: BSD-3-Clause */
/* Items to their places along a Hilbert curve, and back. */
#include "par/comm.h"
#include "par/points.h"

#include <equipoise/curve.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

int eqp__points_cube(MPI_Comm comm, const eqp_points *points, double low[3], double *side)
{
    double end[6] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    int code = EQP_OK;

    for (int64_t i = 0; i < points->n && code == EQP_OK; i++) {
        double x[3];
        eqp__points_read(points, i, x);
        for (int a = 0; a < 3; a++) {
            code = isfinite(x[a]) ? code : EQP_ERR_DATA;
            end[a] = fmin(end[a], x[a]);
            end[3 + a] = fmin(end[3 + a], -x[a]);
        }
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    if (MPI_Allreduce(MPI_IN_PLACE, end, 6, MPI_DOUBLE, MPI_MIN, comm) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    *side = 0.0;
    for (int a = 0; a < 3; a++) {
        low[a] = isfinite(end[a]) ? end[a] : 0.0;
        *side = isfinite(end[a]) ? fmax(*side, -end[3 + a] - end[a]) : *side;
    }
    *side = *side > 0 ? fmin(*side, DBL_MAX) : 1.0;
done:
    return code;
}

/* Ranks with items must describe them alike. */
int eqp__points_agree(MPI_Comm comm, int code, const eqp_points *points, eqp_message *message)
{
    int64_t pair[2] = {INT64_MAX, INT64_MAX};

    if (code == EQP_OK &&
        (points == NULL || points->n < 0 ||
         (points->n > 0 && (points->x == NULL || (points->stride > 0 && points->stride < point_bytes(points)))))) {
        code = EQP_ERR_ARGUMENT;
    }
    if (code == EQP_OK && points->n > 0) {
        eqp__put_value(pair, points->single + 2 * (points->weight != NULL) + 4 * (points->size != NULL));
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "balance: no method, options or points, or points that cannot be");
    }
    code = eqp__agree_least(comm, code, 2, pair, message);
    if (code == EQP_OK && eqp__pair_differs(pair)) {
        eqp_message_set(message, "balance: an array is given on some ranks only, or of another type");
        code = EQP_ERR_ARGUMENT;
    }
    return code;
}

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Items in one cell come by what they are, and only those that are alike in all by where they were. */
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

/* This rank's items where they are. */
static int read_items(MPI_Comm comm, const eqp_points *points, int rank, eqp__curve_item *out)
{
    double low[3], side = 1.0;
    int64_t before = 0;
    int code;

    EQP_TRY(eqp__points_cube(comm, points, low, &side));
    EQP_TRY(eqp_scan_int64(comm, points->n, &before, NULL));
    for (int64_t i = 0; i < points->n && code == EQP_OK; i++) {
        eqp__curve_item *item = &out[i];
        *item = (eqp__curve_item){.id = before + i,
                                  .size = points->size != NULL ? points->size[i] : 1,
                                  .weight = points->weight != NULL ? points->weight[i] : 1.0,
                                  .part_now = points->part_now != NULL ? points->part_now[i] : rank};
        eqp__points_read(points, i, item->x);
        code = eqp_hilbert_keys(1, &item->x[0], &item->x[1], &item->x[2], low, side, &item->key);
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
done:
    return code;
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

/* dest [n]: the ranks that the items are dealt to. */
static int deal(MPI_Comm comm, int64_t n, const eqp__curve_item *item, int *dest)
{
    place *sorted = NULL;
    uint64_t *key = NULL;
    int *to = NULL;
    int code = eqp_array_create(&sorted, n, sizeof *sorted);

    code = code == EQP_OK ? eqp_array_create(&key, n, sizeof *key) : code;
    code = code == EQP_OK ? eqp_array_create(&to, n, sizeof *to) : code;
    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = (place){item[i].key, i};
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_place);
    for (int64_t i = 0; i < n; i++) {
        key[i] = sorted[i].key;
    }
    EQP_TRY(eqp_deal_keys(comm, n, key, to));
    for (int64_t i = 0; i < n; i++) {
        dest[sorted[i].item] = to[i];
    }
done:
    free(to);
    free(key);
    free(sorted);
    return code;
}

/* Sends the items, and orders what arrives. */
static int send_items(eqp_point_order *order, const eqp_points *points)
{
    eqp__curve_item *out = NULL;
    int *dest = NULL, rank, nranks;
    int code = eqp_array_create(&out, points->n, sizeof *out);

    MPI_Comm_rank(order->comm, &rank);
    MPI_Comm_size(order->comm, &nranks);
    code = code == EQP_OK ? eqp_array_create(&dest, points->n, sizeof *dest) : code;
    code = code == EQP_OK ? eqp_array_create(&order->recv_count, nranks, sizeof *order->recv_count) : code;
    EQP_TRY(eqp_agree(order->comm, code, NULL));
    EQP_TRY(read_items(order->comm, points, rank, out));
    EQP_TRY(deal(order->comm, points->n, out, dest));
    EQP_TRY(eqp_agree(order->comm, eqp_move_plan_create(points->n, dest, nranks, &order->plan), NULL));
    EQP_TRY(eqp_move_counts(order->comm, order->plan, order->recv_count, &order->n));
    EQP_TRY(eqp_agree(order->comm, eqp_array_create(&order->item, order->n, sizeof *order->item), NULL));
    EQP_TRY(eqp_move_apply(order->comm, order->plan, order->recv_count, sizeof *out, out, order->item));
    for (int64_t i = 0; i < order->n; i++) {
        order->item[i].arrived = i;
    }
    qsort(order->item, (size_t)order->n, sizeof *order->item, by_key);
done:
    free(dest);
    free(out);
    return code;
}

int eqp_point_order_create(MPI_Comm comm, const eqp_points *points, eqp_point_order **order)
{
    MPI_Comm own = MPI_COMM_NULL;
    eqp_point_order *made = NULL;
    int code = eqp__comm_dup(comm, &own);

    if (code != EQP_OK) {
        return code;
    }
    code = order == NULL ? EQP_ERR_ARGUMENT : eqp_array_create(&made, 1, sizeof *made);
    code = eqp__points_agree(own, code, points, NULL);
    if (code != EQP_OK) {
        free(made);
        eqp_comm_free(&own);
        return code;
    }
    made->comm = own;
    EQP_TRY(send_items(made, points));
    *order = made;
    made = NULL;
done:
    eqp_point_order_free(made);
    return code;
}

void eqp_point_order_free(eqp_point_order *order)
{
    if (order != NULL) {
        eqp_move_plan_free(order->plan);
        free(order->recv_count);
        free(order->item);
        eqp_comm_free(&order->comm);
        free(order);
    }
}

int64_t eqp_point_order_count(const eqp_point_order *order)
{
    return order != NULL ? order->n : 0;
}

/* A column in the order of arrival, [n] elements, if the call can be. */
static int make_arrivals(const eqp_point_order *order, size_t element_size, const void *send, const void *recv,
                         bool forth, char **column)
{
    const int64_t nhome = eqp_move_plan_arrays(order->plan).n, there = order->n;
    const bool can_be = element_size >= 1 && (send != NULL || (forth ? nhome : there) == 0) &&
                        (recv != NULL || (forth ? there : nhome) == 0);
    const int code = can_be ? eqp_array_create(column, there, element_size) : EQP_ERR_ARGUMENT;

    return eqp__agree_alike(order->comm, code, (int64_t)element_size);
}

int eqp_point_order_bring(const eqp_point_order *order, size_t element_size, const void *send, void *recv)
{
    char *column = NULL;
    int code;

    EQP_REQUIRE(order);
    EQP_TRY(make_arrivals(order, element_size, send, recv, true, &column));
    EQP_TRY(eqp_move_apply(order->comm, order->plan, order->recv_count, element_size, send, column));
    for (int64_t i = 0; i < order->n; i++) {
        memcpy((char *)recv + (size_t)i * element_size, column + (size_t)order->item[i].arrived * element_size,
               element_size);
    }
done:
    free(column);
    return code;
}

int eqp_point_order_return(const eqp_point_order *order, size_t element_size, const void *send, void *recv)
{
    char *column = NULL;
    int code;

    EQP_REQUIRE(order);
    EQP_TRY(make_arrivals(order, element_size, send, recv, false, &column));
    for (int64_t i = 0; i < order->n; i++) {
        memcpy(column + (size_t)order->item[i].arrived * element_size, (const char *)send + (size_t)i * element_size,
               element_size);
    }
    EQP_TRY(eqp_move_return(order->comm, order->plan, order->recv_count, element_size, column, recv));
done:
    free(column);
    return code;
}
