/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/graph/graph.h"

#include "base/internal.h"
#include "methods/frame/frame.h"
#include "methods/frame/links.h"

#include <equipoise/more/comm.h>

#include <float.h>
#include <math.h>
#include <metis.h>

/* Fewest items per part for which partitioning is useful. */
#define LEAST_ITEMS 4

/* Least weight of an item, as a fraction of the mean. */
#define LEAST_WEIGHT 1e-3

#define MOST_ROUNDS 200

/* Lower bound of the limit of weights, as a fraction of the largest weight. */
#define LEAST_LIMIT 1e-6

#define ALL_WEIGHT 0x1p30
#define MOST_EDGES ((int64_t)1 << 30)

/* A graph with integer weights. Each kind of weight sums to about 2^30, so that sums fit into 32 bits. Weights are at
 * least 1, except for the second and later weights of a vertex. */
typedef struct metis_graph {
    int32_t n;
    int32_t *first;       /* [n + 1] */
    int32_t *edge;        /* [first[n]] each edge stored at both its ends */
    int32_t *edge_weight; /* [first[n]] */
    int nweights;
    int32_t *weight; /* [n][nweights] at most the smallest part's target; the first >= 0.001 of the mean */
} metis_graph;

static int32_t whole(double weight, double factor)
{
    return (int32_t)fmax(1.0, round(weight * factor));
}

/* One weight of every item: w[0], w[stride], ... */
typedef struct column {
    int64_t n;
    const double *w;
    int stride;
    double least, most; /* bounds to which weights are clamped */
} column;

static double counted(const column *c, int64_t i)
{
    return fmin(fmax(c->w[i * c->stride], c->least), c->most);
}

static double sum_of(const column *c)
{
    double sum = 0.0;

    for (int64_t i = 0; i < c->n; i++) {
        sum += counted(c, i);
    }
    return sum;
}

/* Limits the weight of an item to the target weight of the smallest part. Clamping weights lowers that target, so the
 * limit is a fixed point. If there are more parts than items with weight, the limit falls to LEAST_LIMIT and these
 * items count the same. */
static void limit(column *c, double smallest_share)
{
    double next, largest = 0.0;

    for (int64_t i = 0; i < c->n; i++) {
        largest = fmax(largest, c->w[i * c->stride]);
    }
    for (int round = 0; round < MOST_ROUNDS; round++) {
        next = sum_of(c) * smallest_share;
        if (next > 0.999 * c->most || next < LEAST_LIMIT * largest) {
            break;
        }
        c->most = next;
    }
}

/* Number of items with load in phase k. */
static int64_t count_loads(const eqp_balance_items *items, int nphases, int k)
{
    int64_t n = 0;

    for (int64_t i = 0; i < items->n; i++) {
        n += items->phase_load[i * nphases + k] > 0.0;
    }
    return n;
}

/* Sets the integer weights of the vertices. An item heavier than a part, or many items without weight, would leave
 * pieces of the bisection without vertices, and METIS would print to standard output. A phase with load in few items
 * has the same effect, so it gets the loads of the first phase. */
static void weigh_vertices(const eqp_balance_items *items, const eqp_balance_options *options, metis_graph *graph)
{
    const int nweights = graph->nweights;
    double smallest = 1.0 / options->nparts;

    for (int p = 0; p < options->nparts && options->share != NULL; p++) {
        smallest = fmin(smallest, options->share[p]);
    }
    for (int k = 0; k < nweights; k++) {
        const bool few = nweights > 1 && count_loads(items, nweights, k) < (int64_t)LEAST_ITEMS * options->nparts;
        column c = {items->n, nweights > 1 ? items->phase_load + (few ? 0 : k) : items->weight, nweights, 0.0,
                    INFINITY};
        c.least = k == 0 ? LEAST_WEIGHT * sum_of(&c) / (double)items->n : 0.0;
        limit(&c, smallest);
        const double kept = sum_of(&c);
        for (int64_t i = 0; i < items->n; i++) {
            const bool any = k == 0 || counted(&c, i) > 0.0;
            graph->weight[i * nweights + k] = kept > 0.0 && any ? whole(counted(&c, i) / kept, ALL_WEIGHT) : any;
        }
    }
}

