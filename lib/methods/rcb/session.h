/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of Zoltan, from items to parts. */
#ifndef EQUIPOISE_METHODS_RCB_SESSION_H
#define EQUIPOISE_METHODS_RCB_SESSION_H

#include <equipoise/balance.h>

#include <zoltan.h>

typedef struct eqp__zoltan_input {
    const eqp_balance_items *items;
    const double *weight; /* [n] cost of each item, possibly limited for the partitioner */
    double weight_unit;   /* weights are passed as float multiples of this, to avoid underflow and overflow */
    double shift[3];      /* points are passed as (x - shift) 2^exponent */
    int exponent;
    const int *start;    /* [n] initial parts, or NULL */
    int64_t *list_first; /* [n + 1] pins of each item without repetitions; PHG only */
    int64_t *list;       /* [list_first[n]] */
    double *list_weight; /* [list_first[n]] or NULL */
} eqp__zoltan_input;

typedef struct eqp__zoltan_setting {
    const char *name;
    const char *value;
} eqp__zoltan_setting;

/* Stores a global id as two 32-bit words. */
void eqp__zoltan_put_id(ZOLTAN_ID_PTR words, int64_t id);

/* EQP_ERR_DATA on all ranks if two items have the same id; the message names the id. Zoltan accepts duplicate ids
 * silently and returns a part for one item only. message: NULL allowed. Exchanges O(n) ids. Collective. */
int eqp__zoltan_check_ids(MPI_Comm comm, int64_t n, const int64_t *id, eqp_message *message);

/* Runs Zoltan. settings: ended by {NULL, NULL}. add_callbacks: registers the method's callbacks in addition to the list
 * of objects. part: unchanged on error. Collective; all ranks return the same code. */
int eqp__zoltan_partition(MPI_Comm comm, const eqp__zoltan_input *input, const eqp_balance_options *options,
                          const eqp__zoltan_setting *settings,
                          int (*add_callbacks)(struct Zoltan_Struct *zoltan, eqp__zoltan_input *input), int *part);

/* Mean weight of an item over all ranks; 1 if all weights are 0. Collective. */
int eqp__zoltan_weight_unit(MPI_Comm comm, const eqp_balance_items *items, double *unit);

#endif
