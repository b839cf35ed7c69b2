/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include "stealing.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neighbouring groups of one sample of costs. */
#define SAMPLE_RUN 16

int bh_evaluator_create(const bh_mac *mac, double eps, const char *kernel, bh_precision precision,
                        bh_evaluator *evaluator)
{
    bh_kernel *made = NULL;
    int code;

    EQP_TRY(bh_kernel_create(kernel, precision, &made));
    *evaluator = (bh_evaluator){.mac = *mac, .eps = eps, .kernel = made, .plan = EQP_EXCHANGE_PLAN_DEFAULTS};
done:
    return code;
}

void bh_evaluator_free(bh_evaluator *evaluator)
{
    bh_kernel_free(evaluator->kernel);
    evaluator->kernel = NULL;
}

/* Lists and forces of all works, those that wait for nothing while the essential trees travel. */
static int compute_all(bh_pass *p, bh_domain *domain, int code, bh_traffic *traffic)
{
    bh_fetch fetch;

    code = bh_essential_start(&fetch, &domain->tree, &domain->post, &p->evaluator->plan, p->works, &p->evaluator->mac,
                              p->map, code, traffic);
    if (code == EQP_OK) {
        p->fetch = &fetch;
        code = bh_pass_works(p, 0, p->works->n, BH_READY_WORKS);
        p->fetch = NULL;
        p->early = p->counts;
    }
    code = bh_essential_finish(&fetch, code, traffic);
    return code == EQP_OK ? bh_pass_works(p, 0, p->works->n, BH_WAITING_WORKS) : code;
}

/* The same by whoever has nothing to do, when all essential trees are there. */
static int hand_out_all(bh_pass *p, bh_domain *domain, int code, bh_traffic *traffic, bh_evaluated *result)
{
    const bool watched = p->survey != NULL || p->evaluator->computed != NULL;

    code = code == EQP_OK && watched ? EQP_ERR_ARGUMENT : code;
    EQP_TRY(bh_essential_fetch(&domain->tree, &domain->post, &p->evaluator->plan, p->works, &p->evaluator->mac, p->map,
                               code, traffic));
    EQP_TRY(bh_stealing_run(p->evaluator->stealing, domain->comm, p, &domain->tree, traffic, &result->handed));
done:
    return code;
}

static void take_results(const bh_pass *p, const bh_traffic *traffic, bh_evaluated *result)
{
    result->counts = p->counts;
    result->early = p->early;
    result->targets = p->targets;
    result->seconds = p->seconds;
    result->ghosts = traffic->cells + traffic->particles;
    memcpy(result->phase, traffic->phase, sizeof result->phase);
}

/* The targets of an evaluation: the particles, in groups, or copies of those that are active. */
typedef struct target_set {
    bh_particles particles;
    int64_t ngroups;
    const bh_group *group;
    const int64_t *tag;
    /* Of copies: */
    double *field;    /* [7][n] */
    int64_t *from;    /* [n] numbers of the particles */
    bh_group *groups; /* [ngroups] */
    int64_t *tags;    /* [ngroups] */
} target_set;

static void targets_free(target_set *t)
{
    free(t->field);
    free(t->from);
    free(t->groups);
    free(t->tags);
}

static int reserve_targets(target_set *t, int64_t n, int64_t ngroups)
{
    int code;

    EQP_TRY(eqp_array_create(&t->field, 7 * n, sizeof *t->field));
    EQP_TRY(eqp_array_create(&t->from, n, sizeof *t->from));
    EQP_TRY(eqp_array_create(&t->groups, ngroups, sizeof *t->groups));
    EQP_TRY(eqp_array_create(&t->tags, ngroups, sizeof *t->tags));
    double **const of[] = {&t->particles.x,  &t->particles.y,  &t->particles.z,  &t->particles.ax,
                           &t->particles.ay, &t->particles.az, &t->particles.pot};
    for (int f = 0; f < 7; f++) {
        *of[f] = n > 0 ? t->field + f * n : NULL;
    }
    t->particles.n = n;
    t->particles.rung = NULL; /* the balancer is told of whole evaluations only */
done:
    return code;
}

/* The active particles of a group, behind the n that the set has. */
static void take_active(target_set *t, int64_t *n, const bh_particles *p, const bh_group *group, int64_t tag,
                        const bool *active)
{
    bh_group made = *group;

    made.first = *n;
    for (int64_t i = group->first; i < group->first + group->count; i++) {
        if (active[i]) {
            const double a = sqrt(p->ax[i] * p->ax[i] + p->ay[i] * p->ay[i] + p->az[i] * p->az[i]);
            made.accel = *n == made.first || a < made.accel ? a : made.accel;
            t->particles.x[*n] = p->x[i];
            t->particles.y[*n] = p->y[i];
            t->particles.z[*n] = p->z[i];
            t->from[(*n)++] = i;
        }
    }
    made.count = (int32_t)(*n - made.first);
    if (made.count > 0) {
        bh_group_bounds(made.count, t->particles.x + made.first, t->particles.y + made.first,
                        t->particles.z + made.first, made.lo, made.hi);
        t->tags[t->ngroups] = tag;
        t->groups[t->ngroups++] = made;
    }
}

