/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/points/points.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/frame.h"
#include "methods/points/regions.h"

#include <equipoise/more/comm.h>
#include <equipoise/points.h>

#include <string.h>

/* Most items that rank 0 sorts and assigns alone, for methods that gather the items anyway. */
#define MOST_GATHERED ((int64_t)1 << 20)

typedef struct columns {
    int64_t *id, *size;
    double *weight, *point, *phase_load;
    int *part_now, *part;
} columns;

static int make_columns(int64_t n, const eqp__curve_item *in, columns *c)
{
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(c->id, n), EQP__ARRAY(c->size, n), EQP__ARRAY(c->weight, n),
                           EQP__ARRAY(c->point, 3 * n), EQP__ARRAY(c->part_now, n), EQP__ARRAY(c->part, n)));
    for (int64_t i = 0; i < n; i++) {
        c->id[i] = in[i].id;
        c->size[i] = in[i].size;
        c->weight[i] = in[i].weight;
        c->part_now[i] = in[i].part_now;
        memcpy(c->point + 3 * i, in[i].x, sizeof in[i].x);
    }
    return EQP_OK;
}

static void free_columns(columns *c)
{
    EQP__FREE(c->id, c->size, c->weight, c->point, c->part_now, c->part, c->phase_load);
}

typedef struct call {
    MPI_Comm comm; /* private duplicate */
    const eqp_method *method;
    const eqp_points *points;
    const eqp_balance_options *options;
    eqp_message *message;
    eqp__points_scope scope;
    eqp__point_order *order; /* opened, with items read */
} call;

/* Assigns n items as columns [n]. phase_load: [n] or NULL. The caller frees the columns, also after an error.
 * Collective. */
static int assign_columns(const call *is, MPI_Comm comm, int code, int64_t n, const eqp__curve_item *item,
                          const double *phase_load, columns *c, eqp_balance_result *result)
{
    code = code == EQP_OK ? make_columns(n, item, c) : code;
    const eqp_balance_items items = {.n = n,
                                     .id = c->id,
                                     .weight = is->scope.weighed || phase_load == NULL ? c->weight : NULL,
                                     .point = c->point,
                                     .part_now = c->part_now,
                                     .size = c->size,
                                     .phase_load = phase_load};

    return eqp__balance_checked(comm, code, is->method, &items, is->options, c->part, result, is->message);
}

/* Assigns items on their present ranks, in their present order. Collective. */
static int assign_in_place(const call *is, int code, int *part, eqp_balance_result *result)
{
    const int64_t n = is->points->n;
    eqp__curve_item *const item = is->order->here;
    int64_t before = 0;
    int rank = 0;
    columns c = {.id = NULL};

    MPI_Comm_rank(is->comm, &rank);
    EQP__CHECK(EQP__MPI(MPI_Exscan(&n, &before, 1, MPI_INT64_T, MPI_SUM, is->comm)));
    for (int64_t i = 0; i < n; i++) {
        item[i].id += rank > 0 ? before : 0;
    }
    EQP_TRY(assign_columns(is, is->comm, code, n, item, is->options->nphases > 1 ? is->points->phase_load : NULL, &c,
                           result));
    if (n > 0) {
        memcpy(part, c.part, (size_t)n * sizeof *part);
    }
done:
    free_columns(&c);
    return code;
}

typedef struct gathered {
    int64_t n;
    eqp__curve_item *item;
    double *phase_load;
    int *part;
} gathered;

