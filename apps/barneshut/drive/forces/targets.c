/* SPDX-License-Identifier: BSD-3-Clause */
#include "targets.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>

void bh_targets_free(bh_targets *t)
{
    free(t->field);
    free(t->from);
    free(t->groups);
    free(t->tags);
    free(t->numbers);
}

static int reserve_targets(bh_targets *t, int64_t n, int64_t ngroups)
{
    int code;

    EQP_TRY(eqp_array_create(&t->field, 7 * n, sizeof *t->field));
    EQP_TRY(eqp_array_create(&t->from, n, sizeof *t->from));
    EQP_TRY(eqp_array_create(&t->groups, ngroups, sizeof *t->groups));
    EQP_TRY(eqp_array_create(&t->tags, ngroups, sizeof *t->tags));
    EQP_TRY(eqp_array_create(&t->numbers, ngroups, sizeof *t->numbers));
    double **const of[] = {&t->particles.x,  &t->particles.y,  &t->particles.z,  &t->particles.ax,
                           &t->particles.ay, &t->particles.az, &t->particles.pot};
    for (int f = 0; f < 7; f++) {
        *of[f] = n > 0 ? t->field + f * n : NULL;
    }
    t->particles.n = n;
    t->particles.rungs = false; /* the balancer is told of whole evaluations only */
    t->particles.rung = NULL;
done:
    return code;
}

/* Appends the active particles of group g to the n of the set. */
static void take_active(bh_targets *t, int64_t *n, const bh_domain *domain, int64_t g, int phase)
{
    const bh_particles *p = &domain->particles;
    const bh_group *group = &domain->group[g];
    bh_group made = *group;

    made.first = *n;
    for (int64_t i = group->first; i < group->first + group->count; i++) {
        if (p->rung[i] >= phase) {
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
        t->tags[t->ngroups] = domain->tag[g];
        t->numbers[t->ngroups] = g;
        t->groups[t->ngroups++] = made;
    }
}

int bh_targets_find(bh_targets *t, const bh_domain *domain, int phase)
{
    const bh_particles *p = &domain->particles;
    int64_t n = 0;
    int code = EQP_OK;

    *t = (bh_targets){.particles = *p, .ngroups = domain->ngroups, .group = domain->group, .tag = domain->tag};
    if (phase == 0) {
        return EQP_OK;
    }
    t->ngroups = 0;
    for (int64_t i = 0; i < p->n; i++) {
        n += p->rung[i] >= phase;
    }
    EQP_TRY(reserve_targets(t, n, domain->ngroups));
    t->group = t->groups;
    t->tag = t->tags;
    n = 0;
    for (int64_t g = 0; g < domain->ngroups; g++) {
        take_active(t, &n, domain, g, phase);
    }
done:
    return code;
}

void bh_targets_bring_forces(const bh_targets *t, double self, bh_particles *p)
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
