/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/assign.h
 * \brief Assignment of items to parts, without MPI: arrays in, arrays out, any number of parts.
 *
 * All functions here use two terms. The *relative load* of a part is its load divided by (total load x its share); with
 * equal shares that is load/mean. The *imbalance* is the largest relative load - 1, and 0 if the total is zero.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_ASSIGN_H
#define EQUIPOISE_MORE_ASSIGN_H

#include <equipoise/error.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Cuts n ordered items into consecutive ranges that follow target shares: each cut falls where the running load is
 * nearest to its target. With equal shares and n >= nparts no range is empty. Loads that sum to zero count as 1 each.
 * Local, O(n + nparts log n), deterministic.
 * \param[in]  n       number of items, >= 0
 * \param[in]  load    [n] cost of each item, finite, >= 0 (borrowed)
 * \param[in]  nparts  number of ranges, >= 1
 * \param[in]  share   [nparts] target fractions, each > 0, sum 1 within 1e-9; NULL: equal (borrowed)
 * \param[out] first   [nparts + 1] first item of each part; first[0] == 0, first[nparts] == n
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an invalid load or share */
int eqp_cuts_from_shares(int64_t n, const double *load, int nparts, const double *share, int64_t *first);

/** Cuts n ordered items into consecutive ranges so that the largest load / (nparts x share) is as small as any cut in
 * this order can make it (chains-on-chains partitioning). It returns the optimal cut nearest to the ideal positions,
 * and with equal shares and n >= nparts no range is empty. Loads that sum to zero count as 1 each. Local,
 * deterministic, O(n + k nparts log n) with k the number of probes, in practice some tens. Exact if sums of loads are
 * exact in double (integers below 2^53), else to the rounding of a prefix sum. Source: A. Pinar and C. Aykanat,
 * Fast optimal load balancing algorithms for 1D partitioning, J. Parallel Distrib. Comput. 64 (2004), exact bisection.
 * \param[in]  n,load,nparts,share  as in eqp_cuts_from_shares()
 * \param[out] first       [nparts + 1] first item of each part
 * \param[out] bottleneck  the largest load / (nparts x share), in the unit of `load`; may be NULL
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an invalid load or share */
int eqp_cuts_optimal(int64_t n, const double *load, int nparts, const double *share, int64_t *first,
                     double *bottleneck);

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
int eqp_parts_load(int64_t n, const double *weight, const int *part, int nparts, const double *share, double *load,
                   eqp_part_loads *loads);

/** A hypergraph of work units (Pearce 2014, Algorithm 7): vertices are work units, hyperedges are particles or blocks
 * that two or more units touch. Opaque; read it through eqp_hypergraph_view. */
typedef struct eqp_hypergraph eqp_hypergraph;

/** The arrays of a hypergraph (borrowed from it, valid until it is freed). */
typedef struct eqp_hypergraph_view {
    int64_t nvertices;           /**< units */
    int64_t nedges;              /**< ids that two or more units touch */
    int64_t npins;               /**< (vertex, edge) pairs, each counted once */
    const double *vertex_weight; /**< [nvertices] */
    const double *edge_weight;   /**< [nedges] 1, or the sum of sizes given for the id */
    const int64_t *edge_id;      /**< [nedges] ids, ascending */
    const int64_t *edge_first;   /**< [nedges + 1] into edge_vertex */
    const int64_t *edge_vertex;  /**< [npins] vertices of each edge, ascending */
    const int64_t *vertex_first; /**< [nvertices + 1] into vertex_edge */
    const int64_t *vertex_edge;  /**< [npins] edges of each vertex, ascending */
} eqp_hypergraph_view;