/* Sorts and assigns all items on rank 0, with a duplicate of MPI_COMM_SELF. Local. */
static int assign_gathered(const call *is, const gathered *g, eqp_balance_result *result)
{
    const int nphases = is->options->nphases > 1 ? is->options->nphases : 0;
    MPI_Comm self = MPI_COMM_NULL;
    columns c = {.id = NULL};
    int code;

    for (int64_t i = 0; i < g->n; i++) {
        g->item[i].id = g->item[i].arrived = i;
    }
    eqp__points_sort(g->n, g->item);
    EQP_TRY(eqp_array_create(&c.phase_load, g->n * nphases, sizeof *c.phase_load));
    for (int64_t i = 0; i < g->n && nphases > 0; i++) {
        memcpy(c.phase_load + i * nphases, g->phase_load + g->item[i].arrived * nphases,
               (size_t)nphases * sizeof *c.phase_load);
    }
    EQP_TRY(eqp__comm_dup(MPI_COMM_SELF, &self));
    EQP_TRY(assign_columns(is, self, EQP_OK, g->n, g->item, nphases > 0 ? c.phase_load : NULL, &c, result));
    for (int64_t i = 0; i < g->n; i++) {
        g->part[g->item[i].arrived] = c.part[i];
    }
done:
    eqp_comm_free(&self);
    free_columns(&c);
    return code;
}

typedef struct answer {
    int code;
    eqp_message message;
    eqp_balance_result result;
} answer;

/* Gathers all items on rank 0, which assigns them. way: prepared. Collective. */
static int assign_on_root(const call *is, int code, eqp__collect *way, int *part, eqp_balance_result *result)
{
    const size_t row = (size_t)(is->options->nphases > 1 ? is->options->nphases : 0) * sizeof(double);
    gathered g = {.n = 0};
    answer told;

    EQP_TRY(eqp__collect_announce(way, is->points->n, &g.n));
    code = code == EQP_OK ? eqp_array_create(&g.part, g.n, sizeof *g.part) : code;
    EQP_TRY(eqp__collect_array(way, code, g.n, sizeof *g.item, is->order->here, &g.item));
    if (row > 0) {
        EQP_TRY(eqp__collect_array(way, EQP_OK, g.n, row, is->points->phase_load, &g.phase_load));
    }
    memset(&told, 0, sizeof told);
    if (way->rank == 0) {
        told.code = assign_gathered(is, &g, &told.result);
        told.message = *is->message;
    }
    EQP_TRY(EQP__MPI(EQP__WAITS(MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, 0, is->comm))));
    *is->message = told.message;
    EQP_TRY(told.code);
    EQP_TRY(is->options->regions != NULL ? eqp__regions_share(is->comm, *is->options->regions) : EQP_OK);
    EQP_TRY(eqp__collect_return(way, sizeof *part, g.part, part));
    *result = told.result;
done:
    EQP__FREE(g.item, g.phase_load, g.part);
    return code;
}

/* Assigns items after moving them into curve order, with about equally many on every rank. Collective. */
static int assign_along_curve(const call *is, int code, int *part, eqp_balance_result *result)
{
    const int nphases = is->options->nphases > 1 ? is->options->nphases : 0;
    eqp__point_order *const order = is->order;
    columns c = {.id = NULL};

    EQP_TRY(eqp__point_order_make(code, is->points->n, &is->scope, order));
    if (nphases > 0) {
        code = eqp_array_create(&c.phase_load, order->n * nphases, sizeof *c.phase_load);
        EQP_TRY(eqp_agree(is->comm, code, NULL));
        EQP_TRY(eqp__point_order_bring(order, (size_t)nphases * sizeof *c.phase_load, is->points->phase_load,
                                       c.phase_load));
    }
    EQP_TRY(assign_columns(is, is->comm, EQP_OK, order->n, order->item, c.phase_load, &c, result));
    EQP_TRY(eqp__point_order_return(order, sizeof *part, c.part, part));
done:
    free_columns(&c);
    return code;
}

static int check_call(const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
                      const int *part, eqp_message *message)
{
    EQP__CHECK(eqp__balance_options_check(method, options, message));
    EQP__FAIL_IF(points == NULL || points->n < 0 || (points->n > 0 && part == NULL),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "balance: no points or no parts"));
    EQP__FAIL_IF(
        options->nphases > 1 && points->n > 0 && points->phase_load == NULL,
        EQP__SAY(message, EQP_ERR_ARGUMENT, "balance: loads of phases and the number of phases need each other"));
    EQP__FAIL_IF(options->regions != NULL && options->nparts > EQP_REGIONS_PARTS,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "balance: regions of more than %d parts", EQP_REGIONS_PARTS));
    return EQP_OK;
}

