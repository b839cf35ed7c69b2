/* SPDX-License-Identifier: BSD-3-Clause */
/* The hypergraph of work units and the particles that they touch, partitioned from where the units are, then checked
 * and repaired. Source: Pearce 2014, sections 4.1.2 and 4.1.3, Algorithms 7 and 8. */
#include "methods/frame/relabel_all.h"
#include "methods/frame/repair_all.h"
#include "methods/frame/rows.h"
#include "methods/hypergraph/phg.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Present parts that are less balanced than this are no start: repartitioning would first have to tear them apart. */
#define WILD_IMBALANCE 1.0

/* The parts to start from, in `part`: the present ones if they are known and fair, else the curve's. */
static int choose_start(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        int *from_present, eqp_balance_result *result)
{
    eqp_part_loads curve, now;
    int known, code;

    if ((code = eqp__cut_curve(comm, items->n, items->weight, options, 1, part)) ||
        (code =
             eqp_parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, NULL, &curve)) ||
        (code = eqp__parts_are_known(comm, items, options->nparts, &known))) {
        return code;
    }
    result->imbalance_curve = curve.imbalance;
    *from_present = 0;
    if (!known) {
        return EQP_OK;
    }
    if ((code = eqp_parts_load_all(comm, items->n, items->weight, items->part_now, options->nparts, options->share,
                                   NULL, &now))) {
        return code;
    }
    if (now.empty <= curve.empty && now.imbalance <= fmax(WILD_IMBALANCE, curve.imbalance)) {
        *from_present = 1;
        for (int64_t i = 0; i < items->n; i++) {
            part[i] = items->part_now[i];
        }
    }
    return EQP_OK;
}

/* Partitions from the parts in `part`, anew if fresh > 0. */
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
    if (code || (code = eqp_scan_int64(comm, items->n, NULL, &all_items)) ||
        (code = choose_start(comm, items, options, part, &from_present, result))) {
        return code;
    }
    /* Without pins there is nothing to cut, and with an item per part nothing to balance: the start is as good as
     * anything, and Zoltan fails on a single vertex. A curve's parts are refined: a fresh start on sampled pins ends
     * with up to twice the ghosts, since it knows less of who is near whom than the curve does. */
    if (options->nparts > 1 && all_pins > 0 && all_items > options->nparts) {
        const double fresh = from_present ? own.fresh : 0;
        code = refine(comm, items, options, fresh, part);
    }
    return code ? code : eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
}
