/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `hypergraph`: partitions the hypergraph of items and their pins from scratch, then repairs the parts.
 * Source: Pearce 2014, section 4.1.3 and Algorithm 8, with whole owners as work units. */
#include "base/internal.h"
#include "methods/frame/relabel_all.h"
#include "methods/frame/repair_all.h"
#include "methods/frame/rows.h"
#include "methods/hypergraph/phg.h"

#include <equipoise/more/comm.h>

int eqp__hypergraph_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                           eqp_balance_result *result)
{
    int64_t all[2] = {items->n, items->n > 0 ? items->pin_first[items->n] : 0};

    EQP__CHECK(eqp_sum_int64(comm, 2, all));
    /* With at most one item per part or without pins, the cut of the curve is the result. */
    EQP__CHECK(eqp__cut_curve(comm, items->n, items->weight, options, 1, part));
    if (options->nparts > 1 && all[1] > 0 && all[0] > options->nparts) {
        EQP__CHECK(eqp__phg_partition(comm, items, options, "PARTITION", 0, EQP__PHG_ON_ROOT, part));
    }
    EQP__CHECK(eqp__relabel_all(comm, items, items->part_now, options, part, NULL));
    return eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
}