static int find_targets(target_set *t, const bh_domain *domain, const bool *active)
{
    const bh_particles *p = &domain->particles;
    int64_t n = 0;
    int code = EQP_OK;

    *t = (target_set){.particles = *p, .ngroups = domain->ngroups, .group = domain->group, .tag = domain->tag};
    if (active == NULL) {
        return EQP_OK;
    }
    t->ngroups = 0;
    for (int64_t i = 0; i < p->n; i++) {
        n += active[i];
    }
    EQP_TRY(reserve_targets(t, n, domain->ngroups));
    t->group = t->groups;
    t->tag = t->tags;
    n = 0;
    for (int64_t g = 0; g < domain->ngroups; g++) {
        take_active(t, &n, p, &domain->group[g], domain->tag[g], active);
    }
done:
    return code;
}

/* Forces to their particles, without the potential that each has of itself: self, per unit of mass. */
static void bring_forces(const target_set *t, double self, bh_particles *p)
{
    const bh_particles *computed = &t->particles;

    for (int64_t k = 0; k < computed->n; k++) {
        const int64_t i = t->from != NULL ? t->from[k] : k;
        p->ax[i] = computed->ax[k];
        p->ay[i] = computed->ay[k];
        p->az[i] = computed->az[k];
        p->pot[i] = computed->pot[k] - self * p->m[i];
    }
}

int bh_evaluate_own(bh_evaluator *evaluator, bh_domain *domain, const eqp_map *map, bh_survey *survey,
                    const bool *active, int code, bh_evaluated *result)
{
    target_set targets = {.particles.rungs = domain->particles.rungs};
    bh_works works;
    bh_traffic traffic = {.cells = 0};
    bh_pass p = {.evaluator = evaluator,
                 .tree = &domain->tree,
                 .map = map,
                 .rank = domain->rank,
                 .works = &works,
                 .survey = survey,
                 .forces = true,
                 .timings = evaluator->timings};
    const double self = bh_potential_self(evaluator->mac.G, 1.0, evaluator->eps);
    double begin = eqp_cpu_seconds();

    bh_works_init(&works);
    memset(result, 0, sizeof *result);
    code = code == EQP_OK ? find_targets(&targets, domain, active) : code;
    code = bh_works_send(&works, &domain->post, &evaluator->plan, &targets.particles, targets.ngroups, targets.group,
                         targets.tag, domain->away, map, code, &traffic.phase[BH_PHASE_WORKS]);
    code = bh_works_expect(&works, &evaluator->plan, code);
    code = evaluator->stealing != NULL ? hand_out_all(&p, domain, code, &traffic, result)
                                       : compute_all(&p, domain, code, &traffic);
    EQP_TRY(bh_works_return(&works, &targets.particles, code, &traffic.phase[BH_PHASE_FORCES]));
    bring_forces(&targets, self, &domain->particles);
    take_results(&p, &traffic, result);
done:
    bh_pass_free(&p);
    bh_works_free(&works);
    targets_free(&targets);
    result->all_seconds = eqp_cpu_seconds_since(begin);
    return code;
}

int bh_evaluate(bh_evaluator *evaluator, bh_domain *domain, const eqp_map *map, bh_survey *survey, bh_evaluated *result)
{
    return eqp_agree(domain->comm, bh_evaluate_own(evaluator, domain, map, survey, NULL, EQP_OK, result), NULL);
}

int bh_evaluate_survey(bh_evaluator *evaluator, const bh_tree *tree, const eqp_map *map, int rank, bh_works *works,
                       bh_survey *survey)
{
    bh_pass p = {.evaluator = evaluator, .tree = tree, .map = map, .rank = rank, .works = works, .survey = survey};
    int code = EQP_OK;

    for (int64_t w = 0; w < works->n && code == EQP_OK; w++) {
        code = bh_pass_work(&p, w);
    }
    bh_pass_free(&p);
    return code;
}

int bh_evaluate_sample(bh_evaluator *evaluator, const bh_tree *tree, const eqp_map *map, int rank, bh_works *works,
                       int64_t runs, eqp_timings *timings)
{
    bh_pass p = {.evaluator = evaluator,
                 .tree = tree,
                 .map = map,
                 .rank = rank,
                 .works = works,
                 .forces = true,
                 .timings = timings};
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
        code = bh_pass_works(&p, first, last, BH_ALL_WORKS);
    }
    evaluator->computed = computed;
    bh_pass_free(&p);
    free(p.scratch);
    return code;
}
