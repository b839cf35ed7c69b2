/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `levelled`, and the repair of the phases of given parts. One rank computes both for all ranks, so the
 * parts do not depend on the distribution of items. */
#include "base/internal.h"
#include "methods/frame/cycle.h"
#include "methods/frame/gather.h"
#include "methods/frame/relabel_all.h"
#include "methods/frame/repair_all.h"
#include "methods/frame/rows.h"
#include "methods/levels/levelled.h"

static eqp__levelling levelling_of(const eqp_balance_items *items, const eqp_balance_options *options)
{
    return (eqp__levelling){.n = items->n,
                            .weight = items->weight,
                            .load = items->phase_load,
                            .nphases = options->nphases,
                            .times = options->times,
                            .nparts = options->nparts,
                            .share = options->share,
                            .imbalance_tol = options->imbalance_tol};
}

/* With one phase the method is the weighted curve. */
static int levelled_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                          eqp_balance_result *result)
{
    const eqp__levelling in = levelling_of(items, options);
    eqp__levelled levelled;

    if (options->nphases < 2) {
        return eqp__method_sfc.assign_alone(items, options, part, result);
    }
    EQP__CHECK(eqp__levelled_assign(&in, part, &levelled));
    result->repaired = levelled.moved;
    return EQP_OK;
}

static int assign_levelled(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                           eqp_balance_result *result)
{
    if (options->nphases < 2) {
        return eqp__method_sfc.assign(comm, items, options, part, result);
    }
    EQP__CHECK(eqp__gather_and_assign(comm, items, options, EQP__PHASES, levelled_alone, part, result));
    return eqp__relabel_all(comm, items, items->part_now, options, part, NULL);
}

const eqp_method eqp__method_levelled = {.name = "levelled",
                                         .summary = "equal work in every phase: each bin's curve is cut for what lacks",
                                         .flags = EQP_NEEDS_WEIGHTS | EQP_SCATTERS,
                                         .assign = assign_levelled,
                                         .assign_alone = levelled_alone};

static int repair_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    const eqp__levelling in = levelling_of(items, options);
    eqp_cycle cycle;

    EQP__CHECK(eqp__cycle_measure(in.n, in.load, part, in.nphases, in.times, in.nparts, in.share, NULL, &cycle));
    EQP__CHECK(eqp__levelled_repair(&in, part, &result->repaired));
    result->imbalance_unrepaired = 1.0 / cycle.efficiency - 1.0;
    return EQP_OK;
}

int eqp__repair_cycle(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                      eqp_balance_result *result)
{
    return eqp__gather_and_assign(comm, items, options, EQP__PHASES, repair_alone, part, result);
}
