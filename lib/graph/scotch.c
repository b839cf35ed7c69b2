/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `scotch`: the graph of items mapped onto parts that are all equally far from each other. */
#include "graph/graph.h"
#include "par/partitioners.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <scotch.h>

/* Of shares as whole numbers. */
#define ALL_SHARES 0x1p24

/* What a call of Scotch takes: zero bytes are nothing that is open. */
typedef struct mapping {
    SCOTCH_Context context; /* of its own: one thread, and random numbers of one seed */
    SCOTCH_Graph graph, bound;
    SCOTCH_Arch arch;
    SCOTCH_Strat strategy;
} mapping;

static int check(int status)
{
    return status == 0 ? EQP_OK : EQP_ERR_INTERNAL;
}

static int set_parts(const eqp_balance_options *options, SCOTCH_Arch *arch)
{
    SCOTCH_Num *size = NULL;
    int code;

    if (options->share == NULL) {
        return check(SCOTCH_archCmplt(arch, options->nparts));
    }
    EQP_TRY(eqp_array_create(&size, options->nparts, sizeof *size));
    for (int p = 0; p < options->nparts; p++) {
        size[p] = (SCOTCH_Num)fmax(1.0, round(ALL_SHARES * options->share[p]));
    }
    EQP_TRY(check(SCOTCH_archCmpltw(arch, options->nparts, size)));
done:
    free(size);
    return code;
}

static int map(mapping *m, const eqp__graph *graph, const eqp_balance_options *options, int *part)
{
    int code;

    EQP_TRY(check(SCOTCH_contextThreadSpawn(&m->context, 1, NULL)));
    EQP_TRY(check(SCOTCH_contextRandomClone(&m->context)));
    SCOTCH_contextRandomSeed(&m->context, (SCOTCH_Num)(options->seed & INT32_MAX));
    SCOTCH_contextRandomReset(&m->context);
    EQP_TRY(check(SCOTCH_graphBuild(&m->graph, 0, graph->n, graph->first, NULL, graph->weight, NULL,
                                    graph->first[graph->n], graph->edge, graph->edge_weight)));
    EQP_TRY(check(SCOTCH_contextBindGraph(&m->context, &m->graph, &m->bound)));
    EQP_TRY(set_parts(options, &m->arch));
    EQP_TRY(
        check(SCOTCH_stratGraphMapBuild(&m->strategy, SCOTCH_STRATDEFAULT, options->nparts, options->imbalance_tol)));
    EQP_TRY(check(SCOTCH_graphMap(&m->bound, &m->arch, &m->strategy, part)));
done:
    return code;
}

static int partition(const eqp__graph *graph, const eqp_balance_options *options, int *part)
{
    mapping m;
    int code;

    EQP_TRY(check(SCOTCH_contextInit(&m.context)));
    (void)SCOTCH_graphInit(&m.graph);
    (void)SCOTCH_graphInit(&m.bound);
    (void)SCOTCH_archInit(&m.arch);
    (void)SCOTCH_stratInit(&m.strategy);
    code = map(&m, graph, options, part);
    SCOTCH_stratExit(&m.strategy);
    SCOTCH_archExit(&m.arch);
    SCOTCH_graphExit(&m.bound);
    SCOTCH_graphExit(&m.graph);
    SCOTCH_contextExit(&m.context);
done:
    return code;
}

int eqp__scotch_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result)
{
    return eqp__graph_assign(comm, items, options, 1, partition, part, result);
}
