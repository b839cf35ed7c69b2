/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of the method table, and the helpers that the frame offers to methods. */
#ifndef EQUIPOISE_METHODS_FRAME_ROWS_H
#define EQUIPOISE_METHODS_FRAME_ROWS_H

#include "comm/agree.h"

#include <equipoise/balance.h>

/* The function `assign` of a row. */
typedef int eqp__assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result);

#define EQP__ROW(name, folder, library) extern const eqp_method eqp__method_##name;
#include "methods/list.h"
#undef EQP__ROW

/* eqp_balance() on a private communicator. code: this rank's code so far; message: not NULL. Collective. */
int eqp__balance_checked(MPI_Comm comm, int code, const eqp_method *method, const eqp_balance_items *items,
                         const eqp_balance_options *options, int *part, eqp_balance_result *result,
                         eqp_message *message);

/* The values of a method and its options that must agree on all ranks. Local. */
enum { EQP__BALANCE_SAME = 11 };
void eqp__balance_same(const eqp_method *method, const eqp_balance_options *options, eqp__same same[EQP__BALANCE_SAME]);

/* EQP_ERR_ARGUMENT for an invalid method or invalid options. Local; message: not NULL. */
int eqp__balance_options_check(const eqp_method *method, const eqp_balance_options *options, eqp_message *message);

/* Appends the names of the available methods to a message. */
void eqp__methods_add_all(eqp_message *message);

/* The library that a method needs; for messages about methods missing from this build. */
const char *eqp__method_library(const eqp_method *row);

/* The method missing from this build that a word, `NAME` or `NAME:...`, names; NULL: none. */
const eqp_method *eqp__method_lacking_find(const char *word);

/* Methods outside the table: see choice.h and repair_all.c. */
extern const eqp_method eqp__method_auto;
extern const eqp_method eqp__method_repair;

/* Helpers of several methods. eqp_balance() passes items with `id`, `weight` and `particles` set where n > 0. */

/* *known: true if every item of every rank has a present part in 0 to nparts - 1. Collective. */
int eqp__parts_are_known(MPI_Comm comm, const eqp_balance_items *items, int nparts, int *known);

/* The present parts; if any is unknown, the optimal cut of the weights along the curve. Collective. */
int eqp__present_parts(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part);

/* Parts by a cut along the curve: eqp_cuts_optimal() if `optimal`, else eqp_cuts_from_shares(). Collective. */
int eqp__cut_curve(MPI_Comm comm, int64_t n, const double *load, const eqp_balance_options *options, int optimal,
                   int *part);

#endif