static int assign(const call *is, int code, eqp__collect *way, int *part, eqp_balance_result *result)
{
    if (is->method->flags & EQP_ANY_ORDER) {
        return assign_in_place(is, code, part, result);
    }
    if ((is->method->flags & EQP_GATHERS) && is->scope.n <= MOST_GATHERED) {
        return assign_on_root(is, code, way, part, result);
    }
    return assign_along_curve(is, code, part, result);
}

/* Assigns parts and makes their regions; both are unchanged if either step fails. Collective. */
static int assign_regions(const call *is, int code, eqp__collect *way, int *part, eqp_balance_result *result)
{
    int *mine = NULL;

    code = code == EQP_OK ? eqp_array_create(&mine, is->points->n, sizeof *mine) : code;
    EQP_TRY(assign(is, code, way, mine, result));
    code = eqp__regions_make(is->comm, *is->options->regions, is->points, &is->scope, mine, NULL, NULL);
    if (code != EQP_OK) {
        eqp_message_set(is->message, "balance: regions of %s: %s", is->method->name, eqp__regions_reason(code));
        goto done;
    }
    if (is->points->n > 0) {
        memcpy(part, mine, (size_t)is->points->n * sizeof *part);
    }
done:
    free(mine);
    return code;
}

int eqp_balance_points(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                       const eqp_balance_options *options, int *part, eqp_balance_result *result)
{
    eqp_message message = {""};
    eqp_points mine;
    eqp_balance_options here, asked;
    eqp__point_order order = {.n = 0};
    call is = {.method = method, .points = eqp__points_known(points, &mine), .message = &message, .order = &order};
    eqp__same same[EQP__BALANCE_SAME];
    eqp__collect way = {.comm = MPI_COMM_NULL};
    eqp_balance_result found;
    eqp_regions *regions = NULL;
    int code = eqp__comm_dup(comm, &is.comm);

    EQP__CHECK(code);
    points = is.points;
    is.options = options = eqp__balance_options_known(options, &asked);
    code = check_call(method, points, options, part, &message);
    code = code == EQP_OK ? eqp__point_order_open(is.comm, points, &order) : code;
    code = code == EQP_OK ? eqp__collect_prepare(is.comm, &way) : code;
    if (code == EQP_OK) {
        eqp__balance_same(method, options, same);
        here = *options;
        here.regions = options->regions != NULL ? &regions : NULL;
        is.options = &here;
        code = here.regions != NULL ? eqp__regions_open(here.nparts, &regions) : EQP_OK;
    }
    EQP_TRY(eqp__points_meet(is.comm, code, points, EQP__BALANCE_SAME, same, &is.scope, &message));
    code = eqp__point_order_read(points, &is.scope, &order);
    EQP_TRY(options->regions != NULL ? assign_regions(&is, code, &way, part, &found)
                                     : assign(&is, code, &way, part, &found));
    if (result != NULL) {
        *result = found;
    }
    if (options->regions != NULL) {
        *options->regions = regions;
        regions = NULL;
    }
done:
    if (code != EQP_OK && options != NULL && options->message != NULL) {
        if (message.text[0] == '\0') {
            eqp_message_set(&message, "balance: %s", eqp_error_text(code));
        }
        *options->message = message;
    }
    eqp_regions_free(regions);
    eqp__point_order_close(&order);
    eqp__collect_close(&way);
    eqp_comm_free(&is.comm);
    return code;
}

/* eqp_balance_send(): assigns parts and sends the items to the ranks of their parts. */

