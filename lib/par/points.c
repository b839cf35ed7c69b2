/* SPDX-License-Identifier: BSD-3-Clause */
#include "par/points.h"

#include "par/comm.h"

#include <stdlib.h>
#include <string.h>

/* Columns of what arrived. */
typedef struct columns {
    int64_t *id, *size;
    double *weight, *point, *phase_load;
    int *part_now, *part;
} columns;

static int make_columns(int64_t n, const eqp__curve_item *in, columns *c)
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
    void *owned[] = {c->id, c->size, c->weight, c->point, c->part_now, c->part, c->phase_load};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
}

/* The loads of phases follow their items. nphases: the same on all ranks. *weighs: whether items have weights, too. */
static int bring_phases(MPI_Comm comm, const eqp_point_order *order, const eqp_points *points, int nphases, columns *c,
                        bool *weighs)
{
    int64_t least = points->n > 0 && points->weight != NULL ? -1 : 0;
    int code = points->n == 0 || points->phase_load != NULL ? EQP_OK : EQP_ERR_ARGUMENT;

    code = code == EQP_OK ? eqp_array_create(&c->phase_load, order->n * nphases, sizeof *c->phase_load) : code;
    EQP_TRY(eqp__agree_least(comm, code, 1, &least, NULL));
    *weighs = least < 0;
    EQP_TRY(eqp_point_order_bring(order, (size_t)nphases * sizeof *c->phase_load, points->phase_load, c->phase_load));
done:
    return code;
}

static int assign(MPI_Comm comm, const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
                  int *part, eqp_balance_result *result)
{
    eqp_point_order *order = NULL;
    columns c = {.id = NULL};
    bool weighs = true;
    int code = eqp_point_order_create(comm, points, &order);

    if (code == EQP_ERR_DATA) {
        eqp_message_set(options->message, "balance: a position that is not finite");
    }
    EQP_TRY(code);
    EQP_TRY(eqp_agree(comm, make_columns(order->n, order->item, &c), NULL));
    EQP_TRY(options->nphases > 1 ? bring_phases(comm, order, points, options->nphases, &c, &weighs) : EQP_OK);
    const eqp_balance_items items = {.n = order->n,
                                     .id = c.id,
                                     .weight = weighs ? c.weight : NULL,
                                     .point = c.point,
                                     .part_now = c.part_now,
                                     .size = c.size,
                                     .phase_load = c.phase_load};
    EQP_TRY(eqp_balance(comm, method, &items, options, c.part, result));
    EQP_TRY(eqp_point_order_return(order, sizeof *part, c.part, part));
done:
    free_columns(&c);
    eqp_point_order_free(order);
    return code;
}

int eqp_balance_points(MPI_Comm comm, const eqp_method *method, const eqp_points *points,
                       const eqp_balance_options *options, int *part, eqp_balance_result *result)
{
    MPI_Comm own = MPI_COMM_NULL;
    eqp_message message = {""};
    eqp_balance_options here = eqp_balance_options_defaults();
    eqp_balance_result found;
    int code = eqp__comm_dup(comm, &own);

    if (code != EQP_OK) {
        return code;
    }
    const bool can_be = method != NULL && options != NULL && points != NULL && (points->n <= 0 || part != NULL) &&
                        options->nphases >= 0 && options->nphases <= EQP_CYCLE_PHASES;
    EQP_TRY(eqp__points_agree(own, can_be ? EQP_OK : EQP_ERR_ARGUMENT, points, &message));
    EQP_TRY(eqp__agree_alike(own, EQP_OK, options->nphases)); /* before loads of phases travel */
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
