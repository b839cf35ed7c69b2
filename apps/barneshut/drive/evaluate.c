/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Groups are timed in batches of about so many interactions: a tenth of a millisecond, which the clock resolves well
 * and which leaves a rank dozens of samples. */
#define BATCH_INTERACTIONS 50000

/* Neighbouring groups of one sample of costs. */
#define SAMPLE_RUN 16

int bh_evaluator_create(const bh_mac *mac, double eps, const char *kernel, bh_precision precision,
                        bh_evaluator *evaluator)
{
    bh_kernel *made = NULL;
    int code = bh_kernel_create(kernel, precision, &made);

    if (code == EQP_OK) {
        *evaluator = (bh_evaluator){.mac = *mac, .eps = eps, .kernel = made, .plan = EQP_EXCHANGE_PLAN_DEFAULTS};
    }
    return code;
}

void bh_evaluator_free(bh_evaluator *evaluator)
{
    bh_kernel_free(evaluator->kernel);
    evaluator->kernel = NULL;
}

/* The state of one pass over works. */
typedef struct pass {
    bh_evaluator *evaluator;
    const bh_tree *tree;
    const app_map *map;
    int rank;
    bh_works *works;
    bh_survey *survey; /* or NULL */
    bool forces;       /* else lists only */
    double *scratch;   /* where forces that nobody wants go, instead of to the targets; or NULL */
    bh_fetch *fetch;   /* what is under way meanwhile; or NULL */
    double seconds;    /* CPU seconds in lists and forces */
    bh_list list;
} pass;

/* Which works: all, those that have all they need before anything has arrived, or the others. */
typedef enum selection { ALL_WORKS, READY_WORKS, WAITING_WORKS } selection;

/* What the walk tells of each tile that it keeps. */
typedef struct tile_watch {
    const pass *pass;
    int64_t work;
    bool shared; /* a share of a group goes into the survey tile by tile */
    bh_survey_pass survey;
} tile_watch;

static int tile_seen(void *user, const bh_tile *tile)
{
    tile_watch *watch = user;
    const pass *p = watch->pass;
    const bh_evaluator *evaluator = p->evaluator;
    int code = watch->shared ? bh_survey_tile_add(&watch->survey, tile) : EQP_OK;

    if (code == EQP_OK && evaluator->computed != NULL) {
        code = evaluator->computed(evaluator->computed_user, p->tree, p->works, watch->work, tile);
    }
    return code;
}

/* The list of one work, and its entry in the survey. */
static int list_work(pass *p, int64_t w)
{
    const bh_work *work = &p->works->work[w];
    const bh_group *group = &work->group;
    bh_counts *counts = &p->works->counts[w];
    tile_watch watch = {.pass = p, .work = w, .shared = p->survey != NULL && work->tag < 0};
    const bool watched = watch.shared || p->evaluator->computed != NULL;
    bh_tile_choice choice;
    int code;

    if (watch.shared) {
        bh_survey_begin(&watch.survey, p->survey, work);
    }
    code = bh_walk_sampled(p->tree, p->tree->root, group, &p->evaluator->mac,
                           bh_tile_choose(&choice, p->map, work->tag, p->rank, group), watched ? UINT64_MAX : 0,
                           tile_seen, &watch, &p->list);
    if (code != EQP_OK) {
        return code;
    }
    if (p->list.nabsent > 0) {
        return EQP_ERR_INTERNAL; /* the essential tree lacks something */
    }
    *counts = (bh_counts){.of = {[BH_KIND_PAIR] = p->list.nsources * group->count,
                                 [BH_KIND_CELL] = p->list.ncells * group->count,
                                 [BH_KIND_LISTED] = p->list.nsources + p->list.ncells,
                                 [BH_KIND_VISIT] = p->list.nvisits,
                                 [BH_KIND_GROUP] = 1}};
    if (p->survey == NULL) {
        return EQP_OK;
    }
    return watch.shared ? bh_survey_end(&watch.survey, counts, p->list.ntiles)
                        : bh_survey_whole(p->survey, work, p->tree, &p->list, counts);
}

static int compute_work(pass *p, int64_t w)
{
    const int64_t count = p->works->work[w].group.count;
    const size_t bytes = (size_t)count * sizeof(double);
    bh_work_targets t = bh_works_targets(p->works, w);
    int code = list_work(p, w);

    if (code != EQP_OK || !p->forces) {
        return code;
    }
    if (p->scratch != NULL) {
        t.ax = p->scratch;
        t.ay = t.ax + count;
        t.az = t.ay + count;
        t.pot = t.az + count;
    }
    memset(t.ax, 0, bytes);
    memset(t.ay, 0, bytes);
    memset(t.az, 0, bytes);
    memset(t.pot, 0, bytes);
    return bh_force(p->evaluator->kernel, p->tree, &p->list, p->evaluator->mac.G, p->evaluator->eps, count, t.x, t.y,
                    t.z, t.ax, t.ay, t.az, t.pot);
}

/* One sample for the cost model; what is under way is moved on, and the batch starts anew. */
static int close_batch(pass *p, app_timings *timings, bh_counts *batch, double *start)
{
    const double now = eqp_cpu_seconds(), seconds = now - *start;
    int code = batch->of[BH_KIND_GROUP] > 0 ? app_timings_add(timings, BH_KINDS, batch->of, seconds) : EQP_OK;

    p->seconds += seconds;
    *batch = (bh_counts){{0}};
    *start = now;
    if (code == EQP_OK && p->fetch != NULL) {
        code = bh_essential_progress(p->fetch);
        *start = eqp_cpu_seconds(); /* a call of the system: not where nothing is under way */
    }
    return code;
}

