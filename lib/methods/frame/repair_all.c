/* SPDX-License-Identifier: BSD-3-Clause */
/* Repair of a distributed assignment. Rank 0 does the work: few items move. */
#include "methods/frame/repair_all.h"

#include "base/internal.h"
#include "methods/frame/gather.h"
#include "methods/frame/parts.h"
#include "methods/frame/repair.h"
#include "methods/frame/rows.h"
#include "methods/frame/shares.h"

#include <equipoise/more/comm.h>

static int repair(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    eqp_hypergraph *graph = NULL;
    eqp_repair_result repaired;
    int code;

    EQP_TRY(eqp__items_graph(items, &graph));
    EQP_TRY(eqp__parts_repair(items->n, items->weight, graph, options->nparts, options->share, options->imbalance_tol,
                              part, &repaired));
    result->repaired = repaired.moved;
done:
    eqp__hypergraph_free(graph);
    return code;
}

int eqp__repair_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                    double imbalance_tol, int *part, eqp_balance_result *result)
{
    eqp_balance_options here = *options;
    eqp_part_loads loads;
    int64_t total;

    here.imbalance_tol = imbalance_tol;
    EQP__CHECK(eqp__parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, NULL, &loads));
    EQP__CHECK(eqp_scan_int64(comm, items->n, NULL, &total));
    result->imbalance_unrepaired = loads.imbalance;
    result->repaired = 0;
    const bool fillable = loads.empty > 0 && total > options->nparts - loads.empty;
    if (fillable || loads.imbalance > imbalance_tol + EQP__IMBALANCE_SLACK) {
        EQP__CHECK(eqp__gather_and_assign(comm, items, &here, EQP__PINS, repair, part, result));
    }
    return EQP_OK;
}

/* Repairs the present parts, or the parts of the curve if present ones are unknown. */
static int assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    int code = eqp__present_parts(comm, items, options, part);

    if (code || options->nphases > 1) {
        return code ? code : eqp__repair_cycle(comm, items, options, part, result);
    }
    return eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
}

const eqp_method eqp__method_repair = {.name = "repair",
                                       .summary = "the present parts, mended by moving a few items",
                                       .flags = EQP_NEEDS_WEIGHTS,
                                       .assign = assign};
