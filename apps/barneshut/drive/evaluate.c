/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <string.h>

/* Groups are timed in batches of about so many interactions: a tenth of a millisecond, which the clock resolves well
 * and which leaves a rank dozens of samples. */
#define BATCH_INTERACTIONS 50000

/* Neighbouring groups of one sample of costs. */
#define SAMPLE_RUN 16

int bh_evaluator_create(const bh_mac *mac, double eps, bh_evaluator *evaluator)
{
    bh_kernel *kernel = NULL;
    int code = bh_kernel_create(&kernel);

    if (code == EQP_OK) {
        *evaluator = (bh_evaluator){.mac = *mac, .eps = eps, .kernel = kernel};
    }
    return code;
}

void bh_evaluator_free(bh_evaluator *evaluator)
{
    bh_kernel_free(evaluator->kernel);
    evaluator->kernel = NULL;
}

/* What the walk tells of each tile that it keeps. */
typedef struct tile_watch {
    bh_tile_choice choice; /* first: the walk's user data serve both callbacks */
    const bh_evaluator *evaluator;
    const bh_tree *tree;
    const bh_works *works;
    int64_t work;
} tile_watch;

static int tile_seen(void *user, const bh_tile *tile)
{
    const tile_watch *watch = user;

    return watch->evaluator->computed(watch->evaluator->computed_user, watch->tree, watch->works, watch->work, tile);
}

static int compute_work(bh_evaluator *evaluator, const bh_tree *tree, const bh_map *map, int rank, bh_works *works,
                        int64_t w, bh_list *list)
{
    const bh_work *work = &works->work[w];
    const bh_group *group = &work->group;
    tile_watch watch = {.evaluator = evaluator, .tree = tree, .works = works, .work = w};
    bh_tile_fn keep = bh_tile_choose(&watch.choice, map, work->tag, rank, group);
    int64_t first = group->first;
    int code = bh_walk(tree, tree->root, group, &evaluator->mac, keep, evaluator->computed == NULL ? NULL : tile_seen,
                       &watch, list);

    if (code != EQP_OK) {
        return code;
    }
    if (list->nabsent > 0) {
        return EQP_ERR_INTERNAL; /* the essential tree lacks something that this walk wants */
    }
    works->counts[w] = (bh_counts){.of = {[BH_KIND_PAIR] = list->nsources * group->count,
                                          [BH_KIND_CELL] = list->ncells * group->count,
                                          [BH_KIND_LISTED] = list->nsources + list->ncells,
                                          [BH_KIND_VISIT] = list->nvisits,
                                          [BH_KIND_GROUP] = 1}};
    return bh_force(evaluator->kernel, tree, list, evaluator->mac.G, evaluator->eps, group->count, works->x + first,
                    works->y + first, works->z + first, works->ax + first, works->ay + first, works->az + first,
                    works->pot + first);
}

/* One sample for the cost model; the batch starts anew. */
static int close_batch(bh_timings *timings, bh_counts *batch, double *start)
{
    double now = eqp_cpu_seconds();
    int code = batch->of[BH_KIND_GROUP] > 0 ? bh_timings_add(timings, batch, now - *start) : EQP_OK;

    *start = now;
    *batch = (bh_counts){{0}};
    return code;
}

/* Computes the works first to last - 1 and times them. */
static int compute(bh_evaluator *evaluator, const bh_tree *tree, const bh_map *map, int rank, bh_works *works,
                   int64_t first, int64_t last, bh_timings *timings)
{
    bh_counts batch = {{0}};
    double start = eqp_cpu_seconds();
    bh_list list;
    int code = EQP_OK;

    bh_list_init(&list);
    for (int64_t w = first; w < last && code == EQP_OK; w++) {
        code = compute_work(evaluator, tree, map, rank, works, w, &list);
        bh_counts_add(&batch, &works->counts[w]);
        if (code == EQP_OK && batch.of[BH_KIND_PAIR] + batch.of[BH_KIND_CELL] >= BATCH_INTERACTIONS) {
            code = close_batch(timings, &batch, &start);
        }
    }
    if (code == EQP_OK) {
        code = close_batch(timings, &batch, &start);
    }
    bh_list_free(&list);
    return code;
}

int bh_evaluate(bh_evaluator *evaluator, bh_domain *domain, const bh_map *map, bh_evaluated *result)
{
    const bh_route route = {.tag = domain->tag, .map = map};
    bh_works works;
    double begin = eqp_cpu_seconds();
    int code;

    bh_works_init(&works);
    memset(result, 0, sizeof *result);
    code = bh_works_send(&works, domain->comm, &domain->particles, domain->ngroups, domain->group, &route,
                         &result->traffic.bytes);
    if (code == EQP_OK) {
        code = bh_essential_fetch(&domain->tree, domain->comm, &works, &evaluator->mac, map, &result->traffic);
    }
    if (code == EQP_OK) {
        double start = eqp_cpu_seconds();
        code = compute(evaluator, &domain->tree, map, domain->rank, &works, 0, works.n, &result->timings);
        result->seconds = eqp_cpu_seconds() - start;
        code = eqp_agree(domain->comm, code, NULL);
    }
    for (int64_t w = 0; w < works.n && code == EQP_OK; w++) {
        bh_counts_add(&result->counts, &works.counts[w]);
    }
    result->targets = works.ntargets;
    if (code == EQP_OK) {
        code = bh_works_return(&works, domain->comm, &domain->particles, domain->group, &result->traffic.bytes);
    }
    for (int64_t i = 0; i < domain->particles.n && code == EQP_OK; i++) {
        domain->particles.pot[i] -= bh_potential_self(evaluator->mac.G, domain->particles.m[i], evaluator->eps);
    }
    bh_works_free(&works);
    result->all_seconds = eqp_cpu_seconds() - begin;
    return code;
}

int bh_evaluate_sample(bh_evaluator *evaluator, const bh_tree *tree, bh_works *works, int64_t runs, bh_timings *timings)
{
    bh_computed_fn computed = evaluator->computed;
    int64_t distance = works->n / runs > SAMPLE_RUN ? works->n / runs : SAMPLE_RUN;
    int code = EQP_OK;

    evaluator->computed = NULL;
    for (int64_t first = 0; first < works->n && code == EQP_OK; first += distance) {
        int64_t last = first + SAMPLE_RUN < works->n ? first + SAMPLE_RUN : works->n;
        code = compute(evaluator, tree, NULL, -1, works, first, last, timings);
    }
    evaluator->computed = computed;
    return code;
}
