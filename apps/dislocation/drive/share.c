/* SPDX-License-Identifier: BSD-3-Clause */
#include "share.h"

#include <equipoise/base.h>

#include <stdlib.h>
#include <string.h>

void dd_pair_centroid(const dd_domain *domain, const dd_segment *first, const dd_segment *second, double centroid[3])
{
    double m1[3], m2[3], between[3];

    for (int d = 0; d < 3; d++) {
        m1[d] = 0.5 * (first->x1[d] + first->x2[d]);
        m2[d] = 0.5 * (second->x1[d] + second->x2[d]);
    }
    dd_domain_offset(domain, m2, m1, between);
    for (int d = 0; d < 3; d++) {
        centroid[d] = m1[d] - first->x1[d] + 0.5 * between[d];
    }
}

void dd_share_centroid(const dd_domain *domain, const dd_grid *grid, const double x[3], int64_t cell,
                       double centroid[3])
{
    double centre[3];

    dd_grid_centre(grid, cell, centre);
    dd_domain_offset(domain, centre, x, centroid);
    for (int d = 0; d < 3; d++) {
        centroid[d] *= 0.5;
    }
}

/* Room for so many sources in columns of their own. */
static int reserve(dd_evaluator *evaluator, int64_t n, dd_columns *columns)
{
    int code = EQP_OK;

    if (n > evaluator->room) {
        double *memory = NULL;
        int64_t *chosen = NULL;
        code = eqp_array_create(&memory, 15 * (n + DD_LANES), sizeof *memory);
        if (code == EQP_OK) {
            code = eqp_array_create(&chosen, n, sizeof *chosen);
        }
        if (code != EQP_OK) {
            free(memory);
            return code;
        }
        free(evaluator->memory);
        free(evaluator->chosen);
        evaluator->memory = memory;
        evaluator->chosen = chosen;
        evaluator->room = n;
    }
    for (int c = 0; c < 15; c++) {
        *(c < 9 ? &columns->at[c] : &columns->force[c - 9]) = evaluator->memory + c * (evaluator->room + DD_LANES);
    }
    return code;
}

/* Which sources of a run are this rank's. */
static int64_t choose(const dd_domain *domain, const dd_stage *stage, const app_map *map, int64_t split,
                      const dd_segment *segment, const dd_run *run, int64_t *chosen)
{
    int64_t n = 0;

    for (int64_t j = run->first; j < run->first + run->n; j++) {
        const dd_segment other = dd_stage_segment(stage, j);
        double centroid[3];
        dd_pair_centroid(domain, segment, &other, centroid);
        if (app_map_rank(map, -1 - split, centroid) == domain->rank) {
            chosen[n++] = j;
        }
    }
    return n;
}

int dd_share_pairs(dd_evaluator *evaluator, const dd_domain *domain, const dd_stage *stage, const app_map *map,
                   const dd_target *target, int64_t cell, dd_counts *counts)
{
    const dd_segment segment = dd_stage_segment(stage, target->local);
    dd_run runs[DD_GRID_RUNS + 1];
    const int nruns = dd_stage_runs(stage, target->local, cell, runs);
    dd_pair_counts pairs = {0, 0};
    dd_columns columns;
    double force[6] = {0.0};
    int64_t most = 0, n = 0;
    int code;

    for (int r = 0; r < nruns; r++) {
        most += runs[r].n;
    }
    code = reserve(evaluator, most, &columns);
    for (int r = 0; r < nruns && code == EQP_OK; r++) {
        n += choose(domain, stage, map, target->split, &segment, &runs[r], evaluator->chosen + n);
    }
    if (code != EQP_OK || n == 0) {
        return code;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int c = 0; c < 9; c++) {
            columns.at[c][i] = stage->columns.at[c][evaluator->chosen[i]];
        }
    }
    for (int c = 0; c < 6; c++) {
        memset(columns.force[c], 0, (size_t)n * sizeof(double));
    }
    evaluator->pairs(&evaluator->medium, &segment, &columns, 0, n, force, &pairs);
    for (int c = 0; c < 6; c++) {
        stage->columns.force[c][target->local] += force[c];
        for (int64_t i = 0; i < n; i++) {
            stage->columns.force[c][evaluator->chosen[i]] += columns.force[c][i];
        }
    }
    counts->of[DD_KIND_RUN]++;
    counts->of[DD_KIND_PAIR] += pairs.general;
    counts->of[DD_KIND_PARALLEL] += pairs.parallel;
    return EQP_OK;
}
