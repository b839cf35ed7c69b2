/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of Zoltan, from items to parts. */
#ifndef EQUIPOISE_METHODS_RCB_SESSION_H
#define EQUIPOISE_METHODS_RCB_SESSION_H

#include <equipoise/balance.h>

#include <zoltan.h>

/* What the callbacks read. */
typedef struct eqp__zoltan_input {
    const eqp_balance_items *items;
    const double *weight; /* [n] cost of each item, as far as the partitioner may know it */
    double weight_unit;   /* weights are passed as float multiples of this, so that they neither vanish nor overflow */
    double shift[3];      /* points are passed less this, and times 2^exponent */
    int exponent;
    const int *start;    /* [n] parts that the partitioner starts from, or NULL */
    int64_t *list_first; /* [n + 1] pins of each item without repetitions; PHG only */
    int64_t *list;       /* [list_first[n]] */
    double *list_weight; /* [list_first[n]] or NULL */
} eqp__zoltan_input;

typedef struct eqp__zoltan_setting {
    const char *name;
    const char *value;
} eqp__zoltan_setting;

/* A global id as Zoltan has it: two 32-bit words. */
void eqp__zoltan_put_id(ZOLTAN_ID_PTR words, int64_t id);

/* Zoltan takes two items of one id without a word, and answers for one of them: EQP_ERR_DATA on all ranks, with a line
 * that names the id; message may be NULL. n + O(n) exchanged ids. Collective. */
int eqp__zoltan_check_ids(MPI_Comm comm, int64_t n, const int64_t *id, eqp_message *message);

/* Partitions. Settings end with {NULL, NULL}; `add_callbacks` sets those that the method needs beside the objects
 * themselves. Collective; all ranks return the same code. Unchanged on error: part. */
int eqp__zoltan_partition(MPI_Comm comm, const eqp__zoltan_input *input, const eqp_balance_options *options,
                          const eqp__zoltan_setting *settings,
                          int (*add_callbacks)(struct Zoltan_Struct *zoltan, eqp__zoltan_input *input), int *part);

/* Mean weight of an item over all ranks, or 1 if there is no weight at all. Collective. */
int eqp__zoltan_weight_unit(MPI_Comm comm, const eqp_balance_items *items, double *unit);

#endif
