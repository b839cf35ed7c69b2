/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include "../../../shell/signals.h"

#include <string.h>

/* Interactions of groups timed together: a tenth of a millisecond, long enough for the clock and short enough for
 * dozens of samples on a rank. */
#define BATCH_INTERACTIONS 200000

void bh_force_loop_free(bh_force_loop *loop)
{
    bh_list_free(&loop->list);
    bh_list_free(&loop->turn);
}

static bh_counts count_list(const bh_list *list, int64_t targets)
{
    return (bh_counts){.of = {[BH_KIND_PAIR] = list->nsources * targets,
                              [BH_KIND_CELL] = list->ncells * targets,
                              [BH_KIND_LISTED] = list->nsources + list->ncells,
                              [BH_KIND_VISIT] = list->nvisits,
                              [BH_KIND_GROUP] = 1}};
}

static int list_group(bh_force_loop *p, const bh_group *group, int64_t tag, int rank, bh_counts *counts)
{
    bh_tile_choice choice;

    EQP_CHECK(app_signals_stop());
    EQP_CHECK(bh_walk(p->tree, group, &p->evaluator->mac, bh_tile_choose(&choice, p->map, tag, rank, group), &p->list));
    EQP_CHECK(p->list.nabsent > 0 ? EQP_ERR_INTERNAL : EQP_OK); /* the essential tree is incomplete */
    *counts = count_list(&p->list, group->count);
    return EQP_OK;
}

/* Counts the work of a substep of each phase; for a whole group at home by a walk for its active targets. */
static int count_turns(bh_force_loop *p, int64_t w, const bh_counts *all, bh_turns *turns)
{
    const bh_task *task = &p->tasks->task[w];
    double x[BH_GROUP_MOST], y[BH_GROUP_MOST], z[BH_GROUP_MOST];
    int64_t from[BH_GROUP_MOST];

    bh_survey_turns(p->survey, task, all, turns);
    for (int k = 1; k < turns->n && task->on[k] > 0 && task->tag >= 0 && w < p->tasks->nlocal; k++) {
        if (task->on[k] == task->on[k - 1]) {
            turns->of[k] = turns->of[k - 1];
            continue;
        }
        const bh_group active = bh_active_group(p->tasks->particles, &task->group, k, x, y, z, from);
        EQP_CHECK(bh_walk(p->tree, &active, &p->evaluator->mac, NULL, &p->turn));
        EQP_CHECK(p->turn.nabsent > 0 ? EQP_ERR_INTERNAL : EQP_OK); /* fewer targets open no more cells */
        turns->of[k] = count_list(&p->turn, active.count);
    }
    return EQP_OK;
}

/* List of a task, and its entry in the survey. */
static int list_task(bh_force_loop *p, int64_t w, bh_counts *counts)
{
    const bh_task *task = &p->tasks->task[w];
    bh_turns turns;

    EQP_CHECK(list_group(p, &task->group, task->tag, p->rank, counts));
    if (p->survey != NULL) {
        EQP_CHECK(count_turns(p, w, counts, &turns));
        EQP_CHECK(task->tag < 0 ? bh_survey_share(p->survey, task, p->tree, &p->list, &turns)
                                : bh_survey_whole(p->survey, task, p->tree, &p->list, &turns));
    }
    return EQP_OK;
}

/* Forces of the last list. */
static int force_group(bh_force_loop *p, int64_t count, const bh_task_targets *t)
{
    const size_t bytes = (size_t)count * sizeof(double);

    memset(t->ax, 0, bytes);
    memset(t->ay, 0, bytes);
    memset(t->az, 0, bytes);
    memset(t->pot, 0, bytes);
    return bh_force(p->evaluator->kernel, p->tree, &p->list, p->evaluator->mac.G, p->evaluator->eps, count, t->x, t->y,
                    t->z, t->ax, t->ay, t->az, t->pot);
}

static void add_done(bh_force_loop *p, int64_t count, const bh_counts *counts)
{
    bh_counts_add(&p->counts, counts);
    bh_counts_add(&p->batch, counts);
    p->targets += count;
}

int bh_force_loop_task(bh_force_loop *p, int64_t w)
{
    const int64_t count = p->tasks->task[w].group.count;
    bh_task_targets t = bh_tasks_targets(p->tasks, w);
    bh_counts counts;
    EQP_CHECK(list_task(p, w, &counts));
    add_done(p, count, &counts);
    if (p->scratch != NULL) {
        t.ax = p->scratch;
        t.ay = t.ax + count;
        t.az = t.ay + count;
        t.pot = t.az + count;
    }
    return p->forces ? force_group(p, count, &t) : EQP_OK;
}

int bh_force_loop_group(bh_force_loop *p, const bh_group *group, int64_t tag, int rank, const bh_task_targets *targets)
{
    bh_counts counts;
    EQP_CHECK(list_group(p, group, tag, rank, &counts));
    add_done(p, group->count, &counts);
    return force_group(p, group->count, targets);
}

int bh_force_loop_end_sample(bh_force_loop *p)
{
    if (p->batch.of[BH_KIND_GROUP] > 0) {
        EQP_CHECK(eqp_timings_add(p->timings, p->batch.of, p->batch_seconds));
    }
    p->batch = (bh_counts){{0}};
    p->batch_seconds = 0.0;
    return EQP_OK;
}

static bool is_large(const bh_counts *batch)
{
    return batch->of[BH_KIND_PAIR] + batch->of[BH_KIND_CELL] >= BATCH_INTERACTIONS;
}

int bh_force_loop_add_time(bh_force_loop *p, double start)
{
    const double seconds = eqp_cpu_seconds_since(start);

    p->seconds += seconds;
    p->batch_seconds += seconds;
    return is_large(&p->batch) ? bh_force_loop_end_sample(p) : EQP_OK;
}

/* Records a sample for the cost model, lets messages progress, and starts the next sample. */
static int close_batch(bh_force_loop *p, double *start)
{
    const double now = eqp_cpu_seconds(), seconds = now > *start ? now - *start : 0.0;
    int code;

    p->seconds += seconds;
    p->batch_seconds = seconds;
    code = bh_force_loop_end_sample(p);
    *start = now;
    if (code == EQP_OK && p->fetch != NULL) {
        code = bh_parcels_progress(&p->fetch->ghosts);
        *start = eqp_cpu_seconds(); /* a system call, so only if something is under way */
    }
    return code;
}

int bh_force_loop_run(bh_force_loop *p, int64_t first, int64_t last, bh_selection selected)
{
    double start = eqp_cpu_seconds();

    for (int64_t w = first; w < last; w++) {
        if (selected != BH_ALL_TASKS && p->tasks->waits[w] != (selected == BH_WAITING_TASKS)) {
            continue;
        }
        EQP_CHECK(bh_force_loop_task(p, w));
        if (is_large(&p->batch)) {
            EQP_CHECK(close_batch(p, &start));
        }
    }
    return close_batch(p, &start);
}
