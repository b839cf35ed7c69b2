/* SPDX-License-Identifier: BSD-3-Clause */
/* A user's check of the installed kernels: every row of a table of reference forces is computed and compared. */
#ifndef DD_CHECK_TABLE_H
#define DD_CHECK_TABLE_H

#include "pairs.h"

#include <equipoise/error.h>

#include <stdint.h>
#include <stdio.h>

#define DD_CHECK_NAME 40

/* Results of the rows of one category. */
typedef struct dd_check_row {
    char category[DD_CHECK_NAME];
    int64_t rows;
    double worst; /* of the rows' largest difference of a component over the largest component; NaN if one is NaN */
} dd_check_row;

typedef struct dd_check {
    int64_t ncategories;
    dd_check_row *category; /* [ncategories], in the order in which they first occur */
} dd_check;

/** Reads a table (tab-separated, # begins a comment, the first other line names the columns) and compares its columns
 * fq* with what is computed from p*, b*, a, mu, nu. With columns p3* rows are pairs (p1 to p4, b12, b34) and elastic
 * forces on all four ends are compared; without they are single segments (p1, p2, b) and their elastic self forces.
 * Forces are in the unit of mu times b^2 or, where that fits a row's size better, in mu b^2. Other columns are ignored,
 * and so are boxes. Without a column "category" all rows are "pair" or "self".
 * \param[in]  from    read to its end (borrowed)
 * \param[out] check   to be freed with dd_check_free(); unchanged on error
 * \param[out] message what is wrong with the table and in which line, on error; may be NULL
 * \return EQP_OK, EQP_ERR_FORMAT or EQP_ERR_DATA for the table, EQP_ERR_IO, EQP_ERR_MEMORY, or as dd_pairs_choose() */
int dd_check_table(FILE *from, dd_isa isa, dd_check *check, eqp_message *message);

/** \param[in,out] check what dd_check_table() made, or zeros; zeros after it */
void dd_check_free(dd_check *check);

#endif
