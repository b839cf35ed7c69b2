/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/points.h>

#include "par/comm.h"

#include <equipoise/curve.h>
#include <equipoise/par.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An item on its way to its place along the curve. */
typedef struct traveller {
    uint64_t key;
    int64_t id, index, size;
    double x[3], weight;
    int from, part_now;
} traveller;

/* And what it came to. */
typedef struct answer {
    int64_t index;
    int part;
} answer;

static size_t point_bytes(const eqp_points *points)
{
    return 3 * (points->single ? sizeof(float) : sizeof(double));
}

static void read_point(const eqp_points *points, int64_t i, double x[3])
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

/* The cube around all items. */
static int find_cube(MPI_Comm comm, const eqp_points *points, double low[3], double *side, eqp_message *message)
{
    double end[6] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    int code = EQP_OK;

    for (int64_t i = 0; i < points->n && code == EQP_OK; i++) {
        double x[3];
        read_point(points, i, x);
        for (int a = 0; a < 3; a++) {
            code = isfinite(x[a]) ? code : EQP_ERR_DATA;
            end[a] = fmin(end[a], x[a]);
            end[3 + a] = fmin(end[3 + a], -x[a]);
        }
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "balance: a position that is not finite");
    }
    EQP_TRY(eqp_agree(comm, code, message));
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

static int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Items in one cell come by what they are, and only those that are alike in all by where they were. */
static int by_key(const void *left, const void *right)
{
    const traveller *a = left, *b = right;
    int order = (a->key > b->key) - (a->key < b->key);

    for (int k = 0; k < 3 && order == 0; k++) {
        order = by_number(eqp__bits_of(a->x[k]), eqp__bits_of(b->x[k]));
    }
    order = order != 0 ? order : by_number(eqp__bits_of(a->weight), eqp__bits_of(b->weight));
    order = order != 0 ? order : by_number(a->size, b->size);
    order = order != 0 ? order : by_number(a->part_now, b->part_now);
    return order != 0 ? order : by_number(a->id, b->id);
}

/* This rank's items as travellers, in curve order, and their keys. */
static int pack(MPI_Comm comm, const eqp_points *points, int rank, traveller **out, uint64_t **key,
                eqp_message *message)
{
    double low[3], side = 1.0;
    int64_t before = 0;
    int code;

    EQP_TRY(find_cube(comm, points, low, &side, message));
    EQP_TRY(eqp_scan_int64(comm, points->n, &before, NULL));
    code = eqp_array_create(out, points->n, sizeof **out);
    code = code == EQP_OK ? eqp_array_create(key, points->n, sizeof **key) : code;
    for (int64_t i = 0; i < points->n && code == EQP_OK; i++) {
        traveller *t = &(*out)[i];
        *t = (traveller){.id = before + i,
                         .index = i,
                         .size = points->size != NULL ? points->size[i] : 1,
                         .weight = points->weight != NULL ? points->weight[i] : 1.0,
                         .from = rank,
                         .part_now = points->part_now != NULL ? points->part_now[i] : rank};
        read_point(points, i, t->x);
        code = eqp_hilbert_keys(1, &t->x[0], &t->x[1], &t->x[2], low, side, &t->key);
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    qsort(*out, (size_t)points->n, sizeof **out, by_key);
    for (int64_t i = 0; i < points->n; i++) {
        (*key)[i] = (*out)[i].key;
    }
done:
    return code;
}

/* Columns of what arrived. */
typedef struct columns {
    int64_t *id, *size;
    double *weight, *point;
    int *part_now, *part;
} columns;

static int make_columns(int64_t n, const traveller *in, columns *c)
{
    int code;

    EQP_TRY(eqp_array_create(&c->id, n, sizeof *c->id));
    EQP_TRY(eqp_array_create(&c->size, n, sizeof *c->size));
    EQP_TRY(eqp_array_create(&c->weight, n, sizeof *c->weight));
    EQP_TRY(eqp_array_create(&c->point, 3 * n, sizeof *c->point));
    EQP_TRY(eqp_array_create(&c->part_now, n, sizeof *c->part_now));
    EQP_TRY(eqp_array_create(&c->part, n, sizeof *c->part));
    for (int64_t i = 0; i < n; i++) {
        c->id[i] = in[i].id;
        c->size[i] = in[i].size;
        c->weight[i] = in[i].weight;
        c->part_now[i] = in[i].part_now;
        memcpy(c->point + 3 * i, in[i].x, sizeof in[i].x);
    }
done:
    return code;
}

static void free_columns(columns *c)
{
    void *owned[] = {c->id, c->size, c->weight, c->point, c->part_now, c->part};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
}

/* The parts back to where the items are. */
static int send_back(MPI_Comm comm, int64_t n, const traveller *in, const int *part, int64_t nown, int *own)
{
    answer *out = NULL, *back = NULL;
    int *to = NULL;
    int64_t nback = 0;
    int code = eqp_array_create(&out, n, sizeof *out);

    code = code == EQP_OK ? eqp_array_create(&to, n, sizeof *to) : code;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        out[i] = (answer){in[i].index, part[i]};
        to[i] = in[i].from;
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp_send_records(comm, sizeof *out, n, to, out, &nback, &back));
    EQP_TRY(eqp_agree(comm, nback == nown ? EQP_OK : EQP_ERR_INTERNAL, NULL));
    for (int64_t i = 0; i < nback; i++) {
        own[back[i].index] = back[i].part;
    }
done:
    free(back);
    free(to);
    free(out);
    return code;
}

