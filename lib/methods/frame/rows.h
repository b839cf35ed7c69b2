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

#include <stdint.h>

/** A row for eqp_balance() that is not in the table. It keeps the present parts of the items, but moves as few items as
 * possible to reach the tolerance: along the curve, to parts that share their pins, to the emptiest parts. Items whose
 * part is unknown start from the part of the curve cut. The items may be distributed over the ranks in any way; if a
 * repair is needed, rank 0 makes it. Local. */
const eqp_method *eqp__method_repair_row(void);

/** Sets one of a method's own real options unless it is already set: a program replaces the method's default with a
 * better value. Local.
 * \return EQP_OK, EQP_ERR_UNKNOWN if the method has no such real option, EQP_ERR_ARGUMENT for a value out of range */
int eqp__method_suggest(const eqp_method *method, const char *name, double value, eqp_settings *settings);

/** The first row with this name; NULL if there is none.
 * \param[in] own  may be NULL (borrowed) */
const eqp_method *eqp__methods_find(const eqp_methods *own, const char *name);
#undef EQP__ROW

/* eqp_balance() on a private communicator. code: this rank's code so far; message: not NULL. Collective. */
int eqp__balance_checked(MPI_Comm comm, int code, const eqp_method *method, const eqp_balance_items *items,
                         const eqp_balance_options *options, int *part, eqp_balance_result *result,
                         eqp_message *message);

/* The values of a method and its options that must agree on all ranks. Local. */
enum { EQP__BALANCE_SAME = 11 };
void eqp__balance_same(const eqp_method *method, const eqp_balance_options *options, eqp__same same[EQP__BALANCE_SAME]);

/* EQP_ERR_ARGUMENT for an invalid method or invalid options. Local; message: not NULL. */
/* The structs of a caller as this version knows them: `here` filled, or NULL for a struct that cannot be read. Local.
 */
const eqp_balance_options *eqp__balance_options_known(const eqp_balance_options *options, eqp_balance_options *here);
const eqp_balance_items *eqp__balance_items_known(const eqp_balance_items *items, eqp_balance_items *here);

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

/* Parts by a cut along the curve: eqp_cuts_optimal() if `optimal`, else eqp__cuts_from_shares(). Collective. */
int eqp__cut_curve(MPI_Comm comm, int64_t n, const double *load, const eqp_balance_options *options, int optimal,
                   int *part);

#endif
