/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/move.h
 * \brief Which data must follow, and from where to where: plans as plain arrays, no MPI.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_MOVE_H
#define EQUIPOISE_MORE_MOVE_H

#include <equipoise/error.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where each of n local items goes. */
typedef struct eqp_move_plan eqp_move_plan;

/** The arrays of a plan (borrowed from it, valid until it is freed). */
typedef struct eqp_move_view {
    int64_t n;             /**< items */
    int nranks;            /**< destinations */
    const int64_t *order;  /**< [n] item at each place of the send buffer: by destination, else in the old order */
    const int64_t *count;  /**< [nranks] items for each destination */
    const int64_t *offset; /**< [nranks + 1] place of the first item for each destination */
} eqp_move_view;

/** Sorts items by destination, stably. Local, O(n + nranks), deterministic.
 * \param[in]  dest    [n] 0 to nranks - 1 (borrowed for the call)
 * \param[out] plan    owned by the caller; eqp_move_plan_free()
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp_move_plan_create(int64_t n, const int *dest, int nranks, eqp_move_plan **plan);

/** The arrays. Local, O(1). */
eqp_move_view eqp_move_plan_arrays(const eqp_move_plan *plan);

/** Frees; NULL is legal. */
void eqp_move_plan_free(eqp_move_plan *plan);

/** Copies elements into send order: out[i] = in[order[i]]. Local, O(n).
 * \param[in]  element_size  bytes per element
 * \param[in]  in            [n] elements (borrowed)
 * \param[out] out           [n] elements; must not overlap `in` */
void eqp_move_pack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out);

/** The inverse of eqp_move_pack(): out[order[i]] = in[i]. */
void eqp_move_unpack(const eqp_move_plan *plan, size_t element_size, const void *in, void *out);

#ifdef __cplusplus
}
#endif
#endif