static int assign(MPI_Comm comm, const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
                  int *part, eqp_balance_result *result)
{
    traveller *out = NULL, *in = NULL;
    uint64_t *key = NULL;
    int *to = NULL, rank;
    int64_t n = 0;
    columns c = {.id = NULL};
    int code;

    MPI_Comm_rank(comm, &rank);
    EQP_TRY(pack(comm, points, rank, &out, &key, options->message));
    EQP_TRY(eqp_agree(comm, eqp_array_create(&to, points->n, sizeof *to), NULL));
    EQP_TRY(eqp_deal_keys(comm, points->n, key, to));
    EQP_TRY(eqp_send_records(comm, sizeof *out, points->n, to, out, &n, &in));
    qsort(in, (size_t)n, sizeof *in, by_key);
    EQP_TRY(eqp_agree(comm, make_columns(n, in, &c), NULL));
    const eqp_balance_items items = {
        .n = n, .id = c.id, .weight = c.weight, .point = c.point, .part_now = c.part_now, .size = c.size};
    EQP_TRY(eqp_balance(comm, method, &items, options, c.part, result));
    EQP_TRY(send_back(comm, n, in, c.part, points->n, part));
done:
    free_columns(&c);
    free(in);
    free(to);
    free(key);
    free(out);
    return code;
}

static bool can_be(const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
                   const int *part)
{
    return points != NULL && method != NULL && options != NULL && points->n >= 0 &&
           (points->n == 0 ||
            (points->x != NULL && part != NULL && (points->stride == 0 || points->stride >= point_bytes(points))));
}

/* Ranks with items must describe them alike. */
static int agree_on_call(MPI_Comm comm, int code, const eqp_points *points, eqp_message *message)
{
    int64_t pair[2] = {INT64_MAX, INT64_MAX};

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

int eqp_balance_points(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                       const eqp_balance_options *options, int *part, eqp_balance_result *result)
{
    MPI_Comm own = MPI_COMM_NULL;
    eqp_message message = {""};
    eqp_balance_options here = EQP_BALANCE_OPTIONS_DEFAULTS;
    eqp_balance_result found;
    int code = eqp__comm_dup(comm, &own);

    if (code != EQP_OK) {
        return code;
    }
    code = can_be(method, points, options, part) ? EQP_OK : EQP_ERR_ARGUMENT;
    EQP_TRY(agree_on_call(own, code, points, &message));
    here = *options;
    here.message = &message;
    EQP_TRY(assign(own, method, points, &here, part, &found));
    if (result != NULL) {
        *result = found;
    }
done:
    if (code != EQP_OK && options != NULL && options->message != NULL) {
        if (message.text[0] == '\0') {
            eqp_message_set(&message, "balance: %s", eqp_error_text(code));
        }
        *options->message = message;
    }
    eqp_comm_free(&own);
    return code;
}