/** Builds a hypergraph from units and the ids that they touch. An id that one unit names twice counts once; an id that
 * only one unit names makes no edge, since it can never be cut. Local, O(pins), deterministic.
 * \param[in]  n          number of units, >= 0
 * \param[in]  weight     [n] cost of each unit, or NULL: 1 (copied)
 * \param[in]  pin_first  [n + 1] ascending, pin_first[0] == 0 (borrowed for the call)
 * \param[in]  pin        [pin_first[n]] ids >= 0; NULL: no pins (borrowed for the call)
 * \param[out] graph      owned by the caller; eqp_hypergraph_free()
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp_hypergraph_create(int64_t n, const double *weight, const int64_t *pin_first, const int64_t *pin,
                          eqp_hypergraph **graph);

/** Sets the weights of edges, for instance to the bytes of the particle with that id. Edges with ids outside the table
 * keep their weights. Local, O(nids + edges).
 * \param[in,out] graph   graph
 * \param[in]     nids    length of the table
 * \param[in]     id      [nids] strictly ascending (borrowed)
 * \param[in]     weight  [nids] finite, >= 0 (borrowed)
 * \return EQP_OK, or EQP_ERR_ARGUMENT with nothing changed */
int eqp_hypergraph_weigh(eqp_hypergraph *graph, int64_t nids, const int64_t *id, const double *weight);

/** Returns the arrays of a hypergraph. Local, O(1). */
eqp_hypergraph_view eqp_hypergraph_arrays(const eqp_hypergraph *graph);

/** Sum over the edges of weight x (number of parts that the edge touches - 1): the data that an assignment sends if
 * every id has one home among its users. Local, O(pins), deterministic.
 * \param[in]  part  [nvertices] 0 to nparts - 1 (borrowed)
 * \return EQP_OK, EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp_hypergraph_cut(const eqp_hypergraph *graph, int nparts, const int *part, double *cut);

/** Frees; NULL is legal. */
void eqp_hypergraph_free(eqp_hypergraph *graph);

/** Results of a repair. */
typedef struct eqp_repair_result {
    double imbalance_before; /**< imbalance of the assignment as given */
    double imbalance;        /**< imbalance reached */
    double imbalance_floor;  /**< lower bound of any assignment (the largest item on the largest share) */
    int64_t moved;           /**< items that changed part */
    int empty_before;        /**< parts without items as given */
    int empty;               /**< remaining parts without items: none if shares are equal and n >= nparts */
    int within;              /**< 1 if imbalance <= tolerance */
} eqp_repair_result;

/** Repairs an assignment: gives items to empty parts (if there are enough items) and moves few items until the
 * imbalance is at most `imbalance_tol`. An assignment without empty parts and within the tolerance is unchanged. Items
 * go first to the part of a neighbour along the curve, then to the part that shares most hyperedge weight, then to the
 * part with most room; if moves do not suffice, items are swapped. If every item weighs at most imbalance_tol x total x
 * the smallest share, the tolerance is always reached; otherwise the result is the best that this search finds, and
 * `within` tells if it meets the tolerance. Local, deterministic, about O(n + moved log n + pins) per overloaded part.
 * \param[in]     n              items, in curve order
 * \param[in]     weight         [n] finite, >= 0 (borrowed)
 * \param[in]     graph          hypergraph with the items as vertices, or NULL (borrowed)
 * \param[in]     nparts         >= 1
 * \param[in]     share          [nparts] as in eqp_cuts_from_shares(), or NULL (borrowed)
 * \param[in]     imbalance_tol  wanted imbalance, >= 0
 * \param[in,out] part           [n] 0 to nparts - 1; unchanged on error
 * \param[out]    result         results
 * \return EQP_OK (even if the tolerance is out of reach), EQP_ERR_MEMORY or EQP_ERR_ARGUMENT */
int eqp_repair(int64_t n, const double *weight, const eqp_hypergraph *graph, int nparts, const double *share,
               double imbalance_tol, int *part, eqp_repair_result *result);

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
int eqp_overlaps_collect(int64_t n, const int *fresh, const int *now, const double *weight, int nparts,
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
int eqp_parts_relabel(int nparts, const double *share, int64_t noverlaps, const eqp_overlap *overlaps, int *number);

#ifdef __cplusplus
}
#endif
#endif
