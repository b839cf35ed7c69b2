/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that a library of others carries out: each is a function with the signature of `assign` in a room of its own,
 * which is built where the library is, and a row in partitioners.c, which is there in any case. */
#ifndef EQUIPOISE_PAR_PARTITIONERS_H
#define EQUIPOISE_PAR_PARTITIONERS_H

#include <equipoise/balance.h>

/* The own option of `interaction`. */
typedef struct eqp__interaction_settings {
    double fresh; /* 0: the present parts are refined, so that little moves. Anew cuts some percent less, moves much */
} eqp__interaction_settings;

typedef int eqp__partitioner(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                             int *part, eqp_balance_result *result);

eqp__partitioner eqp__rcb_assign, eqp__rib_assign, eqp__interaction_assign, eqp__hypergraph_assign; /* lib/zoltan */
eqp__partitioner eqp__metis_assign, eqp__scotch_assign;                                             /* lib/graph */

#endif
