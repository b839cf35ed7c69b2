/* SPDX-License-Identifier: BSD-3-Clause */
#include "graph/graph.h"

#include "assign/links.h"
#include "par/gathered.h"
#include "par/methods.h"
#include "par/relabel_all.h"
#include "par/repair_all.h"

#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>

/* Fewer items for each part leave nothing to choose. */
#define LEAST_ITEMS 4

/* Of the mean weight, that an item has at least. */
#define LEAST_WEIGHT 1e-3

#define MOST_ROUNDS 200

#define ALL_WEIGHT 0x1p30
#define MOST_EDGES ((int64_t)1 << 30)

static void graph_free(eqp__graph *graph)
{
    free(graph->first);
    free(graph->edge);
    free(graph->edge_weight);
    free(graph->weight);
}

static int32_t whole(double weight, double factor)
{
    return (int32_t)fmax(1.0, round(weight * factor));
}

/* The weight over which no item counts more: the smallest part's, of weights that are limited so. Lowering weights
 * lowers what a part is to hold, so it is a fixed point. */
static double find_limit(int64_t n, const double *weight, double least, double smallest_share)
{
    double most = INFINITY, next;

    for (int round = 0; round < MOST_ROUNDS; round++) {
        double sum = 0.0;
        for (int64_t i = 0; i < n; i++) {
            sum += fmin(fmax(weight[i], least), most);
        }
        next = sum * smallest_share;
        if (next > 0.999 * most) {
            break;
        }
        most = next;
    }
    return most;
}

/* An item that is more than a part, or many that are nothing, would leave halves of halves without vertices, which
 * METIS complains of on standard output. */
static void weigh_vertices(const eqp__gathered *g, const eqp_balance_options *options, eqp__graph *graph)
{
    double smallest = 1.0 / options->nparts, sum = 0.0, kept = 0.0;

    for (int p = 0; p < options->nparts && options->share != NULL; p++) {
        smallest = fmin(smallest, options->share[p]);
    }
    for (int64_t i = 0; i < g->n; i++) {
        sum += g->weight[i];
    }
    const double least = LEAST_WEIGHT * sum / (double)g->n;
    const double most = find_limit(g->n, g->weight, least, smallest);
    for (int64_t i = 0; i < g->n; i++) {
        kept += fmin(fmax(g->weight[i], least), most);
    }
    for (int64_t i = 0; i < g->n; i++) {
        graph->weight[i] = kept > 0.0 ? whole(fmin(fmax(g->weight[i], least), most) / kept, ALL_WEIGHT) : 1;
    }
}

static int make_graph(const eqp__gathered *g, const eqp_balance_options *options, const eqp__links *links,
                      eqp__graph *graph)
{
    const int64_t nedges = links->first[g->n];
    double sum = 0.0;
    int code;

    EQP_TRY(nedges <= MOST_EDGES && g->n <= MOST_EDGES ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(eqp_array_create(&graph->first, g->n + 1, sizeof *graph->first));
    EQP_TRY(eqp_array_create(&graph->edge, nedges, sizeof *graph->edge));
    EQP_TRY(eqp_array_create(&graph->edge_weight, nedges, sizeof *graph->edge_weight));
    EQP_TRY(eqp_array_create(&graph->weight, g->n, sizeof *graph->weight));
    graph->n = (int32_t)g->n;
    for (int64_t i = 0; i <= g->n; i++) {
        graph->first[i] = (int32_t)links->first[i];
    }
    for (int64_t e = 0; e < nedges; e++) {
        sum += links->weight[e];
    }
    for (int64_t e = 0; e < nedges; e++) {
        graph->edge[e] = (int32_t)links->edge[e];
        graph->edge_weight[e] = whole(links->weight[e] / sum, ALL_WEIGHT);
    }
    weigh_vertices(g, options, graph);
done:
    return code;
}

/* On rank 0. The gathered parts are those of the curve. */
static int partition_here(eqp__gathered *g, const eqp_balance_options *options, eqp__graph_partitioner partition)
{
    eqp_hypergraph *pins = NULL;
    eqp__links links = {.first = NULL};
    eqp__graph graph = {.n = 0};
    int code;

    EQP_TRY(eqp__gathered_graph(g, &pins));
    EQP_TRY(eqp__links_of_cliques(pins, options->seed, &links));
    if (links.first[g->n] > 0) {
        EQP_TRY(make_graph(g, options, &links, &graph));
        eqp__links_free(&links); /* partitioners take memory, too */
        links = (eqp__links){.first = NULL};
        EQP_TRY(partition(&graph, options, g->part));
    }
done:
    graph_free(&graph);
    eqp__links_free(&links);
    eqp_hypergraph_free(pins);
    return code;
}

static int partition_gathered(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                              eqp__graph_partitioner partition, int *part)
{
    eqp__gathered g = {.n = 0};
    int code;

    EQP_TRY(eqp__gathered_open(comm, items, part, &g));
    if (!g.has_pins) { /* the same on all ranks */
        eqp_message_set(options->message, "balance: more pins than one rank takes: this method partitions on one");
        EQP_TRY(EQP_ERR_OVERFLOW);
    }
    code = g.way.rank == 0 ? partition_here(&g, options, partition) : EQP_OK;
    EQP_TRY(eqp__gathered_return(&g, code, items->n, part));
done:
    eqp__gathered_close(&g);
    return code;
}

int eqp__graph_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                      eqp__graph_partitioner partition, int *part, eqp_balance_result *result)
{
    int64_t all[2] = {items->n, items->n > 0 ? items->pin_first[items->n] : 0};
    int code;

    EQP_TRY(eqp_sum_int64(comm, 2, all));
    EQP_TRY(eqp__cut_curve(comm, items->n, items->weight, options, 1, part));
    if (options->nparts > 1 && all[1] > 0 && all[0] / options->nparts >= LEAST_ITEMS) {
        EQP_TRY(partition_gathered(comm, items, options, partition, part));
    }
    EQP_TRY(eqp__relabel_all(comm, items, items->part_now, options, part));
    EQP_TRY(eqp__repair_all(comm, items, options, options->imbalance_tol, part, result));
done:
    return code;
}
