/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include <equipoise/more/base.h>

#include <stddef.h>
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
    EQP_CHECK(eqp_array_create(&t->field, 7 * n, sizeof *t->field));
    EQP_CHECK(eqp_array_create(&t->from, n, sizeof *t->from));
    EQP_CHECK(eqp_array_create(&t->groups, ngroups, sizeof *t->groups));
    EQP_CHECK(eqp_array_create(&t->tags, ngroups, sizeof *t->tags));
    EQP_CHECK(eqp_array_create(&t->numbers, ngroups, sizeof *t->numbers));
    double **const of[] = {&t->particles.x,  &t->particles.y,  &t->particles.z,  &t->particles.ax,
                           &t->particles.ay, &t->particles.az, &t->particles.pot};
    for (int f = 0; f < 7; f++) {
        *of[f] = n > 0 ? t->field + f * n : NULL;
    }
    t->particles.n = n;
    t->particles.rungs = false; /* the balancer sees whole evaluations only */
    t->particles.rung = NULL;
    return EQP_OK;
}

bh_group bh_active_group(const bh_particles *p, const bh_group *group, int phase, double *x, double *y, double *z,
                         int64_t *from)
{
    bh_group made = *group;

    made.count = 0;
    for (int64_t i = group->first; i < group->first + group->count; i++) {
        if (p->rung[i] >= phase) {
            const double a = bh_acceleration(p, i);
            made.accel = made.count == 0 || a < made.accel ? a : made.accel;
            x[made.count] = p->x[i];
            y[made.count] = p->y[i];
            z[made.count] = p->z[i];
            from[made.count++] = i;
        }
    }
    if (made.count > 0) {
        bh_group_bounds(made.count, x, y, z, made.lo, made.hi);
    }
    return made;
}

int bh_targets_find(bh_targets *t, const bh_domain *domain, int phase)
{
    const bh_particles *p = &domain->particles;
    int64_t total = 0, n = 0;

    *t = (bh_targets){.particles = *p, .ngroups = domain->ngroups, .group = domain->group, .tag = domain->tag};
    if (phase == 0) {
        return EQP_OK;
    }
    t->ngroups = 0;
    for (int64_t i = 0; i < p->n; i++) {
        total += p->rung[i] >= phase;
    }
    EQP_CHECK(reserve_targets(t, total, domain->ngroups));
    t->group = t->groups;
    t->tag = t->tags;
    for (int64_t g = 0; g < domain->ngroups && total > 0; g++) {
        bh_group made = bh_active_group(p, &domain->group[g], phase, t->particles.x + n, t->particles.y + n,
                                        t->particles.z + n, t->from + n);
        made.first = n;
        if (made.count > 0) {
            t->tags[t->ngroups] = domain->tag[g];
            t->numbers[t->ngroups] = g;
            t->groups[t->ngroups++] = made;
            n += made.count;
        }
    }
    return EQP_OK;
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

void bh_group_centre(const bh_group *group, double centre[3])
{
    for (int a = 0; a < 3; a++) {
        centre[a] = 0.5 * (group->lo[a] + group->hi[a]);
    }
}

void bh_tile_centroid(const double group_centre[3], const double tile_centre[3], double centroid[3])
{
    for (int a = 0; a < 3; a++) {
        centroid[a] = 0.5 * (tile_centre[a] - group_centre[a]);
    }
}

static bool keep_mine(void *user, const double centre[3])
{
    const bh_tile_choice *choice = user;
    double centroid[3];

    bh_tile_centroid(choice->sharing.centre, centre, centroid);
    return eqp_map_rank(choice->map, choice->tag, centroid) == choice->sharing.me;
}

const bh_choice *bh_tile_choose(bh_tile_choice *choice, const eqp_map *map, int64_t tag, int rank,
                                const bh_group *group)
{
    bh_sharing *sharing = &choice->sharing;

    if (tag >= 0) {
        return NULL;
    }
    *choice = (bh_tile_choice){.map = map, .tag = tag, .sharing = {.me = rank}};
    sharing->n = eqp_map_units(map, tag, &sharing->centroid, &sharing->rank);
    bh_group_centre(group, sharing->centre);
    choice->choice = (bh_choice){.keep = keep_mine, .user = choice, .sharing = &choice->sharing};
    return &choice->choice;
}
