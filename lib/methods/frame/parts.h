/* SPDX-License-Identifier: BSD-3-Clause */
/* The two halves of eqp__parts_load(), between which ranks can reduce their sums. */
#ifndef EQUIPOISE_METHODS_FRAME_PARTS_H
#define EQUIPOISE_METHODS_FRAME_PARTS_H

#include "cost/costs.h"

#include <mpi.h>
#include <stdint.h>

/** Summary of the loads of parts. */
typedef struct eqp_part_loads {
    double total;     /**< sum of all loads */
    double max;       /**< largest load / (nparts x share): with equal shares the largest load */
    double mean;      /**< total / nparts */
    double imbalance; /**< max / mean - 1; 0 if the total is 0 */
    int heaviest;     /**< the part with the largest relative load (lowest number on a tie) */
    int empty;        /**< parts without items */
} eqp_part_loads;

/** Sums an assignment's loads. Local, O(n + nparts), deterministic.
 * \param[in]  weight  [n] (borrowed)
 * \param[in]  part    [n] 0 to nparts - 1 (borrowed)
 * \param[in]  share   [nparts] or NULL: equal (borrowed)
 * \param[out] load    [nparts] load of each part; may be NULL
 * \param[out] loads   summary
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp__parts_load(int64_t n, const double *weight, const int *part, int nparts, const double *share, double *load,
                    eqp_part_loads *loads);

/** Weight of the items in part `fresh` of a new assignment and in part `now` of the present one. */
typedef struct eqp_overlap {
    int fresh;     /**< new part */
    int now;       /**< present part */
    double weight; /**< of the items in both */
} eqp_overlap;

/** Lists the overlaps of two assignments, ordered by (fresh, now), each pair once. Items whose present part is not in
 * 0 to nparts - 1 are left out. Local, O(n log n), deterministic.
 * \param[in]  fresh,now  [n] new and present part of each item (borrowed)
 * \param[in]  weight     [n] or NULL: 1 (borrowed)
 * \param[out] noverlaps  number of overlaps
 * \param[out] overlaps   [noverlaps], owned by the caller: free(); NULL if there is none
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp__overlaps_collect(int64_t n, const int *fresh, const int *now, const double *weight, int nparts,
                          int64_t *noverlaps, eqp_overlap **overlaps);

/** Renumbers the parts of a new assignment so that much weight stays in place. Overlaps are matched in falling order
 * (greedy: at least half of the largest weight that can stay), each part and each number once; remaining parts get the
 * remaining numbers in ascending order. Only parts of equal share change numbers. Local, O(m log m + nparts),
 * deterministic.
 * \param[in]  nparts     number of parts
 * \param[in]  share      [nparts] or NULL: equal (borrowed)
 * \param[in]  noverlaps  m; several overlaps of one pair add up
 * \param[in]  overlaps   [m] (borrowed)
 * \param[out] number     [nparts] present number for each new part: a permutation
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp__parts_relabel(int nparts, const double *share, int64_t noverlaps, const eqp_overlap *overlaps, int *number);

/** Loads of an assignment whose items are spread over the ranks: the distributed form of eqp__parts_load(). Collective,
 * O(n + nparts), every rank gets the same bits.
 * \param[in]  n       items of this rank
 * \param[in]  weight  [n] finite, >= 0 (borrowed)
 * \param[in]  part    [n] 0 to nparts - 1 (borrowed)
 * \param[in]  nparts  >= 1, the same on all ranks
 * \param[in]  share   [nparts] or NULL: equal; the same on all ranks (borrowed)
 * \param[out] load    [nparts] or NULL
 * \param[out] loads   summary
 * \return EQP_OK, or EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_MPI on all ranks */
int eqp__parts_load_all(MPI_Comm comm, int64_t n, const double *weight, const int *part, int nparts,
                        const double *share, double *load, eqp_part_loads *loads);

/* Loads and item counts of the parts, in new arrays that the caller frees, also after an error. EQP_ERR_ARGUMENT for
 * invalid shares, parts or weights. */
int eqp__part_loads_add(int64_t n, const double *weight, const int *part, int nparts, const double *share,
                        double **load, int64_t **count);

/* Summary of load[nparts] and count[nparts]. */
void eqp__part_loads_finish(int nparts, const double *share, const double *load, const int64_t *count,
                            eqp_part_loads *loads);

/* Lower bound of the imbalance of any assignment: the largest item alone in the part with the largest share. */
double eqp__imbalance_floor(double largest_item, double mean, int nparts, const double *share);

#endif