/* EQP_ERR_ARGUMENT unless columns are valid, their sizes agree on all ranks, and nparts == nranks. Collective. */
static int agree_on_columns(MPI_Comm comm, int nranks, const eqp_points *points, const eqp_balance_options *options,
                            int ncolumns, const eqp_point_column *column, const int64_t *nrecv)
{
    int64_t print = eqp_fingerprint(0, 1, &(int64_t){ncolumns});
    int code = ncolumns >= 1 && column != NULL && nrecv != NULL && points != NULL && options != NULL ? EQP_OK
                                                                                                     : EQP_ERR_ARGUMENT;

    for (int c = 0; c < ncolumns && code == EQP_OK; c++) {
        const int64_t size = (int64_t)column[c].element_size;
        code = size >= 1 && (points->n <= 0 || column[c].send != NULL) ? EQP_OK : EQP_ERR_ARGUMENT;
        print = eqp_fingerprint(print, 1, &size);
    }
    if (code == EQP_OK && options->nparts != nranks) {
        code = EQP_ERR_ARGUMENT;
    }
    return eqp__agree_alike(comm, code, print);
}

/* Sends all columns. recv: [ncolumns] arrays received, owned by the caller also after an error. Collective. */
static int send(MPI_Comm comm, int nranks, int64_t n, const int *dest, int ncolumns, const eqp_point_column *column,
                void **recv, int64_t *nrecv)
{
    eqp_move_plan *plan = NULL;
    int64_t *count = NULL;
    int code = eqp_move_plan_create(n, dest, nranks, &plan);

    code = code == EQP_OK ? eqp_array_create(&count, nranks, sizeof *count) : code;
    EQP_TRY(eqp__move_new(comm, code, plan, column[0].element_size, column[0].send, count, nrecv, &recv[0]));
    for (int c = 1; c < ncolumns; c++) {
        char *array = NULL;
        code = eqp_array_create(&array, *nrecv, column[c].element_size);
        recv[c] = array;
        EQP_TRY(eqp__move_apply(comm, code, plan, count, column[c].element_size, column[c].send, array));
    }
done:
    eqp_move_plan_free(plan);
    free(count);
    return code;
}

int eqp_balance_send(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                     const eqp_balance_options *options, int ncolumns, eqp_point_column *column, int64_t *nrecv,
                     eqp_balance_result *result)
{
    eqp_balance_result found;
    eqp_balance_options here, asked;
    eqp_points mine;
    eqp_regions *regions = NULL;
    void **recv = NULL;
    int64_t n = 0;
    int *part = NULL, rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    points = eqp__points_known(points, &mine);
    options = eqp__balance_options_known(options, &asked);
    code = agree_on_columns(comm, nranks, points, options, ncolumns, column, nrecv);
    if (code == EQP_ERR_ARGUMENT && options != NULL) {
        eqp_message_set(options->message, "balance: other columns on some ranks, or not as many parts as ranks");
    }
    EQP_TRY(code);
    code = EQP__ARRAYS(EQP__ARRAY(recv, ncolumns), EQP__ARRAY(part, points->n > 0 ? points->n : 0));
    EQP_TRY(eqp_agree(comm, code, NULL));
    here = *options;
    here.regions = options->regions != NULL ? &regions : NULL;
    EQP_TRY(eqp_balance_points(comm, method, points, &here, part, &found));
    EQP_TRY(send(comm, nranks, points->n, part, ncolumns, column, recv, &n));
    for (int c = 0; c < ncolumns; c++) {
        column[c].recv = recv[c];
        recv[c] = NULL;
    }
    *nrecv = n;
    if (options->regions != NULL) {
        *options->regions = regions;
        regions = NULL;
    }
    if (result != NULL) {
        *result = found;
    }
done:
    for (int c = 0; recv != NULL && c < ncolumns; c++) {
        free(recv[c]);
    }
    eqp_regions_free(regions);
    EQP__FREE(recv, part);
    return code;
}
