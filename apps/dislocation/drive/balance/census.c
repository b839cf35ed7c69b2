/* SPDX-License-Identifier: BSD-3-Clause */
#include "census.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>

/* What a segment meets in a cell; of its own cell only what comes after it. */
static void meet(const dd_census *census, int64_t local, bool own, int64_t cell, dd_meeting *meeting)
{
    const dd_stage *stage = census->stage;
    const dd_segment segment = dd_stage_segment(stage, local);
    const int64_t first = own ? local + 1 : stage->cell_first[cell], end = stage->cell_first[cell + 1];

    meeting->runs += end > first;
    for (int64_t j = first; j < end; j++) {
        const dd_segment other = dd_stage_segment(stage, j);
        const bool parallel = dd_pairs_parallel(&census->evaluator->medium, &segment, &other);
        meeting->parallel += parallel;
        meeting->pair += !parallel;
    }
}

int dd_census_meet(dd_census *census, int64_t node, const dd_meeting **meeting)
{
    int64_t cells[DD_GRID_SOURCES];
    const int n = dd_grid_sources(&census->stage->grid, census->cell[node], cells);
    int code = EQP_OK;

    if (census->meeting[node] == NULL) {
        code = eqp_array_create(&census->meeting[node], n, sizeof **census->meeting);
        for (int64_t s = census->first[node]; s < census->first[node + 1] && code == EQP_OK; s++) {
            for (int c = 0; c < n; c++) {
                meet(census, census->stage->own_local[s], c == 0, cells[c], &census->meeting[node][c]);
            }
        }
    }
    if (code == EQP_OK) {
        *meeting = census->meeting[node];
    }
    return code;
}

/* Nodes that ranks share need not find all their partners here: a stage as if nobody shared any. */
static int fetch_whole(dd_domain *domain, const dd_halo *halo, const int64_t cells[3], dd_stage *whole)
{
    const int64_t n = domain->network.n;
    int64_t *split = NULL;
    int code = eqp_agree(domain->comm, eqp_array_create(&split, n, sizeof *split), NULL);

    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        split[i] = domain->network.node[i].split;
        domain->network.node[i].split = -1;
    }
    if (code == EQP_OK) {
        code = dd_stage_create(domain, halo, cells, NULL, whole);
        for (int64_t i = 0; i < n; i++) {
            domain->network.node[i].split = split[i];
        }
    }
    if (code == EQP_OK) {
        code = dd_stage_refresh(domain, halo, whole);
    }
    free(split);
    return code;
}

static int create_arrays(dd_census *census)
{
    int code;

    EQP_TRY(eqp_array_create(&census->first, census->n + 1, sizeof *census->first));
    EQP_TRY(eqp_array_create(&census->cell, census->n, sizeof *census->cell));
    EQP_TRY(eqp_array_create(&census->of_node, census->n, sizeof *census->of_node));
    EQP_TRY(eqp_array_create(&census->meeting, census->n, sizeof *census->meeting));
done:
    return code;
}

/* Pairs of a node: they were counted when they were computed; of one that ranks share nobody has counted all. */
static int count_pairs(dd_census *census, int64_t node, dd_counts *counts)
{
    int64_t cells[DD_GRID_SOURCES];
    const int n = dd_grid_sources(&census->stage->grid, census->cell[node], cells);
    const dd_meeting *meeting = NULL;
    int code;

    if (census->domain->network.node[node].split < 0) {
        counts->of[DD_KIND_PAIR] = census->evaluator->of_node[node].of[DD_KIND_PAIR];
        counts->of[DD_KIND_PARALLEL] = census->evaluator->of_node[node].of[DD_KIND_PARALLEL];
        return EQP_OK;
    }
    code = dd_census_meet(census, node, &meeting);
    for (int c = 0; c < n && code == EQP_OK; c++) {
        counts->of[DD_KIND_PAIR] += meeting[c].pair;
        counts->of[DD_KIND_PARALLEL] += meeting[c].parallel;
    }
    return code;
}

/* What a node does if it is computed whole; runs are those of this stage. */
static int count_whole(dd_census *census, int64_t node)
{
    const dd_stage *stage = census->stage;
    dd_counts *counts = &census->of_node[node];

    *counts = (dd_counts){{0}};
    counts->of[DD_KIND_SEGMENT] = census->first[node + 1] - census->first[node];
    for (int64_t s = census->first[node]; s < census->first[node + 1]; s++) {
        dd_run runs[DD_GRID_RUNS + 1];
        counts->of[DD_KIND_RUN] += dd_stage_runs(stage, stage->own_local[s], census->cell[node], runs);
    }
    return count_pairs(census, node, counts);
}

static int fill(dd_census *census)
{
    const dd_stage *stage = census->stage;
    int64_t own = 0;
    int code = census->evaluator->of_nodes == census->n ? create_arrays(census) : EQP_ERR_STATE;

    for (int64_t i = 0; i < census->n && code == EQP_OK; i++) { /* as own segments lie */
        census->cell[i] = dd_grid_cell(&stage->grid, census->domain->network.node[i].x);
        while (own < stage->nown && stage->own_node[own] == i) {
            own++;
        }
        census->first[i + 1] = own;
        code = count_whole(census, i);
    }
    return code;
}

int dd_census_take(dd_domain *domain, const dd_halo *halo, const dd_stage *stage, const dd_evaluator *evaluator,
                   dd_census *census)
{
    int64_t nsplit = 0;
    int code = EQP_OK;

    *census =
        (dd_census){.domain = domain, .halo = halo, .evaluator = evaluator, .stage = stage, .n = domain->network.n};
    for (int64_t i = 0; i < census->n; i++) {
        nsplit += domain->network.node[i].split >= 0;
    }
    code = eqp_sum_int64(domain->comm, 1, &nsplit);
    if (code == EQP_OK && nsplit > 0) {
        census->stage = &census->whole;
        code = fetch_whole(domain, halo, stage->grid.n, &census->whole);
    }
    return code == EQP_OK ? eqp_agree(domain->comm, fill(census), NULL) : code;
}

void dd_census_free(dd_census *census)
{
    for (int64_t i = 0; i < census->n && census->meeting != NULL; i++) {
        free(census->meeting[i]);
    }
    free(census->meeting);
    free(census->of_node);
    free(census->cell);
    free(census->first);
    dd_stage_free(&census->whole);
    *census = (dd_census){.n = 0};
}