static int make_graph(const eqp_balance_items *items, const eqp_balance_options *options, const eqp__links *links,
                      metis_graph *graph)
{
    const int64_t nedges = links->first[items->n];
    double sum = 0.0;

    EQP__CHECK(nedges <= MOST_EDGES && items->n <= MOST_EDGES ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(graph->first, items->n + 1), EQP__ARRAY(graph->edge, nedges),
                           EQP__ARRAY(graph->edge_weight, nedges),
                           EQP__ARRAY(graph->weight, items->n * graph->nweights)));
    graph->n = (int32_t)items->n;
    for (int64_t i = 0; i <= items->n; i++) {
        graph->first[i] = (int32_t)links->first[i];
    }
    for (int64_t e = 0; e < nedges; e++) {
        sum += links->weight[e];
    }
    for (int64_t e = 0; e < nedges; e++) {
        graph->edge[e] = (int32_t)links->edge[e];
        graph->edge_weight[e] = whole(links->weight[e] / sum, ALL_WEIGHT);
    }
    weigh_vertices(items, options, graph);
    return EQP_OK;
}

/* Multilevel recursive bisection of the graph of items by METIS. Its k-way partitioning balances better, but its cuts
 * of these dense graphs need up to two thirds more ghosts. The loads of each phase are a separate constraint. */

/* Smallest tolerance passed to METIS, which does not accept 1. */
#define LEAST_TOLERANCE 1.0005

/* Bisections tried, of which METIS keeps the best; a single one may need up to half as many ghosts again. */
#define CUTS 4

static int read_status(int status)
{
    return status == METIS_OK ? EQP_OK : status == METIS_ERROR_MEMORY ? EQP_ERR_MEMORY : EQP_ERR_INTERNAL;
}

/* The heaviest vertex as a fraction of a part; added to the tolerance, since METIS drops all constraints if one cannot
 * be met. */
static double coarseness(const metis_graph *graph, int k, int nparts)
{
    double largest = 0.0, sum = 0.0;

    for (int64_t i = 0; i < graph->n; i++) {
        largest = fmax(largest, graph->weight[i * graph->nweights + k]);
        sum += graph->weight[i * graph->nweights + k];
    }
    return sum > 0.0 ? largest * nparts / sum : 0.0;
}

static int partition_graph(const metis_graph *graph, const eqp_balance_options *options, int *part)
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

/* Partitions all items on rank 0. part: the curve's parts in; unchanged if items share no pins. Local. */
static int partition(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                     eqp_balance_result *result)
{
    eqp_hypergraph pins = {0};
    eqp__links links = {.first = NULL};
    metis_graph graph = {.n = 0, .nweights = items->phase_load != NULL ? options->nphases : 1};
    int code;

    (void)result;
    EQP_TRY(items->pin_first == NULL ? EQP__SAY(options->message, EQP_ERR_OVERFLOW,
                                                "balance: more pins than one rank takes: this method partitions on one")
                                     : EQP_OK);
    EQP_TRY(eqp__items_graph(items, &pins));
    EQP_TRY(eqp__links_of_cliques(&pins, options->seed, &links));
    if (links.first[items->n] > 0) {
        EQP_TRY(make_graph(items, options, &links, &graph));
        eqp__links_free(&links); /* frees memory for METIS */
        links = (eqp__links){.first = NULL};
        EQP_TRY(partition_graph(&graph, options, part));
    }
done:
    EQP__FREE(graph.first, graph.edge, graph.edge_weight, graph.weight);
    eqp__links_free(&links);
    eqp__hypergraph_free(&pins);
    return code;
}

int eqp__metis_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                      eqp_balance_result *result)
{
    const double tolerance = options->nphases > 1 ? DBL_MAX : options->imbalance_tol;
    int64_t all[2] = {items->n, items->n > 0 ? items->pin_first[items->n] : 0};

    EQP__CHECK(eqp_sum_int64(comm, 2, all));
    EQP__CHECK(eqp__cut_curve(comm, EQP_OK, items->n, items->weight, options, 1, part));
    if (options->nparts > 1 && all[1] > 0 && all[0] / options->nparts >= LEAST_ITEMS) {
        EQP__CHECK(eqp__gather_and_assign(comm, items, options, EQP__PINS | EQP__PHASES, partition, part, result));
    }
    EQP__CHECK(eqp__relabel_all(comm, items, items->part_now, options, part, NULL));
    return eqp__repair_all(comm, items, options, tolerance, part, result);
}
