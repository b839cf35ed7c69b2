/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

/* Most iterations in a bundle: more would share more segments; fewer divide the work better. */
#define MOST_GIVEN 8

typedef struct stealing {
    dd_batches *batches;
    dd_stage *stage;
    dd_iterations list;
    int64_t first; /* number in the whole loop */
    int64_t added; /* iterations already added to the stage's forces */
    double **done; /* [list.n] forces that wait for earlier iterations; owned */
} stealing;

int dd_loop_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules, eqp_loop **loop)
{
    eqp_loop_options options = eqp_loop_options_defaults();

    options.bundles = true;
    options.most_given = MOST_GIVEN;
    options.yield = true;
    options.grain = 1;
    return eqp_loop_create(comm, method, 0, rules, &options, loop);
}

static int stealing_create(stealing *h)
{
    EQP_CHECK(dd_iterations_list(h->stage, &h->list));
    return eqp_array_create(&h->done, h->list.n, sizeof *h->done);
}

static void stealing_free(stealing *h)
{
    for (int64_t i = 0; i < h->list.n && h->done != NULL; i++) {
        free(h->done[i]);
    }
    free(h->done);
    dd_iterations_free(&h->list);
}

/* Adds an iteration's forces, in the order of an answer, to the stage's. */
static void add_done(const stealing *h, const dd_iteration *iteration, const double *force)
{
    const dd_run *touch = h->list.touch + iteration->touch;

    for (int c = 0; c < 6; c++) {
        for (int64_t t = 0; t < iteration->ntouches; t++) {
            double *to = h->stage->columns.force[c] + touch[t].first;
            for (int64_t i = 0; i < touch[t].n; i++) {
                to[i] += force[i];
            }
            force += touch[t].n;
        }
    }
}

/* Adds the finished iterations that waited for earlier ones. */
static void add_waiting(stealing *h)
{
    for (; h->added < h->list.n && h->done[h->added] != NULL; h->added++) {
        add_done(h, &h->list.of[h->added], h->done[h->added]);
        free(h->done[h->added]);
        h->done[h->added] = NULL;
    }
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    const stealing *h = user;
    const int code = dd_bundle_pack(h->stage, &h->list, first - h->first, count, data, bytes);

    (void)to;
    h->batches->evaluator->handed_bytes += code == EQP_OK ? (int64_t)*bytes : 0;
    return code;
}

static int compute_bundle(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                          void **result, size_t *result_bytes)
{
    stealing *h = user;
    const int code = dd_bundle_compute(h->batches, data, result, result_bytes);

    (void)owner;
    (void)first;
    (void)count;
    (void)bytes;
    h->batches->evaluator->handed_bytes += code == EQP_OK ? (int64_t)*result_bytes : 0;
    return code;
}

static int take(void *user, int64_t first, int64_t count, const void *result, size_t bytes)
{
    stealing *h = user;
    const char *part = result;

    (void)bytes;
    for (int64_t i = first - h->first; i < first - h->first + count; i++) {
        const dd_iteration *iteration = &h->list.of[i];
        EQP_CHECK(eqp_array_create(&h->done[i], 6 * iteration->touched, sizeof **h->done));
        memcpy(h->done[i], part, dd_answer_force_bytes(iteration));
        for (int64_t t = 0; t < iteration->ntargets; t++) {
            const dd_target *target = &h->stage->target[iteration->target + t];
            dd_counts counts = {{0}};
            dd_answer_counts(iteration, part, t, &counts);
            if (counts.of[DD_KIND_RUN] > 0) {
                dd_account(h->batches->evaluator, h->stage, target->local, target, &counts);
            }
        }
        part += dd_answer_bytes(iteration);
    }
    add_waiting(h);
    return EQP_OK;
}

/* Own iterations go the way of those of other ranks, so that their sums have the same bits. */
static int compute_own(void *user, int64_t first, int64_t count)
{
    stealing *h = user;

    for (int64_t i = first; i < first + count; i++) {
        DD_FREED void *bundle = NULL;
        DD_FREED void *answer = NULL;
        size_t bytes;
        EQP_CHECK(dd_bundle_pack(h->stage, &h->list, i - h->first, 1, &bundle, &bytes));
        EQP_CHECK(dd_bundle_compute(h->batches, bundle, &answer, &bytes));
        EQP_CHECK(take(h, i, 1, answer, bytes));
    }
    return EQP_OK;
}

