/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods that know the phases of a cycle: `levelled`, and as its rival `pieces`; and the repair of such parts. One
 * rank does it for all, so the parts do not depend on how the items are spread. */
#include "assign/cycle.h"
#include "assign/levelled.h"
#include "assign/pieces.h"
#include "comm/collect.h"
#include "par/methods.h"
#include "par/relabel_all.h"
#include "par/repair_all.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/cycle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What assigns all items. */
typedef int (*alone)(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                     eqp_balance_result *result);

/* Items of all ranks on rank 0. */
typedef struct gathered {
    int64_t n, *particles;
    double *weight, *phase_load;
    int *part;
} gathered;

/* part: present ones to begin with; NULL: none. */
static int gather(const eqp_balance_items *items, int nphases, const int *part, eqp__collect *way, gathered *g)
{
    int code;

    EQP_TRY(eqp__collect_announce(way, items->n, &g->n));
    EQP_TRY(eqp__collect_array(way, EQP_OK, g->n, sizeof *g->weight, items->weight, &g->weight));
    EQP_TRY(eqp__collect_array(way, EQP_OK, g->n, sizeof *g->particles, items->particles, &g->particles));
    if (nphases > 1) {
        EQP_TRY(eqp__collect_array(way, EQP_OK, g->n, (size_t)nphases * sizeof *g->phase_load, items->phase_load,
                                   &g->phase_load));
    }
    EQP_TRY(part != NULL ? eqp__collect_array(way, EQP_OK, g->n, sizeof *part, part, &g->part)
                         : eqp_agree(way->comm, eqp_array_create(&g->part, g->n, sizeof *g->part), NULL));
done:
    return code;
}

/* keeps: what assigns begins with the parts that there are, and renumbers none. */
static int assign_on_root(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                          alone assign, bool keeps, int *part, eqp_balance_result *result)
{
    eqp__collect way = {.comm = comm};
    gathered g = {.n = 0};
    int code;

    EQP_TRY(eqp__collect_open(comm, &way));
    EQP_TRY(gather(items, options->nphases, keeps ? part : NULL, &way, &g));
    if (way.rank == 0) {
        const eqp_balance_items all = {
            .n = g.n, .weight = g.weight, .particles = g.particles, .phase_load = g.phase_load};
        code = assign(&all, options, g.part, result);
    }
    EQP_TRY(eqp_agree(comm, code, options->message));
    EQP_TRY(eqp__collect_return(&way, sizeof *part, g.part, part));
    EQP_TRY(keeps ? EQP_OK : eqp__relabel_all(comm, items, items->part_now, options, part, NULL));
    EQP_TRY(MPI_Bcast(&result->repaired, 1, MPI_INT64_T, 0, comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
done:
    eqp__collect_close(&way);
    free(g.particles);
    free(g.weight);
    free(g.phase_load);
    free(g.part);
    return code;
}

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

/* With one load it is the weighted curve. */
static int levelled_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                          eqp_balance_result *result)
{
    const eqp__levelling in = levelling_of(items, options);
    eqp__levelled levelled;
    int code;

    if (options->nphases < 2) {
        return eqp__method_sfc.assign_alone(items, options, part, result);
    }
    EQP_TRY(eqp__levelled_assign(&in, part, &levelled));
    result->repaired = levelled.moved;
done:
    return code;
}

static int assign_levelled(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                           eqp_balance_result *result)
{
    return options->nphases < 2 ? eqp__method_sfc.assign(comm, items, options, part, result)
                                : assign_on_root(comm, items, options, levelled_alone, false, part, result);
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
    int code;

    EQP_TRY(eqp_cycle_measure(in.n, in.load, part, in.nphases, in.times, in.nparts, in.share, NULL, &cycle));
    EQP_TRY(eqp__levelled_repair(&in, part, &result->repaired));
    result->imbalance_unrepaired = 1.0 / cycle.efficiency - 1.0;
done:
    return code;
}

int eqp__repair_cycle(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                      eqp_balance_result *result)
{
    int code;

    EQP_TRY(assign_on_root(comm, items, options, repair_alone, true, part, result));
    EQP_TRY(MPI_Bcast(&result->imbalance_unrepaired, 1, MPI_DOUBLE, 0, comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
done:
    return code;
}

/* Of the row; 0: PIECES. */
typedef struct own_settings {
    int64_t pieces;
} own_settings;

#define PIECES 8
#define MOST_PIECES 1000

/* The loads of an item are those of the phases, or its weight, and its particles for the memory that it takes. */
static int pieces_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    const int nphases = options->nphases > 1 ? options->nphases : 1, ncolumns = nphases + 1;
    const double *phase = options->nphases > 1 ? items->phase_load : items->weight;
    own_settings own;
    double *load = NULL;
    int code;

    (void)result;
    memcpy(&own, &options->settings, sizeof own);
    EQP_TRY(eqp_array_create(&load, items->n * ncolumns, sizeof *load));
    for (int64_t i = 0; i < items->n; i++) {
        memcpy(load + i * ncolumns, phase + i * nphases, (size_t)nphases * sizeof *load);
        load[i * ncolumns + nphases] = (double)items->particles[i];
    }
    EQP_TRY(eqp__pieces_assign(items->n, load, ncolumns, options->nparts, options->share,
                               own.pieces > 0 ? own.pieces : PIECES, part));
done:
    free(load);
    return code;
}

static int assign_pieces(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                         eqp_balance_result *result)
{
    return assign_on_root(comm, items, options, pieces_alone, false, part, result);
}

static const eqp_option own_options[] = {{"pieces", EQP_OPTION_INT, offsetof(own_settings, pieces), 1, false,
                                          MOST_PIECES, NULL, "pieces for each part; without it 8"}};

const eqp_method eqp__method_pieces = {.name = "pieces",
                                       .summary = "pieces of one curve, dealt by the loads of all phases and memory",
                                       .flags = EQP_NEEDS_WEIGHTS | EQP_SCATTERS,
                                       .assign = assign_pieces,
                                       .noptions = 1,
                                       .option = own_options,
                                       .assign_alone = pieces_alone};