/* Computes the works first to last - 1 that are selected, and times them. */
static int compute(pass *p, int64_t first, int64_t last, selection selected, app_timings *timings)
{
    bh_counts batch = {{0}};
    double start = eqp_cpu_seconds();
    int code = EQP_OK;

    bh_list_init(&p->list);
    for (int64_t w = first; w < last && code == EQP_OK; w++) {
        if (selected != ALL_WORKS && p->works->waits[w] != (selected == WAITING_WORKS)) {
            continue;
        }
        code = compute_work(p, w);
        bh_counts_add(&batch, &p->works->counts[w]);
        if (code == EQP_OK && batch.of[BH_KIND_PAIR] + batch.of[BH_KIND_CELL] >= BATCH_INTERACTIONS) {
            code = close_batch(p, timings, &batch, &start);
        }
    }
    if (code == EQP_OK) {
        code = close_batch(p, timings, &batch, &start);
    }
    bh_list_free(&p->list);
    return code;
}

/* Lists and forces of all works, those that wait for nothing while the essential trees travel. */
static int compute_all(pass *p, bh_domain *domain, bh_traffic *traffic, app_timings *timings)
{
    bh_fetch fetch;
    int code = bh_essential_start(&fetch, &domain->tree, domain->comm, &p->evaluator->plan, p->works,
                                  &p->evaluator->mac, p->map, traffic);

    if (code == EQP_OK) {
        p->fetch = &fetch;
        code = compute(p, 0, p->works->n, READY_WORKS, timings);
        p->fetch = NULL;
        code = bh_essential_finish(&fetch, code, traffic);
    }
    if (code == EQP_OK) {
        code = compute(p, 0, p->works->n, WAITING_WORKS, timings);
        code = eqp_agree(domain->comm, code, NULL);
    }
    return code;
}

static void take_results(const bh_works *works, const pass *p, const bh_traffic *traffic, bh_evaluated *result)
{
    for (int64_t w = 0; w < works->n; w++) {
        bh_counts_add(&result->counts, &works->counts[w]);
        result->targets += works->work[w].group.count;
    }
    result->seconds = p->seconds;
    result->ghosts = traffic->cells + traffic->particles;
    memcpy(result->phase, traffic->phase, sizeof result->phase);
}

int bh_evaluate(bh_evaluator *evaluator, bh_domain *domain, const app_map *map, bh_survey *survey, bh_evaluated *result)
{
    bh_works works;
    bh_traffic traffic = {.cells = 0};
    pass p = {.evaluator = evaluator,
              .tree = &domain->tree,
              .map = map,
              .rank = domain->rank,
              .works = &works,
              .survey = survey,
              .forces = true};
    double begin = eqp_cpu_seconds();
    int code;

    bh_works_init(&works);
    memset(result, 0, sizeof *result);
    code = bh_works_send(&works, domain->comm, &evaluator->plan, &domain->particles, domain->ngroups, domain->group,
                         domain->tag, map, &traffic.phase[BH_PHASE_WORKS]);
    if (code == EQP_OK) {
        code = bh_works_expect(&works, domain->comm, &evaluator->plan, domain->group);
    }
    if (code == EQP_OK) {
        code = compute_all(&p, domain, &traffic, &result->timings);
    }
    if (code == EQP_OK) {
        code =
            bh_works_return(&works, domain->comm, &domain->particles, domain->group, &traffic.phase[BH_PHASE_FORCES]);
    }
    for (int64_t i = 0; i < domain->particles.n && code == EQP_OK; i++) {
        domain->particles.pot[i] -= bh_potential_self(evaluator->mac.G, domain->particles.m[i], evaluator->eps);
    }
    if (code == EQP_OK) {
        take_results(&works, &p, &traffic, result);
    }
    bh_works_free(&works);
    result->all_seconds = eqp_cpu_seconds() - begin;
    return code;
}

int bh_evaluate_survey(bh_evaluator *evaluator, const bh_tree *tree, const app_map *map, int rank, bh_works *works,
                       bh_survey *survey)
{
    pass p = {.evaluator = evaluator, .tree = tree, .map = map, .rank = rank, .works = works, .survey = survey};
    int code = EQP_OK;

    bh_list_init(&p.list);
    for (int64_t w = 0; w < works->n && code == EQP_OK; w++) {
        code = compute_work(&p, w);
    }
    bh_list_free(&p.list);
    return code;
}

int bh_evaluate_sample(bh_evaluator *evaluator, const bh_tree *tree, const app_map *map, int rank, bh_works *works,
                       int64_t runs, app_timings *timings)
{
    pass p = {.evaluator = evaluator, .tree = tree, .map = map, .rank = rank, .works = works, .forces = true};
    bh_computed_fn computed = evaluator->computed;
    int64_t distance = works->n / runs > SAMPLE_RUN ? works->n / runs : SAMPLE_RUN, largest = 0;
    int code;

    for (int64_t w = 0; w < works->n; w++) {
        largest = works->work[w].group.count > largest ? works->work[w].group.count : largest;
    }
    code = eqp_array_create(&p.scratch, 4 * largest, sizeof *p.scratch);
    evaluator->computed = NULL;
    for (int64_t first = 0; first < works->n && code == EQP_OK; first += distance) {
        int64_t last = first + SAMPLE_RUN < works->n ? first + SAMPLE_RUN : works->n;
        code = compute(&p, first, last, ALL_WORKS, timings);
    }
    evaluator->computed = computed;
    free(p.scratch);
    return code;
}
