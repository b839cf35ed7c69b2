/* SPDX-License-Identifier: BSD-3-Clause */
/* Repair of a distributed assignment: few items move, so one rank does it for all. */
#include "par/repair_all.h"

#include "assign/shares.h"
#include "par/gathered.h"
#include "par/methods.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/par.h>

/* The repair itself, on rank 0. */
static int repair_here(eqp__gathered *g, const eqp_balance_options *o, double imbalance_tol, int64_t *moved)
{
    eqp_hypergraph *graph = NULL;
    eqp_repair_result result;
    int code = eqp__gathered_graph(g, &graph);

    code = code ? code : eqp_repair(g->n, g->weight, graph, o->nparts, o->share, imbalance_tol, g->part, &result);
    if (!code) {
        *moved = result.moved;
    }
    eqp_hypergraph_free(graph);
    return code;
}

static int repair_gathered(MPI_Comm comm, eqp__gathered *g, const eqp_balance_items *items,
                           const eqp_balance_options *options, double imbalance_tol, int *part, int64_t *moved)
{
    int code = eqp__gathered_open(comm, items, part, g);

    if (code) {
        return code;
    }
    code = g->way.rank == 0 ? repair_here(g, options, imbalance_tol, moved) : EQP_OK;
    if ((code = eqp__gathered_return(g, code, items->n, part))) {
        return code;
    }
    return MPI_Bcast(moved, 1, MPI_INT64_T, 0, comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
}

int eqp__repair_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                    double imbalance_tol, int *part, eqp_balance_result *result)
{
    eqp__gathered g = {.n = 0};
    eqp_part_loads loads;
    int64_t total;
    int code = eqp_parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, NULL, &loads);

    if (code || (code = eqp_scan_int64(comm, items->n, NULL, &total))) {
        return code;
    }
    result->imbalance_unrepaired = loads.imbalance;
    result->repaired = 0;
    int fillable = loads.empty > 0 && total > options->nparts - loads.empty;
    if (fillable || loads.imbalance > imbalance_tol + EQP__IMBALANCE_SLACK) {
        code = repair_gathered(comm, &g, items, options, imbalance_tol, part, &result->repaired);
        eqp__gathered_close(&g);
    }
    return code;
}

/* The present parts, with as few items moved as the tolerance takes; the curve's where they are not known. */
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
