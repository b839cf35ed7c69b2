/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include <limits.h>

/* Counts pairs of a segment with a cell; in its own cell, with the segments after it. */
static void meet(const dd_node_pairs *node_pairs, int64_t local, bool own, int64_t cell, dd_meeting *meeting)
{
    const dd_stage *stage = node_pairs->stage;
    const dd_segment segment = dd_stage_segment(stage, local);
    const int64_t first = own ? local + 1 : stage->cell_first[cell], end = stage->cell_first[cell + 1];

    meeting->runs += end > first;
    for (int64_t j = first; j < end; j++) {
        const dd_segment other = dd_stage_segment(stage, j);
        const bool parallel = dd_pairs_parallel(&node_pairs->evaluator->medium, &segment, &other);
        meeting->parallel += parallel;
        meeting->pair += !parallel;
    }
}

int dd_node_pairs_meet(dd_node_pairs *node_pairs, int64_t node, const dd_meeting **meeting)
{
    int64_t cells[DD_GRID_SOURCES];
    const int n = dd_grid_sources(&node_pairs->stage->grid, node_pairs->cell[node], cells);

    if (node_pairs->meeting[node] == NULL) {
        EQP_CHECK(eqp_array_create(&node_pairs->meeting[node], n, sizeof **node_pairs->meeting));
        for (int64_t s = node_pairs->first[node]; s < node_pairs->first[node + 1]; s++) {
            for (int c = 0; c < n; c++) {
                meet(node_pairs, node_pairs->stage->own_local[s], c == 0, cells[c], &node_pairs->meeting[node][c]);
            }
        }
    }
    *meeting = node_pairs->meeting[node];
    return EQP_OK;
}

/* The stage may lack partners of shared nodes: fetches one as if no node were shared. */
static int fetch_whole(dd_domain *domain, const dd_halo *halo, const int64_t cells[3], dd_stage *whole)
{
    DD_FREED int64_t *split = NULL;
    dd_node *node = domain->network.node;
    const int64_t n = domain->network.n;
    struct dd_window *window = domain->window; /* has the segments of the other stage */
    int code = dd_stage_open(domain, cells, whole);

    code = code == EQP_OK ? eqp_array_create(&split, n, sizeof *split) : code;
    EQP_CHECK(eqp_agree(domain->comm, code, NULL));
    for (int64_t i = 0; i < n; i++) {
        split[i] = node[i].split;
        node[i].split = -1;
    }
    domain->window = NULL;
    code = dd_stage_create(domain, halo, NULL, whole);
    domain->window = window;
    for (int64_t i = 0; i < n; i++) {
        node[i].split = split[i];
    }
    EQP_CHECK(code);
    return dd_stage_refresh(domain, halo, whole);
}

static int create_arrays(dd_node_pairs *node_pairs)
{
    EQP_CHECK(eqp_array_create(&node_pairs->first, node_pairs->n + 1, sizeof *node_pairs->first));
    EQP_CHECK(eqp_array_create(&node_pairs->cell, node_pairs->n + node_pairs->halo->nghosts, sizeof *node_pairs->cell));
    EQP_CHECK(eqp_array_create(&node_pairs->of_node, node_pairs->n, sizeof *node_pairs->of_node));
    return eqp_array_create(&node_pairs->meeting, node_pairs->n, sizeof *node_pairs->meeting);
}

/* Work of a node computed whole: runs are those of this stage, pairs those that the evaluation counted, unless ranks
 * share the node. */
static int count_whole(dd_node_pairs *node_pairs, int64_t node)
{
    const dd_stage *stage = node_pairs->stage;
    const dd_counts *counted = &node_pairs->evaluator->of_node[node];
    dd_counts *counts = &node_pairs->of_node[node];
    int64_t cells[DD_GRID_SOURCES];
    const int n = dd_grid_sources(&stage->grid, node_pairs->cell[node], cells);
    const dd_meeting *meeting = NULL;

    *counts = (dd_counts){.of = {[DD_KIND_SEGMENT] = node_pairs->first[node + 1] - node_pairs->first[node]}};
    for (int64_t s = node_pairs->first[node]; s < node_pairs->first[node + 1]; s++) {
        dd_run runs[DD_GRID_RUNS + 1];
        counts->of[DD_KIND_RUN] += dd_stage_runs(stage, stage->own_local[s], node_pairs->cell[node], runs);
    }
    if (node_pairs->domain->network.node[node].split < 0) {
        counts->of[DD_KIND_PAIR] = counted->of[DD_KIND_PAIR];
        counts->of[DD_KIND_PARALLEL] = counted->of[DD_KIND_PARALLEL];
        return EQP_OK;
    }
    EQP_CHECK(dd_node_pairs_meet(node_pairs, node, &meeting));
    for (int c = 0; c < n; c++) {
        counts->of[DD_KIND_PAIR] += meeting[c].pair;
        counts->of[DD_KIND_PARALLEL] += meeting[c].parallel;
    }
    return EQP_OK;
}

static int fill(dd_node_pairs *node_pairs)
{
    const dd_stage *stage = node_pairs->stage;
    int64_t own = 0;

    EQP_CHECK(node_pairs->evaluator->of_nodes == node_pairs->n ? EQP_OK : EQP_ERR_STATE);
    EQP_CHECK(stage->grid.ncells > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
    EQP_CHECK(create_arrays(node_pairs));
    for (int64_t i = 0; i < node_pairs->n; i++) { /* as own segments lie */
        if (own < stage->nown && stage->own[own].node == i) {
            node_pairs->cell[i] = (int)dd_stage_cell(stage, stage->own_local[own]);
        }
        while (own < stage->nown && stage->own[own].node == i) {
            own++;
        }
        node_pairs->first[i + 1] = own;
        EQP_CHECK(count_whole(node_pairs, i));
    }
    return EQP_OK;
}

int dd_node_pairs_take(dd_domain *domain, const dd_halo *halo, const dd_stage *stage, const dd_evaluator *evaluator,
                       dd_node_pairs *node_pairs)
{
    int64_t nsplit = 0;

    *node_pairs =
        (dd_node_pairs){.domain = domain, .halo = halo, .evaluator = evaluator, .stage = stage, .n = domain->network.n};
    for (int64_t i = 0; i < node_pairs->n; i++) {
        nsplit += domain->network.node[i].split >= 0;
    }
    EQP_CHECK(eqp_sum_int64(domain->comm, 1, &nsplit));
    if (nsplit > 0) {
        node_pairs->stage = &node_pairs->whole;
        EQP_CHECK(fetch_whole(domain, halo, stage->grid.n, &node_pairs->whole));
    }
    EQP_CHECK(eqp_agree(domain->comm, fill(node_pairs), NULL));
    return dd_halo_spread(halo, node_pairs->cell, node_pairs->cell + node_pairs->n);
}

void dd_node_pairs_free(dd_node_pairs *node_pairs)
{
    for (int64_t i = 0; i < node_pairs->n && node_pairs->meeting != NULL; i++) {
        free(node_pairs->meeting[i]);
    }
    free(node_pairs->meeting);
    free(node_pairs->of_node);
    free(node_pairs->cell);
    free(node_pairs->first);
    dd_stage_free(&node_pairs->whole);
    *node_pairs = (dd_node_pairs){.n = 0};
}
