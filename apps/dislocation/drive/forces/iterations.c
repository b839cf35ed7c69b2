/* SPDX-License-Identifier: BSD-3-Clause */
#include "iterations.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

int dd_runs_add(dd_run **runs, int64_t *n, int64_t *room, dd_run run)
{
    const int code = eqp_array_reserve(runs, room, *n + 1, sizeof **runs);
    int64_t low = *n, high = *n, end = run.first + run.n;

    if (code != EQP_OK) {
        return code;
    }
    /* The runs that it meets; most runs come at the end. */
    while (low > 0 && (*runs)[low - 1].first + (*runs)[low - 1].n >= run.first) {
        low--;
        high = (*runs)[low].first > end ? low : high;
    }
    if (high > low) {
        const dd_run last = (*runs)[high - 1];
        end = last.first + last.n > end ? last.first + last.n : end;
        run.first = (*runs)[low].first < run.first ? (*runs)[low].first : run.first;
        run.n = end - run.first;
    }
    memmove(*runs + low + 1, *runs + high, (size_t)(*n - high) * sizeof **runs);
    (*runs)[low] = run;
    *n += 1 - (high - low);
    return EQP_OK;
}

int64_t dd_runs_place(const dd_run *runs, int64_t n, int64_t local)
{
    int64_t before = 0;

    for (int64_t r = 0; r < n && local >= runs[r].first; r++) {
        if (local < runs[r].first + runs[r].n) {
            return before + local - runs[r].first;
        }
        before += runs[r].n;
    }
    return -1;
}

int dd_iteration_runs(const dd_stage *stage, const dd_target *target, int64_t *cell, dd_run runs[DD_GRID_SOURCES])
{
    while (target->local >= stage->cell_first[*cell + 1]) {
        ++*cell;
    }
    return dd_stage_target_runs(stage, target, *cell, runs);
}

/* The list in progress. */
typedef struct maker {
    const dd_stage *stage;
    dd_iterations *list;
    dd_run *touch; /* of the current iteration; owned */
    int64_t ntouches, touch_room;
    int64_t whole;       /* cell of a target whose partners include those of all targets after it; -1: none */
    int64_t whole_pairs; /* pairs of that target plus its place: each later target has one pair less for each place */
    int64_t pairs;       /* of the current iteration */
} maker;

static int touch(maker *m, dd_run run)
{
    return dd_runs_add(&m->touch, &m->ntouches, &m->touch_room, run);
}

/* Segments that a target touches: in a cell computed here alone only its first target adds any. */
static int touch_target(maker *m, const dd_target *target, int64_t *cell)
{
    dd_run runs[DD_GRID_SOURCES];
    int64_t pairs = 0;
    int n = 0, code = touch(m, (dd_run){target->local, 1});

    while (target->local >= m->stage->cell_first[*cell + 1]) {
        ++*cell;
    }
    if (target->share >= 0 || m->whole != *cell) {
        n = dd_stage_target_runs(m->stage, target, *cell, runs);
        for (int r = 0; r < n && code == EQP_OK; r++) {
            code = touch(m, runs[r]);
            pairs += runs[r].n;
        }
        if (target->share < 0) {
            m->whole = *cell;
            m->whole_pairs = pairs + target->local;
        }
    } else {
        pairs = m->whole_pairs - target->local;
    }
    m->pairs += pairs;
    return code;
}

/* Appends the targets before `end` as an iteration, unless they have no pairs. */
static int close_iteration(maker *m, dd_iteration iteration, int64_t end)
{
    dd_iterations *list = m->list;
    int code;

    EQP_TRY(eqp_array_reserve(&list->of, &list->room, list->n + 1, sizeof *list->of));
    EQP_TRY(eqp_array_reserve(&list->touch, &list->touch_room, list->ntouches + m->ntouches, sizeof *list->touch));
    if (m->pairs > 0) {
        iteration.ntargets = end - iteration.target;
        iteration.touch = list->ntouches;
        iteration.ntouches = m->ntouches;
        for (int64_t t = 0; t < m->ntouches; t++) {
            list->touch[list->ntouches++] = m->touch[t];
            iteration.touched += m->touch[t].n;
        }
        list->of[list->n++] = iteration;
    }
done:
    m->ntouches = 0;
    m->whole = -1;
    m->pairs = 0;
    return code;
}

int dd_iterations_list(const dd_stage *stage, dd_iterations *list)
{
    maker m = {.stage = stage, .list = list, .whole = -1};
    int64_t cell = 0, end;
    int code = EQP_OK;

    list->n = list->ntouches = 0;
    for (int64_t t = 0; t < stage->ntargets && code == EQP_OK; t = end) {
        dd_iteration iteration = {.target = t};
        while (stage->target[t].local >= stage->cell_first[cell + 1]) {
            cell++;
        }
        iteration.cell = cell;
        for (end = t;
             end < stage->ntargets && end - t < DD_ITERATION_TARGETS && m.pairs < DD_ITERATION_PAIRS && code == EQP_OK;
             end++) {
            if (end - t >= DD_ITERATION_TARGETS / 2 && stage->target[end].local >= stage->cell_first[cell + 1]) {
                break;
            }
            code = touch_target(&m, &stage->target[end], &cell);
        }
        if (code == EQP_OK) {
            code = close_iteration(&m, iteration, end);
        }
    }
    free(m.touch);
    return code;
}

void dd_iterations_free(dd_iterations *list)
{
    free(list->of);
    free(list->touch);
    *list = (dd_iterations){.n = 0};
}
