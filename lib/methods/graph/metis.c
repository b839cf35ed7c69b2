/* SPDX-License-Identifier: BSD-3-Clause */
/* Multilevel recursive bisection of the graph of items by METIS. Its k-way partitioning balances better, but its cuts
 * of these dense graphs need up to two thirds more ghosts. The loads of each phase are a separate constraint. */
#include "methods/graph/graph.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <metis.h>
#include <stdlib.h>

/* Smallest tolerance passed to METIS, which does not accept 1. */
#define LEAST_TOLERANCE 1.0005

/* Bisections tried, of which METIS keeps the best. A single one may need up to half as many ghosts more. */
#define CUTS 4

static int read_status(int status)
{
    return status == METIS_OK ? EQP_OK : status == METIS_ERROR_MEMORY ? EQP_ERR_MEMORY : EQP_ERR_INTERNAL;
}

/* The heaviest vertex as a fraction of a part; added to the tolerance, since METIS drops all constraints if one cannot
 * be met. */
static double coarseness(const eqp__graph *graph, int k, int nparts)
{
    double largest = 0.0, sum = 0.0;

    for (int64_t i = 0; i < graph->n; i++) {
        largest = fmax(largest, graph->weight[i * graph->nweights + k]);
        sum += graph->weight[i * graph->nweights + k];
    }
    return sum > 0.0 ? largest * nparts / sum : 0.0;
}

int eqp__metis_partition(const eqp__graph *graph, const eqp_balance_options *options, int *part)
{
    idx_t set[METIS_NOPTIONS], n = graph->n, nconstraints = graph->nweights, nparts = options->nparts, cut;
    real_t most[EQP_CYCLE_PHASES], *share = NULL;
    int code;

    if (options->share != NULL) {
        EQP_TRY(eqp_array_create(&share, (int64_t)nparts * nconstraints, sizeof *share));
        for (int64_t j = 0; j < (int64_t)nparts * nconstraints; j++) {
            share[j] = (real_t)options->share[j / nconstraints];
        }
    }
    for (int k = 0; k < nconstraints; k++) {
        const double wanted = options->imbalance_tol + (nconstraints > 1 ? coarseness(graph, k, nparts) : 0.0);
        /* Tolerance of each bisection; the errors of successive bisections multiply. */
        most[k] = (real_t)fmax(pow(1.0 + wanted, 1.0 / ceil(log2(nparts))), LEAST_TOLERANCE);
    }
    METIS_SetDefaultOptions(set);
    set[METIS_OPTION_NCUTS] = CUTS;
    set[METIS_OPTION_SEED] = (idx_t)(options->seed & INT32_MAX);
    EQP_TRY(read_status(METIS_PartGraphRecursive(&n, &nconstraints, graph->first, graph->edge, graph->weight, NULL,
                                                 graph->edge_weight, &nparts, share, most, set, &cut, part)));
done:
    free(share);
    return code;
}
