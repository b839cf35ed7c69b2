/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `hypergraph`: partitions the hypergraph of items and their pins from scratch, then repairs the parts.
 * Source: Pearce 2014, section 4.1.3 and Algorithm 8, with whole owners as work units. */
#include "base/internal.h"
#include "methods/frame/frame.h"
#include "methods/hypergraph/phg.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <string.h>

int eqp__hypergraph_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                           eqp_balance_result *result)
{
    int64_t all[2] = {items->n, items->n > 0 ? items->pin_first[items->n] : 0};

    EQP__CHECK(eqp_sum_int64(comm, 2, all));
    /* With at most one item per part or without pins, the cut of the curve is the result. */
    EQP__CHECK(eqp__cut_curve(comm, EQP_OK, items->n, items->weight, options, 1, part));
    if (options->nparts > 1 && all[1] > 0 && all[0] > options->nparts) {
        EQP__CHECK(eqp__phg_partition(comm, items, options, "PARTITION", 0, EQP__PHG_ON_ROOT, part));
    }
    EQP__CHECK(eqp__relabel_all(comm, items, items->part_now, options, part, NULL));
    return eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
}

/* The method `interaction`: partitions the hypergraph of work units and their particles, starting from the present
 * parts or the curve, then repairs the parts. Source: Pearce 2014, sections 4.1.2 and 4.1.3, Algorithms 7 and 8. */

/* Largest imbalance of present parts that serve as the start; worse parts would have to be torn apart first. */
#define WILD_IMBALANCE 1.0

/* Sets `part` to the start: the present parts if they are known and balanced well enough, else the cut of the curve.
 * Collective. */
static int choose_start(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        int *from_present, eqp_balance_result *result)
{
    eqp_part_loads curve, now;
    int known;

    EQP__CHECK(eqp__cut_curve(comm, EQP_OK, items->n, items->weight, options, 1, part));
    EQP__CHECK(eqp__parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, &curve));
    EQP__CHECK(eqp__parts_are_known(comm, items, options->nparts, &known));
    result->imbalance_curve = curve.imbalance;
    *from_present = 0;
    if (!known) {
        return EQP_OK;
    }
    EQP__CHECK(
        eqp__parts_load_all(comm, items->n, items->weight, items->part_now, options->nparts, options->share, &now));
    if (now.empty <= curve.empty && now.imbalance <= fmax(WILD_IMBALANCE, curve.imbalance)) {
        *from_present = 1;
        for (int64_t i = 0; i < items->n; i++) {
            part[i] = items->part_now[i];
        }
    }
    return EQP_OK;
}

/* Refines the parts in `part`, or repartitions if fresh > 0. Collective. */
static int refine(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, double fresh,
                  int *part)
{
    int *start = NULL;
    int code = eqp_agree(comm, eqp_array_create(&start, items->n, sizeof *start), NULL);

    if (!code && items->n > 0) {
        memcpy(start, part, (size_t)items->n * sizeof *start);
    }
    code = code ? code
                : eqp__phg_partition(comm, items, options, fresh > 0 ? "REPARTITION" : "REFINE", fresh,
                                     EQP__PHG_ON_ROOT, part);
    code = code ? code : eqp__relabel_all(comm, items, start, options, part, NULL);
    free(start);
    return code;
}

int eqp__interaction_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                            int *part, eqp_balance_result *result)
{
    eqp__interaction_settings own;
    int from_present;
    int64_t npins = items->n > 0 ? items->pin_first[items->n] : 0, all_pins = 0, all_items = 0;
    int code = eqp_scan_int64(comm, npins, NULL, &all_pins);

    memcpy(&own, &options->settings, sizeof own);
    EQP__CHECK(code);
    EQP__CHECK(eqp_scan_int64(comm, items->n, NULL, &all_items));
    EQP__CHECK(choose_start(comm, items, options, part, &from_present, result));
    /* The start is the result without pins or with at most one item per part; Zoltan fails on a single vertex. The
     * curve's parts are always refined: repartitioning from sampled pins gives up to twice the ghosts, since the curve
     * knows more about proximity than sampled pins do. */
    if (options->nparts > 1 && all_pins > 0 && all_items > options->nparts) {
        const double fresh = from_present ? own.fresh : 0;
        code = refine(comm, items, options, fresh, part);
    }
    return code ? code : eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
}