static int run(stealing *h, int rank)
{
    static const eqp_loop_bundles bundles = {.pack = pack, .compute = compute_bundle, .take = take};
    const eqp_loop_work work = {.compute = compute_own, .user = h, .bundles = &bundles};
    dd_evaluator *evaluator = h->batches->evaluator;
    eqp_loop_result result;

    EQP_CHECK(eqp_loop_resize(evaluator->loop, h->list.n));
    h->first = eqp_loop_part(evaluator->loop, rank).first;
    EQP_CHECK(eqp_loop_run(evaluator->loop, &work, &result));
    evaluator->helped = result.helped;
    return EQP_OK;
}

int dd_hand_out(dd_batches *batches, const dd_domain *domain, dd_stage *stage, int computed)
{
    stealing h = {.batches = batches, .stage = stage};
    int code;

    EQP_TRY(eqp_agree(domain->comm, computed == EQP_OK ? stealing_create(&h) : computed, NULL));
    EQP_TRY(run(&h, domain->rank));
    code = h.added < h.list.n ? EQP_ERR_INTERNAL : EQP_OK;
done:
    stealing_free(&h);
    return code;
}

int dd_runs_add(dd_run **runs, int64_t *n, int64_t *room, dd_run run)
{
    int64_t low = *n, high = *n, end = run.first + run.n;

    EQP_CHECK(eqp_array_reserve(runs, room, *n + 1, sizeof **runs));
    /* Finds the runs that it touches; most runs come at the end. */
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

typedef struct maker {
    const dd_stage *stage;
    dd_iterations *list;
    dd_run *touch; /* of the current iteration; owned */
    int64_t ntouches, touch_room;
    int64_t whole;       /* cell of a target whose partners include those of all targets after it; -1: none */
    int64_t whole_pairs; /* pairs of that target plus its place; each later target has one pair less */
    int64_t pairs;       /* of the current iteration */
} maker;

static int touch(maker *m, dd_run run)
{
    return dd_runs_add(&m->touch, &m->ntouches, &m->touch_room, run);
}

/* Adds the segments that a target touches. In a cell computed here alone only the first target adds any. */
static int touch_target(maker *m, const dd_target *target, int64_t *cell)
{
    dd_run runs[DD_GRID_SOURCES];
    int64_t pairs = 0;

    EQP_CHECK(touch(m, (dd_run){target->local, 1}));
    while (target->local >= m->stage->cell_first[*cell + 1]) {
        ++*cell;
    }
    if (target->share >= 0 || m->whole != *cell) {
        const int n = dd_stage_target_runs(m->stage, target, *cell, runs);
        for (int r = 0; r < n; r++) {
            EQP_CHECK(touch(m, runs[r]));
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
    return EQP_OK;
}

/* Adds the current iteration, unless it has no pairs, and begins the next one. */
static int close_iteration(maker *m, dd_iteration iteration, int64_t end)
{
    dd_iterations *list = m->list;

    if (m->pairs > 0) {
        EQP_CHECK(eqp_array_reserve(&list->of, &list->room, list->n + 1, sizeof *list->of));
        EQP_CHECK(
            eqp_array_reserve(&list->touch, &list->touch_room, list->ntouches + m->ntouches, sizeof *list->touch));
        iteration.ntargets = end - iteration.target;
        iteration.touch = list->ntouches;
        iteration.ntouches = m->ntouches;
        for (int64_t t = 0; t < m->ntouches; t++) {
            list->touch[list->ntouches++] = m->touch[t];
            iteration.touched += m->touch[t].n;
        }
        list->of[list->n++] = iteration;
    }
    m->ntouches = m->pairs = 0;
    m->whole = -1;
    return EQP_OK;
}

static int list_all(maker *m)
{
    const dd_stage *stage = m->stage;
    int64_t cell = 0, end;

    for (int64_t t = 0; t < stage->ntargets; t = end) {
        while (stage->target[t].local >= stage->cell_first[cell + 1]) {
            cell++;
        }
        const dd_iteration iteration = {.target = t, .cell = cell};
        for (end = t; end < stage->ntargets && end - t < DD_ITERATION_TARGETS && m->pairs < DD_ITERATION_PAIRS; end++) {
            if (end - t >= DD_ITERATION_TARGETS / 2 && stage->target[end].local >= stage->cell_first[cell + 1]) {
                break;
            }
            EQP_CHECK(touch_target(m, &stage->target[end], &cell));
        }
        EQP_CHECK(close_iteration(m, iteration, end));
    }
    return EQP_OK;
}

int dd_iterations_list(const dd_stage *stage, dd_iterations *list)
{
    maker m = {.stage = stage, .list = list, .whole = -1};

    list->n = list->ntouches = 0;
    const int code = list_all(&m);
    free(m.touch);
    return code;
}

void dd_iterations_free(dd_iterations *list)
{
    free(list->of);
    free(list->touch);
    *list = (dd_iterations){.n = 0};
}
