/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of a move: items, destinations and order as plain arrays, no MPI. */
#ifndef EQUIPOISE_COMM_PLAN_H
#define EQUIPOISE_COMM_PLAN_H

#include <equipoise/more/comm.h>

#include <stddef.h>
#include <stdint.h>

/** The arrays of a plan (borrowed from it, valid until it is freed). */
typedef struct eqp_move_view {
    int64_t n;             /**< items */
    int nranks;            /**< destinations */
    const int64_t *order;  /**< [n] item at each place of the send buffer: by destination, else in the old order */
    const int64_t *count;  /**< [nranks] items for each destination */
    const int64_t *offset; /**< [nranks + 1] place of the first item for each destination */
} eqp_move_view;

eqp_move_view eqp__move_plan_arrays(const eqp_move_plan *plan);

/** Copies elements into send order: out[i] = in[order[i]]. Local, O(n).
 * \param[in]  element_size  bytes per element
 * \param[in]  in            [n] elements (borrowed)
 * \param[out] out           [n] elements; must not overlap `in` */
void eqp__move_pack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out);

/** The inverse of eqp__move_pack(): out[order[i]] = in[i]. */
void eqp__move_unpack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out);

#endif
